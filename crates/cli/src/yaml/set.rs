//! `lanai yaml set`: changes, adds or deletes one value.

use lanai_yaml::path::Segment;
use lanai_yaml::{Content, Document, Kind, Path, Resolved, Stream, Style};

use super::select::{Purpose, choose};
use super::{deliver, doubtful};
use crate::args::Set;
use crate::failure::{Code, Failure};
use crate::file::{hold, read_yaml};
use crate::io::{Exit, Io};

pub(super) fn run(set: &Set, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let edit = Edit::of(set)?;
    let _held = (!set.preview.dry_run).then(|| hold(&set.file, io)).transpose()?;
    let mut stream = read_yaml(&set.file, io)?;
    let before = stream.to_string();
    let refused = |why: String| {
        Failure::of(Code::Absent, format!("{}: cannot {} {}: {why}", set.file, edit.verb(), set.path))
    };
    let (after, mut notes) = if stream.documents().is_empty() && set.document.is_none() {
        let mut document = Document::parse(before.as_str()).map_err(|error| refused(error.to_string()))?;
        edit.apply(&mut document, &set.path).map_err(refused)?;
        (document.to_string(), notes(&document))
    } else {
        let at = choose(&stream, set.document.as_ref(), &set.path, Purpose::Write, &set.file)?;
        let document = &mut stream.documents_mut()[at];
        let before = document.clone();
        edit.apply(document, &set.path).map_err(refused)?;
        let mut notes = notes(document);
        notes.extend(surprises(&before, document, &set.path));
        (stream.to_string(), notes)
    };
    // What we write must be YAML again; if it is not, that is our mistake, and the file must not pay for it.
    Stream::parse(after.as_str())
        .map_err(|error| refused(format!("the result would be no YAML any more: {error:#}")))?;
    deliver(&set.file, &before, &after, set.preview, io)?;
    if set.value.as_deref().is_some_and(|value| !set.string && is_folded(value)) {
        notes.push("the lines of VALUE were folded into one, as YAML reads them; --string keeps them".into());
    }
    for note in notes {
        io.tell(&format!("note: {note}"));
    }
    if before == after {
        io.tell(&format!("note: {} has that value already; nothing was changed", set.file));
    }
    Ok(Exit::Success)
}

/// What is to be done at the path.
enum Edit {
    Delete,
    Set { content: Content, comment: Option<String> },
}

impl Edit {
    fn of(set: &Set) -> Result<Self, Failure> {
        let Some(value) = &set.value else { return Ok(Self::Delete) };
        let content = if set.string { Content::string(value.as_str()) } else { parse(value)? };
        Ok(Self::Set { content, comment: set.comment.as_deref().map(comment).transpose()? })
    }

    fn verb(&self) -> &'static str {
        match self {
            Self::Delete => "delete",
            Self::Set { .. } => "set",
        }
    }

    fn apply(&self, document: &mut Document, path: &Path) -> Result<(), String> {
        match self {
            Self::Delete if path.is_root() => Err("a document is never without a root".into()),
            Self::Delete => {
                document.root().find(path).map_err(|missing| missing.to_string())?;
                match document.remove(path) {
                    Ok(true) => Ok(()),
                    Ok(false) => Err("it comes from a merge key or an alias, not from this place".into()),
                    Err(error) => Err(error.to_string()),
                }
            }
            Self::Set { content, comment } => {
                // The edit may change what the path names an item by.
                let place = document.root().index_path(path);
                let both = document.edit_together(|document| {
                    document.set(path, content.clone())?;
                    match comment {
                        Some(comment) => document.set_line_comment(&written(&place), comment),
                        None => Ok(()),
                    }
                });
                both.map_err(|error: lanai_yaml::edit::Error| error.to_string())
            }
        }
    }
}

/// What people may not expect of an edit that was done as asked.
fn surprises(before: &Document, after: &Document, path: &Path) -> Vec<String> {
    let mut found = doubtful::notes(before, path);
    let reads = |document: &Document| document.root().deserialize::<serde_json::Value>();
    if let (Ok(_), Err(error)) = (reads(before), reads(after)) {
        found.push(format!("the document can no longer be read as data: {error}"));
    }
    let meaning =
        |document: &Document| document.root().find(path).ok().map(|node| (node.kind(), node.resolved()));
    if let (Some((Kind::Scalar, Resolved::Str)), Some((Kind::Scalar, now))) =
        (meaning(before), meaning(after))
        && !matches!(now, Resolved::Str | Resolved::Null)
    {
        found.push(format!("{path} was a string and is none any more; --string keeps it one"));
    }
    found
}

/// The path of what was written at a path: what was appended is the last item now.
fn written(path: &Path) -> Path {
    match (path.segments(), path.parent()) {
        ([.., Segment::Append], Some(mut item)) => {
            item.push(Segment::Index(-1));
            item
        }
        _ => path.clone(),
    }
}

/// Reads VALUE as YAML.
fn parse(value: &str) -> Result<Content, Failure> {
    let hint = "--string takes VALUE as text, whatever it looks like";
    let document = Document::parse(value).map_err(|error| {
        let failure = Failure::of(Code::Text, format!("VALUE is no YAML: {error:#}"));
        if error.hint.is_some() { failure } else { failure.hint(hint) }
    })?;
    if document.is_empty() {
        let why = if value.contains('#') { "VALUE is only a comment" } else { "VALUE is empty" };
        return Err(Failure::of(Code::Text, format!("{why}: write null for no value")).hint(hint));
    }
    Ok(Content::from(document))
}

/// Whether a text of several lines is one line as YAML reads it.
fn is_folded(value: &str) -> bool {
    let plain = |document: Document| {
        let root = document.root();
        root.kind() == Kind::Scalar && root.style() == Style::Plain
    };
    value.trim().contains('\n') && Document::parse(value).is_ok_and(plain)
}

/// A comment as it stands in YAML, from a text with or without its `#`.
fn comment(text: &str) -> Result<String, Failure> {
    if text.contains(['\n', '\r']) {
        return Err(Failure::of(Code::Usage, "the comment has more than one line"));
    }
    Ok(if text.is_empty() || text.starts_with('#') { text.into() } else { format!("# {text}") })
}

fn notes(document: &Document) -> Vec<String> {
    document.notes().iter().map(ToString::to_string).collect()
}
