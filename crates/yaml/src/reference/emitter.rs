//! The walk over a tree in go-yaml's order, and the comments that go-yaml writes on the way.
//!
//! A comment is not written where its node is: it waits in [`Waiting`] until the walk comes to a place where comments
//! of its kind are written, and a later one of the same kind takes its place. That is how the reference moves or
//! loses a few of them, and why the waiting comments are kept from document to document.

use super::SequenceIndent;
use super::package::LeftOut;
use super::printer::{Glue, Printer};
use crate::document::Document;
use crate::node::{NodeRef, percent_encode};
use crate::scalar::{self, ReferencePlace, ReferenceTag};
use crate::tree::{Children, Kind, Style};

/// How far each level stands to the right of the one around it.
const INDENT: usize = 2;

/// The longest key that is written before its colon, with anchor and tag.
const MAX_SIMPLE_KEY: usize = 128;

/// Writes documents one after another.
#[derive(Default)]
pub(super) struct Emitter {
    printer: Printer,
    waiting: Waiting,
    /// How many flow collections are open.
    flow: usize,
    any_document: bool,
}

/// The comments that wait to be written.
#[derive(Default)]
struct Waiting {
    head: Option<String>,
    line: Option<String>,
    foot: Option<String>,
    /// The foot of an entry, which is written when its value is complete.
    tail: Option<String>,
    /// The line comment of a key, which is written behind its value, or before a value that begins on the next line.
    key_line: Option<String>,
}

/// A collection that is being written.
struct Open<'a> {
    node: NodeRef<'a>,
    children: Children<'a>,
    /// The column of what is around it; `None` for the outermost collection.
    outer: Option<usize>,
    /// The column of its own lines.
    column: usize,
    flow: bool,
    place: Place,
    turn: Turn,
    /// No child was written yet.
    first: bool,
    /// The comma before the next child is written already, because a comment stood behind it.
    comma_written: bool,
    /// The foot comment of the last key.
    tail: Option<String>,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Root,
    Item,
    Key(KeyForm),
    Value,
}

/// How a key is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyForm {
    /// Before its colon.
    Simple,
    /// Behind a `?`, with the colon on the next line.
    Explicit,
}

/// What comes next in a collection.
#[derive(Clone, Copy)]
enum Turn {
    Item,
    Key,
    Value(KeyForm),
}

/// A tag as it is written: a handle and a suffix, or the whole tag and no handle.
struct Tag {
    handle: &'static str,
    suffix: String,
}

impl Emitter {
    pub fn finish(self) -> String {
        self.printer.into_text()
    }

    pub fn document(&mut self, document: &Document, indent: SequenceIndent, left_out: &LeftOut) {
        let comments = !left_out.document_comments;
        self.waiting.head = text(document.head_comment().filter(|_| comments)).or(self.waiting.head.take());
        if self.any_document {
            self.printer.start_line(0);
            self.printer.token("---", Glue::Apart);
            self.printer.start_line(0);
        }
        self.any_document = true;
        if self.waiting.head.is_some() {
            self.head_comment(0);
            self.printer.line_break();
        }
        self.root(document, &Walk { document, indent, left_out });
        self.printer.set_off(Some(0));
        self.waiting.foot = text(document.foot_comment().filter(|_| comments)).or(self.waiting.foot.take());
        self.foot_comment(0);
        self.printer.set_off(None);
        self.printer.start_line(0);
    }

    fn root(&mut self, document: &Document, walk: &Walk<'_>) {
        let root = document.root();
        self.waiting.begin(root);
        self.head_comment(0);
        let mut open: Vec<Open<'_>> = self.node(root, None, Place::Root, walk).into_iter().collect();
        self.line_comment(0);
        self.foot_comment(0);
        while let Some(mut collection) = open.pop() {
            match self.step(&mut collection, walk) {
                Step::Done => {}
                Step::Stay => open.push(collection),
                Step::Into(child) => {
                    open.push(collection);
                    open.push(child);
                }
            }
        }
    }

    fn step<'a>(&mut self, open: &mut Open<'a>, walk: &Walk<'a>) -> Step<'a> {
        if open.first {
            self.open(open, walk);
        }
        let child = match (open.turn, open.flow) {
            (Turn::Item, true) => self.flow_item(open, walk),
            (Turn::Item, false) => self.block_item(open, walk),
            (Turn::Key, true) => self.flow_key(open, walk),
            (Turn::Key, false) => self.block_key(open, walk),
            (Turn::Value(key), true) => self.flow_value(open, key, walk),
            (Turn::Value(key), false) => self.block_value(open, key, walk),
        };
        open.first = false;
        child
    }

    /// Opens a collection, when its comments and those of its first child are known.
    fn open(&mut self, open: &mut Open<'_>, walk: &Walk<'_>) {
        let mapping = open.node.kind() == Kind::Mapping;
        let compact = !mapping
            && matches!(open.place, Place::Key(_) | Place::Value)
            && walk.indent == SequenceIndent::Compact
            && self.printer.allows_compact();
        open.column = match open.outer {
            None if !open.flow => 0,
            Some(outer) if !open.flow && compact => outer,
            outer => outer.unwrap_or(0) + INDENT,
        };
        if open.flow {
            self.printer.token(if mapping { "{" } else { "[" }, Glue::Opening);
            self.flow += 1;
        }
    }

    // ---- the parts of collections

    fn flow_item<'a>(&mut self, open: &mut Open<'a>, walk: &Walk<'a>) -> Step<'a> {
        let Some(item) = walk.next(open) else {
            self.waiting.end(open);
            self.flow -= 1;
            let outer = open.outer.unwrap_or(0);
            if self.printer.at_line_start() {
                self.printer.start_line(outer);
            }
            return self.close_flow("]", outer);
        };
        self.waiting.begin(item);
        self.before_flow_child(open);
        open.comma_written = self.waiting.comma_needed();
        self.flow_child(item, open, Place::Item, walk)
    }

    fn flow_key<'a>(&mut self, open: &mut Open<'a>, walk: &Walk<'a>) -> Step<'a> {
        let Some(key) = walk.next(open) else {
            self.waiting.end(open);
            let comment =
                self.waiting.head.is_some() || self.waiting.foot.is_some() || self.waiting.tail.is_some();
            if comment && !open.first && !open.comma_written {
                self.printer.token(",", Glue::Close);
            }
            self.head_comment(open.column);
            self.flow -= 1;
            return self.close_flow("}", open.outer.unwrap_or(0));
        };
        self.waiting.begin_key(key, open);
        self.before_flow_child(open);
        let form = key_form(key, walk);
        if form == KeyForm::Explicit {
            self.printer.token("?", Glue::Apart);
        }
        open.turn = Turn::Value(form);
        Step::into(self.node(key, Some(open.column), Place::Key(form), walk))
    }

    fn flow_value<'a>(&mut self, open: &mut Open<'a>, key: KeyForm, walk: &Walk<'a>) -> Step<'a> {
        open.turn = Turn::Key;
        let Some(value) = walk.next(open) else { return Step::Stay };
        self.waiting.begin(value);
        let glue = match key {
            KeyForm::Simple => Glue::Close,
            KeyForm::Explicit => Glue::Apart,
        };
        self.printer.token(":", glue);
        open.comma_written = self.waiting.comma_needed();
        self.flow_child(value, open, Place::Value, walk)
    }

    fn before_flow_child(&mut self, open: &Open<'_>) {
        if !open.first && !open.comma_written {
            self.printer.token(",", Glue::Close);
        }
        self.head_comment(open.column);
        if self.printer.at_line_start() {
            self.printer.start_line(open.column);
        }
    }

    /// Writes an item or a value; a comment behind it goes behind the comma.
    fn flow_child<'a>(
        &mut self,
        node: NodeRef<'a>,
        open: &Open<'a>,
        place: Place,
        walk: &Walk<'a>,
    ) -> Step<'a> {
        let child = self.node(node, Some(open.column), place, walk);
        if self.waiting.comma_needed() {
            self.printer.token(",", Glue::Close);
        }
        self.line_comment(open.column);
        self.foot_comment(open.column);
        Step::into(child)
    }

    fn close_flow<'a>(&mut self, bracket: &str, outer: usize) -> Step<'a> {
        self.printer.token(bracket, Glue::Close);
        self.line_comment(outer);
        self.foot_comment(outer);
        Step::Done
    }

    fn block_item<'a>(&mut self, open: &mut Open<'a>, walk: &Walk<'a>) -> Step<'a> {
        let Some(item) = walk.next(open) else {
            self.waiting.end(open);
            return Step::Done;
        };
        self.waiting.begin(item);
        self.head_comment(open.column);
        self.printer.start_line(open.column);
        self.printer.token("-", Glue::Leading);
        self.block_child(item, open, Place::Item, walk)
    }

    fn block_key<'a>(&mut self, open: &mut Open<'a>, walk: &Walk<'a>) -> Step<'a> {
        let Some(key) = walk.next(open) else {
            self.waiting.end(open);
            self.head_comment(open.column);
            return Step::Done;
        };
        self.waiting.begin_key(key, open);
        self.head_comment(open.column);
        self.printer.start_line(open.column);
        if let Some(line) = self.waiting.line.take() {
            self.waiting.key_line = Some(line);
        }
        let form = key_form(key, walk);
        if form == KeyForm::Explicit {
            self.printer.token("?", Glue::Leading);
        }
        open.turn = Turn::Value(form);
        Step::into(self.node(key, Some(open.column), Place::Key(form), walk))
    }

    fn block_value<'a>(&mut self, open: &mut Open<'a>, key: KeyForm, walk: &Walk<'a>) -> Step<'a> {
        open.turn = Turn::Key;
        let Some(value) = walk.next(open) else { return Step::Stay };
        self.waiting.begin(value);
        match key {
            KeyForm::Simple => self.printer.token(":", Glue::Close),
            KeyForm::Explicit => {
                self.printer.start_line(open.column);
                self.printer.token(":", Glue::Leading);
            }
        }
        self.key_line_comment(value, open.column);
        self.block_child(value, open, Place::Value, walk)
    }

    /// The line comment of a key becomes that of a scalar; before a block collection it is written at once.
    fn key_line_comment(&mut self, value: NodeRef<'_>, column: usize) {
        match value.kind() {
            Kind::Scalar if self.waiting.line.is_none() => self.waiting.line = self.waiting.key_line.take(),
            Kind::Mapping | Kind::Sequence if value.style() != Style::Flow => {
                if let Some(comment) = self.waiting.key_line.take() {
                    self.printer.gap();
                    self.printer.comment(&comment, column);
                }
            }
            Kind::Scalar | Kind::Mapping | Kind::Sequence | Kind::Alias => {}
        }
    }

    fn block_child<'a>(
        &mut self,
        node: NodeRef<'a>,
        open: &Open<'a>,
        place: Place,
        walk: &Walk<'a>,
    ) -> Step<'a> {
        let child = self.node(node, Some(open.column), place, walk);
        self.line_comment(open.column);
        self.foot_comment(open.column);
        Step::into(child)
    }

    // ---- nodes

    /// Writes an alias or a scalar, or the properties of a collection, which is then returned to be written.
    fn node<'a>(
        &mut self,
        node: NodeRef<'a>,
        outer: Option<usize>,
        place: Place,
        walk: &Walk<'a>,
    ) -> Option<Open<'a>> {
        if node.kind() == Kind::Alias {
            self.printer.token(&format!("*{}", node.value()), Glue::Apart);
            return None;
        }
        if let Some(anchor) = node.anchor() {
            self.printer.token(&format!("&{anchor}"), Glue::Apart);
        }
        if let Some(tag) = tag_of(node) {
            self.printer.token(&tag.written(), Glue::Apart);
        }
        if node.kind() == Kind::Scalar {
            self.scalar(node, outer.unwrap_or(0) + INDENT, place);
            return None;
        }
        Some(Open {
            node,
            children: walk.document.tree.children(node.id),
            outer,
            column: 0,
            flow: self.flow > 0 || node.style() == Style::Flow || walk.is_empty(node),
            place,
            turn: if node.kind() == Kind::Mapping { Turn::Key } else { Turn::Item },
            first: true,
            comma_written: false,
            tail: None,
        })
    }

    fn scalar(&mut self, node: NodeRef<'_>, column: usize, place: Place) {
        let place = match (place, self.flow > 0) {
            (Place::Key(KeyForm::Simple), true) => ReferencePlace::FlowKey,
            (Place::Key(KeyForm::Simple), false) => ReferencePlace::Key,
            (Place::Root | Place::Item | Place::Key(KeyForm::Explicit) | Place::Value, true) => {
                ReferencePlace::FlowValue
            }
            (Place::Root | Place::Item | Place::Key(KeyForm::Explicit) | Place::Value, false) => {
                ReferencePlace::Value
            }
        };
        let style = scalar_style(node.style());
        let tag = reference_tag(node);
        let text = scalar::reference(&node.value(), style, tag, place, column);
        match text.split_once('\n') {
            Some((header, lines)) if header.starts_with(['|', '>']) => {
                self.printer.token(header, Glue::Apart);
                if self.waiting.line.is_some() {
                    self.line_comment(column);
                } else {
                    self.printer.line_break();
                }
                self.printer.block(lines);
            }
            _ => self.printer.scalar(&text),
        }
    }

    // ---- comments

    fn head_comment(&mut self, column: usize) {
        if let Some(tail) = self.waiting.tail.take() {
            self.comment_lines(&tail, column);
            self.printer.set_off(Some(column));
        }
        if let Some(head) = self.waiting.head.take() {
            self.comment_lines(&head, column);
        }
    }

    fn line_comment(&mut self, column: usize) {
        if let Some(line) = self.waiting.line.take() {
            self.printer.gap();
            self.printer.comment(&line, column);
        }
    }

    fn foot_comment(&mut self, column: usize) {
        if let Some(foot) = self.waiting.foot.take() {
            self.comment_lines(&foot, column);
            self.printer.set_off(Some(column));
        }
    }

    fn comment_lines(&mut self, text: &str, column: usize) {
        self.printer.start_line(column);
        self.printer.comment(text, column);
    }
}

/// What is the same for a whole document.
struct Walk<'a> {
    document: &'a Document,
    indent: SequenceIndent,
    left_out: &'a LeftOut,
}

impl<'a> Walk<'a> {
    /// The next child of a collection; keys that are left out are passed over with their values.
    fn next(&self, open: &mut Open<'a>) -> Option<NodeRef<'a>> {
        let mut next = open.children.next()?;
        while matches!(open.turn, Turn::Key) && self.left_out.has(next) {
            next = open.children.nth(1)?;
        }
        Some(NodeRef::new(self.document, next))
    }

    fn is_empty(&self, node: NodeRef<'_>) -> bool {
        match node.kind() {
            Kind::Mapping => node.entries().all(|(key, _)| self.left_out.has(key.id)),
            Kind::Sequence => node.items().next().is_none(),
            Kind::Scalar | Kind::Alias => false,
        }
    }
}

enum Step<'a> {
    /// The collection is complete.
    Done,
    /// It goes on.
    Stay,
    /// A collection within it comes first.
    Into(Open<'a>),
}

impl<'a> Step<'a> {
    fn into(child: Option<Open<'a>>) -> Self {
        child.map_or(Self::Stay, Self::Into)
    }
}

impl Waiting {
    /// The comments of a node that is about to be written; of a collection only the head.
    fn begin(&mut self, node: NodeRef<'_>) {
        replace(&mut self.head, node.head_comment());
        if matches!(node.kind(), Kind::Scalar | Kind::Alias) {
            replace(&mut self.line, node.line_comment());
            replace(&mut self.foot, node.foot_comment());
        }
    }

    /// The comments of a key; its foot has to wait for its value, that of the last key waits no longer.
    fn begin_key(&mut self, key: NodeRef<'_>, open: &mut Open<'_>) {
        let tail = std::mem::replace(&mut open.tail, text(key.foot_comment()));
        match key.kind() {
            Kind::Scalar | Kind::Mapping => replace(&mut self.tail, tail),
            Kind::Sequence | Kind::Alias => {}
        }
        replace(&mut self.head, key.head_comment());
        if matches!(key.kind(), Kind::Scalar | Kind::Alias) {
            replace(&mut self.line, key.line_comment());
        }
    }

    /// The other comments of a collection that is complete.
    fn end(&mut self, open: &mut Open<'_>) {
        replace(&mut self.tail, open.tail.take());
        replace(&mut self.line, open.node.line_comment());
        if !matches!(open.place, Place::Key(_)) {
            replace(&mut self.foot, open.node.foot_comment());
        }
    }

    /// Whether a comment is to be written behind a child of a flow collection, where its comma must be before it.
    fn comma_needed(&self) -> bool {
        self.line.is_some() || self.foot.is_some() || self.tail.is_some()
    }
}

fn replace(waiting: &mut Option<String>, comment: Option<String>) {
    if let Some(comment) = text(comment) {
        *waiting = Some(comment);
    }
}

/// An empty comment is none.
fn text(comment: Option<String>) -> Option<String> {
    comment.filter(|text| !text.is_empty())
}

/// How a key is written: before its colon, where it is short and on one line.
fn key_form(key: NodeRef<'_>, walk: &Walk<'_>) -> KeyForm {
    match simple_length(key, walk) {
        Some(length) if length <= MAX_SIMPLE_KEY => KeyForm::Simple,
        Some(_) | None => KeyForm::Explicit,
    }
}

/// The length of a key that is on one line, with anchor and tag.
fn simple_length(key: NodeRef<'_>, walk: &Walk<'_>) -> Option<usize> {
    let value = match key.kind() {
        Kind::Alias => return Some(key.value().len()),
        Kind::Scalar if scalar::reference::is_simple_key(&key.value()) => key.value().len(),
        Kind::Mapping | Kind::Sequence if walk.is_empty(key) => 0,
        Kind::Scalar | Kind::Mapping | Kind::Sequence => return None,
    };
    let anchor = key.anchor().map_or(0, str::len);
    let tag = tag_of(key).map_or(0, |tag| tag.handle.len() + tag.suffix.len());
    Some(value + anchor + tag)
}

/// The tag of a node, if one is written: explicit ones, and that of merge keys, which the reference reveals.
fn tag_of(node: NodeRef<'_>) -> Option<Tag> {
    const CORE: &str = "tag:yaml.org,2002:";
    let tag = match node.full_tag() {
        Some(tag) if tag != "!" => tag,
        _ if node.kind() == Kind::Scalar && node.style() == Style::Plain && node.value() == "<<" => {
            format!("{CORE}merge")
        }
        _ => return None,
    };
    Some(if let Some(local) = tag.strip_prefix('!') {
        Tag { handle: "!", suffix: local.into() }
    } else if let Some(name) = tag.strip_prefix(CORE) {
        Tag { handle: "!!", suffix: name.into() }
    } else {
        Tag { handle: "", suffix: tag }
    })
}

impl Tag {
    /// What may not stand in a suffix is written as percent escapes.
    fn written(&self) -> String {
        let suffix = percent_encode(&self.suffix);
        if self.handle.is_empty() { format!("!<{suffix}>") } else { format!("{}{suffix}", self.handle) }
    }
}

fn scalar_style(style: Style) -> Option<scalar::Style> {
    match style {
        Style::SingleQuoted => Some(scalar::Style::SingleQuoted),
        Style::DoubleQuoted => Some(scalar::Style::DoubleQuoted),
        Style::Literal => Some(scalar::Style::Literal),
        Style::Folded => Some(scalar::Style::Folded),
        Style::Plain | Style::Block | Style::Flow => None,
    }
}

/// What the emitter is told of a scalar: one that was read is printed as it is spelled; a string that was set into a
/// document is a string node, one in a document that was serialized a field.
fn reference_tag(node: NodeRef<'_>) -> ReferenceTag {
    match (node.is_made_string(), node.document.is_made()) {
        (false, _) => ReferenceTag::Untyped,
        (true, false) => ReferenceTag::Str,
        (true, true) => ReferenceTag::Field,
    }
}
