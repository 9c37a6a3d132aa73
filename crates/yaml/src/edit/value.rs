//! Setting values.

use std::sync::Arc;

use lanai_types::YamlLimits;

use super::proof::KeptComments;
use super::{CommentPlace, Error, NodeMut};
use crate::content::{Content, Scalar, Spelling};
use crate::extent::Extents;
use crate::node::{CORE_TAGS, NodeRef};
use crate::scalar::Resolved;
use crate::syntax::token::Span;
use crate::tree::{Comments, Fact, Kind, NOWHERE, NodeId, Properties, State, Style, Tree};

impl NodeMut<'_> {
    /// Sets the node to something else. Its anchor stays, and so do its comments, but for one that a scalar brings itself; a
    /// scalar keeps its quoting where the new text allows it and does not ask for another.
    ///
    /// # Errors
    /// [`Error::Copy`].
    pub fn set(&mut self, content: impl Into<Content>) -> Result<(), Error> {
        let content = content.into();
        self.proved(KeptComments::MayGo, |node| node.set_value(&content))
    }

    /// [`NodeMut::set`], as a part of an edit.
    pub(super) fn set_value(&mut self, content: &Content) -> Result<(), Error> {
        self.set_content(content)?;
        self.note_aliases();
        Ok(())
    }

    fn set_content(&mut self, content: &Content) -> Result<(), Error> {
        self.claim_comments();
        let Some(scalar) = content.scalar().filter(|scalar| self.keeps_properties(scalar)) else {
            return self.replace(content);
        };
        self.set_text(&scalar);
        let comment = content.node().and_then(NodeRef::line_comment);
        if let Some(comment) = comment.filter(|_| self.check_comment_place(CommentPlace::Line).is_ok()) {
            self.write_comment(CommentPlace::Line, &comment);
        }
        Ok(())
    }

    /// Takes the comments beside the node back from whom readers gave them to.
    fn claim_comments(&mut self) {
        let id = self.id;
        if self.document.tree.delicate {
            let source = Arc::clone(&self.document.source);
            self.tree().claim_comments(id, &source);
        }
    }

    /// Whether the node is a scalar whose tag, if it has one, fits the new text as well.
    fn keeps_properties(&self, scalar: &Scalar<'_>) -> bool {
        let fits = |tag: String| match tag.strip_prefix(CORE_TAGS) {
            Some(core) => scalar.string && core == "str",
            None => scalar.string || tag != "!",
        };
        self.read().kind() == Kind::Scalar && self.read().full_tag().is_none_or(fits)
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
        let parent = node.parent.get().filter(|_| node.is(Fact::Key));
        let as_written = scalar.spelling == Spelling::AsWritten && node.style == Style::Plain;
        node.text = text;
        node.facts.put(Fact::String, scalar.string && !as_written);
        tree.forget_entries(parent);
        tree.touch(id);
    }

    /// Replaces kind, content and tag of the node in its place. Its anchor and its comments stay. Aliases of what is in
    /// it are expanded, because their anchors go.
    pub(super) fn replace(&mut self, content: &Content) -> Result<(), Error> {
        let id = self.id;
        let above = self.ancestors();
        let new = self.graft(content, above)?;
        if self.is_inside_flow() {
            self.tree().forget_comments(new);
        }
        if matches!(self.read().kind(), Kind::Mapping | Kind::Sequence) {
            self.release_below(id)?;
        }
        let source = Arc::clone(&self.document.source);
        let tree = self.tree();
        tree.hand_up_comment(id, &source);
        tree.take_place(id, new, &source);
        let from = tree.node(new).clone();
        let cut = tree.node(id).is(Fact::Reshaped);
        let same_kind = tree.node(id).kind == from.kind && tree.node(id).style == Style::Block;
        let parent = tree.node(id).parent.get().filter(|_| tree.node(id).is(Fact::Key));
        tree.forget_entries([Some(id), parent].into_iter().flatten());
        let node = tree.node_mut(id);
        (node.kind, node.style, node.text) = (from.kind, from.style, from.text);
        (node.first, node.last) = (from.first, from.last);
        node.facts.put(Fact::String, from.is(Fact::String));
        node.facts.put(Fact::Cooked, false);
        node.facts.put(Fact::Reshaped, false);
        // Entries of the same kind stand where the old ones stood.
        node.column = if same_kind && from.style == Style::Block { node.column } else { NOWHERE };
        tree.adopt(id);
        let brought = tree.comments(new).cloned().unwrap_or_default();
        if cut {
            tree.cuts.remove(&id);
        }
        tree.touch(id);
        self.lift_line_comment();
        self.add_comments(brought);
        Ok(())
    }

    /// Fails where [`NodeMut::graft_below`] would, before the node is made a collection for it.
    pub(super) fn check_fits(&self, content: &Content) -> Result<(), Error> {
        if matches!(self.read().kind(), Kind::Mapping | Kind::Sequence) {
            return Ok(());
        }
        let limit = YamlLimits::default().max_depth;
        let mut scratch = Tree::bare(Span::default());
        let new = content.graft(&mut scratch)?;
        if self.ancestors() + 1 + scratch.depth(new) > limit { Err(Error::TooDeep { limit }) } else { Ok(()) }
    }

    /// Copies content into the tree, to be put below this node.
    pub(super) fn graft_below(&mut self, content: &Content) -> Result<NodeId, Error> {
        let above = self.ancestors() + 1;
        let new = self.graft(content, above)?;
        if self.read().style() == Style::Flow || self.is_inside_flow() {
            self.tree().forget_comments(new);
        }
        Ok(new)
    }

    /// Copies content into the tree, to be put where that many collections are around it.
    fn graft(&mut self, content: &Content, above: usize) -> Result<NodeId, Error> {
        let limit = YamlLimits::default().max_depth;
        let tree = self.tree();
        let new = content.graft(tree)?;
        if above + tree.depth(new) > limit { Err(Error::TooDeep { limit }) } else { Ok(new) }
    }

    fn ancestors(&self) -> usize {
        std::iter::successors(self.read().parent(), |node| node.parent()).count()
    }

    /// Gives the node the comments that new content brings, where it has none and there is a place for them.
    fn add_comments(&mut self, brought: Comments) {
        let id = self.id;
        let Comments { head, line, foot } = brought;
        for (place, comment) in
            [(CommentPlace::Head, head), (CommentPlace::Line, line), (CommentPlace::Foot, foot)]
        {
            let Some(text) = comment.and_then(|comment| comment.text) else { continue };
            if self.check_comment_place(place).is_ok() && self.document.tree.comment(id, place).is_none() {
                self.tree().set_comment(id, place, &text);
            }
        }
    }

    /// Makes an absent or null value an empty collection; anything else must be one already.
    pub(super) fn become_collection(&mut self, kind: Kind) -> Result<(), Error> {
        if self.read().is_null() {
            let empty = if kind == Kind::Mapping { Content::mapping() } else { Content::sequence() };
            return self.replace(&empty);
        }
        self.need(kind)?;
        self.expand()
    }
}

impl Tree {
    /// Gives a node the place that new content will be written to. Properties that stay as they are, on the line of the
    /// colon or dash, are not part of it; others are written anew, with the anchor of the old node and the tag of the
    /// new one.
    fn take_place(&mut self, id: NodeId, new: NodeId, source: &str) {
        let tag = self.properties(new).and_then(|properties| properties.tag.clone());
        let old = self.properties(id).cloned();
        let kind = self.node(new).kind;
        let fits = kind != Kind::Scalar && kind == self.node(id).kind;
        let keeps = tag.is_none() && self.keeps_properties(id, source, fits.then_some(kind));
        let tag = tag.or_else(|| old.as_ref().filter(|_| fits)?.tag.clone());
        if self.node(id).state < State::Edited {
            let extents = Extents::new(source, self);
            let span = if keeps { extents.content_place(id) } else { extents.place(id) };
            self.node_mut(id).span = span;
        }
        if keeps {
            return;
        }
        if let Some(old) = old.as_ref().filter(|old| !old.span.is_empty()) {
            let span = self.node(id).span;
            self.node_mut(id).span =
                Span { start: span.start.min(old.span.start), end: span.end.max(old.span.end) };
        }
        self.node_mut(id).properties = NOWHERE;
        let anchor = old.and_then(|old| old.anchor);
        if anchor.is_some() || tag.is_some() {
            self.set_properties(id, Properties { anchor, tag, span: Span::default() });
        }
    }

    /// Whether the properties of a node can stay where they are when its content is replaced by something without a tag:
    /// on the line of the colon or dash, and an anchor alone, unless the new content is a collection of the same `kind`.
    pub(super) fn keeps_properties(&self, id: NodeId, source: &str, kind: Option<Kind>) -> bool {
        let extents = Extents::new(source, self);
        self.properties(id).is_some_and(|old| (old.tag.is_none() || kind.is_some()) && extents.stays(id, old))
    }

    /// Takes the comments away from a node and all below it: between brackets new ones have no place.
    fn forget_comments(&mut self, id: NodeId) {
        for id in self.subtree(id) {
            self.node_mut(id).comments = NOWHERE;
        }
    }

    /// Drops the tables of collections whose entries are others now.
    fn forget_entries(&mut self, ids: impl IntoIterator<Item = NodeId>) {
        for id in ids {
            self.tables.take(id);
        }
    }

    /// Makes a node the parent of its children.
    fn adopt(&mut self, id: NodeId) {
        let mut child = self.node(id).first;
        while let Some(at) = child.get() {
            self.node_mut(at).parent = id.into();
            child = self.node(at).next;
        }
    }

    /// How many collections are in each other, at most, from a node down.
    fn depth(&self, id: NodeId) -> usize {
        let mut deepest = 0;
        let mut work = vec![(id, 0)];
        while let Some((id, above)) = work.pop() {
            if matches!(self.node(id).kind, Kind::Mapping | Kind::Sequence) {
                deepest = deepest.max(above + 1);
                work.extend(self.children(id).map(|child| (child, above + 1)));
            }
        }
        deepest
    }
}
