//! Comments that edits set.

use super::splice::{Rank, Splice};
use super::{Emitter, Entry};
use crate::edit::CommentPlace;
use crate::layout::push_comment;
use crate::syntax::token::Span;
use crate::tree::{Comment, Fact, NOWHERE, NodeId, State, Style};

impl Emitter<'_> {
    /// Splices for comments of a node that were set: line comments, and those that stand in the source already.
    pub(super) fn comments_in_place(&self, id: NodeId, splices: &mut Vec<Splice>) {
        for place in [CommentPlace::Head, CommentPlace::Foot] {
            let Some(comment) = self.set_comment(id, place).filter(|comment| !comment.span.is_empty()) else {
                continue;
            };
            let mut splice = self.comment_in_place(comment);
            let last =
                self.tree.node(id).next.get().filter(|_| self.tree.node(id).is(Fact::Key)).unwrap_or(id);
            // Without the comment, blank lines behind it would become text of a scalar that keeps all of them.
            let keeps = splice.text.is_empty() && self.ends_in_keeping_scalar(Entry { first: id, last });
            while keeps && splice.span.end < self.tree.span.end && self.extents.is_blank_line(splice.span.end)
            {
                splice.span.end = self.extents.line_end(splice.span.end);
            }
            splices.push(splice);
        }
        let line = self.set_comment(id, CommentPlace::Line);
        splices.extend(line.and_then(|comment| self.line_comment(id, comment)));
    }

    /// A comment that an edit set.
    fn set_comment(&self, id: NodeId, place: CommentPlace) -> Option<&Comment> {
        self.tree.comment(id, place).filter(|comment| comment.changed)
    }

    /// The text of a comment that an edit added where there was none.
    fn added_comment(&self, id: NodeId, place: CommentPlace) -> Option<&str> {
        let comment = self.set_comment(id, place).filter(|comment| comment.span.is_empty())?;
        comment.text.as_deref().filter(|text| !text.is_empty())
    }

    /// Head and foot comments that were added to an entry of a block collection. `behind_dash` is where it begins, if it comes
    /// to stand behind a dash.
    pub(super) fn entry_comments(
        &self,
        parent: NodeId,
        entry: Entry,
        behind_dash: Option<u32>,
        splices: &mut Vec<Splice>,
    ) {
        let column = self.tree.node(parent).column as usize;
        let lines = |place| self.added_lines(entry, place, column);
        if let Some(head) = lines(CommentPlace::Head) {
            let extent = self.extent(entry);
            let behind_dash = behind_dash.or(extent.inline.then_some(extent.lead));
            splices.push(if let Some(lead) = behind_dash {
                let text = format!("{}{}", head.trim_start_matches(' '), " ".repeat(column));
                Splice::insert(lead, text).ranked(Rank::HeadBehindDash)
            } else {
                let line = self.extents.line_start(self.extents.content_start(entry.first));
                Splice::insert(line, head).ranked(Rank::Head)
            });
        }
        if let Some(mut foot) = lines(CommentPlace::Foot) {
            let end = self.extent(entry).end;
            // A blank line tells that it is not the head of what follows.
            let before_new = self.tree.node(entry.last).next.get();
            let before_new = before_new.is_some_and(|next| self.tree.node(next).state == State::New);
            let ends = end as usize == self.document.source.len() || self.extents.is_blank_line(end);
            if before_new || !ends {
                foot.push('\n');
            }
            self.insert_lines(end, foot, splices);
        }
    }

    /// The lines of the comments that were added to an entry, at a column.
    pub(super) fn added_lines(&self, entry: Entry, place: CommentPlace, column: usize) -> Option<String> {
        let mut lines = String::new();
        for id in entry.nodes() {
            if let Some(text) = self.added_comment(id, place) {
                push_comment(&mut lines, text, column);
            }
        }
        (!lines.is_empty()).then_some(lines)
    }

    /// The lines of comments that were set above an entry and replace some that do not stand in its span: readers give what
    /// is above an empty item to the next one.
    pub(super) fn lines_from_outside(&self, entry: Entry, span: Span, column: usize) -> Option<String> {
        let mut lines = String::new();
        for id in entry.nodes() {
            let set = self.set_comment(id, CommentPlace::Head).filter(|comment| !comment.span.is_empty());
            let outside = set.filter(|comment| comment.span.end <= span.start);
            if let Some(text) =
                outside.and_then(|comment| comment.text.as_deref()).filter(|text| !text.is_empty())
            {
                push_comment(&mut lines, text, column);
            }
        }
        (!lines.is_empty()).then_some(lines)
    }

    /// Head and foot comments that were added to the root.
    pub(super) fn root_comments(&self, id: NodeId, splices: &mut Vec<Splice>) {
        if let Some(text) = self.added_comment(id, CommentPlace::Head) {
            let mut lines = String::new();
            push_comment(&mut lines, text, 0);
            let start = self.tree.start(id);
            let own_line = self.extents.begins_line(start);
            // Behind `---` on its line there is no place above: the comment goes before the marker.
            let beside_mark = self.tree.start_mark != NOWHERE && !own_line;
            let line = self.extents.line_start(if beside_mark { self.tree.start_mark } else { start });
            let splice = Splice::insert(line, lines);
            splices.push(splice.ranked(Rank::Top));
        }
        if let Some(text) = self.added_comment(id, CommentPlace::Foot) {
            let root = Entry { first: id, last: id };
            let mut lines = String::from(if self.ends_in_keeping_scalar(root) { "" } else { "\n" });
            push_comment(&mut lines, text, 0);
            let end = self.extents.end_of_lines(self.extents.place(id).end);
            self.insert_lines(end, lines, splices);
        }
    }

    /// A comment that stands in the source already: other text in its place, or its lines cut.
    fn comment_in_place(&self, comment: &Comment) -> Splice {
        let text = comment.text.as_deref().unwrap_or("");
        let span = comment.span;
        if text.is_empty() {
            return Splice::replace(self.cut_of_comment(span), String::new());
        }
        let mut lines = String::new();
        push_comment(&mut lines, text, self.extents.column(span.start) as usize);
        let ends_line = self.extents.after_break(span.end);
        let lines = lines.trim_start_matches(' ');
        let lines = if ends_line { lines } else { lines.trim_end_matches('\n') };
        Splice::replace(span, lines)
    }

    /// What goes with a comment: its lines, or the blanks before it.
    pub(super) fn cut_of_comment(&self, comment: Span) -> Span {
        if self.extents.begins_line(comment.start) {
            let start = self.extents.line_start(comment.start);
            return Span { start, end: self.extents.end_of_lines(comment.end) };
        }
        Span { start: self.end_of_text_before(comment.start), end: comment.end }
    }

    pub(super) fn end_of_text_before(&self, at: u32) -> u32 {
        let before = &self.document.source[..at as usize];
        Span::new(before.trim_end_matches([' ', '\t']).len(), 0).start
    }

    fn line_comment(&self, id: NodeId, comment: &Comment) -> Option<Splice> {
        // Readers give what is beside an empty value to what follows it: that line may go on its own.
        let is_elsewhere = comment.span.end <= self.tree.start(id);
        if !comment.span.is_empty() && !is_elsewhere {
            return Some(self.comment_in_place(comment));
        }
        let text = comment.text.as_deref().filter(|text| !text.is_empty())?;
        let value = if self.tree.node(id).is(Fact::Key) { self.tree.node(id).next.get()? } else { id };
        Some(Splice::insert(self.line_end_of(value)?, format!(" {text}")).ranked(Rank::LineComment))
    }

    fn ends_line(&self, place: Span) -> bool {
        place.end > place.start && self.extents.after_break(place.end)
    }

    /// Where a comment on the line of a node goes: behind the key for block collections, behind the header for block
    /// scalars, else behind the node. `None` where the node brings its comment itself when it is written anew.
    pub(super) fn line_end_of(&self, id: NodeId) -> Option<u32> {
        let node = self.tree.node(id);
        let place = node.span;
        let edited = node.state == State::Edited;
        let behind_mark = node.style == Style::Block && node.first.get().is_some();
        let moved_up = edited
            && node.mark != NOWHERE
            && !self.extents.same_line(node.mark, place.start)
            && !self.has_own_head(id, node.mark);
        if edited && self.ends_line(place) && !moved_up {
            return None;
        }
        if behind_mark || moved_up {
            let of_document = self.tree.start_mark;
            let beside_document = node.parent.get().is_none()
                && of_document != NOWHERE
                && self.extents.same_line(of_document, place.start);
            let mark = if beside_document { of_document + 2 } else { node.mark };
            return (mark != NOWHERE).then(|| self.behind_mark(id, mark));
        }
        if !edited && matches!(node.style, Style::Literal | Style::Folded) {
            let header = Span { start: place.start, end: self.extents.line_end(place.start) };
            return Some(
                place.start
                    + Span::new(
                        header.of(&self.document.source).trim_end_matches([' ', '\t', '\r', '\n']).len(),
                        0,
                    )
                    .start,
            );
        }
        Some(place.end)
    }

    /// Behind the colon or dash, and behind the properties that stay there.
    pub(super) fn behind_mark(&self, id: NodeId, mark: u32) -> u32 {
        let kept = self.tree.properties(id).filter(|properties| !properties.span.is_empty());
        let on_line = kept.filter(|properties| self.extents.same_line(mark, properties.span.start));
        on_line.map_or(mark + 1, |properties| properties.span.end).max(mark + 1)
    }

    /// Whether the value has a comment above it that stands below its key.
    pub(super) fn has_own_head(&self, id: NodeId, mark: u32) -> bool {
        self.tree.comment(id, CommentPlace::Head).is_some_and(|head| head.span.start > mark)
    }
}
