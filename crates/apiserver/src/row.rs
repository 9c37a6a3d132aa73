//! Objects as they are stored, and the way back.
//!
//! A row is the object in JSON, with `apiVersion`, `kind` and `metadata` first and without `resourceVersion`, so that an answer can be made from its
//! bytes by splicing.

use std::collections::BTreeMap;

use bytes::Bytes;
use lanai_store::{Attributes, Object, Protection, Revision, Stored};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::meta;
use crate::status::Status;

const API_VERSION: &[u8] = b"{\"apiVersion\":\"";
const METADATA: &[u8] = b"\"metadata\":{";

/// Makes a row of an object.
pub fn encode(mut object: Value, fields: BTreeMap<String, String>, protection: Protection) -> Object {
    let labels = meta::labels(&object);
    let value = Bytes::from(canonical(&mut object).to_string());
    Object { value, attributes: Attributes { labels, fields }, protection, ..Object::default() }
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

/// An object in the version that is asked for, as bytes.
///
/// # Errors
/// When the row was not written by [`encode`].
pub fn bytes(stored: &Stored, revision: Revision, api_version: &str) -> Result<Vec<u8>, Status> {
    let row = &stored.object.value;
    let damaged = || Status::internal(format!("the row of \"{}\" is not an object of ours", stored.key));
    let rest = row.strip_prefix(API_VERSION).ok_or_else(damaged)?;
    let end = find(rest, b"\"").ok_or_else(damaged)?;
    let rest = &rest[end..];
    let at = find(rest, METADATA).ok_or_else(damaged)? + METADATA.len();
    let (head, tail) = rest.split_at(at);
    let comma = if tail.starts_with(b"}") { "" } else { "," };
    let version = format!("\"resourceVersion\":\"{revision}\"{comma}");
    let mut out = Vec::with_capacity(row.len() + version.len() + api_version.len());
    for part in [API_VERSION, api_version.as_bytes(), head, version.as_bytes(), tail] {
        out.extend_from_slice(part);
    }
    Ok(out)
}

/// The metadata of an object, as bytes.
///
/// # Errors
/// When the row was not written by [`encode`].
pub fn metadata(stored: &Stored, revision: Revision) -> Result<Vec<u8>, Status> {
    let row = &stored.object.value;
    let damaged = || Status::internal(format!("the row of \"{}\" is not an object of ours", stored.key));
    let at = find(row, METADATA).ok_or_else(damaged)? + METADATA.len() - 1;
    let mut rest = serde_json::Deserializer::from_slice(&row[at..]);
    let found = <&RawValue>::deserialize(&mut rest).map_err(|_| damaged())?.get();
    let comma = if found == "{}" { "" } else { "," };
    Ok(format!("{{\"resourceVersion\":\"{revision}\"{comma}{}", &found[1..]).into_bytes())
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

/// What is said of a row that cannot be read.
pub fn damaged(stored: &Stored, error: &serde_json::Error) -> Status {
    Status::internal(format!("the row of \"{}\" is no JSON: {error}", stored.key))
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanai_store::{Key, Kind};

    fn stored(object: Value) -> Stored {
        let key = Key::new(&Kind::new("widgets.x.org").unwrap(), "a", "b").unwrap();
        let object = encode(object, BTreeMap::new(), Protection::Plain);
        Stored { key, created: Revision::new(3), revision: Revision::new(7), object }
    }

    #[test]
    fn splicing_gives_what_parsing_gives() {
        let objects = [
            json!({"spec": {"metadata": {}}, "kind": "Widget", "apiVersion": "x.org/v1",
                   "metadata": {"name": "b", "resourceVersion": "4", "labels": {"a": "\"metadata\":{"}}}),
            json!({"apiVersion": "x.org/v1", "kind": "Widget", "metadata": {}}),
            json!({"apiVersion": "x.org/v1", "kind": "Widget"}),
        ];
        for object in objects {
            let stored = stored(object);
            let mut expected = decode_at(&stored, Revision::new(9)).unwrap();
            expected["apiVersion"] = json!("x.org/v2");
            let spliced = bytes(&stored, Revision::new(9), "x.org/v2").unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&spliced).unwrap(), expected);
            let spliced = metadata(&stored, Revision::new(9)).unwrap();
            assert_eq!(serde_json::from_slice::<Value>(&spliced).unwrap(), expected["metadata"]);
        }
    }

    #[test]
    fn rows_of_others_are_told() {
        let mut stored = stored(json!({"apiVersion": "v1", "kind": "A", "metadata": {}}));
        stored.object.value = Bytes::from_static(b"{\"kind\":1}");
        assert!(bytes(&stored, Revision::new(1), "v1").is_err());
        assert!(metadata(&stored, Revision::new(1)).is_err());
        stored.object.value = Bytes::from_static(b"no");
        assert!(decode(&stored).is_err());
    }
}
