//! Objects as they are stored, and the way back.
//!
//! A row is the object in JSON, with `apiVersion`, `kind` and `metadata` first and without `resourceVersion`, so that an answer can be made from its
//! bytes by splicing.

use std::collections::BTreeMap;
use std::io::Write;

use bytes::Bytes;
use lanai_store::{Attributes, Object, Protection, Revision, Stored};
use serde_json::{Map, Value, json};

use crate::meta;
use crate::status::Status;

const API_VERSION: &[u8] = b"{\"apiVersion\":\"";
const METADATA: &[u8] = b"\"metadata\":{";
/// The most bytes that the version of an object takes in its metadata.
const MAX_VERSION: usize = 48;

/// Makes a row of an object.
pub fn encode(mut object: Value, fields: &BTreeMap<String, String>, protection: Protection) -> Object {
    let labels = meta::labels(&object);
    let value = Bytes::from(canonical(&mut object).to_string());
    Object { value, attributes: Attributes::new(&labels, fields), protection, ..Object::default() }
}

fn canonical(object: &mut Value) -> Value {
    let mut ordered = Map::new();
    if let Some(from) = object.as_object_mut() {
        let mut metadata = from.shift_remove("metadata").unwrap_or_else(|| json!({}));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.shift_remove("resourceVersion");
        }
        for first in ["apiVersion", "kind"] {
            ordered.insert(first.into(), from.shift_remove(first).unwrap_or_default());
        }
        ordered.insert("metadata".into(), metadata);
        ordered.append(from);
    }
    Value::Object(ordered)
}

/// Writes an object in the version that is asked for behind what is there.
///
/// # Errors
/// When the row was not written by [`encode`].
pub fn splice(
    stored: &Stored,
    revision: Revision,
    api_version: &str,
    out: &mut Vec<u8>,
) -> Result<(), Status> {
    let row = &stored.object.value;
    let damaged = || Status::internal(format!("the row of \"{}\" is not an object of ours", stored.key));
    let rest = row.strip_prefix(API_VERSION).ok_or_else(damaged)?;
    let end = find(rest, b"\"").ok_or_else(damaged)?;
    let rest = &rest[end..];
    let at = find(rest, METADATA).ok_or_else(damaged)? + METADATA.len();
    let (head, tail) = rest.split_at(at);
    out.reserve(row.len() + api_version.len() + MAX_VERSION);
    for part in [API_VERSION, api_version.as_bytes(), head] {
        out.extend_from_slice(part);
    }
    write_version(revision, tail, out);
    out.extend_from_slice(tail);
    Ok(())
}

/// Writes the version of an object, where its metadata begins.
fn write_version(revision: Revision, rest: &[u8], out: &mut Vec<u8>) {
    let comma = if rest.starts_with(b"}") { "" } else { "," };
    // Writing into memory does not fail.
    let _ = write!(out, "\"resourceVersion\":\"{revision}\"{comma}");
}

/// Writes the metadata of an object behind what is there.
///
/// # Errors
/// When the row was not written by [`encode`].
pub fn splice_metadata(stored: &Stored, revision: Revision, out: &mut Vec<u8>) -> Result<(), Status> {
    let row = &stored.object.value;
    let damaged = || Status::internal(format!("the row of \"{}\" is not an object of ours", stored.key));
    let at = find(row, METADATA).ok_or_else(damaged)? + METADATA.len();
    let end = closing(&row[at..]).ok_or_else(damaged)?;
    let rest = &row[at..=at + end];
    out.push(b'{');
    write_version(revision, rest, out);
    out.extend_from_slice(rest);
    Ok(())
}

/// Where the object ends that began before a text: at its own closing brace. What the text says is not looked at.
fn closing(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            b'"' => at = end_of_string(text, at)?,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where a string ends, given where it begins.
fn end_of_string(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// An object as it is stored, with its `resourceVersion`.
///
/// # Errors
/// When the row is no JSON.
pub fn decode(stored: &Stored) -> Result<Value, Status> {
    decode_at(stored, stored.revision)
}

/// As [`decode`], as of an event.
pub fn decode_at(stored: &Stored, revision: Revision) -> Result<Value, Status> {
    let mut object: Value =
        serde_json::from_slice(&stored.object.value).map_err(|error| damaged(stored, &error))?;
    meta::metadata(&mut object).insert("resourceVersion".into(), json!(revision.to_string()));
    Ok(object)
}

/// An object as it is stored, as text.
///
/// # Errors
/// When the row is no text.
pub fn text(stored: &Stored) -> serde_json::Result<&str> {
    std::str::from_utf8(&stored.object.value).map_err(serde::de::Error::custom)
}

/// What is said of a row that cannot be read.
pub fn damaged(stored: &Stored, error: &serde_json::Error) -> Status {
    Status::internal(format!("the row of \"{}\" is no JSON: {error}", stored.key))
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    memchr::memmem::find(haystack, needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanai_store::{Key, Kind};

    fn stored(object: Value) -> Stored {
        let key = Key::new(&Kind::new("widgets.x.org").unwrap(), "a", "b").unwrap();
        let object = encode(object, &BTreeMap::new(), Protection::Plain);
        Stored { key, created: Revision::new(3), revision: Revision::new(7), object }
    }

    #[test]
    fn splicing_gives_what_parsing_gives() {
        let objects = [
            json!({"spec": {"metadata": {}}, "kind": "Widget", "apiVersion": "x.org/v1",
                   "metadata": {"name": "b", "resourceVersion": "4", "labels": {"a": "\"metadata\":{"}}}),
            json!({"apiVersion": "x.org/v1", "kind": "Widget", "metadata": {}}),
            json!({"apiVersion": "x.org/v1", "kind": "Widget", "spec": {"a": "}"},
                   "metadata": {"annotations": {"}\"{\\": "\\\"}", "b": "\\"}, "finalizers": ["}"]}}),
            json!({"apiVersion": "x.org/v1", "kind": "Widget"}),
        ];
        for object in objects {
            let stored = stored(object);
            let mut expected = decode_at(&stored, Revision::new(9)).unwrap();
            expected["apiVersion"] = json!("x.org/v2");
            let mut spliced = Vec::new();
            splice(&stored, Revision::new(9), "x.org/v2", &mut spliced).unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&spliced).unwrap(), expected);
            spliced.clear();
            splice_metadata(&stored, Revision::new(9), &mut spliced).unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&spliced).unwrap(), expected["metadata"]);
        }
    }

    #[test]
    fn rows_of_others_are_told() {
        let mut stored = stored(json!({"apiVersion": "v1", "kind": "A", "metadata": {}}));
        stored.object.value = Bytes::from_static(b"{\"kind\":1}");
        assert!(splice(&stored, Revision::new(1), "v1", &mut Vec::new()).is_err());
        assert!(splice_metadata(&stored, Revision::new(1), &mut Vec::new()).is_err());
        for cut in ["{\"metadata\":{\"a\":\"", "{\"metadata\":{\"a\":\"\\", "{\"metadata\":{{}"] {
            stored.object.value = Bytes::from_static(cut.as_bytes());
            assert!(splice_metadata(&stored, Revision::new(1), &mut Vec::new()).is_err(), "{cut}");
        }
        stored.object.value = Bytes::from_static(b"no");
        assert!(decode(&stored).is_err());
    }
}
