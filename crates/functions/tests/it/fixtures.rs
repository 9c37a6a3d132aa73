//! The functions on the lists of `fixtures`, a folder for each function and in it one for each case: `input.yaml` is the list,
//! `output.yaml` what the function answers, `stderr.txt` what it says when it fails, and `lost.txt` has the comments that go with what
//! is removed or replaced.
//!
//! `UPDATE=1` writes the answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use lanai_functions::{catalog, run_on_wire};
use lanai_krm::{Resource, ResourceList};
use lanai_yaml::Stream;

/// How many cases a function has at least.
const MIN_CASES: usize = 6;

/// The functions that are there to change text without changing what it means.
pub const CHANGE_TEXT: &[&str] = &["create-setters", "drop-comments", "format", "search-replace"];

#[test]
fn every_function_answers_as_its_fixtures_say() {
    let mut wrong = Vec::new();
    for function in catalog() {
        let cases = cases(function.name());
        if cases.len() < MIN_CASES {
            wrong.push(format!("{} has only {} cases", function.name(), cases.len()));
        }
        for case in &cases {
            wrong.extend(
                check(function.name(), case).into_iter().map(|why| format!("{}: {why}", case.display())),
            );
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_deviation_has_a_fixture() {
    for function in catalog() {
        for deviation in function.doc().deviations {
            assert!(!deviation.fixtures.is_empty(), "{}: {}", function.name(), deviation.here);
            for fixture in deviation.fixtures {
                let case = folder(function.name()).join(fixture);
                assert!(case.join("input.yaml").is_file(), "{}", case.display());
            }
        }
    }
}

#[test]
fn every_folder_belongs_to_a_function() {
    let folders = entries(&root());
    assert!(folders.len() >= catalog().len());
    for folder in folders {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        assert!(catalog().iter().any(|function| function.name() == name), "{name}");
    }
}

/// Everything that is wrong with the answer to a case.
fn check(function: &str, case: &Path) -> Vec<String> {
    let input = fs::read_to_string(case.join("input.yaml")).unwrap();
    let answer = run_on_wire(function, &input);
    let mut wrong = Vec::from_iter(compare(case, "output.yaml", &answer.stdout));
    wrong.extend(compare(case, "stderr.txt", &answer.stderr));
    if (answer.exit_code == 0) != answer.stderr.is_empty() {
        wrong.push("exit code and message do not fit".into());
    }
    if run_on_wire(function, &input) != answer {
        wrong.push("a second run of the same gives another answer".into());
    }
    let Ok(before) = ResourceList::parse(&input) else { return wrong };
    let after = ResourceList::parse(&answer.stdout).unwrap();
    if text(before.function_config.as_ref()) != text(after.function_config.as_ref()) {
        wrong.push("the function config was changed".into());
    }
    if !CHANGE_TEXT.contains(&function) {
        wrong.extend(untouched(&before, &after));
    }
    wrong.extend(compare(case, "lost.txt", &lost_comments(&before.items, &after.items)));
    if answer.exit_code == 0 {
        let again = ResourceList { results: Vec::new(), ..after.clone() };
        let again = ResourceList::parse(&run_on_wire(function, &again.to_string()).stdout).unwrap();
        let texts = |list: &ResourceList| list.items.iter().map(Resource::to_string).collect::<Vec<_>>();
        if texts(&again) != texts(&after) {
            wrong.push(format!("run again, it changes something:\n{}", texts(&again).join("---\n")));
        }
    }
    wrong
}

/// What is wrong with a text that stands in a file of the case; no file is the empty text.
pub fn compare(case: &Path, name: &str, is: &str) -> Option<String> {
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

/// The resources that mean what they meant, but are written in another way.
fn untouched(before: &ResourceList, after: &ResourceList) -> Vec<String> {
    let pairs = before.items.iter().zip(&after.items);
    let changed =
        pairs.filter(|(one, other)| one.means_the_same(other) && one.to_string() != other.to_string());
    changed.map(|(one, other)| format!("written anew without need:\n{one}\n{other}")).collect()
}

/// The comments that stood in resources before and do not stand there now, a line each.
pub fn lost_comments<'a>(
    before: impl IntoIterator<Item = &'a Resource>,
    after: impl IntoIterator<Item = &'a Resource>,
) -> String {
    let mut left = BTreeMap::<String, usize>::new();
    for comment in after.into_iter().flat_map(comments) {
        *left.entry(comment).or_default() += 1;
    }
    let is_lost = |comment: &String| match left.get_mut(comment) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    let lost = before.into_iter().flat_map(comments).filter(is_lost);
    lost.map(|comment| comment + "\n").collect()
}

fn comments(resource: &Resource) -> Vec<String> {
    let stream = Stream::parse(resource.to_string()).unwrap();
    stream.comments().into_iter().map(Into::into).collect()
}

fn text(config: Option<&Resource>) -> Option<String> {
    config.map(Resource::to_string)
}

/// The lists of all cases.
pub fn inputs() -> Vec<String> {
    let cases = catalog().iter().flat_map(|function| cases(function.name()));
    cases.map(|case| fs::read_to_string(case.join("input.yaml")).unwrap()).collect()
}

pub fn cases(function: &str) -> Vec<PathBuf> {
    entries(&folder(function))
}

fn folder(function: &str) -> PathBuf {
    root().join(function)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures")
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}
