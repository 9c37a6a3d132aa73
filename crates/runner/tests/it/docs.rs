//! The page about the functions is what the code says of them.

use std::path::Path;

use lanai_functions::{Function, document};
use lanai_krm::Resource;
use lanai_runner::{about_helm, functions};

/// All that the page is about, by name.
fn all() -> Vec<&'static dyn Function> {
    let mut all = functions();
    all.push(about_helm());
    all.sort_by_key(|function| function.name());
    all
}

#[test]
fn the_page_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    let page = document::page(&all());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(there == page, "docs/functions.md is old: run `UPDATE=1 cargo test -p lanai-runner`");
}

#[test]
fn the_examples_are_resources() {
    for function in all() {
        let doc = function.doc();
        assert_eq!(doc.example.is_empty(), doc.config.is_empty(), "{}", function.name());
        if !doc.example.is_empty() {
            let example = Resource::parse(doc.example).unwrap();
            assert!(example.kind().is_some(), "{}", function.name());
        }
    }
}

#[test]
fn no_two_functions_have_a_name() {
    let all = all();
    let mut names: Vec<&str> = all
        .iter()
        .flat_map(|function| std::iter::once(function.name()).chain(function.aliases().iter().copied()))
        .collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
