//! Giving comments to the nodes that are built.

use super::Builder;
use crate::syntax::attach::{Side, Waiting};
use crate::tree::{Kind, NodeId, Style};

impl Builder<'_> {
    /// Gives what waits to a scalar, an alias, or the beginning of a flow collection.
    pub(super) fn comment_node(&mut self, id: NodeId) {
        let Some(queue) = &mut self.queue else { return };
        let waiting = std::mem::take(&mut queue.waiting);
        if waiting.is_empty() {
            return;
        }
        let comments = waiting.into_comments(self.source);
        *self.tree.comments_mut(id) = comments;
    }

    /// The head comments that stand before a dash are those of the collection behind the dash.
    pub(super) fn comment_stem(&mut self, id: NodeId, stem: usize) {
        let token = self.peek();
        let Some(queue) = &mut self.queue else { return };
        if stem == 0 {
            return;
        }
        queue.reach(&token);
        let rest = queue.waiting.head.split_off(stem);
        let head = std::mem::replace(&mut queue.waiting.head, rest);
        self.tree.comments_mut(id).head = Waiting::join(self.source, &head, Side::Behind);
    }

    /// The end of a mapping or of a flow collection: line and foot are those of its end.
    pub(super) fn comment_end(&mut self, id: NodeId) {
        let Some(queue) = &mut self.queue else { return };
        let waiting = std::mem::take(&mut queue.waiting);
        if waiting.is_empty() && self.tree.comments(id).is_none() {
            return;
        }
        let ending = waiting.into_comments(self.source);
        let comments = self.tree.comments_mut(id);
        comments.line = ending.line;
        comments.foot = ending.foot;
    }

    /// What stands above the first node, up to the last blank line, is the document's own.
    pub(super) fn document_head(&mut self) {
        let token = self.peek();
        let Some(queue) = &mut self.queue else { return };
        self.tree.preface = Waiting::join(self.source, &queue.preface, Side::Behind);
        if queue.implicit {
            queue.reach(&token);
            if let Some((above, below)) = queue.waiting.split_at_last_blank_line(self.source) {
                self.tree.own.head = Waiting::join(self.source, &above, Side::Behind);
                queue.waiting.head = below;
            }
        }
    }

    pub(super) fn document_foot(&mut self) {
        let Some(queue) = &mut self.queue else { return };
        let waiting = std::mem::take(&mut queue.waiting);
        let comments = waiting.into_comments(self.source);
        self.tree.own.foot = comments.foot.or(comments.head);
        self.settle_feet();
    }

    /// A foot below a value is the foot of its key; one above a key, further left, is that of the key before.
    fn settle_feet(&mut self) {
        if self.tree.comments.iter().all(|comments| comments.foot.is_none()) {
            return;
        }
        for at in (0..self.tree.nodes.len()).rev() {
            let id = NodeId::new(at);
            if self.tree.node(id).kind != Kind::Mapping {
                continue;
            }
            let block = self.tree.node(id).style == Style::Block;
            let children: Vec<NodeId> = self.tree.children(id).collect();
            let mut before: Option<NodeId> = None;
            for pair in children.chunks_exact(2) {
                let (key, value) = (pair[0], pair[1]);
                if block
                    && before.is_some()
                    && let Some(foot) = self.tree.take_foot(key)
                {
                    self.tree.comments_mut(before.unwrap_or(key)).foot = Some(foot);
                }
                if self.tree.comments(key).is_none_or(|comments| comments.foot.is_none())
                    && let Some(foot) = self.tree.take_foot(value)
                {
                    self.tree.comments_mut(key).foot = Some(foot);
                }
                before = Some(key);
            }
            if block && let (Some(last), Some(foot)) = (before, self.tree.take_foot(id)) {
                self.tree.comments_mut(last).foot = Some(foot);
            }
        }
    }
}
