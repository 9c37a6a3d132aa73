//! What the functions say of themselves.

use lanai_functions::catalog;
use lanai_krm::Resource;

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
