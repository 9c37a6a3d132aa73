//! The public YAML test suite, judged by its own event form.

use std::collections::HashMap;
use std::path::Path;

use granit_parser::{Event, Parser};
use lanai_yaml::Stream;

use crate::events;

/// Cases that we read otherwise than the suite says; each has its reason in `docs/yaml.md`.
const DEVIATIONS: &[&str] = &["9C9N", "JEF9/02", "L24T/01", "QB6E", "VJP3/00", "Y79Y/03"];

struct Case {
    id: String,
    yaml: String,
    tree: String,
    fails: bool,
}

/// Reads one file of the suite with an independent reader.
fn cases(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).expect("the suite's file is readable");
    let mut entries: Vec<HashMap<String, String>> = Vec::new();
    let mut key: Option<String> = None;
    for next in Parser::new_from_str(&text) {
        match next.expect("the suite's own files are YAML").0 {
            Event::MappingStart(..) => {
                entries.push(HashMap::new());
                key = None;
            }
            Event::Scalar(value, ..) => match key.take() {
                None => key = Some(value.into_owned()),
                Some(name) => {
                    entries
                        .last_mut()
                        .expect("a scalar stands in a mapping")
                        .insert(name, value.into_owned());
                }
            },
            _ => {}
        }
    }
    let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("suite files have names").to_owned();
    let several = entries.len() > 1;
    if entries.iter().any(|entry| entry.get("skip").is_some_and(|skip| skip == "true")) {
        return Vec::new();
    }
    let mut tree = String::new();
    let mut out = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        if let Some(own) = entry.get("tree") {
            tree.clone_from(own);
        }
        let Some(yaml) = entry.get("yaml") else { continue };
        out.push(Case {
            id: if several { format!("{stem}/{at:02}") } else { stem.clone() },
            yaml: unescape(yaml),
            tree: tree
                .lines()
                .map(str::trim_start)
                .map(|line| line.replace('␣', " "))
                .collect::<Vec<_>>()
                .join("\n"),
            fails: entry.get("fail").is_some_and(|value| value == "true"),
        });
    }
    out
}

/// Replaces the suite's visible stand-ins.
fn unescape(text: &str) -> String {
    let mut text = text.replace('␣', " ").replace('↵', "").replace('←', "\r").replace('⇔', "\u{feff}");
    for dashes in ["———»", "——»", "—»", "»"] {
        text = text.replace(dashes, "\t");
    }
    text = text.trim_start_matches("———").replace("—\t", "\t").replace('—', "");
    match text.strip_suffix("∎\n") {
        Some(stripped) => stripped.to_owned(),
        None => text,
    }
}

#[test]
fn every_case_of_the_suite_is_right_or_listed() {
    let Some(corpus) = lanai_testkit::corpus("yaml-test-suite") else {
        lanai_testkit::skip("yaml suite", "the corpus yaml-test-suite is not there");
        return;
    };
    let mut files: Vec<_> = std::fs::read_dir(corpus.join("src"))
        .expect("the corpus has a folder src")
        .map(|entry| entry.expect("the folder is readable").path())
        .collect();
    files.sort();
    let mut wrong = Vec::new();
    let mut count = 0;
    for case in files.iter().flat_map(|path| cases(path)) {
        count += 1;
        let outcome = match Stream::parse(case.yaml.as_str()) {
            Err(_) if case.fails => None,
            Err(error) => Some(format!("refused: {error:#}")),
            Ok(_) if case.fails => Some("accepted what is invalid".into()),
            Ok(stream) => {
                assert_eq!(stream.to_string(), case.yaml, "{}: not written as read", case.id);
                let events = events::of_stream(&stream);
                (events != case.tree).then(|| format!("events\n{events}\n--- expected\n{}", case.tree))
            }
        };
        if let Some(outcome) = outcome {
            wrong.push((case.id, outcome, case.yaml));
        }
    }
    let mut failed = false;
    for (id, outcome, yaml) in &wrong {
        if !DEVIATIONS.contains(&id.as_str()) {
            failed = true;
            println!("=== {id}: {outcome}\n--- text\n{yaml}");
        }
    }
    for id in DEVIATIONS {
        assert!(wrong.iter().any(|(wrong, ..)| wrong == id), "{id} is right now: take it from the list");
    }
    println!("yaml suite: {} of {count} right, {} listed", count - wrong.len(), DEVIATIONS.len());
    assert!(!failed, "cases are wrong that are not listed");
}
