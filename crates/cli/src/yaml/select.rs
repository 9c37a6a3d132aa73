//! Which document of a stream is meant.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use lanai_yaml::path::Segment;
use lanai_yaml::{Document, NodeRef, Path, Stream};

use crate::failure::{Code, Failure};
use crate::file::Source;

/// How many documents a message lists before it counts the rest.
const MAX_LISTED: usize = 20;

/// A document, as `--document` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// By its place in the file, from 0.
    Number(usize),
    /// By its kind and `metadata.name`.
    Object { kind: String, name: String },
}

impl FromStr for Which {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Ok(number) = text.parse() {
            return Ok(Self::Number(number));
        }
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() => {
                Ok(Self::Object { kind: kind.into(), name: name.into() })
            }
            _ => Err("a document is named by its number, from 0, or as Kind/name"),
        }
    }
}

impl Which {
    fn is(&self, at: usize, document: &Document) -> bool {
        match self {
            Self::Number(number) => *number == at,
            Self::Object { kind, name } => {
                identity(document).is_some_and(|(has_kind, has_name)| has_kind == *kind && has_name == *name)
            }
        }
    }
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Object { kind, name } => write!(f, "{kind}/{name}"),
        }
    }
}

/// What is to be done with the document, which decides what it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The path must be there.
    Read,
    /// The path may be new, where there is no doubt about the document.
    Write,
}

/// Finds the document that is meant: the one that was named, else the only one that has the path, else the only one that
/// has any content.
///
/// # Errors
/// When none is meant, or more than one; the message lists those to choose from.
pub(crate) fn choose(
    stream: &Stream,
    which: Option<&Which>,
    path: &Path,
    purpose: Purpose,
    source: &Source,
) -> Result<usize, Failure> {
    let matching: Vec<usize> = match which {
        Some(which) => numbers(stream, |at, document| which.is(at, document)),
        None => numbers(stream, |_, document| has(document, path)),
    };
    match (&matching[..], which) {
        ([one], _) => Ok(*one),
        ([], Some(which)) => Err(unknown(stream, which, source)),
        ([], None) => lone(stream, path, purpose, source),
        (several, _) => {
            let what = if which.is_some() { "with that name" } else { "with that path" };
            let text = format!("{source} has {} documents {what}:{}", several.len(), list(stream, several));
            Err(Failure::of(Code::Absent, text).hint("choose one with --document and its number"))
        }
    }
}

/// The only document with content, for a path that no document has.
fn lone(stream: &Stream, path: &Path, purpose: Purpose, source: &Source) -> Result<usize, Failure> {
    let content = numbers(stream, |_, document| !document.is_empty());
    match &content[..] {
        [only] => Ok(*only),
        [] if stream.documents().is_empty() => {
            Err(Failure::of(Code::Absent, format!("{source} holds no document")))
        }
        [] => Ok(0),
        several => {
            let there = list(stream, several);
            let hint = match purpose {
                Purpose::Read => "look into one of them with --document and its number",
                Purpose::Write => "choose the one to add it to with --document and its number",
            };
            Err(Failure::of(Code::Absent, format!("no document of {source} has {path}:{there}")).hint(hint))
        }
    }
}

fn unknown(stream: &Stream, which: &Which, source: &Source) -> Failure {
    let all = numbers(stream, |_, _| true);
    let there =
        if all.is_empty() { "; it holds none".into() } else { format!("; it has:{}", list(stream, &all)) };
    Failure::of(Code::Absent, format!("{source} has no document {which}{there}"))
}

/// The numbers of the documents that pass a test.
fn numbers(stream: &Stream, passes: impl Fn(usize, &Document) -> bool) -> Vec<usize> {
    let numbered = stream.documents().iter().enumerate();
    numbered.filter(|(at, document)| passes(*at, document)).map(|(at, _)| at).collect()
}

/// Whether a path leads somewhere in a document; one that appends leads to its list.
fn has(document: &Document, path: &Path) -> bool {
    match (path.segments(), path.parent()) {
        ([.., Segment::Append], Some(list)) => document.root().find(&list).is_ok(),
        ([], _) => !document.is_empty(),
        _ => document.root().find(path).is_ok(),
    }
}

/// Kind and name of the resource in a document.
fn identity(document: &Document) -> Option<(String, String)> {
    let text = |node: NodeRef<'_>| node.target().as_str().map(Cow::into_owned);
    let root = document.root();
    Some((text(root.get("kind")?)?, text(root.get("metadata")?.get("name")?)?))
}

/// A line for each document: its number, what it is, and where it begins.
fn list(stream: &Stream, numbers: &[usize]) -> String {
    let shown = numbers.iter().take(MAX_LISTED);
    let mut lines: Vec<String> =
        shown.map(|at| format!("\n  {at}  {}", describe(&stream.documents()[*at]))).collect();
    if numbers.len() > MAX_LISTED {
        lines.push(format!("\n  and {} more", numbers.len() - MAX_LISTED));
    }
    lines.concat()
}

fn describe(document: &Document) -> String {
    let line = document.root().position().line;
    match identity(document) {
        Some((kind, name)) => format!("{kind}/{name}, line {line}"),
        None if document.is_empty() => format!("nothing, line {line}"),
        None => format!("no kind and name, line {line}"),
    }
}
