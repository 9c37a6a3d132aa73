//! Nodes that were replaced in their place.

use super::{Emitter, Splice, comment_text};
use crate::edit::CommentPlace;
use crate::layout::{Behind, LastBreak, Layout, Pieces, push_indent};
use crate::syntax::token::Span;
use crate::tree::{Kind, NOWHERE, NodeId, Style};

impl Emitter<'_> {
    pub(super) fn edited(&self, id: NodeId, splices: &mut Vec<Splice>) {
        let node = self.tree.node(id);
        let place = node.span;
        let Some(parent) = node.parent.get() else { return self.edited_root(id, splices) };
        let in_flow = self.tree.node(parent).style == Style::Flow;
        if node.key || in_flow {
            let layout = self.layout(parent);
            let text = match (in_flow, node.key) {
                (true, true) => layout.flow_key(id),
                (true, false) => layout.flow_value(id),
                (false, _) => layout.key(id),
            };
            let text = match (place.is_empty(), node.mark) {
                (true, NOWHERE) if !node.key && self.tree.node(parent).kind == Kind::Mapping => {
                    format!(": {text}")
                }
                (true, mark) if mark != NOWHERE => format!(" {text}"),
                _ => text,
            };
            splices.push(Splice::replace(place, text));
            return;
        }
        let layout = self.safe_layout(parent, self.extents.end_of_lines(place.end));
        let column = self.tree.node(parent).column as usize;
        if node.mark == NOWHERE {
            return self.value_without_colon(id, column, &layout, splices);
        }
        let behind = match self.tree.node(parent).kind {
            Kind::Sequence if self.behind_mark(id, node.mark) > node.mark + 1 => {
                Behind::Properties { content: column + 2 }
            }
            Kind::Sequence if !place.is_empty() && self.extents.same_line(node.mark, place.start) => {
                Behind::Dash { content: self.extents.column(place.start) as usize }
            }
            Kind::Sequence => Behind::Dash { content: column + 2 },
            _ => Behind::Key,
        };
        self.edited_behind(id, node.mark, &layout.value(id, column, behind), splices);
    }

    /// The value of an explicit key that had no colon.
    fn value_without_colon(&self, id: NodeId, column: usize, layout: &Layout<'_>, splices: &mut Vec<Splice>) {
        let pieces = layout.value(id, column, Behind::Key);
        let mut lines = String::new();
        push_indent(&mut lines, column);
        lines.push(':');
        if !pieces.inline.is_empty() {
            lines.push(' ');
            lines.push_str(&pieces.inline);
        }
        lines.push('\n');
        lines.push_str(&pieces.rest);
        let at = self.extents.end_of_lines(self.tree.node(id).span.start);
        self.insert_lines(at, lines, layout.last_break(id), splices);
    }

    fn edited_root(&self, id: NodeId, splices: &mut Vec<Splice>) {
        let place = self.tree.node(id).span;
        let layout = self.safe_layout(id, self.extents.end_of_lines(place.end));
        let pieces = layout.root(id);
        let mark = self.tree.start_mark;
        if mark != NOWHERE && self.extents.same_line(mark, place.start) {
            return self.edited_behind(id, mark + 2, &pieces, splices);
        }
        if place.is_empty() {
            // Nothing but comments so far.
            let mut lines =
                if pieces.inline.is_empty() { String::new() } else { format!("{}\n", pieces.inline) };
            lines.push_str(&pieces.rest);
            let at_line_start = place.start <= self.extents.line_start(place.start);
            let lines = if at_line_start { lines } else { format!("\n{lines}") };
            splices.push(Splice::insert(place.start, lines));
            return;
        }
        let start = if self.extents.begins_line(place.start) {
            self.extents.line_start(place.start)
        } else {
            place.start
        };
        self.replace_lines(id, Span { start, end: place.end }, &pieces, &layout, splices);
    }

    /// Replaces what begins a line: the text that shares it, a comment that stays on it, and the lines below.
    fn replace_lines(
        &self,
        id: NodeId,
        place: Span,
        pieces: &Pieces,
        layout: &Layout<'_>,
        splices: &mut Vec<Splice>,
    ) {
        let comment = self.comment_inside(id);
        if self.extents.after_break(place.end) || comment.is_some() {
            let comment = comment.unwrap_or_default();
            let first = format!("{}{comment}", pieces.inline);
            let first = if first.is_empty() { first } else { format!("{}\n", first.trim_start_matches(' ')) };
            let text = self.finished(place.end, format!("{first}{}", pieces.rest), layout.last_break(id));
            splices.push(Splice::replace(place, text));
            return;
        }
        let line_end = self.extents.line_end(place.end);
        let left = Span { start: place.end, end: line_end }.of(&self.document.source);
        if pieces.inline.is_empty() && left.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
            let text = self.finished(line_end, pieces.rest.clone(), layout.last_break(id));
            splices.push(Splice::replace(Span { start: place.start, end: line_end }, text));
            return;
        }
        splices.push(Splice::replace(place, pieces.inline.clone()));
        if !pieces.rest.is_empty() {
            self.insert_lines(line_end, pieces.rest.clone(), layout.last_break(id), splices);
        }
    }

    /// A value behind its colon or dash (or a root behind `---`).
    fn edited_behind(&self, id: NodeId, mark: u32, pieces: &Pieces, splices: &mut Vec<Splice>) {
        let place = self.tree.node(id).span;
        let layout = self.layout(id);
        let last_break = layout.last_break(id);
        let after_mark = self.behind_mark(id, mark);
        let inline = if pieces.inline.is_empty() { String::new() } else { format!(" {}", pieces.inline) };
        if !self.extents.same_line(mark, place.start) {
            if self.has_own_head(id, mark) {
                // The value has a comment above it, below its key: it stays there.
                let whole = pieces.inline.is_empty();
                let start = if whole { self.extents.line_start(place.start) } else { place.start };
                return self.replace_lines(id, Span { start, end: place.end }, pieces, &layout, splices);
            }
            splices.push(Splice::insert(after_mark, inline));
            let lines =
                Span { start: self.extents.line_end(after_mark), end: self.extents.end_of_lines(place.end) };
            splices.push(self.replaced_below(lines, pieces.rest.clone(), last_break));
            return;
        }
        let comment = self.comment_inside(id);
        if self.extents.after_break(place.end) && place.end > place.start || comment.is_some() {
            // The old value was a block scalar: its header may have a comment, its last line break is its own.
            let text = format!("{inline}{}\n{}", comment.unwrap_or_default(), pieces.rest);
            let text = self.finished(place.end, text, last_break);
            splices.push(Splice::replace(Span { start: after_mark, end: place.end }, text));
            return;
        }
        let from_mark = place.is_empty() || pieces.inline.is_empty();
        let start = if from_mark { after_mark.min(place.start) } else { place.start };
        let text = if from_mark { inline } else { pieces.inline.clone() };
        splices.push(Splice::replace(Span { start, end: place.end }, text));
        if !pieces.rest.is_empty() {
            self.insert_lines(self.extents.line_end(place.end), pieces.rest.clone(), last_break, splices);
        }
    }

    /// The lines of a value that stood below its key, replaced by others or by none.
    fn replaced_below(&self, lines: Span, rest: String, last_break: LastBreak) -> Splice {
        let rest = self.finished(lines.end, rest, last_break);
        if self.extents.after_break(lines.end) || !rest.is_empty() {
            return Splice::replace(lines, rest);
        }
        // Without a final line break before, and nothing on the last lines now.
        let before = &self.document.source[..lines.start as usize];
        let kept =
            before.strip_suffix("\r\n").or_else(|| before.strip_suffix(['\n', '\r'])).unwrap_or(before);
        Splice::replace(Span::new(kept.len(), lines.end as usize), rest)
    }

    /// A comment that stands inside of what is replaced, on the header of a block scalar, or that is new there; with a
    /// blank before it.
    fn comment_inside(&self, id: NodeId) -> Option<String> {
        let place = self.tree.node(id).span;
        let comment = self.tree.comment(id, CommentPlace::Line)?;
        let inside =
            place.start <= comment.span.start && comment.span.end <= place.end && !comment.span.is_empty();
        let new = comment.span.is_empty() && place.end > place.start && self.extents.after_break(place.end);
        let text = comment_text(&self.document.source, Some(comment)).filter(|_| inside || new)?;
        Some(format!(" {text}"))
    }
}
