//! Edits that are done to a document and to its model alike.

use std::fmt;

use lanai_yaml::edit::Error;
use lanai_yaml::{CommentPlace, Content, Document, Kind, NodeMut, NodeRef, Style};

use super::choices::Choices;
use super::model::{Means, Node, Step, Value};
use super::text::{self, Parts};

/// Texts that strings are set to; most of them must be quoted somewhere.
pub const STRINGS: &[&str] = &[
    "x",
    "two words",
    "",
    " lead",
    "trail ",
    "yes",
    "NO",
    "on",
    "y",
    "null",
    "~",
    "true",
    "012",
    "0o14",
    "1e3",
    "1_000",
    "0x1F",
    ".5",
    "-",
    "- a",
    "?",
    "a: b",
    "a:",
    "# no",
    "a #b",
    "a#b",
    "[",
    "{a}",
    "a, b",
    "&a",
    "*a",
    "!a",
    "|",
    ">",
    "'",
    "\"",
    "%a",
    "@a",
    "`a",
    "2001-01-01",
    "1:30",
    "<<",
    "=",
    "---",
    "...",
    "--- a",
    "a\nb",
    "a\nb\n",
    "a\n\nb\n\n",
    "\n",
    "\na",
    " a\n  b\n",
    "a \nb",
    "a\n b",
    "\ta",
    "a\tb",
    "a\r\nb",
    "é",
    "日本",
    "😀",
    "\u{7}",
    "\u{0}",
    "\u{85}",
    "\u{2028}",
    "\u{feff}",
    "\u{a0}",
    "a\u{7f}",
    "a\\b",
    "it's",
    "say \"hi\"",
    "#",
    ":",
    "a\n# b\n",
    "a\n---\nb",
    ",",
    "]",
    "}",
    "long text that goes on and on, longer than any line that a formatter would leave alone, with: colons and # marks, to its end",
];

const KEYS: &[&str] = &[
    "new", "n2", "yes", "null", "1", "a b", "app.io/x", "a: b", "# k", "", "-", "é", "a\nb", "'", "[x]",
    "<<", "? q", "1.5", "x,y",
];

const COMMENTS: &[&str] = &["# set", "# kpt-set: ${x}", "#", "# a # b", "# two\n# lines", "# é", ""];

/// Something to set, and what it means.
#[derive(Clone)]
pub struct New {
    pub content: Content,
    pub model: Node,
    /// It is a copy of what may have comments.
    pub has_comments: bool,
}

impl fmt::Debug for New {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.model.value)
    }
}

impl New {
    fn of(content: impl Into<Content>, model: Node) -> Self {
        Self { content: content.into(), model, has_comments: false }
    }

    fn scalar(content: impl Into<Content>, text: &str, means: Means) -> Self {
        Self::of(content, Node::of(Value::Scalar { text: text.into(), means }))
    }

    fn choose(choices: &mut Choices<'_>, document: &Document, model: &Node) -> Self {
        match choices.below(12) {
            6 => {
                let number = i64::from(choices.byte()) - 128;
                Self::scalar(number, &number.to_string(), Means::Int(number.into()))
            }
            7 => {
                let truth = choices.once_in(2);
                Self::scalar(truth, &truth.to_string(), Means::Bool(truth))
            }
            8 => Self::of(Content::null(), Node::null()),
            9 => {
                let (float, text) = choices.of(&[
                    (0.5, "0.5"),
                    (-1e300, "-1e300"),
                    (1e21, "1e21"),
                    (0.1, "0.1"),
                    (f64::INFINITY, ".inf"),
                    (3.0, "3.0"),
                ]);
                Self::scalar(float, text, Means::Float(float.to_bits()))
            }
            10 | 11 => {
                if choices.once_in(3) && model.expanded_len(model, 400) < 400 {
                    let content = Content::from(document.root());
                    return Self { content, model: model.expanded(model), has_comments: true };
                }
                let text = text::document(choices, Parts::Bare);
                let new = Document::parse(text.as_str())
                    .unwrap_or_else(|error| panic!("generated content: {error:#}\n{text}"));
                let model = Node::read(new.root());
                Self::of(new, model)
            }
            _ => {
                let text = choices.of(STRINGS);
                Self::of(text, Node::string(text))
            }
        }
    }
}

/// One edit of one node.
#[derive(Clone, Debug)]
pub struct Op {
    pub path: Vec<Step>,
    pub edit: Edit,
}

#[derive(Clone, Debug)]
pub enum Edit {
    Set(New),
    Insert(String, New),
    InsertAt(usize, String, New),
    Push(New),
    InsertItem(usize, New),
    Remove(String),
    RemoveItem(usize),
    Rename(String, String),
    Reorder(Vec<usize>),
    SetStyle(Style),
    Comment(CommentPlace, &'static str),
    KeyComment(String, CommentPlace, &'static str),
}

impl Op {
    /// Chooses a node of the document and something to do with it.
    pub fn choose(choices: &mut Choices<'_>, document: &Document, model: &Node) -> Self {
        let (path, node) = Self::choose_node(choices, document);
        let edit = Edit::choose(choices, node, document, model);
        Self { path, edit }
    }

    /// Chooses a node of the document, and how to put something there.
    pub fn choose_to_put(
        choices: &mut Choices<'_>,
        document: &Document,
        made: &Document,
        model: &Node,
    ) -> Self {
        let (path, node) = Self::choose_node(choices, document);
        let new = New { content: Content::from(made.root()), model: model.clone(), has_comments: false };
        let edit = match node.target().kind() {
            Kind::Mapping if !choices.once_in(3) => {
                Edit::InsertAt(choices.below(node.len() + 1), choices.of(KEYS).into(), new)
            }
            Kind::Sequence if !choices.once_in(3) => Edit::InsertItem(choices.below(node.len() + 1), new),
            _ => Edit::Set(new),
        };
        Self { path, edit }
    }

    fn choose_node<'d>(choices: &mut Choices<'_>, document: &'d Document) -> (Vec<Step>, NodeRef<'d>) {
        let mut path = Vec::new();
        let mut node = document.root();
        while node.target().kind() != Kind::Scalar && !node.is_empty() && !choices.once_in(4) {
            let at = choices.below(node.len());
            if let Some(item) = node.at(at) {
                path.push(Step::Index(at));
                node = item;
                continue;
            }
            let Some((key, _)) = node.entries().nth(at) else { break };
            let Some((name, value)) = own_entry(node, key) else { break };
            path.push(Step::Key(name));
            node = value;
        }
        (path, node)
    }

    /// Does it to the document.
    pub fn apply(&self, document: &mut Document) -> Result<(), Error> {
        self.edit.apply(&mut walk(document, &self.path)?)
    }

    /// Does it to the model; tells whether the document is to take it.
    pub fn apply_to_model(&self, root: &mut Node) -> bool {
        if Node::walk(root, &self.path).is_none() {
            return false;
        }
        let whole = root.clone();
        let Some(node) = Node::walk(root, &self.path) else { return false };
        let going = self.edit.anchors_that_go(node, &whole);
        if !self.edit.apply_to_model(node, &whole) {
            return false;
        }
        // Aliases of what is no longer there are replaced by what they stood for.
        root.expand_all(&going, &whole);
        true
    }

    /// Whether the document may refuse what the model can do; `root` is the model before.
    pub fn may_be_refused(&self, error: &Error, root: &Node) -> bool {
        let mut after = root.clone();
        let taken = self.apply_to_model(&mut after);
        match error {
            Error::AliasBeforeAnchor(_) => taken && !after.has_simple_anchors(),
            Error::HasAnchors => {
                let mut before = root.clone();
                let node = Node::walk(&mut before, &self.path);
                let named = |node: &&Node| node.anchor.is_some() || matches!(node.value, Value::Alias(_));
                matches!(self.edit, Edit::SetStyle(_))
                    && node.is_some_and(|node| node.all().iter().skip(1).any(named))
            }
            // The document is taken at its word: what it does not refuse must arrive.
            Error::Unwritable(_) => true,
            Error::NoPlaceForComment(_) => {
                matches!(self.edit, Edit::SetStyle(_) | Edit::Comment(..) | Edit::KeyComment(..))
            }
            _ => false,
        }
    }
}

/// The text of a key and its value, if a look-up of that text finds this pair.
fn own_entry<'a>(mapping: NodeRef<'a>, key: NodeRef<'a>) -> Option<(String, NodeRef<'a>)> {
    if key.target().kind() != Kind::Scalar {
        return None;
    }
    let name = key.target().value().into_owned();
    let (found, value) = mapping.own_entry(&name)?;
    (found.source_range() == key.source_range()).then_some((name, value))
}

/// Goes down, as an editor does.
pub fn walk<'a>(document: &'a mut Document, path: &[Step]) -> Result<NodeMut<'a>, Error> {
    path.iter().try_fold(document.root_mut(), |node, step| match step {
        Step::Key(key) => node.get_mut(key),
        Step::Index(index) => node.at_mut(*index),
    })
}

/// Goes down, as a reader does.
pub fn find<'a>(document: &'a Document, path: &[Step]) -> Option<NodeRef<'a>> {
    path.iter().try_fold(document.root(), |node, step| match step {
        Step::Key(key) => node.own_entry(key).map(|(_, value)| value),
        Step::Index(index) => node.at(*index),
    })
}

impl Edit {
    fn choose(choices: &mut Choices<'_>, node: NodeRef<'_>, document: &Document, model: &Node) -> Self {
        let choose_new = |choices: &mut Choices<'_>| New::choose(choices, document, model);
        let key_of = |choices: &mut Choices<'_>| {
            let at = choices.below(node.len() + 1);
            let there =
                node.entries().nth(at).and_then(|(key, _)| own_entry(node, key)).map(|(name, _)| name);
            there.unwrap_or_else(|| choices.of(KEYS).to_owned())
        };
        let place = |choices: &mut Choices<'_>| {
            choices.of(&[CommentPlace::Line, CommentPlace::Head, CommentPlace::Foot])
        };
        // Mostly something that the node allows.
        let kind = if choices.once_in(24) { Kind::Alias } else { node.target().kind() };
        let choice = match kind {
            Kind::Scalar => choices.of(&[0, 0, 0, 0, 9, 10]),
            Kind::Mapping => choices.of(&[1, 1, 2, 5, 5, 7, 8, 9, 10, 11, 0]),
            Kind::Sequence => choices.of(&[3, 3, 4, 4, 6, 6, 8, 9, 10, 0]),
            Kind::Alias => choices.below(12),
        };
        match choice {
            0 => {
                let new = choose_new(choices);
                Edit::Set(new)
            }
            1 => {
                let new = choose_new(choices);
                let key = if choices.once_in(3) { key_of(choices) } else { choices.of(KEYS).into() };
                Edit::Insert(key, new)
            }
            2 => {
                let new = choose_new(choices);
                Edit::InsertAt(choices.below(node.len() + 1), choices.of(KEYS).into(), new)
            }
            3 => {
                let new = choose_new(choices);
                Edit::Push(new)
            }
            4 => {
                let new = choose_new(choices);
                Edit::InsertItem(choices.below(node.len() + 1), new)
            }
            5 => Edit::Remove(key_of(choices)),
            6 => Edit::RemoveItem(choices.below(node.len() + 1)),
            7 => Edit::Rename(key_of(choices), choices.of(KEYS).into()),
            8 => Edit::Reorder(order(choices, node.len())),
            9 if matches!(node.kind(), Kind::Mapping | Kind::Sequence) => {
                Edit::SetStyle(choices.of(&[Style::Flow, Style::Block]))
            }
            9 => {
                let styles =
                    [Style::Plain, Style::SingleQuoted, Style::DoubleQuoted, Style::Literal, Style::Folded];
                Edit::SetStyle(choices.of(&styles))
            }
            10 => Edit::Comment(place(choices), choices.of(COMMENTS)),
            _ => Edit::KeyComment(key_of(choices), place(choices), choices.of(COMMENTS)),
        }
    }

    fn apply(&self, node: &mut NodeMut<'_>) -> Result<(), Error> {
        match self.clone() {
            Edit::Set(new) => node.set(new.content),
            Edit::Insert(key, new) => node.insert(&key, new.content),
            Edit::InsertAt(at, key, new) => node.insert_at(at, &key, new.content),
            Edit::Push(new) => node.push(new.content),
            Edit::InsertItem(at, new) => node.insert_item(at, new.content),
            Edit::Remove(key) => node.remove(&key).map(|_| ()),
            Edit::RemoveItem(at) => node.remove_item(at).map(|_| ()),
            Edit::Rename(key, to) => node.rename(&key, &to),
            Edit::Reorder(order) => node.reorder(&order),
            Edit::SetStyle(style) => node.set_style(style),
            Edit::Comment(place, text) => node.set_comment(place, text),
            Edit::KeyComment(key, place, text) => node.set_key_comment(&key, place, text),
        }
    }

    fn needs(&self) -> Option<Kind> {
        match self {
            Edit::Insert(..)
            | Edit::InsertAt(..)
            | Edit::Remove(_)
            | Edit::Rename(..)
            | Edit::KeyComment(..) => Some(Kind::Mapping),
            Edit::Push(..) | Edit::InsertItem(..) | Edit::RemoveItem(_) => Some(Kind::Sequence),
            Edit::Set(..) | Edit::Reorder(_) | Edit::SetStyle(_) | Edit::Comment(..) => None,
        }
    }

    /// The anchors that are gone when the edit is done.
    fn anchors_that_go(&self, node: &Node, root: &Node) -> Vec<String> {
        let below = |node: &Node| {
            node.all().into_iter().skip(1).filter_map(|node| node.anchor.clone()).collect::<Vec<_>>()
        };
        match (self, &node.value) {
            (Edit::Set(..), _) => below(node),
            (Edit::Insert(key, ..), Value::Mapping(pairs)) => {
                node.position(key, root).map(|at| below(&pairs[at].1)).unwrap_or_default()
            }
            (Edit::Remove(key), Value::Mapping(pairs)) => {
                let pair = node.position(key, root).map(|at| [&pairs[at].0, &pairs[at].1]);
                pair.into_iter()
                    .flatten()
                    .flat_map(|node| node.anchor.iter().cloned().chain(below(node)))
                    .collect()
            }
            (Edit::RemoveItem(at), Value::Sequence(items)) => items
                .get(*at)
                .into_iter()
                .flat_map(|node| node.anchor.iter().cloned().chain(below(node)))
                .collect(),
            _ => Vec::new(),
        }
    }

    fn apply_to_model(&self, node: &mut Node, root: &Node) -> bool {
        let before = node.clone();
        let done = self.try_on_model(node, root).is_some();
        if !done {
            *node = before;
        }
        done
    }

    fn try_on_model(&self, node: &mut Node, root: &Node) -> Option<()> {
        // An order that changes nothing does not expand an alias.
        let turns = matches!(self, Edit::Reorder(order) if !order.is_sorted());
        if matches!(node.value, Value::Alias(_)) {
            // Nor does removing what is not there.
            let meant = node.expanded(root);
            match (self, &meant.value) {
                (Edit::Remove(key), Value::Mapping(_)) if meant.position(key, root).is_none() => {
                    return Some(());
                }
                (Edit::RemoveItem(at), Value::Sequence(items)) if *at >= items.len() => return Some(()),
                _ => {}
            }
        }
        if self.needs().is_some() || turns {
            if matches!(node.value, Value::Alias(_)) {
                node.value = node.expanded(root).value;
            }
            let adds =
                matches!(self, Edit::Insert(..) | Edit::InsertAt(..) | Edit::Push(..) | Edit::InsertItem(..));
            if adds && node.is_null() {
                node.value = if self.needs() == Some(Kind::Mapping) {
                    Value::Mapping(Vec::new())
                } else {
                    Value::Sequence(Vec::new())
                };
            }
        }
        let position = |node: &Node, key: &str| node.position(key, root);
        let len = match node.expanded(root).value {
            Value::Mapping(pairs) => Some(pairs.len()),
            Value::Sequence(items) => Some(items.len()),
            Value::Scalar { .. } | Value::Alias(_) => None,
        };
        match (self, &mut node.value) {
            (Edit::Reorder(order), Value::Alias(_)) if Some(order.len()) == len => {}
            (Edit::Set(new), value) => *value = new.model.value.clone(),
            (Edit::Insert(key, new), Value::Mapping(_)) => {
                let at = position(node, key);
                let Value::Mapping(pairs) = &mut node.value else { return None };
                match at {
                    Some(at) => pairs[at].1.value = new.model.value.clone(),
                    None => pairs.push((Node::string(key), new.model.clone())),
                }
            }
            (Edit::InsertAt(index, key, new), Value::Mapping(_)) => {
                let at = position(node, key);
                let Value::Mapping(pairs) = &mut node.value else { return None };
                if at.is_some() {
                    return None;
                }
                pairs.insert((*index).min(pairs.len()), (Node::string(key), new.model.clone()));
            }
            (Edit::Push(new), Value::Sequence(items)) => items.push(new.model.clone()),
            (Edit::InsertItem(index, new), Value::Sequence(items)) if *index <= items.len() => {
                items.insert(*index, new.model.clone());
            }
            (Edit::Remove(key), Value::Mapping(_)) => {
                let at = position(node, key);
                let Value::Mapping(pairs) = &mut node.value else { return None };
                at.map(|at| pairs.remove(at));
            }
            (Edit::RemoveItem(index), Value::Sequence(items)) => {
                if *index < items.len() {
                    items.remove(*index);
                }
            }
            (Edit::Rename(key, to), Value::Mapping(_)) => {
                let at = position(node, key)?;
                if key != to && position(node, to).is_some() {
                    return None;
                }
                let Value::Mapping(pairs) = &mut node.value else { return None };
                pairs[at].0.value = Node::string(to).value;
            }
            (Edit::Reorder(order), Value::Mapping(pairs)) if order.len() == pairs.len() => {
                *pairs = order.iter().map(|at| pairs[*at].clone()).collect();
            }
            (Edit::Reorder(order), Value::Sequence(items)) if order.len() == items.len() => {
                *items = order.iter().map(|at| items[*at].clone()).collect();
            }
            (Edit::SetStyle(Style::Block | Style::Flow), Value::Mapping(_) | Value::Sequence(_))
            | (Edit::Comment(..), _) => {}
            (Edit::SetStyle(style), Value::Scalar { .. }) if !matches!(style, Style::Block | Style::Flow) => {
            }
            (Edit::KeyComment(key, ..), Value::Mapping(_)) => {
                position(node, key)?;
            }
            _ => return None,
        }
        Some(())
    }
}

/// A permutation.
fn order(choices: &mut Choices<'_>, len: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..len).collect();
    (0..len).map(|_| left.remove(choices.below(left.len()))).collect()
}
