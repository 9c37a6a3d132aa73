//! Fixtures of functions, for all crates that have some.
//!
//! A crate has a folder of fixtures, in it a folder for each function, in it one for each case:
//!
//! | file of a case | what stands there |
//! |---|---|
//! | `input.yaml` | the list that the function gets |
//! | `output.yaml` | the list that it answers |
//! | `stderr.txt` | what it says aloud, and when it fails |
//! | `lost.txt` | the comments that go with what is removed or replaced |
//! | `catalog.yaml` | what the program of the public catalog answers |
//! | `deviation.txt` | where that is something else |
//!
//! A file that is not there is empty; any other file is an error. `UPDATE=1` writes what functions answer, and
//! `LANAI_CATALOG_PROGRAMS` names a folder with the programs, which are then asked again.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod answers;
mod ask;
mod catalog;
mod compare;
mod difference;
mod record;

use std::fs;
use std::path::{Path, PathBuf};

use lanai_functions::{Counterpart, Function};
use lanai_krm::{Resource, ResourceList};

pub use answers::lost_comments;

/// The files that a case may have.
const FILES: &[&str] =
    &["input.yaml", "output.yaml", "stderr.txt", "lost.txt", "catalog.yaml", "deviation.txt"];

/// The fixtures of a function.
pub struct Fixtures<'a> {
    /// The function.
    pub function: &'a dyn Function,
    /// The crate's folder of fixtures, which has a folder for each function.
    pub root: PathBuf,
    /// How many cases there are at least.
    pub min_cases: usize,
    /// What it does to resources.
    pub effect: Effect,
    /// The cases to which the program answers one thing or another, by chance. What it said once is kept.
    pub by_chance: &'a [&'a str],
}

/// What a function does to resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing: it reads them.
    LooksOnly,
    /// It edits what it changes and leaves the rest; a second run changes nothing.
    Edits,
    /// The same, but it also changes text that means the same afterwards, such as comments.
    ChangesText,
    /// What a script says, if that does not fail; a second run may change something again.
    RunsScripts,
}

/// The folder of fixtures of a crate, from its `CARGO_MANIFEST_DIR`.
pub fn root(manifest_dir: &str) -> PathBuf {
    Path::new(manifest_dir).join("tests/it/fixtures")
}

impl Fixtures<'_> {
    /// The folders of the cases, by name.
    pub fn cases(&self) -> Vec<PathBuf> {
        entries(&self.root.join(self.function.name()))
    }
}

/// Every function answers as its fixtures say, keeps its promises while it does, and has cases enough.
///
/// # Panics
/// When not, with all that is wrong.
pub fn assert_answers(all: &[Fixtures<'_>]) {
    let mut wrong = Vec::new();
    for fixtures in all {
        let cases = fixtures.cases();
        if cases.len() < fixtures.min_cases {
            wrong.push(format!("{} has only {} cases", fixtures.function.name(), cases.len()));
        }
        for case in &cases {
            let found = answers::check(fixtures, case).into_iter().chain(strange_files(case));
            wrong.extend(found.map(|why| format!("{}: {why}", case.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every answer is that of the program of the catalog, or a deviation that the page of the function lists.
///
/// # Panics
/// When not, with all that is wrong.
pub fn assert_like_the_catalog(all: &[Fixtures<'_>]) {
    let programs = std::env::var_os("LANAI_CATALOG_PROGRAMS").map(PathBuf::from);
    let (mut wrong, mut lines) = (Vec::new(), Vec::new());
    for fixtures in all {
        let name = fixtures.function.name();
        let compared = match fixtures.function.counterpart() {
            Counterpart::Program { resources, .. } => resources,
            Counterpart::None { why } => {
                lines.push(format!("{name}: {why}"));
                continue;
            }
        };
        let program = catalog::program(name, programs.as_deref());
        let (cases, mut equal) = (fixtures.cases(), 0);
        for case in &cases {
            let found = catalog::check(fixtures, compared, case, program.as_deref());
            equal += usize::from(found.is_equal);
            wrong.extend(found.wrong.into_iter().map(|why| format!("{}: {why}", case.display())));
        }
        lines.push(format!("{name}: {} cases, {equal} equal, {} deviate", cases.len(), cases.len() - equal));
    }
    eprintln!("{}", lines.join("\n"));
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Every fixture is used: each folder belongs to a function, each deviation names cases that are there, and the example of
/// each page is the configuration of its case `example`.
///
/// # Panics
/// When not.
pub fn assert_all_used(all: &[Fixtures<'_>]) {
    for fixtures in all {
        let folder = fixtures.root.join(fixtures.function.name());
        for deviation in fixtures.function.doc().deviations {
            assert!(!deviation.fixtures.is_empty(), "{}: {}", fixtures.function.name(), deviation.here);
            for fixture in deviation.fixtures {
                let case = folder.join(fixture);
                assert!(case.join("input.yaml").is_file(), "{} is not there", case.display());
            }
        }
        let example = fixtures.function.doc().example;
        if !example.is_empty() {
            assert_is_example(&folder.join("example"), example);
        }
        for other in entries(&fixtures.root) {
            let name = other.file_name().unwrap().to_string_lossy().into_owned();
            let is_known = all.iter().any(|fixtures| fixtures.function.name() == name);
            assert!(is_known, "{} belongs to no function", other.display());
        }
    }
}

/// The example of a page is the configuration of a case, and does something in it.
fn assert_is_example(case: &Path, example: &str) {
    let list = |name: &str| ResourceList::parse(&fs::read_to_string(case.join(name)).unwrap()).unwrap();
    let (before, after) = (list("input.yaml"), list("output.yaml"));
    let config = before.function_config.unwrap().to_string();
    assert_eq!(config, example, "{}", case.display());
    let texts = |items: &[Resource]| items.iter().map(Resource::to_string).collect::<Vec<_>>();
    let is_idle = after.results.is_empty() && texts(&before.items) == texts(&after.items);
    assert!(!is_idle, "{}: the example does nothing", case.display());
}

/// What is wrong with a text that stands in a file of a case; no file is the empty text.
fn compare_file(case: &Path, name: &str, is: &str) -> Option<String> {
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

/// The files of a case that nothing reads.
fn strange_files(case: &Path) -> Vec<String> {
    let names =
        entries(case).into_iter().map(|file| file.file_name().unwrap().to_string_lossy().into_owned());
    names.filter(|name| !FILES.contains(&name.as_str())).map(|name| format!("nothing reads {name}")).collect()
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}
