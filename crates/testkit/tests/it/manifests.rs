//! The generated streams, read by a YAML parser that is not ours.

use std::collections::BTreeSet;

use granit_parser::{Event, Parser, Placement, ScalarStyle, StructureStyle};
use lanai_testkit::manifests;

/// What a stream was found to hold.
#[derive(Default)]
struct Seen {
    /// The top-level keys of each document.
    documents: Vec<Vec<String>>,
    scalars: BTreeSet<ScalarStyle>,
    flow_mappings: usize,
    flow_sequences: usize,
    comments_above: usize,
    comments_right: usize,
}

fn read(text: &str) -> Seen {
    let mut seen = Seen::default();
    let mut depth = 0;
    let mut at_key = true;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.expect("the stream is YAML");
        match event {
            Event::DocumentStart(..) => seen.documents.push(Vec::new()),
            Event::Scalar(value, style, ..) => {
                seen.scalars.insert(style);
                if depth == 1 {
                    if at_key {
                        seen.documents.last_mut().expect("a document has begun").push(value.into_owned());
                    }
                    at_key = !at_key;
                }
            }
            Event::MappingStart(style, ..) => {
                assert!(
                    depth > 0 || style == StructureStyle::Block,
                    "a manifest at {span:?} is a block mapping"
                );
                seen.flow_mappings += usize::from(style == StructureStyle::Flow);
                depth += 1;
                at_key = true;
            }
            Event::SequenceStart(style, ..) => {
                assert!(depth > 0, "a manifest at {span:?} is a mapping");
                seen.flow_sequences += usize::from(style == StructureStyle::Flow);
                depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => {
                depth -= 1;
                at_key = true;
            }
            Event::Comment(_, Placement::Above) => seen.comments_above += 1,
            Event::Comment(_, Placement::Right) => seen.comments_right += 1,
            _ => {}
        }
    }
    seen
}

#[test]
fn every_document_is_a_manifest() {
    for seed in 0..4 {
        let text = manifests(seed, 500);
        let seen = read(&text);
        assert_eq!(seen.documents.len(), 500, "seed {seed}");
        for keys in &seen.documents {
            assert_eq!(keys[..3], ["apiVersion", "kind", "metadata"], "seed {seed}");
            let distinct: BTreeSet<_> = keys.iter().collect();
            assert_eq!(distinct.len(), keys.len(), "a key comes once: {keys:?}");
        }
    }
}

#[test]
fn no_two_manifests_have_one_name() {
    let text = manifests(1, 500);
    let names: BTreeSet<_> = text
        .split("---\n")
        .map(|document| document.lines().find(|line| line.starts_with("  name: ")))
        .collect();
    assert!(!names.contains(&None));
    assert_eq!(names.len(), 500);
}

#[test]
fn the_stream_shows_every_style() {
    let text = manifests(1, 500);
    let seen = read(&text);
    assert_eq!(seen.scalars.len(), 5, "plain, single, double, literal, folded: {:?}", seen.scalars);
    assert!(seen.flow_mappings > 50, "{}", seen.flow_mappings);
    assert!(seen.flow_sequences > 50, "{}", seen.flow_sequences);
    assert!(seen.comments_above > 50, "{}", seen.comments_above);
    assert!(seen.comments_right > 50, "{}", seen.comments_right);
    assert!(text.contains("\n# end of "), "comments at the foot of a document");
    assert!(text.contains("ports:\n  - name"), "sequences level with their key");
    assert!(text.contains("ports:\n    - name"), "sequences set in");
}

#[test]
fn a_document_has_about_425_bytes() {
    let documents = 12_000;
    let bytes = manifests(7, documents).len();
    let average = bytes / documents;
    assert!((410..=440).contains(&average), "{average} bytes a document");
}

#[test]
fn the_seed_decides() {
    assert_eq!(manifests(3, 40), manifests(3, 40));
    assert_ne!(manifests(3, 40), manifests(4, 40));
    assert!(
        manifests(3, 40).starts_with(&manifests(3, 20)),
        "a longer stream goes on where a shorter one ends"
    );
    assert_eq!(manifests(3, 0), "");
}
