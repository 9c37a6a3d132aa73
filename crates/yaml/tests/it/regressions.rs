//! Every seed and every finding of the fuzzer, run through the body of its target.

use std::fs;
use std::panic;
use std::path::Path;

use lanai_testkit::workspace_root;

use crate::properties::{bodies, names};

/// The files of a folder, by name.
fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<(String, Vec<u8>)> = entries
        .map(|entry| entry.expect("the folder is readable").path())
        .filter(|path| path.is_file())
        .map(|path| (path.display().to_string(), fs::read(&path).expect("the file is readable")))
        .collect();
    files.sort();
    files
}

/// Runs a body over its seeds and regressions; names all files that it fails on.
fn check(target: &str, body: fn(&[u8])) {
    let fuzz = workspace_root().join("fuzz");
    let mut inputs = files(&fuzz.join("seeds").join(target));
    assert!(!inputs.is_empty(), "{target} has seeds");
    let found = fuzz.join("regressions").join(target);
    if found.is_dir() {
        inputs.extend(files(&found));
    }
    run(inputs, body);
}

fn run(inputs: Vec<(String, Vec<u8>)>, body: fn(&[u8])) {
    let failed: Vec<String> = inputs
        .into_iter()
        .filter(|(_, bytes)| panic::catch_unwind(|| body(bytes)).is_err())
        .map(|(name, _)| name)
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn parsing() {
    check("yaml_parse", bodies::yaml_parse);
}

#[test]
fn editing() {
    check("yaml_edit", bodies::yaml_edit);
}

#[test]
fn emitting() {
    check("yaml_emit", bodies::yaml_emit);
}

#[test]
fn names_of_things() {
    check("types_names", names::types_names);
}

/// What the oracle's fixtures hold is parsed, and edited at a few places each.
#[test]
fn fixtures_of_the_oracle() {
    let fixtures = files(&workspace_root().join("tests/oracle/fixtures"));
    assert!(fixtures.len() > 100, "the fixtures were found");
    run(fixtures.clone(), bodies::yaml_parse);
    let edits: [&[u8]; 6] = [
        &[0, 1],
        &[0, 0, 2, 3, 4],
        &[0, 1, 1, 5, 0, 9, 10],
        &[0, 3, 1, 5],
        &[0, 2, 0, 8, 1, 1, 1],
        &[0, 7, 7, 7, 7, 7, 7],
    ];
    let edited = |(name, text): (String, Vec<u8>)| {
        edits.map(|edits| (name.clone(), [&text[..], &[0xff], edits].concat()))
    };
    run(fixtures.into_iter().flat_map(edited).collect(), bodies::yaml_edit);
}
