//! Resource files, taken apart and put together again.

use std::collections::{BTreeSet, HashMap};

use lanai_krm::kptfile;
use lanai_krm::package::{File, Mode, is_resource_name};
use lanai_types::{Limits, SafePath};
use lanai_yaml::{Document, Stream};

use crate::conflict::Side;
use crate::document::{line_break, without_marker};
use crate::error::Error;
use crate::identity::Identity;
use crate::remarks;

/// The documents of a resource file.
pub(crate) struct Sheet {
    stream: Stream,
    /// The documents without content before all others.
    pub preamble: String,
    /// The documents with content.
    pub pages: Vec<Page>,
}

/// A document with content.
pub(crate) struct Page {
    /// What it is called.
    pub identity: Identity,
    /// Its place in the stream.
    pub at: usize,
    /// The documents without content behind it.
    pub remarks: String,
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
        let mut preamble = String::new();
        let mut pages: Vec<Page> = Vec::new();
        let mut read = 0;
        for (at, document) in stream.documents().iter().enumerate() {
            read += document.source().len();
            if document.root().is_null() {
                remarks(&mut pages, &mut preamble).push_str(document.source());
            } else {
                let identity = identity(path, pages.len(), document);
                pages.push(Page { identity, at, remarks: String::new() });
            }
        }
        // What stands behind the last document is no document.
        remarks(&mut pages, &mut preamble).push_str(text.get(read..).unwrap_or_default());
        let mut seen: HashMap<&Identity, usize> = HashMap::new();
        for Page { identity, at, .. } in &pages {
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
        Ok(Some(Self { stream, preamble, pages }))
    }

    /// A document by its place in the stream.
    pub fn document(&self, at: usize) -> &Document {
        &self.stream.documents()[at]
    }

    /// The documents with content.
    pub fn documents(&self) -> impl Iterator<Item = &Document> {
        self.pages.iter().map(|page| self.document(page.at))
    }

    /// The documents without content behind one with content, which is named by its place in the stream.
    pub fn remarks(&self, at: usize) -> &str {
        let found = self.pages.binary_search_by_key(&at, |page| page.at);
        found.map_or("", |found| &self.pages[found].remarks)
    }

    /// Whether both files have the same in the documents without content.
    pub fn has_same_remarks(&self, other: &Self) -> bool {
        let pairs = self.pages.iter().zip(&other.pages);
        remarks::same(&self.preamble, &other.preamble)
            && pairs.into_iter().all(|(one, other)| remarks::same(&one.remarks, &other.remarks))
    }
}

fn remarks<'a>(pages: &'a mut [Page], preamble: &'a mut String) -> &'a mut String {
    pages.last_mut().map_or(preamble, |page| &mut page.remarks)
}

/// A document, and the documents without content behind it.
pub(crate) struct Leaf {
    pub document: Document,
    pub remarks: String,
}

/// A document of a file, and the documents without content behind it.
#[derive(Clone, Copy)]
pub(crate) struct LeafRef<'a> {
    pub document: &'a Document,
    pub remarks: &'a str,
}

impl LeafRef<'_> {
    pub fn to_leaf(self) -> Leaf {
        Leaf { document: self.document.clone(), remarks: self.remarks.to_owned() }
    }
}

/// What becomes of the documents of a file.
#[derive(Default)]
pub(crate) struct Changes {
    pub edited: HashMap<usize, Document>,
    pub removed: BTreeSet<usize>,
    pub added: Vec<Leaf>,
    /// What stands behind documents of the file, where that is something else now.
    pub remarks: HashMap<usize, String>,
    /// What stands before all documents, where that is something else now.
    pub preamble: Option<String>,
}

impl Changes {
    pub fn is_empty(&self) -> bool {
        let Self { edited, removed, added, remarks, preamble } = self;
        edited.is_empty()
            && removed.is_empty()
            && added.is_empty()
            && remarks.is_empty()
            && preamble.is_none()
    }
}

/// Writes a file with its changes; `None` when nothing is left in it.
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
    let preamble = match (&changes.preamble, sheet) {
        (Some(preamble), _) => preamble.clone(),
        (None, Some(sheet)) => sheet.preamble.clone(),
        (None, None) => String::new(),
    };
    if expected == 0 && (is_json(path) || remarks::is_silent(&preamble)) {
        return Ok(None);
    }
    let has_preamble = !preamble.is_empty();
    let documents = sheet.map_or(&[][..], |sheet| sheet.stream.documents());
    let is_crlf = |document: &Document| line_break(document.source()) == "\r\n";
    let end = if documents.iter().any(is_crlf) { "\r\n" } else { "\n" };
    let mut file = Draft { text: preamble, end };
    for page in pages.iter().filter(|page| !changes.removed.contains(&page.at)) {
        let own = &documents[page.at];
        match changes.edited.get(&page.at) {
            Some(document) if !document.is_edited() => file.append(document),
            Some(document) => file.append_own(own, &document.to_string()),
            None => file.append_own(own, own.source()),
        }
        file.append_remarks(changes.remarks.get(&page.at).unwrap_or(&page.remarks));
    }
    for leaf in &changes.added {
        file.append(&leaf.document);
        file.append_remarks(&leaf.remarks);
    }
    // A document that is first now needs no marker, unless the file began with one.
    let began_with_marker = documents.first().is_some_and(Document::has_start_marker);
    let is_bare = !began_with_marker || changes.removed.contains(&0);
    let mut text = file.text;
    if is_bare && !has_preamble {
        text.drain(..text.len() - without_marker(&text).len());
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

/// A file in the making.
struct Draft {
    text: String,
    /// What its lines end with.
    end: &'static str,
}

impl Draft {
    /// Puts a document of the file itself behind others, as it is written now. What is first needs no marker, nor does what
    /// stands behind the end of another.
    fn append_own(&mut self, own: &Document, written: &str) {
        self.end_line();
        if !(self.text.is_empty() || own.has_start_marker() || written.starts_with("---")) {
            self.separate();
        }
        self.text.push_str(written);
    }

    /// Puts documents without content behind others.
    fn append_remarks(&mut self, remarks: &str) {
        if remarks.is_empty() {
            return;
        }
        self.end_line();
        if !(remarks.trim_start().starts_with("---") || self.text.is_empty()) {
            self.separate();
        }
        self.text.push_str(remarks);
    }

    /// Puts a document from elsewhere behind others.
    fn append(&mut self, document: &Document) {
        let written = document.to_string();
        if self.text.is_empty() {
            self.text.push_str(&written);
            return;
        }
        let written = written.trim_start_matches('\u{feff}');
        self.end_line();
        if written.starts_with('%') {
            // Directives stand behind the end of a document only.
            self.text.extend(["...", self.end]);
        } else if !document.has_start_marker() {
            self.text.extend(["---", self.end]);
        }
        self.text.push_str(written);
    }

    /// Puts a marker, unless the end of a document stands there.
    fn separate(&mut self) {
        if !self.text.lines().next_back().is_some_and(|line| line.starts_with("...")) {
            self.text.extend(["---", self.end]);
        }
    }

    fn end_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push_str(self.end);
        }
    }
}
