//! Plain, quoted and block scalars.

use super::{
    Fail, Flags, Scanner, Span, Token, TokenKind, is_blank, is_blank_or_end, is_break_or_end,
    is_flow_indicator,
};

/// Bytes that may end plain text or one of its lines.
static PLAIN_STOP: [bool; 256] = {
    let mut table = [false; 256];
    let stops = b":#,[]{}\n\r\0";
    let mut at = 0;
    while at < stops.len() {
        table[stops[at] as usize] = true;
        at += 1;
    }
    table
};

impl Scanner<'_> {
    pub(super) fn plain(&mut self) {
        self.begin_candidate();
        let start = self.pos;
        let mut flags = Flags::default();
        let (mut end, mut stop) = self.plain_line(start, start);
        let mut line = self.line;
        while matches!(self.at(stop), b'\n' | b'\r') {
            let Some((content, content_line)) = self.plain_continues(stop) else { break };
            let (line_end, line_stop) = self.plain_line(content, content);
            if line_end == content {
                break;
            }
            flags.add(Flags::MULTILINE);
            flags.add(Flags::COOKED);
            (end, stop, line) = (line_end, line_stop, content_line);
        }
        self.finish(TokenKind::Plain, start, end, flags, 0);
        self.line = line;
    }

    /// The end of the text of one line of plain text, and where its scan stopped.
    fn plain_line(&self, from: usize, first: usize) -> (usize, usize) {
        let in_flow = !self.flow.is_empty();
        let mut pos = from;
        loop {
            while pos < self.src.len() && !PLAIN_STOP[self.src[pos] as usize] {
                pos += 1;
            }
            let stops = match self.at(pos) {
                b':' => {
                    let next = self.at(pos + 1);
                    is_blank_or_end(next) || in_flow && is_flow_indicator(next)
                }
                b'#' => pos == first || is_blank(self.at(pos - 1)),
                b',' | b'[' | b']' | b'{' | b'}' => in_flow,
                _ => true,
            };
            if stops {
                break;
            }
            pos += 1;
        }
        let stop = pos;
        while pos > from && is_blank(self.src[pos - 1]) {
            pos -= 1;
        }
        (pos, stop)
    }

    /// Looks behind the line break at `pos`: where plain text goes on, and where that line begins.
    fn plain_continues(&self, pos: usize) -> Option<(usize, usize)> {
        let mut line = self.after_break(pos);
        loop {
            let mut content = line;
            while self.at(content) == b' ' {
                content += 1;
            }
            let spaces = content - line;
            while is_blank(self.at(content)) {
                content += 1;
            }
            match self.at(content) {
                b'\n' | b'\r' => line = self.after_break(content),
                0 | b'#' => return None,
                _ if spaces == 0 && content == line && self.any_marker(line) => return None,
                _ if self.flow.is_empty() && !deeper(spaces, self.indent) => return None,
                _ => return Some((content, line)),
            }
        }
    }

    pub(super) fn single_quoted(&mut self) -> Result<(), Fail> {
        self.begin_candidate();
        let start = self.pos;
        let mut flags = Flags::default();
        let mut pos = start + 1;
        loop {
            let Some(at) = memchr::memchr(b'\'', &self.src[pos..]) else {
                return Err(self.fail("the closing single quote is missing"));
            };
            pos += at + 1;
            if self.at(pos) != b'\'' {
                break;
            }
            flags.add(Flags::COOKED);
            pos += 1;
        }
        self.quoted(TokenKind::SingleQuoted, start, pos, flags)
    }

    pub(super) fn double_quoted(&mut self) -> Result<(), Fail> {
        self.begin_candidate();
        let start = self.pos;
        let mut flags = Flags::default();
        let mut pos = start + 1;
        loop {
            let Some(at) = memchr::memchr2(b'"', b'\\', &self.src[pos..]) else {
                return Err(self.fail("the closing double quote is missing"));
            };
            pos += at;
            if self.src[pos] == b'"' {
                pos += 1;
                break;
            }
            flags.add(Flags::COOKED);
            pos = self.escape(pos)?;
        }
        self.quoted(TokenKind::DoubleQuoted, start, pos, flags)
    }

    /// Checks the escape at `pos`; gives the offset behind it.
    fn escape(&self, pos: usize) -> Result<usize, Fail> {
        let digits = match self.at(pos + 1) {
            b'x' => 2,
            b'u' => 4,
            b'U' => 8,
            b'0' | b'a' | b'b' | b't' | b'\t' | b'n' | b'v' | b'f' | b'r' | b'e' | b' ' | b'"' | b'/'
            | b'\\' | b'N' | b'_' | b'L' | b'P' | b'\n' | b'\r' => return Ok(pos + 2),
            _ => {
                return Err(Fail::syntax(pos, "this escape is not known")
                    .hint("write \\\\ for a backslash, or use single quotes"));
            }
        };
        let code = self.hex(pos + 2, digits)?;
        let end = pos + 2 + digits;
        if (0xD800..0xDC00).contains(&code)
            && digits == 4
            && self.at(end) == b'\\'
            && self.at(end + 1) == b'u'
        {
            let low = self.hex(end + 2, 4)?;
            if (0xDC00..0xE000).contains(&low) {
                return Ok(end + 6);
            }
        }
        if char::from_u32(code).is_none() {
            return Err(Fail::syntax(pos, "this escape names no character"));
        }
        Ok(end)
    }

    fn hex(&self, pos: usize, digits: usize) -> Result<u32, Fail> {
        let mut code = 0u32;
        for at in pos..pos + digits {
            let Some(digit) = char::from(self.at(at)).to_digit(16) else {
                return Err(Fail::syntax(pos, "this escape needs more hexadecimal digits"));
            };
            code = code << 4 | digit;
        }
        Ok(code)
    }

    /// Ends a quoted scalar: looks at its lines, then at what follows.
    fn quoted(&mut self, kind: TokenKind, start: usize, end: usize, mut flags: Flags) -> Result<(), Fail> {
        let mut line = self.line;
        let mut pos = start;
        while let Some(at) = memchr::memchr2(b'\n', b'\r', &self.src[pos..end]) {
            flags.add(Flags::MULTILINE);
            flags.add(Flags::COOKED);
            pos = self.after_break(pos + at);
            line = pos;
            if self.any_marker(pos) {
                return Err(Fail::syntax(
                    pos,
                    "a document marker stands inside of quoted text: a closing quote is missing",
                ));
            }
            if self.flow.is_empty() && self.at(pos) == b'\t' && self.indent >= 0 {
                let text =
                    self.src[pos..end].iter().position(|byte| !is_blank(*byte)).map_or(end, |at| pos + at);
                if !is_break_or_end(self.at(text)) {
                    return Err(Fail::syntax(pos, "a tab cannot be used for indentation").hint("use spaces"));
                }
            }
        }
        self.finish(kind, start, end, flags, 0);
        self.line = line;
        let next = self.at(end);
        let adjacent =
            if self.flow.is_empty() { next == b':' } else { is_flow_indicator(next) || next == b':' };
        if !is_blank_or_end(next) && !adjacent {
            return Err(Fail::syntax(end, "nothing may follow the closing quote here")
                .hint("quote the whole text, or separate it with a blank"));
        }
        Ok(())
    }

    pub(super) fn block_scalar(&mut self, kind: TokenKind) -> Result<(), Fail> {
        self.candidate = None;
        let start = self.pos;
        let (chomp, explicit) = self.block_header()?;
        if self.pos >= self.src.len() {
            self.finish_block(kind, start, self.pos, explicit.unwrap_or(0));
            return Ok(());
        }
        let mut pos = self.after_break(self.pos);
        let floor = self.indent + 1;
        let indent = match explicit {
            Some(more) => usize::try_from(self.indent.max(0)).unwrap_or(0) + more,
            None => self.detect_indent(pos, usize::try_from(floor).unwrap_or(0))?,
        };
        // Where the content ends, and where the blank lines behind it end.
        let mut end = pos;
        loop {
            let mut content = pos;
            while self.at(content) == b' ' && content - pos < indent {
                content += 1;
            }
            let byte = self.at(content);
            if content - pos < indent && !is_break_or_end(byte) {
                break;
            }
            if content == pos && indent == 0 && self.any_marker(pos) {
                break;
            }
            if pos >= self.src.len() {
                break;
            }
            let line_end = self.end_of_line(content);
            pos = if line_end < self.src.len() { self.after_break(line_end) } else { line_end };
            if line_end > content || chomp == Some(b'+') {
                end = pos;
            }
        }
        self.finish_block(kind, start, end, indent);
        Ok(())
    }

    fn finish_block(&mut self, kind: TokenKind, start: usize, end: usize, indent: usize) {
        let mut flags = Flags::COOKED;
        flags.add(Flags::MULTILINE);
        self.finish(kind, start, end, flags, u32::try_from(indent).unwrap_or(u32::MAX));
        self.line = self.pos;
        // At the end of the text without a line break the line is still that of the content; nothing can follow.
        self.key_allowed = true;
        self.after_tab = false;
    }

    /// Reads the indicators behind `|` or `>`, and a comment. Ends at the line break.
    fn block_header(&mut self) -> Result<(Option<u8>, Option<usize>), Fail> {
        let mut chomp = None;
        let mut explicit = None;
        self.pos += 1;
        loop {
            match self.at(self.pos) {
                byte @ (b'+' | b'-') if chomp.is_none() => chomp = Some(byte),
                byte @ b'1'..=b'9' if explicit.is_none() => explicit = Some(usize::from(byte - b'0')),
                _ => break,
            }
            self.pos += 1;
        }
        while is_blank(self.at(self.pos)) {
            self.pos += 1;
        }
        if self.at(self.pos) == b'#' && is_blank(self.at(self.pos - 1)) {
            self.comment()?;
        }
        if !is_break_or_end(self.at(self.pos)) {
            return Err(self
                .fail("only indicators and a comment may follow \"|\" or \">\" on its line")
                .hint("begin the text on the next line, or quote it"));
        }
        Ok((chomp, explicit))
    }

    /// The indentation of the first line that is not blank.
    fn detect_indent(&self, from: usize, floor: usize) -> Result<usize, Fail> {
        let mut widest = 0;
        let mut line = from;
        loop {
            let mut content = line;
            while self.at(content) == b' ' {
                content += 1;
            }
            let spaces = content - line;
            match self.at(content) {
                0 => return Ok(floor.max(widest.max(spaces))),
                b'\n' | b'\r' => {
                    widest = widest.max(spaces);
                    line = self.after_break(content);
                }
                b'\t' if spaces < floor => {
                    return Err(
                        Fail::syntax(content, "a tab cannot be used for indentation").hint("use spaces")
                    );
                }
                _ if spaces < floor => return Ok(floor.max(widest)),
                _ if widest > spaces => {
                    return Err(Fail::syntax(
                        content,
                        "a blank line before this text has more spaces than the text",
                    )
                    .hint("remove the spaces, or say the indentation as in \"|2\""));
                }
                _ => return Ok(spaces),
            }
        }
    }

    fn finish(&mut self, kind: TokenKind, start: usize, end: usize, flags: Flags, column: u32) {
        self.tokens.push(Token { kind, flags, span: Span::new(start, end), column });
        self.pos = end;
        self.key_allowed = false;
    }
}

/// Whether a line with that many spaces stands deeper than the block collection at column `indent`.
fn deeper(spaces: usize, indent: i32) -> bool {
    i64::try_from(spaces).unwrap_or(i64::MAX) > i64::from(indent)
}
