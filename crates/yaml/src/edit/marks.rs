//! The marks that edits leave in a tree.

use super::beside::take_part;
use crate::edit::CommentPlace;
use crate::syntax::token::Span;
use crate::tree::{Comment, Comments, Fact, Kind, Link, NodeId, Properties, State, Tree};

impl Tree {
    /// Marks a node as edited, and all above it.
    pub(super) fn touch(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        if node.state != State::New {
            node.state = State::Edited;
        }
        self.mark_above(id);
    }

    /// Marks a collection that is written anew in its place, with the properties that stand in it.
    pub(super) fn rewrite(&mut self, id: NodeId, place: Span) {
        self.cuts.remove(&id);
        let inside = |properties: &&Properties| place.start <= properties.span.start;
        if let Some(properties) = self.properties(id).filter(inside).cloned() {
            self.set_properties(id, Properties { span: Span::default(), ..properties });
        }
        self.node_mut(id).span = place;
        self.touch(id);
    }

    /// Marks a collection whose children changed.
    pub(super) fn reshape(&mut self, id: NodeId) {
        let node = self.node_mut(id);
        node.facts.put(Fact::Reshaped, true);
        node.state = node.state.max(State::Below);
        self.mark_above(id);
    }

    /// Marks a node one of whose comments changed.
    pub(super) fn touch_comment(&mut self, id: NodeId) {
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
    pub(super) fn link(&mut self, parent: NodeId, before: Option<NodeId>, child: NodeId) {
        self.tables.take(parent);
        self.node_mut(child).parent = parent.into();
        let next = match before {
            Some(before) => std::mem::replace(&mut self.node_mut(before).next, child.into()),
            None => std::mem::replace(&mut self.node_mut(parent).first, child.into()),
        };
        self.node_mut(child).next = next;
        self.node_mut(child).previous = before.into();
        match next.get() {
            Some(next) => self.node_mut(next).previous = child.into(),
            None => self.node_mut(parent).last = child.into(),
        }
    }

    pub(super) fn unlink(&mut self, parent: NodeId, child: NodeId) {
        self.tables.take(parent);
        let (previous, next) = (self.node(child).previous, self.node(child).next);
        match previous.get() {
            Some(previous) => self.node_mut(previous).next = next,
            None => self.node_mut(parent).first = next,
        }
        match next.get() {
            Some(next) => self.node_mut(next).previous = previous,
            None => self.node_mut(parent).last = previous,
        }
        let node = self.node_mut(child);
        (node.parent, node.previous, node.next) = (Link::NONE, Link::NONE, Link::NONE);
    }

    /// Whether a collection has children that stand in the source, but for those from `first` to `last`. Both ways are gone
    /// in turn, so that to ask this of all children, one by one, costs little more than their number.
    pub(super) fn has_source_beside(&self, first: NodeId, last: NodeId) -> bool {
        let old = |link: Link| link.get().is_some_and(|id| self.node(id).state != State::New);
        let (mut left, mut right) = (self.node(first).previous, self.node(last).next);
        loop {
            if old(left) || old(right) {
                return true;
            }
            if left.get().is_none() && right.get().is_none() {
                return false;
            }
            left = left.get().map_or(left, |id| self.node(id).previous);
            right = right.get().map_or(right, |id| self.node(id).next);
        }
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

    /// Whether a line comment of the node stands in the source.
    pub(super) fn has_line_comment(&self, id: NodeId) -> bool {
        self.comment(id, CommentPlace::Line).is_some_and(|line| !line.span.is_empty())
    }

    /// Whether a comment stands on the line of a node, or was put there by an edit.
    pub(super) fn has_or_gets_line_comment(&self, id: NodeId) -> bool {
        let added = |line: &Comment| line.text.as_deref().is_some_and(|text| !text.is_empty());
        self.comment(id, CommentPlace::Line).is_some_and(|line| !line.span.is_empty() || added(line))
    }

    /// Gives a comment that stands behind the tag or anchor of a collection, on its line, to the collection: readers give it
    /// to what comes first in it, which is about to go.
    pub(super) fn hand_up_comment(&mut self, id: NodeId, source: &str) {
        let Some(properties) = self.properties(id).filter(|properties| !properties.span.is_empty()) else {
            return;
        };
        let behind = properties.span.end;
        let line = source[behind as usize..].split(['\n', '\r']).next().unwrap_or("");
        if !line.trim_start().starts_with('#') || self.comment(id, CommentPlace::Line).is_some() {
            return;
        }
        let start = behind + Span::new(line.len() - line.trim_start().len(), 0).start;
        let mut at = self.node(id).first.get().filter(|_| self.node(id).kind != Kind::Alias);
        while let Some(child) = at {
            for place in [CommentPlace::Head, CommentPlace::Line] {
                if self
                    .comment(child, place)
                    .is_some_and(|comment| !comment.changed && comment.span.start == start)
                {
                    let comment = self.comments_mut(child).slot(place).take();
                    self.comments_mut(id).line = comment;
                    return;
                }
            }
            // Readers put it before one that the child has on its own line.
            let own = line.trim();
            let is_joined = self.comment(child, CommentPlace::Line).is_some_and(|comment| {
                let first = comment.text.as_deref().and_then(|text| text.lines().next());
                !comment.changed && first == Some(own) && comment.span.start > start
            });
            if is_joined {
                let span = Span { start, end: start + Span::new(own.len(), 0).start };
                self.comments_mut(id).line = Some(Comment { span, text: None, changed: false });
                let joined = self.comments_mut(child).line.as_mut();
                let rest = |text: &str| text.split_once('\n').map(|(_, rest)| rest.into());
                if let Some(comment) = joined {
                    comment.text = comment.text.as_deref().and_then(rest);
                }
                return;
            }
            at = self.node(child).first.get().filter(|_| self.node(child).kind != Kind::Alias);
        }
    }

    /// Gives comments of an entry that goes to the one behind it, where they stand above it on the line of a dash or an
    /// anchor: they are about what all of these entries are in.
    pub(super) fn hand_down_comments(&mut self, first: NodeId, last: NodeId, source: &str) {
        // The dash of an item, which its own comments stand above.
        let start = self.start(first).min(self.node(first).mark);
        let stands_behind = |id: &NodeId| self.node(*id).state != State::New && self.start(*id) > start;
        let Some(behind) = self.node(last).next.get().filter(stands_behind) else { return };
        // The part of a comment that stands above: all of it, or its first line where only that shares a line with something.
        let part_above = |comment: &Comment| {
            let span = comment.span;
            if comment.changed || span.end > start {
                return None;
            }
            let is_text = |line: &str| !line.trim_start().is_empty() && !line.trim_start().starts_with('#');
            if source[span.end as usize..start as usize].lines().any(is_text) {
                return Some(span);
            }
            let line = source[..span.start as usize].rsplit(['\n', '\r']).next().unwrap_or("");
            let first = span.of(source).split(['\n', '\r']).next().unwrap_or("");
            let beside = !line.trim_start_matches('\u{feff}').trim().is_empty();
            beside.then(|| Span { start: span.start, end: span.start + Span::new(first.len(), 0).start })
        };
        for place in [CommentPlace::Head, CommentPlace::Line] {
            let free = self.comment(behind, place).is_none();
            let Some(part) = self.comment(first, place).filter(|_| free).and_then(part_above) else {
                continue;
            };
            let slot = self.comments_mut(first).slot(place);
            let is_all = slot.as_ref().is_some_and(|comment| comment.span == part);
            let comment = if is_all { slot.take() } else { take_part(slot, part, source) };
            *self.comments_mut(behind).slot(place) = comment;
        }
    }

    pub(super) fn set_comment(&mut self, id: NodeId, place: CommentPlace, text: &str) {
        let slot = self.comments_mut(id).slot(place);
        let span = slot.as_ref().map_or(Span::default(), |comment| comment.span);
        let stood = slot.as_ref().is_some_and(|comment| !comment.changed && !span.is_empty());
        *slot = Some(Comment { span, text: Some(text.into()), changed: true });
        self.gone.extend(stood.then_some(span));
    }
}

impl Comments {
    pub(super) fn slot(&mut self, place: CommentPlace) -> &mut Option<Comment> {
        match place {
            CommentPlace::Head => &mut self.head,
            CommentPlace::Line => &mut self.line,
            CommentPlace::Foot => &mut self.foot,
        }
    }
}
