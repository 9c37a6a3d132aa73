//! To the wire.
//!
//! The text of a resource is moved to the right, line by line: whatever stands in it keeps its meaning, because all of it
//! moves together. Only where something is bound to the left margin (markers, directives) it is laid out anew.

use lanai_yaml::{Content, Document, Kind, NodeRef, SequenceIndent, Style, encode_document};
use serde::Serialize;

use super::{API_VERSION, KIND, ResourceList};
use crate::resource::Resource;

pub fn text(list: &ResourceList) -> String {
    let mut out = format!("apiVersion: {API_VERSION}\nkind: {KIND}\n");
    out.push_str(if list.items.is_empty() { "items: []\n" } else { "items:\n" });
    for item in &list.items {
        let layout = Layout::of(item);
        layout.above.iter().for_each(|comment| push_line(&mut out, "", comment));
        let mut lines = layout.body.split_inclusive('\n');
        push_line(&mut out, "- ", lines.next().unwrap_or("{}"));
        lines.for_each(|line| push_line(&mut out, "  ", line));
    }
    if let Some(config) = &list.function_config {
        let layout = Layout::of(config);
        out.push_str("functionConfig:\n");
        let lines = layout.above.iter().map(String::as_str).chain(layout.body.split_inclusive('\n'));
        lines.for_each(|line| push_line(&mut out, "  ", line));
    }
    if !list.results.is_empty() {
        push_field(&mut out, "results", value(&list.results));
    }
    for (key, value) in &list.others {
        push_field(&mut out, key, value.clone());
    }
    out
}

/// The text of a resource, apart from markers.
struct Layout {
    /// The comments above all content, line by line.
    above: Vec<String>,
    /// The content and all behind it.
    body: String,
}

impl Layout {
    fn of(resource: &Resource) -> Self {
        let source = resource.to_string();
        if moves(&source, resource.root()) {
            return Self::split(&source);
        }
        let document = resource.document();
        let mut layout = Self::split(&encode_document(document, SequenceIndent::Compact));
        // That format has no place for what stands before the marker.
        let preface = document.preface().unwrap_or_default();
        layout.above.splice(..0, preface.lines().map(|line| line.trim().to_owned()));
        layout
    }

    fn split(source: &str) -> Self {
        let mut above = Vec::new();
        let mut rest = source;
        while let Some(line) = rest.split_inclusive('\n').next() {
            let content = behind_marker(line).unwrap_or(line.trim_start()).trim_end_matches(['\n', '\r']);
            match content.chars().next() {
                None => {}
                Some(_) if is_end(line) => {}
                Some('#') => above.push(content.into()),
                Some(_) => break,
            }
            rest = &rest[line.len()..];
        }
        let lines = rest.split_inclusive('\n').filter(|line| !is_end(line));
        Self { above, body: lines.collect() }
    }
}

/// Whether a resource means the same when its text is moved to the right.
fn moves(source: &str, root: NodeRef<'_>) -> bool {
    let bare_return = source.contains('\r') && source.replace("\r\n", "").contains('\r');
    let inline = source.lines().any(|line| {
        let behind = behind_marker(line).unwrap_or_default();
        line.starts_with('%') || !behind.is_empty() && !behind.starts_with('#')
    });
    let open_end = !source.ends_with('\n') && ends_in_block_scalar(root);
    !bare_return && !inline && !open_end && !source.contains('\u{feff}')
}

/// What stands behind the marker at the beginning of a line, if there is one.
fn behind_marker(line: &str) -> Option<&str> {
    let behind = line.strip_prefix("---")?;
    let is_marker = behind.chars().next().is_none_or(char::is_whitespace);
    is_marker.then(|| behind.trim())
}

/// Whether a line ends a document.
fn is_end(line: &str) -> bool {
    line.trim_end() == "..."
}

fn ends_in_block_scalar(root: NodeRef<'_>) -> bool {
    let mut at = root;
    loop {
        let last = match at.kind() {
            Kind::Mapping => at.entries().last().map(|(_, value)| value),
            Kind::Sequence => at.items().last(),
            Kind::Scalar | Kind::Alias => return matches!(at.style(), Style::Literal | Style::Folded),
        };
        match last {
            Some(last) => at = last,
            None => return false,
        }
    }
}

/// Adds a line; one without content needs no indentation.
fn push_line(out: &mut String, indent: &str, line: &str) {
    let line = line.strip_suffix('\n').unwrap_or(line);
    if !line.trim_end_matches('\r').is_empty() {
        out.push_str(indent);
    }
    out.push_str(line);
    out.push('\n');
}

fn push_field(out: &mut String, key: &str, value: Content) {
    let mut document = Document::parse("").expect("an empty text is a document");
    let root = &mut document.root_mut();
    if root.insert(key, value).is_err() {
        // What cannot be copied is larger than anything that can be read.
        return;
    }
    out.push_str(&document.to_string());
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

/// A value as content; one that is nested too deeply for blocks in flow style.
fn value(value: &impl Serialize) -> Content {
    if let Ok(document) = Document::from_serialize(value) {
        return document.into();
    }
    let json = serde_json::to_string(value).unwrap_or_default();
    Content::parse(&json).unwrap_or_else(|_| Content::string(json))
}
