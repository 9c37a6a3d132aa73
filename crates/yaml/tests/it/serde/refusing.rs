use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};

use lanai_yaml::de::MAX_DEPTH;
use lanai_yaml::{Document, Path};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Bytes, read};

/// Checks the text of an error, and that its path leads somewhere.
fn check<T: DeserializeOwned + Debug>(text: &str, expected: &str) {
    let error = read::<T>(text).expect_err(text);
    assert_eq!(error.to_string(), expected, "{text:?}");
    let path = Path::parse(&error.path).expect("the path is one");
    let document = Document::parse(text).expect("the test's text is YAML");
    document.root().find(&path).expect("the path leads somewhere");
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only the errors count")]
struct Object {
    spec: Spec,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "only the errors count")]
struct Spec {
    replicas: u32,
    #[serde(default)]
    items: Vec<Item>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[allow(dead_code, reason = "only the errors count")]
enum Item {
    None,
    One(u8),
    Two(u8, u8),
    Named { name: String },
}

#[test]
fn types() {
    check::<Object>(
        "# a\nspec:\n\n  replicas: x\n",
        "spec.replicas: line 4, column 13: invalid type: string \"x\", expected u32",
    );
    check::<Object>(
        "spec:\n  replicas: '1'\n",
        "spec.replicas: line 2, column 13: invalid type: string \"1\", expected u32",
    );
    check::<Object>(
        "spec:\n  replicas:\n",
        "spec.replicas: line 2, column 12: invalid type: null, expected u32",
    );
    check::<Object>(
        "spec:\n  replicas: -1\n",
        "spec.replicas: line 2, column 13: invalid value: integer `-1`, expected u32",
    );
    check::<Object>(
        "spec:\n  replicas: 1.5\n",
        "spec.replicas: line 2, column 13: invalid type: floating point `1.5`, expected u32",
    );
    check::<Object>("spec: 1\n", "spec: line 1, column 7: invalid type: integer `1`, expected struct Spec");
    check::<Object>("spec: [1]\n", "spec: line 1, column 7: invalid type: sequence, expected struct Spec");
    check::<Object>("[{}]", "line 1, column 1: invalid type: sequence, expected struct Object");
    check::<Object>("", "line 1, column 1: invalid type: null, expected struct Object");
    check::<Object>(
        "spec:\n  replicas: 1\n  labels:\n    ok: 'true'\n    a.b/c: true\n",
        "spec.labels[\"a.b/c\"]: line 5, column 12: invalid type: boolean `true`, expected a string",
    );
    check::<bool>("yes", "line 1, column 1: invalid type: string \"yes\", expected a boolean");
    check::<String>("12", "line 1, column 1: invalid type: integer `12`, expected a string");
    check::<String>("{a: 1}", "line 1, column 1: invalid type: map, expected a string");
    check::<()>("0", "line 1, column 1: invalid type: integer `0`, expected unit");
    check::<Vec<u8>>("{a: 1}", "line 1, column 1: invalid type: map, expected a sequence");
    check::<Vec<u8>>("- 1\n- 256\n", "[1]: line 2, column 3: invalid value: integer `256`, expected u8");
    check::<Bytes>("1", "line 1, column 1: invalid type: integer `1`, expected bytes");
    check::<i128>("08", "line 1, column 1: invalid type: floating point `8.0`, expected i128");
}

#[test]
fn fields() {
    check::<Object>(
        "spec:\n  replicas: 1\n  replica: 2\n",
        "spec: line 3, column 3: unknown field `replica`, expected one of `replicas`, `items`, `labels`",
    );
    check::<Object>("spec:\n  items: []\n", "spec: line 2, column 3: missing field `replicas`");
    check::<Object>(
        "spec: {replicas: 1, 0: 1}\n",
        "spec: line 1, column 21: unknown field `0`, expected one of `replicas`, `items`, `labels`",
    );
}

#[test]
fn lengths() {
    check::<(u8, u8)>("[1, 2, 3]", "line 1, column 1: invalid length 3, expected 2 entries");
    check::<(u8, u8)>("[1]", "line 1, column 1: invalid length 1, expected a tuple of size 2");
}

#[test]
fn variants() {
    let item = |text: &str| format!("spec:\n  replicas: 1\n  items:\n  - None\n  - {text}\n");
    check::<Object>(
        &item("Nine"),
        "spec.items[1]: line 5, column 5: unknown variant `Nine`, expected one of `None`, `One`, `Two`, `Named`",
    );
    check::<Object>(
        &item("Nine: 1"),
        "spec.items[1]: line 5, column 5: unknown variant `Nine`, expected one of `None`, `One`, `Two`, `Named`",
    );
    check::<Object>(
        &item("One: x"),
        "spec.items[1].One: line 5, column 10: invalid type: string \"x\", expected u8",
    );
    check::<Object>(
        &item("Two: [1, x]"),
        "spec.items[1].Two[1]: line 5, column 14: invalid type: string \"x\", expected u8",
    );
    check::<Object>(&item("Named: {}"), "spec.items[1].Named: line 5, column 12: missing field `name`");
    check::<Object>(
        &item("Named: [a]"),
        "spec.items[1].Named: line 5, column 12: invalid type: sequence, expected struct variant Item::Named",
    );
    check::<Object>(
        &item("One"),
        "spec.items[1]: line 5, column 5: invalid type: unit variant, expected newtype variant",
    );
    check::<Object>(
        &item("None: 1"),
        "spec.items[1].None: line 5, column 11: invalid type: integer `1`, expected unit",
    );
    check::<Object>(
        &item("{}"),
        "spec.items[1]: line 5, column 5: invalid length 0, expected a mapping with one key, the variant",
    );
    check::<Object>(
        &item("{One: 1, Two: 2}"),
        "spec.items[1]: line 5, column 5: invalid length 2, expected a mapping with one key, the variant",
    );
    check::<Object>(
        &item("5"),
        "spec.items[1]: line 5, column 5: invalid type: integer `5`, expected enum Item",
    );
    check::<Object>(&item("~"), "spec.items[1]: line 5, column 5: invalid type: null, expected enum Item");
    check::<Object>(
        &item("[None]"),
        "spec.items[1]: line 5, column 5: invalid type: sequence, expected enum Item",
    );
}

#[test]
fn keys_that_stand_twice() {
    check::<Object>(
        "spec:\n  replicas: 1\n  items: []\n  replicas: 1\n",
        "spec: line 4, column 3: the key \"replicas\" stands here again, first it stands at line 2, column 3",
    );
    check::<Value>(
        "- {a: 1, 'a': 2}\n",
        "[0]: line 1, column 10: the key \"a\" stands here again, first it stands at line 1, column 4",
    );
    check::<Value>(
        "a: &a {x: 1}\nb: {<<: *a, <<: *a}\n",
        "b: line 2, column 13: the key \"<<\" stands here again, first it stands at line 2, column 5",
    );
    check::<Value>(
        "b: {<<: {x: 1, x: 1}}\n",
        "b: line 1, column 16: the key \"x\" stands here again, first it stands at line 1, column 10",
    );
}

#[test]
fn keys() {
    check::<BTreeMap<u8, u8>>("x: 1", "line 1, column 1: invalid type: string \"x\", expected u8");
    check::<BTreeMap<u8, u8>>(
        "1: 1\n'300': 2",
        "line 2, column 1: invalid value: integer `300`, expected u8",
    );
    check::<BTreeMap<String, u8>>("~: 1", "line 1, column 1: invalid type: null, expected a string");
    check::<Value>("[a]: 1", "line 1, column 1: invalid type: sequence, expected a string key");
}

#[test]
fn merge_keys_without_mappings() {
    let message = "a merge key takes a mapping or a list of mappings";
    check::<Value>("a: {<<: 1}", &format!("a: line 1, column 9: {message}"));
    check::<Value>("a: {<<: }", &format!("a: line 1, column 8: {message}"));
    check::<Value>("a: {<<: [{}, [{}]]}", &format!("a: line 1, column 14: {message}"));
    check::<Value>("- &a 1\n- {<<: *a}", &format!("[1]: line 1, column 6: {message}"));
}

#[test]
fn tags_that_lie() {
    check::<Value>("a: !!int x", "a: line 1, column 10: \"x\" is not what its tag !!int says");
    check::<u8>("!!str 1", "line 1, column 7: invalid type: string \"1\", expected u8");
    check::<Value>("!!bool yes", "line 1, column 8: \"yes\" is not what its tag !!bool says");
    check::<Value>("!!null x", "line 1, column 8: \"x\" is not what its tag !!null says");
    check::<Option<u8>>("!!float x", "line 1, column 9: \"x\" is not what its tag !!float says");
    check::<Bytes>("!!binary '?'", "line 1, column 10: the text behind !!binary is not base64");
}

#[test]
fn circles() {
    let circle = "the alias \"a\" is part of what it stands for";
    check::<Value>("&a [1, *a]", &format!("[1]: line 1, column 8: {circle}"));
    check::<Value>("&a {x: {y: *a}}", &format!("x.y: line 1, column 12: {circle}"));
    check::<Value>("x: &a {<<: *a}", &format!("x: line 1, column 12: {circle}"));
    check::<Value>("x: &a {<<: [{}, {<<: *a}]}", &format!("x: line 1, column 22: {circle}"));
    check::<Value>("&a [&b [*a], *b]", &format!("[0][0]: line 1, column 9: {circle}"));
    let document = Document::parse("&a [&b [*a], *b]").unwrap();
    let error = document.root().at(1).unwrap().deserialize::<Value>().unwrap_err();
    assert_eq!(error.to_string(), format!("[0]: line 1, column 9: {circle}"));
}

#[test]
fn long_texts_are_shortened() {
    let error = read::<u8>(&"é".repeat(5000)).unwrap_err();
    assert_eq!(error.message, format!("invalid type: string \"{}\"…, expected u8", "é".repeat(100)));
    let error = read::<u8>(&"é".repeat(100)).unwrap_err();
    assert_eq!(error.message, format!("invalid type: string \"{}\", expected u8", "é".repeat(100)));
}

#[test]
fn buffers_keep_the_place_of_what_they_buffer() {
    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "only the errors count")]
    enum IntOrString {
        Int(i64),
        String(String),
    }

    check::<Vec<IntOrString>>(
        "- 1\n- true\n",
        "[1]: line 2, column 3: data did not match any variant of untagged enum IntOrString",
    );
}

#[test]
fn merge_keys_in_a_row() {
    let chain = |count: usize| {
        let mut text = String::from("- &a0 {x0: 1}\n");
        for at in 1..=count {
            writeln!(text, "- &a{at} {{x{at}: 1, <<: *a{}}}", at - 1).unwrap();
        }
        Document::parse(text).unwrap()
    };
    let document = chain(MAX_DEPTH + 1);
    let longest: BTreeMap<String, u8> = document.root().at(MAX_DEPTH).unwrap().deserialize().unwrap();
    assert_eq!(longest.len(), MAX_DEPTH + 1);
    let error = document.root().at(MAX_DEPTH + 1).unwrap().deserialize::<Value>().unwrap_err();
    assert_eq!(error.message, format!("merge keys lead to each other more than {MAX_DEPTH} times"));
}
