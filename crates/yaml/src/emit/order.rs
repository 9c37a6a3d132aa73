//! Block collections whose entries changed places.

use std::collections::HashMap;

use super::{Emitter, Entry, Splice};
use crate::edit::CommentPlace;
use crate::extent::Extent;
use crate::syntax::token::Span;
use crate::tree::NodeId;

impl Emitter<'_> {
    /// Whether the entries that stand in the source still follow each other as they did.
    pub(super) fn in_source_order(&self, id: NodeId) -> bool {
        let starts = self.entries(id).into_iter().filter(|entry| !self.is_new(*entry));
        starts.map(|entry| self.extents.content_start(entry.first)).is_sorted()
    }

    /// All entries of a block collection in their new order, each with its comments and the blank lines above it.
    pub(super) fn reordered(&self, id: NodeId) -> Splice {
        let source = &self.document.source;
        let column = self.tree.node(id).column as usize;
        let entries = self.entries(id);
        let originals: Vec<Entry> = self.originals(id).into_iter().map(|(entry, _)| entry).collect();
        let extents: Vec<(Entry, Extent)> =
            originals.iter().map(|entry| (*entry, self.extent(*entry))).collect();
        let (Some((_, first)), Some((_, last))) = (extents.first(), extents.last()) else {
            return Splice::insert(self.tree.node(id).span.start, String::new());
        };
        let whole = Span { start: first.lead, end: last.end };
        let final_break = whole.of(source).ends_with(['\n', '\r']);
        let places: HashMap<NodeId, usize> =
            originals.iter().enumerate().map(|(at, entry)| (entry.first, at)).collect();
        let mut out = String::new();
        for entry in &entries {
            let (blank, body) = match places.get(&entry.first).copied() {
                Some(at) => {
                    let above = if at == 0 {
                        ""
                    } else {
                        Span { start: extents[at - 1].1.end, end: extents[at].1.start }.of(source)
                    };
                    (above, self.entry_text(*entry, extents[at].1, column))
                }
                None => ("", self.entry_lines(id, *entry).trim_start_matches(' ').to_owned()),
            };
            if !out.is_empty() {
                out.push_str(blank);
                out.extend(std::iter::repeat_n(' ', column));
            }
            out.push_str(&body);
            if !out.ends_with('\n') {
                out.push('\n');
            }
        }
        if !final_break {
            out.truncate(out.trim_end_matches('\n').len());
        }
        Splice::replace(whole, out)
    }

    /// The text of an entry in the source, from its lead on, with what was edited in it.
    fn entry_text(&self, entry: Entry, extent: Extent, column: usize) -> String {
        let mut splices = self.below(entry.first);
        if entry.last != entry.first {
            splices.extend(self.below(entry.last));
        }
        let mut text = self.apply(Span { start: extent.lead, end: extent.end }, splices);
        if let Some(head) = self.added_lines(entry, CommentPlace::Head, column) {
            text = format!("{}{}{text}", head.trim_start_matches(' '), " ".repeat(column));
        }
        if let Some(foot) = self.added_lines(entry, CommentPlace::Foot, column) {
            text = format!("{}\n{foot}\n", text.trim_end_matches('\n'));
        }
        text
    }
}
