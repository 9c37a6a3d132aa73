use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};

use lanai_yaml::de::MAX_DEPTH;
use lanai_yaml::{Document, Kind, NodeRef, Resolved, Style, ser};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::Bytes;

fn document_of<T: Serialize + ?Sized>(value: &T) -> Document {
    Document::from_serialize(value).expect("the value fits into a document")
}

/// Checks that a value survives the way into a document and back.
fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let document = document_of(value);
    let back = document.root().deserialize::<T>().map_err(|error| error.to_string());
    assert_eq!(back.as_ref(), Ok(value));
}

/// The kind, style, meaning and text of a scalar.
fn scalar<T: Serialize + ?Sized>(value: &T) -> (Style, Resolved, String) {
    let document = document_of(value);
    let root = document.root();
    assert_eq!(root.kind(), Kind::Scalar);
    (root.style(), root.resolved(), root.value().into_owned())
}

#[test]
fn scalars_have_their_text_and_their_meaning() {
    let plain = |meaning, text: &str| (Style::Plain, meaning, text.to_owned());
    assert_eq!(scalar(&1u8), plain(Resolved::Int(1), "1"));
    assert_eq!(scalar(&i64::MIN), plain(Resolved::Int(i64::MIN.into()), "-9223372036854775808"));
    assert_eq!(scalar(&u64::MAX), plain(Resolved::Int(u64::MAX.into()), "18446744073709551615"));
    assert_eq!(scalar(&true), plain(Resolved::Bool(true), "true"));
    assert_eq!(scalar(&()), plain(Resolved::Null, "null"));
    assert_eq!(scalar(&None::<u8>), plain(Resolved::Null, "null"));
    assert_eq!(scalar(&Some(2)), plain(Resolved::Int(2), "2"));
    assert_eq!(scalar(&1.0), plain(Resolved::Float(1.0), "1.0"));
    assert_eq!(scalar(&-0.0), plain(Resolved::Float(-0.0), "-0.0"));
    assert_eq!(scalar(&0.1f32), plain(Resolved::Float(0.1), "0.1"));
    assert_eq!(scalar(&1e300), plain(Resolved::Float(1e300), "1e300"));
    assert_eq!(scalar(&f64::INFINITY), plain(Resolved::Float(f64::INFINITY), ".inf"));
    assert_eq!(scalar(&f32::NEG_INFINITY), plain(Resolved::Float(f64::NEG_INFINITY), "-.inf"));
    assert_eq!(scalar(&f64::NAN).2, ".nan");
    for text in ["", "a", "1", "true", "~", "null", "1.0", "<<", "2020-01-02", " a: b #"] {
        assert_eq!(scalar(text), plain(Resolved::Str, text));
    }
    assert_eq!(scalar(&'7'), plain(Resolved::Str, "7"));
    assert_eq!(scalar("a\nb\n"), (Style::Literal, Resolved::Str, "a\nb\n".into()));
}

#[test]
fn the_shape_of_a_document() {
    let document = document_of(&json!({"z": [1, [], {}], "a": {"b": null}, "1": "x\ny"}));
    assert!(document.is_edited() && !document.is_empty());
    let root = document.root();
    assert_eq!((root.kind(), root.style(), root.len()), (Kind::Mapping, Style::Block, 3));
    let keys: Vec<_> = root.entries().map(|(key, _)| (key.value(), key.style(), key.resolved())).collect();
    assert_eq!(keys, ["z", "a", "1"].map(|key| (key.into(), Style::Plain, Resolved::Str)));
    let list = root.get("z").unwrap();
    let styles: Vec<_> = list.items().map(NodeRef::style).collect();
    assert_eq!(styles, [Style::Plain, Style::Flow, Style::Flow]);
    assert_eq!(list.parent().map(NodeRef::kind), Some(Kind::Mapping));
    assert!(root.get("a").unwrap().get("b").unwrap().is_null());
    assert_eq!(root.get("1").unwrap().style(), Style::Literal);
}

#[test]
fn bytes_are_base64_behind_their_tag() {
    let document = document_of(&Bytes(b"hello".into()));
    assert_eq!(document.root().tag(), Some("!!binary"));
    assert_eq!(document.root().value(), "aGVsbG8=");
    check(&Bytes(Vec::new()));
    check(&vec![Bytes(vec![0, 255]), Bytes(b"1234".into())]);
}

#[test]
fn a_merge_key_in_a_value_is_only_a_key() {
    let value = json!({"<<": {"a": 1}, "b": 2});
    check(&value);
    assert!(document_of(&value).root().get("a").is_none());
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
enum Shape {
    Point,
    Circle(f64),
    Line(i32, i32),
    Square { side: Option<u32> },
    Empty(),
    Bare {},
}

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
enum Name {
    One,
    #[serde(rename = "true")]
    True,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
struct Everything {
    unit: (),
    nothing: Nothing,
    wrapped: Wrapped,
    tuple: (bool, char, String),
    shapes: Vec<Shape>,
    numbers: BTreeMap<i32, f32>,
    names: BTreeMap<Name, Option<Bytes>>,
    letters: BTreeMap<char, u128>,
    switches: BTreeMap<bool, i128>,
    nested: Option<Box<Everything>>,
    float: f64,
    big: (u64, i64),
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
struct Nothing;

#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Wrapped(String);

#[test]
fn variants_are_strings_or_single_keys() {
    assert_eq!(scalar(&Shape::Point), (Style::Plain, Resolved::Str, "Point".into()));
    let value = |shape: &Shape| document_of(shape).root().deserialize::<Value>().unwrap();
    assert_eq!(value(&Shape::Circle(1.0)), json!({"Circle": 1.0}));
    assert_eq!(value(&Shape::Line(1, 2)), json!({"Line": [1, 2]}));
    assert_eq!(value(&Shape::Square { side: None }), json!({"Square": {"side": null}}));
    assert_eq!(value(&Shape::Empty()), json!({"Empty": []}));
    assert_eq!(value(&Shape::Bare {}), json!({"Bare": {}}));
    let document = document_of(&Shape::Bare {});
    assert_eq!(document.root().style(), Style::Block);
    assert_eq!(document.root().get("Bare").unwrap().style(), Style::Flow);
}

#[test]
fn keys_that_no_document_has() {
    let message = |what: &str| {
        format!("a map has {what} as a key, where only strings, integers and booleans may stand")
    };
    let refused = |value: &dyn Fn() -> Result<Document, ser::Error>, expected: String| {
        assert_eq!(value().expect_err("the key is refused").to_string(), expected);
    };
    refused(&|| Document::from_serialize(&BTreeMap::from([((1, 2), 3)])), message("a sequence"));
    refused(&|| Document::from_serialize(&BTreeMap::from([(None::<u8>, 3)])), message("null"));
    refused(&|| Document::from_serialize(&BTreeMap::from([((), 3)])), message("null"));
    refused(
        &|| Document::from_serialize(&BTreeMap::from([("a", [BTreeMap::from([([1], 1)])])])),
        format!("a[0]: {}", message("a sequence")),
    );
    check(&BTreeMap::from([(Wrapped("1".into()), 1)]));
    check(&BTreeMap::from([(Some(1), 1)]));
}

#[test]
fn keys_that_a_value_names_twice() {
    #[derive(Serialize)]
    struct Flat {
        a: u8,
        #[serde(flatten)]
        rest: BTreeMap<String, u8>,
    }

    let value = vec![Flat { a: 1, rest: BTreeMap::from([("a".into(), 2)]) }];
    let error = Document::from_serialize(&value).unwrap_err();
    assert_eq!(error.to_string(), "[0]: the map names the key \"a\" twice");
}

#[test]
fn depth_is_limited() {
    let nest = |depth: usize| (1..depth).fold(json!([]), |value, _| json!([value]));
    check(&nest(MAX_DEPTH));
    let error = Document::from_serialize(&nest(MAX_DEPTH + 1)).unwrap_err();
    assert_eq!(error.message, format!("the value is nested deeper than {MAX_DEPTH} levels"));
    assert_eq!(error.path, "[0]".repeat(MAX_DEPTH));
}

#[test]
fn what_a_value_refuses_has_a_path() {
    #[derive(Serialize)]
    enum Outer {
        Inner { list: Vec<Refusing> },
    }

    struct Refusing;

    impl Serialize for Refusing {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("no"))
        }
    }

    let error = Document::from_serialize(&Outer::Inner { list: vec![Refusing] }).unwrap_err();
    assert_eq!(error.to_string(), "Inner.list[0]: no");
}

#[test]
fn errors_about_new_documents_have_no_place() {
    let document = document_of(&json!({"a": ["x"]}));
    let error = document.root().deserialize::<BTreeMap<String, Vec<u8>>>().unwrap_err();
    assert_eq!(error.position, None);
    assert_eq!(error.to_string(), "a[0]: invalid type: string \"x\", expected u8");
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{0,4}",
        "[-+.0-9a-fxo_:eET~ ]{0,8}",
        "(\\PC|\n|\t|\r){0,12}",
        Just("true".to_owned()),
        Just("null".to_owned()),
        Just("<<".to_owned()),
        any::<String>(),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON has no infinity", |value| value.is_finite()).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            btree_map(text(), inner, 0..6).prop_map(|map| Value::from(Map::from_iter(map))),
        ]
    })
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        Just(Shape::Point),
        any::<f64>().prop_map(Shape::Circle),
        any::<(i32, i32)>().prop_map(|(a, b)| Shape::Line(a, b)),
        any::<Option<u32>>().prop_map(|side| Shape::Square { side }),
        Just(Shape::Empty()),
        Just(Shape::Bare {}),
    ]
}

prop_compose! {
    fn flat_everything()(
        wrapped in text(),
        tuple in (any::<bool>(), any::<char>(), text()),
        shapes in vec(shape(), 0..5),
        numbers in btree_map(any::<i32>(), any::<f32>(), 0..4),
        names in btree_map(
            prop_oneof![Just(Name::One), Just(Name::True)],
            proptest::option::of(vec(any::<u8>(), 0..9).prop_map(Bytes)),
            0..3,
        ),
        letters in btree_map(any::<char>(), any::<u128>(), 0..4),
        switches in btree_map(any::<bool>(), any::<i128>(), 0..3),
        float in any::<f64>(),
        big in any::<(u64, i64)>(),
    ) -> Everything {
        let wrapped = Wrapped(wrapped);
        Everything { unit: (), nothing: Nothing, wrapped, tuple, shapes, numbers, names, letters, switches, nested: None, float, big }
    }
}

proptest! {
    /// JSON is YAML, and serde_json knows how to write it.
    #[test]
    fn json_texts_mean_what_they_were_written_for(value in value()) {
        let mut text = String::new();
        for c in serde_json::to_string_pretty(&value).expect("it is JSON").chars() {
            // JSON may hold characters that YAML wants escaped.
            match c {
                '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => {
                    write!(text, "\\u{:04x}", u32::from(c)).expect("a string takes everything");
                }
                _ => text.push(c),
            }
        }
        match Document::parse(text) {
            Ok(document) => prop_assert_eq!(document.root().deserialize().map_err(|error| error.to_string()), Ok(value)),
            Err(error) => prop_assert!(false, "{error:#}"),
        }
    }

    #[test]
    fn json_survives(value in value()) {
        let document = document_of(&value);
        prop_assert_eq!(document.root().deserialize::<Value>().map_err(|error| error.to_string()), Ok(value));
    }

    #[test]
    fn derived_types_survive(mut outer in flat_everything(), inner in flat_everything()) {
        outer.nested = Some(Box::new(inner));
        let document = document_of(&outer);
        prop_assert_eq!(document.root().deserialize::<Everything>().map_err(|error| error.to_string()), Ok(outer));
    }

    #[test]
    fn numbers_survive(small in any::<i128>(), large in any::<u128>(), float in any::<f32>()) {
        check(&small);
        check(&large);
        check(&(small >> 64, large >> 64));
        check(&float);
    }
}

/// A number as `serde_json` hands it over when some crate of the program asks it for numbers of any precision.
#[derive(Serialize)]
#[serde(rename = "$serde_json::private::Number")]
struct Exact {
    #[serde(rename = "$serde_json::private::Number")]
    text: &'static str,
}

#[test]
fn numbers_of_any_precision_are_numbers() {
    let digits = "31415926535897932384626433832795028841971";
    assert_eq!(document_of(&Exact { text: digits }).to_string(), format!("{digits}\n"));
    assert_eq!(scalar(&Exact { text: "1.50" }), (Style::Plain, Resolved::Float(1.5), "1.50".into()));
    assert_eq!(document_of(&[Exact { text: "1" }, Exact { text: "2" }]).to_string(), "- 1\n- 2\n");
}

#[test]
fn a_number_is_no_level_of_nesting() {
    #[derive(Serialize)]
    #[serde(untagged)]
    enum Nested {
        Number(Exact),
        List([Box<Nested>; 1]),
    }
    let deepest =
        (0..MAX_DEPTH).fold(Nested::Number(Exact { text: "7" }), |inner, _| Nested::List([Box::new(inner)]));
    assert!(Document::from_serialize(&deepest).is_ok());
    assert!(Document::from_serialize(&Nested::List([Box::new(deepest)])).is_err());
}
