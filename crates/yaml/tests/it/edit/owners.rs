//! Whose comments stay whose: those below an entry, those that stand further left or right than what they are about, and those
//! beside nothing. Each edit is done in LF and in CRLF, which takes the way through the proof.

use lanai_yaml::{Content, Document, Path, Stream};

/// A step by a path: adds or sets a value, or removes what is there.
enum Step {
    Set(&'static str, &'static str),
    Remove(&'static str),
}

use Step::{Remove, Set};

/// Does the steps one after the other, with the text read again before each, and compares what is written.
fn check(input: &str, steps: &[Step], expected: &str) {
    for (from, to) in [("\n", "\n"), ("\n", "\r\n")] {
        let mut text = input.replace(from, to);
        for step in steps {
            let mut document = Document::parse(text.as_str()).expect("it is YAML");
            let path = |text: &str| text.parse::<Path>().expect("it is a path");
            match step {
                Set(at, value) => {
                    let value = Content::parse(value).expect("it is YAML");
                    document.set(&path(at), value).unwrap_or_else(|error| panic!("{error}\n{text}"));
                }
                Remove(at) => {
                    let removed = document.remove(&path(at));
                    assert_eq!(removed, Ok(true), "{text}");
                }
            }
            text = document.to_string();
        }
        assert_eq!(text, expected.replace(from, to), "{input:?}");
        Stream::parse(text).expect("what is written is YAML");
    }
}

#[test]
fn a_comment_below_an_entry_stays_its_own_when_another_is_added() {
    let list = "args:\n- a\n# - b\n# - c\n\nother: 1\n";
    check(list, &[Set("args[]", "d")], "args:\n- a\n# - b\n# - c\n\n- d\n\nother: 1\n");
    check(list, &[Set("args[]", "d"), Remove("args[-1]")], list);
    let values = "image:\n  tag: v1\n  # pullSecrets:\n  #   - name: x\n\nnext: 1\n";
    check(values, &[Set("image.pull", "1"), Remove("image.pull")], values);
    let tight = "image:\n  tag: v1\n  # digest: x\nnext: 1\n";
    check(tight, &[Set("image.pull", "1")], "image:\n  tag: v1\n  # digest: x\n\n  pull: 1\nnext: 1\n");
    check("a: 1\n# end", &[Set("b", "2")], "a: 1\n# end\n\nb: 2");
    // It is deeper than what is added: nothing can take it for a head.
    let nested = "l:\n- args:\n  - a\n  # - b\nm: 1\n";
    check(nested, &[Set("l[]", "c: 1\nd: 2\n")], "l:\n- args:\n  - a\n  # - b\n- c: 1\n  d: 2\nm: 1\n");
}

#[test]
fn a_comment_below_a_list_does_not_become_that_of_what_is_added() {
    let list = "x:\n  env:\n  - name: a\n    value: b\n  # - name: c\n\n  y: 1\n";
    check(
        list,
        &[Set("x.env[]", "{name: d}")],
        "x:\n  env:\n  - name: a\n    value: b\n  # - name: c\n\n  - {name: d}\n\n  y: 1\n",
    );
    check(list, &[Set("x.env[]", "{name: d}"), Remove("x.env[-1]")], list);
    check(list, &[Set("x.env[]", "name: d"), Remove("x.env[-1]")], list);
}

#[test]
fn a_comment_below_an_entry_stays_its_own_when_entries_change_places() {
    let mut document = Document::parse("- a\n# of a\n\n- b\n- c\n").expect("it is YAML");
    document.root_mut().reorder(&[1, 0, 2]).expect("it can be reordered");
    assert_eq!(document.to_string(), "- b\n- a\n# of a\n\n- c\n");
}

#[test]
fn comments_as_far_left_as_a_key_outlive_its_value() {
    check(
        "g:\n  a:\n    b: 1\n# c4\n  # c5\n\n    # c6\n",
        &[Set("g.a", "7")],
        "g:\n  a: 7\n# c4\n  # c5\n\n    # c6\n",
    );
    check(
        "g:\n  a:\n    b: 1\n  # c5\n\n    # c6\n  z: 1\n",
        &[Set("g.a", "7")],
        "g:\n  a: 7\n  # c5\n\n    # c6\n  z: 1\n",
    );
    check("g:\n  a:\n    b: 1\n    # of b\n  z: 1\n", &[Set("g.a", "7")], "g:\n  a: 7\n  z: 1\n");
    // In the column of the dashes it is in the list, also where the dashes stand below the key.
    check("args:\n- a\n# - b\n\nz: 1\n", &[Set("args", "7")], "args: 7\n\nz: 1\n");
    check("- a:\n    b: 1\n# out\n  # in\n\n- c\n", &[Set("[0].a", "7")], "- a: 7\n# out\n  # in\n\n- c\n");
}

#[test]
fn comments_left_of_an_entry_outlive_it() {
    check(
        "g:\n  z: 1\n  a:\n    b: 1\n# c4\n  # c5\n\n    # c6\n",
        &[Remove("g.a")],
        "g:\n  z: 1\n# c4\n  # c5\n\n    # c6\n",
    );
    check("a:\n  x: 1\n # foot\n\n  y: 2\n", &[Remove("a.x")], "a:\n # foot\n\n  y: 2\n");
}

#[test]
fn entries_below_comments_in_other_columns_are_removed() {
    for anchor in ["", " &l"] {
        let list = |items: &str| format!("list:{anchor}\n  - name: a\n  # - name: old\n{items}");
        let input = list("#  - name: older\n  - name: b\n    x: 1\n");
        check(&input, &[Remove("list[1]")], &list(""));
        check(&input, &[Remove("list[1].name")], &list("#  - name: older\n  - x: 1\n"));
    }
    let matrix = "m:\n  - - a # one\n    - b\n  # note\n# - - old\n  - - c\n    - d\n";
    check(matrix, &[Remove("m[1]")], "m:\n  - - a # one\n    - b\n  # note\n");
    check(matrix, &[Remove("m[1][0]")], "m:\n  - - a # one\n    - b\n  # note\n# - - old\n  - - d\n");
}

#[test]
fn all_comments_between_a_key_and_its_collection_go_with_it() {
    let list = "b:\n  c:\n      # deep\n# out\n    - x\n";
    check(list, &[Set("b.c", "7")], "b:\n  c: 7\n");
    check(list, &[Remove("b.c[0]")], "b:\n  c: []\n");
    check(&format!("{list}    - y\n"), &[Remove("b.c[0]")], "b:\n  c:\n    - y\n");
}

#[test]
fn a_byte_order_mark_does_not_hold_the_comment_of_the_first_entry() {
    check("\u{feff}# top\na: 1\nb: 2\n", &[Remove("a")], "\u{feff}b: 2\n");
    check("\u{feff}# licence\n\n# top\na: 1\nb: 2\n", &[Remove("a")], "\u{feff}# licence\n\nb: 2\n");
    check("\u{feff}# top\na: 1\n", &[Remove("a")], "\u{feff}{}\n");
    check("\u{feff}# top\na: 1\n", &[Set("b", "2")], "\u{feff}# top\na: 1\nb: 2\n");
}

/// As [`check`], for a value and a comment on its line, set one after the other and both at once.
fn check_with_comment(input: &str, at: &str, expected: &str) {
    let path: Path = at.parse().expect("it is a path");
    let edit = |document: &mut Document| -> Result<(), lanai_yaml::edit::Error> {
        document.set(&path, 8)?;
        document.set_line_comment(&path, "# NEW")
    };
    let mut document = Document::parse(input).expect("it is YAML");
    edit(&mut document).unwrap_or_else(|error| panic!("{error}\n{input}"));
    assert_eq!(document.to_string(), expected);
    let mut document = Document::parse(input).expect("it is YAML");
    document.edit_together(edit).unwrap_or_else(|error| panic!("{error}\n{input}"));
    assert_eq!(document.to_string(), expected);
}

#[test]
fn a_comment_beside_a_dash_or_an_anchor_is_replaced_with_the_value() {
    check_with_comment("- # first step\n  name: a\n", "[0]", "- 8 # NEW\n");
    check_with_comment("x: &a # top\n  c # la\n", "x", "x: &a\n  8 # NEW\n");
    check_with_comment("x: &a # top\ny: 1\n", "x", "x: &a 8 # NEW\ny: 1\n");
    check_with_comment("- # todo\n- x\n", "[0]", "- 8 # NEW\n- x\n");
    check_with_comment("- &a # todo\n- x # y\n", "[0]", "- &a 8 # NEW\n- x # y\n");
    check_with_comment("k:\n- # todo\n", "k[0]", "k:\n- 8 # NEW\n");
    check_with_comment("- # one\n- # two\n# head\n- b\n", "[1]", "- # one\n- 8 # NEW\n# head\n- b\n");
}

#[test]
fn a_comment_beside_an_item_that_is_left_out_is_in_its_list() {
    check("k:\n- # todo\nz: 1\n", &[Set("k", "7")], "k: 7\nz: 1\n");
    check("k:\n- # todo\nz: 1\n", &[Remove("k")], "z: 1\n");
    check("k:\n- # todo\nz: 1\n", &[Remove("k[0]")], "k: []\nz: 1\n");
    check("k:\n- # todo\n- a\n", &[Remove("k[0]")], "k:\n- a\n");
    check("k:\n- # todo\n- a\n", &[Remove("k[1]")], "k:\n- # todo\n");
    check("k: &a # todo\nz: 1\n", &[Set("k", "7")], "k: &a 7 # todo\nz: 1\n");
    check("k: &a # todo\nz: 1\n", &[Remove("k")], "z: 1\n");
    check("k: &a # todo\nz: 1\n", &[Remove("z")], "k: &a # todo\n");
    check("k:\n  j: &a # todo\nz: 1\n", &[Set("k", "7")], "k: 7\nz: 1\n");
    check("k:\n- # todo\n", &[Set("k[]", "1"), Remove("k[1]")], "k:\n- # todo\n");
}

#[test]
fn what_stands_below_a_comment_beside_a_dash_goes_without_it() {
    check("- # one\n  # of a\n  a: 1\n  b: 2\n", &[Remove("[0].a")], "- # one\n  b: 2\n");
    check("--- # one\n# of a\na: 1\nb: 2\n", &[Remove("a")], "--- # one\nb: 2\n");
    check("--- # one\n# of a\na: 1\n", &[Remove("a")], "--- # one\n{}\n");
}

#[test]
fn a_comment_above_an_entry_without_a_key_goes_with_it() {
    check("# c\n: 8\n", &[Remove("[\"\"]")], "{}\n");
    check("# c\n: 8\nb: 1\n", &[Remove("[\"\"]")], "b: 1\n");
    check("b: 1\n# c\n: 8\nd: 2\n", &[Remove("[\"\"]")], "b: 1\nd: 2\n");
    check("# c\n?\n: 8\n", &[Remove("[\"\"]")], "{}\n");
    check("# c\n:\n  a: 1\nb: 2\n", &[Remove("[\"\"]")], "b: 2\n");
    // Not one that is about more, and not that of a neighbour.
    check("# title\n\n# c\n: 8\nb: 1\n", &[Remove("[\"\"]")], "# title\n\nb: 1\n");
    check("# c\n: 8\n# d\nb: 1\n", &[Remove("b")], "# c\n: 8\n");
    check("# c\n- : 8\n  b: 1\n", &[Remove("[0][\"\"]")], "# c\n- b: 1\n");
}

#[test]
fn what_is_added_takes_no_comment_from_its_neighbours() {
    // Below the last entry and above the end of the document.
    check("k: x\n# of k\n...\n", &[Set("new", "1")], "k: x\n# of k\n\nnew: 1\n...\n");
    check("k: x\n# of k\n", &[Set("new", "{a: [1]}")], "k: x\n# of k\n\nnew: {a: [1]}\n");
    check("k: x\n# of k\n", &[Set("new", "a: 1")], "k: x\n# of k\n\nnew:\n  a: 1\n");
    // Further left: about what stands further left.
    check("- - x\n# c\n- y\n", &[Set("[0][]", "z")], "- - x\n  - z\n# c\n- y\n");
    check("a:\n  b: 1\n# c\n\nd: 2\n", &[Set("a.m", "1")], "a:\n  b: 1\n  m: 1\n# c\n\nd: 2\n");
}

/// Puts an entry in front of the one at an index of the root, in LF and in CRLF.
fn check_insert(input: &str, index: usize, expected: &str) {
    for to in ["\n", "\r\n"] {
        let mut document = Document::parse(input.replace('\n', to)).expect("it is YAML");
        let mut root = document.root_mut();
        let done = if root.read().kind() == lanai_yaml::Kind::Mapping {
            root.insert_at(index, "new", 1)
        } else {
            root.insert_item(index, "new")
        };
        done.expect("there is a place");
        assert_eq!(document.to_string(), expected.replace('\n', to), "{input:?}");
    }
}

#[test]
fn what_comes_between_two_entries_leaves_each_its_comments() {
    check_insert("a: 1 # long\n     # words\nb: 2\n", 1, "a: 1 # long\n     # words\n\nnew: 1\nb: 2\n");
    check_insert("# licence\n\n# of a\n# too\na: 1\n", 0, "# licence\n\nnew: 1\n# of a\n# too\na: 1\n");
    check_insert("# of nothing\n-\n- x\n", 0, "- new\n# of nothing\n-\n- x\n");
}
