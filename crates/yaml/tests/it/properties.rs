//! Properties: what holds for every text and every edit, not only for those that somebody thought of.

pub mod bodies;
mod choices;
mod comments;
mod depth;
mod edits;
mod going;
mod judge;
mod locality;
mod model;
pub mod names;
mod owners;
mod refusals;
mod text;

use lanai_yaml::{Document, Stream};
use proptest::prelude::*;

use choices::Choices;

fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..most)
}

/// The comments of all nodes of a text, in its order.
fn comments(text: &str) -> Vec<[Option<String>; 3]> {
    let stream = Stream::parse(text).expect("generated texts are YAML");
    let mut found = Vec::new();
    for document in stream.documents() {
        found.push([document.preface(), document.head_comment(), document.foot_comment()]);
        let mut nodes = comments::below(document.root());
        nodes.push(document.root());
        nodes.sort_by_key(|node| node.source_range().map(|range| (range.start, range.end)));
        found
            .extend(nodes.iter().map(|node| [node.head_comment(), node.line_comment(), node.foot_comment()]));
    }
    found
}

fn stream(choices: &[u8]) -> String {
    text::stream(&mut Choices::new(choices))
}

proptest! {
    #[test]
    fn what_people_write_is_read_and_written_as_it_was(choices in bytes(300)) {
        let text = stream(&choices);
        let parsed = Stream::parse(text.as_str());
        prop_assert!(parsed.is_ok(), "{:#}\n{text}\n{text:?}", parsed.unwrap_err());
        bodies::yaml_parse(text.as_bytes());
        let judged = judge::judge(&text);
        prop_assert!(judged.is_ok(), "{}\n{text}", judged.unwrap_err());
        let shapes = judged.unwrap().documents;
        let models: Vec<_> = parsed.unwrap().documents().iter().map(|document| model::Node::read(document.root())).collect();
        prop_assert_eq!(shapes.len(), models.len(), "{}", text);
        for (model, shape) in models.iter().zip(&shapes) {
            prop_assert!(model.agrees(shape), "{model:?}\n{shape:?}\n{text}");
        }
    }

    #[test]
    fn line_ends_do_not_decide_whose_a_comment_is(choices in bytes(300)) {
        let text = stream(&choices).replace("\r\n", "\n");
        prop_assert_eq!(comments(&text), comments(&text.replace('\n', "\r\n")), "{}", text);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in bytes(64)) {
        bodies::yaml_parse(&bytes);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(?s)[a: \n\r\t#'\"\\[\\]{},&*!|>%?0\\-\\\\\u{85}\u{feff}é]{0,40}") {
        bodies::yaml_parse(text.as_bytes());
    }

    #[test]
    fn one_edit_changes_its_entry_only(choices in bytes(200), edits in bytes(24)) {
        bodies::edit_text(&stream(&choices), &edits, 1);
    }

    #[test]
    fn edits_do_what_the_model_says(choices in bytes(200), edits in bytes(100)) {
        bodies::edit_text(&stream(&choices), &edits, 6);
    }
}

/// Texts that some reader takes for a boolean, a null, a number or a date, and what is plain text for all of them.
const OTHER_THAN_TEXT: &[&str] = &[
    "y",
    "Y",
    "yes",
    "Yes",
    "YES",
    "n",
    "N",
    "no",
    "No",
    "NO",
    "true",
    "True",
    "TRUE",
    "false",
    "False",
    "FALSE",
    "on",
    "On",
    "ON",
    "off",
    "Off",
    "OFF",
    "~",
    "null",
    "Null",
    "NULL",
    "",
    "0",
    "-1",
    "+1",
    "007",
    "0o7",
    "0x1F",
    "0b101",
    "1_000",
    "1.5",
    "-1.5e+3",
    ".5",
    "1e3",
    "1E3",
    "685.230_15e+03",
    ".inf",
    "-.INF",
    ".nan",
    "190:20:30",
    "1:30",
    "2001-12-14",
    "2001-12-14t21:59:43.10-05:00",
    "2001-1-1 1:1:1",
    "<<",
    "=",
];

const TEXT: &[&str] = &[
    "x",
    "yesterday",
    "1.2.3",
    "10.0.0.1",
    "v1",
    "nope",
    "0x",
    "1e",
    "a1",
    "-x",
    "e3",
    "nginx:1.25",
    "100m",
    "5Gi",
    "1/2",
];

#[test]
fn strings_that_look_like_something_else_are_quoted() {
    let check = |input: &str, text: &str, quoted: bool| {
        let mut document = Document::parse(input).unwrap();
        document.root_mut().insert("a", text).unwrap();
        let output = document.to_string();
        let again = Document::parse(output.as_str()).unwrap_or_else(|error| panic!("{error:#}\n{output}"));
        assert_eq!(again.root().get("a").unwrap().as_str().as_deref(), Some(text), "{output}");
        let judged = judge::judge(&output).unwrap();
        let judge::Shape::Mapping(pair) = &judged.documents[0] else {
            panic!("a mapping was written:\n{output}")
        };
        assert_eq!(
            pair.last(),
            Some(&judge::Shape::Scalar { text: text.into(), plain: !quoted }),
            "{output}"
        );
    };
    for input in ["a: x\n", "a: 5\n", "a:\n", "{a: x}\n", "b: x\n", "{}\n", "a: [1]\n"] {
        for text in OTHER_THAN_TEXT {
            check(input, text, true);
        }
        for text in TEXT {
            check(input, text, false);
        }
    }
}

#[test]
fn keys_that_look_like_something_else_are_quoted() {
    for text in OTHER_THAN_TEXT {
        let mut document = Document::parse("b: 1\n").unwrap();
        document.root_mut().insert(text, 2).unwrap();
        let output = document.to_string();
        let again = Document::parse(output.as_str()).unwrap();
        assert_eq!(
            again.root().own_entry(text).and_then(|(key, _)| key.as_str()).as_deref(),
            Some(*text),
            "{output}"
        );
    }
}

#[test]
fn documents_can_be_shared_between_threads() {
    fn check<T: Send + Sync>() {}
    check::<Document>();
    check::<Stream>();
    check::<lanai_yaml::Content>();
}

#[test]
fn clones_are_independent() {
    let original = Document::parse("a: 1 # one\nb: [x, y]\n").unwrap();
    let mut first = original.clone();
    first.root_mut().insert("a", 2).unwrap();
    let mut second = first.clone();
    second.root_mut().get_mut("b").unwrap().push("z").unwrap();
    first.root_mut().remove("b").unwrap();
    assert_eq!(original.to_string(), "a: 1 # one\nb: [x, y]\n");
    assert!(!original.is_edited());
    assert_eq!(first.to_string(), "a: 2 # one\n");
    assert_eq!(second.to_string(), "a: 2 # one\nb: [x, y, z]\n");
}

proptest! {
    #[test]
    fn an_edit_of_a_clone_leaves_the_original_alone(choices in bytes(200), edits in bytes(40)) {
        let text = stream(&choices);
        let original = Stream::parse(text.as_str()).unwrap();
        let mut copy = original.clone();
        let model = model::Node::read(original.documents()[0].root());
        prop_assume!(model.has_simple_anchors());
        let document = &mut copy.documents_mut()[0];
        let op = edits::Op::choose(&mut Choices::new(&edits), document, &model);
        _ = op.apply(document);
        prop_assert_eq!(original.to_string(), text);
        prop_assert!(!original.is_edited());
    }
}
