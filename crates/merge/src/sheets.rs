//! Resource files, taken apart and put together again.

use std::collections::{BTreeSet, HashMap};

use lanai_krm::kptfile;
use lanai_krm::package::{File, Mode, is_resource_name};
use lanai_types::{Limits, SafePath};
use lanai_yaml::{Document, Stream};

use crate::conflict::Side;
use crate::error::Error;
use crate::identity::Identity;

/// The documents of a resource file.
pub(crate) struct Sheet {
    stream: Stream,
    /// The documents with content: what each is called, and its place in the stream.
    pub pages: Vec<(Identity, usize)>,
}

/// What a document is called. The first one of a Kptfile is the Kptfile; what is in a JSON file is called by its file,
/// since there is one.
pub(crate) fn identity(path: &SafePath, page: usize, document: &Document) -> Identity {
    if path.file_name() == kptfile::FILE_NAME && page == 0 {
        return Identity::of_kptfile();
    }
    if is_json(path) { Identity::default() } else { Identity::of(document) }
}

/// Whether a file of this name is merged by fields, if it can be read.
pub(crate) fn is_structured(path: &SafePath) -> bool {
    is_resource_name(path.file_name())
}

pub(crate) fn is_json(path: &SafePath) -> bool {
    path.extension() == Some("json")
}

fn is_json_text(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

impl Sheet {
    /// Takes a file apart; `None` for what cannot be read, or has several documents without names, which merge as text.
    ///
    /// # Errors
    /// [`Error::Duplicate`].
    pub fn read(side: Side, path: &SafePath, file: &File, limits: &Limits) -> Result<Option<Self>, Error> {
        let text = file.text().filter(|_| file.mode() != Mode::Symlink);
        let Some(text) = text.filter(|text| !is_json(path) || is_json_text(text)) else { return Ok(None) };
        let Ok(stream) = Stream::parse_within(text, &limits.yaml) else { return Ok(None) };
        let documents = stream.documents().iter().enumerate();
        let pages: Vec<_> = documents
            .filter(|(_, document)| !document.root().is_null())
            .enumerate()
            .map(|(page, (at, document))| (identity(path, page, document), at))
            .collect();
        let mut seen: HashMap<&Identity, usize> = HashMap::new();
        for (identity, at) in &pages {
            let Some(first) = seen.insert(identity, *at) else { continue };
            if !identity.is_named() {
                return Ok(None);
            }
            let line = |at: usize| stream.documents()[at].root().position().line;
            return Err(Error::Duplicate {
                side,
                resource: identity.to_string(),
                path: path.clone(),
                first_line: line(first),
                second_line: line(*at),
            });
        }
        Ok(Some(Self { stream, pages }))
    }

    /// A document by its place in the stream.
    pub fn document(&self, at: usize) -> &Document {
        &self.stream.documents()[at]
    }

    /// The documents with content.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.pages.iter().map(|(_, at)| self.document(*at))
    }
}

/// What becomes of the documents of a file.
#[derive(Default)]
pub(crate) struct Changes {
    pub edited: HashMap<usize, Document>,
    pub removed: BTreeSet<usize>,
    pub added: Vec<Document>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        self.edited.is_empty() && self.removed.is_empty() && self.added.is_empty()
    }
}

/// Writes a file with its changes; `None` when no document is left.
///
/// # Errors
/// [`Error::Composition`] when the documents cannot stand together.
pub(crate) fn compose(
    path: &SafePath,
    sheet: Option<&Sheet>,
    changes: &Changes,
) -> Result<Option<String>, Error> {
    let pages = sheet.map_or(&[][..], |sheet| &sheet.pages[..]);
    let expected = pages.len() - changes.removed.len() + changes.added.len();
    if expected == 0 {
        return Ok(None);
    }
    let mut text = String::new();
    let documents = sheet.map_or(&[][..], |sheet| sheet.stream.documents());
    let mut read = 0;
    for (at, document) in documents.iter().enumerate() {
        read += document.source().len();
        if changes.removed.contains(&at) {
            continue;
        }
        match changes.edited.get(&at) {
            Some(document) if !document.is_edited() => append(&mut text, document),
            Some(document) => append_own(&mut text, &document.to_string()),
            None => append_own(&mut text, document.source()),
        }
    }
    // What stands behind the last document is no document.
    if let (Some(sheet), true) = (sheet, changes.removed.is_empty()) {
        let source = sheet.stream.to_string();
        text.push_str(source.get(read..).unwrap_or_default());
    }
    for document in &changes.added {
        append(&mut text, document);
    }
    // A document that is first now needs no marker, unless the file began with one.
    let began_with_marker = documents.first().is_some_and(Document::has_start_marker);
    if (!began_with_marker || changes.removed.contains(&0)) && text.starts_with("---\n") {
        text.drain(.."---\n".len());
    }
    let fails = || Error::Composition(path.clone());
    if is_json(path) {
        return json(text).map(Some).ok_or_else(fails);
    }
    let written = Stream::parse(text.as_str()).map_err(|_| fails())?;
    let found = written.documents().iter().filter(|document| !document.root().is_null()).count();
    if found == expected { Ok(Some(text)) } else { Err(fails()) }
}

/// The text as JSON: as it is where it is JSON, else written anew.
fn json(text: String) -> Option<String> {
    if is_json_text(&text) {
        return Some(text);
    }
    let document = Document::parse(text).ok()?;
    let value: serde_json::Value = document.root().deserialize().ok()?;
    let mut text = serde_json::to_string_pretty(&value).ok()?;
    text.push('\n');
    Some(text)
}

/// Puts a document of the file itself behind others; what is first needs no marker.
fn append_own(text: &mut String, document: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(document);
}

/// Puts a document from elsewhere behind others.
fn append(text: &mut String, document: &Document) {
    let written = document.to_string();
    if text.is_empty() {
        text.push_str(&written);
        return;
    }
    let written = written.trim_start_matches('\u{feff}');
    if !text.ends_with('\n') {
        text.push('\n');
    }
    if written.starts_with('%') {
        // Directives stand behind the end of a document only.
        text.push_str("...\n");
    } else if !document.has_start_marker() {
        text.push_str("---\n");
    }
    text.push_str(written);
}
