//! From value to text, byte for byte as go-yaml v3 does it with an indentation of 2 and unlimited lines,
//! which is how the tools of the ecosystem use it.
//!
//! Only for output that is compared with theirs. [`present`](super::present()) writes better YAML: this
//! emitter knows characters outside of the basic plane only as escapes, quotes a `:` in flow collections, and
//! gives up literals that have a space before a line break.

use memchr::memchr;

use super::Style;
use super::chars::{is_blank, push_escape};
use super::resolve::{Resolved, resolve};

/// What the emitter knows of a scalar's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceTag {
    /// Nothing: the text is written as it is, if its syntax allows that.
    Untyped,
    /// A string node: quoted if it would be read as something else.
    Str,
    /// A string field of a structure: as a string node, and quoted too if YAML 1.1 reads it as a bool or a
    /// base 60 number.
    Field,
}

/// Where the emitter writes a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferencePlace {
    /// A value, an item or a whole document.
    Value,
    /// A key, simple or not.
    Key,
    /// A value or an item inside of a flow collection.
    FlowValue,
    /// A key inside of a flow collection.
    FlowKey,
}

impl ReferencePlace {
    fn is_flow(self) -> bool {
        match self {
            Self::FlowValue | Self::FlowKey => true,
            Self::Value | Self::Key => false,
        }
    }

    fn is_key(self) -> bool {
        match self {
            Self::Key | Self::FlowKey => true,
            Self::Value | Self::FlowValue => false,
        }
    }
}

/// Whether the emitter writes `text` as a simple key, `text: value`.
///
/// Other keys are explicit: `? text` and, on the next line, `: value`; in a flow mapping `? text : value`.
pub fn is_simple_key(text: &str) -> bool {
    text.len() <= 128 && !text.chars().any(is_break)
}

/// Writes `text` as the reference emitter does.
///
/// `wanted` is the style of the node; `None` and [`Style::Plain`] both mean none in particular. `indent` is the column
/// of the lines after the first one: 2 more than that of the parent's key or dash (0 if there is none), and 2
/// more again for each flow collection in between.
///
/// The result begins at the scalar itself, for a block scalar at its `|` or `>`. What is around it is up to
/// the caller: a tag (such as the `!!merge ` of a merge key), the `? ` of a key that is [not
/// simple](is_simple_key), and the line break that ends the last line of the scalar, for block scalars as for
/// all others. The line comment of a block scalar belongs right before the first line break of the result,
/// with one space in front.
///
/// # Guarantees
///
/// The bytes are those of the reference, with one exception: after a block scalar that ends with U+2028 or
/// U+2029 the reference writes no line break, and so damages what follows.
pub fn reference(
    text: &str,
    wanted: Option<Style>,
    tag: ReferenceTag,
    place: ReferencePlace,
    indent: usize,
) -> String {
    let asked = match wanted {
        None | Some(Style::Plain) => unstyled(text, tag),
        Some(style) => style,
    };
    let traits = Traits::of(text);
    match possible(asked, &traits, text, place) {
        Style::Plain => text.to_owned(),
        Style::SingleQuoted => single_quoted(text, indent),
        Style::DoubleQuoted => double_quoted(text),
        Style::Literal => literal(text, indent),
        Style::Folded => folded(text, indent),
    }
}

/// What is asked of the emitter for a node without style.
fn unstyled(text: &str, tag: ReferenceTag) -> Style {
    let quoted = || match tag {
        ReferenceTag::Untyped => false,
        ReferenceTag::Str => !is_string(text),
        ReferenceTag::Field => !is_string(text) || is_old_bool(text) || is_base_60(text.as_bytes()),
    };
    if memchr(b'\n', text.as_bytes()).is_some() {
        Style::Literal
    } else if quoted() {
        Style::DoubleQuoted
    } else {
        Style::Plain
    }
}

/// The merge key counts as a string here: only the parser of the reference knows it.
fn is_string(text: &str) -> bool {
    matches!(resolve(text), Resolved::Str | Resolved::Merge)
}

fn is_old_bool(text: &str) -> bool {
    const WORDS: [&str; 16] =
        ["y", "Y", "yes", "Yes", "YES", "on", "On", "ON", "n", "N", "no", "No", "NO", "off", "Off", "OFF"];
    WORDS.contains(&text)
}

/// Sign, a digit, digits and underscores, groups of `:` and a number below 60, perhaps a fraction.
fn is_base_60(text: &[u8]) -> bool {
    let text = match text {
        [b'+' | b'-', rest @ ..] => rest,
        _ => text,
    };
    if !text.first().is_some_and(u8::is_ascii_digit) {
        return false;
    }
    let spaced = |byte: &&u8| **byte == b'_' || byte.is_ascii_digit();
    let mut rest = &text[text.iter().take_while(spaced).count()..];
    let mut groups = 0;
    while let [b':', after @ ..] = rest {
        rest = match after {
            [b'0'..=b'5', b'0'..=b'9', rest @ ..] | [b'0'..=b'9', rest @ ..] => rest,
            _ => return false,
        };
        groups += 1;
    }
    groups > 0
        && match rest {
            [] => true,
            [b'.', fraction @ ..] => fraction.iter().all(|byte| spaced(&byte)),
            _ => false,
        }
}

/// The style that the emitter uses when `asked` for one.
fn possible(asked: Style, traits: &Traits, text: &str, place: ReferencePlace) -> Style {
    let flow = place.is_flow();
    let simple_key = place.is_key() && is_simple_key(text);
    let single_if_possible = || if traits.no_single { Style::DoubleQuoted } else { Style::SingleQuoted };
    match asked {
        Style::Plain => {
            let forbidden = if flow { traits.no_flow_plain } else { traits.no_block_plain };
            let invisible = traits.empty && (flow || simple_key);
            if forbidden || invisible { single_if_possible() } else { Style::Plain }
        }
        Style::SingleQuoted => single_if_possible(),
        Style::DoubleQuoted => Style::DoubleQuoted,
        Style::Literal | Style::Folded if traits.no_block || flow || simple_key => Style::DoubleQuoted,
        Style::Literal | Style::Folded => asked,
    }
}

/// What the emitter finds out about a text before it chooses a style.
#[expect(clippy::struct_excessive_bools, reason = "independent verdicts, reached in one pass")]
struct Traits {
    empty: bool,
    no_flow_plain: bool,
    no_block_plain: bool,
    no_single: bool,
    no_block: bool,
}

impl Traits {
    fn of(text: &str) -> Self {
        let mut flow_syntax = false;
        let mut block_syntax = text.starts_with("---") || text.starts_with("...");
        let (mut breaks, mut tabs, mut special) = (false, false, false);
        let (mut break_space, mut space_break) = (false, false);
        let bytes = text.as_bytes();
        let mut previous = None;
        for (at, char) in text.char_indices() {
            let blank_follows = bytes.get(at + char.len_utf8()).copied().is_none_or(is_blank);
            match char {
                '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`' => block_syntax |= at == 0,
                ',' | '[' | ']' | '{' | '}' => {
                    flow_syntax = true;
                    block_syntax |= at == 0;
                }
                '#' => block_syntax |= previous.is_none_or(is_white),
                '?' => {
                    flow_syntax = true;
                    block_syntax |= at == 0 && blank_follows;
                }
                ':' => {
                    flow_syntax = true;
                    block_syntax |= blank_follows;
                }
                '-' => block_syntax |= at == 0 && blank_follows,
                '\t' => tabs = true,
                ' ' => break_space |= previous.is_some_and(is_break),
                _ => special |= !is_printable(char),
            }
            if is_break(char) {
                breaks = true;
                space_break |= previous == Some(' ');
            }
            previous = Some(char);
        }
        let edge = |char: Option<char>| char.is_some_and(|char| char == ' ' || is_break(char));
        let no_single = break_space || space_break || tabs || special;
        let no_plain = no_single || breaks || edge(text.chars().next()) || edge(previous);
        Self {
            empty: text.is_empty(),
            no_flow_plain: text.is_empty() || no_plain || flow_syntax || block_syntax,
            no_block_plain: no_plain || block_syntax,
            no_single,
            no_block: text.is_empty() || space_break || special || previous == Some(' '),
        }
    }
}

/// The line breaks of YAML 1.1.
fn is_break(char: char) -> bool {
    matches!(char, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_white(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\0') || is_break(char)
}

/// What the emitter lets through unescaped; nothing outside of the basic plane.
fn is_printable(char: char) -> bool {
    matches!(char, '\n' | ' '..='~' | '\u{A0}'..='\u{FFFD}') && char != '\u{FEFF}'
}

fn push_indent(out: &mut String, indent: usize) {
    out.extend(std::iter::repeat_n(' ', indent));
}

/// A run of line breaks that begins with LF gets one more, because the first one of several is folded away.
/// There is no indentation before the closing quote.
fn single_quoted(text: &str, indent: usize) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('\'');
    let mut in_breaks = false;
    for char in text.chars() {
        if is_break(char) {
            if !in_breaks && char == '\n' {
                out.push('\n');
            }
            in_breaks = true;
        } else {
            if std::mem::take(&mut in_breaks) {
                push_indent(&mut out, indent);
            }
            if char == '\'' {
                out.push('\'');
            }
        }
        out.push(char);
    }
    out.push('\'');
    out
}

/// A byte order mark at the beginning makes the emitter escape everything.
fn double_quoted(text: &str) -> String {
    let everything = text.starts_with('\u{FEFF}');
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for char in text.chars() {
        if everything || matches!(char, '"' | '\\') || is_break(char) || !is_printable(char) {
            push_escape(&mut out, char);
        } else {
            out.push(char);
        }
    }
    out.push('"');
    out
}

/// The header of a block scalar without its line break.
fn header(indicator: char, text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    out.push(indicator);
    if text.chars().next().is_some_and(|char| char == ' ' || is_break(char)) {
        out.push('2');
    }
    let mut from_end = text.chars().rev();
    match (from_end.next().is_some_and(is_break), from_end.next().is_none_or(is_break)) {
        (false, _) => out.push('-'),
        (true, true) => out.push('+'),
        (true, false) => {}
    }
    out
}

fn literal(text: &str, indent: usize) -> String {
    let mut out = header('|', text);
    out.push('\n');
    let mut line_start = true;
    for char in text.chars() {
        if is_break(char) {
            line_start = true;
        } else if std::mem::take(&mut line_start) {
            push_indent(&mut out, indent);
        }
        out.push(char);
    }
    without_last_break(out)
}

/// A line feed after a line that does not begin with a blank is doubled, at the end of the text too, unless
/// the whole text begins with a blank.
fn folded(text: &str, indent: usize) -> String {
    let first = text.chars().find(|char| !is_break(*char));
    let doubles = !first.is_some_and(is_white);
    let mut out = header('>', text);
    out.push('\n');
    let mut line_start = true;
    let mut spaced = true;
    for char in text.chars() {
        if is_break(char) {
            if doubles && !line_start && !spaced && char == '\n' {
                out.push('\n');
            }
            line_start = true;
        } else if std::mem::take(&mut line_start) {
            push_indent(&mut out, indent);
            spaced = matches!(char, ' ' | '\t');
        }
        out.push(char);
    }
    without_last_break(out)
}

fn without_last_break(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::decode;
    use super::ReferencePlace as At;
    use super::*;

    fn write(text: &str, wanted: Option<Style>, tag: ReferenceTag, at: At) -> String {
        reference(text, wanted, tag, at, 2)
    }

    /// The rows were observed from the reference.
    fn check(wanted: Option<Style>, tag: ReferenceTag, at: At, table: &[(&str, &str)]) {
        for (text, expected) in table {
            assert_eq!(write(text, wanted, tag, at), *expected, "{text:?}");
        }
    }

    #[test]
    fn string_nodes() {
        check(
            None,
            ReferenceTag::Str,
            At::Value,
            &[
                ("a", "a"),
                ("yes", "yes"),
                ("1:30", "1:30"),
                ("=", "="),
                ("<<", "<<"),
                (":x", ":x"),
                ("?x", "?x"),
                ("a,b", "a,b"),
                ("é", "é"),
                ("", "\"\""),
                ("true", "\"true\""),
                ("~", "\"~\""),
                ("012", "\"012\""),
                ("1_000", "\"1_000\""),
                ("2020-01-01", "\"2020-01-01\""),
                ("a: b", "'a: b'"),
                ("x:", "'x:'"),
                ("a #b", "'a #b'"),
                ("#x", "'#x'"),
                (" a", "' a'"),
                ("-", "'-'"),
                ("- x", "'- x'"),
                ("---x", "'---x'"),
                ("*it's", "'*it''s'"),
                ("a\tb", "\"a\\tb\""),
                ("\u{1F600}", "\"\\U0001F600\""),
                ("\u{FEFF}a b", "\"\\uFEFF\\x61\\x20\\x62\""),
                ("a\nb", "|-\n  a\n  b"),
                ("a\nb\n", "|\n  a\n  b"),
                ("a\n\n\n", "|+\n  a\n\n"),
                ("\ta\nb", "|-\n  \ta\n  b"),
                (" a\nb", "|2-\n   a\n  b"),
                ("\n", "|2+\n"),
                ("a \nb", "\"a \\nb\""),
                ("a\nb ", "\"a\\nb \""),
                ("a\r\nb", "\"a\\r\\nb\""),
            ],
        );
    }

    #[test]
    fn untyped_nodes_and_fields() {
        check(
            None,
            ReferenceTag::Untyped,
            At::Value,
            &[("012", "012"), ("true", "true"), ("", ""), ("a: b", "'a: b'")],
        );
        check(
            None,
            ReferenceTag::Field,
            At::Value,
            &[
                ("y", "\"y\""),
                ("OFF", "\"OFF\""),
                ("oFF", "oFF"),
                ("1:30", "\"1:30\""),
                ("-1_0:59.5", "\"-1_0:59.5\""),
                ("1:60", "1:60"),
                ("1:300", "1:300"),
                ("1", "\"1\""),
                ("a\nb", "|-\n  a\n  b"),
            ],
        );
    }

    #[test]
    fn quoted_styles() {
        let single = Some(Style::SingleQuoted);
        check(
            single,
            ReferenceTag::Str,
            At::Value,
            &[
                ("a", "'a'"),
                ("a\nb", "'a\n\n  b'"),
                ("a\n", "'a\n\n'"),
                ("a\n\nb", "'a\n\n\n  b'"),
                ("a\n b", "\"a\\n b\""),
                ("a\tb", "\"a\\tb\""),
                ("a\u{2028}b", "'a\u{2028}  b'"),
            ],
        );
        let double = Some(Style::DoubleQuoted);
        check(double, ReferenceTag::Untyped, At::Value, &[("a\"\\\nb", "\"a\\\"\\\\\\nb\""), ("8", "\"8\"")]);
    }

    #[test]
    fn block_styles() {
        let literal = Some(Style::Literal);
        check(literal, ReferenceTag::Str, At::Value, &[("a", "|-\n  a"), ("", "\"\""), ("a ", "\"a \"")]);
        let folded = Some(Style::Folded);
        check(
            folded,
            ReferenceTag::Str,
            At::Value,
            &[
                ("a", ">-\n  a"),
                ("a b\n", ">\n  a b\n"),
                ("a\nb\n", ">\n  a\n\n  b\n"),
                ("a\n b\nc", ">-\n  a\n\n   b\n  c"),
                (" a\nb\nc", ">2-\n   a\n  b\n  c"),
                ("a\n\n", ">+\n  a\n\n"),
            ],
        );
    }

    #[test]
    fn flow_collections_and_keys() {
        let plain = [
            ("a", "a"),
            ("a:1", "'a:1'"),
            ("a,b", "'a,b'"),
            ("a?", "'a?'"),
            ("", "''"),
            ("a\nb", "\"a\\nb\""),
        ];
        check(None, ReferenceTag::Untyped, At::FlowValue, &plain);
        check(None, ReferenceTag::Untyped, At::FlowKey, &plain);
        check(
            None,
            ReferenceTag::Untyped,
            At::Key,
            &[("a:1", "a:1"), ("", "''"), ("a\nb", "|-\n  a\n  b"), ("true", "true")],
        );
        check(Some(Style::Literal), ReferenceTag::Str, At::Key, &[("a", "\"a\"")]);
        assert!(is_simple_key(&"k".repeat(128)));
        assert!(!is_simple_key(&"k".repeat(129)));
        assert!(!is_simple_key("a\nb"));
    }

    proptest! {
        /// Folded text is left out: the reference itself does not keep its line breaks.
        #[test]
        fn what_is_written_reads_back(text in "[-ab:#' \n\"\\\\é\u{1F600}0]{0,10}", style in 0usize..4) {
            let styles = [Style::Plain, Style::SingleQuoted, Style::DoubleQuoted, Style::Literal];
            let wanted = Some(styles[style]);
            for at in [At::Value, At::Key, At::FlowValue, At::FlowKey] {
                let written = write(&text, wanted, ReferenceTag::Str, at);
                let value = match written.as_bytes().first() {
                    Some(b'\'') => decode::single_quoted(&written).into_owned(),
                    Some(b'"') => decode::double_quoted(&written).expect("escapes are known").into_owned(),
                    Some(b'|') => decode::block(&format!("{written}\n"), 2).into_owned(),
                    _ => decode::plain(&written).into_owned(),
                };
                prop_assert_eq!(&value, &text);
            }
        }

        #[test]
        fn any_text_is_written(text in "(?s).{0,12}", style in 0usize..5) {
            let styles =
                [Style::Plain, Style::SingleQuoted, Style::DoubleQuoted, Style::Literal, Style::Folded];
            for at in [At::Value, At::FlowKey] {
                let _ = write(&text, Some(styles[style]), ReferenceTag::Field, at);
            }
        }
    }
}
