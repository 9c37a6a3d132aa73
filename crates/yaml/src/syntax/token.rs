//! The tokens of one document.
//!
//! Every byte of the source belongs to a token, to a comment, or to the white space between two of them: a gap
//! holds nothing but blanks, line breaks and byte order marks. `syntax::tests` checks that over all fixtures.

/// A range of bytes in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// Offsets fit: the scanner refuses sources that do not fit into `u32`.
    #[allow(
        clippy::cast_possible_truncation,
        reason = "the source was measured against `u32::MAX` before scanning"
    )]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start: start as u32, end: end as u32 }
    }

    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    pub fn of(self, source: &str) -> &str {
        &source[self.range()]
    }
}

/// Ranges of the source, to be asked which others stand inside of one of them.
pub(crate) struct Cover {
    /// By their beginnings, each with the furthest end of those up to it.
    spans: Vec<Span>,
}

impl Cover {
    pub fn new(mut spans: Vec<Span>) -> Self {
        spans.sort_unstable_by_key(|span| span.start);
        let mut furthest = 0;
        for span in &mut spans {
            furthest = furthest.max(span.end);
            span.end = furthest;
        }
        Self { spans }
    }

    /// Whether one of the ranges holds all of a range.
    pub fn holds(&self, inner: Span) -> bool {
        let before = self.spans.partition_point(|span| span.start <= inner.start);
        before.checked_sub(1).is_some_and(|last| inner.end <= self.spans[last].end)
    }
}

/// What a token is. Block collections have no bytes of their own: their beginnings are [`Flags`] on the token that
/// comes first in them, their ends are tokens without width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Directive,
    DocumentStart,
    DocumentEnd,
    BlockEntry,
    ExplicitKey,
    Value,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    FlowEntry,
    Anchor,
    Alias,
    Tag,
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
    Folded,
    /// The end of the stream; no width.
    StreamEnd,
}

/// What the scanner learnt about a token beyond its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Flags(u8);

impl Flags {
    /// A block mapping begins with this token.
    pub const MAPPING: Flags = Flags(1);
    /// A block sequence begins with this dash.
    pub const SEQUENCE: Flags = Flags(2);
    /// This token begins an implicit key.
    pub const KEY: Flags = Flags(4);
    /// A scalar whose value is not simply its bytes (or those between its quotes).
    pub const COOKED: Flags = Flags(8);
    /// A token that spans lines.
    pub const MULTILINE: Flags = Flags(16);

    pub fn has(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    pub fn add(&mut self, other: Flags) {
        self.0 |= other.0;
    }

    /// The same without the beginning of a block collection.
    pub fn without_start(self) -> Self {
        Self(self.0 & !(Self::MAPPING.0 | Self::SEQUENCE.0))
    }
}

/// One token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub flags: Flags,
    pub span: Span,
    /// For `Literal` and `Folded`: the indentation of the content. For tokens that begin a block collection: its column.
    pub column: u32,
}

#[cfg(test)]
mod tests {
    use super::{Cover, Span};

    #[test]
    fn a_cover_holds_what_one_of_its_spans_holds() {
        let spans = vec![Span::new(10, 30), Span::new(5, 8), Span::new(12, 14), Span::new(40, 41)];
        let cover = Cover::new(spans.clone());
        for start in 0..45 {
            for end in start..45 {
                let inner = Span::new(start, end);
                let held = spans.iter().any(|span| span.start <= inner.start && inner.end <= span.end);
                assert_eq!(cover.holds(inner), held, "{inner:?}");
            }
        }
        assert!(!Cover::new(Vec::new()).holds(Span::new(0, 0)));
    }
}
