//! The text of a file with several documents.

use lanai_yaml::{Document, Kind, NodeRef, Style};

/// A document as it is written, taken apart at its marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sheet {
    /// Comments and directives before the marker; empty where there is none.
    preface: String,
    /// The line with the marker `---`, and what else is on it.
    marker: Option<String>,
    body: String,
}

impl Sheet {
    /// Takes the text of one document apart.
    pub(super) fn new(text: &str) -> Self {
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            let content = line.trim_start_matches('\u{feff}');
            if is_marker(content) {
                let (preface, rest) = text.split_at(start);
                let (marker, body) = rest.split_at(line.len());
                return Self { preface: preface.into(), marker: Some(marker.into()), body: body.into() };
            }
            let nothing = content.trim().is_empty() || is_end(content);
            if !nothing && !content.starts_with(['#', '%']) {
                break;
            }
            start += line.len();
        }
        Self { preface: String::new(), marker: None, body: text.into() }
    }

    /// This document with the marker of another one, whose place it takes.
    #[must_use]
    pub(super) fn in_place_of(self, old: &Self) -> Self {
        if old.has_content_on_marker() || self.has_content_on_marker() || self.has_directives() {
            return self;
        }
        let body = without_head(&self.body, &old.preface).unwrap_or(&self.body).to_owned();
        Self { preface: old.preface.clone(), marker: old.marker.clone(), body }
    }

    /// The comments before the marker, if they are comments only.
    pub(super) fn comments_before(&self) -> Option<&str> {
        (!self.preface.trim().is_empty() && !self.has_directives()).then_some(self.preface.as_str())
    }

    pub(super) fn begins_with_marker(&self) -> bool {
        self.marker.is_some()
    }

    fn has_content_on_marker(&self) -> bool {
        self.marker.as_deref().is_some_and(|line| {
            let rest = line.trim_start_matches(['\u{feff}', '-']).trim();
            !rest.is_empty() && !rest.starts_with('#')
        })
    }

    fn has_bare_marker(&self) -> bool {
        self.marker.as_deref().is_some_and(|line| line.trim_start_matches('\u{feff}').trim() == "---")
    }

    fn has_directives(&self) -> bool {
        self.preface.lines().any(|line| line.starts_with('%'))
    }
}

/// The text without the comments of `head` that it begins with; `None` when it begins otherwise. Blank lines do not
/// count: comments that stood before a marker come back from a function above the first key.
fn without_head<'a>(text: &'a str, head: &str) -> Option<&'a str> {
    let mut rest = text;
    for comment in head.lines().map(str::trim).filter(|line| line.starts_with('#')) {
        let line = rest.trim_start().split_inclusive('\n').next()?;
        if line.trim_end() != comment {
            return None;
        }
        rest = &rest.trim_start()[line.len()..];
    }
    Some(rest)
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn is_end(line: &str) -> bool {
    line.trim_end() == "..."
}

/// A file in the making.
pub(super) struct Composer {
    text: String,
    line_break: &'static str,
    sheets: usize,
    first: FirstMarker,
}

/// What becomes of a bare marker before the first document, where it separates nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FirstMarker {
    Keep,
    Drop,
}

impl Composer {
    /// Begins a file with `head`, which is comments or nothing. Line breaks that are added are those of `like`.
    pub(super) fn new(head: &str, like: &str, first: FirstMarker) -> Self {
        let line_break = if like.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text: head.to_owned(), line_break, sheets: 0, first }
    }

    /// Adds a document that is new here. It gets a marker, whatever stands before it: kpt does not see a document behind
    /// `...` without one.
    pub(super) fn push_new(&mut self, mut sheet: Sheet) {
        let bare = || format!("---{}", self.line_break);
        sheet.marker = Some(sheet.marker.unwrap_or_else(bare));
        self.push(&sheet);
    }

    /// Adds a document.
    pub(super) fn push(&mut self, sheet: &Sheet) {
        if self.sheets == 0 {
            self.push_first(sheet);
        } else {
            self.push_next(sheet);
        }
        self.sheets += 1;
    }

    fn push_first(&mut self, sheet: &Sheet) {
        self.text.push_str(&sheet.preface);
        let separates_nothing = sheet.has_bare_marker() && self.text.trim().is_empty();
        if self.first == FirstMarker::Keep || !separates_nothing {
            self.text.push_str(sheet.marker.as_deref().unwrap_or_default());
        }
        self.text.push_str(&sheet.body);
    }

    fn push_next(&mut self, sheet: &Sheet) {
        self.end_line();
        let ended = self.text.trim_end().rsplit('\n').next().is_some_and(is_end);
        if sheet.has_directives() {
            if !ended {
                self.push_line("...");
            }
            self.text.push_str(&sheet.preface);
            self.text.push_str(sheet.marker.as_deref().unwrap_or_default());
        } else {
            // Before the marker, comments would belong to the document that ends here; unless that has its end.
            let before = if ended && sheet.marker.is_some() { sheet.preface.as_str() } else { "" };
            self.text.push_str(before);
            match &sheet.marker {
                Some(marker) => self.text.push_str(marker.trim_start_matches('\u{feff}')),
                None if ended && self.text.ends_with('\n') => {}
                None => self.push_line("---"),
            }
            if before.is_empty() {
                let lines = sheet.preface.trim_start_matches('\u{feff}').split_inclusive('\n');
                self.text.extend(lines.filter(|line| !is_end(line)));
            }
        }
        self.text.push_str(sheet.body.trim_start_matches('\u{feff}'));
    }

    /// Ends the last line without changing what it means.
    fn end_line(&mut self) {
        if self.text.is_empty() || self.text.ends_with('\n') {
            return;
        }
        let start = last_document(&self.text);
        if let Some(fixed) = Document::parse(&self.text[start..]).ok().and_then(|last| end_of_block(&last)) {
            self.text.truncate(start);
            self.text.push_str(&fixed);
        }
        self.text.push_str(self.line_break);
    }

    fn push_line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push_str(self.line_break);
    }

    /// The text, with what stands behind all documents.
    pub(super) fn finish(mut self, tail: &str) -> String {
        if !tail.is_empty() {
            self.end_line();
        }
        self.text.push_str(tail);
        self.text
    }
}

/// Where the last document of a text begins.
fn last_document(text: &str) -> usize {
    let markers = text.match_indices("\n---").filter(|(at, _)| is_marker(&text[at + 1..]));
    markers.last().map_or(0, |(at, _)| at + 1)
}

/// The text of a document that ends in a block scalar without a line break, with a header that says so: a line break
/// that follows would be part of the value.
fn end_of_block(document: &Document) -> Option<String> {
    let mut last = document.root();
    while let Some(child) = last_child(last) {
        last = child;
    }
    let is_block = matches!(last.style(), Style::Literal | Style::Folded);
    if last.kind() != Kind::Scalar || !is_block || last.value().is_empty() || last.value().ends_with('\n') {
        return None;
    }
    let text = document.source();
    let (before, scalar) = text.split_at_checked(last.source_range()?.start)?;
    let (header, lines) = scalar.split_at(scalar.find('\n')?);
    let (indicators, comment) = header.split_at(header.find([' ', '\t', '\r']).unwrap_or(header.len()));
    let indicators = indicators.replace(['+', '-'], "");
    Some(format!("{before}{indicators}-{comment}{lines}"))
}

fn last_child(node: NodeRef<'_>) -> Option<NodeRef<'_>> {
    match node.kind() {
        Kind::Mapping => node.entries().last().map(|(_, value)| value),
        Kind::Sequence => node.items().last(),
        Kind::Scalar | Kind::Alias => None,
    }
}
