//! Looking at all values of a resource.

use std::borrow::Cow;
use std::collections::HashSet;

use lanai_yaml::{Kind, NodeRef, Path};

use crate::plan::{below, item};

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Site<'a> {
    /// The way to it.
    pub path: Path,
    /// Its key, when it is the value of one.
    pub key: Option<NodeRef<'a>>,
    /// The value. What an alias stands for is met where its anchor is, not again below the alias.
    pub node: NodeRef<'a>,
}

impl Site<'_> {
    /// The comment on the line of the value, or of its key where that is another line.
    pub fn line_comment(&self) -> Option<String> {
        self.node.line_comment().or_else(|| self.key?.line_comment())
    }
}

/// All values below a node, each before what is in it, in the order of the text.
pub fn all(root: NodeRef<'_>) -> Vec<Site<'_>> {
    let mut found = Vec::new();
    let mut work = vec![Site { path: Path::root(), key: None, node: root }];
    while let Some(site) = work.pop() {
        let first = work.len();
        work.extend(children(&site));
        work[first..].reverse();
        if !site.path.is_root() {
            found.push(site);
        }
    }
    found
}

/// The values in a mapping or list, without those of keys that stand there a second time.
pub fn children<'a>(site: &Site<'a>) -> Vec<Site<'a>> {
    let node = site.node;
    match node.kind() {
        Kind::Mapping => {
            let mut seen = HashSet::new();
            let scalar = |key: &NodeRef<'_>| key.target().kind() == Kind::Scalar;
            node.entries()
                .filter(|(key, _)| scalar(key))
                .map(|(key, value)| (key.target().value(), key, value))
                .filter(|(name, ..)| seen.insert(name.clone()))
                .map(|(name, key, value)| Site {
                    path: below(&site.path, &name),
                    key: Some(key),
                    node: value,
                })
                .collect()
        }
        Kind::Sequence => {
            let items = node.items().enumerate();
            items.map(|(at, node)| Site { path: item(&site.path, at), key: None, node }).collect()
        }
        Kind::Scalar | Kind::Alias => Vec::new(),
    }
}

/// The text of a scalar that is not null, whatever its type.
pub fn text(node: NodeRef<'_>) -> Option<Cow<'_, str>> {
    let node = node.target();
    (node.kind() == Kind::Scalar && !node.is_null()).then(|| node.value())
}

/// Whether nothing is written where a value would stand.
pub fn is_left_out(node: NodeRef<'_>) -> bool {
    node.is_null() && node.source_range().is_none_or(|range| range.is_empty())
}

/// The value below these keys, through aliases and merge keys.
pub fn at<'a>(node: NodeRef<'a>, keys: &[&str]) -> Option<NodeRef<'a>> {
    keys.iter().try_fold(node, |node, key| node.get(key))
}

/// What a node is, in words.
pub fn describe(node: NodeRef<'_>) -> &'static str {
    match node.target().kind() {
        Kind::Mapping => "a mapping",
        Kind::Sequence => "a list",
        Kind::Scalar if node.is_null() => "null",
        Kind::Scalar => "a scalar",
        Kind::Alias => "an alias that leads in a circle",
    }
}
