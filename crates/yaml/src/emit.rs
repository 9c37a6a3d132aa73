//! Writing documents: the source, and splices where something was edited.

mod comments;
mod flow;
mod gap;
mod guard;
mod order;
mod replace;
mod splice;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use crate::document::Document;
use crate::extent::{Extent, Extents};
use crate::layout::{Habits, Layout, Notation, Pieces, json};
use crate::syntax;
use crate::syntax::token::Span;
use crate::tree::{Comment, Entry, Fact, Kind, NodeId, State, Style, Tree};
use gap::Gap;
use splice::Splice;

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
        let pieces = Layout::new(document, Habits { step: 2, dash: 0 }, Notation::Yaml).root(tree.root);
        return join_root(&pieces);
    }
    let extents = Extents::new(&document.source, tree);
    let emitter = Emitter {
        document,
        tree,
        extents,
        gone: gone_comments(tree),
        habits: OnceCell::new(),
        notation: OnceCell::new(),
        crlf: uses_crlf(tree.span.of(&document.source)),
        finished_last: Cell::new(false),
        composed: RefCell::default(),
        moving: RefCell::default(),
    };
    emitter.compose();
    let mut splices = emitter.below(tree.root);
    emitter.root_comments(tree.root, &mut splices);
    let mut text = emitter.apply(tree.span, splices);
    emitter.strip_last_break(&mut text);
    text
}

/// The comments of the source that were replaced or removed, in its order.
fn gone_comments(tree: &Tree) -> Vec<Span> {
    let mut gone = tree.gone.clone();
    gone.sort_unstable_by_key(|comment| comment.start);
    gone
}

/// Whether the first line of a text ends with `\r\n`.
fn uses_crlf(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr(b'\n', bytes).is_some_and(|at| at > 0 && bytes[at - 1] == b'\r')
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

/// A step of the walk through what was edited.
#[derive(Clone, Copy)]
enum Step {
    Enter(NodeId),
    /// All below a block collection was seen; what is new at the ends of its entries comes behind that.
    Leave(NodeId),
}

/// An entry that stands in the source.
#[derive(Clone, Copy)]
struct Original {
    entry: Entry,
    fate: Fate,
}

/// What became of it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Kept,
    Removed,
}

struct Emitter<'a> {
    document: &'a Document,
    tree: &'a Tree,
    extents: Extents<'a>,
    /// Comments that were replaced or removed, in the order of the source.
    gone: Vec<Span>,
    habits: OnceCell<Habits>,
    notation: OnceCell<Notation>,
    /// Lines end with `\r\n`.
    crlf: bool,
    /// A block scalar at the end of the text, if there is one, was told that it has no line break.
    finished_last: Cell<bool>,
    /// The splices of collections that are put together as a whole, until the walk comes to them.
    composed: RefCell<HashMap<NodeId, Vec<Splice>>>,
    /// The collections whose entries change places.
    moving: RefCell<HashSet<NodeId>>,
}

impl Emitter<'_> {
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
        if node.state == State::Edited || !matches!(node.kind, Kind::Mapping | Kind::Sequence) {
            return;
        }
        if self.is_composed(id) {
            splices.extend(self.composed.borrow_mut().remove(&id).unwrap_or_default());
            return;
        }
        if node.style == Style::Block {
            work.push(Step::Leave(id));
        }
        let first = work.len();
        work.extend(self.tree.children(id).map(Step::Enter));
        work[first..].reverse();
    }

    /// Whether a collection is put together from its entries instead of being spliced: commas and places change.
    fn is_composed(&self, id: NodeId) -> bool {
        let node = self.tree.node(id);
        node.state == State::Below
            && node.is(Fact::Reshaped)
            && (node.style == Style::Flow || !self.in_source_order(id))
    }

    /// Puts such collections together, the innermost first, so that nesting needs no stack.
    fn compose(&self) {
        let mut composed = Vec::new();
        let mut work = vec![self.tree.root];
        while let Some(id) = work.pop() {
            let node = self.tree.node(id);
            if node.state != State::Below || !matches!(node.kind, Kind::Mapping | Kind::Sequence) {
                continue;
            }
            if self.is_composed(id) {
                composed.push(id);
            }
            work.extend(self.tree.children(id));
        }
        let moving = composed.iter().filter(|id| self.tree.node(**id).style == Style::Block);
        *self.moving.borrow_mut() = moving.copied().collect();
        for id in composed.into_iter().rev() {
            let mut splices = Vec::new();
            if self.tree.node(id).style == Style::Flow {
                splices.push(self.flow_collection(id));
            } else {
                self.reordered(id, &mut splices);
            }
            self.composed.borrow_mut().insert(id, splices);
        }
    }

    fn layout(&self, id: NodeId) -> Layout<'_> {
        let document = || *self.habits.get_or_init(|| Habits::of_document(self.tree));
        let is_json = || json::is_json(self.tree.span.of(&self.document.source));
        let notation = *self.notation.get_or_init(|| if is_json() { Notation::Json } else { Notation::Yaml });
        Layout::new(self.document, Habits::around(self.tree, id, document), notation)
    }

    /// The entries of a collection.
    fn entries(&self, id: NodeId) -> Vec<Entry> {
        let children: Vec<NodeId> = self.tree.children(id).collect();
        match self.tree.node(id).kind {
            Kind::Mapping => {
                children.chunks_exact(2).map(|pair| Entry { first: pair[0], last: pair[1] }).collect()
            }
            Kind::Sequence | Kind::Scalar | Kind::Alias => {
                children.iter().map(|item| Entry { first: *item, last: *item }).collect()
            }
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
        let removed = self.tree.cuts.get(&id).map_or(&[][..], Vec::as_slice);
        let first_kept = entries.iter().find(|entry| !self.is_new(**entry)).copied();
        let Some(first) =
            first_kept.iter().chain(removed).min_by_key(|entry| self.extents.content_start(entry.first))
        else {
            return;
        };
        let front = self.extent(*first);
        let mut behind_dash = if removed.is_empty() { None } else { self.cut_runs(id, front, splices) };
        let next = first_kept.map(|entry| self.extent(entry));
        let mut after: Option<Entry> = None;
        // Where new entries go between two that stand in the source, and how they are written there.
        let mut gap: Option<Gap<'_>> = None;
        for entry in &entries {
            if !self.is_new(*entry) {
                after = Some(*entry);
                gap = None;
                self.entry_comments(id, *entry, behind_dash.take(), splices);
                continue;
            }
            let gap = if let Some(gap) = &mut gap {
                gap
            } else {
                gap.insert(match (after, first_kept.zip(next)) {
                    (Some(before), _) => self.gap_behind(id, before),
                    (None, Some((kept, next))) if front.inline => {
                        self.gap_at(id, self.extents.lead_behind_dash(kept, next.lead))
                    }
                    (None, Some((_, next))) => self.gap_at(id, self.extents.comments_above(next.start)),
                    (None, None) => continue,
                })
            };
            let lines = self.entry_lines(id, *entry, &gap.layout);
            if after.is_none() && front.inline {
                let column = self.tree.node(id).column as usize;
                splices.push(Splice::insert(
                    gap.at,
                    format!("{}{}", lines.trim_start_matches(' '), " ".repeat(column)),
                ));
            } else {
                self.insert_lines(gap.at, format!("{}{lines}", std::mem::take(&mut gap.above)), splices);
            }
        }
    }

    /// The entries that stand in the source, in its order.
    fn originals(&self, id: NodeId) -> Vec<Original> {
        let kept = self.entries(id).into_iter().filter(|entry| !self.is_new(*entry));
        let kept = kept.map(|entry| Original { entry, fate: Fate::Kept });
        let removed = self.tree.cuts.get(&id).into_iter().flatten();
        let removed = removed.map(|entry| Original { entry: *entry, fate: Fate::Removed });
        let mut originals: Vec<Original> = kept.chain(removed).collect();
        originals.sort_by_key(|original| self.extents.content_start(original.entry.first));
        originals
    }

    /// One cut for each run of removed entries; `front` is the extent of the first entry of the source. Where that shares its
    /// line with what stands before it, the next entry takes its place, unless comments that belong to none of them stand
    /// between; then it is returned where that entry begins.
    fn cut_runs(&self, id: NodeId, front: Extent, splices: &mut Vec<Splice>) -> Option<u32> {
        let mut behind_dash = None;
        let originals = self.originals(id);
        let column = self.tree.node(id).column as usize;
        let mut at = 0;
        while at < originals.len() {
            if originals[at].fate == Fate::Kept {
                at += 1;
                continue;
            }
            let run = self.run_length(&originals[at..]);
            let first = self.extent(originals[at].entry);
            let last = self.extent(originals[at + run - 1].entry);
            let next = originals.get(at + run).map(|original| self.extent(original.entry));
            let span = match next {
                Some(next) if at == 0 && front.inline => {
                    let moves_up = !Span { start: last.removed_end, end: next.lead.max(last.removed_end) }
                        .of(&self.document.source)
                        .contains('#');
                    let lead = self.extents.lead_behind_dash(originals[run].entry, next.lead);
                    behind_dash = moves_up.then_some(lead);
                    behind_dash.map_or_else(
                        || self.cut_to_dash(first.lead, last.removed_end),
                        |lead| Span { start: first.lead, end: lead },
                    )
                }
                _ => self.extents.removed_lines(first.start, last.removed_end),
            };
            let before = at.checked_sub(1).map(|before| originals[before].entry);
            let span =
                before.map_or(span, |before| self.cut_behind(before, span, first.start, column, splices));
            splices.push(Splice::replace(span, String::new()));
            at += run;
        }
        behind_dash
    }

    /// How many of these entries, the first of which is removed, one cut takes: up to one that leaves a comment behind.
    fn run_length(&self, originals: &[Original]) -> usize {
        let goes_on = |pair: &&[Original]| {
            let extent = self.extent(pair[0].entry);
            pair[1].fate == Fate::Removed && extent.removed_end == extent.end
        };
        1 + originals.windows(2).take_while(goes_on).count()
    }

    /// The cut for entries behind a dash that leaves it alone on its line.
    fn cut_to_dash(&self, start: u32, end: u32) -> Span {
        let text = Span { start, end }.of(&self.document.source);
        let end = start + Span::new(text.trim_end_matches(['\n', '\r']).len(), 0).start;
        Span { start: self.end_of_text_before(start), end }
    }

    /// The lines of a new entry of a block collection that stands in the source.
    fn entry_lines(&self, id: NodeId, entry: Entry, layout: &Layout<'_>) -> String {
        let column = self.tree.node(id).column as usize;
        match self.tree.node(id).kind {
            Kind::Mapping => layout.pair(entry.first, entry.last, column),
            Kind::Sequence | Kind::Scalar | Kind::Alias => layout.item(entry.first, column),
        }
    }
}
