//! Edits by hand: what goes in, what is done, what comes out.

mod comments;
mod owners;

use lanai_yaml::edit::Error;
use lanai_yaml::{CommentPlace, Content, Document, NodeMut, Style};

/// Applies an edit to the root and compares the text. Both are also read again and compared with the edited tree.
fn check(input: &str, edit: impl FnOnce(&mut NodeMut<'_>), expected: &str) {
    let mut document = Document::parse(input).expect("the input is YAML");
    edit(&mut document.root_mut());
    let output = document.to_string();
    assert_eq!(output, expected, "\n--- input\n{input}--- output\n{output}--- expected\n{expected}");
    let again = Document::parse(output.as_str()).unwrap_or_else(|error| panic!("{error:#}\n{output}"));
    assert_eq!(
        format!("{:?}", again.root()),
        format!("{:?}", document.root()),
        "reads back differently:\n{output}"
    );
}

fn set(path: &'static [&'static str], value: impl Into<Content>) -> impl FnOnce(&mut NodeMut<'_>) {
    let value = value.into();
    move |root| {
        let (last, above) = path.split_last().expect("a path is not empty");
        let mut node = root.reborrow();
        for key in above {
            node = node.get_mut(key).expect("the key is there");
        }
        node.insert(last, value).expect("the value can be set");
    }
}

fn yaml(text: &str) -> Content {
    Content::parse(text).expect("the content is YAML")
}

#[test]
fn a_scalar_is_replaced_in_its_place() {
    check("a: 1 # one\nb: 2\n", set(&["a"], 7), "a: 7 # one\nb: 2\n");
    check("a:   1   # one\nb: 2", set(&["b"], 3), "a:   1   # one\nb: 3");
    check("a: 'x'\n", set(&["a"], "z"), "a: 'z'\n");
    check("a: \"x\"\n", set(&["a"], "it's"), "a: \"it's\"\n");
    check("a: 'x'\n", set(&["a"], 5), "a: 5\n");
    check("a: x\n", set(&["a"], "yes"), "a: \"yes\"\n");
    check("a: x\n", set(&["a"], "012"), "a: \"012\"\n");
    check("a: x\n", set(&["a"], "a: b"), "a: 'a: b'\n");
    check("a: &n x # c\nb: *n\n", set(&["a"], "z"), "a: &n z # c\nb: *n\n");
    check("a: 1\r\nb: 2\r\n", set(&["a"], 3), "a: 3\r\nb: 2\r\n");
    check("a:\nb: 2\n", set(&["a"], 3), "a: 3\nb: 2\n");
    check("a: # c\nb: 2\n", set(&["a"], 3), "a: 3 # c\nb: 2\n");
    check("a:\n  long text\n  over lines\nb: 2\n", set(&["a"], "x"), "a: x\nb: 2\n");
    check("{a: 1, b: 2}\n", set(&["a"], "x, y"), "{a: 'x, y', b: 2}\n");
    check("{a: , b: 2}\n", set(&["a"], 1), "{a: 1 , b: 2}\n");
    check("{a, b: 2}\n", set(&["a"], 1), "{a: 1, b: 2}\n");
    check("{? , b: 2}\n", set(&[""], 1), "{? : 1 , b: 2}\n");
    check("a: 1\n", set(&["a"], 1), "a: 1\n");
    check("a: 1\n", set(&["a"], yaml("z # note")), "a: z # note\n");
    check("a: 1\n", set(&["b"], yaml("yes")), "a: 1\nb: \"yes\"\n");
    let other = Document::parse("u: yes\nq: 'no'\n").unwrap();
    check("a: x\n", set(&["a"], other.root().get("u").unwrap()), "a: yes\n");
    check("a: 'x'\n", set(&["a"], other.root().get("u").unwrap()), "a: 'yes'\n");
    check("a: x\n", set(&["b"], other.root().get("u").unwrap()), "a: x\nb: yes\n");
    check("a: x\n", set(&["a"], other.root().get("q").unwrap()), "a: 'no'\n");
    let made = Document::from_serialize(&("5", 5)).unwrap();
    check("a: x\n", set(&["b"], made.root()), "a: x\nb:\n- \"5\"\n- 5\n");
    check("a: 0x10 # hex\nb: 1\n", set(&["b"], 2), "a: 0x10 # hex\nb: 2\n");
}

#[test]
fn block_scalars_change_places_with_others() {
    check("a: |\n  x\n  y\nb: 1\n", set(&["a"], "z"), "a: |-\n  z\nb: 1\n");
    check("a: |  # c\n  x\nb: 1\n", set(&["a"], 5), "a: 5 # c\nb: 1\n");
    check("a: x # c\nb: 1\n", set(&["a"], "l1\nl2\n"), "a: | # c\n  l1\n  l2\nb: 1\n");
    check("a: x", set(&["a"], "l1\nl2"), "a: |-\n  l1\n  l2");
    check("s:\n    a: |\n        x\n", set(&["s", "a"], "p\nq\n"), "s:\n    a: |\n        p\n        q\n");
    check("a: |\n  x", set(&["a"], 5), "a: 5");
}

#[test]
fn values_change_their_kind() {
    check("a: 1 # c\nb: 2\n", set(&["a"], yaml("{x: 1}")), "a: {x: 1} # c\nb: 2\n");
    check("a: 1 # c\nb: 2\n", set(&["a"], yaml("x: 1\ny: [2]\n")), "a: # c\n  x: 1\n  y: [2]\nb: 2\n");
    check("a:\n  x: 1\n  # foot\n\nb: 2\n", set(&["a"], 5), "a: 5\n\nb: 2\n");
    check("a: # line\n  # head\n  x: 1\nb: 2\n", set(&["a"], 5), "a: 5 # line\nb: 2\n");
    check("a:\n- 1\n- 2\nb: 2", set(&["a"], yaml("x: 1\ny: 2")), "a:\n  x: 1\n  y: 2\nb: 2");
    check("a:\n  x: 1", set(&["a"], 5), "a: 5");
    check("a:\n  x: 1", set(&["a"], yaml("y: 2")), "a:\n  y: 2");
    check(
        "l:\n- 1 # c\n- 2\n",
        |root| root.reborrow().get_mut("l").unwrap().at_mut(1).unwrap().set(yaml("x: 1\ny: 2")).unwrap(),
        "l:\n- 1 # c\n- x: 1\n  y: 2\n",
    );
    check(
        "l:\n- x: 1\n  y: 2\n- 3\n",
        |root| root.reborrow().get_mut("l").unwrap().at_mut(0).unwrap().set(5).unwrap(),
        "l:\n- 5\n- 3\n",
    );
    check("a: 1\n", |root| root.set("x").unwrap(), "x\n");
    check("---\na: 1\n", |root| root.set("x").unwrap(), "---\nx\n");
    check("# c\n", set(&["a"], 1), "# c\na: 1\n");
    check("", set(&["a"], 1), "a: 1\n");
    check("---\n", set(&["a"], 1), "---\na: 1\n");
    check("--- # c\n", set(&["a"], 1), "--- # c\na: 1\n");
    check("a: {}\n", |root| root.reborrow().get_mut("a").unwrap().insert("x", 1).unwrap(), "a: {x: 1}\n");
    check("a:\n", |root| root.reborrow().get_mut("a").unwrap().insert("x", 1).unwrap(), "a:\n  x: 1\n");
    check("a: null\n", |root| root.reborrow().get_mut("a").unwrap().push(1).unwrap(), "a:\n- 1\n");
}

#[test]
fn entries_are_added_behind_their_neighbours() {
    check("a: 1\n", set(&["b"], 2), "a: 1\nb: 2\n");
    check("a: 1", set(&["b"], 2), "a: 1\nb: 2");
    check("a: 1\n\n# foot\n", set(&["b"], 2), "a: 1\nb: 2\n\n# foot\n");
    check(
        "m:\n    a: 1\n    # foot of a\n\nn: 1\n",
        set(&["m", "b"], 2),
        "m:\n    a: 1\n    # foot of a\n\n    b: 2\n\nn: 1\n",
    );
    check(
        "m:\n   a:\n      x: 1\nn: 1\n",
        set(&["n2"], yaml("p:\n  q: 1\n")),
        "m:\n   a:\n      x: 1\nn: 1\nn2:\n   p:\n      q: 1\n",
    );
    check("l:\n  - 1\n", set(&["m"], yaml("- 1\n- 2\n")), "l:\n  - 1\nm:\n  - 1\n  - 2\n");
    check("l:\n- 1\n", set(&["m"], yaml("- a: 1\n  b: 2\n")), "l:\n- 1\nm:\n- a: 1\n  b: 2\n");
    check("- a: 1\n", |root| root.reborrow().at_mut(0).unwrap().insert("b", 2).unwrap(), "- a: 1\n  b: 2\n");
    check(
        "- a: 1\n",
        |root| root.reborrow().at_mut(0).unwrap().insert_at(0, "b", 2).unwrap(),
        "- b: 2\n  a: 1\n",
    );
    check("# head\na: 1\n", |root| root.insert_at(0, "b", 2).unwrap(), "b: 2\n# head\na: 1\n");
    check("a: 1 # one\nb: 2\n", |root| root.insert_behind("a", "c", 3).unwrap(), "a: 1 # one\nc: 3\nb: 2\n");
    check("{a: 1, b: 2}\n", |root| root.insert_behind("a", "c", 3).unwrap(), "{a: 1, c: 3, b: 2}\n");
    check("a: 1\n", |root| root.insert_behind("gone", "c", 3).unwrap(), "a: 1\nc: 3\n");
    check(
        "l:\n  - 1 # one\n",
        |root| root.reborrow().get_mut("l").unwrap().push(2).unwrap(),
        "l:\n  - 1 # one\n  - 2\n",
    );
    check("l: [1, 2]\n", |root| root.reborrow().get_mut("l").unwrap().push(3).unwrap(), "l: [1, 2, 3]\n");
    check("l: [ 1 ]\n", |root| root.reborrow().get_mut("l").unwrap().push(3).unwrap(), "l: [ 1, 3 ]\n");
    check(
        "l: [\n  1, # one\n  2 # two\n]\n",
        |root| root.reborrow().get_mut("l").unwrap().push(3).unwrap(),
        "l: [\n  1, # one\n  2, # two\n  3\n]\n",
    );
    check(
        "l: [\n  1,\n  2,\n]\n",
        |root| root.reborrow().get_mut("l").unwrap().push(3).unwrap(),
        "l: [\n  1,\n  2,\n  3,\n]\n",
    );
    check("l: []\n", |root| root.reborrow().get_mut("l").unwrap().push(3).unwrap(), "l: [3]\n");
    check("m: {a: 1}\n", set(&["m", "b"], "x"), "m: {a: 1, b: x}\n");
    check(
        "m: {a: {x: 1}}\n",
        |root| root.reborrow().get_mut("m").unwrap().get_mut("a").unwrap().insert("z", 2).unwrap(),
        "m: {a: {x: 1, z: 2}}\n",
    );
    check("a: 1\r\n", set(&["b"], yaml("x: 1")), "a: 1\r\nb:\r\n  x: 1\r\n");
}

#[test]
fn strings_are_quoted_like_their_neighbours() {
    let push = |value: &'static str| {
        move |root: &mut NodeMut<'_>| root.reborrow().get_mut("l").unwrap().push(value).unwrap()
    };
    check("l: [\"a\", \"b\"]\n", push("c"), "l: [\"a\", \"b\", \"c\"]\n");
    check("l:\n- 'a'\n- 'b'\n", push("c"), "l:\n- 'a'\n- 'b'\n- 'c'\n");
    check("l:\n- 'a'\n- b\n", push("c"), "l:\n- 'a'\n- b\n- c\n");
    check("a: \"true\"\nb: \"8080\"\n", set(&["c"], "x"), "a: \"true\"\nb: \"8080\"\nc: x\n");
    check("a: \"x\"\nn: 5\n", set(&["c"], "z"), "a: \"x\"\nn: 5\nc: \"z\"\n");
}

#[test]
fn removal_takes_the_entry_and_its_comments() {
    let remove = |key: &'static str| move |root: &mut NodeMut<'_>| assert!(root.remove(key).unwrap());
    check("a: 1\nb: 2 # two\nc: 3\n", remove("b"), "a: 1\nc: 3\n");
    check("a: 1\n# about b\nb:\n  x: 1\n  # inner\n\nc: 3\n", remove("b"), "a: 1\n\nc: 3\n");
    check("a: 1\n\nb: 2\n\nc: 3\n", remove("b"), "a: 1\n\nc: 3\n");
    check("a: 1\nb: 2", remove("b"), "a: 1");
    check("a: 1\nb: 2\n", remove("a"), "b: 2\n");
    check("a: 1\n", remove("a"), "{}\n");
    check(
        "m:\n  a: 1\nn: 2\n",
        |root| assert!(root.reborrow().get_mut("m").unwrap().remove("a").unwrap()),
        "m: {}\nn: 2\n",
    );
    check(
        "- a: 1\n  b: 2\n  c: 3\n",
        |root| assert!(root.reborrow().at_mut(0).unwrap().remove("a").unwrap()),
        "- b: 2\n  c: 3\n",
    );
    check(
        "- a: 1\n  b: 2\n  c: 3\n",
        |root| {
            let mut item = root.reborrow().at_mut(0).unwrap();
            item.remove("a").unwrap();
            item.remove("b").unwrap();
        },
        "- c: 3\n",
    );
    check(
        "- a: 1\n  # about b\n  b: 2\n",
        |root| assert!(root.reborrow().at_mut(0).unwrap().remove("a").unwrap()),
        "- # about b\n  b: 2\n",
    );
    check(
        "l:\n- 1\n- 2\n- 3\n",
        |root| assert!(root.reborrow().get_mut("l").unwrap().remove_item(1).unwrap()),
        "l:\n- 1\n- 3\n",
    );
    check(
        "l: [1, 2, 3]\n",
        |root| assert!(root.reborrow().get_mut("l").unwrap().remove_item(0).unwrap()),
        "l: [2, 3]\n",
    );
    check(
        "l: [1, 2, 3]\n",
        |root| assert!(root.reborrow().get_mut("l").unwrap().remove_item(2).unwrap()),
        "l: [1, 2]\n",
    );
    check(
        "l: [1]\n",
        |root| assert!(root.reborrow().get_mut("l").unwrap().remove_item(0).unwrap()),
        "l: []\n",
    );
    check(
        "l: [\n  1, # one\n  2, # two\n]\n",
        |root| assert!(root.reborrow().get_mut("l").unwrap().remove_item(0).unwrap()),
        "l: [\n  2, # two\n]\n",
    );
    check(
        "m: {a: 1, b: 2}\n",
        |root| assert!(root.reborrow().get_mut("m").unwrap().remove("b").unwrap()),
        "m: {a: 1}\n",
    );
    check(
        "a: 1\nb: 2\n",
        |root| {
            root.remove("a").unwrap();
            root.remove("b").unwrap();
            root.insert("c", 3).unwrap();
        },
        "c: 3\n",
    );
    check(
        "m: # c\n  a: 1\nn: 2\n",
        |root| {
            let mut m = root.reborrow().get_mut("m").unwrap();
            m.remove("a").unwrap();
            m.insert("b", 2).unwrap();
        },
        "m: # c\n  b: 2\nn: 2\n",
    );
}

#[test]
fn characters_that_yaml_forbids_are_escaped_or_refused() {
    check("{\"a\": \"x\"}\n", set(&["b"], "z\u{ffff}"), "{\"a\": \"x\", \"b\": \"z\\uffff\"}\n");
    check("a: 1\n", set(&["b"], "z\u{fffe}"), "a: 1\nb: \"z\\uFFFE\"\n");
    let mut document = Document::parse("a: 1\n").expect("it is YAML");
    let refused = document.root_mut().set_key_comment("a", CommentPlace::Line, "# \u{ffff}");
    assert!(matches!(refused, Err(Error::NotAComment(_))), "{refused:?}");
}

#[test]
fn tags_of_collections_stay_with_their_kind() {
    check("a: !Sub {x: 1}\n", set(&["a"], yaml("{y: 2}")), "a: !Sub {y: 2}\n");
    check("a: !Sub # c\n  x: 1\n", set(&["a"], yaml("y: 2\n")), "a: !Sub # c\n  y: 2\n");
    check("a: !Sub # c\n  x: 1\n", set(&["a"], 5), "a: 5 # c\n");
    check("- !Sub # c\n  - x\n", |root| root.reborrow().at_mut(0).unwrap().set(5).unwrap(), "- 5 # c\n");
    check("a: !Sub [x]\n", set(&["a"], "x"), "a: x\n");
}

#[test]
fn lines_of_a_block_scalar_stay_in_their_column() {
    let input = "a:\n    b: |\n      one\n      two\n    c: 1\n";
    check(input, set(&["a", "b"], "one\n2\n"), "a:\n    b: |\n      one\n      2\n    c: 1\n");
}

#[test]
fn a_list_that_is_replaced_keeps_the_column_of_its_dashes() {
    let both = "args:\n  - a\nports:\n- 1\n- 2\n";
    check(both, set(&["ports"], yaml("- 3\n")), "args:\n  - a\nports:\n- 3\n");
    check(both, set(&["args"], yaml("- b\n")), "args:\n  - b\nports:\n- 1\n- 2\n");
    check("a:\n    b: 1\nc:\n  d: 2\n", set(&["c"], yaml("e: 3\n")), "a:\n    b: 1\nc:\n  e: 3\n");
    check(both, set(&["ports"], yaml("a: 1\n")), "args:\n  - a\nports:\n  a: 1\n");
}

#[test]
fn a_merged_value_is_copied_without_what_is_said_beside_it() {
    let input = "base: &b\n  # about x\n  x: 1 # one\nd:\n  <<: *b\n";
    let edit = |root: &mut NodeMut<'_>| {
        let mapping = root.reborrow().get_mut("d").expect("it is there");
        mapping.get_mut("x").and_then(|mut x| x.set(2)).expect("it can be set");
    };
    check(input, edit, &format!("{input}  x: 2\n"));
}

#[test]
fn aliases_that_follow_an_edit_below_their_anchor_are_noted() {
    let mut document = Document::parse("a: &x\n  b: 1\n  c: 2\nd: *x\n").unwrap();
    document.root_mut().get_mut("a").unwrap().get_mut("b").unwrap().set(7).unwrap();
    document.root_mut().get_mut("a").unwrap().remove("c").unwrap();
    let notes: Vec<String> = document.notes().iter().map(ToString::to_string).collect();
    assert_eq!(notes, ["what was edited is named by the anchor \"&x\"; its alias means the new value, too"]);
}

#[test]
fn what_is_added_to_json_is_json() {
    check("{\"a\": 1}\n", set(&["b"], "x"), "{\"a\": 1, \"b\": \"x\"}\n");
    check("{\"a\": 1}\n", set(&["a"], "x\u{7}\ny"), "{\"a\": \"x\\u0007\\ny\"}\n");
    check(
        "{\n  \"a\": 1\n}\n",
        set(&["b"], yaml("{c: [x, null, 1.50]}")),
        "{\n  \"a\": 1,\n  \"b\": {\"c\": [\"x\", null, 1.50]}\n}\n",
    );
    check(
        "{\"a\": []}\n",
        |root| root.reborrow().get_mut("a").and_then(|mut list| list.push("yes")).expect("it can be added"),
        "{\"a\": [\"yes\"]}\n",
    );
    check("{a: 1}\n", set(&["b"], "x"), "{a: 1, b: x}\n");
    let mut document = Document::parse("{\"a\": 1}\n").expect("it is YAML");
    set(&["a"], yaml("[~, 0x1f, +1, .5]"))(&mut document.root_mut());
    assert_eq!(document.to_string(), "{\"a\": [null, 31, 1, 0.5]}\n");
}

#[test]
fn what_cannot_be_is_refused() {
    let refuses =
        |input: &str, edit: &dyn Fn(&mut NodeMut<'_>) -> Result<(), lanai_yaml::edit::Error>, why: &str| {
            let mut document = Document::parse(input).unwrap();
            let error = edit(&mut document.root_mut()).expect_err(why);
            assert!(error.to_string().contains(why), "{error}");
            assert_eq!(document.to_string(), input);
        };
    refuses("a: 1\n", &|root| root.set_key_comment("a", CommentPlace::Line, "# a\rb: injected"), "comment");
    refuses("a: 1\n", &|root| root.set_key_comment("a", CommentPlace::Line, "# a\u{0}b"), "comment");
    refuses(
        "a: &x {b: *x}\n",
        &|root| root.reborrow().get_mut("a")?.get_mut("b")?.insert("c", 1),
        "inside of what it names",
    );
    refuses(
        "a: &x 1\nb: *x\nc: &x 2\nd: *x\n",
        &|root| root.reorder(&[0, 2, 1, 3]),
        "no longer stand behind its anchor",
    );
    let kind = |document: &str| Document::parse(document).unwrap().root_mut().insert_item(1, 2).unwrap_err();
    assert!(matches!(kind("a: 1\n"), lanai_yaml::edit::Error::WrongKind { .. }));
    assert!(matches!(kind("[]\n"), lanai_yaml::edit::Error::OutOfRange { .. }));
}

#[test]
fn keys_that_are_gone_are_not_twice() {
    let mut document = Document::parse("a: {x: 1, x: 2}\nb: 1\nb: 2\n").unwrap();
    let keys = |document: &Document| {
        document.duplicate_keys().into_iter().map(|twice| twice.key).collect::<Vec<_>>()
    };
    assert_eq!(keys(&document), ["b", "x"]);
    document.root_mut().remove("a").unwrap();
    assert_eq!(keys(&document), ["b"]);
}

#[test]
fn a_stream_that_nobody_could_edit_is_what_was_read() {
    let text = "a: 1\n---\nb: 2 # two\n";
    let mut stream = lanai_yaml::Stream::parse(text).unwrap();
    assert_eq!(stream.to_string(), text);
    stream.documents_mut()[1].root_mut().insert("b", 3).unwrap();
    assert!(stream.is_edited());
    assert_eq!(stream.to_string(), text.replace('2', "3"));
}

#[test]
fn tags_mean_the_same_elsewhere() {
    let tagged = Document::parse("%TAG !e! tag:example.com,2026:\n---\na: !e!foo 1\n").unwrap();
    check("b: 1\n", set(&["b"], tagged.root().get("a").unwrap()), "b: !<tag:example.com,2026:foo> 1\n");
    let escaped = Document::parse("%TAG !e! tag:x:\n---\na: !e!a%20b 1\n").unwrap();
    check("b: 1\n", set(&["b"], escaped.root().get("a").unwrap()), "b: !<tag:x:a%20b> 1\n");
    check("a: ! x\n", set(&["a"], 5), "a: 5\n");
    check("a: !<tag:yaml.org,2002:str> x\n", set(&["a"], 5), "a: 5\n");
    check("a: !mine x\n", set(&["a"], 5), "a: !mine 5\n");
    check("[!mine , 1]\n", |root| root.reborrow().at_mut(0).unwrap().set("x").unwrap(), "[!mine x , 1]\n");
    check("a: !mine\n", set(&["a"], "x"), "a: !mine x\n");
}

#[test]
fn keys_are_renamed_where_they_stand() {
    check("a: 1 # c\nb: 2\n", |root| root.rename("a", "x").unwrap(), "x: 1 # c\nb: 2\n");
    check("\"a\": 1\n", |root| root.rename("a", "x y").unwrap(), "\"x y\": 1\n");
    check("a: 1\n", |root| root.rename("a", "no").unwrap(), "\"no\": 1\n");
}

#[test]
fn aliases_are_expanded_where_something_below_is_written() {
    let input = "base: &b # anchor\n  x: 1\n  y: [2]\none: *b # use\n";
    check(
        input,
        set(&["one", "x"], 5),
        "base: &b # anchor\n  x: 1\n  y: [2]\none: # use\n  x: 5\n  y: [2]\n",
    );
    let mut document = Document::parse(input).unwrap();
    document.root_mut().get_mut("one").unwrap().insert("x", 5).unwrap();
    assert_eq!(document.notes().len(), 1, "{:?}", document.notes());
    let merged = "base: &b\n  m: {x: 1}\none:\n  <<: *b\n  z: 1\n";
    let edit = |root: &mut NodeMut<'_>| {
        root.reborrow().get_mut("one").unwrap().get_mut("m").unwrap().insert("x", 2).unwrap();
    };
    check(merged, edit, "base: &b\n  m: {x: 1}\none:\n  <<: *b\n  z: 1\n  m: {x: 2}\n");
}

#[test]
fn comments_are_set_and_removed() {
    let key = |place, text: &'static str| {
        move |root: &mut NodeMut<'_>| root.set_key_comment("b", place, text).unwrap()
    };
    let value = |text: &'static str| {
        move |root: &mut NodeMut<'_>| {
            root.reborrow().get_mut("b").unwrap().set_comment(CommentPlace::Line, text).unwrap();
        }
    };
    let in_item = |root: &mut NodeMut<'_>| {
        let mut item = root.reborrow().at_mut(0).unwrap();
        item.set_key_comment("a", CommentPlace::Head, "# x").unwrap();
    };
    check("- a: 1\n  b: 2\n", in_item, "- # x\n  a: 1\n  b: 2\n");
    check("a: 1\nb: 2\n", key(CommentPlace::Head, "# x\n# y"), "a: 1\n# x\n# y\nb: 2\n");
    check("a: 1\n# old\nb: 2\n", key(CommentPlace::Head, "# new"), "a: 1\n# new\nb: 2\n");
    check("a: 1\n# old\nb: 2\n", key(CommentPlace::Head, ""), "a: 1\nb: 2\n");
    check("a: 1\nb: 2\n", value("# kpt-set: ${x}"), "a: 1\nb: 2 # kpt-set: ${x}\n");
    check("a: 1\nb: 2   # old\n", value("# new"), "a: 1\nb: 2   # new\n");
    check("a: 1\nb: 2   # old\n", value(""), "a: 1\nb: 2\n");
    check("b:\n  x: 1\n", key(CommentPlace::Line, "# c"), "b: # c\n  x: 1\n");
    check("b: |\n  x\n", value("# c"), "b: | # c\n  x\n");
    check("b: 1\nc: 2\n", key(CommentPlace::Foot, "# foot"), "b: 1\n# foot\n\nc: 2\n");
    check(
        "b: 2\n",
        |root| {
            root.insert("b", "x").unwrap();
            root.reborrow().get_mut("b").unwrap().set_comment(CommentPlace::Line, "# c").unwrap();
        },
        "b: x # c\n",
    );
}

#[test]
fn entries_change_places_with_their_comments() {
    check(
        "a: 1 # one\n# about b\nb: 2\nc: 3\n",
        |root| root.reorder(&[1, 2, 0]).unwrap(),
        "# about b\nb: 2\nc: 3\na: 1 # one\n",
    );
    check(
        "- a: 1\n  b: 2\n",
        |root| root.reborrow().at_mut(0).unwrap().reorder(&[1, 0]).unwrap(),
        "- b: 2\n  a: 1\n",
    );
    check(
        "l: [1, 2, 3]\n",
        |root| root.reborrow().get_mut("l").unwrap().reorder(&[2, 1, 0]).unwrap(),
        "l: [3, 2, 1]\n",
    );
    check("a: 1\nb: 2", |root| root.reorder(&[1, 0]).unwrap(), "b: 2\na: 1");
    check(
        "a: 1\nb:\n  x: 1\n",
        |root| {
            root.reorder(&[1, 0]).unwrap();
            root.reborrow().get_mut("b").unwrap().insert("z", 2).unwrap();
        },
        "b:\n  x: 1\n  z: 2\na: 1\n",
    );
}

#[test]
fn styles_are_asked_for() {
    let style =
        |style| move |root: &mut NodeMut<'_>| root.reborrow().get_mut("a").unwrap().set_style(style).unwrap();
    check("a: x\n", style(Style::DoubleQuoted), "a: \"x\"\n");
    check("a: [1, 2]\n", style(Style::Block), "a:\n- 1\n- 2\n");
    check("a:\n  x: 1\n", style(Style::Flow), "a: {x: 1}\n");
    check("a: \"5\"\n", style(Style::Plain), "a: \"5\"\n");
}

#[test]
fn edits_together_are_all_or_none() {
    for text in ["a: 1\nb: 2\n", "a: &x 1\nb: *x\n", "? a\n: 1\n? b\n: 2\n"] {
        let mut document = Document::parse(text).expect("the text is YAML");
        let failed: Result<(), Error> = document.edit_together(|document| {
            document.root_mut().insert("c", 3)?;
            document.root_mut().rename("c", "b")
        });
        assert_eq!(failed, Err(Error::KeyExists("b".into())));
        assert_eq!(document.to_string(), text, "nothing of it is left");
        let done: Result<(), Error> = document.edit_together(|document| {
            document.root_mut().insert("c", 3)?;
            document.root_mut().insert("d", 4)
        });
        assert_eq!(done, Ok(()));
        assert_eq!(document.to_string(), format!("{text}c: 3\nd: 4\n"));
    }
}

fn path(text: &str) -> lanai_yaml::Path {
    text.parse().expect("the path is one")
}

#[test]
fn comments_of_what_was_removed_do_not_come_back() {
    let check = |input: &str, removed: &[&str], set: &str, value: &str, expected: &str| {
        for ends in ["\n", "\r\n"] {
            let mut document = Document::parse(input.replace('\n', ends)).expect("the text is YAML");
            for path_of_removed in removed {
                assert_eq!(document.remove(&path(path_of_removed)), Ok(true), "{input}");
            }
            let content = Content::parse(value).expect("the content is YAML");
            document.set(&path(set), content).unwrap_or_else(|error| panic!("{error}\n{input:?}"));
            assert_eq!(document.to_string(), expected.replace('\n', ends), "{input}");
        }
    };
    let two = "a:\n  b: 1\n  c: 2 # c\nd: 3\n";
    check(two, &["a.c"], "a", "5", "a: 5\nd: 3\n");
    check(two, &["a.c", "a.b"], "a.k", "5", "a:\n  k: 5\nd: 3\n");
    check(two, &["a.b", "a.c"], "a.k", "5", "a:\n  k: 5\nd: 3\n");
    check("a:\n- b\n- c # c\n", &["a[1]"], "a", "{x: 1}", "a: {x: 1}\n");
    check("# h\na: 1\nb: 2\n", &["a"], "", "{x: 1}", "{x: 1}\n");
    check("a:\n- x # x\n- y # y\n", &["a[1]", "a[0]"], "a[+]", "k", "a:\n- k\n");
    check("l:\n- # todo\n- b\n", &["l[0]"], "m", "1", "l:\n- b\nm: 1\n");
}

#[test]
fn brackets_refuse_to_take_up_comments() {
    let mut document = Document::parse("a:\n  b: 1\n  c: 2\n").expect("the text is YAML");
    let mut a = document.root_mut().get_mut("a").expect("it is there");
    a.set_comment(CommentPlace::Line, "# L").expect("a comment can stand there");
    assert_eq!(document.to_string(), "a: # L\n  b: 1\n  c: 2\n");
    let refused = document.root_mut().set_style(Style::Flow);
    assert!(matches!(refused, Err(Error::NoPlaceForComment(_))), "{refused:?}");
    document.root_mut().set_key_comment("a", CommentPlace::Line, "# M").expect("it is replaced");
    assert_eq!(document.to_string(), "a: # M\n  b: 1\n  c: 2\n");
    document.set_line_comment(&path("a"), "").expect("it is removed");
    assert_eq!(document.to_string(), "a:\n  b: 1\n  c: 2\n");
    document.root_mut().set_style(Style::Flow).expect("there is nothing in the way");
    assert_eq!(document.to_string(), "{a: {b: 1, c: 2}}\n");
}

#[test]
fn line_ends_of_flow_collections_stay() {
    let check = |input: &str, edit: &dyn Fn(&mut Document) -> Result<(), Error>, expected: &str| {
        let mut document = Document::parse(input.replace('\n', "\r\n")).expect("the text is YAML");
        edit(&mut document).unwrap_or_else(|error| panic!("{error}\n{input:?}"));
        assert_eq!(document.to_string(), expected.replace('\n', "\r\n"), "{input}");
    };
    let turn = |document: &mut Document| document.root_mut().get_mut("a")?.reorder(&[1, 0]);
    let push = |document: &mut Document| document.root_mut().get_mut("a")?.push("n");
    check("a: [x, # c\n  y]\n", &turn, "a: [y,\n  x # c\n ]\n");
    check("a: [\n  x # c\n]\n", &push, "a: [\n  x, # c\n  \"n\"\n]\n");
}

#[test]
fn refused_edits_change_nothing() {
    let deep = (0..999).fold("1".to_owned(), |inner, _| format!("[{inner}]"));
    let deep = || Content::parse(&deep).expect("the content is YAML");
    let check = |input: &str, edit: &dyn Fn(&mut Document) -> Result<(), Error>| {
        let mut document = Document::parse(input).expect("the text is YAML");
        assert!(edit(&mut document).is_err(), "{input}");
        assert_eq!(document.to_string(), input);
    };
    check("a:\nb: 1\n", &|document| document.set(&path("a.k"), deep()));
    check("a:\nb: 1\n", &|document| document.root_mut().get_mut("a")?.insert("k", deep()));
    check("a:\nb: 1\n", &|document| document.root_mut().get_mut("a")?.push(deep()));
    check("a:\nb: 1\n", &|document| document.root_mut().get_mut("a")?.insert_item(3, 1));
    check("x: &x {k: [1, 2]}\ny: *x\n", &|document| document.set_line_comment(&path("y.k[0]"), "# no"));
}

#[test]
fn an_edit_that_cannot_be_written_says_why() {
    let mut document = Document::parse("a: 1\nb: |\n  x\n  y").expect("the text is YAML");
    let refused = document.root_mut().reorder(&[1, 0]).expect_err("the scalar has no line break to stand on");
    assert_eq!(
        refused.to_string(),
        "the text around it leaves no place for this: what would be written means something else"
    );
    assert_eq!(document.to_string(), "a: 1\nb: |\n  x\n  y");
}

#[test]
fn a_copy_made_among_edits_is_proved_on_its_own() {
    let mut document = Document::parse("a: 1\nb: |\n  x\n  y").expect("the text is YAML");
    let copy = document.edit_together(|document| Ok::<_, Error>(document.clone()));
    let refused = copy.expect("nothing was done").root_mut().reorder(&[1, 0]);
    assert!(matches!(refused, Err(Error::Unwritable(_))), "{refused:?}");
}

#[test]
fn a_comment_that_was_removed_first_does_not_come_back() {
    for text in ["a:\n# h\n- x\n- y\n", "a:\n  # h\n  - x\n  - y\n"] {
        let mut document = Document::parse(text).expect("the text is YAML");
        let mut list = document.root_mut().get_mut("a").expect("it is there");
        list.reborrow()
            .at_mut(0)
            .and_then(|mut item| item.set_comment(CommentPlace::Head, ""))
            .expect("it is removed");
        assert_eq!((list.remove_item(0), list.remove_item(0)), (Ok(true), Ok(true)));
        list.push("z").expect("an item can be added");
        assert_eq!(document.to_string().replace("  ", ""), "a:\n- z\n", "{text}");
    }
}

#[test]
fn a_comment_that_was_replaced_does_not_come_back_with_another_edit() {
    let check = |input: &str, set: &str, value: &str, expected: &str| {
        let mut document = Document::parse(input).expect("the text is YAML");
        let mut item = document.root_mut().at_mut(0).expect("there is an item");
        item.set_comment(CommentPlace::Head, "# set").expect("a comment can stand there");
        let content = Content::parse(value).expect("the content is YAML");
        document.set(&path(set), content).unwrap_or_else(|error| panic!("{error}\n{input:?}"));
        assert_eq!(document.to_string(), expected, "{input}");
    };
    check("---     # c1\n- a\n", "", "k: 1\n", "---\nk: 1\n");
    check("---     # c1\n- a\n", "[0]", "b", "---     # set\n- b\n");
    check("---     # c1\n- a\n- b\n", "", "{k: 1}", "---\n{k: 1}\n");
    check("# c1\n- a\n- b\n", "", "k: 1\n", "k: 1\n");
}

#[test]
fn a_list_that_is_filled_again_stands_where_it_stood() {
    let refilled = |input: &str, key: &str, expected: &str| {
        let mut document = Document::parse(input).expect("the text is YAML");
        let mut list = document.root_mut().get_mut(key).expect("the key is there");
        while list.remove_item(0).expect("items can be removed") {}
        list.push("new").expect("an item can be added");
        assert_eq!(document.to_string(), expected, "{input}");
    };
    refilled("k:\n  - a\n", "k", "k:\n  - new\n");
    refilled("k:\n- a\n", "k", "k:\n- new\n");
    refilled("k:\n    - a # c\n    - b\nl: 1\n", "k", "k:\n    - new\nl: 1\n");
    refilled("l:\n- x\nk:\n  - a\n", "k", "l:\n- x\nk:\n  - new\n");
    let mut document = Document::parse("m:\n    a: 1\nn:\n  b: 1\n").expect("the text is YAML");
    let mut mapping = document.root_mut().get_mut("m").expect("the key is there");
    assert_eq!(mapping.remove("a"), Ok(true));
    mapping.insert("c", 2).expect("a key can be added");
    assert_eq!(document.to_string(), "m:\n    c: 2\nn:\n  b: 1\n");
    // What is set anew follows its neighbours.
    document.set(&path("n"), Content::parse("x: 1\n").expect("this is YAML")).expect("it can be set");
    assert_eq!(document.to_string(), "m:\n    c: 2\nn:\n  x: 1\n");
}
