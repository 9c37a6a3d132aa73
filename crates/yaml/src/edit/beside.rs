//! Comments beside nothing: on the line of a dash, an anchor or a tag that has its content below, or none. Readers give
//! them to whatever comes next; an edit of what they stand beside takes them back.

use crate::edit::CommentPlace;
use crate::syntax::token::Span;
use crate::tree::{Comment, Kind, NOWHERE, NodeId, State, Style, Tree};

impl Tree {
    /// Gives a node the comment beside its dash or its properties, if it is a block collection below them or is left out, and
    /// the same to what it ends with: that comment is inside of it.
    pub(super) fn claim_comments(&mut self, id: NodeId, source: &str) {
        self.claim_comment(id, source);
        let mut last = id;
        while let Some(child) = self.node(last).last.get().filter(|_| self.is_block(last)) {
            last = child;
        }
        if last != id && self.is_left_out(last) {
            self.claim_comment(last, source);
        }
    }

    /// Gives a node the comment beside its dash or its properties, if it is a block collection below them or is left out.
    pub(super) fn claim_comment(&mut self, id: NodeId, source: &str) {
        let takes = self.is_block(id) || self.is_left_out(id);
        if !takes || self.comment(id, CommentPlace::Line).is_some() {
            return;
        }
        let Some(beside) = self.comment_beside(id, source) else { return };
        for reader in self.readers(id) {
            for place in [CommentPlace::Head, CommentPlace::Line, CommentPlace::Foot] {
                if self.comment(reader, place).is_none() {
                    continue;
                }
                if let Some(found) = take_part(self.comments_mut(reader).slot(place), beside, source) {
                    self.comments_mut(id).line = Some(found);
                    return;
                }
            }
        }
        if let Some(found) = take_part(&mut self.own.foot, beside, source) {
            self.comments_mut(id).line = Some(found);
        }
    }

    /// Drops the parts of a comment beside a node that stand further up, beside its dash or its properties, because all of it is
    /// about to be replaced.
    pub(super) fn drop_other_parts(&mut self, id: NodeId, source: &str) {
        let Some(line) = self.comment(id, CommentPlace::Line) else { return };
        if line.changed || line.text.is_none() || line.span.is_empty() {
            return;
        }
        let part = self.comment_beside(id, source).filter(|part| part.end <= line.span.start);
        self.gone.extend(part);
    }

    /// Whether a node stands in the source without a text of its own.
    pub(super) fn is_left_out(&self, id: NodeId) -> bool {
        let node = self.node(id);
        node.kind == Kind::Scalar && node.span.is_empty() && node.state < State::Edited
    }

    fn is_block(&self, id: NodeId) -> bool {
        let node = self.node(id);
        node.style == Style::Block && node.kind != Kind::Alias && node.state < State::Edited
    }

    /// The comment that stands right behind the properties of a node or its dash, on their line.
    fn comment_beside(&self, id: NodeId, source: &str) -> Option<Span> {
        let properties = self.properties(id).filter(|properties| !properties.span.is_empty());
        let mark = self.node(id).mark;
        let dash = Some(mark).filter(|mark| *mark != NOWHERE && source.as_bytes()[*mark as usize] == b'-');
        let behind = properties.map(|properties| properties.span.end).or(dash.map(|dash| dash + 1))?;
        let line = source[behind as usize..].split(['\n', '\r']).next().unwrap_or("");
        let text = line.trim_start_matches([' ', '\t']);
        let start = behind + Span::new(line.len() - text.len(), 0).start;
        text.starts_with('#').then(|| Span { start, end: behind + Span::new(line.len(), 0).start })
    }

    /// The nodes that readers may have given a comment to that stands beside a node: those that follow in the document, up to
    /// one with a text.
    fn readers(&self, id: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut at = id;
        loop {
            while let Some(first) = self.node(at).first.get().filter(|_| self.is_block(at)) {
                at = first;
                found.push(at);
            }
            if !self.is_left_out(at) {
                return found;
            }
            while self.node(at).next.get().is_none() {
                let Some(parent) = self.node(at).parent.get() else { return found };
                at = parent;
                found.push(at);
            }
            at = self.node(at).next.get().unwrap_or(at);
            found.push(at);
        }
    }
}

/// Takes the part of a comment that stands at a place, if it has one.
pub(super) fn take_part(slot: &mut Option<Comment>, part: Span, source: &str) -> Option<Comment> {
    let comment = slot.as_mut().filter(|comment| !comment.changed && comment.span.start >= part.start)?;
    let own = part.of(source).trim_end();
    let is_first = comment.span.start == part.start;
    let at = comment.text.as_deref().and_then(|text| text.lines().position(|line| line == own));
    if !is_first && at.is_none() {
        return None;
    }
    if let Some((text, at)) = comment.text.as_deref().zip(at) {
        let lines: Vec<&str> =
            text.lines().enumerate().filter(|(line, _)| *line != at).map(|(_, line)| line).collect();
        comment.text = Some(lines.join("\n").into());
    }
    if is_first {
        let rest = Span { start: part.end.min(comment.span.end), end: comment.span.end };
        let text = rest.of(source).trim_start();
        comment.span.start = rest.end - Span::new(text.len(), 0).start;
    }
    let nothing_is_left = comment.span.is_empty() && comment.text.as_deref().unwrap_or("").is_empty();
    if nothing_is_left {
        *slot = None;
    }
    Some(Comment { span: part, ..Comment::default() })
}
