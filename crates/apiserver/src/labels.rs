//! Rules for labels, annotations and the names in them.

use lanai_api::Cause;
use lanai_types::dns;
use serde_json::{Map, Value};

/// All keys and values of the annotations of one object together.
pub const MAX_ANNOTATIONS: usize = 256 * 1024;

pub(crate) const NOT_A_NAME: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
pub(crate) const NOT_A_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/// A name of at most 63 characters, with a DNS subdomain and a slash before it if it has an owner.
pub fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    prefix.is_none_or(|prefix| dns::check_subdomain(prefix).is_ok()) && !name.is_empty() && is_value(name)
}

/// An empty text, or at most 63 letters, digits, `-`, `_`, `.` with a letter or digit at both ends.
pub fn is_value(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let edge = |byte: Option<u8>| byte.is_none_or(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63 && text.bytes().all(inner) && edge(text.bytes().next()) && edge(text.bytes().next_back())
}

/// What is wrong with the labels at a path.
pub fn check_labels(path: &str, labels: &Map<String, Value>) -> Vec<Cause> {
    let mut errors = Vec::new();
    for (key, value) in labels {
        if !is_qualified_name(key) {
            errors.push(Cause::invalid(&path.into(), key.as_str(), NOT_A_NAME));
        }
        match value.as_str() {
            Some(text) if is_value(text) => {}
            _ => errors.push(Cause::invalid(&path.into(), value.clone(), NOT_A_VALUE)),
        }
    }
    errors
}

/// What is wrong with annotations.
pub fn check_annotations(annotations: &Map<String, Value>) -> Vec<Cause> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in annotations {
        size += key.len() + value.as_str().map_or(0, str::len);
        if !is_qualified_name(&key.to_lowercase()) {
            errors.push(Cause::invalid(&"metadata.annotations".into(), key.as_str(), NOT_A_NAME));
        }
        if !value.is_string() {
            errors.push(Cause::invalid(&"metadata.annotations".into(), value.clone(), "must be a text"));
        }
    }
    if size > MAX_ANNOTATIONS {
        errors.push(Cause::too_long(&"metadata.annotations".into(), MAX_ANNOTATIONS));
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values() {
        for good in ["a", "A.b_c-d", "x.org/a", &"a".repeat(63)] {
            assert!(is_qualified_name(good), "{good}");
        }
        for bad in ["", "/a", "a/", "A/a", "-a", "a b", "a/b/c", &"a".repeat(64)] {
            assert!(!is_qualified_name(bad), "{bad}");
        }
        assert!(is_value("") && !is_value("a/b") && !is_value("a-"));
    }

    #[test]
    fn annotations_have_a_largest_size() {
        let of = |bytes: usize| Map::from_iter([("a".to_owned(), Value::from("x".repeat(bytes - 1)))]);
        assert!(check_annotations(&of(MAX_ANNOTATIONS)).is_empty());
        assert_eq!(check_annotations(&of(MAX_ANNOTATIONS + 1)).len(), 1);
    }
}
