//! `lanai yaml get`: prints a value.

use lanai_yaml::{Document, Kind, NodeRef};

use super::select::{Purpose, choose};
use super::{doubtful, json};
use crate::args::{Format, Get};
use crate::failure::{Code, Failure};
use crate::file::read_yaml;
use crate::io::{Exit, Io};

pub(super) fn run(get: &Get, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let stream = read_yaml(&get.file, io)?;
    let at = choose(&stream, get.document.as_ref(), &get.path, Purpose::Read, &get.file)?;
    let document = &stream.documents()[at];
    let node = document.root().find(&get.path).map_err(|missing| {
        Failure::of(Code::Absent, format!("{} has no {}: {missing}", get.file, get.path))
    })?;
    let whole = if get.path.is_root() { Some(document) } else { None };
    let text = show(node, whole, get.output)
        .map_err(|why| Failure::of(Code::Text, format!("{}: {why}", get.file)))?;
    io.print(&text)?;
    for note in doubtful::notes(document, &get.path) {
        io.tell(&format!("note: {note}"));
    }
    Ok(Exit::Success)
}

/// The node as text that ends with a line break. The root of a document is shown with the comments around it.
fn show(node: NodeRef<'_>, whole: Option<&Document>, format: Format) -> Result<String, String> {
    match format {
        Format::Json => json::write(node).map(closed),
        Format::Text if node.target().kind() == Kind::Scalar => {
            Ok(closed(node.target().value().into_owned()))
        }
        Format::Text | Format::Yaml => match whole {
            Some(document) => Ok(closed(without_marker(document.source()).into())),
            None => Ok(closed(node.excerpt().unwrap_or_default())),
        },
    }
}

/// The text with a line break at its end.
fn closed(mut text: String) -> String {
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The text of a document without the line that separates it from the one before.
fn without_marker(text: &str) -> &str {
    let after = text.strip_prefix("---").map(|rest| rest.strip_prefix('\r').unwrap_or(rest));
    after.and_then(|rest| rest.strip_prefix('\n')).unwrap_or(text)
}
