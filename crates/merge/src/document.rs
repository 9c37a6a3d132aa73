//! Documents as wholes.

use lanai_krm::merge_mark::UPSTREAM_IDENTIFIER;
use lanai_krm::{Resource, ResourceId};
use lanai_yaml::path::Segment;
use lanai_yaml::{Document, NodeRef, Path};

use crate::compare::{exact, same};
use crate::conflict::Subject;
use crate::identity::is_marked;

/// What a document is, for a conflict.
pub(crate) fn subject(document: &Document) -> Subject {
    match Resource::try_from(document.clone()) {
        Ok(resource) if resource.id() != ResourceId::default() => Subject::Resource(resource.id()),
        Ok(_) | Err(_) => Subject::File,
    }
}

/// What lines that are added to a text end with: as those that are there do.
pub(crate) fn line_break(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// A document as a conflict shows it: with its comments, without its marker.
pub(crate) fn text_of(document: &Document) -> String {
    let text = document.to_string();
    without_marker(&text).trim_end().to_owned()
}

/// The text without a bare marker that it begins with.
pub(crate) fn without_marker(text: &str) -> &str {
    ["---\n", "---\r\n"].into_iter().find_map(|marker| text.strip_prefix(marker)).unwrap_or(text)
}

/// Whether a document is written as it was, layout and the marks of a merge aside. Comments count: someone wrote them.
pub(crate) fn is_untouched(original: &Document, local: &Document) -> bool {
    if own_comments(original) != own_comments(local) {
        return false;
    }
    let (original, local) = (unmarked(original), unmarked(local));
    exact(Some(original.root()), Some(local.root()))
}

fn unmarked(document: &Document) -> Document {
    let Ok(mut resource) = Resource::try_from(document.clone()) else { return document.clone() };
    // What cannot be edited is compared as it is.
    let unmarked = resource.remove_annotation(UPSTREAM_IDENTIFIER).is_ok();
    let mut document = if unmarked { resource.into_document() } else { document.clone() };
    if is_marked(document.root()) {
        let path: Path = [Segment::Key("metadata".into())].into_iter().collect();
        // What cannot be edited is compared as it is.
        let _ = document.set_line_comment(&path, "");
    }
    document
}

/// Which Kptfile of a package is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kptfiles {
    /// That of the package itself.
    Root,
    /// That of a package inside.
    Nested,
}

/// A Kptfile without what is local's alone: its name, what the last render said, and for the package itself where it
/// came from.
pub(crate) fn kptfile_content(document: &Document, which: Kptfiles) -> Document {
    let mut content = unmarked(document);
    let own: &[&str] = match which {
        Kptfiles::Root => &["upstream", "upstreamLock", "metadata.name", "status"],
        Kptfiles::Nested => &["metadata.name", "status"],
    };
    for path in own {
        let removed = Path::parse(path).map(|path| content.remove(&path));
        // What is not there or cannot be removed is compared as it is.
        let _ = removed;
    }
    content
}

/// The comments of a document that belong to no field: before its marker, at its head, behind its content.
pub(crate) type OwnComments = [Option<String>; 3];

pub(crate) fn own_comments(document: &Document) -> OwnComments {
    let first = || head_of_first_key(document.root()).map(|comment| comment.trim_end().to_owned());
    [document.preface(), document.head_comment().or_else(first), document.foot_comment()]
}

/// The comment above the first key, if a blank line sets it off: behind a `---`, the head of the document is read so.
pub(crate) fn head_of_first_key(root: NodeRef<'_>) -> Option<String> {
    let (key, _) = root.entries().next()?;
    key.head_comment().filter(|comment| comment.ends_with('\n'))
}

/// The document with other comments of its own; `None` where they cannot stand so.
pub(crate) fn with_own_comments(document: &Document, wanted: &OwnComments) -> Option<Document> {
    // Comments of a document that was edited are those that it is written with.
    let written = Document::parse(document.to_string()).ok()?;
    let has = own_comments(&written);
    if has == *wanted {
        return Some(document.clone());
    }
    let text = written.to_string();
    let marker = if written.has_start_marker() { marker_end(&text)? } else { 0 };
    let (before, rest) = text.split_at(marker);
    let end = line_break(&text);
    let mut before = exchanged(before, has[0].as_deref(), wanted[0].as_deref(), Gap::None(end))?;
    // A comment stands before the marker only where there is one.
    if wanted[0].is_some() && !written.has_start_marker() {
        before.extend(["---", end]);
    }
    let (body, tail) = match has[2].as_deref() {
        Some(foot) => rest.split_at(rest.rfind(foot)?),
        None => (rest, ""),
    };
    let body = exchanged(body, has[1].as_deref(), wanted[1].as_deref(), Gap::Line(end))?;
    let mut out = format!("{before}{body}");
    match (&has[2], &wanted[2]) {
        (None, Some(new)) => {
            if !out.ends_with('\n') {
                out.push_str(end);
            }
            out.extend([end, new, end]);
        }
        (Some(old), Some(new)) => out.push_str(&tail.replacen(old, new, 1)),
        (Some(_), None) => {
            out.truncate(out.trim_end().len());
            out.push_str(end);
        }
        (None, None) => {}
    }
    let after = Document::parse(out).ok()?;
    let arrived = own_comments(&after) == *wanted && same(Some(after.root()), Some(written.root()));
    arrived.then_some(after)
}

/// What stands between a comment and what comes behind it, with what ends a line.
#[derive(Clone, Copy)]
enum Gap {
    None(&'static str),
    Line(&'static str),
}

/// The text with another comment at its begin.
fn exchanged(text: &str, old: Option<&str>, new: Option<&str>, gap: Gap) -> Option<String> {
    let rest = match old {
        Some(old) => text.trim_start().strip_prefix(old)?,
        None => text,
    };
    let gap = match gap {
        Gap::None(end) => end.to_owned(),
        Gap::Line(end) => end.repeat(2),
    };
    Some(match (old, new) {
        (Some(_), Some(new)) => format!("{new}{rest}"),
        (None, Some(new)) => format!("{new}{gap}{rest}"),
        (Some(_), None) => rest.trim_start_matches(['\n', '\r']).to_owned(),
        (None, None) => rest.to_owned(),
    })
}

/// Where the line of the `---` ends; for a preface, the text before it is meant.
fn marker_end(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if line.trim_end() == "---" {
            return Some(at);
        }
    }
    None
}
