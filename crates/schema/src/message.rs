//! How findings are worded.

use std::fmt::Write as _;

use crate::value::Value;
use lanai_openapi::format::Format;

/// The types of JSON, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

/// In the order in which messages list them.
const NAMES: [&str; 7] = ["null", "boolean", "number", "integer", "string", "array", "object"];

impl Types {
    pub const NULL: Self = Self(1);
    pub const BOOLEAN: Self = Self(1 << 1);
    pub const NUMBER: Self = Self(1 << 2);
    pub const INTEGER: Self = Self(1 << 3);
    pub const TEXT: Self = Self(1 << 4);
    pub const LIST: Self = Self(1 << 5);
    pub const OBJECT: Self = Self(1 << 6);

    /// The type of that name.
    pub fn named(name: &str) -> Option<Self> {
        NAMES.iter().position(|known| *known == name).map(|at| Self(1 << at))
    }

    /// Those of both.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether there is none.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a value has one of the types.
    pub fn include(self, value: &Value<'_>) -> bool {
        let of = match value {
            Value::Null => Self::NULL,
            Value::Boolean(_) => Self::BOOLEAN,
            Value::Integer(_) => Self::INTEGER.and(Self::NUMBER),
            Value::Number(_) => Self::NUMBER,
            Value::Text(_) => Self::TEXT,
            Value::List(_) => Self::LIST,
            Value::Object(_) => Self::OBJECT,
        };
        self.0 & of.0 != 0
    }
}

/// A value has none of the types that it may have.
pub(crate) fn wrong_type(value: &Value<'_>, wanted: Types) -> String {
    let names = NAMES.iter().enumerate().filter(|(at, _)| wanted.0 & (1 << at) != 0);
    let names: Vec<&str> = names.map(|(_, name)| *name).collect();
    format!("got {}, want {}", value.type_name(), names.join(" or "))
}

/// Fields are not there.
pub(crate) fn missing<S: AsRef<str>>(names: &[S]) -> String {
    let word = if names.len() == 1 { "property" } else { "properties" };
    format!("missing {word} {}", list(names))
}

/// Fields are there that nobody knows.
pub(crate) fn additional<S: AsRef<str>>(names: &[S]) -> String {
    format!("additional properties {} not allowed", list(names))
}

/// A number, a length or a count is beyond what the keyword allows.
pub(crate) fn beyond(keyword: &str, got: impl std::fmt::Display, wanted: impl std::fmt::Display) -> String {
    format!("{keyword}: got {got}, want {wanted}")
}

/// A text is not what its format says.
pub(crate) fn not_valid(text: &str, format: &str, expected: &str) -> String {
    format!("{} is not valid {format}: {expected}", quote(text))
}

/// A text does not have its format. Bytes are not repeated: they may be secret.
pub(crate) fn not_in_format(text: &str, format: Format) -> String {
    match format {
        Format::Byte => "value is not 'base64' encoded".into(),
        Format::DateTime
        | Format::Date
        | Format::Ipv4
        | Format::Ipv6
        | Format::Cidr
        | Format::Mac
        | Format::Uuid
        | Format::Uri
        | Format::Email
        | Format::Hostname
        | Format::Duration => not_valid(text, format.name(), format.expected()),
    }
}

/// Two items of a list that may not be equal are.
pub(crate) fn equal_items(first: usize, second: usize) -> String {
    format!("items at {first} and {second} are equal")
}

/// Two items of a list have the same keys, and may not.
pub(crate) fn equal_keys<S: AsRef<str>>(first: usize, second: usize, keys: &[S]) -> String {
    format!("items at {first} and {second} have the same {}", list(keys))
}

fn list<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| quote(name.as_ref())).collect::<Vec<_>>().join(", ")
}

/// The longest text that a message repeats, in characters.
const MAX_QUOTED: usize = 200;

/// A text in single quotes. What cannot be seen is escaped; what is long is cut.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("'");
    for (at, letter) in text.chars().enumerate() {
        if at == MAX_QUOTED {
            out.push('…');
            break;
        }
        match letter {
            '\'' => out.push_str("\\'"),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            letter if letter.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_and_cut() {
        assert_eq!(quote("it's \"A\"\n\u{1}"), r#"'it\'s "A"\n\u0001'"#);
        let long = "é".repeat(MAX_QUOTED);
        assert_eq!(quote(&long), format!("'{long}'"));
        assert_eq!(quote(&format!("{long}x")), format!("'{long}…'"));
    }

    #[test]
    fn types_are_listed_in_their_order() {
        let wanted = Types::OBJECT.and(Types::NULL).and(Types::INTEGER);
        assert_eq!(wrong_type(&Value::Boolean(true), wanted), "got boolean, want null or integer or object");
        assert!(wanted.include(&Value::Integer(3)) && !wanted.include(&Value::Number(3.5)));
    }
}
