//! A plain model of documents: what they mean, without any text.

use lanai_yaml::{Kind, NodeRef, Resolved};

use super::judge::Shape;

/// A node and the anchor on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub anchor: Option<String>,
    pub value: Value,
}

/// What a node means. The spelling of a null is kept, because look-ups see it, and not compared.
#[derive(Clone, Debug)]
pub enum Value {
    Scalar { text: String, means: Means },
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>),
    Alias(String),
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Scalar { means: Means::Null, .. }, Value::Scalar { means: Means::Null, .. }) => true,
            (Value::Scalar { text, means }, Value::Scalar { text: other, means: others }) => {
                // JSON has other words for some.
                means == others && (text == other || *means != Means::Str)
            }
            (Value::Sequence(items), Value::Sequence(others)) => items == others,
            (Value::Mapping(pairs), Value::Mapping(others)) => pairs == others,
            (Value::Alias(name), Value::Alias(other)) => name == other,
            _ => false,
        }
    }
}

/// [`Resolved`] in a form that can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Means {
    Null,
    Bool(bool),
    Int(i128),
    Float(u64),
    Str,
}

/// A step from a collection to one of its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Key(String),
    Index(usize),
}

impl Node {
    pub fn of(value: Value) -> Self {
        Self { anchor: None, value }
    }

    pub fn string(text: &str) -> Self {
        Self::of(Value::Scalar { text: text.into(), means: Means::Str })
    }

    pub fn null() -> Self {
        Self::of(Value::Scalar { text: "null".into(), means: Means::Null })
    }

    pub fn is_null(&self) -> bool {
        matches!(self.value, Value::Scalar { means: Means::Null, .. })
    }

    /// Reads a node and all below it, aliases left as they are.
    pub fn read(node: NodeRef<'_>) -> Self {
        let value = match node.kind() {
            Kind::Alias => Value::Alias(node.value().into_owned()),
            Kind::Sequence => Value::Sequence(node.items().map(Self::read).collect()),
            Kind::Mapping => Value::Mapping(
                node.entries().map(|(key, value)| (Self::read(key), Self::read(value))).collect(),
            ),
            Kind::Scalar => {
                let means = match node.resolved() {
                    Resolved::Null => Means::Null,
                    Resolved::Bool(value) => Means::Bool(value),
                    Resolved::Int(value) => Means::Int(value),
                    Resolved::Float(value) => Means::Float(value.to_bits()),
                    Resolved::Str | Resolved::Timestamp | Resolved::Merge => Means::Str,
                };
                Value::Scalar { text: node.value().into_owned(), means }
            }
        };
        Self { anchor: node.anchor().map(Into::into), value }
    }

    fn children(&self) -> Vec<&Node> {
        match &self.value {
            Value::Sequence(items) => items.iter().collect(),
            Value::Mapping(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
            Value::Scalar { .. } | Value::Alias(_) => Vec::new(),
        }
    }

    /// This node and all below it, in the order of the text.
    pub fn all(&self) -> Vec<&Node> {
        let mut all = Vec::new();
        let mut work = vec![self];
        while let Some(node) = work.pop() {
            all.push(node);
            work.extend(node.children().into_iter().rev());
        }
        all
    }

    /// The node with that anchor; anchors are unique in a model, see [`Node::has_simple_anchors`].
    pub fn anchored(&self, name: &str) -> Option<&Node> {
        self.all().into_iter().find(|node| node.anchor.as_deref() == Some(name))
    }

    /// Whether every anchor is set once, every alias stands behind its anchor, and none is inside of it.
    pub fn has_simple_anchors(&self) -> bool {
        let all = self.all();
        let anchors: Vec<&str> = all.iter().filter_map(|node| node.anchor.as_deref()).collect();
        let unique = anchors.iter().enumerate().all(|(at, name)| !anchors[..at].contains(name));
        let mut seen: Vec<&str> = Vec::new();
        let behind = all.iter().all(|node| {
            seen.extend(node.anchor.as_deref());
            !matches!(&node.value, Value::Alias(name) if !seen.contains(&name.as_str()))
        });
        let circles = all.iter().filter(|node| node.anchor.is_some()).any(|node| {
            node.all()
                .iter()
                .any(|below| matches!(&below.value, Value::Alias(name) if Some(name) == node.anchor.as_ref()))
        });
        unique && behind && !circles
    }

    /// A copy without anchors and aliases: what the node means. `root` is the document that the aliases are of.
    pub fn expanded(&self, root: &Node) -> Node {
        Node::of(match &self.value {
            Value::Scalar { text, means } => Value::Scalar { text: text.clone(), means: *means },
            Value::Sequence(items) => Value::Sequence(items.iter().map(|item| item.expanded(root)).collect()),
            Value::Mapping(pairs) => Value::Mapping(
                pairs.iter().map(|(key, value)| (key.expanded(root), value.expanded(root))).collect(),
            ),
            Value::Alias(name) => return root.anchored(name).expect("aliases have anchors").expanded(root),
        })
    }

    /// Replaces the aliases of these names by what they stand for in `root`.
    pub fn expand_all(&mut self, names: &[String], root: &Node) {
        match &mut self.value {
            Value::Alias(name) if names.contains(name) => self.value = self.expanded(root).value,
            Value::Sequence(items) => items.iter_mut().for_each(|item| item.expand_all(names, root)),
            Value::Mapping(pairs) => {
                for (key, value) in pairs {
                    key.expand_all(names, root);
                    value.expand_all(names, root);
                }
            }
            Value::Alias(_) | Value::Scalar { .. } => {}
        }
    }

    /// How many nodes there are once aliases are expanded; gives up beyond `limit`.
    pub fn expanded_len(&self, root: &Node, limit: usize) -> usize {
        let mut count = 0;
        let mut work = vec![self];
        while let Some(node) = work.pop() {
            count += 1;
            if count > limit {
                break;
            }
            match &node.value {
                Value::Alias(name) => work.extend(root.anchored(name)),
                Value::Scalar { .. } | Value::Sequence(_) | Value::Mapping(_) => work.extend(node.children()),
            }
        }
        count
    }

    /// The text of a scalar, aliases followed.
    pub fn text<'a>(&'a self, root: &'a Node) -> Option<&'a str> {
        match &self.value {
            Value::Scalar { text, .. } => Some(text),
            Value::Alias(name) => root.anchored(name)?.text(root),
            Value::Sequence(_) | Value::Mapping(_) => None,
        }
    }

    /// The index of the first pair with that key.
    pub fn position(&self, key: &str, root: &Node) -> Option<usize> {
        let Value::Mapping(pairs) = &self.value else { return None };
        pairs.iter().position(|(name, _)| name.text(root) == Some(key))
    }

    /// Goes down, expanding the aliases that are passed.
    pub fn walk<'a>(root: &'a mut Node, path: &[Step]) -> Option<&'a mut Node> {
        let mut at: Vec<usize> = Vec::new();
        for step in path {
            Self::expand_at(root, &at)?;
            let here = root.child(&at)?;
            at.push(match step {
                Step::Index(index) => *index,
                Step::Key(key) => here.position(key, root)?,
            });
        }
        root.child_mut(&at)
    }

    /// Replaces an alias by what it stands for.
    pub fn expand_at(root: &mut Node, at: &[usize]) -> Option<()> {
        if matches!(root.child(at)?.value, Value::Alias(_)) {
            let copy = root.child(at)?.expanded(root);
            root.child_mut(at)?.value = copy.value;
        }
        Some(())
    }

    /// The child that indexes lead to: items, or values of pairs.
    fn child(&self, at: &[usize]) -> Option<&Node> {
        at.iter().try_fold(self, |node, index| match &node.value {
            Value::Sequence(items) => items.get(*index),
            Value::Mapping(pairs) => pairs.get(*index).map(|(_, value)| value),
            Value::Scalar { .. } | Value::Alias(_) => None,
        })
    }

    fn child_mut(&mut self, at: &[usize]) -> Option<&mut Node> {
        at.iter().try_fold(self, |node, index| match &mut node.value {
            Value::Sequence(items) => items.get_mut(*index),
            Value::Mapping(pairs) => pairs.get_mut(*index).map(|(_, value)| value),
            Value::Scalar { .. } | Value::Alias(_) => None,
        })
    }

    /// Whether the judge read the same. It does not tell what scalars mean, so that nulls are compared by kind only.
    pub fn agrees(&self, shape: &Shape) -> bool {
        match (&self.value, shape) {
            (Value::Alias(_), Shape::Alias) => true,
            (Value::Scalar { means: Means::Null, .. }, Shape::Scalar { text, .. }) => {
                matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
            }
            // A block scalar that ends with the text and has no line break: the judge adds one.
            (Value::Scalar { text, .. }, Shape::Scalar { text: theirs, plain }) => {
                text == theirs || !plain && theirs.strip_suffix('\n') == Some(text)
            }
            (Value::Sequence(_), Shape::Sequence(theirs)) | (Value::Mapping(_), Shape::Mapping(theirs)) => {
                let ours = self.children();
                ours.len() == theirs.len()
                    && ours.iter().zip(theirs).all(|(ours, theirs)| ours.agrees(theirs))
            }
            _ => false,
        }
    }
}
