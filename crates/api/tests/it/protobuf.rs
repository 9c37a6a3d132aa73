//! Objects in protobuf, as the Go library writes them (`scripts/protobuf`), and what others might send.

use std::sync::LazyLock;

use lanai_api::protobuf::{Error, MAX_DEPTH, MAX_VALUES, read};
use lanai_openapi::format::base64_bytes;
use proptest::prelude::*;
use serde_json::Value;

fn samples() -> &'static [(Vec<u8>, Value)] {
    static SAMPLES: LazyLock<Vec<(Vec<u8>, Value)>> = LazyLock::new(|| {
        let all: Vec<Value> =
            serde_json::from_str(include_str!("protobuf.json")).expect("the samples are JSON");
        let bytes = |sample: &Value| base64_bytes(sample["protobuf"].as_str().unwrap_or_default());
        all.iter().map(|sample| (bytes(sample).expect("it is base 64"), sample["json"].clone())).collect()
    });
    &SAMPLES
}

/// What is not there and what is null mean the same.
fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let there = fields.iter().filter(|(_, value)| !value.is_null());
            there.map(|(name, value)| (name.clone(), without_nulls(value))).collect()
        }
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

#[test]
fn what_the_go_library_wrote_is_read_as_its_json() {
    let samples = samples();
    assert!(samples.len() > 40, "{}", samples.len());
    for (bytes, json) in samples {
        let ours = read(bytes).unwrap_or_else(|error| panic!("{error}: {json}"));
        let (ours, theirs) = (without_nulls(&ours), without_nulls(json));
        assert!(ours == theirs, "ours   {ours}\ntheirs {theirs}");
    }
}

#[test]
fn every_beginning_of_a_body_is_read_or_refused() {
    for (bytes, _) in samples() {
        // Not all of those that are long: this takes the square of their length.
        for end in (0..bytes.len()).step_by(1 + bytes.len() / 300) {
            let _ = read(&bytes[..end]);
        }
    }
    assert_eq!(read(b""), Err(Error::Prefix));
    assert_eq!(read(b"{}"), Err(Error::Prefix));
    assert!(matches!(read(b"k8s\0"), Err(Error::Kind { .. })));
    assert!(matches!(read(b"k8s\0\x0b"), Err(Error::Damaged(_))), "a group");
}

/// A field with bytes in it.
fn bytes_field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2];
    let mut length = content.len();
    while length >= 0x80 {
        out.push(u8::try_from(length & 0x7f).expect("seven bits") | 0x80);
        length >>= 7;
    }
    out.push(u8::try_from(length).expect("seven bits"));
    out.extend_from_slice(content);
    out
}

/// A field with a number above 15.
fn far_field(number: u16, content: &[u8]) -> Vec<u8> {
    let key = number << 3 | 2;
    let mut out =
        vec![u8::try_from(key & 0x7f).expect("seven bits") | 0x80, u8::try_from(key >> 7).expect("few bits")];
    out.extend_from_slice(&bytes_field(1, content)[1..]);
    out
}

fn body(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let meta = [bytes_field(1, api_version.as_bytes()), bytes_field(2, kind.as_bytes())].concat();
    [b"k8s\0".to_vec(), bytes_field(1, &meta), bytes_field(2, raw)].concat()
}

#[test]
fn messages_stand_in_each_other_to_a_depth() {
    let definition = |depth: usize| {
        // `not` of a schema is a schema.
        let schema = (0..depth).fold(Vec::new(), |inner, _| far_field(28, &inner));
        let version = bytes_field(4, &bytes_field(1, &schema));
        body(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            &bytes_field(2, &bytes_field(7, &version)),
        )
    };
    // The spec, its version, the holder of the schema, and the schema stand above.
    assert!(read(&definition(MAX_DEPTH - 4)).is_ok());
    assert_eq!(read(&definition(MAX_DEPTH - 3)), Err(Error::TooDeep));
}

#[test]
fn an_object_has_so_many_values() {
    // The finalizers of a namespace, which are texts.
    let namespace =
        |count: usize| body("v1", "Namespace", &bytes_field(2, &bytes_field(1, b"").repeat(count)));
    assert!(read(&namespace(MAX_VALUES - 1)).is_ok());
    assert_eq!(read(&namespace(MAX_VALUES)), Err(Error::TooMany));
}

#[test]
fn what_is_said_twice_is_merged() {
    let metadata = |number: u8, text: &str| bytes_field(1, &bytes_field(number, text.as_bytes()));
    let twice = [metadata(1, "a"), metadata(3, "n"), metadata(1, "b")].concat();
    let read = read(&body("v1", "ConfigMap", &twice)).expect("it is protobuf");
    assert_eq!(read["metadata"], serde_json::json!({"name": "b", "namespace": "n"}));
}

proptest! {
    #[test]
    fn damage_is_read_or_refused(which in any::<prop::sample::Index>(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let samples = samples();
        let mut bytes = which.get(samples).0.clone();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(&bytes);
    }

    #[test]
    fn noise_is_read_or_refused(noise in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&body("v1", "Secret", &noise));
        let _ = read(&body("apiextensions.k8s.io/v1", "CustomResourceDefinition", &noise));
    }
}
