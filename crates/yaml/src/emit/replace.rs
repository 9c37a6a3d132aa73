//! Nodes that were replaced in their place.

use super::{Emitter, Splice, comment_text};
use crate::edit::CommentPlace;
use crate::layout::{Behind, BlockScalars, Layout, Pieces, push_indent};
use crate::syntax;
use crate::syntax::token::Span;
use crate::tree::{Comment, Fact, Kind, NOWHERE, NodeId, Style};

impl Emitter<'_> {
    pub(super) fn edited(&self, id: NodeId, splices: &mut Vec<Splice>) {
        let node = self.tree.node(id);
        let place = node.span;
        let Some(parent) = node.parent.get() else { return self.edited_root(id, splices) };
        let in_flow = self.tree.node(parent).style == Style::Flow;
        if node.is(Fact::Key) || in_flow {
            let layout = self.layout(parent);
            let text = match (in_flow, node.is(Fact::Key)) {
                (true, true) => layout.flow_key(id),
                (true, false) => layout.flow_value(id),
                (false, _) => layout.key(id),
            };
            let after_question_mark = self.document.source[..place.start as usize].ends_with('?');
            let is_value = !node.is(Fact::Key) && self.tree.node(parent).kind == Kind::Mapping;
            let text = match (place.is_empty(), node.mark) {
                (true, NOWHERE) if is_value && after_question_mark => format!(" : {text}"),
                (true, NOWHERE) if is_value => format!(": {text}"),
                (true, mark) if mark != NOWHERE || self.stands_behind_properties(id) => format!(" {text}"),
                _ => text,
            };
            splices.push(Splice::replace(place, text));
            return;
        }
        let mut layout = self.safe_layout(parent, self.extents.end_of_lines(place.end));
        if node.mark != NOWHERE && self.extents.line_end(node.mark) < self.extents.line_start(place.start) {
            // Lines between the key and the old value would become text of a block scalar.
            layout.block_scalars = BlockScalars::Quoted;
        }
        let column = self.tree.node(parent).column as usize;
        let behind_key = self.tree.node(parent).kind == Kind::Mapping;
        if behind_key && node.style == Style::Block && node.column != NOWHERE {
            // It lost all its entries; new ones stand where those stood.
            layout.follow(node.kind, (node.column as usize).saturating_sub(column));
        }
        if let (Kind::Scalar, Some(deeper)) = (node.kind, self.block_scalar_indent(place, column)) {
            layout.follow(Kind::Mapping, deeper);
        }
        if node.mark == NOWHERE {
            return self.value_without_colon(id, column, &layout, splices);
        }
        let behind = match self.tree.node(parent).kind {
            // Something else stands on the line of the dash: collections begin on the next one.
            Kind::Sequence
                if self.behind_mark(id, node.mark) > node.mark + 1 || self.shares_line(id, node.mark) =>
            {
                Behind::Properties { content: column + 2 }
            }
            Kind::Sequence if !place.is_empty() && self.only_spaces(node.mark + 1, place.start) => {
                Behind::Dash { content: self.extents.column(place.start) as usize }
            }
            Kind::Sequence => Behind::Dash { content: column + 2 },
            Kind::Mapping | Kind::Scalar | Kind::Alias => Behind::Key,
        };
        self.edited_behind(id, node.mark, &layout.value(id, column, behind), splices);
    }

    /// How much deeper than a column the lines of the block scalar at a place stand; `None` for anything else.
    fn block_scalar_indent(&self, place: Span, column: usize) -> Option<usize> {
        let text = place.of(&self.document.source);
        let mut lines = text.starts_with(['|', '>']).then(|| text.lines().skip(1))?;
        let first = lines.find(|line| !line.trim().is_empty())?;
        (first.len() - first.trim_start_matches(' ').len()).checked_sub(column).filter(|deeper| *deeper > 0)
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
        self.insert_lines(at, lines, splices);
    }

    fn edited_root(&self, id: NodeId, splices: &mut Vec<Splice>) {
        let place = self.tree.node(id).span;
        let layout = self.safe_layout(id, self.extents.end_of_lines(place.end));
        let pieces = layout.root(id);
        let mark = self.tree.start_mark;
        if let Some(below) = self.below_lone_comments(id) {
            let first = if pieces.inline.is_empty() { String::new() } else { format!("{}\n", pieces.inline) };
            return self.insert_lines(below, format!("{first}{}", pieces.rest), splices);
        }
        if mark != NOWHERE && self.extents.same_line(mark, place.start) {
            return self.edited_behind(id, mark + 2, &pieces, splices);
        }
        if place.is_empty() {
            // Nothing but comments so far.
            let mut lines =
                if pieces.inline.is_empty() { String::new() } else { format!("{}\n", pieces.inline) };
            lines.push_str(&pieces.rest);
            return self.insert_lines(place.start, lines, splices);
        }
        let start = if self.extents.begins_line(place.start) {
            self.extents.line_start(place.start)
        } else {
            place.start
        };
        self.replace_lines(id, Span { start, end: place.end }, &pieces, splices);
    }

    /// Where the first content of a document goes that has nothing but lines of comments below its marker: they were written
    /// above what was to come.
    fn below_lone_comments(&self, root: NodeId) -> Option<u32> {
        let (place, mark) = (self.tree.node(root).span, self.tree.start_mark);
        let bare = mark != NOWHERE && place.is_empty() && self.extents.same_line(mark, place.start);
        if !bare || self.tree.properties(root).is_some() {
            return None;
        }
        let source = &self.document.source;
        let first = self.extents.line_end(mark);
        if !source[mark as usize + 3..first as usize].trim().is_empty() {
            return None;
        }
        let (mut at, mut below) = (first, None);
        while (at as usize) < source.len() {
            let next = self.extents.line_end(at);
            let line = source[at as usize..next as usize].trim();
            if line.starts_with('#') {
                below = Some(next);
            } else if !line.is_empty() {
                break;
            }
            at = next;
        }
        below
    }

    /// Replaces what begins a line: the text that shares it, a comment that stays on it, and the lines below.
    fn replace_lines(&self, id: NodeId, place: Span, pieces: &Pieces, splices: &mut Vec<Splice>) {
        let comment = self.comment_inside(id);
        if self.extents.after_break(place.end) || comment.is_some() {
            let first = format!("{}{}", pieces.inline, comment.unwrap_or_default());
            let first = if first.is_empty() { first } else { format!("{}\n", first.trim_start_matches(' ')) };
            splices.push(Splice::replace(place, format!("{first}{}", pieces.rest)));
            return;
        }
        let line_end = self.extents.line_end(place.end);
        let left = Span { start: place.end, end: line_end }.of(&self.document.source);
        if pieces.inline.is_empty() && left.trim_matches([' ', '\t', '\r', '\n']).is_empty() {
            splices.push(Splice::replace(Span { start: place.start, end: line_end }, pieces.rest.clone()));
            return;
        }
        splices.push(Splice::replace(place, pieces.inline.clone()));
        if !pieces.rest.is_empty() {
            self.insert_lines(line_end, pieces.rest.clone(), splices);
        }
    }

    /// A value behind its colon or dash (or a root behind `---`).
    fn edited_behind(&self, id: NodeId, mark: u32, pieces: &Pieces, splices: &mut Vec<Splice>) {
        let place = self.tree.node(id).span;
        let after_mark = self.behind_mark(id, mark);
        let inline = if pieces.inline.is_empty() { String::new() } else { format!(" {}", pieces.inline) };
        if !self.extents.same_line(mark, place.start) {
            return self.edited_below(id, mark, pieces, &inline, splices);
        }
        let begins_block = self.tree.node(id).style == Style::Block;
        let from_mark = place.is_empty()
            || pieces.inline.is_empty()
            || begins_block && !self.only_spaces(after_mark, place.start);
        let start = if from_mark { after_mark.min(place.start) } else { place.start };
        let first = if from_mark { inline.as_str() } else { pieces.inline.as_str() };
        let comment = self.comment_inside(id);
        let ends_line = self.extents.after_break(place.end) && place.end > place.start;
        if ends_line || comment.is_some() {
            // The old value was a block scalar: its header may have a comment, its last line break is its own.
            let text = format!("{first}{}\n{}", comment.unwrap_or_default(), pieces.rest);
            // A collection that goes leaves the line break behind it.
            let text = if ends_line { text.as_str() } else { text.trim_end_matches('\n') };
            splices.push(Splice::replace(Span { start, end: place.end }, text));
            return;
        }
        splices.push(Splice::replace(Span { start, end: place.end }, first));
        if !pieces.rest.is_empty() {
            self.insert_lines(self.extents.line_end(place.end), pieces.rest.clone(), splices);
        }
    }

    /// A value that stood on lines of its own, below its key.
    fn edited_below(&self, id: NodeId, mark: u32, pieces: &Pieces, inline: &str, splices: &mut Vec<Splice>) {
        let place = self.tree.node(id).span;
        let line = self.extents.line_start(place.start);
        // The comment of the value, or one on its last line that belongs to nobody.
        let own =
            self.tree.comment(id, CommentPlace::Line).filter(|comment| comment.span.start >= place.start);
        let end = self.extents.end_of_lines(place.end);
        let tail = self.kept(Span { start: place.end, end });
        let tail = tail.trim_matches([' ', '\t', '\r', '\n']);
        let comment = self.text_beside(own).or_else(|| tail.starts_with('#').then(|| tail.to_owned()));
        let mark_line = Span { start: mark, end: self.extents.line_end(mark) }.of(&self.document.source);
        if self.has_own_head(id, mark) || comment.is_some() && mark_line.contains('#') {
            // The value has a comment above it, below its key, or each of the two lines has one: it stays there.
            let start = if pieces.inline.is_empty() { line } else { place.start };
            return self.replace_lines(id, Span { start, end: place.end }, pieces, splices);
        }
        let comment = comment.map_or(String::new(), |text| format!(" {text}"));
        splices.push(Splice::insert(self.behind_mark(id, mark), format!("{inline}{comment}")));
        splices.push(Splice::replace(Span { start: line, end }, pieces.rest.clone()));
    }

    /// Whether properties that stay end where the node begins.
    fn stands_behind_properties(&self, id: NodeId) -> bool {
        let start = self.tree.node(id).span.start;
        self.tree
            .properties(id)
            .is_some_and(|properties| !properties.span.is_empty() && properties.span.end == start)
    }

    /// Whether only spaces stand between two places on one line: a collection may begin behind them, but not behind a tab.
    fn only_spaces(&self, from: u32, to: u32) -> bool {
        from <= to && Span { start: from, end: to }.of(&self.document.source).bytes().all(|byte| byte == b' ')
    }

    /// Whether a comment stands on the line of the dash, or will.
    fn shares_line(&self, id: NodeId, mark: u32) -> bool {
        let place = self.tree.node(id).span;
        let from = if self.extents.same_line(mark, place.start) { place.end } else { mark + 1 };
        let rest = Span { start: from, end: self.extents.end_of_lines(from) }.of(&self.document.source);
        rest.contains('#') || self.text_beside(self.tree.comment(id, CommentPlace::Line)).is_some()
    }

    /// The text of a comment that stands next to its node; of one in pieces, the piece that does.
    fn text_beside(&self, comment: Option<&Comment>) -> Option<String> {
        let comment = comment?;
        match (comment.changed, comment.span.is_empty()) {
            (false, false) => Some(syntax::comment_text(&self.document.source, comment.span)),
            _ => comment_text(&self.document.source, Some(comment)),
        }
    }

    /// A comment that stands inside of what is replaced, on the header of a block scalar, or that is new there; with a
    /// blank before it.
    fn comment_inside(&self, id: NodeId) -> Option<String> {
        let place = self.tree.node(id).span;
        let node = self.tree.node(id);
        let key = node
            .previous
            .get()
            .filter(|_| !node.is(Fact::Key))
            .filter(|key| self.tree.node(*key).is(Fact::Key));
        let of_key = || self.tree.comment(key?, CommentPlace::Line).filter(|comment| comment.span.is_empty());
        let comment = self.tree.comment(id, CommentPlace::Line).or_else(of_key)?;
        let inside =
            place.start <= comment.span.start && comment.span.end <= place.end && !comment.span.is_empty();
        let new = comment.span.is_empty() && place.end > place.start && self.extents.after_break(place.end);
        let text = self.text_beside(Some(comment)).filter(|_| inside || new)?;
        Some(format!(" {text}"))
    }
}
