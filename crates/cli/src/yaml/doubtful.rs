//! Paths that more than one place answers to.

use lanai_yaml::path::Segment;
use lanai_yaml::{Document, Kind, NodeRef, Path};

/// A line for each step of the path that several keys or items answer to; the first of them is what commands mean.
pub(super) fn notes(document: &Document, path: &Path) -> Vec<String> {
    let steps = path.segments().iter().enumerate();
    steps.filter_map(|(at, segment)| note(document, &path.segments()[..at], segment)).collect()
}

fn note(document: &Document, above: &[Segment], segment: &Segment) -> Option<String> {
    let above: Path = above.iter().cloned().collect();
    let collection = document.root().find(&above).ok()?.target();
    match segment {
        Segment::Key(key) => {
            let keys = collection.entries().map(|(found, _)| found.target());
            let meant = keys.filter(|found| found.kind() == Kind::Scalar && found.value() == *key).count();
            (meant > 1).then(|| {
                format!("the key \"{key}\" stands more than once in a mapping; the first one was meant")
            })
        }
        Segment::Match { key, value } => {
            let is_meant = |item: &NodeRef<'_>| {
                item.target().get(key).is_some_and(|found| found.target().value() == *value)
            };
            let meant = collection.items().filter(is_meant).count();
            (meant > 1)
                .then(|| format!("{meant} items of {above} have {key}={value}; the first one was meant"))
        }
        Segment::Index(_) | Segment::Append => None,
    }
}
