//! The page about the functions is what the code says of them.

use std::path::Path;

use lanai_functions::{catalog, document};
use lanai_krm::Resource;

#[test]
fn the_page_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/functions.md");
    let page = document::page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(there == page, "docs/functions.md is old: run `UPDATE=1 cargo test -p lanai-functions`");
}

#[test]
fn the_examples_are_resources() {
    for function in catalog() {
        let doc = function.doc();
        assert_eq!(doc.example.is_empty(), doc.config.is_empty(), "{}", function.name());
        if !doc.example.is_empty() {
            let example = Resource::parse(doc.example).unwrap();
            assert!(example.kind().is_some(), "{}", function.name());
        }
    }
}
