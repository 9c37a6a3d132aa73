//! Where new entries of block collections go: behind the entry before them and the comment below it, which must not come to
//! stand above what it is not about.

use super::{Emitter, Entry};
use crate::edit::CommentPlace;
use crate::layout::Layout;
use crate::syntax::token::Span;
use crate::tree::{Kind, NodeId, State, Style};

/// A place for new entries of a block collection.
pub(super) struct Gap<'a> {
    pub at: u32,
    pub layout: Layout<'a>,
    /// What goes above the first new entry: a blank line where a comment stands right above that is not about it.
    pub above: &'static str,
}

impl Emitter<'_> {
    /// The place behind an entry that stands in the source.
    pub(super) fn gap_behind(&self, id: NodeId, before: Entry) -> Gap<'_> {
        // A comment further left is about more than the entry, and stays behind what is new in the collection.
        let end = self.extent(before).removed_end;
        let column = self.tree.node(id).column;
        let at = if self.has_added_foot(before) { end } else { self.behind_loose_comment(end, column) };
        let open = at > end || !self.has_added_foot(before) && self.ends_in_open_foot(before, end, column);
        Gap { above: if open { "\n" } else { "" }, ..self.gap_at(id, at) }
    }

    /// A place above all entries that stand in the source.
    pub(super) fn gap_at(&self, id: NodeId, at: u32) -> Gap<'_> {
        Gap { at, layout: self.safe_layout(id, at), above: "" }
    }

    /// Whether an entry, the text of which ends in the source at `end`, ends with a comment below it that would be taken for
    /// one above what comes next.
    pub(super) fn is_left_open(&self, entry: Entry, end: u32, column: u32) -> bool {
        self.has_added_foot(entry) || self.ends_in_open_foot(entry, end, column)
    }

    /// Whether an entry as it stands in the source ends with a comment that would be taken for one above what comes next,
    /// at a column, on the next line.
    fn ends_in_open_foot(&self, entry: Entry, end: u32, column: u32) -> bool {
        let mut innermost = column;
        let mut last = entry;
        loop {
            let feet = last.nodes().filter_map(|id| self.tree.comment(id, CommentPlace::Foot));
            let mut at_end =
                feet.filter(|foot| !foot.span.is_empty() && self.extents.end_of_lines(foot.span.end) == end);
            let node = self.tree.node(last.last);
            let is_open = matches!(node.kind, Kind::Mapping | Kind::Sequence)
                && node.style == Style::Block
                && node.state < State::Edited;
            if is_open {
                innermost = node.column;
            }
            if let Some(foot) = at_end.next() {
                let removed = foot.changed && foot.text.as_deref() == Some("");
                let innermost = self.innermost(last.last).unwrap_or(innermost);
                return !removed && !self.is_closed_by(foot.span, innermost, column);
            }
            let children = self.tree.children(last.last).filter(|id| self.tree.node(*id).state != State::New);
            let Some(tail) = children.last().filter(|_| is_open) else { return false };
            let key = self.tree.node(tail).previous.get().filter(|_| node.kind == Kind::Mapping);
            last = Entry { first: key.unwrap_or(tail), last: tail };
        }
    }

    /// The column of the last block collection in a node.
    fn innermost(&self, id: NodeId) -> Option<u32> {
        let is_block = |id: &NodeId| {
            let node = self.tree.node(*id);
            node.style == Style::Block && matches!(node.kind, Kind::Mapping | Kind::Sequence)
        };
        let chain = std::iter::successors(Some(id).filter(is_block), |id| {
            self.tree.node(*id).last.get().filter(is_block)
        });
        chain.last().map(|id| self.tree.node(id).column)
    }

    /// Whether what comes next, at a column, ends the collection that a comment is in, and does not stand in the column
    /// of the comment: then the comment stays below what it is about.
    fn is_closed_by(&self, comment: Span, innermost: u32, column: u32) -> bool {
        let mut line = self.extents.line_start(comment.start);
        let mut in_column = false;
        while line < comment.end {
            let text = Span { start: line, end: self.extents.line_end(line) }.of(&self.document.source);
            let indent = text.len() - text.trim_start_matches([' ', '\t']).len();
            in_column |= text[indent..].starts_with('#') && indent == column as usize;
            line = self.extents.line_end(line);
        }
        column < innermost && !in_column
    }

    /// Whether an edit adds a comment below an entry, which brings the blank line behind it.
    fn has_added_foot(&self, entry: Entry) -> bool {
        self.added_lines(entry, CommentPlace::Foot, 0).is_some()
    }

    /// Behind comments that begin at `at` and belong to something else, for readers, although they stand right below the entry that
    /// ends there and above nothing, or are deeper than what follows, as the next line of a comment beside the entry is; else `at`.
    fn behind_loose_comment(&self, at: u32, column: u32) -> u32 {
        let end = self.tree.span.end;
        let (mut line, mut deeper) = (at, at);
        while line < end && self.extents.after_break(line) {
            let next = self.extents.line_end(line);
            let text = Span { start: line, end: next }.of(&self.document.source);
            let indent = text.len() - text.trim_start_matches(' ').len();
            if !text[indent..].starts_with('#') || indent < column as usize {
                break;
            }
            if deeper == line && indent > column as usize {
                deeper = next;
            }
            line = next;
        }
        let ends_document = line >= end || self.document.source[line as usize..].starts_with("...");
        if ends_document || self.extents.is_blank_line(line) { line } else { deeper }
    }
}
