//! Paths of fields: `spec.containers.[name=app].ports.*.port`.

use lanai_yaml::{Kind, NodeRef, Path};

use crate::plan::{below, item};
use crate::sites::text;

/// A path with wildcards.
pub struct FieldPath {
    steps: Vec<Step>,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A key, or a number for an item.
    Name(String),
    /// The items that have this value under this key; with an empty key, that are this value.
    Match { key: String, value: String },
    /// All items, or all values.
    All,
}

impl FieldPath {
    /// Reads a path. `\.` is a dot in a key; dots between brackets are part of what is there.
    pub fn parse(text: &str) -> Self {
        Self {
            steps: split(text).into_iter().filter(|part| !part.is_empty()).map(|part| step(&part)).collect(),
        }
    }

    /// The places that are there.
    pub fn find(&self, root: NodeRef<'_>) -> Vec<Path> {
        self.follow(root, Missing::Skip)
    }

    /// The places that are there or could be: a key that is missing in a mapping is one, with all keys behind it.
    pub fn find_or_create(&self, root: NodeRef<'_>) -> Vec<Path> {
        self.follow(root, Missing::Create)
    }

    fn follow(&self, root: NodeRef<'_>, missing: Missing) -> Vec<Path> {
        let mut at = vec![Place { path: Path::root(), node: Some(root) }];
        for step in &self.steps {
            at = at.into_iter().flat_map(|place| place.go(step, missing)).collect();
        }
        at.into_iter().map(|place| place.path).collect()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Create,
    Skip,
}

struct Place<'a> {
    path: Path,
    node: Option<NodeRef<'a>>,
}

impl<'a> Place<'a> {
    fn go(self, step: &Step, missing: Missing) -> Vec<Place<'a>> {
        let node = self.node.map(NodeRef::target).filter(|node| !node.is_null());
        match node.map(NodeRef::kind) {
            Some(Kind::Sequence) => {
                let items = node.into_iter().flat_map(NodeRef::items).enumerate();
                let fits = |(index, node): &(usize, NodeRef<'_>)| match step {
                    Step::Name(name) => name.parse() == Ok(*index),
                    Step::Match { key, value } if key.is_empty() => {
                        text(*node).is_some_and(|is| is == *value)
                    }
                    Step::Match { key, value } => node.get(key).and_then(text).is_some_and(|is| is == *value),
                    Step::All => true,
                };
                items
                    .filter(fits)
                    .map(|(index, node)| Place { path: item(&self.path, index), node: Some(node) })
                    .collect()
            }
            Some(Kind::Mapping) => match step {
                Step::Name(name) => match node.and_then(|node| node.get(name)) {
                    None if missing == Missing::Skip => Vec::new(),
                    node => vec![Place { path: below(&self.path, name), node }],
                },
                Step::All => {
                    let entries = node.into_iter().flat_map(NodeRef::entries);
                    let name = |key: NodeRef<'_>| key.target().value().into_owned();
                    entries
                        .map(|(key, node)| Place { path: below(&self.path, &name(key)), node: Some(node) })
                        .collect()
                }
                Step::Match { .. } => Vec::new(),
            },
            None if missing == Missing::Create => match step {
                Step::Name(name) => vec![Place { path: below(&self.path, name), node: None }],
                Step::All | Step::Match { .. } => Vec::new(),
            },
            Some(Kind::Scalar | Kind::Alias) | None => Vec::new(),
        }
    }
}

fn step(part: &str) -> Step {
    if part == "*" {
        return Step::All;
    }
    let inside = part.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inside.map(|inside| inside.split_once('=')) {
        Some(Some((key, value))) => Step::Match { key: key.into(), value: value.into() },
        Some(None) => Step::Name(inside.unwrap_or(part).into()),
        None => Step::Name(part.into()),
    }
}

fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0_usize;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'.') => push(&mut parts, '.'),
            '.' if depth == 0 => parts.push(String::new()),
            '[' => {
                if depth == 0 {
                    parts.push(String::new());
                }
                depth += 1;
                push(&mut parts, '[');
            }
            ']' => {
                depth = depth.saturating_sub(1);
                push(&mut parts, ']');
            }
            other => push(&mut parts, other),
        }
        if letter == '\\' && letters.peek() == Some(&'.') {
            letters.next();
        }
    }
    parts
}

fn push(parts: &mut [String], letter: char) {
    if let Some(last) = parts.last_mut() {
        last.push(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_split() {
        let check = |text: &str, expected: &[&str]| {
            let parts: Vec<String> = split(text).into_iter().filter(|part| !part.is_empty()).collect();
            assert_eq!(parts, expected, "{text}");
        };
        check("a.b", &["a", "b"]);
        check(r"metadata.annotations.a\.b/c", &["metadata", "annotations", "a.b/c"]);
        check("c.[name=a.b].x", &["c", "[name=a.b]", "x"]);
        check("c[name=a].x", &["c", "[name=a]", "x"]);
        check("a.0.*", &["a", "0", "*"]);
        check("[a.b", &["[a.b"]);
    }
}
