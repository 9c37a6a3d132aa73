//! `lanai yaml`: reads and edits YAML files.

mod doubtful;
mod fmt;
mod get;
mod json;
mod select;
mod set;

use crate::args::{Preview, Yaml};
use crate::diff;
use crate::failure::Failure;
use crate::file::{self, Source};
use crate::io::{Exit, Io};

pub(crate) use select::{Purpose, Which, choose};

/// Runs one of the commands.
pub(crate) fn run(command: &Yaml, io: &mut Io<'_>) -> Result<Exit, Failure> {
    match command {
        Yaml::Get(get) => get::run(get, io),
        Yaml::Set(set) => set::run(set, io),
        Yaml::Fmt(fmt) => fmt::run(fmt, io),
    }
}

/// Stores a changed text where it came from, and shows the change, as far as each was asked for.
///
/// The text of standard input goes to standard output, unless that shows the change already.
fn deliver(
    source: &Source,
    before: &str,
    after: &str,
    preview: Preview,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    match source {
        Source::File(path) if !preview.dry_run && before != after => {
            // First the diff: what cannot be shown is not done. A reader that has seen enough does not undo the edit.
            match show(source, before, after, preview, io) {
                Ok(()) | Err(Failure::NobodyReads) => {}
                Err(error) => return Err(error),
            }
            return file::replace(path, before, after, io);
        }
        Source::Stdin if !preview.dry_run && !preview.diff => io.print(after)?,
        Source::File(_) | Source::Stdin => {}
    }
    show(source, before, after, preview, io)
}

/// Prints the change, if that was asked for.
fn show(
    source: &Source,
    before: &str,
    after: &str,
    preview: Preview,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    if preview.diff {
        io.print(&diff::unified(&source.to_string(), before, after, io.colour))?;
    }
    Ok(())
}
