//! Flow collections whose entries changed.

use std::borrow::Cow;

use super::{Emitter, Entry, Fate, Original, Splice};
use crate::syntax::token::Span;
use crate::tree::{Kind, NOWHERE, NodeId};

/// An entry of a flow collection with the text around it.
struct Segment<'a> {
    /// It was the first one.
    first: bool,
    /// Blanks, line breaks and comments before it.
    lead: Cow<'a, str>,
    body: Cow<'a, str>,
    /// What stands between it and its comma.
    trail: Cow<'a, str>,
    comma: bool,
    /// A comment behind the comma, on its line.
    post: Cow<'a, str>,
}

/// The entries that are left, in source order, and what stands before the first entry and before the bracket.
struct Segments<'a> {
    /// A comment on the line of the opening bracket.
    opening: &'a str,
    kept: Vec<(Entry, Segment<'a>)>,
    first_lead: Cow<'a, str>,
    tail: Cow<'a, str>,
    trailing_comma: bool,
}

/// Text that is put together from pieces, in which nothing may follow a comment on its line.
struct Line {
    out: String,
    in_comment: bool,
    ending: &'static str,
}

impl Line {
    /// Blanks, line breaks and comments.
    fn trivia(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.end_comment(text);
        self.out.push_str(text);
        self.in_comment = text.rsplit(['\n', '\r']).next().is_some_and(|line| line.contains('#'));
    }

    fn text(&mut self, text: &str) {
        if !text.is_empty() {
            self.end_comment(text);
            self.out.push_str(text);
        }
    }

    fn end_comment(&mut self, next: &str) {
        if self.in_comment && !next.starts_with(['\n', '\r']) {
            self.out.push_str(self.ending);
            self.out.push(' ');
        }
        self.in_comment = false;
    }

    /// The text, to be followed by a bracket.
    fn closed(mut self) -> String {
        self.end_comment("]");
        self.out
    }
}

impl Emitter<'_> {
    /// The text between the brackets: kept entries with what stands around them, new ones like their neighbours.
    pub(super) fn flow_collection(&self, id: NodeId) -> Splice {
        let node = self.tree.node(id);
        let braces = self.document.source.as_bytes()[node.span.start as usize];
        let has_brackets = matches!(braces, b'[' | b'{');
        let inner = if has_brackets {
            Span { start: node.span.start + 1, end: node.span.end - 1 }
        } else {
            node.span
        };
        let Segments { opening, mut kept, first_lead, tail, trailing_comma } = self.segments(id, inner);
        let neighbour =
            kept.iter().rev().find(|(_, segment)| !segment.first).map(|(_, segment)| &*segment.lead);
        let new_lead = match neighbour.or(Some(&*first_lead)).and_then(last_line) {
            Some(line) => line.to_owned(),
            None => neighbour.filter(|lead| !lead.contains('#')).unwrap_or(" ").to_owned(),
        };
        kept.sort_by_key(|(entry, _)| entry.first);
        let kept_one = |entry: Entry| {
            let found = kept.binary_search_by_key(&entry.first, |(entry, _)| entry.first).ok()?;
            Some(&kept[found].1)
        };
        let entries = self.entries(id);
        let mut out = Line { out: String::new(), in_comment: false, ending: self.line_break() };
        out.trivia(opening);
        for (at, entry) in entries.iter().enumerate() {
            let comma = at + 1 < entries.len() || trailing_comma;
            let Some(segment) = kept_one(*entry) else {
                out.trivia(if at == 0 { blank_part(&first_lead) } else { &new_lead });
                out.text(&self.new_flow_entry(id, *entry));
                out.text(if comma { "," } else { "" });
                continue;
            };
            match (at, segment.first) {
                (0, false) => out.trivia(lead_at_front(&segment.lead, &first_lead)),
                (1.., true) => out.trivia(lead_behind(&segment.lead, &new_lead)),
                _ => out.trivia(&segment.lead),
            }
            out.text(&segment.body);
            out.text(if comma && !segment.comma { "," } else { "" });
            out.trivia(&segment.trail);
            out.text(if comma && segment.comma { "," } else { "" });
            out.trivia(&segment.post);
        }
        if !entries.is_empty() || !opening.is_empty() {
            out.trivia(&tail);
        }
        let mut out = out.closed();
        if !has_brackets && entries.len() != 1 {
            // A pair without braces in a list can be only one.
            out = format!("{{{out}}}");
        }
        Splice::replace(inner, out).with_kept_breaks()
    }

    fn new_flow_entry(&self, id: NodeId, entry: Entry) -> String {
        let layout = self.layout(id);
        match self.tree.node(id).kind {
            Kind::Mapping => {
                format!("{}: {}", layout.flow_key(entry.first), layout.flow_value(entry.last))
            }
            Kind::Sequence | Kind::Scalar | Kind::Alias => layout.flow_value(entry.first),
        }
    }

    fn segments(&self, id: NodeId, inner: Span) -> Segments<'_> {
        let source = &self.document.source;
        let originals = self.originals(id);
        let mut segments = Vec::new();
        let mut trailing_comma = false;
        let opening = comment_on_line(inner.of(source));
        let mut at = inner.start + Span::new(opening.len(), 0).start;
        let start_of_first =
            originals.first().map_or(at, |first| self.extents.content_start(first.entry.first));
        let first_lead = self.kept(Span { start: at, end: start_of_first.max(at) });
        for (number, Original { entry, fate }) in originals.iter().copied().enumerate() {
            let next = originals
                .get(number + 1)
                .map_or(inner.end, |next| self.extents.content_start(next.entry.first));
            let start = self.extents.content_start(entry.first);
            let end = self.flow_end(entry);
            let lead = self.kept(Span { start: at, end: start });
            let gap = Gap::behind(source, end, next.max(end));
            at = gap.end;
            trailing_comma = gap.comma;
            if fate == Fate::Kept {
                let mut splices = self.below(entry.first);
                if entry.last != entry.first {
                    splices.extend(self.below(entry.last));
                }
                let body = if splices.is_empty() {
                    self.kept(Span { start, end })
                } else {
                    self.apply(Span { start, end }, splices).into()
                };
                let (trail, post) = (self.kept(gap.trail), self.kept(gap.post));
                let first = start == start_of_first;
                segments.push((entry, Segment { first, lead, body, trail, comma: gap.comma, post }));
            }
        }
        let tail = self.kept(Span { start: at.min(inner.end), end: inner.end });
        Segments { opening, kept: segments, first_lead, tail, trailing_comma }
    }

    fn flow_end(&self, entry: Entry) -> u32 {
        let end = |id: NodeId| {
            let node = self.tree.node(id);
            let mark = if node.mark == NOWHERE { 0 } else { node.mark + 1 };
            let properties = self.tree.properties(id).map_or(0, |properties| properties.span.end);
            node.span.end.max(mark).max(properties)
        };
        end(entry.first).max(end(entry.last))
    }
}

/// What stands behind an entry, up to the lead of the next one.
struct Gap {
    trail: Span,
    comma: bool,
    post: Span,
    end: u32,
}

impl Gap {
    fn behind(source: &str, start: u32, limit: u32) -> Self {
        let text = &source[start as usize..limit as usize];
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && bytes[at] != b',' {
            if bytes[at] == b'#' {
                at += text[at..].find(['\n', '\r']).unwrap_or(text.len() - at);
            } else {
                at += 1;
            }
        }
        let span = |from: usize, to: usize| Span::new(start as usize + from, start as usize + to);
        if at >= bytes.len() {
            // No comma: what stands before the closing bracket is not of the entry, but for a comment on its line.
            let line = text.find(['\n', '\r']).unwrap_or(text.len());
            let comment = if text[..line].contains('#') { line } else { 0 };
            return Self {
                trail: span(0, comment),
                comma: false,
                post: span(comment, comment),
                end: start + Span::new(comment, 0).start,
            };
        }
        let behind = &text[at + 1..];
        let line = behind.find(['\n', '\r']).unwrap_or(behind.len());
        let comment = if behind[..line].trim_start().starts_with('#') { line } else { 0 };
        let end = at + 1 + comment;
        Self {
            trail: span(0, at),
            comma: true,
            post: span(at + 1, end),
            end: start + Span::new(end, 0).start,
        }
    }
}

/// The comment behind an opening bracket, on its line, with the blanks before it; empty without one.
fn comment_on_line(text: &str) -> &str {
    let line = text.split(['\n', '\r']).next().unwrap_or("");
    if line.trim_start_matches([' ', '\t']).starts_with('#') { line } else { "" }
}

/// The last line of a lead, with the line break before it; nothing where it has but one line.
fn last_line(lead: &str) -> Option<&str> {
    let at = lead.rfind('\n')?;
    Some(&lead[at - usize::from(lead[..at].ends_with('\r'))..])
}

/// The white space at the end of a lead, from its last line on.
fn blank_part(lead: &str) -> &str {
    let from = lead
        .rfind('#')
        .map_or(0, |comment| comment + lead[comment..].find(['\n', '\r']).unwrap_or(lead.len() - comment));
    &lead[from..]
}

/// The lead of an entry that comes to the front: its comments, and the white space that stood before the first entry.
fn lead_at_front<'a>(lead: &'a str, first_lead: &'a str) -> &'a str {
    if lead.contains('#') { lead } else { blank_part(first_lead) }
}

/// The lead of an entry that was the first and now follows others.
fn lead_behind<'a>(lead: &'a str, new_lead: &'a str) -> &'a str {
    if lead.contains('#') { lead } else { new_lead }
}
