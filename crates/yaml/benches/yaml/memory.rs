//! The peak of memory, measured in a process of its own.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::hint::black_box;

use lanai_yaml::Stream;

use crate::clock::{Effort, real};
use crate::input::{self, Input, Scratch};
use crate::oracle::{self, Between};
use crate::report::Report;

/// The argument that makes the benchmark the process that is measured.
pub(crate) const CHILD: &str = "--peak-memory-of";

/// How often the oracle reads, edits and writes before it tells its peak.
const ORACLE_ROUNDS: usize = 5;

pub(crate) fn run(effort: &Effort, report: &mut Report) -> Result<(), Box<dyn Error>> {
    report.part("memory", "Memory: the largest resident set of a process of its own, its code included");
    for input in [input::stream(effort.documents), input::list(effort.documents)] {
        one(&input, report)?;
    }
    Ok(())
}

fn one(input: &Input, report: &mut Report) -> Result<(), Box<dyn Error>> {
    let file = Scratch::new(input)?;
    let Some(nothing) = peak(0, &file)? else {
        report.skipped("memory", "this system has no /proc/self/status");
        return Ok(());
    };
    report.memory(input.name, "the process with the text, nothing read", nothing);
    let once = peak(1, &file)?.unwrap_or(nothing);
    report.memory(input.name, "lanai: read, an edit per document, write", once);
    let repeated = peak(ORACLE_ROUNDS, &file)?.unwrap_or(nothing);
    report.memory(input.name, "lanai: the same five times, as the oracle does", repeated);
    let per_byte = real((once - nothing) * 1024) / real(input.text.len());
    report.ratio(input.name, "lanai: bytes of memory per byte of input, beyond the text", per_byte, "");
    match oracle::measure(file.path(), Between::Edits)? {
        None => report.skipped("memory of kyaml", "there is no oracle"),
        Some(kyaml) => {
            report.memory(input.name, "kyaml: five times", kyaml.peak_kib);
            report.ratio(
                input.name,
                "peak of kyaml / peak of lanai, five times",
                real(kyaml.peak_kib) / real(repeated),
                "",
            );
        }
    }
    Ok(())
}

/// The peak of a process that reads, edits and writes that often, in KiB.
fn peak(rounds: usize, file: &Scratch) -> Result<Option<usize>, Box<dyn Error>> {
    let args: [OsString; 3] = [CHILD.into(), rounds.to_string().into(), file.path().into()];
    let output = oracle::run(&env::current_exe()?, &args)?;
    Ok(output.trim().parse().ok())
}

/// The process that is measured: prints its peak in KiB, or nothing where the system does not tell it.
pub(crate) fn child(rounds: &str, file: &str) -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string(file)?;
    for _ in 0..rounds.parse::<usize>()? {
        let mut stream = Stream::parse(text.as_str())?;
        for document in stream.documents_mut() {
            input::edit_one(document)?;
        }
        black_box(stream.to_string());
    }
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return Ok(()) };
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .and_then(|rest| rest.split_whitespace().next());
    println!("{}", peak.unwrap_or_default());
    Ok(())
}
