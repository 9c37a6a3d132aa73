//! A value in quotes, inside a message.

use std::fmt::{self, Write};

/// Shows a text between double quotes, with everything that could be mistaken for something else escaped.
///
/// The escapes are those of Go's `%q`, because that is how Kubernetes writes values into messages that scripts match
/// on: `\n`, `\x00`, `\u200c`. A message that carries hostile text so stays on one line and shows what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'a>(pub &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for character in self.0.chars() {
            write_escaped(character, f)?;
        }
        f.write_char('"')
    }
}

fn write_escaped(character: char, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match character {
        '"' => f.write_str("\\\""),
        '\\' => f.write_str("\\\\"),
        '\u{07}' => f.write_str("\\a"),
        '\u{08}' => f.write_str("\\b"),
        '\u{0c}' => f.write_str("\\f"),
        '\n' => f.write_str("\\n"),
        '\r' => f.write_str("\\r"),
        '\t' => f.write_str("\\t"),
        '\u{0b}' => f.write_str("\\v"),
        '\0'..='\u{1f}' | '\u{7f}' => write!(f, "\\x{:02x}", u32::from(character)),
        ' '..='~' => f.write_char(character),
        _ if is_printable(character) => f.write_char(character),
        '\u{80}'..='\u{ffff}' => write!(f, "\\u{:04x}", u32::from(character)),
        '\u{10000}'.. => write!(f, "\\U{:08x}", u32::from(character)),
    }
}

/// Asks the standard library, whose `escape_debug` escapes what cannot be seen. A letter stands in front, because a
/// combining mark is escaped only where it has nothing to combine with.
fn is_printable(character: char) -> bool {
    !format!("a{character}").escape_debug().any(|shown| shown == '\\')
}
