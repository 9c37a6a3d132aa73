//! Strict reading: from nodes to plain values of a known shape, with everything that does not fit.
//!
//! The rules are those of kpt's decoder: scalars of any type count as text, null counts as absent, a mapping with a key that
//! stands twice is not looked into, and whatever is wrong is listed in the order in which it stands.

use std::collections::HashMap;

use lanai_yaml::{Kind, NodeRef, Resolved};
use serde_json::{Map, Value};

use super::error::{Problem, Wrong};
use super::schema::Shape;

/// How many merge keys are followed into each other.
const MAX_MERGES: usize = 16;

/// How many bytes of a scalar a message shows.
const SHOWN: usize = 10;

/// Reads a node; what does not fit is left out of the value and listed.
pub fn decode(source: &str, node: NodeRef<'_>, shape: &Shape) -> (Value, Vec<Problem>) {
    let mut decoder = Decoder { lines: Lines::of(source), problems: Vec::new() };
    let value = decoder.value(node, shape).unwrap_or(Value::Null);
    (value, decoder.problems)
}

/// Where lines begin, so that a place is found without counting.
struct Lines(Vec<usize>);

impl Lines {
    fn of(source: &str) -> Self {
        Self(source.match_indices('\n').map(|(at, _)| at).collect())
    }

    fn line(&self, node: NodeRef<'_>) -> usize {
        let offset = node.source_range().map_or(0, |range| range.start);
        self.0.partition_point(|end| *end < offset) + 1
    }
}

struct Decoder {
    lines: Lines,
    problems: Vec<Problem>,
}

impl Decoder {
    /// The value of a node, or `None` for a null and for what does not fit.
    fn value(&mut self, node: NodeRef<'_>, shape: &Shape) -> Option<Value> {
        let node = node.target();
        if node.is_null() {
            return None;
        }
        if node.kind() == Kind::Mapping && self.has_duplicates(node) {
            return None;
        }
        match (shape, node.kind()) {
            (Shape::Text(_), Kind::Scalar) => Some(Value::String(node.value().into_owned())),
            (Shape::Int, Kind::Scalar) => {
                let Resolved::Int(number) = node.resolved() else { return self.misfit(node, shape) };
                let Ok(number) = i64::try_from(number) else { return self.misfit(node, shape) };
                Some(Value::from(number))
            }
            (Shape::Bool, Kind::Scalar) => {
                let Resolved::Bool(value) = node.resolved() else { return self.misfit(node, shape) };
                Some(Value::Bool(value))
            }
            (Shape::Any, _) => match node.deserialize() {
                Ok(value) => Some(value),
                Err(_) => self.misfit(node, shape),
            },
            (Shape::Texts, Kind::Mapping) => Some(self.texts(node)),
            (Shape::List(_, item), Kind::Sequence) => {
                Some(Value::Array(node.items().filter_map(|node| self.value(node, item)).collect()))
            }
            (Shape::Struct(name, fields), Kind::Mapping) => Some(self.fields(node, name, fields)),
            (
                Shape::Text(_)
                | Shape::Int
                | Shape::Bool
                | Shape::Texts
                | Shape::List(..)
                | Shape::Struct(..),
                Kind::Scalar | Kind::Mapping | Kind::Sequence | Kind::Alias,
            ) => self.misfit(node, shape),
        }
    }

    fn texts(&mut self, node: NodeRef<'_>) -> Value {
        let mut texts = Map::new();
        for (key, value) in entries(node, 0) {
            if let Some(key) = self.key(key) {
                let before = self.problems.len();
                let value = self.value(value, &Shape::Text("string"));
                if self.problems.len() == before && !texts.contains_key(&key) {
                    texts.insert(key, value.unwrap_or_else(|| Value::String(String::new())));
                }
            }
        }
        Value::Object(texts)
    }

    fn fields(&mut self, node: NodeRef<'_>, name: &str, fields: &[(&'static str, Shape)]) -> Value {
        let mut values = Map::new();
        for (key, value) in entries(node, 0) {
            let line = self.lines.line(key);
            let Some(key) = self.key(key) else { continue };
            match fields.iter().find(|(field, _)| *field == key) {
                Some(_) if values.contains_key(&key) => {}
                Some((_, shape)) => {
                    if let Some(value) = self.value(value, shape) {
                        values.insert(key, value);
                    }
                }
                None => {
                    let wrong = Wrong::UnknownField { field: key, parent: name.into() };
                    self.problems.push(Problem { line, wrong });
                }
            }
        }
        Value::Object(values)
    }

    fn key(&mut self, key: NodeRef<'_>) -> Option<String> {
        match self.value(key, &Shape::Text("string")) {
            Some(Value::String(key)) => Some(key),
            _ => None,
        }
    }

    fn has_duplicates(&mut self, mapping: NodeRef<'_>) -> bool {
        let before = self.problems.len();
        let mut seen = HashMap::new();
        for (key, _) in mapping.entries().filter(|(key, _)| key.kind() == Kind::Scalar) {
            let line = self.lines.line(key);
            if let Some(first) = seen.get(&key.value()) {
                let wrong = Wrong::DuplicateKey { key: key.value().into_owned(), first: *first };
                self.problems.push(Problem { line, wrong });
            } else {
                seen.insert(key.value(), line);
            }
        }
        self.problems.len() > before
    }

    fn misfit(&mut self, node: NodeRef<'_>, shape: &Shape) -> Option<Value> {
        let wrong = Wrong::Shape { found: found(node), expected: shape.name() };
        self.problems.push(Problem { line: self.lines.line(node), wrong });
        None
    }
}

/// The pairs of a mapping, those that merge keys bring in behind its own.
fn entries(mapping: NodeRef<'_>, depth: usize) -> Vec<(NodeRef<'_>, NodeRef<'_>)> {
    let is_merge = |key: NodeRef<'_>| key.kind() == Kind::Scalar && key.resolved() == Resolved::Merge;
    let mut found: Vec<_> = mapping.entries().filter(|(key, _)| !is_merge(*key)).collect();
    if depth < MAX_MERGES {
        found.extend(mapping.merged().into_iter().flat_map(|source| entries(source, depth + 1)));
    }
    found
}

/// The tag of a node, with the beginning of its text where it is a scalar.
fn found(node: NodeRef<'_>) -> String {
    let tag = match (node.kind(), node.resolved()) {
        (Kind::Mapping, _) => return "!!map".into(),
        (Kind::Sequence, _) => return "!!seq".into(),
        (Kind::Scalar | Kind::Alias, Resolved::Null) => "!!null",
        (Kind::Scalar | Kind::Alias, Resolved::Bool(_)) => "!!bool",
        (Kind::Scalar | Kind::Alias, Resolved::Int(_)) => "!!int",
        (Kind::Scalar | Kind::Alias, Resolved::Float(_)) => "!!float",
        (Kind::Scalar | Kind::Alias, Resolved::Timestamp) => "!!timestamp",
        (Kind::Scalar | Kind::Alias, Resolved::Merge) => "!!merge",
        (Kind::Scalar | Kind::Alias, Resolved::Str) => "!!str",
    };
    let text = node.value();
    if text.len() <= SHOWN {
        return format!("{tag} `{text}`");
    }
    let end = (0..=SHOWN - 3).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{tag} `{}...`", &text[..end])
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use lanai_yaml::Document;

    use super::*;

    #[test]
    fn messages_show_so_much_of_a_scalar() {
        let shown = |len: usize| found(Document::parse("a".repeat(len)).unwrap().root());
        assert_eq!(shown(SHOWN), "!!str `aaaaaaaaaa`");
        assert_eq!(shown(SHOWN + 1), "!!str `aaaaaaa...`");
    }

    #[test]
    fn merge_keys_are_followed_so_far() {
        let mut text = String::from("m0: &m0 {k: 1}\n");
        for at in 1..=MAX_MERGES + 1 {
            writeln!(text, "m{at}: &m{at} {{<<: *m{}}}", at - 1).unwrap();
        }
        let document = Document::parse(text).unwrap();
        let found = |at: usize| entries(document.root().get(&format!("m{at}")).unwrap().target(), 0).len();
        assert_eq!(found(MAX_MERGES), 1);
        assert_eq!(found(MAX_MERGES + 1), 0);
    }
}
