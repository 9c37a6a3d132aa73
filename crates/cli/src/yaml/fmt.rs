//! `lanai yaml fmt`: rewrites files in the reference format.

use lanai_yaml::format_stream;

use super::deliver;
use crate::args::{Fmt, Preview};
use crate::failure::Failure;
use crate::file::{Source, read_yaml};
use crate::io::{Exit, Io};

/// Formats each file. One that cannot be read or written does not keep the others from being formatted.
pub(super) fn run(fmt: &Fmt, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let mut exit = Exit::Success;
    for source in &fmt.files {
        match format(source, fmt, io) {
            Ok(Change::Some) if fmt.check => exit = Exit::Failure,
            Ok(Change::Some | Change::None) => {}
            Err(Failure::Told(message)) => {
                io.tell(&message.to_string());
                exit = Exit::Failure;
            }
            Err(Failure::NobodyReads) => return Err(Failure::NobodyReads),
        }
    }
    Ok(exit)
}

/// Whether formatting a file changes it.
enum Change {
    None,
    Some,
}

fn format(source: &Source, fmt: &Fmt, io: &mut Io<'_>) -> Result<Change, Failure> {
    let stream = read_yaml(source, io)?;
    let before = stream.to_string();
    let after = format_stream(&stream);
    let change = if before == after { Change::None } else { Change::Some };
    let listed = fmt.check || (fmt.preview.dry_run && !fmt.preview.diff);
    if listed && matches!(change, Change::Some) {
        io.print(&format!("{source}\n"))?;
    }
    let preview = Preview { dry_run: fmt.preview.dry_run || fmt.check, ..fmt.preview };
    deliver(source, &before, &after, preview, io)?;
    Ok(change)
}
