//! A value as JSON, with numbers spelled as they stand in the file where JSON spells them the same way.

use std::fmt::Write;

use lanai_yaml::{Kind, NodeRef, Resolved};
use serde_json::Value;

/// The node as JSON over several lines; aliases are followed and merge keys merged.
///
/// # Errors
/// When the node does not read as data, or holds a number that JSON has no word for.
pub(super) fn write(node: NodeRef<'_>) -> Result<String, String> {
    let value: Value = node.deserialize().map_err(|error| match null_key(node) {
        Some(key) => format!("line {}: JSON has no word for a key that is null", key.position().line),
        None => error.to_string(),
    })?;
    let mut out = String::new();
    push(&value, Some(node), 0, &mut out)?;
    Ok(out)
}

/// A key that is null, anywhere in a node.
fn null_key(node: NodeRef<'_>) -> Option<NodeRef<'_>> {
    let mut work = vec![node];
    while let Some(node) = work.pop() {
        if let Some((key, _)) = node.entries().find(|(key, _)| key.is_null()) {
            return Some(key);
        }
        work.extend(node.items().chain(node.entries().map(|(_, value)| value)));
    }
    None
}

/// Appends a value; `node` is where it was read from, as far as that is known.
fn push(value: &Value, node: Option<NodeRef<'_>>, depth: usize, out: &mut String) -> Result<(), String> {
    let node = node.map(NodeRef::target);
    match value {
        Value::Array(items) => push_all(['[', ']'], items.len(), depth, out, |at, out| {
            push(&items[at], node.and_then(|node| node.at(at)), depth + 1, out)
        }),
        Value::Object(pairs) => {
            let mut pairs = pairs.iter();
            push_all(['{', '}'], pairs.len(), depth, out, |_, out| {
                let Some((key, value)) = pairs.next() else { return Ok(()) };
                let node = node.and_then(|node| node.get(key));
                _ = write!(out, "{}: ", Value::from(key.as_str()));
                push(value, node, depth + 1, out)
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            match node.map(number).transpose()?.flatten() {
                Some(text) => out.push_str(&text),
                None => _ = write!(out, "{value}"),
            }
            Ok(())
        }
    }
}

/// Appends the parts of a collection, each on a line of its own.
fn push_all(
    brackets: [char; 2],
    len: usize,
    depth: usize,
    out: &mut String,
    mut part: impl FnMut(usize, &mut String) -> Result<(), String>,
) -> Result<(), String> {
    let [open, close] = brackets;
    out.push(open);
    for at in 0..len {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.extend(std::iter::repeat_n("  ", depth + 1));
        part(at, out)?;
    }
    if len > 0 {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    }
    out.push(close);
    Ok(())
}

/// The text of a number that is one in JSON as well; `None` for anything else.
///
/// # Errors
/// For infinity and what is no number.
fn number(node: NodeRef<'_>) -> Result<Option<String>, String> {
    let resolved = if node.kind() == Kind::Scalar { node.resolved() } else { Resolved::Str };
    match resolved {
        Resolved::Float(float) if !float.is_finite() => {
            let line = node.position().line;
            Err(format!("line {line}: JSON has no word for the number \"{}\"", node.value()))
        }
        Resolved::Int(_) | Resolved::Float(_) if node.tag().is_none() && is_json_number(&node.value()) => {
            Ok(Some(node.value().into_owned()))
        }
        Resolved::Int(_)
        | Resolved::Float(_)
        | Resolved::Null
        | Resolved::Bool(_)
        | Resolved::Str
        | Resolved::Timestamp
        | Resolved::Merge => Ok(None),
    }
}

/// Whether a text is a number as JSON writes them.
fn is_json_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, exponent.strip_prefix(['+', '-']).unwrap_or(exponent)),
        None => (text, "0"),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let leads_with_zero = whole.len() > 1 && whole.starts_with('0');
    digits(whole) && !leads_with_zero && digits(fraction) && digits(exponent)
}

#[cfg(test)]
mod tests {
    use super::is_json_number;

    #[test]
    fn numbers_of_json_are_told_from_others() {
        for text in ["0", "-0", "12", "1.50", "1e3", "1E+3", "-1.5e-10", "12345678901234567890123"] {
            assert!(is_json_number(text), "{text}");
        }
        for text in ["", "-", "012", "+1", ".5", "1.", "1e", "0x1f", "1_000", ".inf", "1.5.2", "1e3.5"] {
            assert!(!is_json_number(text), "{text}");
        }
    }
}
