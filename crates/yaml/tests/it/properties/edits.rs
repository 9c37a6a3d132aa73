//! Edits that are done to a document and to its model alike.

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

/// One edit of one node.
#[derive(Clone, Debug)]
pub struct Op {
    pub path: Vec<Step>,
    pub edit: Edit,
}

#[derive(Clone, Debug)]
pub enum Edit {
    Set(Content, Node),
    Insert(String, Content, Node),
    InsertAt(usize, String, Content, Node),
    Push(Content, Node),
    InsertItem(usize, Content, Node),
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
        let edit = Edit::choose(choices, node, document, model);
        Self { path, edit }
    }

    /// Does it to the document.
    pub fn apply(&self, document: &mut Document) -> Result<(), Error> {
        self.edit.apply(&mut walk(document, &self.path)?)
    }

    /// Does it to the model; tells whether the document is to refuse it.
    pub fn apply_to_model(&self, root: &mut Node) -> bool {
        let whole = root.clone();
        let Some(node) = Node::walk(root, &self.path) else { return false };
        // What an alias stands for is found in the document as it was; no edit changes both.
        self.edit.apply_to_model(node, &whole)
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
        let mut new = |choices: &mut Choices<'_>| content(choices, document, model);
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
                let (content, model) = new(choices);
                Edit::Set(content, model)
            }
            1 => {
                let (content, model) = new(choices);
                let key = if choices.once_in(3) { key_of(choices) } else { choices.of(KEYS).into() };
                Edit::Insert(key, content, model)
            }
            2 => {
                let (content, model) = new(choices);
                Edit::InsertAt(choices.below(node.len() + 1), choices.of(KEYS).into(), content, model)
            }
            3 => {
                let (content, model) = new(choices);
                Edit::Push(content, model)
            }
            4 => {
                let (content, model) = new(choices);
                Edit::InsertItem(choices.below(node.len() + 1), content, model)
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
            Edit::Set(content, _) => node.set(content),
            Edit::Insert(key, content, _) => node.insert(&key, content),
            Edit::InsertAt(at, key, content, _) => node.insert_at(at, &key, content),
            Edit::Push(content, _) => node.push(content),
            Edit::InsertItem(at, content, _) => node.insert_item(at, content),
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

    fn apply_to_model(&self, node: &mut Node, root: &Node) -> bool {
        let before = node.clone();
        let done = self.try_on_model(node, root).is_some();
        if !done {
            *node = before;
        }
        done
    }

    fn try_on_model(&self, node: &mut Node, root: &Node) -> Option<()> {
        if self.needs().is_some() || matches!(self, Edit::Reorder(_)) {
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
        match (self, &mut node.value) {
            (Edit::Set(_, new), value) => *value = new.value.clone(),
            (Edit::Insert(key, _, new), Value::Mapping(_)) => {
                let at = position(node, key);
                let Value::Mapping(pairs) = &mut node.value else { return None };
                match at {
                    Some(at) => pairs[at].1.value = new.value.clone(),
                    None => pairs.push((Node::string(key), new.clone())),
                }
            }
            (Edit::InsertAt(index, key, _, new), Value::Mapping(_)) => {
                let at = position(node, key);
                let Value::Mapping(pairs) = &mut node.value else { return None };
                if at.is_some() {
                    return None;
                }
                pairs.insert((*index).min(pairs.len()), (Node::string(key), new.clone()));
            }
            (Edit::Push(_, new), Value::Sequence(items)) => items.push(new.clone()),
            (Edit::InsertItem(index, _, new), Value::Sequence(items)) if *index <= items.len() => {
                items.insert(*index, new.clone())
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

    /// The node as the document has it now: what it loses by this edit, as lines of comments.
    pub fn loses(&self, node: NodeRef<'_>) -> Vec<String> {
        let mut lost = Vec::new();
        match self {
            Edit::Set(..) => below(node).into_iter().for_each(|node| comments_of(node, &mut lost)),
            Edit::Insert(key, ..) => {
                let value = node.own_entry(key).map(|(_, value)| value);
                value.into_iter().flat_map(below).for_each(|node| comments_of(node, &mut lost));
            }
            Edit::Remove(key) => {
                for node in node.own_entry(key).into_iter().flat_map(|(key, value)| [key, value]) {
                    comments_of(node, &mut lost);
                    below(node).into_iter().for_each(|node| comments_of(node, &mut lost));
                }
            }
            Edit::RemoveItem(index) => {
                if let Some(item) = node.at(*index) {
                    comments_of(item, &mut lost);
                    below(item).into_iter().for_each(|node| comments_of(node, &mut lost));
                }
            }
            Edit::Comment(..) => comments_of(node, &mut lost),
            Edit::KeyComment(key, ..) => {
                node.own_entry(key).into_iter().for_each(|(key, _)| comments_of(key, &mut lost));
            }
            Edit::InsertAt(..)
            | Edit::Push(..)
            | Edit::InsertItem(..)
            | Edit::Rename(..)
            | Edit::Reorder(_)
            | Edit::SetStyle(_) => {}
        }
        lost
    }

    /// Whether the edit brings comments with it.
    pub fn brings_comments(&self) -> bool {
        matches!(self, Edit::Comment(..) | Edit::KeyComment(..))
    }
}

fn below(node: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    let mut found: Vec<NodeRef<'_>> = Vec::new();
    let mut work = vec![node];
    while let Some(node) = work.pop() {
        if node.kind() != Kind::Alias {
            let children: Vec<_> =
                node.items().chain(node.entries().flat_map(|(key, value)| [key, value])).collect();
            work.extend(&children);
            found.extend(children);
        }
    }
    found
}

fn comments_of(node: NodeRef<'_>, out: &mut Vec<String>) {
    let texts = [node.head_comment(), node.line_comment(), node.foot_comment()];
    let lines = texts.iter().flatten().flat_map(|text| text.lines());
    out.extend(lines.filter(|line| !line.is_empty()).map(|line| line.trim_end().to_owned()));
}

/// A permutation.
fn order(choices: &mut Choices<'_>, len: usize) -> Vec<usize> {
    let mut left: Vec<usize> = (0..len).collect();
    (0..len).map(|_| left.remove(choices.below(left.len()))).collect()
}

/// Something to set, and what it means.
pub fn content(choices: &mut Choices<'_>, document: &Document, model: &Node) -> (Content, Node) {
    let scalar = |text: String, means| Node::of(Value::Scalar { text, means });
    match choices.below(12) {
        6 => {
            let number = i64::try_from(choices.below(256)).expect("a byte fits") - 128;
            (number.into(), scalar(number.to_string(), Means::Int(number.into())))
        }
        7 => {
            let truth = choices.once_in(2);
            (truth.into(), scalar(truth.to_string(), Means::Bool(truth)))
        }
        8 => (Content::null(), Node::null()),
        9 => {
            let float = choices.of(&[0.5, -1e300, 1e21, 0.1, f64::INFINITY, 3.0]);
            let text = choices_of_float(float);
            (float.into(), scalar(text, Means::Float(float.to_bits())))
        }
        10 | 11 => {
            if choices.once_in(3) && model.expanded_len(model, 400) < 400 {
                return (Content::from(document.root()), model.expanded(model));
            }
            let text = text::document(choices, Parts::Bare);
            let new = Document::parse(text.as_str())
                .unwrap_or_else(|error| panic!("generated content: {error:#}\n{text}"));
            let node = Node::read(new.root());
            (Content::from(new), node)
        }
        _ => {
            let text = choices.of(STRINGS);
            (text.into(), Node::string(text))
        }
    }
}

fn choices_of_float(float: f64) -> String {
    if float.is_infinite() { ".inf".into() } else { format!("{float:?}") }
}
