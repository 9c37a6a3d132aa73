//! Documents that are written in JSON: what is added to them is JSON, too.

use std::fmt::Write as _;

use crate::node::NodeRef;
use crate::scalar::Resolved;

/// Whether a document, which is known to be YAML, is written with nothing but what JSON has: brackets, strings in double
/// quotes, numbers and the three words. There is a string in it, since `{}` and `[1]` show no habit. Commas and colons are
/// not counted.
pub(crate) fn is_json(text: &str) -> bool {
    let mut rest = text.trim_ascii_start();
    if !rest.starts_with(['{', '[']) || !rest.contains('"') {
        return false;
    }
    while let Some(first) = rest.bytes().next() {
        rest = match first {
            b'{' | b'}' | b'[' | b']' | b',' | b':' => &rest[1..],
            b'"' => match behind_string(rest) {
                Some(behind) => behind,
                None => return false,
            },
            _ => {
                let end = rest
                    .find(|c: char| c.is_ascii_whitespace() || "{}[],:\"".contains(c))
                    .unwrap_or(rest.len());
                if !is_word(&rest[..end]) {
                    return false;
                }
                &rest[end..]
            }
        }
        .trim_ascii_start();
    }
    true
}

/// What stands behind the string that a text begins with, if it is one of JSON.
fn behind_string(text: &str) -> Option<&str> {
    let mut bytes = text.bytes().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return Some(&text[at + 1..]),
            b'\\' => {
                let (_, escape) = bytes.next()?;
                if !b"\"\\/bfnrtu".contains(&escape) {
                    return None;
                }
            }
            0..0x20 => return None,
            _ => {}
        }
    }
    None
}

fn is_word(text: &str) -> bool {
    matches!(text, "true" | "false" | "null") || is_number(text)
}

/// Whether a text is a number as JSON writes them.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let text = text.strip_prefix('-').unwrap_or(text);
    let whole = digits(text);
    if whole == 0 || whole > 1 && text.starts_with('0') {
        return false;
    }
    let mut rest = &text[whole..];
    if let Some(fraction) = rest.strip_prefix('.') {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    if let Some(exponent) = rest.strip_prefix(['e', 'E']) {
        let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        let length = digits(exponent);
        return length > 0 && length == exponent.len();
    }
    rest.is_empty()
}

/// A scalar in JSON; `None` where JSON has no word for it (infinity, for one).
pub(crate) fn scalar(node: NodeRef<'_>) -> Option<String> {
    let text = node.value();
    match node.resolved() {
        Resolved::Null => Some("null".into()),
        Resolved::Bool(value) => Some(value.to_string()),
        Resolved::Int(_) | Resolved::Float(_) if is_number(&text) => Some(text.into_owned()),
        Resolved::Int(value) => Some(value.to_string()),
        Resolved::Float(value) if value.is_finite() => Some(format!("{value:?}")),
        Resolved::Float(_) | Resolved::Merge => None,
        Resolved::Str | Resolved::Timestamp => Some(string(&text)),
    }
}

fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // The others are no characters of YAML, or line ends for some of its readers.
            '\0'..' '
            | '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_told_from_other_flow_collections() {
        for json in
            [" [1, -2.5e+3, 0, \"a\\u00e9\\n\", true, null]\n", "{\"a\": {\"b\": []}}", "{\n  \"a\": 1\n}\n"]
        {
            assert!(is_json(json), "{json}");
        }
        for other in [
            "{}",
            "[1]",
            "a: 1",
            "{a: 1}",
            "{'a': 1}",
            "[01]",
            "[.5]",
            "[1.]",
            "[~]",
            "{\"a\": 1} # c",
            "[\"\\x41\"]",
            "[\"a\n b\"]",
            "[*a]",
            "[1e]",
        ] {
            assert!(!is_json(other), "{other}");
        }
    }
}
