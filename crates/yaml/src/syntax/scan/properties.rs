//! Anchors, aliases, tags and directives.

use super::{
    Fail, Flags, Scanner, Span, Token, TokenKind, is_blank, is_blank_or_end, is_break_or_end,
    is_flow_indicator,
};

impl Scanner<'_> {
    pub(super) fn anchor_or_alias(&mut self, kind: TokenKind) -> Result<(), Fail> {
        self.begin_candidate();
        let start = self.pos;
        let mut end = start + 1;
        while !is_blank_or_end(self.at(end)) && !is_flow_indicator(self.at(end)) {
            end += 1;
        }
        if end == start + 1 {
            return Err(self
                .fail("an anchor or alias needs a name")
                .hint("quote the text if it begins with \"*\" or \"&\""));
        }
        self.key_allowed = false;
        self.take(kind, end)
    }

    pub(super) fn tag(&mut self) -> Result<(), Fail> {
        self.begin_candidate();
        let start = self.pos;
        let mut end = start + 1;
        if self.at(end) == b'<' {
            while !is_blank_or_end(self.at(end)) && self.at(end) != b'>' {
                end += 1;
            }
            if self.at(end) != b'>' || end == start + 2 {
                return Err(self.fail("a verbatim tag must end with \">\" and must not be empty"));
            }
            end += 1;
        } else {
            while !is_blank_or_end(self.at(end)) && !is_flow_indicator(self.at(end)) {
                end += 1;
            }
        }
        self.key_allowed = false;
        self.take(TokenKind::Tag, end)
    }

    /// Takes the token up to `end`, which must be followed by a blank or, inside a flow collection, by its structure.
    fn take(&mut self, kind: TokenKind, end: usize) -> Result<(), Fail> {
        let next = self.at(end);
        if !is_blank_or_end(next) && (self.flow.is_empty() || !is_flow_indicator(next)) {
            return Err(Fail::syntax(end, "a blank is missing here"));
        }
        let length = end - self.pos;
        self.push(kind, length);
        Ok(())
    }

    /// Takes a directive line, without its comment.
    pub(super) fn directive(&mut self) {
        let line_end = self.end_of_line(self.pos);
        let mut end = self.pos;
        while end < line_end && !(self.at(end) == b'#' && is_blank(self.at(end - 1))) {
            end += 1;
        }
        while end > self.pos && is_blank(self.at(end - 1)) {
            end -= 1;
        }
        let span = Span::new(self.pos, end);
        self.tokens.push(Token { kind: TokenKind::Directive, flags: Flags::default(), span, column: 0 });
        self.pos = end;
        debug_assert!(is_blank(self.at(end)) || is_break_or_end(self.at(end)));
    }
}
