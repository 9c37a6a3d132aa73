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
    /// It belongs to what stands behind it: other insertions at the same place come first.
    leads: bool,
}

impl Splice {
    fn replace(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into(), leads: false }
    }

    fn insert(at: u32, text: impl Into<String>) -> Self {
        Self::replace(Span { start: at, end: at }, text)
    }

    fn leading(self) -> Self {
        Self { leads: true, ..self }
    }
}

/// A step of the walk through what was edited.
#[derive(Clone, Copy)]
enum Step {
    Enter(NodeId),
    /// All below a block collection was seen; what is new at the ends of its entries comes behind that.
    Leave(NodeId),
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
        // Stable: what was found first at a place stays first; insertions come before replacements there, and what
        // belongs to the following text comes last of them.
        splices.sort_by_key(|splice| (splice.span.start, !splice.span.is_empty(), splice.leads));
        let crlf = self.uses_crlf();
        let mut out = String::with_capacity(span.range().len() + 64);
        let mut at = span.start;
        for splice in splices {
            if splice.span.start < at {
                // It is about something that was replaced as a whole.
                continue;
            }
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

    /// Whole lines at `at`, which is the beginning of a line or the end of a text without a final line break.
    fn insert_lines(&self, at: u32, lines: String) -> Splice {
        let after_break = at <= self.extents.line_start(at);
        if after_break || lines.is_empty() {
            return Splice::insert(at, lines);
        }
        Splice::insert(at, format!("\n{}", lines.trim_end_matches('\n')))
    }

    // ---- the walk

    /// The splices for a node and all below it. The walk goes only where something was edited.
    fn below(&self, root: NodeId) -> Vec<Splice> {
        let mut splices = Vec::new();
        let mut work = vec![Step::Enter(root)];
        while let Some(step) = work.pop() {
            match step {
                Step::Enter(id) => self.enter(id, &mut work, &mut splices),
                Step::Leave(id) => self.leave(id, &mut splices),
            }
        }
        splices
    }

    fn enter(&self, id: NodeId, work: &mut Vec<Step>, splices: &mut Vec<Splice>) {
        let node = self.tree.node(id);
        match node.state {
            State::Clean | State::New => return,
            State::Edited => self.edited(id, splices),
            State::Below => {}
        }
        self.comments_in_place(id, splices);
        if node.parent.get().is_none() {
            self.root_comments(id, splices);
        }
        if node.state == State::Edited || !matches!(node.kind, Kind::Mapping | Kind::Sequence) {
            return;
        }
        if node.style == Style::Flow && node.reshaped {
            splices.push(self.flow_collection(id));
            return;
        }
        if node.reshaped && !self.in_source_order(id) {
            splices.push(self.reordered(id));
            return;
        }
        if node.style == Style::Block {
            work.push(Step::Leave(id));
        }
        let first = work.len();
        work.extend(self.tree.children(id).map(Step::Enter));
        work[first..].reverse();
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

    /// Cuts for the entries that are gone, lines for those that are new, and comments around those that stay.
    fn leave(&self, id: NodeId, splices: &mut Vec<Splice>) {
        let entries: Vec<Entry> = self.entries(id);
        let removed = self.cuts.get(&id).map_or(&[][..], Vec::as_slice);
        let first_kept = entries.iter().find(|entry| !self.is_new(**entry)).copied();
        let Some(first) =
            first_kept.iter().chain(removed).min_by_key(|entry| self.extents.content_start(entry.first))
        else {
            return;
        };
        let first_inline = self.extent(*first).inline;
        if !removed.is_empty() {
            self.cut_runs(&self.originals(id), first_inline, splices);
        }
        let mut after: Option<Entry> = None;
        for entry in &entries {
            if !self.is_new(*entry) {
                after = Some(*entry);
                self.entry_comments(id, *entry, splices);
                continue;
            }
            let lines = self.entry_lines(id, *entry);
            splices.push(match (after, first_kept.map(|entry| self.extent(entry))) {
                (Some(before), _) => self.insert_lines(self.extent(before).end, lines),
                (None, Some(next)) if first_inline => {
                    let column = self.tree.node(id).column as usize;
                    Splice::insert(
                        next.lead,
                        format!("{}{}", lines.trim_start_matches(' '), " ".repeat(column)),
                    )
                }
                (None, Some(next)) => self.insert_lines(next.start, lines),
                (None, None) => continue,
            });
        }
    }

    /// The entries that stand in the source, in its order, each with whether it is still there.
    fn originals(&self, id: NodeId) -> Vec<(Entry, bool)> {
        let kept =
            self.entries(id).into_iter().filter(|entry| !self.is_new(*entry)).map(|entry| (entry, true));
        let removed = self.cuts.get(&id).into_iter().flatten().map(|entry| (*entry, false));
        let mut originals: Vec<(Entry, bool)> = kept.chain(removed).collect();
        originals.sort_by_key(|(entry, _)| self.extents.content_start(entry.first));
        originals
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
            splices.push(Splice::replace(span, String::new()));
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
            splices.push(Splice::replace(place, text));
            return;
        }
        let mark = match (node.mark, parent) {
            (NOWHERE, None) if self.tree.start_mark != NOWHERE => Some(self.tree.start_mark + 2),
            (NOWHERE, _) => None,
            (mark, _) => Some(mark),
        };
        match (mark, parent) {
            (None, Some(parent)) => self.value_without_colon(id, parent, &layout, splices),
            (Some(mark), None) if place.is_empty() || self.extents.same_line(mark, place.start) => {
                self.edited_behind(id, mark, &layout.root(id), splices);
            }
            (_, None) => self.edited_root(place, &layout.root(id), splices),
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
        splices.push(Splice::replace(Span { start, end: place.end }, text));
    }

    /// A value behind its colon or dash (or a root behind `---`).
    fn edited_behind(&self, id: NodeId, mark: u32, pieces: &Pieces, splices: &mut Vec<Splice>) {
        let place = self.tree.node(id).span;
        let after_mark = self.behind_mark(id, mark);
        let inline = if pieces.inline.is_empty() { String::new() } else { format!(" {}", pieces.inline) };
        if !self.extents.same_line(mark, place.start) && self.has_own_head(id, mark) {
            // The value has a comment above it, below its key: it stays there.
            let whole_lines = pieces.inline.is_empty();
            let start = if whole_lines { self.extents.line_start(place.start) } else { place.start };
            let ends_line = self.extents.after_break(place.end);
            let text = format!("{}\n{}", pieces.inline, pieces.rest);
            let text = if whole_lines { pieces.rest.as_str() } else { text.as_str() };
            let text = if ends_line { text } else { text.trim_end_matches('\n') };
            splices.push(Splice::replace(Span { start, end: place.end }, text));
            return;
        }
        if !self.extents.same_line(mark, place.start) {
            // The old value stood on lines of its own.
            let lines =
                Span { start: self.extents.line_end(after_mark), end: self.extents.end_of_lines(place.end) };
            splices.push(Splice::insert(after_mark, inline));
            let unfinished = lines.end as usize == self.document.source.len()
                && self.extents.line_start(lines.end) < lines.end;
            let mut rest = pieces.rest.clone();
            if unfinished {
                rest.truncate(rest.trim_end_matches('\n').len());
            }
            if unfinished && rest.is_empty() {
                let end_of_text =
                    self.document.source[..lines.start as usize].trim_end_matches(['\n', '\r']).len();
                splices.push(Splice::replace(Span::new(end_of_text, lines.end as usize), rest));
            } else {
                splices.push(Splice::replace(lines, rest));
            }
            return;
        }
        let ends_line = place.end > place.start && self.extents.after_break(place.end);
        if ends_line {
            // The old value was a block scalar: its header may have a comment, its last line break is its own.
            let comment = comment_text(&self.document.source, self.tree.comment(id, CommentPlace::Line));
            let comment = comment.map_or(String::new(), |text| format!(" {text}"));
            let text = format!("{inline}{comment}\n{}", pieces.rest);
            splices.push(Splice::replace(Span { start: after_mark, end: place.end }, text));
            return;
        }
        let from_mark = place.is_empty() || pieces.inline.is_empty();
        let start = if from_mark { after_mark.min(place.start) } else { place.start };
        let text = if from_mark { inline } else { pieces.inline.clone() };
        splices.push(Splice::replace(Span { start, end: place.end }, text));
        if !pieces.rest.is_empty() {
            splices.push(self.insert_lines(self.extents.line_end(place.end), pieces.rest.clone()));
        }
    }

    // ---- comments

    /// Splices for comments of a node that were set: line comments, and those that stand in the source already.
    fn comments_in_place(&self, id: NodeId, splices: &mut Vec<Splice>) {
        for place in [CommentPlace::Head, CommentPlace::Foot] {
            let set = self.set_comment(id, place).filter(|comment| !comment.span.is_empty());
            splices.extend(set.map(|comment| self.comment_in_place(comment)));
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

    /// Head and foot comments that were added to an entry of a block collection.
    fn entry_comments(&self, parent: NodeId, entry: Entry, splices: &mut Vec<Splice>) {
        let column = self.tree.node(parent).column as usize;
        let lines = |place| self.added_lines(entry, place, column);
        if let Some(head) = lines(CommentPlace::Head) {
            let extent = self.extent(entry);
            let splice = if extent.inline {
                let text = format!("{}{}", head.trim_start_matches(' '), " ".repeat(column));
                Splice::insert(extent.lead, text)
            } else {
                self.insert_lines(self.extents.line_start(self.extents.content_start(entry.first)), head)
            };
            splices.push(splice.leading());
        }
        if let Some(mut foot) = lines(CommentPlace::Foot) {
            let end = self.extent(entry).end;
            // A blank line tells that it is not the head of what follows.
            if (end as usize) < self.document.source.len() && !self.extents.is_blank_line(end) {
                foot.push('\n');
            }
            splices.push(self.insert_lines(end, foot));
        }
    }

    /// The lines of the comments that were added to an entry, at a column.
    fn added_lines(&self, entry: Entry, place: CommentPlace, column: usize) -> Option<String> {
        let mut lines = String::new();
        for id in
            [Some(entry.first), Some(entry.last).filter(|last| *last != entry.first)].into_iter().flatten()
        {
            if let Some(text) = self.added_comment(id, place) {
                push_comment(&mut lines, text, column);
            }
        }
        (!lines.is_empty()).then_some(lines)
    }

    /// Head and foot comments that were added to the root.
    fn root_comments(&self, id: NodeId, splices: &mut Vec<Splice>) {
        if let Some(text) = self.added_comment(id, CommentPlace::Head) {
            let mut lines = String::new();
            push_comment(&mut lines, text, 0);
            let start = self.tree.start(id);
            let own_line = self.extents.begins_line(start);
            let splice = match self.tree.start_mark {
                // Behind `---` on its line there is no place above: the comment goes before the marker.
                mark if mark != NOWHERE && !own_line => {
                    self.insert_lines(self.extents.line_start(mark), lines)
                }
                _ => self.insert_lines(self.extents.line_start(start), lines),
            };
            splices.push(splice.leading());
        }
        if let Some(text) = self.added_comment(id, CommentPlace::Foot) {
            let mut lines = String::from("\n");
            push_comment(&mut lines, text, 0);
            let end = self.extents.end_of_lines(self.extents.place(id).end);
            splices.push(self.insert_lines(end, lines));
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
            return Splice::replace(Span { start, end }, String::new());
        }
        let mut lines = String::new();
        push_comment(&mut lines, text, self.extents.column(span.start) as usize);
        let ends_line = self.extents.after_break(span.end);
        let lines = lines.trim_start_matches(' ');
        let lines = if ends_line { lines } else { lines.trim_end_matches('\n') };
        Splice::replace(span, lines)
    }

    fn end_of_text_before(&self, at: u32) -> u32 {
        let before = &self.document.source[..at as usize];
        Span::new(before.trim_end_matches([' ', '\t']).len(), 0).start
    }

    fn line_comment(&self, id: NodeId, comment: &Comment) -> Option<Splice> {
        if !comment.span.is_empty() {
            return Some(self.comment_in_place(comment));
        }
        let text = comment.text.as_deref().filter(|text| !text.is_empty())?;
        let value = if self.tree.node(id).key { self.tree.node(id).next.get()? } else { id };
        Some(Splice::insert(self.line_end_of(value)?, format!(" {text}")).leading())
    }

    /// Where a comment on the line of a node goes: behind the key for block collections, behind the header for block
    /// scalars, else behind the node. `None` where the node brings its comment itself when it is written anew.
    fn line_end_of(&self, id: NodeId) -> Option<u32> {
        let node = self.tree.node(id);
        let place = node.span;
        let edited = node.state == State::Edited;
        if edited && place.end > place.start && self.extents.after_break(place.end) {
            return None;
        }
        let behind_mark = node.style == Style::Block && node.first.get().is_some();
        let moved_up = edited && node.mark != NOWHERE && !self.extents.same_line(node.mark, place.start);
        if behind_mark || moved_up && !self.has_own_head(id, node.mark) {
            return (node.mark != NOWHERE).then(|| self.behind_mark(id, node.mark));
        }
        if !edited && matches!(node.style, Style::Literal | Style::Folded) {
            let header = Span { start: place.start, end: self.extents.line_end(place.start) };
            return Some(place.start + Span::new(header.of(&self.document.source).trim_end().len(), 0).start);
        }
        Some(place.end)
    }

    /// Behind the colon or dash, and behind the properties that stay there.
    fn behind_mark(&self, id: NodeId, mark: u32) -> u32 {
        let kept = self.tree.properties(id).filter(|properties| !properties.span.is_empty());
        let on_line = kept.filter(|properties| self.extents.same_line(mark, properties.span.start));
        on_line.map_or(mark + 1, |properties| properties.span.end).max(mark + 1)
    }

    /// Whether the value has a comment above it that stands below its key.
    fn has_own_head(&self, id: NodeId, mark: u32) -> bool {
        self.tree.comment(id, CommentPlace::Head).is_some_and(|head| head.span.start > mark)
    }
}
