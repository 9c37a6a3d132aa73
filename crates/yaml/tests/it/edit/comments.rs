//! Which comments stay when what they stand at goes or becomes something else.

use lanai_yaml::{CommentPlace, Document, NodeMut, Stream};

use super::{check, set, yaml};

#[test]
fn a_comment_on_the_line_of_a_root_that_becomes_a_block_stands_above_it() {
    let edit = |root: &mut NodeMut<'_>| {
        root.set_comment(CommentPlace::Line, "# new").expect("the comment can be set");
        root.set(yaml("a: 1\nb: 2\n")).expect("the value can be set");
    };
    check("1\n", edit, "# new\na: 1\nb: 2\n");
    check("# old\n1\n", edit, "# old\n# new\na: 1\nb: 2\n");
}

#[test]
fn a_comment_behind_a_dash_or_an_anchor_stays_when_the_value_is_another() {
    let item = |new: &'static str| {
        move |root: &mut NodeMut<'_>| {
            root.reborrow().at_mut(0).and_then(|mut item| item.set(yaml(new))).expect("the item can be set");
        }
    };
    let input = "- # main\n  name: app\n- name: b\n";
    check(input, item("x"), "- x # main\n- name: b\n");
    check(input, item("{name: z}"), "- {name: z} # main\n- name: b\n");
    check(input, item("name: z\nkind: y\n"), "- # main\n  name: z\n  kind: y\n- name: b\n");
    check("c: &a # main\n  name: app\n", set(&["c"], "x"), "c: &a x # main\n");
    let empty = |root: &mut NodeMut<'_>| {
        assert!(
            root.reborrow().at_mut(0).and_then(|mut item| item.remove("name")).expect("it can be removed")
        );
    };
    check(input, empty, "- {} # main\n- name: b\n");
}

#[test]
fn a_title_that_a_blank_line_sets_apart_outlives_the_entry_below() {
    let remove = |root: &mut NodeMut<'_>| assert!(root.remove("b").expect("it can be removed"));
    let titled = "a: 1\n\n# -- Section --\n\nb: 2\nc: 3\n";
    check(titled, remove, "a: 1\n\n# -- Section --\n\nc: 3\n");
    let described = "a: 1\n\n# -- Section --\n\n# about b\nb: 2\nc: 3\n";
    check(described, remove, "a: 1\n\n# -- Section --\n\nc: 3\n");
    check("# of b\nb: {}\n", remove, "{}\n");
}

#[test]
fn a_notice_at_the_top_outlives_the_first_entry() {
    let remove = |root: &mut NodeMut<'_>| assert!(root.remove("a").expect("it can be removed"));
    check("---\n# Licence\n\na: 1\nb: 2\n", remove, "---\n# Licence\n\nb: 2\n");
    check("---\n\n# Licence\n\n# of a\na: 1\nb: 2\n", remove, "---\n\n# Licence\n\nb: 2\n");
    check("# Licence\n\n# of a\na: 1\nb: 2\n", remove, "# Licence\n\nb: 2\n");
    check("---\n# of a\na: 1\nb: 2\n", remove, "---\nb: 2\n");
    check("---\n # Licence\n\n # of a\n a: 1\n b: 2\n", remove, "---\n # Licence\n\n b: 2\n");
}

#[test]
fn a_comment_behind_a_dash_outlives_the_first_entry() {
    let item = |root: &mut NodeMut<'_>| {
        assert!(root.reborrow().at_mut(0).and_then(|mut item| item.remove("a")).expect("it can be removed"));
    };
    check("- # about it\n  a: 1\n  b: 2\n", item, "- # about it\n  b: 2\n");
    let value = |root: &mut NodeMut<'_>| {
        assert!(
            root.reborrow().get_mut("x").and_then(|mut value| value.remove("a")).expect("it can be removed")
        );
    };
    check("x: &x # about it\n  a: 1\n  b: 2\n", value, "x: &x # about it\n  b: 2\n");
    check("x: &x # about it\n  a: 1\n  b: 2 # two\n", value, "x: &x # about it\n  b: 2 # two\n");
    check("x: # about it\n  a: 1\n  b: 2\n", value, "x: # about it\n  b: 2\n");
    let first = |root: &mut NodeMut<'_>| {
        assert!(
            root.reborrow().get_mut("x").and_then(|mut list| list.remove_item(0)).expect("it can be removed")
        );
    };
    check("x: # about it\n# the first\n- a\n- b\n", first, "x: # about it\n- b\n");
    let inner = |root: &mut NodeMut<'_>| {
        let item = root.reborrow().get_mut("x").and_then(|list| list.at_mut(0));
        assert!(item.and_then(|mut item| item.remove("a")).expect("it can be removed"));
    };
    check("x:\n# about it\n- &y\n  a: 1\n  b: 2\n", inner, "x:\n# about it\n- &y\n  b: 2\n");
}

#[test]
fn a_comment_is_set_behind_a_value_that_becomes_a_block() {
    let edit = |root: &mut NodeMut<'_>| {
        root.insert("a", yaml("x: 1\ny: 2\n")).expect("the value can be set");
        root.set_key_comment("a", CommentPlace::Line, "# new").expect("the comment can be set");
    };
    let expected = "a: # new\n  x: 1\n  y: 2\nb: 2\n";
    for old in [" 1 # old", " 1", " [1, 2] # old", "\n  1 # old", " |\n  text", " | # old\n  text"] {
        check(&format!("a:{old}\nb: 2\n"), edit, expected);
    }
}

#[test]
fn a_comment_goes_where_its_entry_goes_when_the_one_before_it_leaves_the_dash() {
    let both = |text: &'static str, comment: &'static str| {
        let remove = |root: &mut NodeMut<'_>| {
            assert!(root.reborrow().at_mut(0).and_then(|mut item| item.remove("a")).expect("it can go"));
        };
        let say = move |root: &mut NodeMut<'_>| {
            let item = root.reborrow().at_mut(0);
            item.and_then(|mut item| item.set_key_comment("b", CommentPlace::Head, comment))
                .expect("it can be set");
        };
        let mut one = Document::parse(text).expect("it is YAML");
        remove(&mut one.root_mut());
        say(&mut one.root_mut());
        let mut other = Document::parse(text).expect("it is YAML");
        say(&mut other.root_mut());
        remove(&mut other.root_mut());
        assert_eq!(one.to_string(), other.to_string(), "in whichever order");
        one.to_string()
    };
    assert_eq!(both("- a: 1\n  b: 2\n", "# new"), "- # new\n  b: 2\n");
    assert_eq!(both("- a: 1\n  # h\n  b: 2\n", "# new"), "- # new\n  b: 2\n");
    assert_eq!(both("- a: 1\n  # h\n  b: 2\n", ""), "- b: 2\n");
    assert_eq!(both("- a: 1\n  # h\n\n  # i\n  b: 2\n", "# new"), "- # new\n  b: 2\n");
    assert_eq!(both("- a: 1\n\n  # t\n\n  b: 2\n", "# new"), "- # new\n\n  b: 2\n");
    let items = |root: &mut NodeMut<'_>| {
        let mut list = root.reborrow().at_mut(0).expect("there is one");
        assert!(list.remove_item(0).expect("it can go"));
        list.at_mut(0)
            .and_then(|mut item| item.set_comment(CommentPlace::Head, "# new"))
            .expect("it can be set");
    };
    check("- - x\n  - y\n", items, "- # new\n  - y\n");
    let remove = |root: &mut NodeMut<'_>| {
        assert!(root.reborrow().at_mut(0).and_then(|mut item| item.remove("a")).expect("it can go"));
    };
    check("- a: 1\n\n  # t\n\n  b: 2\n", remove, "-\n\n  # t\n\n  b: 2\n");
}

#[test]
fn a_comment_in_parts_is_replaced_as_a_whole_whatever_follows() {
    let titled = "a: 1\n\n# T\n\n# about b\nb: 2\nc: 3\n";
    let say = |root: &mut NodeMut<'_>, key: &str, text: &str| {
        root.set_key_comment(key, CommentPlace::Head, text).expect("it can be set");
    };
    let gone = |root: &mut NodeMut<'_>| {
        say(root, "b", "");
        assert!(root.remove("b").expect("it can go"));
    };
    check(titled, gone, "a: 1\n\nc: 3\n");
    let moved = |root: &mut NodeMut<'_>| {
        say(root, "b", "# new");
        root.reorder(&[1, 0, 2]).expect("it can be reordered");
    };
    check(titled, moved, "# new\nb: 2\na: 1\nc: 3\n");
    let top = |root: &mut NodeMut<'_>| {
        say(root, "a", "# new");
        root.reorder(&[1, 0]).expect("it can be reordered");
    };
    let swapped = |root: &mut NodeMut<'_>| {
        root.reorder(&[1, 0]).expect("it can be reordered");
        root.reborrow()
            .at_mut(0)
            .and_then(|mut item| item.set_comment(CommentPlace::Head, "# new"))
            .expect("it can be set");
    };
    check("# above nothing\n-\n- x\n", swapped, "# new\n- x\n-\n");
    check("---\n# L\n\na: 1\nb: 2\n", top, "---\nb: 2\n# new\n\na: 1\n");
    let before = |root: &mut NodeMut<'_>| {
        let mut mapping = root.reborrow().get_mut("m").expect("there is one");
        mapping.set_key_comment("b", CommentPlace::Head, "# new").expect("it can be set");
        mapping.insert_at(0, "x", 1).expect("it can be inserted");
    };
    check("m:\n  # T\n\n  # about b\n  b: 2\n", before, "m:\n  x: 1\n  # new\n  b: 2\n");
}

#[test]
fn json_without_a_last_line_break_takes_what_json_spells_otherwise() {
    for (value, spelled) in [("True", "true"), ("2020-01-01", "\"2020-01-01\"")] {
        let mut document = Document::parse("{\"a\": 1}").expect("it is YAML");
        document.root_mut().insert("a", yaml(value)).expect("it can be set");
        assert_eq!(document.to_string(), format!("{{\"a\": {spelled}}}"));
    }
}

#[test]
fn new_lines_end_as_those_of_their_document() {
    let mut stream = Stream::parse("a: 1\n---\r\nb: 2\r\n").expect("it can be read");
    stream.documents_mut()[1].root_mut().insert("c", 3).expect("it can be set");
    assert_eq!(stream.to_string(), "a: 1\n---\r\nb: 2\r\nc: 3\r\n");
}

#[test]
fn a_comment_beside_a_root_stays_when_the_root_becomes_a_block() {
    let edit = |root: &mut NodeMut<'_>| {
        root.set_comment(CommentPlace::Line, "# c").expect("it can be set");
        root.set(yaml("k: v\n")).expect("it can be set");
    };
    check("--- x\n", edit, "--- # c\nk: v\n");
    check("---\nx\n", edit, "---\n# c\nk: v\n");
    check("x\n", edit, "# c\nk: v\n");
    let refill = |root: &mut NodeMut<'_>| {
        assert!(root.remove("a").expect("it can go"));
        root.set_comment(CommentPlace::Line, "# c").expect("it can be set");
        root.insert("b", 2).expect("it can be set");
    };
    check("---\na: 1\n", refill, "---\n# c\nb: 2\n");
}

#[test]
fn a_comment_is_set_beside_a_value_that_moved_up_to_its_key() {
    let edit = |root: &mut NodeMut<'_>| {
        root.insert("a", true).expect("it can be set");
        root.reborrow()
            .get_mut("a")
            .and_then(|mut a| a.set_comment(CommentPlace::Line, "# c"))
            .expect("it can be set");
    };
    check("a:\n - |+3\n\nb: 1\n", edit, "a: true # c\nb: 1\n");
    check("a:\n - |\n  text\nb: 1\n", edit, "a: true # c\nb: 1\n");
    check("a:\n - 1\nb: 1\n", edit, "a: true # c\nb: 1\n");
}

#[test]
fn a_comment_beside_an_anchor_or_a_tag_is_not_that_of_the_first_entry() {
    let say = |root: &mut NodeMut<'_>| {
        let mut item = root.reborrow().get_mut("d").and_then(|list| list.at_mut(0)).expect("there is one");
        item.set("w").expect("it can be set");
        item.set_comment(CommentPlace::Line, "# new").expect("it can be set");
    };
    for beside in ["&x", "!!seq", "!t", "!t &x"] {
        let (before, after) =
            (format!("d: {beside} # important\n- v\n"), format!("d: {beside} # important\n- w # new\n"));
        check(&before, say, &after);
    }
    let clear = |root: &mut NodeMut<'_>| {
        let mut item = root.reborrow().get_mut("d").and_then(|list| list.at_mut(0)).expect("there is one");
        item.set_comment(CommentPlace::Line, "").expect("it can be set");
    };
    check("d: &x # important\n- v # old\n", clear, "d: &x # important\n- v\n");
    check("d: &x # important\n- v\n", clear, "d: &x # important\n- v\n");
    let remove = |root: &mut NodeMut<'_>| {
        let mut list = root.reborrow().get_mut("d").expect("there is one");
        assert!(list.remove_item(0).expect("it can go"));
    };
    check("d: &x # important\n- v # old\n- w\n", remove, "d: &x # important\n- w\n");
}

#[test]
fn a_line_has_one_comment_whoever_it_was_set_on() {
    let first = |root: &mut NodeMut<'_>| {
        let mut value = root.reborrow().get_mut("a").expect("it is there");
        value.set_comment(CommentPlace::Line, "# old").expect("the comment can be set");
        value.set(yaml("b: 1\nc: 2\n")).expect("the value can be set");
    };
    let by_key = |root: &mut NodeMut<'_>| {
        first(root);
        root.set_key_comment("a", CommentPlace::Line, "# new").expect("the comment can be set");
    };
    let by_value = |root: &mut NodeMut<'_>| {
        first(root);
        let mut value = root.reborrow().get_mut("a").expect("it is there");
        value.set_comment(CommentPlace::Line, "# new").expect("the comment can be set");
    };
    let emptied = |root: &mut NodeMut<'_>| {
        first(root);
        root.set_key_comment("a", CommentPlace::Line, "").expect("the comment can be set");
    };
    check("a: x\n", by_key, "a: # new\n  b: 1\n  c: 2\n");
    check("a: x\n", by_value, "a: # new\n  b: 1\n  c: 2\n");
    check("a: x\n", emptied, "a:\n  b: 1\n  c: 2\n");
}
