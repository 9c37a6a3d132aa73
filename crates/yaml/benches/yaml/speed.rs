//! Speed, beside a plain copy, another parser's events, and kyaml.

use std::error::Error;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use granit_parser::Parser;
use lanai_yaml::{Stream, format_stream};

use crate::clock::{Effort, best, speed};
use crate::input::{self, Input, Scratch};
use crate::oracle::{self, Between};
use crate::report::{Report, say};

/// How many edits the one large document gets.
const EDITS: usize = 1_000;

pub(crate) fn run(effort: &Effort, report: &mut Report) -> Result<(), Box<dyn Error>> {
    report.part("speed", "Speed: the best of all rounds");
    let (stream, list) = (input::stream(effort.documents), input::list(effort.documents));
    for input in [&stream, &list] {
        let documents = Stream::parse(input.text.as_str())?.documents().len();
        say(&format!("{}: {} bytes, {documents} documents", input.name, input.text.len()));
    }
    one(&stream, effort, report)?;
    one(&list, effort, report)
}

fn one(input: &Input, effort: &Effort, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let (name, size) = (input.name, input.text.len());
    let clone = best(effort.rounds, || (), |()| input.text.clone());
    report.timed(name, "copy: into a new String", size, clone);
    let copy = copy_into_buffer(input, effort);
    report.timed(name, "copy: into a buffer that is there", size, copy);
    let events = best(effort.rounds.min(5), || (), |()| Parser::new_from_str(&input.text).flatten().count());
    report.timed(name, "granit-parser: events only", size, events);

    let read = read(input, effort, report);
    let stream = Stream::parse(input.text.as_str())?;
    let untouched = best(effort.rounds, || (), |()| stream.to_string());
    report.timed(name, "lanai: write untouched, into a new String", size, untouched);
    let into_buffer = write_into_buffer(&stream, size, effort)?;
    report.timed(name, "lanai: write untouched, into a buffer that is there", size, into_buffer);
    let write = edits(input, effort, report)?;
    let format = best(effort.rounds, || (), |()| format_stream(&stream));
    report.timed(name, "lanai: reference format", size, format);

    report.ratio(name, "write untouched / copy, new String", over(untouched, clone), "aim: 1");
    report.ratio(name, "write untouched / copy, buffer", over(into_buffer, copy), "aim: 1");
    report.ratio(name, "granit-parser's events / lanai's read", over(events, read), "");
    beside_kyaml(input, &Ours { read, write, format }, report)
}

fn over(a: Duration, b: Duration) -> f64 {
    a.as_secs_f64() / b.as_secs_f64()
}

fn copy_into_buffer(input: &Input, effort: &Effort) -> Duration {
    let mut buffer = vec![0; input.text.len()];
    best(effort.rounds, || (), |()| std::hint::black_box(&mut buffer).copy_from_slice(input.text.as_bytes()))
}

fn write_into_buffer(stream: &Stream, size: usize, effort: &Effort) -> Result<Duration, Box<dyn Error>> {
    let mut buffer = Vec::with_capacity(size);
    let mut outcome = Ok(());
    let time = best(
        effort.rounds,
        || (),
        |()| {
            let buffer = std::hint::black_box(&mut buffer);
            buffer.clear();
            if let Err(error) = write!(buffer, "{stream}") {
                outcome = Err(error);
            }
        },
    );
    outcome?;
    Ok(time)
}

fn read(input: &Input, effort: &Effort, report: &mut Report) -> Duration {
    let (name, size) = (input.name, input.text.len());
    let text: Arc<str> = input.text.as_str().into();
    let read = best(effort.rounds, || Arc::clone(&text), Stream::parse);
    report.timed(name, "lanai: read into the editable tree", size, read);
    let drop_too = best(effort.rounds, || Arc::clone(&text), |text| drop(Stream::parse(text)));
    report.timed(name, "lanai: read, and drop the tree", size, drop_too);
    read
}

/// Edits and writes; gives the time of the write after an edit of every document.
fn edits(input: &Input, effort: &Effort, report: &mut Report) -> Result<Duration, Box<dyn Error>> {
    let (name, size) = (input.name, input.text.len());
    let clean = Stream::parse(input.text.as_str())?;
    let fresh = || Stream::parse(input.text.as_str());
    if clean.documents().len() > 1 {
        let mut edited = clean.clone();
        let middle = edited.documents().len() / 2;
        input::edit_one(&mut edited.documents_mut()[middle])?;
        let write = best(effort.rounds, || (), |()| edited.to_string());
        report.timed(name, "lanai: write after an edit of one document", size, write);
    }
    let edit_all = |mut stream: Stream| -> Result<Stream, lanai_yaml::edit::Error> {
        if let [list] = stream.documents_mut() {
            let len = list.root().get("items").map_or(0, lanai_yaml::NodeRef::len);
            (0..EDITS.min(len))
                .try_for_each(|number| input::edit_item(list, number * len / EDITS.min(len)))?;
        } else {
            stream.documents_mut().iter_mut().try_for_each(input::edit_one)?;
        }
        Ok(stream)
    };
    let what = if clean.documents().len() > 1 { "an edit per document" } else { "1,000 edits" };
    let edit = best(effort.rounds, fresh, |stream| stream.map(edit_all));
    report.timed(name, &format!("lanai: {what}"), size, edit);
    let edited = edit_all(fresh()?)?;
    let write = best(effort.rounds, || (), |()| edited.to_string());
    report.timed(name, &format!("lanai: write after {what}"), size, write);
    let both = best(effort.rounds, fresh, |stream| {
        stream.map(|stream| edit_all(stream).map(|edited| edited.to_string()))
    });
    report.timed(name, &format!("lanai: {what} and write"), size, both);
    Ok(write)
}

/// Our times of what kyaml does, too.
struct Ours {
    read: Duration,
    write: Duration,
    format: Duration,
}

fn beside_kyaml(input: &Input, ours: &Ours, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let (name, size) = (input.name, input.text.len());
    let file = Scratch::new(input)?;
    let (Some(plain), Some(edited)) =
        (oracle::measure(file.path(), Between::Nothing)?, oracle::measure(file.path(), Between::Edits)?)
    else {
        report.skipped("kyaml beside lanai", "there is no oracle");
        return Ok(());
    };
    let read = plain.read.max(edited.read);
    report.told(name, "kyaml: read", size, read);
    report.told(name, "kyaml: write", size, plain.write);
    report.told(name, "kyaml: write after an edit per document", size, edited.write);
    report.ratio(name, "read: lanai / kyaml", speed(size, ours.read) / read, "target: 2, aim: 5");
    report.ratio(
        name,
        "write after edits: lanai / kyaml",
        speed(size, ours.write) / edited.write,
        "target: 10",
    );
    report.ratio(name, "reference format: lanai / kyaml's write", speed(size, ours.format) / plain.write, "");
    Ok(())
}
