//! Writing documents: the source, and splices where something was edited.

mod flow;
mod order;

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::document::Document;
use crate::edit::CommentPlace;
use crate::extent::{Extent, Extents};
use crate::layout::{Behind, Habits, Layout, Pieces, push_comment, push_indent};
use crate::syntax;
use crate::syntax::token::Span;
use crate::tree::{Comment, Kind, NOWHERE, NodeId, State, Style, Tree};

/// The text of a comment; `None` where there is none, or where it was removed.
pub(crate) fn comment_text(source: &str, comment: Option<&Comment>) -> Option<String> {
    let comment = comment?;
    match &comment.text {
        Some(text) if text.is_empty() => None,
        Some(text) => Some(text.to_string()),
        None => Some(syntax::comment_text(source, comment.span)),
    }
}

/// Writes an edited document: its source with splices.
pub(crate) fn lossless(document: &Document) -> String {
    let tree = &*document.tree;
    if tree.node(tree.root).state == State::New {
        let pieces = Layout::new(document, Habits { step: 2, dash: 0 }).root(tree.root);
        return join_root(&pieces);
    }
    let mut cuts: HashMap<NodeId, Vec<Entry>> = HashMap::new();
    for cut in &tree.cuts {
        cuts.entry(cut.parent).or_default().push(Entry { first: cut.first, last: cut.last });
    }
    let extents = Extents::new(&document.source, tree);
    let emitter = Emitter { document, tree, extents, cuts, habits: OnceCell::new() };
    let splices = emitter.below(tree.root);
    emitter.apply(tree.span, splices)
}

/// A root that was made, as a text of its own.
fn join_root(pieces: &Pieces) -> String {
    match (pieces.inline.is_empty(), pieces.rest.is_empty()) {
        (true, _) => pieces.rest.clone(),
        (false, _) if pieces.inline.starts_with(['&', '!']) && !pieces.rest.is_empty() => {
            format!("--- {}\n{}", pieces.inline, pieces.rest)
        }
        (false, _) => format!("{}\n{}", pieces.inline, pieces.rest),
    }
}

/// A range of the source, and what stands there instead. Line breaks in the text are `\n`.
#[derive(Debug)]
struct Splice {
    span: Span,
    text: String,
}

/// An entry of a collection: an item twice, or a key and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    first: NodeId,
    last: NodeId,
}

struct Emitter<'a> {
    document: &'a Document,
    tree: &'a Tree,
    extents: Extents<'a>,
    cuts: HashMap<NodeId, Vec<Entry>>,
    habits: OnceCell<Habits>,
}

impl Emitter<'_> {
    // ---- splices

    /// The source of a span with splices in it.
    fn apply(&self, span: Span, mut splices: Vec<Splice>) -> String {
        // Stable: what was found first at a place stays first; insertions come before replacements there.
        splices.sort_by_key(|splice| (splice.span.start, !splice.span.is_empty()));
        let crlf = self.uses_crlf();
        let mut out = String::with_capacity(span.range().len() + 64);
        let mut at = span.start;
        for splice in splices {
            if splice.span.start > at {
                out.push_str(Span { start: at, end: splice.span.start }.of(&self.document.source));
            }
            if crlf && splice.text.contains('\n') {
                out.push_str(&splice.text.replace("\r\n", "\n").replace('\n', "\r\n"));
            } else {
                out.push_str(&splice.text);
            }
            at = at.max(splice.span.end);
        }
        if at < span.end {
            out.push_str(Span { start: at, end: span.end }.of(&self.document.source));
        }
        out
    }

    fn uses_crlf(&self) -> bool {
        let bytes = self.document.source.as_bytes();
        memchr::memchr(b'\n', bytes).is_some_and(|at| at > 0 && bytes[at - 1] == b'\r')
    }

    fn insert(at: u32, text: String) -> Splice {
        Splice { span: Span { start: at, end: at }, text }
    }

    /// Whole lines at `at`, which is the beginning of a line or the end of a text without a final line break.
    fn insert_lines(&self, at: u32, lines: String) -> Splice {
        let after_break = at <= self.extents.line_start(at);
        if after_break || lines.is_empty() {
            return Self::insert(at, lines);
        }
        Self::insert(at, format!("\n{}", lines.trim_end_matches('\n')))
    }

    // ---- the walk

    /// The splices for a node and all below it. The walk goes only where something was edited.
    fn below(&self, root: NodeId) -> Vec<Splice> {
        let mut splices = Vec::new();
        let mut work = vec![root];
        while let Some(id) = work.pop() {
            let node = self.tree.node(id);
            match node.state {
                State::Clean | State::New => continue,
                State::Edited => self.edited(id, &mut splices),
                State::Below => {}
            }
            self.comments(id, &mut splices);
            if node.state == State::Edited || !matches!(node.kind, Kind::Mapping | Kind::Sequence) {
                continue;
            }
            if node.reshaped && node.style == Style::Flow {
                splices.push(self.flow_collection(id));
                continue;
            }
            if node.reshaped {
                if !self.in_source_order(id) {
                    splices.push(self.reordered(id));
                    continue;
                }
                self.block_collection(id, &mut splices);
            }
            let first = work.len();
            work.extend(self.tree.children(id));
            work[first..].reverse();
        }
        splices
    }

    fn layout(&self, id: NodeId) -> Layout<'_> {
        let document = || *self.habits.get_or_init(|| Habits::of_document(self.tree));
        Layout::new(self.document, Habits::around(self.tree, id, document))
    }

    /// The entries of a collection.
    fn entries(&self, id: NodeId) -> Vec<Entry> {
        let children: Vec<NodeId> = self.tree.children(id).collect();
        match self.tree.node(id).kind {
            Kind::Mapping => {
                children.chunks_exact(2).map(|pair| Entry { first: pair[0], last: pair[1] }).collect()
            }
            _ => children.iter().map(|item| Entry { first: *item, last: *item }).collect(),
        }
    }

    fn is_new(&self, entry: Entry) -> bool {
        self.tree.node(entry.first).state == State::New
    }

    fn extent(&self, entry: Entry) -> Extent {
        self.extents.entry(entry.first, entry.last)
    }

    // ---- block collections

    /// Cuts for the entries that are gone, lines for those that are new.
    fn block_collection(&self, id: NodeId, splices: &mut Vec<Splice>) {
        let kept: Vec<Entry> = self.entries(id);
        let removed = self.cuts.get(&id).map_or(&[][..], Vec::as_slice);
        let mut originals: Vec<(Entry, bool)> =
            kept.iter().filter(|entry| !self.is_new(**entry)).map(|entry| (*entry, true)).collect();
        originals.extend(removed.iter().map(|entry| (*entry, false)));
        originals.sort_by_key(|(entry, _)| self.extents.content_start(entry.first));
        let Some((first, _)) = originals.first().copied() else { return };
        let first_inline = self.extent(first).inline;
        self.cut_runs(&originals, first_inline, splices);
        let mut after: Option<Entry> = None;
        let next = kept.iter().find(|entry| !self.is_new(**entry)).map(|entry| self.extent(*entry));
        for entry in &kept {
            if !self.is_new(*entry) {
                after = Some(*entry);
                continue;
            }
            let lines = self.entry_lines(id, *entry);
            splices.push(match (after, next) {
                (Some(before), _) => self.insert_lines(self.extent(before).end, lines),
                (None, Some(next)) if first_inline => {
                    let column = self.tree.node(id).column as usize;
                    Self::insert(
                        next.lead,
                        format!("{}{}", lines.trim_start_matches(' '), " ".repeat(column)),
                    )
                }
                (None, Some(next)) => self.insert_lines(next.start, lines),
                (None, None) => continue,
            });
        }
    }

    /// One cut for each run of removed entries.
    fn cut_runs(&self, originals: &[(Entry, bool)], first_inline: bool, splices: &mut Vec<Splice>) {
        let mut at = 0;
        while at < originals.len() {
            if originals[at].1 {
                at += 1;
                continue;
            }
            let run = originals[at..].iter().take_while(|(_, kept)| !kept).count();
            let first = self.extent(originals[at].0);
            let last = self.extent(originals[at + run - 1].0);
            let next = originals.get(at + run).map(|(entry, _)| self.extent(*entry));
            let span = match next {
                Some(next) if at == 0 && first_inline => Span { start: first.lead, end: next.lead },
                _ => self.extents.removed_lines(first.start, last.end),
            };
            splices.push(Splice { span, text: String::new() });
            at += run;
        }
    }

    /// The lines of a new entry of a block collection that stands in the source.
    fn entry_lines(&self, id: NodeId, entry: Entry) -> String {
        let column = self.tree.node(id).column as usize;
        let layout = self.layout(id);
        match self.tree.node(id).kind {
            Kind::Mapping => layout.pair(entry.first, entry.last, column),
            _ => layout.item(entry.first, column),
        }
    }

    // ---- edited nodes

    fn edited(&self, id: NodeId, splices: &mut Vec<Splice>) {
        let node = self.tree.node(id);
        let place = node.span;
        let parent = node.parent.get();
        let is_key = node.key;
        let in_flow = parent.is_some_and(|parent| self.tree.node(parent).style == Style::Flow);
        let layout = self.layout(parent.unwrap_or(id));
        if is_key || in_flow {
            let text = if in_flow { layout.flow(id, is_key) } else { layout.key(id) };
            let text = match (place.is_empty(), is_key, node.mark) {
                (true, false, NOWHERE) if self.is_value(id) => format!(": {text}"),
                (true, false, mark) if mark != NOWHERE => format!(" {text}"),
                _ => text,
            };
            splices.push(Splice { span: place, text });
            return;
        }
        let mark = match (node.mark, parent) {
            (NOWHERE, None) if self.tree.start_mark != NOWHERE => Some(self.tree.start_mark + 2),
            (NOWHERE, _) => None,
            (mark, _) => Some(mark),
        };
        match (mark, parent) {
            (None, Some(parent)) => self.value_without_colon(id, parent, &layout, splices),
            (None, None) => self.edited_root(place, &layout.root(id), splices),
            (Some(mark), None) => self.edited_behind(id, mark, &layout.root(id), splices),
            (Some(mark), Some(parent)) => {
                let column = self.tree.node(parent).column as usize;
                let behind =
                    if self.tree.node(parent).kind == Kind::Sequence { Behind::Dash } else { Behind::Key };
                let pieces = layout.value(id, column, behind);
                self.edited_behind(id, mark, &pieces, splices);
            }
        }
    }

    fn is_value(&self, id: NodeId) -> bool {
        let parent = self.tree.node(id).parent.get();
        parent.is_some_and(|parent| self.tree.node(parent).kind == Kind::Mapping) && !self.tree.node(id).key
    }

    /// The value of an explicit key that had no colon.
    fn value_without_colon(
        &self,
        id: NodeId,
        parent: NodeId,
        layout: &Layout<'_>,
        splices: &mut Vec<Splice>,
    ) {
        let column = self.tree.node(parent).column as usize;
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
        splices.push(self.insert_lines(at, lines));
    }

    /// A root in a document without `---`.
    fn edited_root(&self, place: Span, pieces: &Pieces, splices: &mut Vec<Splice>) {
        let mut text = join_root(pieces);
        let ends_line = place.end > place.start && self.extents.after_break(place.end);
        let at_end = place.end as usize == self.document.source.len();
        let adds_last_line = at_end && place.is_empty();
        if !ends_line && !adds_last_line {
            text.truncate(text.trim_end_matches('\n').len());
        }
        if place.is_empty() && !self.extents.begins_line(place.start) {
            text.insert(0, '\n');
        }
        let start = if self.extents.begins_line(place.start) {
            self.extents.line_start(place.start)
        } else {
            place.start
        };
        splices.push(Splice { span: Span { start, end: place.end }, text });
    }

    /// A value behind its colon or dash (or a root behind `---`).
    fn edited_behind(&self, id: NodeId, mark: u32, pieces: &Pieces, splices: &mut Vec<Splice>) {
        let place = self.tree.node(id).span;
        let kept = self.tree.properties(id).filter(|properties| !properties.span.is_empty());
        let after_mark = kept.map_or(mark + 1, |properties| properties.span.end).max(mark + 1);
        let inline = if pieces.inline.is_empty() { String::new() } else { format!(" {}", pieces.inline) };
        if !self.extents.same_line(mark, place.start) {
            // The old value stood on lines of its own.
            let lines =
                Span { start: self.extents.line_end(after_mark), end: self.extents.end_of_lines(place.end) };
            splices.push(Self::insert(after_mark, inline));
            let unfinished = lines.end as usize == self.document.source.len()
                && self.extents.line_start(lines.end) < lines.end;
            let mut rest = pieces.rest.clone();
            if unfinished {
                rest.truncate(rest.trim_end_matches('\n').len());
            }
            if unfinished && rest.is_empty() {
                let end_of_text =
                    self.document.source[..lines.start as usize].trim_end_matches(['\n', '\r']).len();
                splices.push(Splice { span: Span::new(end_of_text, lines.end as usize), text: rest });
            } else {
                splices.push(Splice { span: lines, text: rest });
            }
            return;
        }
        let ends_line = place.end > place.start && self.extents.after_break(place.end);
        if ends_line {
            // The old value was a block scalar: its header may have a comment, its last line break is its own.
            let comment =
                self.tree.comment(id, CommentPlace::Line).filter(|comment| comment.span.start < place.end);
            let comment = comment.and_then(|comment| comment_text(&self.document.source, Some(comment)));
            let comment = comment.map_or(String::new(), |text| format!(" {text}"));
            let text = format!("{inline}{comment}\n{}", pieces.rest);
            splices.push(Splice { span: Span { start: after_mark, end: place.end }, text });
            return;
        }
        let from_mark = place.is_empty() || pieces.inline.is_empty();
        let start = if from_mark { after_mark.min(place.start) } else { place.start };
        let text = if from_mark { inline } else { pieces.inline.clone() };
        splices.push(Splice { span: Span { start, end: place.end }, text });
        if !pieces.rest.is_empty() {
            splices.push(self.insert_lines(self.extents.line_end(place.end), pieces.rest.clone()));
        }
    }

    // ---- comments

    /// Splices for the comments of a node in the source that were set.
    fn comments(&self, id: NodeId, splices: &mut Vec<Splice>) {
        let Some(comments) = self.tree.comments(id) else { return };
        let changed = |comment: &Option<Comment>| comment.as_ref().filter(|comment| comment.changed).cloned();
        if let Some(comment) = changed(&comments.head) {
            splices.extend(self.head_comment(id, &comment));
        }
        if let Some(comment) = changed(&comments.line) {
            splices.extend(self.line_comment(id, &comment));
        }
        if let Some(comment) = changed(&comments.foot) {
            splices.extend(self.foot_comment(id, &comment));
        }
    }

    /// A comment that stands in the source already: other text in its place, or its lines cut.
    fn comment_in_place(&self, comment: &Comment) -> Splice {
        let text = comment.text.as_deref().unwrap_or("");
        let span = comment.span;
        let own_line = self.extents.begins_line(span.start);
        if text.is_empty() {
            let start = if own_line {
                self.extents.line_start(span.start)
            } else {
                self.end_of_text_before(span.start)
            };
            let end = if own_line { self.extents.end_of_lines(span.end) } else { span.end };
            return Splice { span: Span { start, end }, text: String::new() };
        }
        let mut lines = String::new();
        push_comment(&mut lines, text, self.extents.column(span.start) as usize);
        let ends_line = self.extents.after_break(span.end);
        let lines = lines.trim_start_matches(' ');
        let lines = if ends_line { lines } else { lines.trim_end_matches('\n') };
        Splice { span, text: lines.into() }
    }

    fn end_of_text_before(&self, at: u32) -> u32 {
        let before = &self.document.source[..at as usize];
        Span::new(before.trim_end_matches([' ', '\t']).len(), 0).start
    }

    fn entry_of(&self, id: NodeId) -> Option<(NodeId, Entry)> {
        let parent = self.tree.node(id).parent.get()?;
        let entry = self.entries(parent).into_iter().find(|entry| entry.first == id || entry.last == id)?;
        Some((parent, entry))
    }

    fn head_comment(&self, id: NodeId, comment: &Comment) -> Option<Splice> {
        if !comment.span.is_empty() {
            return Some(self.comment_in_place(comment));
        }
        let text = comment.text.as_deref().filter(|text| !text.is_empty())?;
        let mut lines = String::new();
        let Some((parent, entry)) = self.entry_of(id) else {
            push_comment(&mut lines, text, 0);
            let at = self.tree.start(id);
            let at = if self.extents.begins_line(at) { self.extents.line_start(at) } else { at };
            return Some(self.insert_lines(at, lines));
        };
        if self.tree.node(parent).style == Style::Flow {
            return None;
        }
        let column = self.tree.node(parent).column as usize;
        push_comment(&mut lines, text, column);
        let extent = self.extent(entry);
        if extent.inline {
            let text = format!("{}{}", lines.trim_start_matches(' '), " ".repeat(column));
            return Some(Self::insert(extent.lead, text));
        }
        let start = self.extents.line_start(self.extents.content_start(entry.first));
        Some(self.insert_lines(start, lines))
    }

    fn line_comment(&self, id: NodeId, comment: &Comment) -> Option<Splice> {
        if !comment.span.is_empty() {
            return Some(self.comment_in_place(comment));
        }
        let text = comment.text.as_deref().filter(|text| !text.is_empty())?;
        let node = self.tree.node(id);
        let in_flow = node.parent.get().is_some_and(|parent| self.tree.node(parent).style == Style::Flow);
        if in_flow {
            return None;
        }
        // Behind the key for block collections, behind the header for block scalars, else behind the value.
        let at = match (node.kind, node.style) {
            (Kind::Mapping | Kind::Sequence, Style::Block) => node.mark.wrapping_add(1),
            (_, Style::Literal | Style::Folded) if node.state < State::Edited => {
                let header = Span { start: node.span.start, end: self.extents.line_end(node.span.start) };
                node.span.start + Span::new(header.of(&self.document.source).trim_end().len(), 0).start
            }
            _ => node.span.end,
        };
        let at = if node.key { self.after_colon(id)? } else { at };
        Some(Self::insert(at, format!(" {text}")))
    }

    fn after_colon(&self, key: NodeId) -> Option<u32> {
        let value = self.tree.node(key).next.get()?;
        let mark = self.tree.node(value).mark;
        (mark != NOWHERE).then_some(mark + 1)
    }

    fn foot_comment(&self, id: NodeId, comment: &Comment) -> Option<Splice> {
        if !comment.span.is_empty() {
            return Some(self.comment_in_place(comment));
        }
        let text = comment.text.as_deref().filter(|text| !text.is_empty())?;
        let (parent, entry) = self.entry_of(id)?;
        if self.tree.node(parent).style == Style::Flow {
            return None;
        }
        let mut lines = String::new();
        push_comment(&mut lines, text, self.tree.node(parent).column as usize);
        let end = self.extent(entry).end;
        // A blank line tells that it is not the head of what follows.
        if (end as usize) < self.document.source.len() && !self.extents.is_blank_line(end) {
            lines.push('\n');
        }
        Some(self.insert_lines(end, lines))
    }
}
