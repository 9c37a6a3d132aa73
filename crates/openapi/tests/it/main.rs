//! The table of the built-in kinds is whole, and says what is known of Kubernetes.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

use lanai_openapi::{Merge, Shape, Type, built_in};

const TEXT: &str = include_str!("../../src/builtin.txt");

/// The table is generated text in the repository; it stays small.
const MAX_BYTES: usize = 100_000;

#[test]
fn every_line_of_the_table_is_read() {
    let table = built_in();
    let (mut kinds, mut types) = (0, 0);
    for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[0] {
            "k" => {
                let (group, version) = words[1].split_once('/').unwrap();
                assert!(table.kind(group, version, words[2]).is_some(), "{line}");
                kinds += 1;
            }
            "t" => {
                assert_eq!(words[1], types.to_string(), "types stand in the order of their numbers");
                types += 1;
            }
            other => panic!("{other}"),
        }
    }
    assert!(kinds > 150 && types > 600, "{kinds} kinds, {types} types");
    assert!(TEXT.len() < MAX_BYTES, "{} bytes", TEXT.len());
}

#[test]
fn every_field_of_the_table_is_read() {
    let table = built_in();
    let written: usize =
        TEXT.lines().filter(|line| line.starts_with("t ")).map(|line| line.split(' ').count() - 3).sum();
    let mut open: Vec<&Type> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    for line in TEXT.lines().filter(|line| line.starts_with("k ")) {
        let words: Vec<&str> = line.split(' ').collect();
        let (group, _) = words[1].split_once('/').unwrap();
        for version in table.versions(group, words[2]) {
            if seen.insert(version.id) {
                open.push(table.get(version.id));
            }
        }
    }
    let mut read = 0;
    while let Some(at) = open.pop() {
        assert!(at.required().iter().all(|name| at.field(name).is_some()));
        for (_, mut shape) in at.fields() {
            read += 1;
            loop {
                shape = match shape {
                    Shape::Map(inner) => inner,
                    Shape::List(list) => &list.items,
                    other => break shape = other,
                };
            }
            if let Shape::Type(id) = shape
                && seen.insert(*id)
            {
                open.push(table.get(*id));
            }
        }
    }
    assert_eq!(read, written, "every type is reached from a kind, and no field is lost");
}

#[test]
fn lists_merge_as_the_document_says() {
    check("ports", "Service", &Merge::Keys(vec!["port", "protocol"]));
    check("externalIPs", "Service", &Merge::Whole);
    check("containers", "Pod", &Merge::Keys(vec!["name"]));
    check("volumes", "Pod", &Merge::Keys(vec!["name"]));
    check("topologySpreadConstraints", "Pod", &Merge::Keys(vec!["topologyKey", "whenUnsatisfiable"]));
    check("finalizers", "Namespace", &Merge::Whole);
}

#[test]
fn a_volume_has_one_source() {
    let table = built_in();
    let Some(Shape::Type(spec)) = table.kind("", "v1", "Pod").unwrap().field("spec") else { panic!() };
    assert!(table.get(*spec).has_variants("volumes"));
    assert!(!table.get(*spec).has_variants("containers"));
}

#[test]
fn what_is_not_text_although_it_is_written_so_has_a_shape_of_its_own() {
    let table = built_in();
    let spec = |kind: &str| match table.kind("", "v1", kind).and_then(|pod| pod.field("spec")) {
        Some(Shape::Type(id)) => table.get(*id),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        table.kind("", "v1", "Secret").unwrap().field("data"),
        Some(&Shape::Map(Box::new(Shape::Bytes)))
    );
    assert_eq!(spec("ResourceQuota").field("hard"), Some(&Shape::Map(Box::new(Shape::Quantity))));
    assert_eq!(spec("Pod").field("activeDeadlineSeconds"), Some(&Shape::Int64));
    assert_eq!(spec("Pod").field("no-such-field"), None);
    assert!(table.kind("", "v2", "Pod").is_none());
    assert!(table.kind("apps", "v1", "Pod").is_none());
}

/// How a list in the spec of a core kind merges.
fn check(field: &str, kind: &str, expected: &Merge) {
    let table = built_in();
    let Some(Shape::Type(spec)) = table.kind("", "v1", kind).unwrap().field("spec") else { panic!("{kind}") };
    match table.get(*spec).field(field) {
        Some(Shape::List(list)) => assert_eq!(&list.merge, expected, "{kind}.{field}"),
        other => panic!("{kind}.{field}: {other:?}"),
    }
}
