//! From text to [`Path`].

use super::{Cause, EXCERPT_CHARS, Error, MAX_SEGMENTS, Path, Segment};

/// Reads one path from left to right; see the table in [`super`].
pub(super) struct Parser<'t> {
    text: &'t str,
    /// The byte that is read next.
    at: usize,
}

impl<'t> Parser<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub fn path(mut self) -> Result<Path, Error> {
        let mut path = Path::root();
        if self.text == "." {
            return Ok(path);
        }
        while let Some(c) = self.peek() {
            let start = self.at;
            if path.segments.len() == MAX_SEGMENTS {
                return Err(self.error(start, Cause::TooLong));
            }
            if path.segments.last() == Some(&Segment::Append) {
                return Err(self.error(start, Cause::AfterAppend));
            }
            let segment = match c {
                '[' => self.bracket()?,
                '.' => {
                    self.next();
                    // A dot before a bracket is how some write the root, as in `.[0]`.
                    if self.peek() == Some('[') { self.bracket()? } else { self.key()? }
                }
                _ if start == 0 => self.key()?,
                ']' => return Err(self.error(start, Cause::StrayBracket)),
                _ => return Err(self.error(start, Cause::MissingDot)),
            };
            path.segments.push(segment);
        }
        Ok(path)
    }

    /// A key without quotes, up to the next dot or bracket.
    fn key(&mut self) -> Result<Segment, Error> {
        let start = self.at;
        if matches!(self.peek(), Some('"' | '\'')) {
            return Err(self.error(start, Cause::StrayQuote));
        }
        let key = self.bare(&['.', '['])?;
        match self.peek() {
            Some(']') => Err(self.error(self.at, Cause::StrayBracket)),
            _ if self.at == start => Err(self.error(start, Cause::EmptyKey)),
            _ => Ok(Segment::Key(key)),
        }
    }

    /// `[` and what can follow it, up to `]`.
    fn bracket(&mut self) -> Result<Segment, Error> {
        let open = self.at;
        self.next();
        let start = self.at;
        if matches!(self.peek(), Some('"' | '\'')) {
            let key = self.quoted()?;
            let end = self.at;
            return match self.next() {
                Some(']') => Ok(Segment::Key(key)),
                Some('=') => self.matching(open, key),
                Some(_) => Err(self.error(end, Cause::AfterQuote)),
                None => Err(self.error(open, Cause::OpenBracket)),
            };
        }
        let word = self.bare(&['='])?;
        match self.next() {
            Some(']') => {}
            Some(_) if word.trim().is_empty() => return Err(self.error(start, Cause::EmptyMatchKey)),
            Some(_) => return self.matching(open, word.trim().into()),
            None => return Err(self.error(open, Cause::OpenBracket)),
        }
        let word = word.trim();
        if matches!(word, "" | "+") {
            return Ok(Segment::Append);
        }
        let digits = word.strip_prefix('-').unwrap_or(word);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(self.error(start, Cause::Bracket(word.into())));
        }
        word.parse().map(Segment::Index).map_err(|_| self.error(start, Cause::IndexTooLarge))
    }

    /// The value behind `key=`, up to `]`.
    fn matching(&mut self, open: usize, key: String) -> Result<Segment, Error> {
        while self.peek() == Some(' ') {
            self.next();
        }
        let value = if matches!(self.peek(), Some('"' | '\'')) {
            self.quoted()?
        } else {
            self.bare(&[])?.trim().into()
        };
        let end = self.at;
        match self.next() {
            Some(']') => Ok(Segment::Match { key, value }),
            Some(_) => Err(self.error(end, Cause::AfterQuote)),
            None => Err(self.error(open, Cause::OpenBracket)),
        }
    }

    /// Text without quotes, up to `]`, one of `ends`, or the end of the path. A backslash takes the next character,
    /// which is not a letter or digit, as it is.
    fn bare(&mut self, ends: &[char]) -> Result<String, Error> {
        let mut text = String::new();
        while let Some(c) = self.peek().filter(|c| *c != ']' && !ends.contains(c)) {
            let start = self.at;
            self.next();
            if c != '\\' {
                text.push(c);
                continue;
            }
            match self.next().filter(|c| !c.is_alphanumeric()) {
                Some(c) => text.push(c),
                None => return Err(self.error(start, Cause::BadEscape)),
            }
        }
        Ok(text)
    }

    /// Text in quotes: in single ones a quote is doubled, in double ones a backslash escapes.
    fn quoted(&mut self) -> Result<String, Error> {
        let open = self.at;
        let quote = self.next();
        let mut text = String::new();
        loop {
            let start = self.at;
            match self.next() {
                None => return Err(self.error(open, Cause::OpenQuote)),
                c if c == quote && c == Some('\'') && self.peek() == quote => {
                    self.next();
                    text.push('\'');
                }
                c if c == quote => return Ok(text),
                Some('\\') if quote == Some('"') => {
                    let c = self.escape().ok_or_else(|| self.error(start, Cause::BadEscape))?;
                    text.push(c);
                }
                Some(c) => text.push(c),
            }
        }
    }

    /// What follows a backslash in double quotes.
    fn escape(&mut self) -> Option<char> {
        match self.next()? {
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'u' => {
                let (code, _) = self.text[self.at..].strip_prefix('{')?.split_once('}')?;
                if !code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return None;
                }
                self.at += code.len() + 2;
                char::from_u32(u32::from_str_radix(code, 16).ok()?)
            }
            c if c.is_alphanumeric() => None,
            c => Some(c),
        }
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn error(&self, offset: usize, cause: Cause) -> Error {
        let before = self.text[..offset].chars().count();
        let from = before.saturating_sub(EXCERPT_CHARS / 2);
        let shown = self.text.chars().skip(from).take(EXCERPT_CHARS);
        let excerpt = shown.map(|c| if c.is_control() { ' ' } else { c }).collect();
        Error { cause, column: before + 1, excerpt, caret: before - from }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Segment {
        Segment::Key(name.into())
    }

    fn matching(key: &str, value: &str) -> Segment {
        Segment::Match { key: key.into(), value: value.into() }
    }

    #[test]
    fn paths_are_read_and_have_one_spelling() {
        let check = |text: &str, segments: &[Segment], spelling: &str| {
            let path = Path::parse(text).expect(text);
            assert_eq!(path.segments(), segments, "{text}");
            assert_eq!(path.to_string(), spelling, "{text}");
        };
        check("", &[], ".");
        check(".", &[], ".");
        check("a", &[key("a")], "a");
        check(".a.b", &[key("a"), key("b")], "a.b");
        check("a-b.c_d/e:f", &[key("a-b"), key("c_d/e:f")], "a-b.c_d/e:f");
        check("a[0][-1]", &[key("a"), Segment::Index(0), Segment::Index(-1)], "a[0][-1]");
        check("[07]", &[Segment::Index(7)], "[7]");
        check(".[0].a.[1]", &[Segment::Index(0), key("a"), Segment::Index(1)], "[0].a[1]");
        check("a[\"b.c/d\"].e", &[key("a"), key("b.c/d"), key("e")], "a[\"b.c/d\"].e");
        check("a['b.c']['it''s']", &[key("a"), key("b.c"), key("it's")], "a[\"b.c\"][\"it's\"]");
        check("a\\.b.c\\[\\]\\\\", &[key("a.b"), key("c[]\\")], "[\"a.b\"][\"c[]\\\\\"]");
        check("[\"plain\"]", &[key("plain")], "plain");
        check("[\"\"]", &[key("")], "[\"\"]");
        check("[\"\\n\\t\\r\\\"\\u{85}\"]", &[key("\n\t\r\"\u{85}")], "[\"\\n\\t\\r\\\"\\u{85}\"]");
        check("a b.größe", &[key("a b"), key("größe")], "[\"a b\"].größe");
        check("a[name=app].b", &[key("a"), matching("name", "app"), key("b")], "a[name=app].b");
        check("[ name = v1.5.0 ]", &[matching("name", "v1.5.0")], "[name=v1.5.0]");
        check("[arg=--x=y z]", &[matching("arg", "--x=y z")], "[arg=\"--x=y z\"]");
        check("['my key'=\"a]b\"]", &[matching("my key", "a]b")], "[\"my key\"=\"a]b\"]");
        check("[a=]", &[matching("a", "")], "[a=\"\"]");
        check("[a=x\\]y]", &[matching("a", "x]y")], "[a=\"x]y\"]");
        check("a[]", &[key("a"), Segment::Append], "a[]");
        check("a[+]", &[key("a"), Segment::Append], "a[]");
    }

    #[test]
    fn what_is_no_path_is_refused_with_its_column() {
        let check = |text: &str, column: usize, cause: Cause| {
            let error = Path::parse(text).expect_err(text);
            assert_eq!((error.column, error.cause), (column, cause), "{text}");
        };
        check("a..b", 3, Cause::EmptyKey);
        check("a.", 3, Cause::EmptyKey);
        check("..", 2, Cause::EmptyKey);
        check("a[0]b", 5, Cause::MissingDot);
        check("größe]", 6, Cause::StrayBracket);
        check("a[0]]", 5, Cause::StrayBracket);
        check("a[0", 2, Cause::OpenBracket);
        check("a[b=c", 2, Cause::OpenBracket);
        check("a[\"b\"", 2, Cause::OpenBracket);
        check("a.\"b.c\"", 3, Cause::StrayQuote);
        check("a[\"b]", 3, Cause::OpenQuote);
        check("a['b''", 3, Cause::OpenQuote);
        check("a['b'ü]", 6, Cause::AfterQuote);
        check("a[b='c'd]", 8, Cause::AfterQuote);
        check("a\\n", 2, Cause::BadEscape);
        check("a\\", 2, Cause::BadEscape);
        check("[\"\\u{d800}\"]", 3, Cause::BadEscape);
        check("[\"\\u{41\"]", 3, Cause::BadEscape);
        check("a[*]", 3, Cause::Bracket("*".into()));
        check("a[-]", 3, Cause::Bracket("-".into()));
        check("a[=b]", 3, Cause::EmptyMatchKey);
        check("a[99999999999999999999]", 3, Cause::IndexTooLarge);
        check("a[].b", 4, Cause::AfterAppend);
    }

    #[test]
    fn errors_show_the_path() {
        let error = Path::parse("spec..replicas").unwrap_err();
        let cause = "a key is missing here; write `[\"\"]` for the empty key";
        assert_eq!(error.to_string(), format!("the path \"spec..replicas\" is wrong in column 6: {cause}"));
        assert_eq!(format!("{error:#}"), format!("column 6: {cause}\n  spec..replicas\n       ^"));
        let long = Path::parse(&format!("{}..b", "a".repeat(500))).unwrap_err();
        assert_eq!(long.excerpt, format!("{}..b", "a".repeat(59)));
        assert_eq!((long.column, long.caret), (502, 60));
    }

    #[test]
    fn the_number_of_segments_is_limited() {
        let most = vec!["a"; MAX_SEGMENTS].join(".");
        assert_eq!(Path::parse(&most).unwrap().segments().len(), MAX_SEGMENTS);
        let error = Path::parse(&format!("{most}[0]")).unwrap_err();
        assert_eq!((error.cause, error.column), (Cause::TooLong, most.len() + 1));
    }
}
