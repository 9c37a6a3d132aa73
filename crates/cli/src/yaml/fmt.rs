//! `lanai yaml fmt`: rewrites files in the reference format.

use lanai_yaml::{Document, Stream, format_stream};
use serde_json::Value;

use super::deliver;
use crate::args::{Fmt, Preview};
use crate::failure::{Code, Failure};
use crate::file::{Source, hold, read_yaml};
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
    let _held = (!fmt.preview.dry_run && !fmt.check).then(|| hold(source, io)).transpose()?;
    let stream = read_yaml(source, io)?;
    let before = stream.to_string();
    let after = format_stream(&stream);
    if !fmt.lossy {
        check_nothing_is_lost(source, &stream, &after)?;
    }
    let change = if before == after { Change::None } else { Change::Some };
    let listed = fmt.check || (fmt.preview.dry_run && !fmt.preview.diff);
    if listed && matches!(change, Change::Some) {
        io.print(&format!("{source}\n"))?;
    }
    let preview = Preview { dry_run: fmt.preview.dry_run || fmt.check, ..fmt.preview };
    deliver(source, &before, &after, preview, io)?;
    Ok(change)
}

/// Refuses a rewriting that drops comments or changes values: kyaml's format has no place for some of them.
fn check_nothing_is_lost(source: &Source, before: &Stream, text: &str) -> Result<(), Failure> {
    let refused = |why: String| {
        Err(Failure::of(Code::Text, format!("{source}: the reference format would lose something: {why}"))
            .hint("--lossy formats it all the same, as kyaml does"))
    };
    let after = match Stream::parse(text) {
        Ok(after) => after,
        Err(error) => return refused(format!("the result is no YAML any more: {error}")),
    };
    let (mut lines, mut kept) = (before.comments(), after.comments());
    lines.sort_unstable();
    kept.sort_unstable();
    let mut kept = kept.into_iter();
    if let Some(lost) = lines.into_iter().find(|line| !kept.by_ref().any(|other| other == *line)) {
        return refused(format!("the comment \"{lost}\""));
    }
    let (before, after) = (filled(before), filled(&after));
    if before.len() != after.len() {
        return refused("the number of documents changes".into());
    }
    let changed = before.iter().zip(&after).find(|(one, other)| !mean_the_same(one, other));
    let Some((one, other)) = changed else { return Ok(()) };
    let line = one.root().difference(other.root()).map(|(node, _)| node.position().line);
    refused(line.map_or("a value changes".into(), |line| format!("a value changes, line {line}")))
}

fn filled(stream: &Stream) -> Vec<&Document> {
    stream.documents().iter().filter(|document| !document.is_empty()).collect()
}

/// Whether two documents mean the same, but for the empty `annotations` and `metadata` that kyaml leaves out.
fn mean_the_same(one: &Document, other: &Document) -> bool {
    one.root().means_the_same(other.root())
        || matches!((value(one), value(other)), (Some(one), Some(other)) if one == other)
}

/// What a document means without these; nothing where that cannot be said, as with a key that stands twice.
fn value(document: &Document) -> Option<Value> {
    let mut value: Value = document.root().deserialize().ok()?;
    let is_empty = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
    if let Some(fields) = value.as_object_mut() {
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|key, value| key != "annotations" || !is_empty(value));
        }
        fields.retain(|key, value| key != "metadata" || !is_empty(value));
    }
    Some(value)
}
