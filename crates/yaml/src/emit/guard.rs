//! Block scalars take up what stands behind them: blank lines, comments that are indented deeper, the end of the text.
//! These are the places where an edit must look at its neighbours.

use super::{Emitter, Entry, Splice};
use crate::layout::{BlockScalars, Layout};
use crate::syntax::token::Span;
use crate::tree::{Kind, NodeId, State, Style};

impl Emitter<'_> {
    /// A layout for text that will be followed by the source from `at` on: without block scalars where a comment there
    /// would be read as text of the last one, or where what will stand there is not known.
    pub(super) fn safe_layout(&self, id: NodeId, at: u32) -> Layout<'_> {
        let mut layout = self.layout(id);
        if self.indented_lines(at).next().is_some() || self.moves(id) {
            layout.block_scalars = BlockScalars::Quoted;
        }
        layout
    }

    /// Whether a node is in a collection whose entries change places, so that what will follow it is not known.
    fn moves(&self, id: NodeId) -> bool {
        let moving = self.moving.borrow();
        !moving.is_empty()
            && std::iter::successors(Some(id), |id| self.tree.node(*id).parent.get())
                .any(|id| moving.contains(&id))
    }

    /// The lines from `at` on, up to the next text, that hold a comment or nothing and are indented: where each begins, and
    /// where its blanks end.
    pub(super) fn indented_lines(&self, at: u32) -> impl Iterator<Item = (u32, u32)> {
        let mut line = at;
        std::iter::from_fn(move || {
            loop {
                let text = Span { start: line, end: self.tree.span.end.max(line) }.of(&self.document.source);
                let blanks = text.len() - text.trim_start_matches([' ', '\t']).len();
                let start = line;
                let content = start + Span::new(blanks, 0).start;
                let byte = self.document.source.as_bytes().get(content as usize).copied();
                let at_end = content >= self.tree.span.end;
                if !at_end && !matches!(byte, Some(b'#' | b'\n' | b'\r')) || at_end && blanks == 0 {
                    return None;
                }
                line = self.extents.line_end(content);
                if blanks > 0 {
                    return Some((start, content));
                }
            }
        })
    }

    /// The scalar that a node ends with.
    fn tail(&self, id: NodeId) -> NodeId {
        let mut at = id;
        while let (Style::Block, Kind::Mapping | Kind::Sequence, Some(last)) =
            (self.tree.node(at).style, self.tree.node(at).kind, self.tree.node(at).last.get())
        {
            at = last;
        }
        at
    }

    /// The last scalar of the document that stands in the source. It may be a key, if the value behind it is left out.
    fn last_in_source(&self) -> NodeId {
        let stands =
            |id: &NodeId| self.tree.node(*id).state != State::New && !self.tree.node(*id).span.is_empty();
        let mut at = self.tree.root;
        while self.tree.node(at).style == Style::Block {
            let last = self.tree.children(at).filter(stands).max_by_key(|id| self.tree.node(*id).span.end);
            let Some(last) = last else { break };
            at = last;
        }
        at
    }

    /// Whether an entry ends with a block scalar as it stands in the source.
    pub(super) fn ends_in_block_scalar(&self, entry: Entry) -> bool {
        let node = self.tree.node(self.tail(entry.last));
        node.state < State::Edited && matches!(node.style, Style::Literal | Style::Folded)
    }

    /// Whether that block scalar keeps all line breaks behind it.
    pub(super) fn ends_in_keeping_scalar(&self, entry: Entry) -> bool {
        let node = self.tree.node(self.tail(entry.last));
        let header = node.span.of(&self.document.source);
        let header = header.split(['\n', '\r', '#']).next().unwrap_or("");
        self.ends_in_block_scalar(entry) && header.contains('+')
    }

    /// Takes the last line break away again where the source had none, unless a value counts on it.
    pub(super) fn strip_last_break(&self, text: &mut String) {
        let source = &self.document.source;
        let unfinished = self.tree.span.end as usize == source.len()
            && !source.ends_with(['\n', '\r'])
            && !source.is_empty();
        if !unfinished || self.layout(self.tree.root).counts_on_last_break(self.tree.root) {
            return;
        }
        let kept = text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).map(str::len);
        text.truncate(kept.unwrap_or(text.len()));
    }

    /// Inserts whole lines at `at`, which is the beginning of a line or the end of a text without a final line break.
    pub(super) fn insert_lines(&self, at: u32, lines: String, splices: &mut Vec<Splice>) {
        if at > self.extents.line_start(at) && !lines.is_empty() {
            self.finish_last_scalar(splices);
        }
        splices.push(Splice::lines(at, lines));
    }

    /// Before something is put behind a text that ends in a block scalar without a line break: the scalar must say that
    /// it has none.
    fn finish_last_scalar(&self, splices: &mut Vec<Splice>) {
        if self.finished_last.replace(true) {
            return;
        }
        let node = self.tree.node(self.last_in_source());
        let in_source = node.state < State::Edited && node.span.end as usize == self.document.source.len();
        if !in_source || !matches!(node.style, Style::Literal | Style::Folded) {
            return;
        }
        let header = node.span.of(&self.document.source);
        let header = header.split(['\n', '\r', '#']).next().unwrap_or("");
        let behind_indicator = node.span.start + 1;
        if let Some(plus) = header.find('+') {
            let at = node.span.start + Span::new(plus, 0).start;
            splices.push(Splice::replace(Span { start: at, end: at + 1 }, "-"));
        } else if !header.contains('-') {
            splices.push(Splice::insert(behind_indicator, "-"));
        }
    }

    /// What a cut behind an entry that ends in a block scalar must respect: blank lines that would become its text go,
    /// comments that would become its text move to the column of the collection, and its last line break stays.
    pub(super) fn cut_behind(
        &self,
        before: Entry,
        cut: Span,
        start: u32,
        column: usize,
        splices: &mut Vec<Splice>,
    ) -> Span {
        if !self.ends_in_block_scalar(before) {
            return cut;
        }
        let mut cut = Span { start: cut.start.max(start), end: cut.end };
        while self.ends_in_keeping_scalar(before)
            && cut.end < self.tree.span.end
            && self.extents.is_blank_line(cut.end)
        {
            cut.end = self.extents.line_end(cut.end);
        }
        self.move_comments_left(cut.end, column, splices);
        cut
    }

    /// Moves the indented comments from `at` on to a column, where they are deeper than that; blank lines lose blanks.
    pub(super) fn move_comments_left(&self, at: u32, column: usize, splices: &mut Vec<Splice>) {
        for (start, content) in self.indented_lines(at) {
            let keep = start + Span::new(column, 0).start;
            if content > keep {
                splices.push(Splice::replace(Span { start: keep, end: content }, ""));
            }
        }
    }
}
