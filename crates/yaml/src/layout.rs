//! How new content is laid out: the text of nodes that have no place in the source.

pub(crate) mod json;

use crate::document::Document;
use crate::edit::CommentPlace;
use crate::emit;
use crate::node::NodeRef;
use crate::scalar::{self, Place, Resolved, present};
use crate::tree::{Fact, Kind, NodeId, State, Style, Tree};

/// The habits of the neighbourhood that new content follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Habits {
    /// How much deeper a mapping is than its parent's key.
    pub step: usize,
    /// How much deeper the dashes of a list are than its parent's key.
    pub dash: usize,
}

/// The longest key that YAML allows without a `?` before it.
const MAX_IMPLICIT_KEY: usize = 1_024;

/// How many children of a neighbour are looked at before it is given up.
const NEIGHBOURS: usize = 32;

impl Habits {
    /// The habits around a node: those of the nearest collections, else those of the document.
    pub fn around(tree: &Tree, id: NodeId, document: impl FnOnce() -> Self) -> Self {
        let mut step = None;
        let mut dash = None;
        let mut at = Some(id);
        while let (Some(node), true) = (at, step.is_none() || dash.is_none()) {
            Self::look(tree, node, &mut step, &mut dash);
            at = tree.node(node).parent.get();
        }
        if let (Some(step), Some(dash)) = (step, dash) {
            return Self { step, dash };
        }
        let document = document();
        Self { step: step.unwrap_or(document.step), dash: dash.unwrap_or(document.dash) }
    }

    /// The first habits that a document shows; two spaces, and dashes below their key, where it shows none.
    pub fn of_document(tree: &Tree) -> Self {
        let mut step = None;
        let mut dash = None;
        for node in 0..tree.nodes.len() {
            if step.is_some() && dash.is_some() {
                break;
            }
            Self::look(tree, NodeId::new(node), &mut step, &mut dash);
        }
        let step = step.or(dash.filter(|dash| *dash > 0)).unwrap_or(2);
        Self { step, dash: dash.unwrap_or(0) }
    }

    fn look(tree: &Tree, id: NodeId, step: &mut Option<usize>, dash: &mut Option<usize>) {
        let parent = tree.node(id);
        if parent.kind != Kind::Mapping || parent.style != Style::Block || parent.state >= State::Edited {
            return;
        }
        for child in tree.children(id).take(NEIGHBOURS) {
            let child = tree.node(child);
            if child.style != Style::Block || child.state >= State::Edited || child.column < parent.column {
                continue;
            }
            let deeper = (child.column - parent.column) as usize;
            match child.kind {
                Kind::Mapping if deeper > 0 => _ = step.get_or_insert(deeper),
                Kind::Sequence => _ = dash.get_or_insert(deeper),
                Kind::Mapping | Kind::Scalar | Kind::Alias => {}
            }
        }
    }
}

/// The text of a value: what stands on the line of its key or dash, and the lines below, each with its line break.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Pieces {
    pub inline: String,
    pub rest: String,
}

/// What a value stands behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// A key or nothing: collections begin on the next line.
    Key,
    /// A dash: collections begin on its line, at a column.
    Dash {
        /// The column of what stands behind the dash.
        content: usize,
    },
    /// A dash and properties that stay there: collections begin on the next line, at a column.
    Properties {
        /// The column of the lines below.
        content: usize,
    },
}

/// Writes nodes of a document.
pub(crate) struct Layout<'a> {
    document: &'a Document,
    habits: Habits,
    pub block_scalars: BlockScalars,
    notation: Notation,
}

/// What new content is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Notation {
    Yaml,
    /// As the rest of the document.
    Json,
}

/// Whether text over several lines may be written as a block scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockScalars {
    Allowed,
    /// What follows could be read as part of it: it is quoted.
    Quoted,
}

impl<'a> Layout<'a> {
    pub fn new(document: &'a Document, habits: Habits, notation: Notation) -> Self {
        Self { document, habits, block_scalars: BlockScalars::Allowed, notation }
    }

    /// Takes up the habit of a collection of a kind that was that much deeper than its key.
    pub fn follow(&mut self, kind: Kind, deeper: usize) {
        match kind {
            Kind::Sequence => self.habits.dash = deeper,
            Kind::Mapping if deeper > 0 => self.habits.step = deeper,
            Kind::Mapping | Kind::Scalar | Kind::Alias => {}
        }
    }

    fn node(&self, id: NodeId) -> NodeRef<'a> {
        NodeRef::new(self.document, id)
    }

    fn comment(&self, id: NodeId, place: CommentPlace) -> Option<String> {
        emit::comment_text(&self.document.source, self.document.tree.comment(id, place))
    }

    // ---- entries: whole lines

    /// The lines of a pair, at a column.
    pub fn pair(&self, key: NodeId, value: NodeId, column: usize) -> String {
        let mut out = String::new();
        self.head(&[key, value], column, &mut out);
        push_indent(&mut out, column);
        let name = self.key(key);
        if name.chars().count() > MAX_IMPLICIT_KEY {
            out.push_str("? ");
            out.push_str(&name);
            out.push('\n');
            push_indent(&mut out, column);
        } else {
            out.push_str(&name);
        }
        out.push(':');
        let pieces = self.value(value, column, Behind::Key);
        self.finish_line(&[key, value], &pieces, &mut out);
        self.foot(&[key, value], column, &mut out);
        out
    }

    /// The lines of an item, at the column of its dash.
    pub fn item(&self, item: NodeId, column: usize) -> String {
        let mut out = String::new();
        self.head(&[item], column, &mut out);
        push_indent(&mut out, column);
        out.push('-');
        let has_comment = self.comment(item, CommentPlace::Line).is_some();
        let content = column + 2;
        let behind = if has_comment { Behind::Properties { content } } else { Behind::Dash { content } };
        let pieces = self.value(item, column, behind);
        self.finish_line(&[item], &pieces, &mut out);
        self.foot(&[item], column, &mut out);
        out
    }

    /// All entries of a block collection.
    fn entries(&self, id: NodeId, column: usize) -> String {
        let children: Vec<NodeId> = self.document.tree.children(id).collect();
        let mut out = String::new();
        let pairs = self.node(id).kind() == Kind::Mapping;
        for entry in children.chunks(if pairs { 2 } else { 1 }) {
            match entry {
                [key, value] => out.push_str(&self.pair(*key, *value, column)),
                [item] => out.push_str(&self.item(*item, column)),
                _ => {}
            }
        }
        out
    }

    fn head(&self, ids: &[NodeId], column: usize, out: &mut String) {
        for id in ids {
            if let Some(text) = self.comment(*id, CommentPlace::Head) {
                push_comment(out, &text, column);
            }
        }
    }

    fn foot(&self, ids: &[NodeId], column: usize, out: &mut String) {
        for id in ids {
            if let Some(text) = self.comment(*id, CommentPlace::Foot) {
                push_comment(out, &text, column);
                out.push('\n');
            }
        }
    }

    fn finish_line(&self, ids: &[NodeId], pieces: &Pieces, out: &mut String) {
        if !pieces.inline.is_empty() {
            out.push(' ');
            out.push_str(&pieces.inline);
        }
        for id in ids {
            if let Some(text) = self.comment(*id, CommentPlace::Line) {
                out.push(' ');
                out.push_str(&text.replace('\n', " "));
            }
        }
        out.push('\n');
        out.push_str(&pieces.rest);
    }

    // ---- values

    /// The text of a value below the key or dash at `column`.
    pub fn value(&self, id: NodeId, column: usize, behind: Behind) -> Pieces {
        let node = self.node(id);
        let mut properties = self.properties(id);
        if !self.is_block(id) {
            let place = Place { indent: column, step: self.habits.step, flow: false, key: false };
            let text = self.inline_at(id, &place);
            let is_block_scalar = node.kind() == Kind::Scalar && text.starts_with(['|', '>']);
            let (first, rest) = match text.split_once('\n') {
                Some((first, rest)) if is_block_scalar => (first, format!("{rest}\n")),
                Some(_) | None => (text.as_str(), String::new()),
            };
            if !properties.is_empty() && !first.is_empty() {
                properties.push(' ');
            }
            return Pieces { inline: properties + first, rest };
        }
        let deeper = match (behind, node.kind()) {
            (Behind::Dash { content } | Behind::Properties { content }, _) => content,
            (Behind::Key, Kind::Sequence) => column + self.habits.dash,
            (Behind::Key, Kind::Mapping | Kind::Scalar | Kind::Alias) => column + self.habits.step,
        };
        let lines = self.entries(id, deeper);
        let joins = matches!(behind, Behind::Dash { .. })
            && properties.is_empty()
            && !lines.trim_start_matches(' ').starts_with('#');
        if !joins {
            return Pieces { inline: properties, rest: lines };
        }
        let (first, rest) = lines.split_once('\n').unwrap_or((&lines, ""));
        Pieces { inline: first.trim_start_matches(' ').into(), rest: rest.into() }
    }

    /// The root of a document, at column 0.
    pub fn root(&self, id: NodeId) -> Pieces {
        if self.is_block(id) {
            return Pieces { inline: self.properties(id), rest: self.entries(id, 0) };
        }
        self.value(id, 0, Behind::Key)
    }

    /// Whether a node is written as a block collection. Comments cannot stand in a flow collection on one line.
    fn is_block(&self, id: NodeId) -> bool {
        let node = self.node(id);
        let collection = matches!(node.kind(), Kind::Mapping | Kind::Sequence);
        collection && !node.is_empty() && (node.style() == Style::Block || self.has_comments(id))
    }

    fn has_comments(&self, id: NodeId) -> bool {
        let tree = &self.document.tree;
        let mut work: Vec<NodeId> = tree.children(id).collect();
        while let Some(at) = work.pop() {
            if tree.comments(at).is_some() {
                return true;
            }
            if tree.node(at).kind != Kind::Alias {
                work.extend(tree.children(at));
            }
        }
        false
    }

    fn properties(&self, id: NodeId) -> String {
        let Some(properties) =
            self.document.tree.properties(id).filter(|properties| properties.span.is_empty())
        else {
            return String::new();
        };
        let anchor = properties.anchor.as_ref().map(|anchor| format!("&{anchor}"));
        let tag = properties.tag.as_ref().map(ToString::to_string);
        [anchor, tag].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    // ---- on one line

    /// A key.
    pub fn key(&self, id: NodeId) -> String {
        let place = Place { indent: 0, step: self.habits.step, flow: false, key: true };
        self.with_properties(id, self.inline_at(id, &place))
    }

    /// A key inside of a flow collection.
    pub fn flow_key(&self, id: NodeId) -> String {
        let place = Place { indent: 0, step: self.habits.step, flow: true, key: true };
        self.with_properties(id, self.inline_at(id, &place))
    }

    /// A value or an item inside of a flow collection.
    pub fn flow_value(&self, id: NodeId) -> String {
        let place = Place { indent: 0, step: self.habits.step, flow: true, key: false };
        self.with_properties(id, self.inline_at(id, &place))
    }

    fn with_properties(&self, id: NodeId, text: String) -> String {
        let properties = self.properties(id);
        if properties.is_empty() { text } else { format!("{properties} {text}") }
    }

    fn inline_at(&self, id: NodeId, place: &Place) -> String {
        let node = self.node(id);
        match node.kind() {
            Kind::Alias => format!("*{}", node.value()),
            Kind::Scalar => {
                let raw = self.document.tree.node(id);
                // A key that is no string would become one.
                let as_json = place.flow && self.notation == Notation::Json;
                let as_json = as_json && (!place.key || node.resolved() == Resolved::Str);
                if let Some(text) = as_json.then(|| json::scalar(node)).flatten() {
                    return text;
                }
                let kind = if raw.is(Fact::String) { scalar::Kind::String } else { scalar::Kind::Other };
                present(&node.value(), kind, self.style_of(node), place)
            }
            Kind::Sequence => {
                let items: Vec<String> = node.items().map(|item| self.flow_value(item.id)).collect();
                format!("[{}]", items.join(", "))
            }
            Kind::Mapping => {
                let pairs: Vec<String> = node
                    .entries()
                    .map(|(key, value)| format!("{}: {}", self.flow_key(key.id), self.flow_value(value.id)))
                    .collect();
                format!("{{{}}}", pairs.join(", "))
            }
        }
    }
}

impl Layout<'_> {
    /// The style that is asked for: quotes where a block scalar could take up what follows it. A text that ends with
    /// blank lines always could.
    fn style_of(&self, node: NodeRef<'_>) -> scalar::Style {
        let style = scalar_style(node.style());
        let text = node.value();
        let as_block = text.contains('\n') || matches!(style, scalar::Style::Literal | scalar::Style::Folded);
        let risky = self.block_scalars == BlockScalars::Quoted || text.ends_with("\n\n") || text == "\n";
        if as_block && risky && style != scalar::Style::SingleQuoted {
            scalar::Style::DoubleQuoted
        } else {
            style
        }
    }

    /// Whether the text of a node ends in a block scalar whose value counts on the line break behind it.
    pub fn counts_on_last_break(&self, id: NodeId) -> bool {
        let mut at = self.node(id);
        while let (true, Some(last)) = (self.is_block(at.id), self.document.tree.node(at.id).last.get()) {
            at = self.node(last);
        }
        if at.kind() != Kind::Scalar || !at.value().ends_with('\n') {
            return false;
        }
        let place = Place { indent: 0, step: self.habits.step, flow: false, key: false };
        let in_source = self.document.tree.node(at.id).state < State::Edited;
        if in_source {
            matches!(at.style(), Style::Literal | Style::Folded)
        } else {
            self.inline_at(at.id, &place).starts_with(['|', '>'])
        }
    }
}

fn scalar_style(style: Style) -> scalar::Style {
    match style {
        Style::SingleQuoted => scalar::Style::SingleQuoted,
        Style::DoubleQuoted => scalar::Style::DoubleQuoted,
        Style::Literal => scalar::Style::Literal,
        Style::Folded => scalar::Style::Folded,
        Style::Plain | Style::Block | Style::Flow => scalar::Style::Plain,
    }
}

pub(crate) fn push_indent(out: &mut String, column: usize) {
    out.extend(std::iter::repeat_n(' ', column));
}

/// The lines of a comment at a column; blank lines in it stay blank.
pub(crate) fn push_comment(out: &mut String, text: &str, column: usize) {
    for line in text.trim_end_matches('\n').split('\n') {
        if !line.is_empty() {
            push_indent(out, column);
            out.push_str(line);
        }
        out.push('\n');
    }
    if text.ends_with('\n') {
        out.push('\n');
    }
}
