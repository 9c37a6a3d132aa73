//! What is wrong with a field, in Kubernetes's words.

use std::fmt::{self, Write as _};

use serde_json::Value;

/// What kind of thing is wrong. The texts are those that clients match on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A value is not allowed.
    Invalid,
    /// A value has the wrong type.
    TypeInvalid,
    /// A value is not there.
    Required,
    /// A value stands there twice.
    Duplicate,
    /// A value is none of those that are allowed.
    NotSupported,
    /// The field must not be there, or not be changed.
    Forbidden,
    /// A text is too long.
    TooLong,
    /// There are too many items or fields.
    TooMany,
    /// Something that the field names does not exist.
    NotFound,
    /// Something failed that the user did not do.
    Internal,
}

impl Reason {
    /// As `reason` of a cause in a `Status`.
    pub fn code(self) -> &'static str {
        match self {
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
            Self::NotFound => "FieldValueNotFound",
            Self::Internal => "InternalError",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
            Self::NotFound => "Not found",
            Self::Internal => "Internal error",
        }
    }

    /// Whether a message repeats the value.
    fn shows_value(self) -> bool {
        match self {
            Self::Required | Self::Forbidden | Self::TooLong | Self::Internal => false,
            Self::Invalid
            | Self::TypeInvalid
            | Self::Duplicate
            | Self::NotSupported
            | Self::TooMany
            | Self::NotFound => true,
        }
    }
}

/// The path of a field, as messages write it: `spec.ports[0].name`, `metadata.labels[a.b/c]`. The root is `<nil>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath(String);

impl FieldPath {
    /// The object itself.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// A field of an object, or several one below the other, with dots between them.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self(name.to_owned()) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// An entry of a map.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// An item of a list.
    #[must_use]
    pub fn index(&self, at: usize) -> Self {
        Self(format!("{}[{at}]", self.0))
    }

    /// Whether it is the object itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The text; empty for the root.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

impl From<&str> for FieldPath {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// One thing that is wrong with a field: an entry of `details.causes` of a `Status`. `Display` gives what stands in the message of the
/// `Status`.
#[derive(Clone, Debug, PartialEq)]
pub struct Cause {
    /// The field.
    pub field: FieldPath,
    /// What kind of thing is wrong.
    pub reason: Reason,
    /// The value that is wrong, if the message repeats it.
    pub value: Option<Value>,
    /// What is wrong, in words; may be empty.
    pub detail: String,
}

impl Cause {
    /// A value is not allowed.
    pub fn invalid(field: &FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(Reason::Invalid, field, Some(value.into()), detail)
    }

    /// A value has the wrong type.
    pub fn wrong_type(field: &FieldPath, value: impl Into<Value>, detail: impl Into<String>) -> Self {
        Self::new(Reason::TypeInvalid, field, Some(value.into()), detail)
    }

    /// A value is not there; the detail may be empty.
    pub fn required(field: &FieldPath, detail: impl Into<String>) -> Self {
        Self::new(Reason::Required, field, None, detail)
    }

    /// A value stands there twice.
    pub fn duplicate(field: &FieldPath, value: impl Into<Value>) -> Self {
        Self::new(Reason::Duplicate, field, Some(value.into()), "")
    }

    /// A value is none of those that are allowed.
    pub fn not_supported<S: AsRef<str>>(field: &FieldPath, value: impl Into<Value>, allowed: &[S]) -> Self {
        let quoted: Vec<String> = allowed.iter().map(|one| go_quote(one.as_ref())).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        Self::new(Reason::NotSupported, field, Some(value.into()), detail)
    }

    /// The field must not be there, or not be changed.
    pub fn forbidden(field: &FieldPath, detail: impl Into<String>) -> Self {
        Self::new(Reason::Forbidden, field, None, detail)
    }

    /// A text has more bytes than that.
    pub fn too_long(field: &FieldPath, max: usize) -> Self {
        let detail = if max == 1 {
            "may not be more than 1 byte".to_owned()
        } else {
            format!("may not be more than {max} bytes")
        };
        Self::new(Reason::TooLong, field, None, detail)
    }

    /// There are more items than that.
    pub fn too_many(field: &FieldPath, found: usize, max: usize) -> Self {
        let items = if max == 1 { "item" } else { "items" };
        Self::new(Reason::TooMany, field, Some(found.into()), format!("must have at most {max} {items}"))
    }

    /// Something that the field names does not exist.
    pub fn not_found(field: &FieldPath, value: impl Into<Value>) -> Self {
        Self::new(Reason::NotFound, field, Some(value.into()), "")
    }

    /// Any cause.
    pub fn new(reason: Reason, field: &FieldPath, value: Option<Value>, detail: impl Into<String>) -> Self {
        Self { field: field.clone(), reason, value, detail: detail.into() }
    }

    /// What is wrong, without the field: the `message` of a cause in a `Status`.
    pub fn message(&self) -> String {
        let mut text = self.reason.words().to_owned();
        if let (true, Some(value)) = (self.reason.shows_value(), &self.value) {
            let _ = write!(text, ": {}", shown(value));
        }
        if !self.detail.is_empty() {
            let _ = write!(text, ": {}", self.detail);
        }
        text
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message())
    }
}

/// All causes in one text, as the message of a `Status` joins them: one as it is, several in brackets; the same text only once.
pub fn joined(causes: &[Cause]) -> String {
    let mut texts: Vec<String> = Vec::new();
    for text in causes.iter().map(ToString::to_string) {
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    match texts.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => go_quote(text),
        Value::Object(_) | Value::Array(_) => go_json(value),
        other => other.to_string(),
    }
}

/// JSON with the escapes of Go.
fn go_json(value: &Value) -> String {
    value.to_string().replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// A text in double quotes, with the escapes of Go.
pub fn go_quote(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            letter if u32::from(letter) < 0x20 || letter == '\u{7f}' => {
                let _ = write!(out, "\\x{:02x}", u32::from(letter));
            }
            letter if letter.is_control() || letter == '\u{feff}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(letter));
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_read_as_kubernetes_writes_them() {
        let at = FieldPath::from("spec").child("ports").index(0).child("name");
        let check = |cause: Cause, expected: &str| assert_eq!(cause.to_string(), expected);
        check(Cause::required(&at, ""), "spec.ports[0].name: Required value");
        check(Cause::invalid(&at, "a\"b", "bad"), r#"spec.ports[0].name: Invalid value: "a\"b": bad"#);
        check(Cause::invalid(&FieldPath::root(), "object", "bad"), r#"<nil>: Invalid value: "object": bad"#);
        check(
            Cause::duplicate(&at, serde_json::json!({"a": 1})),
            r#"spec.ports[0].name: Duplicate value: {"a":1}"#,
        );
        check(
            Cause::not_supported(&at, "x", &["a", "b"]),
            r#"spec.ports[0].name: Unsupported value: "x": supported values: "a", "b""#,
        );
        check(Cause::too_many(&at, 4, 3), "spec.ports[0].name: Too many: 4: must have at most 3 items");
        check(Cause::too_long(&at, 5), "spec.ports[0].name: Too long: may not be more than 5 bytes");
        check(
            Cause::forbidden(&FieldPath::from("metadata").key("a/b"), "no"),
            "metadata[a/b]: Forbidden: no",
        );
    }

    #[test]
    fn several_causes_stand_in_brackets_and_the_same_stands_once() {
        let one = Cause::required(&FieldPath::from("a"), "");
        let two = Cause::required(&FieldPath::from("b"), "");
        assert_eq!(joined(&[]), "");
        assert_eq!(joined(&[one.clone(), one.clone()]), "a: Required value");
        assert_eq!(joined(&[one, two]), "[a: Required value, b: Required value]");
    }
}
