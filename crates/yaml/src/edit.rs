//! Editing: changes to the tree, with the place in the source that each one is about.
//!
//! Nothing is written here. An edit marks nodes: *edited* ones keep the range of the source that they replace, *new*
//! ones have none, and removed ones leave a cut. `emit` turns the marks into splices.

mod by_path;

use std::sync::Arc;

use crate::content::{Content, Scalar, Spelling, TooLarge};
use crate::document::Document;
use crate::extent::Extents;
use crate::node::NodeRef;
use crate::scalar::Resolved;
use crate::syntax::token::Span;
use crate::tree::{Comment, Cut, Kind, Link, NOWHERE, NodeId, Note, Properties, State, Style, Tree};

/// Why an edit was refused. The document is as it was before.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The node is not what the edit needs.
    #[error("{} is needed here, but this is {}", name(*.needed), name(*.found))]
    WrongKind {
        /// What the edit needs.
        needed: Kind,
        /// What is there.
        found: Kind,
    },
    /// The index is beyond the end of the list.
    #[error("index {index} is beyond the end of the list, which has {len} items")]
    OutOfRange {
        /// The index that was asked for.
        index: usize,
        /// How many items there are.
        len: usize,
    },
    /// The mapping has the key already.
    #[error("the mapping has a key \"{0}\" already")]
    KeyExists(String),
    /// The mapping does not have the key.
    #[error("the mapping has no key \"{0}\"")]
    NoSuchKey(String),
    /// The content is too large.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// The comment has a line that does not begin with `#`.
    #[error("each line of a comment begins with \"#\", this one does not: \"{0}\"")]
    NotAComment(String),
    /// A comment cannot stand there.
    #[error("a comment cannot stand there: {0}")]
    NoPlaceForComment(&'static str),
    /// The order does not name each entry exactly once.
    #[error("the new order does not name each of the {len} entries once")]
    NotAPermutation {
        /// How many entries there are.
        len: usize,
    },
    /// The path leads nowhere.
    #[error("{0}")]
    NotFound(String),
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Scalar => "a scalar",
        Kind::Mapping => "a mapping",
        Kind::Sequence => "a list",
        Kind::Alias => "an alias",
    }
}

/// Which comment of a node is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentPlace {
    /// Above the node.
    Head,
    /// On its line.
    Line,
    /// Below it.
    Foot,
}

/// A node of a document, to be edited. Dropping it keeps what was done.
pub struct NodeMut<'a> {
    document: &'a mut Document,
    id: NodeId,
}

impl Document {
    /// The outermost node, to edit it.
    pub fn root_mut(&mut self) -> NodeMut<'_> {
        let id = self.tree.root;
        NodeMut { document: self, id }
    }

    /// What editing had to do that nobody asked for, such as expanding an alias.
    pub fn notes(&self) -> &[Note] {
        &self.tree.notes
    }
}

impl<'a> NodeMut<'a> {
    /// The node, to be read.
    pub fn read(&self) -> NodeRef<'_> {
        NodeRef::new(self.document, self.id)
    }

    /// Borrows it again, for a shorter time.
    pub fn reborrow(&mut self) -> NodeMut<'_> {
        NodeMut { document: self.document, id: self.id }
    }

    fn tree(&mut self) -> &mut Tree {
        Arc::make_mut(&mut self.document.tree)
    }

    // ---- going down

    /// The value of a key, to edit it. An alias on the way is expanded, a value that a merge key brings in is copied
    /// into the mapping; both are noted in [`Document::notes`].
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no mapping, [`Error::NoSuchKey`].
    pub fn get_mut(mut self, key: &str) -> Result<NodeMut<'a>, Error> {
        self.expand()?;
        self.need(Kind::Mapping)?;
        if let Some(id) = self.read().own_entry(key).map(|(_, value)| value.id) {
            return Ok(NodeMut { document: self.document, id });
        }
        let Some(merged) = self.read().get(key) else { return Err(Error::NoSuchKey(key.into())) };
        let content = Content::from(merged);
        let id = self.insert_entry(key, &content, usize::MAX)?;
        self.tree().notes.push(Note::MergedValueCopied { key: key.into() });
        Ok(NodeMut { document: self.document, id })
    }

    /// An item of a list, to edit it. An alias on the way is expanded.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no list, [`Error::OutOfRange`].
    pub fn at_mut(mut self, index: usize) -> Result<NodeMut<'a>, Error> {
        self.expand()?;
        self.need(Kind::Sequence)?;
        let Some(id) = self.read().at(index).map(|item| item.id) else {
            return Err(Error::OutOfRange { index, len: self.read().len() });
        };
        Ok(NodeMut { document: self.document, id })
    }

    /// Replaces an alias by a copy of what it stands for.
    fn expand(&mut self) -> Result<(), Error> {
        if self.read().kind() != Kind::Alias {
            return Ok(());
        }
        let anchor = self.read().value().into_owned();
        let content = Content::from(self.read().target());
        self.set(content)?;
        self.tree().notes.push(Note::AliasExpanded { anchor });
        Ok(())
    }

    fn need(&self, needed: Kind) -> Result<(), Error> {
        let found = self.read().kind();
        if found == needed { Ok(()) } else { Err(Error::WrongKind { needed, found }) }
    }

    // ---- values

    /// Sets the node to something else. Its comments and its anchor stay; a scalar keeps its quoting where the new
    /// text allows it and does not ask for another.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn set(&mut self, content: impl Into<Content>) -> Result<(), Error> {
        let content = content.into();
        let Some(scalar) = content.scalar().filter(|scalar| self.keeps_properties(scalar)) else {
            return self.replace(&content);
        };
        self.set_text(&scalar);
        match content.node().and_then(NodeRef::line_comment) {
            Some(comment) => self.set_comment(CommentPlace::Line, &comment),
            None => Ok(()),
        }
    }

    /// Whether the node is a scalar whose tag, if it has one, fits the new text as well.
    fn keeps_properties(&self, scalar: &Scalar<'_>) -> bool {
        let fits = |tag: &str| scalar.string && tag == "!!str" || !tag.starts_with("!!");
        self.read().kind() == Kind::Scalar && self.read().tag().is_none_or(fits)
    }

    /// Replaces the text of a scalar.
    fn set_text(&mut self, scalar: &Scalar<'_>) {
        let node = self.read();
        let is_string = node.resolved() == Resolved::Str;
        if node.value() == scalar.text && is_string == scalar.string && scalar.style == Style::Plain {
            return;
        }
        let plain = node.style() == Style::Plain;
        let id = self.id;
        let tree = self.tree();
        let text = tree.add_text(&scalar.text);
        let node = tree.node_mut(id);
        if scalar.style != Style::Plain || !scalar.string && !plain {
            node.style = scalar.style;
        }
        let as_written = scalar.spelling == Spelling::AsWritten && node.style == Style::Plain;
        (node.text, node.string) = (text, scalar.string && !as_written);
        tree.touch(id);
    }

    /// Replaces kind, content and tag of the node in its place.
    fn replace(&mut self, content: &Content) -> Result<(), Error> {
        let id = self.id;
        let source = Arc::clone(&self.document.source);
        let tree = self.tree();
        let place = (tree.node(id).state < State::Edited).then(|| Extents::new(&source, tree).place(id));
        let anchor = tree.properties(id).and_then(|properties| properties.anchor.clone());
        let new = content.graft(tree)?;
        let from = tree.node(new).clone();
        let tag = tree.properties(new).and_then(|properties| properties.tag.clone());
        let (head, line, foot) = match tree.comments(new).cloned() {
            Some(comments) => (comments.head, comments.line, comments.foot),
            None => (None, None, None),
        };
        let node = tree.node_mut(id);
        (node.kind, node.style, node.string, node.text) = (from.kind, from.style, from.string, from.text);
        (node.first, node.last, node.cooked, node.reshaped) = (from.first, from.last, false, false);
        node.properties = NOWHERE;
        if let Some(place) = place {
            node.span = place;
        }
        if anchor.is_some() || tag.is_some() {
            tree.set_properties(id, Properties { anchor, tag, span: Span::default() });
        }
        let mut child = from.first;
        while let Some(at) = child.get() {
            tree.node_mut(at).parent = id.into();
            child = tree.node(at).next;
        }
        for (place, comment) in
            [(CommentPlace::Head, head), (CommentPlace::Line, line), (CommentPlace::Foot, foot)]
        {
            if let Some(text) = comment.and_then(|comment| comment.text)
                && tree.comment(id, place).is_none()
            {
                tree.set_comment(id, place, &text);
            }
        }
        tree.cuts.retain(|cut| cut.parent != id);
        tree.touch(id);
        Ok(())
    }

    // ---- mappings

    /// Sets the value of a key, which is added behind the last one when the mapping does not have it.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no mapping (an absent value becomes one), [`Error::TooLarge`].
    pub fn insert(&mut self, key: &str, content: impl Into<Content>) -> Result<(), Error> {
        let content = content.into();
        self.become_collection(Kind::Mapping)?;
        match self.read().own_entry(key).map(|(_, value)| value.id) {
            Some(id) => NodeMut { document: self.document, id }.set(content),
            None => self.insert_entry(key, &content, usize::MAX).map(|_| ()),
        }
    }

    /// Adds a pair before the one at `index`, or behind all when there are fewer.
    ///
    /// # Errors
    /// [`Error::KeyExists`], [`Error::WrongKind`], [`Error::TooLarge`].
    pub fn insert_at(&mut self, index: usize, key: &str, content: impl Into<Content>) -> Result<(), Error> {
        self.become_collection(Kind::Mapping)?;
        if self.read().own_entry(key).is_some() {
            return Err(Error::KeyExists(key.into()));
        }
        self.insert_entry(key, &content.into(), index).map(|_| ())
    }

    fn insert_entry(&mut self, key: &str, content: &Content, index: usize) -> Result<NodeId, Error> {
        let id = self.id;
        let values = self.read().entries().map(|(_, value)| value);
        let style = content.style_beside(values);
        let tree = self.tree();
        let value = content.graft(tree)?;
        tree.node_mut(value).style = style;
        let name = Content::string(key).graft(tree)?;
        let before = match index {
            0 => None,
            usize::MAX => tree.node(id).last.get(),
            _ => tree.children(id).nth(index.saturating_mul(2) - 1).or(tree.node(id).last.get()),
        };
        tree.link(id, before, name);
        tree.link(id, Some(name), value);
        tree.node_mut(name).key = true;
        tree.reshape(id);
        Ok(value)
    }

    /// Removes the first pair with that key, with its comments; tells whether there was one.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no mapping.
    pub fn remove(&mut self, key: &str) -> Result<bool, Error> {
        self.expand()?;
        self.need(Kind::Mapping)?;
        let Some((key, value)) = self.read().own_entry(key).map(|(key, value)| (key.id, value.id)) else {
            return Ok(false);
        };
        self.cut(key, value);
        Ok(true)
    }

    /// Gives a key another name; its value, its place and its comments stay.
    ///
    /// # Errors
    /// [`Error::NoSuchKey`], [`Error::KeyExists`], [`Error::WrongKind`].
    pub fn rename(&mut self, key: &str, to: &str) -> Result<(), Error> {
        self.expand()?;
        self.need(Kind::Mapping)?;
        if key != to && self.read().own_entry(to).is_some() {
            return Err(Error::KeyExists(to.into()));
        }
        let Some(id) = self.read().own_entry(key).map(|(key, _)| key.id) else {
            return Err(Error::NoSuchKey(key.into()));
        };
        NodeMut { document: self.document, id }.set(Content::string(to))
    }

    // ---- lists

    /// Adds an item behind the last one.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no list (an absent value becomes one), [`Error::TooLarge`].
    pub fn push(&mut self, content: impl Into<Content>) -> Result<(), Error> {
        self.become_collection(Kind::Sequence)?;
        let content = content.into();
        let style = content.style_beside(self.read().items());
        let id = self.id;
        let tree = self.tree();
        let item = content.graft(tree)?;
        tree.node_mut(item).style = style;
        let before = tree.node(id).last.get();
        tree.link(id, before, item);
        tree.reshape(id);
        Ok(())
    }

    /// Adds an item before the one at `index`; at the end when `index` is the length.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::WrongKind`], [`Error::TooLarge`].
    pub fn insert_item(&mut self, index: usize, content: impl Into<Content>) -> Result<(), Error> {
        self.become_collection(Kind::Sequence)?;
        let len = self.read().len();
        if index > len {
            return Err(Error::OutOfRange { index, len });
        }
        let content = content.into();
        let style = content.style_beside(self.read().items());
        let id = self.id;
        let tree = self.tree();
        let item = content.graft(tree)?;
        tree.node_mut(item).style = style;
        let before = index.checked_sub(1).and_then(|before| tree.children(id).nth(before));
        tree.link(id, before, item);
        tree.reshape(id);
        Ok(())
    }

    /// Removes an item with its comments; tells whether there was one.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no list.
    pub fn remove_item(&mut self, index: usize) -> Result<bool, Error> {
        self.expand()?;
        self.need(Kind::Sequence)?;
        let Some(item) = self.read().at(index).map(|item| item.id) else { return Ok(false) };
        self.cut(item, item);
        Ok(true)
    }

    // ---- order, style, comments

    /// Puts the entries into another order: `order[i]` is the index of the entry that comes to place `i`. Each entry
    /// takes its comments along.
    ///
    /// # Errors
    /// [`Error::NotAPermutation`], [`Error::WrongKind`] for scalars.
    pub fn reorder(&mut self, order: &[usize]) -> Result<(), Error> {
        self.expand()?;
        let width = match self.read().kind() {
            Kind::Mapping => 2,
            Kind::Sequence => 1,
            found @ (Kind::Scalar | Kind::Alias) => {
                return Err(Error::WrongKind { needed: Kind::Sequence, found });
            }
        };
        let id = self.id;
        let tree = self.tree();
        let children: Vec<NodeId> = tree.children(id).collect();
        let len = children.len() / width;
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if sorted.len() != len || sorted.iter().enumerate().any(|(at, index)| at != *index) {
            return Err(Error::NotAPermutation { len });
        }
        if order.iter().enumerate().all(|(at, index)| at == *index) {
            return Ok(());
        }
        tree.node_mut(id).first = Link::NONE;
        tree.node_mut(id).last = Link::NONE;
        for index in order {
            for child in &children[index * width..(index + 1) * width] {
                tree.node_mut(*child).next = Link::NONE;
                tree.append(id, *child);
            }
        }
        tree.reshape(id);
        Ok(())
    }

    /// Asks for another style. A string takes it where its text allows, other scalars keep theirs; an empty collection or one that is new takes
    /// it, too; a collection that stands in the source is written anew.
    ///
    /// # Errors
    /// [`Error::WrongKind`] when a collection style is asked of a scalar, or the other way round.
    pub fn set_style(&mut self, style: Style) -> Result<(), Error> {
        let of_collection = matches!(style, Style::Block | Style::Flow);
        let found = self.read().kind();
        let is_collection = matches!(found, Kind::Mapping | Kind::Sequence);
        if of_collection != is_collection {
            let needed = if of_collection { Kind::Mapping } else { Kind::Scalar };
            return Err(Error::WrongKind { needed, found });
        }
        if self.read().style() == style {
            return Ok(());
        }
        if is_collection {
            let id = self.id;
            let place = Extents::new(&self.document.source, &self.document.tree).place(id);
            let content = Content::of_place(self.read(), place);
            self.replace(&content)?;
            self.tree().node_mut(id).style = style;
            return Ok(());
        }
        let (text, string) = (self.read().value().into_owned(), self.read().resolved() == Resolved::Str);
        if !string {
            // In quotes a number would become a string.
            return Ok(());
        }
        let id = self.id;
        let tree = self.tree();
        let text = tree.add_text(&text);
        let node = tree.node_mut(id);
        (node.text, node.string, node.style) = (text, string, style);
        tree.touch(id);
        Ok(())
    }

    /// Sets one of the node's comments; an empty text removes it. For the entry of a mapping, head and foot belong to
    /// the key, see [`NodeMut::set_key_comment`].
    ///
    /// # Errors
    /// [`Error::NotAComment`] when a line does not begin with `#`.
    pub fn set_comment(&mut self, place: CommentPlace, text: &str) -> Result<(), Error> {
        if let Some(line) = text.lines().find(|line| !line.is_empty() && !line.starts_with('#')) {
            return Err(Error::NotAComment(line.into()));
        }
        self.check_comment_place(place)?;
        let id = self.id;
        let tree = self.tree();
        let text = if place == CommentPlace::Line {
            text.lines().collect::<Vec<_>>().join(" ")
        } else {
            text.trim_end().to_owned()
        };
        tree.set_comment(id, place, &text);
        tree.touch_comment(id);
        Ok(())
    }

    fn check_comment_place(&self, place: CommentPlace) -> Result<(), Error> {
        let node = self.read();
        let mut above = node.parent();
        while let Some(parent) = above {
            if parent.style() == Style::Flow {
                return Err(Error::NoPlaceForComment("it is inside of a flow collection"));
            }
            above = parent.parent();
        }
        let is_value = node.parent().is_some_and(|parent| parent.kind() == Kind::Mapping);
        let has_no_line = node.style() == Style::Block && !node.is_empty() && !is_value;
        if place == CommentPlace::Line && has_no_line {
            return Err(Error::NoPlaceForComment(
                "a block collection that is no value of a key has no line of its own",
            ));
        }
        Ok(())
    }

    /// Sets a comment of the key of a pair, where head and foot comments of a pair belong.
    ///
    /// # Errors
    /// [`Error::NoSuchKey`], [`Error::WrongKind`], [`Error::NotAComment`].
    pub fn set_key_comment(&mut self, key: &str, place: CommentPlace, text: &str) -> Result<(), Error> {
        self.expand()?;
        self.need(Kind::Mapping)?;
        let Some((name, value)) = self.read().own_entry(key) else {
            return Err(Error::NoSuchKey(key.into()));
        };
        // What shares the key's line is commented behind it.
        let below = value.style() == Style::Block && !value.is_empty();
        let id = if place == CommentPlace::Line && !below { value.id } else { name.id };
        NodeMut { document: self.document, id }.set_comment(place, text)
    }

    // ---- steps

    /// Makes an absent or null value an empty collection; anything else must be one already.
    fn become_collection(&mut self, kind: Kind) -> Result<(), Error> {
        self.expand()?;
        if self.read().is_null() {
            let empty = if kind == Kind::Mapping { Content::mapping() } else { Content::sequence() };
            return self.replace(&empty);
        }
        self.need(kind)
    }

    /// Takes an entry out of the collection: an item, or a key and its value.
    fn cut(&mut self, first: NodeId, last: NodeId) {
        let id = self.id;
        let source = Arc::clone(&self.document.source);
        let tree = self.tree();
        let whole = tree.node(id).state < State::Edited;
        let in_source = tree.node(first).state != State::New;
        let left = tree
            .children(id)
            .any(|child| child != first && child != last && tree.node(child).state != State::New);
        let place = (whole && !left).then(|| Extents::new(&source, tree).place(id));
        tree.unlink(id, first);
        if last != first {
            tree.unlink(id, last);
        }
        if in_source && whole {
            tree.cuts.push(Cut { parent: id, first, last });
        }
        match place {
            // Nothing of what was read is left to hold on to: the collection is written anew.
            Some(place) if tree.node(id).style == Style::Block => tree.rewrite(id, place),
            _ => tree.reshape(id),
        }
    }
}

impl Tree {
    /// Marks a node as edited, and all above it.
    fn touch(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        if node.state != State::New {
            node.state = State::Edited;
        }
        self.mark_above(id);
    }

    /// Marks a collection that is written anew in its place, properties included.
    fn rewrite(&mut self, id: NodeId, place: Span) {
        self.cuts.retain(|cut| cut.parent != id);
        if let Some(properties) = self.properties(id).cloned() {
            self.set_properties(id, Properties { span: Span::default(), ..properties });
        }
        self.node_mut(id).span = place;
        self.touch(id);
    }

    /// Marks a collection whose children changed.
    fn reshape(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        node.reshaped = true;
        node.state = node.state.max(State::Below);
        self.mark_above(id);
    }

    /// Marks a node one of whose comments changed.
    fn touch_comment(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        node.state = node.state.max(State::Below);
        self.mark_above(id);
    }

    fn mark_above(&mut self, id: NodeId) {
        let mut above = self.node(id).parent;
        while let Some(parent) = above.get() {
            let node = self.node_mut(parent);
            if node.state != State::Clean {
                return;
            }
            node.state = State::Below;
            above = node.parent;
        }
    }

    /// Puts `child` behind `before`, or first.
    fn link(&mut self, parent: NodeId, before: Option<NodeId>, child: NodeId) {
        self.node_mut(child).parent = parent.into();
        let next = match before {
            Some(before) => std::mem::replace(&mut self.node_mut(before).next, child.into()),
            None => std::mem::replace(&mut self.node_mut(parent).first, child.into()),
        };
        self.node_mut(child).next = next;
        if next == Link::NONE {
            self.node_mut(parent).last = child.into();
        }
    }

    fn unlink(&mut self, parent: NodeId, child: NodeId) {
        let next = self.node(child).next;
        let mut before = None;
        for at in self.children(parent) {
            if at == child {
                break;
            }
            before = Some(at);
        }
        match before {
            Some(before) => self.node_mut(before).next = next,
            None => self.node_mut(parent).first = next,
        }
        if next == Link::NONE {
            self.node_mut(parent).last = before.into();
        }
        self.node_mut(child).next = Link::NONE;
        self.node_mut(child).parent = Link::NONE;
    }

    /// One comment of a node.
    pub(crate) fn comment(&self, id: NodeId, place: CommentPlace) -> Option<&Comment> {
        let comments = self.comments(id)?;
        match place {
            CommentPlace::Head => comments.head.as_ref(),
            CommentPlace::Line => comments.line.as_ref(),
            CommentPlace::Foot => comments.foot.as_ref(),
        }
    }

    fn set_comment(&mut self, id: NodeId, place: CommentPlace, text: &str) {
        let comments = self.comments_mut(id);
        let slot = match place {
            CommentPlace::Head => &mut comments.head,
            CommentPlace::Line => &mut comments.line,
            CommentPlace::Foot => &mut comments.foot,
        };
        let span = slot.as_ref().map_or(Span::default(), |comment| comment.span);
        *slot = Some(Comment { span, text: Some(text.into()), changed: true });
    }
}
