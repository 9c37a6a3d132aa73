//! From value to text, for a writer that changes nothing but what it was asked to change.
//!
//! [`present`] writes a value so that every reader gets exactly that value back, in the style that is wanted
//! if that style can hold it, and else in the nearest one:
//!
//! | wanted | text | written |
//! |---|---|---|
//! | plain | several lines | literal; double-quoted in flow collections and keys |
//! | plain | [ambiguous], or has tabs | double-quoted |
//! | plain | has indicators, or white space at an end | single-quoted |
//! | single-quoted | several lines, with white space around a break or in flow and keys | double-quoted |
//! | literal, folded | empty or nothing but line breaks, or in flow collections and keys | double-quoted |
//! | any | has characters that only an escape can express | double-quoted |

use super::Style;
use super::chars::{is_blank, needs_escape, push_escape};
use super::resolve::ambiguous;

/// Where a scalar stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The column of the parent's key or dash. Lines after the first one go to `indent + step`.
    pub indent: usize,
    /// How much deeper content is than its parent; 0 counts as 1.
    pub step: usize,
    /// Inside of `[…]` or `{…}`.
    pub flow: bool,
    /// A key of a mapping.
    pub key: bool,
}

/// What a text is meant to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string, whatever it looks like.
    String,
    /// A number, bool, null or the like, spelled as it should be printed.
    Other,
}

/// Writes `text` in the style that [`style_for`] chooses.
///
/// Lines end with `\n`. The result begins at the scalar itself, for a block scalar at its `|` or `>`, and does not hold the line
/// break that ends its last line. After a block scalar the caller **must** write that line break, because the
/// value counts on it. A comment on the line of a block scalar's header belongs before the first line break
/// of the result.
///
/// # Guarantees
///
/// Reading the result yields `text` again, and a string if `kind` says so. For [`Kind::Other`] that holds as
/// far as the text is a plain scalar; the empty text, a null that is not spelled out, is written as `null`
/// where nothing would not be read: in flow collections and keys.
pub fn present(text: &str, kind: Kind, wanted: Style, place: &Place) -> String {
    match style_for(text, kind, wanted, place) {
        Style::Plain if text.is_empty() && (place.flow || place.key) => "null".to_owned(),
        Style::Plain => text.to_owned(),
        Style::SingleQuoted => single_quoted(text, place),
        Style::DoubleQuoted => double_quoted(text),
        Style::Literal => block(text, '|', place),
        Style::Folded => block(text, '>', place),
    }
}

/// The style in which `text` is written when `wanted` is asked for: that one if it can hold the text there,
/// else the nearest that can.
pub fn style_for(text: &str, kind: Kind, wanted: Style, place: &Place) -> Style {
    let traits = Traits::of(text);
    if kind == Kind::Other && (text.is_empty() || traits.one_plain_line(place)) {
        return Style::Plain;
    }
    if traits.escapes {
        return Style::DoubleQuoted;
    }
    match wanted {
        Style::Plain if traits.lines => traits.or_double(Style::Literal, place),
        Style::Plain if traits.tabs || ambiguous(text) => Style::DoubleQuoted,
        Style::Plain if traits.one_plain_line(place) => Style::Plain,
        Style::Plain => Style::SingleQuoted,
        Style::SingleQuoted | Style::Literal | Style::Folded => traits.or_double(wanted, place),
        Style::DoubleQuoted => Style::DoubleQuoted,
    }
}

/// What matters of a text for the choice of a style.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "independent observations, made in one pass")]
struct Traits {
    /// Has a character that must be escaped.
    escapes: bool,
    tabs: bool,
    lines: bool,
    /// Has something else than line breaks.
    content: bool,
    /// Has a space or tab right before or after a line break.
    blank_at_break: bool,
    /// Begins with something that makes an indentation indicator necessary in a block scalar.
    hidden_indent: bool,
    /// Has something that ends or forbids a plain scalar anywhere.
    block_trouble: bool,
    /// Has something that ends or forbids a plain scalar in a flow collection.
    flow_trouble: bool,
}

impl Traits {
    fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut traits = Self { block_trouble: starts_like_syntax(bytes), ..Self::default() };
        traits.hidden_indent = matches!(bytes.first(), Some(b' ' | b'\t' | b'\n'));
        traits.flow_trouble = matches!(bytes.first(), Some(b':' | b'?'));
        let mut previous = None;
        for (at, char) in text.char_indices() {
            let next = bytes.get(at + char.len_utf8()).copied();
            let before_blank = next.is_none_or(is_blank);
            match char {
                '\n' => {
                    traits.lines = true;
                    traits.blank_at_break |= previous.is_some_and(is_blank) || next.is_some_and(is_blank);
                }
                '\t' => traits.tabs = true,
                ':' => traits.block_trouble |= before_blank,
                '#' => traits.block_trouble |= previous.is_some_and(is_blank),
                ',' | '[' | ']' | '{' | '}' | '?' => traits.flow_trouble = true,
                _ => traits.escapes |= needs_escape(char),
            }
            traits.content |= char != '\n';
            previous = Some(bytes[at]);
        }
        traits.block_trouble |= previous.is_some_and(is_blank);
        traits
    }

    fn one_plain_line(&self, place: &Place) -> bool {
        let trouble = self.escapes || self.tabs || self.lines || self.block_trouble;
        self.content && !trouble && !(place.flow && self.flow_trouble)
    }

    /// `style` if it can hold the text, which needs no escapes, else double quotes.
    fn or_double(&self, style: Style, place: &Place) -> Style {
        let lines_allowed = !place.flow && !place.key;
        let possible = match style {
            Style::SingleQuoted => !self.lines || lines_allowed && !self.blank_at_break,
            Style::Literal | Style::Folded => {
                lines_allowed && self.content && (!self.hidden_indent || step(place) <= 9)
            }
            Style::Plain | Style::DoubleQuoted => true,
        };
        if possible { style } else { Style::DoubleQuoted }
    }
}

/// Whether a plain scalar may not begin like this in any place.
fn starts_like_syntax(text: &[u8]) -> bool {
    match text {
        [b'-' | b'?' | b':'] | [b'-' | b'?' | b':', b' ' | b'\t', ..] => true,
        [b'-', b'-', b'-', rest @ ..] | [b'.', b'.', b'.', rest @ ..] => {
            rest.first().copied().is_none_or(is_blank)
        }
        [first, ..] => b" \t,[]{}#&*!|>'\"%@`".contains(first),
        [] => false,
    }
}

fn step(place: &Place) -> usize {
    place.step.max(1)
}

fn push_indent(out: &mut String, place: &Place) {
    out.extend(std::iter::repeat_n(' ', place.indent + step(place)));
}

/// A line break of the text is one more in the source, because the first one of several is folded away.
fn single_quoted(text: &str, place: &Place) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    let mut in_breaks = false;
    for char in text.chars() {
        if char == '\n' {
            if !in_breaks {
                out.push('\n');
            }
            out.push('\n');
            in_breaks = true;
            continue;
        }
        if std::mem::take(&mut in_breaks) {
            push_indent(&mut out, place);
        }
        if char == '\'' {
            out.push('\'');
        }
        out.push(char);
    }
    if in_breaks {
        push_indent(&mut out, place);
    }
    out.push('\'');
    out
}

fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        if matches!(char, '"' | '\\' | '\t' | '\n') || needs_escape(char) {
            push_escape(&mut out, char);
        } else {
            out.push(char);
        }
    }
    out.push('"');
    out
}

/// A literal or folded scalar, as `indicator` says; the text has more than line breaks in it.
fn block(text: &str, indicator: char, place: &Place) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    out.push(indicator);
    if matches!(text.as_bytes().first(), Some(b' ' | b'\t' | b'\n')) {
        out.push_str(&step(place).to_string());
    }
    let content = text.trim_end_matches('\n');
    let trailing = text.len() - content.len();
    match trailing {
        0 => out.push('-'),
        1 => {}
        _ => out.push('+'),
    }
    let mut previous_flush = false;
    for line in content.split('\n') {
        out.push('\n');
        let Some(first) = line.as_bytes().first() else {
            continue;
        };
        let flush = !is_blank(*first);
        if indicator == '>' && flush && previous_flush {
            out.push('\n');
        }
        previous_flush = flush;
        push_indent(&mut out, place);
        out.push_str(line);
    }
    for _ in 1..trailing {
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Resolved, decode, resolve};
    use super::*;

    const BLOCK: Place = Place { indent: 0, step: 2, flow: false, key: false };
    const FLOW: Place = Place { flow: true, ..BLOCK };
    const KEY: Place = Place { key: true, ..BLOCK };

    fn check(wanted: Style, place: &Place, table: &[(&str, &str)]) {
        for (text, expected) in table {
            let got = present(text, Kind::String, wanted, place);
            assert_eq!(got, *expected, "{text:?} as {wanted:?}");
            read_back(&got, text, Kind::String, place);
        }
    }

    fn read_back(written: &str, text: &str, kind: Kind, place: &Place) {
        let value = match written.as_bytes().first() {
            Some(b'\'') => decode::single_quoted(written).into_owned(),
            Some(b'"') => decode::double_quoted(written).expect("escapes are ours").into_owned(),
            Some(b'|' | b'>') => {
                let complete = format!("{written}\n");
                decode::block(&complete, place.indent + place.step.max(1)).into_owned()
            }
            _ => {
                assert!(kind == Kind::Other || resolve(written) == Resolved::Str, "{written:?} is no string");
                assert!(!written.contains('\n'), "{written:?} is one line");
                decode::plain(written).into_owned()
            }
        };
        if kind == Kind::Other && text.is_empty() {
            assert_eq!(resolve(&value), Resolved::Null);
        } else {
            assert_eq!(value, text, "{written:?}");
        }
    }

    #[test]
    fn plain_in_blocks() {
        check(
            Style::Plain,
            &BLOCK,
            &[
                ("a", "a"),
                ("a b", "a b"),
                ("é\u{1F600}", "é\u{1F600}"),
                (":x", ":x"),
                ("?x", "?x"),
                ("-x", "-x"),
                ("a,b", "a,b"),
                ("a#b", "a#b"),
                ("nginx:1.2", "nginx:1.2"),
                ("-----BEGIN", "-----BEGIN"),
                ("", "\"\""),
                ("yes", "\"yes\""),
                ("012", "\"012\""),
                ("1:30", "\"1:30\""),
                ("<<", "\"<<\""),
                ("a: b", "'a: b'"),
                ("x:", "'x:'"),
                ("a #b", "'a #b'"),
                ("#x", "'#x'"),
                (" a", "' a'"),
                ("a ", "'a '"),
                ("-", "'-'"),
                ("- x", "'- x'"),
                ("---", "'---'"),
                ("... x", "'... x'"),
                ("*it's", "'*it''s'"),
                ("{a", "'{a'"),
                ("@a", "'@a'"),
                ("a\tb", "\"a\\tb\""),
                ("a\u{7}b\u{FEFF}", "\"a\\ab\\uFEFF\""),
                ("a\nb", "|-\n  a\n  b"),
                ("a\nb\n", "|\n  a\n  b"),
                ("a\n\n\n", "|+\n  a\n\n"),
                ("a \n b\n", "|\n  a \n   b"),
                (" a\nb", "|2-\n   a\n  b"),
                ("\na", "|2-\n\n  a"),
                ("\ta\n", "|2\n  \ta"),
                ("a\r\nb", "\"a\\r\\nb\""),
                ("\n", "\"\\n\""),
                ("a\u{2028}\nb", "\"a\\L\\nb\""),
            ],
        );
    }

    #[test]
    fn plain_in_flow_and_keys() {
        check(
            Style::Plain,
            &FLOW,
            &[
                ("a", "a"),
                ("a:1", "a:1"),
                ("a,b", "'a,b'"),
                ("a]", "'a]'"),
                ("a?", "'a?'"),
                (":x", "':x'"),
                ("-x", "-x"),
                ("a\nb", "\"a\\nb\""),
                ("", "\"\""),
            ],
        );
        check(Style::Plain, &KEY, &[("a b", "a b"), ("a\nb", "\"a\\nb\""), ("a,b", "a,b"), ("on", "\"on\"")]);
    }

    #[test]
    fn quotes_are_kept() {
        check(
            Style::SingleQuoted,
            &BLOCK,
            &[
                ("a", "'a'"),
                ("8", "'8'"),
                ("", "''"),
                ("a\tb", "'a\tb'"),
                ("a\nb", "'a\n\n  b'"),
                ("a\n\nb\n", "'a\n\n\n  b\n\n  '"),
                ("\n", "'\n\n  '"),
                ("a \nb", "\"a \\nb\""),
                ("a\x1Bb", "\"a\\eb\""),
            ],
        );
        check(Style::SingleQuoted, &FLOW, &[("a,b", "'a,b'"), ("a\nb", "\"a\\nb\"")]);
        check(
            Style::DoubleQuoted,
            &BLOCK,
            &[("a", "\"a\""), ("a\"b\\c", "\"a\\\"b\\\\c\""), ("a\nb", "\"a\\nb\""), ("é", "\"é\"")],
        );
    }

    #[test]
    fn blocks_are_kept() {
        let nested = Place { indent: 4, step: 4, ..BLOCK };
        check(
            Style::Literal,
            &BLOCK,
            &[("a", "|-\n  a"), ("", "\"\""), ("a\n ", "|-\n  a\n   "), ("a\rb", "\"a\\rb\"")],
        );
        check(Style::Literal, &nested, &[(" a\n\nb\n\n", "|4+\n         a\n\n        b\n")]);
        check(Style::Literal, &KEY, &[("a\n", "\"a\\n\"")]);
        check(
            Style::Folded,
            &BLOCK,
            &[
                ("a", ">-\n  a"),
                ("a b\n", ">\n  a b"),
                ("a\nb\n", ">\n  a\n\n  b"),
                ("a\n\nb\n", ">\n  a\n\n\n  b"),
                ("a\n b\n c\nd", ">-\n  a\n   b\n   c\n  d"),
                ("a\n\n b", ">-\n  a\n\n   b"),
                ("\n\na\n\n", ">2+\n\n\n  a\n"),
                ("a\n \nb", ">-\n  a\n   \n  b"),
            ],
        );
        check(Style::Folded, &Place { step: 12, ..BLOCK }, &[(" a\n", "\" a\\n\"")]);
    }

    #[test]
    fn other_kinds_are_plain() {
        for (text, wanted, place, expected) in [
            ("8", Style::DoubleQuoted, BLOCK, "8"),
            ("true", Style::Literal, FLOW, "true"),
            ("-1", Style::SingleQuoted, KEY, "-1"),
            ("", Style::DoubleQuoted, BLOCK, ""),
            ("", Style::Plain, FLOW, "null"),
            ("~", Style::Plain, FLOW, "~"),
            ("2001-12-14 21:59:43", Style::Plain, FLOW, "2001-12-14 21:59:43"),
            ("[]", Style::Plain, BLOCK, "'[]'"),
        ] {
            assert_eq!(present(text, Kind::Other, wanted, &place), expected, "{text:?}");
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ab \n\t]{0,12}",
            "[-?:,\\[\\]{}#&*!|>'\"%@`. \nab]{0,8}",
            "[-+.0-9exob_:TZ]{0,8}",
            "[a\r\n \u{85}\u{2028}\u{FEFF}\u{1F600}é\0\x1B\\\\\"']{0,8}",
            "(?s).{0,8}",
        ]
    }

    fn any_style() -> impl Strategy<Value = Style> {
        prop::sample::select(vec![
            Style::Plain,
            Style::SingleQuoted,
            Style::DoubleQuoted,
            Style::Literal,
            Style::Folded,
        ])
    }

    fn any_place() -> impl Strategy<Value = Place> {
        (0usize..6, 0usize..12, any::<bool>(), any::<bool>()).prop_map(|(indent, step, flow, key)| Place {
            indent,
            step,
            flow,
            key,
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]
        #[test]
        fn what_is_written_reads_back(text in any_text(), wanted in any_style(), place in any_place()) {
            for kind in [Kind::String, Kind::Other] {
                read_back(&present(&text, kind, wanted, &place), &text, kind, &place);
            }
        }

        #[test]
        fn the_style_is_the_one_announced(text in any_text(), wanted in any_style(), place in any_place()) {
            let style = style_for(&text, Kind::String, wanted, &place);
            let written = present(&text, Kind::String, wanted, &place);
            let first = written.as_bytes().first();
            let expected = match style {
                Style::Plain => first == text.as_bytes().first(),
                Style::SingleQuoted => first == Some(&b'\''),
                Style::DoubleQuoted => first == Some(&b'"'),
                Style::Literal => first == Some(&b'|'),
                Style::Folded => first == Some(&b'>'),
            };
            prop_assert!(expected, "{style:?}: {written:?}");
        }
    }
}
