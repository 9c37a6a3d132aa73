//! Which comment belongs to which node.
//!
//! The rules are go-yaml's, because that is what people's tools agree on: a comment on a node's line is its *line*
//! comment, a block of comments right above a node its *head*, and a block below it that a blank line or less
//! indentation separates from what follows its *foot*. The finer points follow from the order in which go-yaml sees
//! tokens and comments, so that order is reproduced here: [`Queue::collect`] sorts the comments of a document into
//! pieces, each waiting for a position, and the builder calls [`Queue::reach`] whenever it takes a token.

use super::token::{Flags, Span, Token, TokenKind};
use crate::tree::{Comment, Comments};

/// Which comment of a node a piece becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Head,
    Line,
    Foot,
}

/// A run of comment lines that belong together.
#[derive(Clone, Copy, Debug)]
struct Piece {
    role: Role,
    /// The piece is given to the first token that does not stand before this.
    waits_for: u32,
    text: Span,
    column: u32,
    /// Where the search for it began, and where it ended: neighbours touch.
    scanned: Span,
}

/// The comments that wait for a node.
#[derive(Default)]
pub(crate) struct Waiting {
    pub head: Vec<Span>,
    pub line: Vec<Span>,
    pub foot: Vec<Span>,
}

impl Waiting {
    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.line.is_empty() && self.foot.is_empty()
    }

    pub fn into_comments(self, source: &str) -> Comments {
        Comments {
            head: Self::join(source, &self.head, Side::Behind),
            line: Self::join(source, &self.line, Side::Behind),
            foot: Self::join(source, &self.foot, Side::Before),
        }
    }

    /// The head comments above the last blank line among them, and those below it; `None` without a blank line.
    pub fn split_at_last_blank_line(&self, source: &str) -> Option<(Vec<Span>, Vec<Span>)> {
        for (at, piece) in self.head.iter().enumerate().rev() {
            let Some(split) = last_blank_line(piece.of(source)) else { continue };
            let mut above = self.head[..at].to_vec();
            above.push(Span { start: piece.start, end: piece.start + Span::new(0, split.end).end });
            let mut below = Vec::new();
            if split.next < piece.of(source).len() {
                below.push(Span { start: piece.start + Span::new(0, split.next).end, end: piece.end });
            }
            below.extend_from_slice(&self.head[at + 1..]);
            return Some((above, below));
        }
        None
    }

    /// Joins the pieces of one role to a comment. Its text is all of them; its span is only what stands together, next to
    /// the node, since something that has no comments of its own may stand between.
    pub fn join(source: &str, pieces: &[Span], node: Side) -> Option<Comment> {
        let (first, last) = (pieces.first()?, pieces.last()?);
        if pieces.len() == 1 {
            return Some(Comment { span: *first, ..Comment::default() });
        }
        let texts: Vec<String> = pieces.iter().map(|piece| text_of(source, *piece)).collect();
        let together = |pair: &[Span]| {
            let gap = &source[pair[0].end as usize..pair[1].start as usize];
            gap.bytes().all(|byte| byte.is_ascii_whitespace())
        };
        let apart: Vec<usize> = (1..pieces.len()).filter(|at| !together(&pieces[at - 1..=*at])).collect();
        let span = match node {
            Side::Behind => Span { start: pieces[apart.last().copied().unwrap_or(0)].start, end: last.end },
            Side::Before => Span {
                start: first.start,
                end: pieces[apart.first().copied().unwrap_or(pieces.len()) - 1].end,
            },
        };
        Some(Comment { span, text: Some(texts.join("\n").into()), changed: false })
    }
}

/// On which side of its comments a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Before,
    Behind,
}

/// The comments of a document on their way to nodes.
pub(crate) struct Queue {
    pieces: Vec<Piece>,
    next: usize,
    /// Where the end of each block collection counts as standing, in the order of their end tokens.
    ends: Vec<u32>,
    next_end: usize,
    pub waiting: Waiting,
    /// Comments before the document's `---`.
    pub preface: Vec<Span>,
    /// The document begins without a marker as far as comments are concerned.
    pub implicit: bool,
}

impl Queue {
    /// Sorts the comments of a document. `span` is all of it; `marker` is the place of its `---`.
    pub fn collect(
        source: &str,
        span: Span,
        marker: Option<u32>,
        tokens: &[Token],
        comments: &[Span],
    ) -> Self {
        let text_start =
            span.start + if source[span.start as usize..].starts_with('\u{feff}') { 3 } else { 0 };
        let explicit = marker == Some(text_start) && span.start == 0;
        let base = match marker {
            // What stands on the line of the marker is of the document, if its content begins there.
            Some(at) if !explicit && begins_beside(source, at, tokens) => at + 3,
            Some(at) if !explicit => next_line(source, at),
            _ => text_start,
        };
        let before = comments.iter().take_while(|comment| comment.start < base).count();
        let mut collector = Collector {
            source,
            comments: &comments[before..],
            cursor: base,
            line: 0,
            previous: None,
            before_previous: None,
            scan: base,
            indents: Vec::new(),
            flow: 0,
            flow_at_previous: 0,
            queue: Queue {
                pieces: Vec::with_capacity(comments.len() - before),
                next: 0,
                ends: Vec::new(),
                next_end: 0,
                waiting: Waiting::default(),
                preface: comments[..before].to_vec(),
                implicit: !explicit,
            },
        };
        collector.run(tokens, span.end);
        collector.queue
    }

    /// Gives the pieces that wait for `token` or for something before it to [`Queue::waiting`].
    pub fn reach(&mut self, token: &Token) {
        let ends = token.kind == TokenKind::BlockEnd;
        let position = if ends {
            self.next_end += 1;
            self.ends.get(self.next_end - 1).copied().unwrap_or(token.span.start)
        } else {
            token.span.start
        };
        while let Some(piece) = self.pieces.get(self.next).filter(|piece| piece.waits_for <= position) {
            let list = match piece.role {
                // What ends has no head: it is of what follows.
                Role::Head if ends => return,
                Role::Head => &mut self.waiting.head,
                Role::Line => &mut self.waiting.line,
                Role::Foot => &mut self.waiting.foot,
            };
            list.push(piece.text);
            self.next += 1;
        }
    }
}

struct Collector<'a> {
    source: &'a str,
    comments: &'a [Span],
    /// A position and its line, counted from the document's first.
    cursor: u32,
    line: u32,
    previous: Option<Token>,
    before_previous: Option<Token>,
    /// Where the search for the next token begins.
    scan: u32,
    indents: Vec<i32>,
    flow: usize,
    flow_at_previous: usize,
    queue: Queue,
}

impl Collector<'_> {
    fn run(&mut self, tokens: &[Token], end: u32) {
        let mut pops = 0;
        for token in tokens {
            let is_implicit = token.kind == TokenKind::DocumentStart && self.queue.implicit;
            if token.kind == TokenKind::BlockEnd {
                pops += 1;
            } else if token.kind != TokenKind::Directive && !is_implicit {
                let ends = token.kind == TokenKind::StreamEnd;
                self.gap(token.span.start, if ends { None } else { Some(*token) }, pops);
                pops = 0;
                self.enter(token);
            }
        }
        if tokens.last().is_none_or(|last| last.kind != TokenKind::StreamEnd) {
            self.gap(end, None, pops);
        }
    }

    /// Follows indentation and brackets, and takes the comment of a block scalar's first line.
    #[allow(clippy::cast_possible_wrap, reason = "columns are smaller than the source, which fits i32")]
    fn enter(&mut self, token: &Token) {
        if token.flags.has(Flags::MAPPING) || token.flags.has(Flags::SEQUENCE) {
            self.indents.push(token.column as i32);
        }
        if matches!(token.kind, TokenKind::FlowSequenceStart | TokenKind::FlowMappingStart) {
            self.flow += 1;
        } else if matches!(token.kind, TokenKind::FlowSequenceEnd | TokenKind::FlowMappingEnd) {
            self.flow -= 1;
        }
        self.flow_at_previous = self.flow;
        self.before_previous = self.previous;
        self.previous = Some(*token);
        if let Some(comment) = self.comments.first().filter(|comment| comment.start < token.span.end) {
            self.push_line(*comment, token.span.start);
        }
        self.scan = token.span.end;
        if token.kind == TokenKind::Plain {
            // go-yaml looks for more text behind plain text, so that it is past the white space by then.
            let rest = &self.source.as_bytes()[self.scan as usize..];
            let blank = rest.iter().position(|byte| !byte.is_ascii_whitespace()).unwrap_or(rest.len());
            self.scan += Span::new(blank, 0).start;
        }
    }

    /// Sorts the comments between the previous token and the one at `end`.
    fn gap(&mut self, end: u32, token: Option<Token>, pops: usize) {
        self.line_comment(end);
        let first = self.queue.pieces.len();
        let count = self.comments.iter().take_while(|comment| comment.start < end).count();
        if count > 0 {
            self.blocks(count, token, end);
        }
        self.close(first, end, token, pops);
    }

    /// A comment on the line of the previous token.
    fn line_comment(&mut self, end: u32) {
        let (Some(previous), Some(comment)) = (self.previous, self.comments.first()) else { return };
        let has_none = matches!(
            previous.kind,
            TokenKind::BlockEntry
                | TokenKind::DocumentStart
                | TokenKind::DocumentEnd
                | TokenKind::Literal
                | TokenKind::Folded
        );
        if has_none || comment.start >= end || self.breaks(previous.span.end, comment.start) > 0 {
            return;
        }
        let of_prior = previous.kind == TokenKind::FlowEntry
            || previous.kind == TokenKind::Value && self.flow_at_previous == 0;
        let owner = if of_prior { self.before_previous.unwrap_or(previous) } else { previous };
        self.push_line(*comment, owner.span.start);
    }

    fn push_line(&mut self, comment: Span, waits_for: u32) {
        let piece = Piece { role: Role::Line, waits_for, text: comment, column: 0, scanned: Span::default() };
        self.queue.pieces.push(piece);
        self.comments = &self.comments[1..];
        self.scan = comment.end;
    }

    /// Comments on lines of their own: one pass, in which blank lines and indentation split them into pieces.
    fn blocks(&mut self, count: usize, token: Option<Token>, end: u32) {
        let previous = match (self.previous, self.before_previous) {
            (Some(previous), Some(before)) if previous.kind == TokenKind::FlowEntry => Some(before),
            (previous, _) => previous,
        };
        let first = self.comments[0];
        let newlines = self.breaks_before(first.start);
        let scan_line = self.line_of(self.scan);
        let mut line = self.line_of(first.start);
        // The line where a comment must begin to be the foot of what stands before it.
        let foot_line = (scan_line > 0).then(|| {
            let beside = newlines == 0 && self.column(first.start) > 1;
            line + 1 + u32::from(beside) - newlines.min(line + 1)
        });
        let mut run = Run {
            open: None,
            scan: self.scan,
            waits_for: previous.map_or(0, |token| token.span.start),
            indent: self.indents.last().copied().unwrap_or(-1).max(0).unsigned_abs(),
            foot_line: foot_line.filter(|_| previous.is_none_or(|token| token.kind != TokenKind::Value)),
            no_blank_line_yet: newlines <= 1,
            pieces: &mut self.queue.pieces,
        };
        let comments = &self.comments[..count];
        for (at, comment) in comments.iter().enumerate() {
            let column = column(self.source, comment.start);
            run.dedent(column, comment.start);
            run.add(*comment, column, line);
            let until = comments.get(at + 1).map_or(end, |next| next.start);
            let breaks = count_breaks(&self.source.as_bytes()[comment.end as usize..until as usize]);
            if breaks > 1 {
                run.blank_line(comment.end + 1, next_line(self.source, comment.end));
            }
            // go-yaml counts the line of a later comment from the one before it, one short.
            line += breaks.saturating_sub(u32::from(at == 0));
        }
        let closes_flow = self.flow > 0
            && token.is_some_and(|token| {
                matches!(token.kind, TokenKind::FlowSequenceEnd | TokenKind::FlowMappingEnd)
            });
        match token {
            _ if closes_flow => run.foot(end),
            None => run.end_of_text(end),
            Some(token) => run.dedent(column(self.source, token.span.start), end),
        }
        run.head(end);
        self.comments = &self.comments[count..];
    }

    /// Says where the collections that end here count as ending: at the comment that stands in their own column.
    fn close(&mut self, first: usize, end: u32, token: Option<Token>, pops: usize) {
        let ends_text = token.is_none();
        let mut mark = i64::from(self.scan) - 1;
        let column = if ends_text { i64::from(self.column(end)) } else { -1 };
        let mut rewound = false;
        for _ in 0..pops {
            let indent = self.indents.pop().unwrap_or(-1);
            if ends_text && i64::from(indent) <= column && !rewound {
                // What the end of the text closes is looked at from there.
                mark = i64::from(end) - 1;
                rewound = true;
            }
            let mut stop = mark;
            for piece in self.queue.pieces[first..].iter().rev() {
                if i64::from(piece.scanned.end) < stop {
                    break;
                }
                if i64::from(piece.column) == i64::from(indent) {
                    mark = i64::from(piece.text.start);
                }
                stop = i64::from(piece.scanned.start);
            }
            self.queue.ends.push(u32::try_from(mark.max(0)).unwrap_or(0));
        }
    }

    // ---- lines and columns

    fn breaks(&self, start: u32, end: u32) -> u32 {
        count_breaks(&self.source.as_bytes()[start as usize..(end.max(start)) as usize])
    }

    /// How many line breaks stand between the last text before `at` and `at`.
    fn breaks_before(&self, at: u32) -> u32 {
        let before = &self.source.as_bytes()[..at as usize];
        let text = before.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
        count_breaks(&before[text..])
    }

    fn line_of(&mut self, at: u32) -> u32 {
        if at > self.cursor {
            self.line += self.breaks(self.cursor, at);
            self.cursor = at;
        }
        self.line
    }

    fn column(&self, at: u32) -> u32 {
        column(self.source, at)
    }
}

/// Comments on lines of their own between two tokens, while they are split into pieces.
struct Run<'a> {
    open: Option<Block>,
    /// Where the search for the open piece began.
    scan: u32,
    /// The token that a foot is given to.
    waits_for: u32,
    /// The indentation of the innermost block collection.
    indent: u32,
    foot_line: Option<u32>,
    no_blank_line_yet: bool,
    pieces: &'a mut Vec<Piece>,
}

#[derive(Clone, Copy)]
struct Block {
    text: Span,
    column: u32,
    line: u32,
}

impl Run<'_> {
    fn add(&mut self, comment: Span, column: u32, line: u32) {
        match &mut self.open {
            Some(block) => block.text.end = comment.end,
            None => self.open = Some(Block { text: comment, column, line }),
        }
    }

    /// Something in another, lesser column follows: what is open is the foot of what stands before.
    fn dedent(&mut self, column: u32, end: u32) {
        if let Some(block) = self.open.filter(|block| column < self.indent && column != block.column) {
            self.push(Role::Foot, self.waits_for, block, end);
        }
    }

    /// A blank line follows at `at`; the comment's line ends before `line_end`.
    fn blank_line(&mut self, at: u32, line_end: u32) {
        if self.no_blank_line_yet && self.open.is_some_and(|block| self.is_foot(block)) {
            self.foot(at);
        } else if let Some(block) = &mut self.open {
            block.text.end = line_end;
        }
        self.no_blank_line_yet = false;
    }

    fn end_of_text(&mut self, end: u32) {
        if self.no_blank_line_yet && self.open.is_some_and(|block| self.is_foot(block)) {
            self.foot(end);
        }
    }

    fn is_foot(&self, block: Block) -> bool {
        Some(block.line) == self.foot_line || block.column < self.indent
    }

    /// What is open is a foot: of the previous token, or of nothing before it when it stands further left.
    fn foot(&mut self, end: u32) {
        if let Some(block) = self.open {
            let owner = if block.column < self.indent { block.text.start } else { self.waits_for };
            self.push(Role::Foot, owner, block, end);
        }
    }

    fn head(&mut self, end: u32) {
        if let Some(block) = self.open {
            self.push(Role::Head, block.text.start, block, end);
        }
    }

    fn push(&mut self, role: Role, waits_for: u32, block: Block, end: u32) {
        let scanned = Span { start: self.scan, end };
        self.pieces.push(Piece { role, waits_for, text: block.text, column: block.column, scanned });
        (self.open, self.scan, self.waits_for) = (None, end, end);
    }
}

/// Where the text above a blank line ends, and where that below it begins.
struct Split {
    end: usize,
    next: usize,
}

/// The last blank line of a comment, the one at its very end included.
fn last_blank_line(text: &str) -> Option<Split> {
    let mut found = None;
    let mut after_blank = false;
    let mut end = 0;
    let mut start = 0;
    while start < text.len() {
        let next = next_line(text, Span::new(start, start).start) as usize;
        let line = &text[start..next];
        let content = line.trim_matches([' ', '\t', '\r', '\n']);
        if content.is_empty() {
            after_blank = true;
        } else {
            if after_blank {
                found = Some(Split {
                    end,
                    next: start + line.len() - line.trim_start_matches([' ', '\t']).len(),
                });
            }
            after_blank = false;
            end = start + line.trim_end_matches(['\n', '\r']).len();
        }
        start = next;
    }
    if end < text.len() { Some(Split { end, next: text.len() }) } else { found }
}

/// The text of a comment as an API shows it: indentation removed, runs of blank lines kept as one.
pub(crate) fn text_of(source: &str, span: Span) -> String {
    let raw = span.of(source);
    if !raw.contains(['\n', '\r']) {
        return raw.into();
    }
    let mut text = String::with_capacity(raw.len());
    let mut blank = false;
    for (at, line) in raw.split('\n').enumerate() {
        let line = line.trim_start_matches([' ', '\t', '\r']).trim_end_matches('\r');
        if at > 0 && !(blank && line.is_empty()) {
            text.push('\n');
        }
        text.push_str(line);
        blank = line.is_empty();
    }
    text
}

fn column(source: &str, at: u32) -> u32 {
    let before = &source.as_bytes()[..at as usize];
    let line = memchr::memrchr2(b'\n', b'\r', before).map_or(0, |at| at + 1);
    Span::new(0, source[line..at as usize].trim_start_matches('\u{feff}').len()).end
}

fn count_breaks(bytes: &[u8]) -> u32 {
    let mut count = 0;
    for (at, byte) in bytes.iter().enumerate() {
        let lone = *byte == b'\r' && bytes.get(at + 1) != Some(&b'\n');
        count += u32::from(*byte == b'\n' || lone);
    }
    count
}

/// The offset of the line behind the one at `at`.
fn next_line(source: &str, at: u32) -> u32 {
    let rest = &source.as_bytes()[at as usize..];
    let end = match memchr::memchr2(b'\n', b'\r', rest) {
        None => rest.len(),
        Some(end) if rest[end] == b'\r' && rest.get(end + 1) == Some(&b'\n') => end + 2,
        Some(end) => end + 1,
    };
    at + Span::new(0, end).end
}

/// Whether the content of a document begins on the line of its marker.
fn begins_beside(source: &str, marker: u32, tokens: &[Token]) -> bool {
    let content = tokens.iter().find(|token| token.span.start > marker);
    content.is_some_and(|token| {
        token.kind != TokenKind::StreamEnd && token.span.start < next_line(source, marker)
    })
}
