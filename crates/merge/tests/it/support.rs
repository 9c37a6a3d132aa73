//! Packages out of texts, and one `check` per area.

use lanai_krm::Package;
use lanai_krm::package::File;
use lanai_merge::{Conflict, Merged, Options, Policy, three_way};
use lanai_types::Limits;

/// A package of text files.
pub fn package(files: &[(&str, &str)]) -> Package {
    let files = files.iter().map(|(path, text)| (*path, File::from_text(text)));
    Package::from_entries(files, Limits::default()).unwrap()
}

/// The text of a file; nothing where there is none.
pub fn text(package: &Package, path: &str) -> String {
    let file = package.get(&path.parse().unwrap());
    file.map_or_else(String::new, |file| file.text().unwrap().to_owned())
}

pub fn policy(policy: Policy) -> Options {
    Options { policy, ..Options::default() }
}

/// Merges one file; an empty text stands for no file.
pub fn one(path: &str, [original, upstream, local]: [&str; 3], options: &Options) -> Merged {
    let side = |text: &str| if text.is_empty() { package(&[]) } else { package(&[(path, text)]) };
    three_way(&side(original), &side(upstream), &side(local), options).unwrap()
}

/// Conflicts as lines: kind, field and chosen side.
pub fn lines(conflicts: &[Conflict]) -> Vec<String> {
    let line = |one: &Conflict| format!("{} {} {}", one.kind, one.field, one.chosen);
    conflicts.iter().map(line).collect()
}

/// A resource of a kind that nobody knows, with more fields.
pub fn custom(spec: &str) -> String {
    format!("apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: a\n{spec}")
}

/// Merges the `spec` of a resource and compares the result and its conflicts under upstream's policy; once more with a
/// mark in the local file, so that no file is taken as a whole.
#[track_caller]
pub fn check_spec(sides: [&str; 3], expected: &str, conflicts: &[&str]) {
    check(&sides.map(custom), &custom(expected), conflicts);
}

/// As [`check_spec`], for a whole resource with the name `a`.
#[track_caller]
pub fn check(sides: &[String; 3], expected: &str, conflicts: &[&str]) {
    let marked = |text: &str| text.replacen("metadata:\n", "metadata: # kpt-merge: /a\n", 1);
    let merged = one("a.yaml", [&sides[0], &sides[1], &sides[2]], &Options::default());
    assert_eq!(text(&merged.package, "a.yaml"), expected);
    assert_eq!(lines(&merged.conflicts), conflicts);
    let merged = one("a.yaml", [&sides[0], &sides[1], &marked(&sides[2])], &Options::default());
    assert_eq!(text(&merged.package, "a.yaml"), marked(expected));
    assert_eq!(lines(&merged.conflicts), conflicts);
}
