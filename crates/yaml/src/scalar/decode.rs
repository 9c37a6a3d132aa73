//! From source text to value.
//!
//! The functions take one scalar as it stands in the source, cut out by a scanner that knows where it ends.
//! They borrow from it whenever the value is one contiguous piece of it. LF, CRLF and CR are line breaks; in
//! a value a line break is always LF. NEL, LS and PS are ordinary characters, as in YAML 1.2.
//!
//! Text that no scanner would hand over, say a quoted scalar without its closing quote, has some value and no
//! surprise: only a bad escape is worth an error.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use memchr::{memchr2, memchr3};

use super::chars::{break_len, is_blank};

/// An escape in a double-quoted scalar that stands for no character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadEscape {
    /// Where the backslash is, in bytes from the opening quote.
    pub offset: usize,
}

impl fmt::Display for BadEscape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "escape at byte {} of the double-quoted text stands for no character", self.offset)
    }
}

impl std::error::Error for BadEscape {}

/// The value of a plain scalar.
///
/// Assumes that `raw` neither begins nor ends with white space. Line breaks are folded: a single one becomes
/// a space, more become one line feed less, and the blanks around them go.
pub fn plain(raw: &str) -> Cow<'_, str> {
    let bytes = raw.as_bytes();
    let mut value = Gather::new(raw);
    let mut done = 0;
    while let Some(at) = memchr2(b'\n', b'\r', tail(bytes, done)).map(|found| done + found) {
        value.push_range(done..at);
        done = value.fold(at, 0);
    }
    value.push_range(done..raw.len());
    value.finish()
}

/// The value of a single-quoted scalar; `raw` includes the quotes.
pub fn single_quoted(raw: &str) -> Cow<'_, str> {
    let bytes = raw.as_bytes();
    let inside = without_quotes(bytes, b'\'');
    let mut value = Gather::new(raw);
    let mut done = inside.start;
    let mut fixed = 0;
    while let Some(at) = find3(bytes, b'\'', b'\n', b'\r', done..inside.end) {
        if bytes[at] == b'\'' {
            value.push_range(done..at + 1);
            let doubled = at + 1 < inside.end && bytes[at + 1] == b'\'';
            done = if doubled { at + 2 } else { at + 1 };
        } else {
            value.push_range(done..at);
            done = value.fold(at, fixed).min(inside.end);
            fixed = value.len();
        }
    }
    value.push_range(done..inside.end);
    value.finish()
}

/// The value of a double-quoted scalar; `raw` includes the quotes.
///
/// Besides the escapes of YAML 1.2 it takes a pair of surrogates (`\ud83d\ude00`) as one character, because JSON does.
///
/// # Errors
///
/// An escape that is unknown, too short, beyond Unicode or half of a surrogate pair.
pub fn double_quoted(raw: &str) -> Result<Cow<'_, str>, BadEscape> {
    let bytes = raw.as_bytes();
    let inside = without_quotes(bytes, b'"');
    let mut value = Gather::new(raw);
    let mut done = inside.start;
    let mut fixed = 0;
    while let Some(at) = find3(bytes, b'\\', b'\n', b'\r', done..inside.end) {
        value.push_range(done..at);
        if bytes[at] == b'\\' {
            let escape = &bytes[at + 1..inside.end];
            let continued = break_len(escape, 0);
            if continued > 0 {
                let (breaks, next) = skip_breaks(bytes, at + 1 + continued);
                value.push_line_feeds(breaks);
                done = next.min(inside.end);
            } else {
                let (char, length) = unescape(escape).ok_or(BadEscape { offset: at })?;
                value.push(char.encode_utf8(&mut [0; 4]));
                done = at + 1 + length;
            }
        } else {
            done = value.fold(at, fixed).min(inside.end);
        }
        fixed = value.len();
    }
    value.push_range(done..inside.end);
    Ok(value.finish())
}

/// The value of a literal or folded scalar.
///
/// `raw` begins at the `|` or `>` and reaches over the blank lines after the content; the header says the style
/// and the chomping. `content_indent` is the number of spaces that every line of content has in front. If the
/// text ends without a line break then so does the value.
pub fn block(raw: &str, content_indent: usize) -> Cow<'_, str> {
    let bytes = raw.as_bytes();
    let folded = bytes.first() == Some(&b'>');
    let header_end = memchr2(b'\n', b'\r', bytes).unwrap_or(raw.len());
    let chomping = Chomping::of_header(&bytes[..header_end]);

    let mut value = Gather::new(raw);
    let mut at = header_end + break_len(bytes, header_end);
    let mut gap = at;
    let mut previous = None;
    while at < raw.len() {
        let end = memchr2(b'\n', b'\r', tail(bytes, at)).map_or(raw.len(), |found| at + found);
        let spaces = bytes[at..end].iter().take(content_indent).take_while(|byte| **byte == b' ').count();
        let start = at + spaces;
        if start < end {
            let line = if is_blank(bytes[start]) { Line::Spaced } else { Line::Flush };
            let fold = folded && previous == Some(Line::Flush) && line == Line::Flush;
            value.push_gap(gap..at, if fold { Gap::Fold } else { Gap::Keep });
            value.push_range(start..end);
            previous = Some(line);
            gap = end;
        }
        at = end + break_len(bytes, end);
    }
    match chomping {
        Chomping::Clip if previous.is_some() => value.push_gap(gap..gap + break_len(bytes, gap), Gap::Keep),
        Chomping::Strip | Chomping::Clip => {}
        Chomping::Keep => value.push_gap(gap..raw.len(), Gap::Keep),
    }
    value.finish()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Strip,
    Clip,
    Keep,
}

impl Chomping {
    fn of_header(header: &[u8]) -> Self {
        let indicators = header.iter().skip(1).take_while(|byte| !is_blank(**byte) && **byte != b'#');
        indicators.fold(Self::Clip, |chomping, byte| match byte {
            b'-' => Self::Strip,
            b'+' => Self::Keep,
            _ => chomping,
        })
    }
}

/// A line of a block scalar: one that begins with white space is never folded.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Flush,
    Spaced,
}

/// What becomes of the line breaks between two lines of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    Fold,
    Keep,
}

/// A value that grows from pieces of the source, and is not copied as long as they lie next to each other.
struct Gather<'a> {
    raw: &'a str,
    slice: Range<usize>,
    copy: Option<String>,
}

impl<'a> Gather<'a> {
    fn new(raw: &'a str) -> Self {
        Self { raw, slice: 0..0, copy: None }
    }

    fn len(&self) -> usize {
        self.copy.as_ref().map_or(self.slice.len(), String::len)
    }

    fn push_range(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        if self.copy.is_none() && self.slice.is_empty() {
            self.slice = range;
        } else if self.copy.is_none() && self.slice.end == range.start {
            self.slice.end = range.end;
        } else {
            let piece = self.raw.get(range).unwrap_or_default();
            self.push(piece);
        }
    }

    fn push(&mut self, text: &str) {
        let (raw, slice) = (self.raw, self.slice.clone());
        self.copy.get_or_insert_with(|| raw.get(slice).unwrap_or_default().to_owned()).push_str(text);
    }

    fn push_line_feeds(&mut self, count: usize) {
        for _ in 0..count {
            self.push("\n");
        }
    }

    /// Takes away blanks at the end, but none of the first `fixed` bytes.
    fn trim_blanks(&mut self, fixed: usize) {
        let text = match &self.copy {
            Some(copy) => copy.as_bytes(),
            None => &self.raw.as_bytes()[self.slice.clone()],
        };
        let blanks = text.iter().skip(fixed).rev().take_while(|byte| is_blank(**byte)).count();
        let kept = text.len() - blanks;
        match &mut self.copy {
            Some(copy) => copy.truncate(kept),
            None => self.slice.end = self.slice.start + kept,
        }
    }

    /// Folds the line breaks that begin at `at`; yields where the next line begins.
    fn fold(&mut self, at: usize, fixed: usize) -> usize {
        self.trim_blanks(fixed);
        let (breaks, next) = skip_breaks(self.raw.as_bytes(), at);
        if breaks == 1 {
            self.push(" ");
        } else {
            self.push_line_feeds(breaks.saturating_sub(1));
        }
        next
    }

    /// Adds the line breaks in `range`, which holds nothing but line breaks and indentation.
    fn push_gap(&mut self, range: Range<usize>, gap: Gap) {
        let bytes = self.raw.as_bytes();
        let mut at = range.start;
        let mut first = gap == Gap::Fold;
        let mut folded = false;
        while let Some(found) = memchr2(b'\n', b'\r', &bytes[at..range.end]) {
            at += found;
            let length = break_len(bytes, at);
            if first {
                first = false;
                folded = true;
            } else {
                folded = false;
                match bytes[at] {
                    b'\n' => self.push_range(at..at + 1),
                    _ => self.push("\n"),
                }
            }
            at = (at + length).min(range.end);
        }
        if folded {
            self.push(" ");
        }
    }

    fn finish(self) -> Cow<'a, str> {
        match self.copy {
            Some(copy) => Cow::Owned(copy),
            None => Cow::Borrowed(self.raw.get(self.slice).unwrap_or_default()),
        }
    }
}

fn tail(bytes: &[u8], from: usize) -> &[u8] {
    bytes.get(from..).unwrap_or_default()
}

fn find3(bytes: &[u8], a: u8, b: u8, c: u8, range: Range<usize>) -> Option<usize> {
    let start = range.start;
    memchr3(a, b, c, bytes.get(range)?).map(|found| start + found)
}

/// Skips line breaks and blanks from `at` on; yields the number of line breaks and where the rest begins.
fn skip_breaks(bytes: &[u8], mut at: usize) -> (usize, usize) {
    let mut breaks = 0;
    loop {
        let length = break_len(bytes, at);
        if length > 0 {
            breaks += 1;
            at += length;
        } else if bytes.get(at).copied().is_some_and(is_blank) {
            at += 1;
        } else {
            return (breaks, at);
        }
    }
}

/// What lies between the quotes.
fn without_quotes(bytes: &[u8], quote: u8) -> Range<usize> {
    let start = usize::from(bytes.first() == Some(&quote));
    let closed = bytes.len() > start && bytes.last() == Some(&quote);
    start..bytes.len() - usize::from(closed)
}

/// The character that the text after a backslash stands for, and the length of that text.
fn unescape(text: &[u8]) -> Option<(char, usize)> {
    let char = match text.first()? {
        b'0' => '\0',
        b'a' => '\x07',
        b'b' => '\x08',
        b't' | b'\t' => '\t',
        b'n' => '\n',
        b'v' => '\x0B',
        b'f' => '\x0C',
        b'r' => '\r',
        b'e' => '\x1B',
        b' ' => ' ',
        b'"' => '"',
        b'/' => '/',
        b'\\' => '\\',
        b'N' => '\u{85}',
        b'_' => '\u{A0}',
        b'L' => '\u{2028}',
        b'P' => '\u{2029}',
        b'x' => return Some((char::from_u32(hex(text, 1, 2)?)?, 3)),
        b'u' => return unescape_utf16(text),
        b'U' => return Some((char::from_u32(hex(text, 1, 8)?)?, 9)),
        _ => return None,
    };
    Some((char, 1))
}

/// `uXXXX`, or two of them that make a surrogate pair.
fn unescape_utf16(text: &[u8]) -> Option<(char, usize)> {
    let unit = hex(text, 1, 4)?;
    if !(0xD800..0xDC00).contains(&unit) {
        return Some((char::from_u32(unit)?, 5));
    }
    if text.get(5..7)? != b"\\u" {
        return None;
    }
    let low = hex(text, 7, 4)?;
    if !(0xDC00..0xE000).contains(&low) {
        return None;
    }
    let code = 0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
    Some((char::from_u32(code)?, 11))
}

fn hex(text: &[u8], from: usize, digits: usize) -> Option<u32> {
    text.get(from..from + digits)?
        .iter()
        .try_fold(0u32, |value, byte| Some((value << 4) | char::from(*byte).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_lines_are_folded() {
        for (raw, expected) in [
            ("", ""),
            ("a b", "a b"),
            ("a\nb", "a b"),
            ("a \t\n \t b", "a b"),
            ("a\r\nb\rc", "a b c"),
            ("a\n\nb", "a\nb"),
            (
                "1st non-empty\n\n 2nd non-empty \n\t3rd non-empty",
                "1st non-empty\n2nd non-empty 3rd non-empty",
            ),
            ("a\r\n \r\n\r\nb", "a\n\nb"),
            ("a\u{85}b\u{2028}c", "a\u{85}b\u{2028}c"),
        ] {
            assert_eq!(plain(raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn single_quoted_text() {
        for (raw, expected) in [
            ("''", ""),
            ("' a '", " a "),
            ("'it''s'", "it's"),
            ("''''", "'"),
            ("'a''''b'", "a''b"),
            ("'a\nb'", "a b"),
            (
                "' 1st non-empty\n\n 2nd non-empty \n\t3rd non-empty '",
                " 1st non-empty\n2nd non-empty 3rd non-empty ",
            ),
            ("'a\n  '", "a "),
            ("'\n\na'", "\na"),
            ("'  \n  a'", " a"),
            ("'a\\n'", "a\\n"),
            ("'", ""),
            ("'a", "a"),
        ] {
            assert_eq!(single_quoted(raw), expected, "{raw:?}");
        }
    }

    #[test]
    fn double_quoted_text() {
        for (raw, expected) in [
            ("\"\"", ""),
            ("\" a ' \"", " a ' "),
            ("\"a\\\"b\\\\c\\/d\"", "a\"b\\c/d"),
            (
                "\"\\0\\a\\b\\t\\n\\v\\f\\r\\e\\ \\N\\_\\L\\P\"",
                "\0\x07\x08\t\n\x0B\x0C\r\x1B \u{85}\u{A0}\u{2028}\u{2029}",
            ),
            ("\"\\x41\\u263A\\U0001F600\"", "A\u{263A}\u{1F600}"),
            ("\"\\ud83d\\ude00\"", "\u{1F600}"),
            ("\"a\nb\"", "a b"),
            ("\"a \t\n \t b\"", "a b"),
            ("\"a\\t\nb\"", "a\t b"),
            ("\"a\\ \n b\"", "a  b"),
            (
                "\"folded \nto a space,\t\n \nto a line feed, or \t\\\n \\ \tnon-content\"",
                "folded to a space,\nto a line feed, or \t \tnon-content",
            ),
            ("\"a \\\n  b\"", "a b"),
            ("\"a\\\r\n\r\n  b\"", "a\nb"),
            (
                "\" 1st non-empty\n\n 2nd non-empty \n\t3rd non-empty \"",
                " 1st non-empty\n2nd non-empty 3rd non-empty ",
            ),
            ("\"a\\\t\tb\"", "a\t\tb"),
            ("\"\\\n\"", ""),
        ] {
            let got = double_quoted(raw).expect(raw);
            assert_eq!(got, expected, "{raw:?}");
        }
    }

    #[test]
    fn bad_escapes_are_located() {
        for (raw, offset) in [
            ("\"\\q\"", 1),
            ("\"ab\\x4\"", 3),
            ("\"\\xé\"", 1),
            ("\"\\u12\"", 1),
            ("\"\\ud83d\"", 1),
            ("\"\\ud83dx\\ude00\"", 1),
            ("\"\\ude00\"", 1),
            ("\"\\ud83d\\u0041\"", 1),
            ("\"\\U00110000\"", 1),
            ("\"\\U0000d83d\"", 1),
            ("\"\\é\"", 1),
            ("\"a\\\"", 2),
        ] {
            assert_eq!(double_quoted(raw), Err(BadEscape { offset }), "{raw:?}");
        }
    }

    #[test]
    fn literal_text() {
        for (raw, indent, expected) in [
            ("|\n  a\n", 2, "a\n"),
            ("|-\n  a\n", 2, "a"),
            ("|+\n  a\n\n", 2, "a\n\n"),
            ("|\n  a\n\n\n", 2, "a\n"),
            ("|\n  a", 2, "a"),
            ("|+\n  a", 2, "a"),
            ("|", 2, ""),
            ("|\n", 2, ""),
            ("|\n\n\n", 2, ""),
            ("|+\n\n\n", 2, "\n\n"),
            ("| # not-a+ chomping\n  a\n", 2, "a\n"),
            ("|2-\n   a\n", 2, " a"),
            ("|-2\n   a\n", 2, " a"),
            ("|\n a\n", 0, " a\n"),
            ("|\na\n\nb\n", 0, "a\n\nb\n"),
            ("|\r\n  a\r\n  b\r\n", 2, "a\nb\n"),
            ("|\r  a\r  b\r", 2, "a\nb\n"),
            ("|\n  a\n    b\n\n   \n  c \n", 2, "a\n  b\n\n \nc \n"),
            ("|\n \n  \n  literal\n   \n  \n  text\n", 2, "\n\nliteral\n \n\ntext\n"),
            ("|\n  a\n     ", 2, "a\n   "),
        ] {
            assert_eq!(block(raw, indent), expected, "{raw:?}");
        }
    }

    #[test]
    fn folded_text() {
        let spec =
            ">\n\n folded\n line\n\n next\n line\n   * bullet\n\n   * list\n   * lines\n\n last\n line\n\n";
        for (raw, indent, expected) in [
            (spec, 1, "\nfolded line\nnext line\n  * bullet\n\n  * list\n  * lines\n\nlast line\n"),
            (">\n folded\n text\n\n\n", 1, "folded text\n"),
            (">-\n  a\n  b\n", 2, "a b"),
            (">+\n  a\n  b\n\n", 2, "a b\n\n"),
            (">\n  a\n\n  b\n", 2, "a\nb\n"),
            (">\n  a\n\n\n  b\n", 2, "a\n\nb\n"),
            (">\n  a\n   b\n  c\n", 2, "a\n b\nc\n"),
            (">\n  a\n  \tb\n  c\n", 2, "a\n\tb\nc\n"),
            (">\r\n  a\r\n  b\r\n", 2, "a b\n"),
            (">\n  a\n   \n  b\n", 2, "a\n \nb\n"),
            (">\n \n  \t\n detected\n", 1, "\n \t\ndetected\n"),
            (">\n  a ", 2, "a "),
        ] {
            assert_eq!(block(raw, indent), expected, "{raw:?}");
        }
    }

    #[test]
    fn contiguous_values_are_borrowed() {
        for value in [
            plain("a b"),
            single_quoted("' a b '"),
            single_quoted("'a'''"),
            double_quoted("\"a b\"").expect("no escapes"),
            block("|\n  a\n", 2),
            block("|+\n  a\n\n\n", 2),
            block(">-\r\n  a\r\n", 2),
            block("|\na\n\nb\n", 0),
        ] {
            assert!(matches!(value, Cow::Borrowed(_)), "{value:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_has_a_value(raw in "[-+|>'\" \\\\a\r\n\t#0xuUé\u{1F600}]{0,24}", indent in 0usize..5) {
            let _ = plain(&raw);
            let _ = single_quoted(&raw);
            let _ = double_quoted(&raw);
            let _ = block(&raw, indent);
        }
    }
}
