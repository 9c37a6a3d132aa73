//! Collections with many entries, in which look-ups do not walk: what they find is what a walk finds.

use lanai_yaml::{Content, Document, NodeMut, NodeRef};
use proptest::prelude::*;

/// Lines, one for each number.
fn lines(numbers: std::ops::Range<usize>, line: impl Fn(usize) -> String) -> String {
    numbers.map(line).collect::<Vec<_>>().concat()
}

/// Compares all look-ups in a mapping with a walk over its entries.
fn check_keys(mapping: NodeRef<'_>, names: impl Iterator<Item = String>) {
    for name in names {
        // Twice: the second look-up makes a table.
        for _ in 0..2 {
            let found = mapping.own_entry(&name).map(|(key, value)| (key.value(), value.value()));
            let walked = mapping.entries().find(|(key, _)| key.value() == name);
            assert_eq!(found, walked.map(|(key, value)| (key.value(), value.value())), "{name}");
        }
    }
}

fn check_items(list: NodeRef<'_>) {
    let walked: Vec<_> = list.items().map(NodeRef::value).collect();
    for at in 0..walked.len() + 2 {
        assert_eq!(list.at(at).map(NodeRef::value).as_ref(), walked.get(at), "{at}");
    }
}

/// An edit of one of the entries.
#[derive(Clone, Copy, Debug)]
enum Edit {
    Set,
    Insert,
    InsertFirst,
    InsertBehind,
    Remove,
    Rename,
    Replace,
    Reverse,
}

const EDITS: [Edit; 8] = [
    Edit::Set,
    Edit::Insert,
    Edit::InsertFirst,
    Edit::InsertBehind,
    Edit::Remove,
    Edit::Rename,
    Edit::Replace,
    Edit::Reverse,
];

fn edit_mapping(document: &mut Document, edit: Edit, number: usize, step: usize) {
    let key = format!("k{number}");
    let mut root = document.root_mut();
    // What is refused (a name that is taken, a key that is gone) changes nothing.
    match edit {
        Edit::Set => _ = root.get_mut(&key).and_then(|mut value| value.set(format!("v{step}"))),
        Edit::Insert => root.insert(&key, format!("v{step}")).expect("it is a mapping"),
        Edit::InsertFirst => _ = root.insert_at(0, &key, format!("v{step}")),
        Edit::InsertBehind => check_behind(&mut root, &format!("k{}", 2 * step), &key),
        Edit::Remove => _ = root.remove(&key).expect("it is a mapping"),
        Edit::Rename => _ = root.rename(&key, &format!("k{}", number + 1)),
        Edit::Replace => _ = root.get_mut(&key).and_then(|mut value| value.set(Content::mapping())),
        Edit::Reverse => {
            let order: Vec<usize> = (0..root.read().len()).rev().collect();
            root.reorder(&order).expect("it is an order");
        }
    }
}

/// Adds a key behind another, and looks where it came to stand.
fn check_behind(root: &mut NodeMut<'_>, other: &str, key: &str) {
    let keys =
        |node: NodeRef<'_>| node.entries().map(|(key, _)| key.value().into_owned()).collect::<Vec<_>>();
    let mut expected = keys(root.read());
    let is_there = expected.iter().any(|name| name == key);
    let place = expected.iter().position(|name| name == other).map_or(expected.len(), |at| at + 1);
    if !is_there {
        expected.insert(place, key.into());
    }
    assert_eq!(root.insert_behind(other, key, "new").is_err(), is_there);
    assert_eq!(keys(root.read()), expected);
}

fn edit_list(document: &mut Document, edit: Edit, number: usize, step: usize) {
    let mut root = document.root_mut();
    let text = format!("v{step}");
    match edit {
        Edit::Set | Edit::Rename => _ = root.at_mut(number).and_then(|mut item| item.set(text)),
        Edit::Insert | Edit::InsertBehind => _ = root.insert_item(number, text),
        Edit::InsertFirst => root.insert_item(0, text).expect("there is a front"),
        Edit::Remove => _ = root.remove_item(number).expect("it is a list"),
        Edit::Replace => root.push(text).expect("it is a list"),
        Edit::Reverse => {
            let order: Vec<usize> = (0..root.read().len()).rev().collect();
            root.reorder(&order).expect("it is an order");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn keys_are_found_after_edits(edits in prop::collection::vec((0..8_usize, 0..160_usize), 1..40), doubled: bool) {
        let mut text = lines(0..140, |at| format!("k{at}: {at}\n"));
        if doubled {
            text.push_str(&lines(100..120, |at| format!("k{at}: again\n")));
        }
        let mut document = Document::parse(text).expect("this is YAML");
        for (step, (edit, number)) in edits.into_iter().enumerate() {
            check_keys(document.root(), [number, number + 1, 130].into_iter().map(|at| format!("k{at}")));
            edit_mapping(&mut document, EDITS[edit], number, step);
            check_keys(document.root(), [number, number + 1].into_iter().map(|at| format!("k{at}")));
        }
        check_keys(document.root(), (0..165).map(|at| format!("k{at}")));
        let again = Document::parse(document.to_string()).expect("it is YAML");
        prop_assert!(document.root().means_the_same(again.root()));
    }

    #[test]
    fn items_are_found_after_edits(edits in prop::collection::vec((0..8_usize, 0..160_usize), 1..40)) {
        let text = lines(0..140, |at| format!("- {at}\n"));
        let mut document = Document::parse(text).expect("this is YAML");
        for (step, (edit, number)) in edits.into_iter().enumerate() {
            check_items(document.root());
            edit_list(&mut document, EDITS[edit], number, step);
        }
        check_items(document.root());
        let again = Document::parse(document.to_string()).expect("it is YAML");
        prop_assert!(document.root().means_the_same(again.root()));
    }
}

#[test]
fn a_key_that_is_an_alias_is_found_by_what_it_means_now() {
    let keys = lines(0..100, |at| format!("k{at}: {at}\n"));
    let mut document = Document::parse(format!("a: &a x\n{keys}*a : found\n")).expect("this is YAML");
    for name in ["x", "x"] {
        assert!(document.root().own_entry(name).is_some());
    }
    document.root_mut().get_mut("a").and_then(|mut value| value.set("y")).expect("it can be set");
    assert!(document.root().own_entry("x").is_none() && document.root().own_entry("y").is_some());
}

#[test]
fn merged_keys_are_found_in_wide_mappings() {
    let keys = lines(0..100, |at| format!("  k{at}: {at}\n"));
    let text = format!("base:\n  far: 1\nwide:\n{keys}  <<: {{far: 2}}\n");
    let document = Document::parse(text).expect("this is YAML");
    let wide = document.root().get("wide").expect("the key is there");
    for _ in 0..3 {
        assert_eq!(wide.get("far").map(NodeRef::value).as_deref(), Some("2"));
        assert!(wide.get("nowhere").is_none());
    }
}
