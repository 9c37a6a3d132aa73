//! Splices: pieces of the source, and what stands there instead.

use std::borrow::Cow;

use super::Emitter;
use crate::syntax::token::Span;

/// A range of the source, and what stands there instead.
#[derive(Debug)]
pub(super) struct Splice {
    pub span: Span,
    pub text: String,
    rank: Rank,
    breaks: Breaks,
}

/// The line breaks in the text of a splice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breaks {
    /// They are `\n`, to be written as the document has them.
    New,
    /// They are as they should be; some of them stood in the source.
    Kept,
}

/// Which of several insertions at one place comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Whole lines above all that the document holds.
    Top,
    /// Text that goes on with the line.
    Inline,
    /// A comment at the end of the line.
    LineComment,
    /// Whole lines; they begin a new one.
    Lines,
    /// Whole lines that belong to what stands behind them.
    Head,
    /// The same behind a dash: they go on with its line.
    HeadBehindDash,
}

impl Splice {
    pub fn replace(span: Span, text: impl Into<String>) -> Self {
        Self { span, text: text.into(), rank: Rank::Inline, breaks: Breaks::New }
    }

    pub fn insert(at: u32, text: impl Into<String>) -> Self {
        Self::replace(Span { start: at, end: at }, text)
    }

    pub fn lines(at: u32, text: impl Into<String>) -> Self {
        Self::insert(at, text).ranked(Rank::Lines)
    }

    pub fn ranked(self, rank: Rank) -> Self {
        Self { rank, ..self }
    }

    pub fn with_kept_breaks(self) -> Self {
        Self { breaks: Breaks::Kept, ..self }
    }
}

impl Emitter<'_> {
    /// The source of a span with splices in it, and without comments that are gone.
    pub(super) fn apply(&self, span: Span, mut splices: Vec<Splice>) -> String {
        // Stable: what was found first at a place stays first; insertions come before replacements there, and what
        // belongs to the following text comes last of them.
        splices.sort_by_key(|splice| (splice.span.start, !splice.span.is_empty(), splice.rank));
        let gone = self.gone_between(span, &splices);
        let mut out = String::with_capacity(span.range().len() + 64);
        let mut at = span.start;
        for splice in splices {
            if splice.span.start < at && !matches!(splice.rank, Rank::Lines | Rank::Top) {
                // It is about something that was replaced as a whole. New lines come behind that.
                continue;
            }
            if splice.span.start > at {
                self.copy(Span { start: at, end: splice.span.start }, &gone, &mut out);
            }
            let begins_line =
                matches!(splice.rank, Rank::Top | Rank::Lines | Rank::Head) && !splice.text.is_empty();
            if begins_line && !out.is_empty() && !out.ends_with(['\n', '\r']) {
                out.push_str(self.line_break());
            }
            match splice.breaks {
                Breaks::New => out.push_str(&self.broken(&splice.text)),
                Breaks::Kept => out.push_str(&splice.text),
            }
            at = at.max(splice.span.end);
        }
        if at < span.end {
            self.copy(Span { start: at, end: span.end }, &gone, &mut out);
        }
        out
    }

    /// The source of a span, without comments that are gone.
    pub(super) fn kept(&self, span: Span) -> Cow<'_, str> {
        if self.gone.is_empty() {
            span.of(&self.document.source).into()
        } else {
            self.apply(span, Vec::new()).into()
        }
    }

    /// What goes with the comments in a span that are gone, but for those that a splice takes care of: it is the one that
    /// puts another comment there, or it replaces what they stand in.
    fn gone_between(&self, span: Span, splices: &[Splice]) -> Vec<Span> {
        let first = self.gone.partition_point(|comment| comment.end <= span.start);
        let inside = self.gone[first..].iter().take_while(|comment| comment.start < span.end);
        let mut splices = splices.iter().filter(|splice| !splice.span.is_empty()).peekable();
        let mut spliced_to = 0;
        inside
            .filter_map(|comment| {
                while let Some(splice) = splices.next_if(|splice| splice.span.start < comment.end) {
                    // One that begins inside of another is left out.
                    if splice.span.start >= spliced_to {
                        spliced_to = splice.span.end;
                    }
                }
                let cut = self.cut_of_comment(*comment);
                let rest = Span { start: cut.start.max(spliced_to), end: cut.end };
                match spliced_to {
                    to if to <= comment.start => Some(cut),
                    to => (to < comment.end).then_some(rest),
                }
            })
            .collect()
    }

    /// Copies a span of the source, but for the cuts in it, which are in its order.
    fn copy(&self, span: Span, cuts: &[Span], out: &mut String) {
        let mut at = span.start;
        let first = cuts.partition_point(|cut| cut.end <= span.start);
        for cut in cuts[first..].iter().take_while(|cut| cut.start < span.end) {
            out.push_str(Span { start: at, end: cut.start.max(at) }.of(&self.document.source));
            at = cut.end.max(at).min(span.end);
        }
        out.push_str(Span { start: at, end: span.end }.of(&self.document.source));
    }

    /// How lines end that are added.
    pub(super) fn line_break(&self) -> &'static str {
        if self.crlf { "\r\n" } else { "\n" }
    }

    /// New text with the line breaks of the document.
    pub(super) fn broken<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.crlf && text.contains('\n') {
            text.replace("\r\n", "\n").replace('\n', "\r\n").into()
        } else {
            text.into()
        }
    }
}
