//! From text to tokens, one document at a time.
//!
//! The scanner knows indentation and decides what is an implicit key; it knows nothing of nodes. It never looks back
//! further than the line that a key may begin in, and looks ahead only over white space, so that its time is linear.

mod properties;
mod scalars;

use super::Fail;
use super::token::{Flags, Span, Token, TokenKind};

/// A position where an implicit key may have begun.
#[derive(Clone, Copy)]
struct Candidate {
    token: usize,
    /// Where the line of the key begins.
    line: usize,
    column: i32,
    /// A tab stands between the line's beginning (or the last indicator) and the key.
    after_tab: bool,
}

/// An open flow collection.
struct Flow {
    /// The key that the whole collection may turn out to be.
    candidate: Option<Candidate>,
    mapping: bool,
}

/// Scans a stream; see [`Scanner::document`].
pub(crate) struct Scanner<'a> {
    src: &'a [u8],
    pos: usize,
    /// Where the current line begins.
    line: usize,
    /// The column of the innermost block collection, -1 outside of all.
    indent: i32,
    indents: Vec<i32>,
    /// The columns of explicit keys whose colon was not seen yet.
    explicit_keys: Vec<i32>,
    flow: Vec<Flow>,
    key_allowed: bool,
    candidate: Option<Candidate>,
    /// A tab was skipped since the line began or since the last block indicator, with nothing else in between.
    after_tab: bool,
    max_depth: usize,
    /// What the next document may hold.
    pub budget: Budget,
    /// The tokens of the document that was scanned last, ending with `StreamEnd` or at the next document's start.
    pub tokens: Vec<Token>,
    /// Its comments, in order, from `#` to the end of the line.
    pub comments: Vec<Span>,
}

/// How many nodes the rest of a stream may have. No node is made of more than eight tokens, so that scanning can stop long
/// before nodes are made.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    /// `YamlLimits::max_nodes`.
    pub max_nodes: usize,
    pub left: usize,
}

impl Budget {
    /// How many tokens, and how many comments, a document may have.
    fn pieces(self) -> usize {
        self.left.saturating_mul(8).saturating_add(64)
    }

    fn exceeded(self, offset: usize) -> Fail {
        Fail::limit(offset, "max_nodes", self.max_nodes)
    }
}

/// What stopped [`Scanner::document`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Another document may follow.
    Document,
    /// Nothing follows.
    Stream,
}

impl<'a> Scanner<'a> {
    /// A scanner at the beginning of `source`. Block and flow collections may nest up to `max_depth` levels.
    pub fn new(source: &'a str, max_depth: usize) -> Self {
        let mut scanner = Self {
            src: source.as_bytes(),
            pos: 0,
            line: 0,
            indent: -1,
            indents: Vec::new(),
            explicit_keys: Vec::new(),
            flow: Vec::new(),
            key_allowed: true,
            candidate: None,
            after_tab: false,
            max_depth,
            budget: Budget { max_nodes: usize::MAX, left: usize::MAX },
            tokens: Vec::new(),
            comments: Vec::new(),
        };
        scanner.skip_mark();
        scanner
    }

    /// The offset up to which the stream was read.
    pub fn offset(&self) -> usize {
        self.pos
    }

    /// Scans the next document into `tokens` and `comments`, which are emptied first.
    pub fn document(&mut self) -> Result<Stop, Fail> {
        self.tokens.clear();
        self.comments.clear();
        self.indent = -1;
        self.indents.clear();
        self.explicit_keys.clear();
        self.key_allowed = true;
        self.candidate = None;
        let mut started = false;
        loop {
            self.skip_trivia()?;
            if self.tokens.len() >= self.budget.pieces() {
                return Err(self.budget.exceeded(self.pos));
            }
            let column = self.column();
            self.unroll(column);
            let byte = self.at(self.pos);
            if self.pos >= self.src.len() {
                if !self.flow.is_empty() {
                    return Err(self.fail(
                        "the document ends inside of a flow collection: a closing bracket is missing",
                    ));
                }
                self.unroll(-1);
                self.empty(TokenKind::StreamEnd);
                return Ok(Stop::Stream);
            }
            if column == 0 {
                if self.marker(self.pos, b'-') {
                    if started || self.content_seen() {
                        self.close_document()?;
                        return Ok(Stop::Document);
                    }
                    started = true;
                    self.close_document()?;
                    self.push(TokenKind::DocumentStart, 3);
                    self.key_allowed = false;
                    continue;
                }
                if self.marker(self.pos, b'.') {
                    self.close_document()?;
                    if self.tokens.iter().any(|token| token.kind == TokenKind::Directive) && !started {
                        return Err(
                            self.fail("a directive must be followed by a document that begins with \"---\"")
                        );
                    }
                    self.push(TokenKind::DocumentEnd, 3);
                    self.rest_of_line_is_blank()?;
                    return Ok(Stop::Document);
                }
                if byte == b'%' && !started && !self.content_seen() {
                    self.directive();
                    continue;
                }
            }
            self.token(byte)?;
        }
    }

    fn token(&mut self, byte: u8) -> Result<(), Fail> {
        let next = self.at(self.pos + 1);
        let in_flow = !self.flow.is_empty();
        match byte {
            b'[' | b'{' => self.flow_start(byte),
            b']' | b'}' => self.flow_end(byte),
            b',' if in_flow => {
                self.push(TokenKind::FlowEntry, 1);
                self.candidate = None;
                self.key_allowed = true;
                Ok(())
            }
            b'-' if is_blank_or_end(next) => self.block_entry(),
            b'?' if is_blank_or_end(next) || in_flow && is_flow_indicator(next) => self.explicit_key(),
            b':' if is_blank_or_end(next)
                || in_flow && (is_flow_indicator(next) || self.after_json_key()) =>
            {
                self.value()
            }
            b'&' => self.anchor_or_alias(TokenKind::Anchor),
            b'*' => self.anchor_or_alias(TokenKind::Alias),
            b'!' => self.tag(),
            b'|' if !in_flow => self.block_scalar(TokenKind::Literal),
            b'>' if !in_flow => self.block_scalar(TokenKind::Folded),
            b'\'' => self.single_quoted(),
            b'"' => self.double_quoted(),
            b'-' | b'?' | b':' if !(in_flow && is_flow_indicator(next)) => {
                self.plain();
                Ok(())
            }
            b'#' => Err(self.fail("a comment must be separated from what stands before it by a blank")),
            b'\t' => Err(self.fail("a tab cannot be used for indentation").hint("use spaces")),
            b'%' => Err(self
                .fail("a \"%\" cannot begin plain text")
                .hint("quote the text, or end the document before with \"...\" if this is a directive")),
            b'@' | b'`' => Err(self
                .fail("\"@\" and \"`\" are reserved and cannot begin plain text")
                .hint("quote the text")),
            b',' | b'|' | b'>' | b'-' | b'?' | b':' => {
                Err(self.fail("this character cannot begin plain text here").hint("quote the text"))
            }
            _ => {
                self.plain();
                Ok(())
            }
        }
    }

    // ---- trivia

    /// Skips blanks, comments and line breaks.
    fn skip_trivia(&mut self) -> Result<(), Fail> {
        loop {
            let byte = self.at(self.pos);
            match byte {
                b' ' => self.pos += 1,
                b'\t' => {
                    self.after_tab |= self.key_allowed;
                    self.pos += 1;
                }
                b'\n' | b'\r' => self.line_break()?,
                b'#' => {
                    if self.pos > self.line && !is_blank(self.at(self.pos - 1)) {
                        return Ok(());
                    }
                    self.comment()?;
                }
                0xEF if self.pos == self.line && !self.content_started() && self.skip_mark() => {}
                _ => return Ok(()),
            }
            if self.pos >= self.src.len() {
                return Ok(());
            }
        }
    }

    /// Takes the comment at the current position, up to the line break.
    fn comment(&mut self) -> Result<(), Fail> {
        if self.comments.len() >= self.budget.pieces() {
            return Err(self.budget.exceeded(self.pos));
        }
        let end = self.end_of_line(self.pos);
        self.comments.push(Span::new(self.pos, end));
        self.pos = end;
        Ok(())
    }

    /// Takes a line break. In block context, what follows may be a key again.
    fn line_break(&mut self) -> Result<(), Fail> {
        if let Some(candidate) =
            self.candidate.filter(|candidate| self.flow.is_empty() && candidate.column == self.indent)
        {
            let start = self.tokens[candidate.token].span.start as usize;
            return Err(Fail::syntax(start, "a key with a colon is expected here").hint(
                "check the indentation; text that goes over lines must be indented deeper than its key",
            ));
        }
        self.pos = self.after_break(self.pos);
        self.line = self.pos;
        self.after_tab = false;
        if self.flow.is_empty() {
            self.key_allowed = true;
            self.candidate = None;
        }
        Ok(())
    }

    /// Skips a byte order mark; tells whether there was one. The column counts from behind it.
    fn skip_mark(&mut self) -> bool {
        let found = self.src[self.pos..].starts_with("\u{feff}".as_bytes());
        if found {
            self.pos += 3;
            self.line = self.pos;
        }
        found
    }

    fn rest_of_line_is_blank(&mut self) -> Result<(), Fail> {
        while is_blank(self.at(self.pos)) {
            self.pos += 1;
        }
        match self.at(self.pos) {
            b'#' if is_blank(self.at(self.pos - 1)) => self.comment()?,
            byte if is_break_or_end(byte) => {}
            _ => return Err(self.fail("only a comment may follow \"...\" on its line")),
        }
        if self.pos < self.src.len() {
            self.line_break()?;
        }
        Ok(())
    }

    // ---- structure

    fn close_document(&mut self) -> Result<(), Fail> {
        if !self.flow.is_empty() {
            return Err(self
                .fail("a document marker stands inside of a flow collection: a closing bracket is missing"));
        }
        self.unroll(-1);
        self.candidate = None;
        Ok(())
    }

    /// Whether the document has content already; directives and markers are none.
    fn content_seen(&self) -> bool {
        self.tokens.last().is_some_and(|token| token.kind != TokenKind::Directive)
    }

    /// Whether anything but directives and a marker was read.
    fn content_started(&self) -> bool {
        self.tokens
            .last()
            .is_some_and(|token| !matches!(token.kind, TokenKind::Directive | TokenKind::DocumentStart))
    }

    /// Closes block collections that are indented deeper than `column`.
    fn unroll(&mut self, column: i32) {
        if !self.flow.is_empty() {
            return;
        }
        while self.explicit_keys.last().is_some_and(|key| *key > column) {
            self.explicit_keys.pop();
        }
        while self.indent > column {
            self.empty(TokenKind::BlockEnd);
            self.indent = self.indents.pop().unwrap_or(-1);
        }
    }

    /// Opens a block collection at `column`, if it is deeper than the current one; tells whether it is.
    fn roll(&mut self, column: i32) -> Result<bool, Fail> {
        if !self.flow.is_empty() || self.indent >= column {
            return Ok(false);
        }
        self.check_depth()?;
        self.indents.push(self.indent);
        self.indent = column;
        Ok(true)
    }

    fn check_depth(&self) -> Result<(), Fail> {
        if self.indents.len() + self.flow.len() >= self.max_depth {
            return Err(Fail::limit(self.pos, "max_depth", self.max_depth));
        }
        Ok(())
    }

    fn flow_start(&mut self, byte: u8) -> Result<(), Fail> {
        self.check_depth()?;
        self.begin_candidate();
        let mapping = byte == b'{';
        let kind = if mapping { TokenKind::FlowMappingStart } else { TokenKind::FlowSequenceStart };
        self.push(kind, 1);
        self.flow.push(Flow { candidate: self.candidate.take(), mapping });
        self.key_allowed = true;
        Ok(())
    }

    fn flow_end(&mut self, byte: u8) -> Result<(), Fail> {
        let mapping = byte == b'}';
        match self.flow.pop() {
            Some(flow) if flow.mapping == mapping => self.candidate = flow.candidate,
            Some(_) => return Err(self.fail("this bracket does not match the one that is open")),
            None => {
                return Err(self
                    .fail("this bracket closes nothing")
                    .hint("quote the text if it begins with a bracket"));
            }
        }
        self.push(if mapping { TokenKind::FlowMappingEnd } else { TokenKind::FlowSequenceEnd }, 1);
        self.key_allowed = false;
        Ok(())
    }

    fn block_entry(&mut self) -> Result<(), Fail> {
        if !self.flow.is_empty() {
            return Err(self.fail("a list item with a dash cannot stand inside of a flow collection"));
        }
        if !self.key_allowed {
            return Err(self.fail("a list item cannot begin here").hint("begin it on a line of its own"));
        }
        if self.after_tab {
            return Err(self.fail("a tab cannot be used for indentation").hint("use spaces"));
        }
        let column = self.column();
        let opens = self.roll(column)?;
        self.candidate = None;
        self.push(TokenKind::BlockEntry, 1);
        if opens {
            self.mark_last(Flags::SEQUENCE, column);
        }
        Ok(())
    }

    fn explicit_key(&mut self) -> Result<(), Fail> {
        let column = self.column();
        let mut opens = false;
        if self.flow.is_empty() {
            if !self.key_allowed {
                return Err(self.fail("a key cannot begin here"));
            }
            if self.after_tab {
                return Err(self.fail("a tab cannot be used for indentation").hint("use spaces"));
            }
            opens = self.roll(column)?;
        }
        self.candidate = None;
        self.key_allowed = self.flow.is_empty();
        if self.flow.is_empty() {
            self.explicit_keys.retain(|key| *key < column);
            self.explicit_keys.push(column);
        }
        self.push(TokenKind::ExplicitKey, 1);
        if opens {
            self.mark_last(Flags::MAPPING, column);
        }
        Ok(())
    }

    fn value(&mut self) -> Result<(), Fail> {
        if let Some(candidate) = self.candidate.take() {
            return self.implicit_value(candidate);
        }
        let column = self.column();
        let mut opens = false;
        if self.flow.is_empty() {
            if !self.key_allowed {
                return Err(self
                    .fail("a mapping value is not allowed here")
                    .hint("quote the text if it holds \": \", or check the indentation of this line"));
            }
            if self.after_tab {
                return Err(self.fail("a tab cannot be used for indentation").hint("use spaces"));
            }
            opens = self.roll(column)?;
        }
        // Only behind an explicit key may a collection begin on the line of the colon.
        self.key_allowed = self.flow.is_empty() && self.explicit_keys.last() == Some(&column);
        if self.key_allowed {
            self.explicit_keys.pop();
        }
        self.push(TokenKind::Value, 1);
        if opens {
            self.mark_last(Flags::MAPPING, column);
        }
        Ok(())
    }

    /// The colon behind an implicit key.
    fn implicit_value(&mut self, candidate: Candidate) -> Result<(), Fail> {
        let one_line = candidate.line == self.line;
        let in_flow_mapping = self.flow.last().is_some_and(|flow| flow.mapping);
        if !one_line && !self.flow.is_empty() && !in_flow_mapping {
            return Err(self.fail("a comma or a closing bracket is missing before this key"));
        }
        if !one_line && !in_flow_mapping {
            return Err(self
                .fail("a key must stand on one line")
                .hint("check the indentation of this line, or of the one before"));
        }
        let opens = if self.flow.is_empty() {
            if candidate.after_tab {
                return Err(self.fail("a tab cannot be used for indentation").hint("use spaces"));
            }
            self.roll(candidate.column)?
        } else {
            false
        };
        let token = &mut self.tokens[candidate.token];
        token.flags.add(Flags::KEY);
        if opens {
            token.flags.add(Flags::MAPPING);
            token.column = candidate.column.unsigned_abs();
        }
        self.key_allowed = false;
        self.push(TokenKind::Value, 1);
        Ok(())
    }

    /// Remembers that an implicit key may begin with the next token.
    fn begin_candidate(&mut self) {
        if self.key_allowed {
            self.candidate = Some(Candidate {
                token: self.tokens.len(),
                line: self.line,
                column: self.column(),
                after_tab: self.after_tab,
            });
        }
    }

    /// Whether the last token is a quoted scalar or a closed flow collection, after which a colon needs no blank.
    fn after_json_key(&self) -> bool {
        self.candidate.is_some()
            && self.tokens.last().is_some_and(|token| {
                matches!(
                    token.kind,
                    TokenKind::SingleQuoted
                        | TokenKind::DoubleQuoted
                        | TokenKind::FlowSequenceEnd
                        | TokenKind::FlowMappingEnd
                )
            })
    }

    // ---- small steps

    fn at(&self, pos: usize) -> u8 {
        self.src.get(pos).copied().unwrap_or(0)
    }

    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        reason = "sources are shorter than i32::MAX"
    )]
    fn column(&self) -> i32 {
        (self.pos - self.line) as i32
    }

    /// Whether three `byte`s and a blank stand at `pos`.
    fn marker(&self, pos: usize, byte: u8) -> bool {
        self.at(pos) == byte
            && self.at(pos + 1) == byte
            && self.at(pos + 2) == byte
            && is_blank_or_end(self.at(pos + 3))
    }

    fn any_marker(&self, pos: usize) -> bool {
        self.marker(pos, b'-') || self.marker(pos, b'.')
    }

    fn end_of_line(&self, pos: usize) -> usize {
        memchr::memchr2(b'\n', b'\r', &self.src[pos..]).map_or(self.src.len(), |at| pos + at)
    }

    /// The offset behind the line break at `pos`.
    fn after_break(&self, pos: usize) -> usize {
        if self.at(pos) == b'\r' && self.at(pos + 1) == b'\n' {
            pos + 2
        } else {
            (pos + 1).min(self.src.len())
        }
    }

    fn push(&mut self, kind: TokenKind, length: usize) {
        let span = Span::new(self.pos, self.pos + length);
        self.tokens.push(Token { kind, flags: Flags::default(), span, column: 0 });
        self.pos += length;
    }

    fn empty(&mut self, kind: TokenKind) {
        let span = Span::new(self.pos, self.pos);
        self.tokens.push(Token { kind, flags: Flags::default(), span, column: 0 });
    }

    fn mark_last(&mut self, flag: Flags, column: i32) {
        if let Some(token) = self.tokens.last_mut() {
            token.flags.add(flag);
            token.column = column.unsigned_abs();
        }
    }

    fn fail(&self, message: &'static str) -> Fail {
        Fail::syntax(self.pos, message)
    }
}

pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// A line break, or the end of the text.
pub(super) fn is_break_or_end(byte: u8) -> bool {
    byte == b'\n' || byte == b'\r' || byte == 0
}

fn is_blank_or_end(byte: u8) -> bool {
    is_blank(byte) || is_break_or_end(byte)
}

fn is_flow_indicator(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b']' | b'{' | b'}')
}
