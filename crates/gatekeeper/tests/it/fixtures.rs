//! The function on the lists of `fixtures`, a folder for each case: `input.yaml` is the list, `output.yaml` what the function answers,
//! `stderr.txt` what it says when it fails.
//!
//! `UPDATE=1` writes the answers.

use std::fs;
use std::path::{Path, PathBuf};

use lanai_functions::{Code, run_this_on_wire};
use lanai_gatekeeper::function;
use lanai_krm::{Resource, ResourceList};

/// How many cases there are at least.
const MIN_CASES: usize = 15;

#[test]
fn the_function_answers_as_its_fixtures_say() {
    let cases = cases();
    assert!(cases.len() >= MIN_CASES, "{} cases", cases.len());
    let wrong: Vec<String> = cases
        .iter()
        .flat_map(|case| check(case).into_iter().map(|why| format!("{}: {why}", case.display())))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_deviation_has_a_fixture() {
    for deviation in function().doc().deviations {
        assert!(!deviation.fixtures.is_empty(), "{}", deviation.here);
        for fixture in deviation.fixtures {
            assert!(root().join(fixture).join("input.yaml").is_file(), "{fixture}");
        }
    }
}

#[test]
fn the_code_is_the_users() {
    assert_eq!(function().code(), Code::Users);
}

/// Everything that is wrong with the answer to a case.
fn check(case: &Path) -> Vec<String> {
    let input = fs::read_to_string(case.join("input.yaml")).unwrap();
    let answer = run_this_on_wire(function(), &input);
    let mut wrong = Vec::from_iter(compare(case, "output.yaml", &answer.stdout));
    wrong.extend(compare(case, "stderr.txt", &answer.stderr));
    if run_this_on_wire(function(), &input) != answer {
        wrong.push("a second run of the same gives another answer".into());
    }
    let before = ResourceList::parse(&input).unwrap();
    let after = ResourceList::parse(&answer.stdout).unwrap();
    let texts = |items: &[Resource]| items.iter().map(Resource::to_string).collect::<Vec<_>>();
    if texts(&before.items) != texts(&after.items) {
        wrong.push("it changed something".into());
    }
    wrong
}

/// What is wrong with a text that stands in a file of the case; no file is the empty text.
fn compare(case: &Path, name: &str, is: &str) -> Option<String> {
    let file = case.join(name);
    if std::env::var_os("UPDATE").is_some() {
        if is.is_empty() {
            let _ = fs::remove_file(&file);
        } else {
            fs::write(&file, is).unwrap();
        }
    }
    let should = fs::read_to_string(&file).unwrap_or_default();
    (should != is).then(|| format!("{name} should be\n{should}\nbut is\n{is}"))
}

/// The folders of the cases, by name.
fn cases() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures")
}
