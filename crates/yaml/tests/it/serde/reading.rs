use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fmt::{Debug, Write as _};

use lanai_yaml::Document;
use lanai_yaml::de::MAX_DEPTH;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::{Bytes, read};

/// Checks that a text decodes to a value.
fn check<T: DeserializeOwned + PartialEq + Debug>(text: &str, expected: &T) {
    let value = read::<T>(text).map_err(|error| error.to_string());
    assert_eq!(value.as_ref(), Ok(expected), "{text:?}");
}

#[test]
fn scalars_are_what_their_text_says() {
    check("true", &true);
    check("False", &false);
    check("12", &12u8);
    check("-12", &-12i64);
    check("0x1F", &31u16);
    check("0o17", &15u16);
    check("1_000", &1000u32);
    check("18446744073709551615", &u64::MAX);
    check("-9223372036854775808", &i64::MIN);
    check("18446744073709551615", &i128::from(u64::MAX));
    check("170141183460469231731687303715884105727", &i128::MAX);
    check("-170141183460469231731687303715884105728", &i128::MIN);
    check("340282366920938463463374607431768211455", &u128::MAX);
    check("7", &7u128);
    check("1.5", &1.5f64);
    check("3", &3.0f64);
    check(".inf", &f64::INFINITY);
    check("-.INF", &f64::NEG_INFINITY);
    assert!(read::<f64>(".nan").unwrap().is_nan());
    check("2020-01-02", &"2020-01-02".to_owned());
    check("x", &'x');
    check("'1'", &'1');
    check("yes", &"yes".to_owned());
    check("'a''b'", &"a'b".to_owned());
    check("|\n a\n b\n", &"a\nb\n".to_owned());
    check("<<", &"<<".to_owned());
}

#[test]
fn nothing_is_null() {
    for text in ["", "~", "null", "# only a comment\n", "---\n", "!!null ''"] {
        check::<Option<u8>>(text, &None);
        check(text, &());
        check(text, &Value::Null);
    }
    check(
        "a:\nb: ~\nc: 1\n",
        &BTreeMap::from([("a".to_owned(), None), ("b".to_owned(), None), ("c".to_owned(), Some(1))]),
    );
    check("1", &Some(1));
    check("''", &Some(String::new()));
}

#[test]
fn tags_decide() {
    check("!!str 1", &"1".to_owned());
    check("!<tag:yaml.org,2002:str> true", &"true".to_owned());
    check("%TAG !y! tag:yaml.org,2002:\n---\n!y!str 1", &json!("1"));
    check("! 1", &json!("1"));
    check("!!int '1'", &json!(1));
    check("!!bool \"true\"", &json!(true));
    check("!!float 1", &json!(1.0));
    check("!!timestamp 2020-01-02", &json!("2020-01-02"));
    check("!!map {a: !!seq [1]}", &json!({"a": [1]}));
}

#[test]
fn binary_is_bytes_where_bytes_are_wanted() {
    check("!!binary aGVsbG8=", &Bytes(b"hello".into()));
    check("!!binary |\n  aGVs\n  bG8=\n", &Bytes(b"hello".into()));
    check("!!binary aGVsbG8=", &"aGVsbG8=".to_owned());
    check("!!binary aGVsbG8=", &json!("aGVsbG8="));
    check("hello", &Bytes(b"hello".into()));
    check("\"a\\tb\"", &Bytes(b"a\tb".into()));
    check("!!binary ''", &Bytes(Vec::new()));
}

#[test]
fn keys() {
    check("1: a\n-2: b\n", &BTreeMap::from([(1, "a".to_owned()), (-2, "b".to_owned())]));
    check("true: a\n", &BTreeMap::from([(true, "a".to_owned())]));
    check("'8080': http\n", &BTreeMap::from([(8080u16, "http".to_owned())]));
    check(
        "1: a\n2.5: b\nTrue: c\n2020-01-02: d\n",
        &json!({"1": "a", "2.5": "b", "True": "c", "2020-01-02": "d"}),
    );
    check("[1, 2]: a\n", &BTreeMap::from([((1, 2), "a".to_owned())]));
    check("~: a\n", &BTreeMap::from([(None::<String>, "a".to_owned())]));
    check("&k a: 1\nb: *k\n", &json!({"a": 1, "b": "a"}));
    check("- &k a\n- *k : 2\n", &json!(["a", {"a": 2}]));
    check("Red: 1\nGreen: 2\n", &BTreeMap::from([(Colour::Red, 1), (Colour::Green, 2)]));
}

#[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
enum Colour {
    Red,
    Green,
}

#[derive(Debug, Deserialize, PartialEq)]
enum Shape {
    Point,
    Circle(f64),
    Line(i32, i32),
    Square { side: u32 },
    Maybe(Option<u8>),
}

#[test]
fn variants() {
    check(
        "[Point, Circle: 1.5, {Line: [1, 2]}, {Square: {side: 3}}, Point: , Maybe: , Maybe: 1]",
        &vec![
            Shape::Point,
            Shape::Circle(1.5),
            Shape::Line(1, 2),
            Shape::Square { side: 3 },
            Shape::Point,
            Shape::Maybe(None),
            Shape::Maybe(Some(1)),
        ],
    );
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "kind")]
enum Tagged {
    Exec { command: Vec<String>, retries: u8 },
    Wait { seconds: f64 },
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum IntOrString {
    Int(i64),
    String(String),
}

#[derive(Debug, Deserialize, PartialEq)]
struct Flat {
    name: String,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

#[test]
fn what_serde_buffers() {
    check(
        "- kind: Exec\n  command: [a, 'b c']\n  retries: 3\n- seconds: 1\n  kind: Wait\n",
        &vec![
            Tagged::Exec { command: vec!["a".into(), "b c".into()], retries: 3 },
            Tagged::Wait { seconds: 1.0 },
        ],
    );
    check(
        "[80, http, '80']",
        &vec![IntOrString::Int(80), IntOrString::String("http".into()), IntOrString::String("80".into())],
    );
    let rest = BTreeMap::from([("1".to_owned(), json!(true)), ("x".to_owned(), json!([null]))]);
    check("x: [~]\nname: a\n1: true\n", &Flat { name: "a".into(), rest });
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Deployment {
    api_version: String,
    kind: String,
    metadata: Metadata,
    spec: Spec,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", default)]
struct Metadata {
    name: String,
    namespace: Option<String>,
    labels: HashMap<String, String>,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
struct Spec {
    replicas: u32,
    paused: bool,
    template: Vec<Container>,
}

#[derive(Debug, Default, Deserialize, PartialEq)]
struct Container {
    name: String,
    image: String,
    #[serde(default)]
    args: Option<Vec<String>>,
}

#[test]
fn a_kubernetes_object() {
    let text = "\
# kept
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web # the name
  labels: {app: web, 'tier': \"front\"}
  annotations:
    ignored: [all, of, it]
spec:
  replicas: 3
  paused: false
  template:
  - name: app
    image: nginx:1.2
    args: []
  - image: 'busybox'
    name: side
";
    let container =
        |name: &str, image: &str, args| Container { name: name.into(), image: image.into(), args };
    check(
        text,
        &Deployment {
            api_version: "apps/v1".into(),
            kind: "Deployment".into(),
            metadata: Metadata {
                name: "web".into(),
                namespace: None,
                labels: HashMap::from([("app".into(), "web".into()), ("tier".into(), "front".into())]),
            },
            spec: Spec {
                replicas: 3,
                paused: false,
                template: vec![
                    container("app", "nginx:1.2", Some(Vec::new())),
                    container("side", "busybox", None),
                ],
            },
        },
    );
    let document = Document::parse(text).unwrap();
    let replicas: u8 = document.root().get("spec").unwrap().get("replicas").unwrap().deserialize().unwrap();
    assert_eq!(replicas, 3);
}

#[test]
fn strings_are_borrowed_where_the_source_allows() {
    #[derive(Deserialize)]
    struct Borrowed<'a> {
        plain: &'a str,
        quoted: &'a str,
        #[serde(borrow)]
        escaped: Cow<'a, str>,
        bytes: &'a [u8],
        #[serde(borrow)]
        names: BTreeMap<&'a str, &'a str>,
    }

    let document =
        Document::parse("plain: a b\nquoted: \"c\"\nescaped: \"d\\n\"\nbytes: e\nnames: {f: g, 1: h}\n")
            .unwrap();
    let value: Borrowed<'_> = document.root().deserialize().unwrap();
    assert_eq!((value.plain, value.quoted, value.bytes), ("a b", "c", b"e".as_slice()));
    assert_eq!(value.escaped, "d\n");
    assert_eq!(value.names, BTreeMap::from([("f", "g"), ("1", "h")]));
    let range = document.source().as_bytes().as_ptr_range();
    assert!(range.contains(&value.plain.as_ptr()), "the text is that of the document");
    let error = Document::parse("\"d\\n\"").unwrap().root().deserialize::<&str>().unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 1, column 1: invalid type: string \"d\\n\", expected a borrowed string"
    );
}

#[test]
fn aliases_stand_for_their_targets() {
    check(
        "a: &x [1, {b: 2}]\nc: *x\nd: [*x]\n",
        &json!({"a": [1, {"b": 2}], "c": [1, {"b": 2}], "d": [[1, {"b": 2}]]}),
    );
    check("[&n 5, *n]", &(5, 5u8));
    check("[&n ~, *n]", &(None::<u8>, None::<u8>));
    check("[&x 1, &x 2, *x]", &vec![1, 2, 2]);
}

#[test]
fn merge_keys_are_merged() {
    let base = "a: &a {x: 1, y: 1}\nb: &b {y: 2, z: 2}\n";
    for (text, expected) in [
        ("{<<: *a, y: 9}", json!({"y": 9, "x": 1})),
        ("{y: 9, <<: *a}", json!({"y": 9, "x": 1})),
        ("{<<: [*a, *b]}", json!({"x": 1, "y": 1, "z": 2})),
        ("{<<: [*b, *a]}", json!({"y": 2, "z": 2, "x": 1})),
        ("{<<: {<<: *b, x: 0}}", json!({"x": 0, "y": 2, "z": 2})),
        ("{<<: [{<<: *a, q: 1}, *b], z: 0}", json!({"z": 0, "q": 1, "x": 1, "y": 1})),
        ("{<<: []}", json!({})),
        ("{'<<': *a}", json!({"<<": {"x": 1, "y": 1}})),
        ("{!!str <<: 1}", json!({"<<": 1})),
    ] {
        let value: Value = read(&format!("{base}c: {text}\n")).unwrap();
        assert_eq!(value["c"], expected, "{text}");
        let document = Document::parse(format!("{base}c: {text}\n")).unwrap();
        let node = document.root().get("c").unwrap();
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(
                node.get(key).unwrap().deserialize::<Value>().unwrap(),
                *value,
                "{text}: look-ups agree"
            );
        }
    }
    check(&format!("{base}c: {{<<: *a, y: 3}}\n"), &Ignoring { c: Strict { x: 1, y: 3 } });
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Strict {
    x: u8,
    y: u8,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Ignoring<T> {
    c: T,
}

#[test]
fn what_is_ignored_is_not_looked_at() {
    check("a: &a [*a]\nb: {x: 1, x: 2}\nc: 1\n", &Ignoring { c: 1 });
    let document = Document::parse("&a [*a, {x: 1, x: 2}]").unwrap();
    document.root().deserialize::<IgnoredAny>().unwrap();
}

/// A type that nests, derived, with a buffer in between: about the hungriest that there is.
#[derive(Debug, Deserialize, PartialEq)]
#[serde(untagged)]
enum Nested {
    Leaf(u8),
    List(Vec<Nested>),
    Map(BTreeMap<String, Nested>),
}

#[derive(Debug, Deserialize, PartialEq)]
struct Chain {
    next: Option<Box<Chain>>,
}

#[derive(Debug, Deserialize, PartialEq)]
enum Peano {
    Zero,
    Next(Box<Peano>),
}

fn lists(depth: usize) -> String {
    format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
}

fn maps(depth: usize, key: &str, leaf: &str) -> String {
    format!("{}{leaf}{}", format!("{{{key}: ").repeat(depth), "}".repeat(depth))
}

/// Decodes on a stack of 2 MiB, whatever the test runner gives.
fn on_a_small_stack(work: impl FnOnce() + Send + 'static) {
    let thread =
        std::thread::Builder::new().stack_size(2 << 20).spawn(work).expect("there is memory for a thread");
    thread.join().expect("the work succeeds");
}

#[test]
fn depth_is_limited() {
    on_a_small_stack(|| {
        for depth in [1, MAX_DEPTH] {
            read::<Value>(&lists(depth)).unwrap();
            read::<Value>(&maps(depth, "a", "1")).unwrap();
            read::<Nested>(&lists(depth)).unwrap();
            read::<Nested>(&maps(depth, "a", "1")).unwrap();
            read::<Chain>(&maps(depth, "next", "~")).unwrap();
            read::<Peano>(&maps(depth, "Next", "Zero")).unwrap();
        }
        let deeper = format!("the document is nested deeper than {MAX_DEPTH} levels here");
        for depth in [MAX_DEPTH + 1, 900] {
            assert_eq!(read::<Value>(&lists(depth)).unwrap_err().message, deeper);
            assert_eq!(read::<Nested>(&maps(depth, "a", "1")).unwrap_err().message, deeper);
            assert_eq!(read::<Chain>(&maps(depth, "next", "~")).unwrap_err().message, deeper);
            assert_eq!(read::<Peano>(&maps(depth, "Next", "Zero")).unwrap_err().message, deeper);
            read::<IgnoredAny>(&lists(depth)).unwrap();
        }
    });
}

#[test]
fn aliases_count_towards_the_depth() {
    let mut text = String::from("- &a0 [1]\n");
    for at in 1..=MAX_DEPTH {
        writeln!(text, "- &a{at} [*a{}]", at - 1).unwrap();
    }
    let document = Document::parse(text).unwrap();
    on_a_small_stack(move || {
        let fits = document.root().at(MAX_DEPTH - 1).unwrap();
        fits.deserialize::<Value>().unwrap();
        let error = document.root().at(MAX_DEPTH).unwrap().deserialize::<Value>().unwrap_err();
        assert_eq!(error.position.unwrap().line, 1, "{error}");
        assert!(error.message.contains("nested deeper"), "{error}");
    });
}
