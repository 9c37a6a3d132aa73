//! Block collections whose entries changed places.

use std::borrow::Cow;
use std::collections::HashMap;

use super::{Emitter, Entry, Splice};
use crate::edit::CommentPlace;
use crate::extent::Extent;
use crate::layout::{BlockScalars, Layout};
use crate::syntax::token::Span;
use crate::tree::NodeId;

impl Emitter<'_> {
    /// Whether the entries that stand in the source still follow each other as they did.
    pub(super) fn in_source_order(&self, id: NodeId) -> bool {
        let starts = self.entries(id).into_iter().filter(|entry| !self.is_new(*entry));
        starts.map(|entry| self.extents.content_start(entry.first)).is_sorted()
    }

    /// All entries of a block collection in their new order, each with its comments and the blank lines above it.
    pub(super) fn reordered(&self, id: NodeId, splices: &mut Vec<Splice>) {
        let column = self.tree.node(id).column;
        let entries = self.entries(id);
        let originals: Vec<Entry> = self.originals(id).into_iter().map(|original| original.entry).collect();
        let extents: Vec<(Entry, Extent)> =
            originals.iter().map(|entry| (*entry, self.extent(*entry))).collect();
        let (Some((_, first)), Some((_, last))) = (extents.first(), extents.last()) else {
            return;
        };
        let first_inline = first.inline;
        let whole = Span { start: if first_inline { first.lead } else { first.start }, end: last.end };
        let places: HashMap<NodeId, usize> =
            originals.iter().enumerate().map(|(at, entry)| (entry.first, at)).collect();
        let mut out = String::new();
        let mut before: Option<Entry> = None;
        for entry in &entries {
            let lines = match places.get(&entry.first).copied() {
                Some(at) => {
                    let before_it = at.checked_sub(1).map(|before| extents[before].1.end);
                    let above = before_it.map(|end| Span { start: end, end: extents[at].1.start.max(end) });
                    let above = above.map_or(Cow::Borrowed(""), |above| self.kept(above));
                    let above = if out.is_empty() { above.trim_start_matches(['\n', '\r']) } else { &above };
                    let lines = above.to_owned() + &self.entry_text(*entry, extents[at].1, column as usize);
                    match before {
                        Some(before) if self.ends_in_block_scalar(before) => {
                            comments_at(&lines, column as usize)
                        }
                        Some(_) | None => lines,
                    }
                }
                None => self.broken(&self.entry_lines(id, *entry, &self.quoting_layout(id))).into_owned(),
            };
            let stood = before.and_then(|before| Some((before, extents[*places.get(&before.first)?].1.end)));
            let open = stood.is_some_and(|(before, end)| self.is_left_open(before, end, column));
            if open && !lines.trim_start_matches([' ', '\t']).starts_with(['\n', '\r']) {
                out.push_str(self.line_break());
            }
            out.push_str(&lines);
            if !out.ends_with('\n') {
                out.push_str(self.line_break());
            }
            before = Some(*entry);
        }
        if first_inline {
            let indent = out.len() - out.trim_start_matches(' ').len();
            out.drain(..indent);
        }
        let ends_in_block = before.is_some_and(|last| self.ends_in_block_scalar(last));
        if ends_in_block {
            self.move_comments_left(whole.end, column as usize, splices);
        }
        splices.push(Splice::replace(whole, out).with_kept_breaks());
    }

    /// The text of an entry in the source, from its lead on, with what was edited in it.
    fn entry_text(&self, entry: Entry, extent: Extent, column: usize) -> String {
        let mut splices = self.below(entry.first);
        if entry.last != entry.first {
            splices.extend(self.below(entry.last));
        }
        let start = if extent.inline { extent.lead } else { extent.start };
        let span = Span { start, end: extent.end };
        let mut text = self.apply(span, splices);
        if extent.inline {
            text.insert_str(0, &" ".repeat(column));
        }
        if let Some(head) = self.lines_from_outside(entry, span, column) {
            text.insert_str(0, &self.broken(&head));
        }
        if let Some(head) = self.added_lines(entry, CommentPlace::Head, column) {
            text.insert_str(0, &self.broken(&head));
        }
        if let Some(foot) = self.added_lines(entry, CommentPlace::Foot, column) {
            let lines = self.broken(&format!("\n{foot}\n")).into_owned();
            text = text.trim_end_matches(['\n', '\r']).to_owned() + &lines;
        }
        text
    }

    /// A layout for entries among others that move: without block scalars, which would take up what comes behind them.
    fn quoting_layout(&self, id: NodeId) -> Layout<'_> {
        let mut layout = self.layout(id);
        layout.block_scalars = BlockScalars::Quoted;
        layout
    }
}

/// Lines whose comments before the first text are moved to a column, and whose blank lines there are empty.
fn comments_at(lines: &str, column: usize) -> String {
    let mut out = String::with_capacity(lines.len());
    let mut before_text = true;
    for line in lines.split_inclusive('\n') {
        let text = line.trim_start_matches([' ', '\t']);
        before_text &= text.starts_with(['#', '\n', '\r']);
        if before_text && text.starts_with('#') {
            out.extend(std::iter::repeat_n(' ', column));
        }
        out.push_str(if before_text { text } else { line });
    }
    out
}
