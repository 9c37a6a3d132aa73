//! `.krmignore`, as Git reads it and as kpt does.

use std::collections::BTreeSet;
use std::fs;

use lanai_krm::IgnoreRules;
use lanai_krm::ignore::{Dialect, EntryKind, Error, MAX_PATTERN_BYTES, MAX_PATTERNS, TooManySteps};
use lanai_types::SafePath;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, TestRng, TestRunner};

use crate::digest::git;

/// The files that patterns are tried on.
const FILES: [&str; 26] = [
    "a",
    "b",
    "A",
    "ab",
    "abc",
    "a.yaml",
    "b.yaml",
    "c/a",
    "c/b",
    "c/ab",
    "c/d/a",
    "c/d/b.yaml",
    "c/d/e/a",
    "c/d/e/ab.yaml",
    "d/c/a",
    "d/b",
    "a b",
    "a ",
    "#a",
    "!a",
    "a-b",
    "a]b",
    "é",
    "foo/bar",
    "x/foo/bar",
    "foobar",
];

fn paths(text: &[&str]) -> Vec<SafePath> {
    text.iter().map(|path| path.parse().unwrap()).collect()
}

/// What is ignored among the files.
fn ignored(rules: &str, dialect: Dialect, files: &[&str]) -> Vec<String> {
    let mut rules = IgnoreRules::parse(rules).unwrap();
    let files = paths(files).into_iter();
    let ignored = files.filter(|path| rules.matches_in(dialect, path, EntryKind::File).unwrap());
    ignored.map(|path| path.to_string()).collect()
}

#[track_caller]
fn check(rules: &str, files: &[&str], git: &[&str], kpt: &[&str]) {
    assert_eq!(ignored(rules, Dialect::Gitignore, files), git, "{rules:?} as git reads it");
    assert_eq!(ignored(rules, Dialect::Kpt, files), kpt, "{rules:?} as kpt reads it");
}

#[test]
fn both_agree_on_simple_patterns() {
    check("*.yaml", &["a.yaml", "d/a.yaml", "a.yml"], &["a.yaml", "d/a.yaml"], &["a.yaml", "d/a.yaml"]);
    check("/a", &["a", "d/a"], &["a"], &["a"]);
    check("d/", &["d/a", "e/d/a", "x/d"], &["d/a", "e/d/a"], &["d/a", "e/d/a"]);
    check("# a\n\n\\#a", &["#a", "a"], &["#a"], &["#a"]);
    check("?.yaml\n[ab]c", &["a.yaml", "aa.yaml", "ac", "cc"], &["a.yaml", "ac"], &["a.yaml", "ac"]);
    check("a\r\nb\r\n", &["a", "b", "c"], &["a", "b"], &["a", "b"]);
}

#[test]
fn the_order_of_negation_matters_to_git_only() {
    check("*.yaml\n!a.yaml", &["a.yaml", "b.yaml"], &["b.yaml"], &["b.yaml"]);
    check("!a.yaml\n*.yaml", &["a.yaml", "b.yaml"], &["a.yaml", "b.yaml"], &["b.yaml"]);
}

#[test]
fn what_is_below_an_ignored_folder_cannot_come_back() {
    check("d\n!d/a", &["d/a", "d/b"], &["d/a", "d/b"], &["d/a", "d/b"]);
    check("d/*\n!d/a", &["d/a", "d/b"], &["d/b"], &["d/b"]);
}

#[test]
fn a_slash_in_the_middle_anchors_for_git_only() {
    check("d/a", &["d/a", "x/d/a", "d/x/a"], &["d/a"], &["d/a", "x/d/a"]);
    check("/d/a", &["d/a", "x/d/a"], &["d/a"], &["d/a"]);
}

#[test]
fn two_stars_are_folders_for_git_and_a_star_for_kpt() {
    check("**/a", &["a", "d/a", "d/e/a"], &["a", "d/a", "d/e/a"], &["d/a", "d/e/a"]);
    check("d/**", &["d/a", "d/e/a", "x/d/a"], &["d/a", "d/e/a"], &["d/a", "d/e/a", "x/d/a"]);
    check("d/**/a", &["d/a", "d/e/a", "d/e/f/a"], &["d/a", "d/e/a", "d/e/f/a"], &["d/e/a"]);
}

#[test]
fn trailing_spaces_count_when_they_are_escaped() {
    assert_eq!(ignored("a  ", Dialect::Gitignore, &["a", "a "]), ["a"]);
    assert_eq!(ignored("a\\ ", Dialect::Gitignore, &["a", "a "]), ["a "]);
}

#[test]
fn kpt_knows_no_exclamation_mark_in_sets_and_no_classes() {
    check("[!a]b", &["!b", "ab", "cb"], &["!b", "cb"], &["!b", "ab"]);
    check("[^a]b", &["!b", "ab", "cb"], &["!b", "cb"], &["!b", "cb"]);
    check("[[:digit:]]", &["1", "d"], &["1"], &[]);
    check("[a", &["a", "[a"], &[], &[]);
}

#[test]
fn differences_are_warnings() {
    let mut rules = IgnoreRules::parse("d/a\n!b\nb\n").unwrap();
    let found = rules.difference(&paths(&["d/a", "x/d/a", "b", "c"])).unwrap();
    let warnings: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            ".krmignore does not ignore \"x/d/a\", but kpt would ignore it",
            ".krmignore ignores \"b\", but kpt would read it",
        ]
    );
}

#[test]
fn folders_are_told_from_files() {
    let mut rules = IgnoreRules::parse("d/\n").unwrap();
    let path: SafePath = "d".parse().unwrap();
    assert!(rules.matches(&path, EntryKind::Folder).unwrap());
    assert!(!rules.matches(&path, EntryKind::File).unwrap());
}

#[test]
fn limits_hold_on_their_edges() {
    let longest = "a".repeat(MAX_PATTERN_BYTES);
    assert!(IgnoreRules::parse(&format!("x\n{longest}\n")).is_ok());
    let error = IgnoreRules::parse(&format!("x\n{longest}a\n")).unwrap_err();
    assert_eq!(error, Error::PatternTooLong { line: 2, limit: MAX_PATTERN_BYTES });
    assert!(IgnoreRules::parse(&format!("# not counted\n\n{}", "a\n".repeat(MAX_PATTERNS))).is_ok());
    let error = IgnoreRules::parse(&format!("# c\n{}", "a\n".repeat(MAX_PATTERNS + 1))).unwrap_err();
    assert_eq!(error, Error::TooManyPatterns { line: MAX_PATTERNS + 2, limit: MAX_PATTERNS });
}

#[test]
fn what_was_found_out_about_folders_holds_for_what_is_in_them() {
    let rules = "/a/b/\n!/c/d/\n/c/\n";
    let files = ["a/b/x", "a/b/c/x", "a/x", "a/b/x", "c/d/x", "c/d/e/x", "c/x", "ab/x"];
    check(rules, &files, &["a/b/x", "a/b/c/x", "a/b/x", "c/d/x", "c/d/e/x", "c/x"], &{
        ["a/b/x", "a/b/c/x", "a/b/x", "c/d/x", "c/d/e/x", "c/x"]
    });
}

#[test]
fn kpt_takes_a_backslash_as_it_is_where_no_wildcard_is() {
    check("\\a", &["a", "b"], &["a"], &[]);
    check("\\a*", &["a", "b"], &["a"], &["a"]);
    check("\\!a", &["!a", "a"], &["!a"], &[]);
}

#[test]
fn rules_that_take_too_long_are_refused() {
    let path: SafePath = "aaa".parse().unwrap();
    let ask = |max_steps| {
        let mut rules = IgnoreRules::parse("*a*b*\nx\n").unwrap().within(max_steps);
        (rules.matches(&path, EntryKind::File), rules.matches(&path, EntryKind::File))
    };
    // One step for each pattern, and five tokens for each byte of the text.
    assert_eq!(ask(2 * 17), (Ok(false), Ok(false)));
    assert_eq!(ask(2 * 17 - 1), (Ok(false), Err(TooManySteps)));
    assert_eq!(ask(16), (Err(TooManySteps), Err(TooManySteps)), "and stays so");
}

#[test]
fn hostile_patterns_take_no_time() {
    let name = "a".repeat(255);
    let rules = format!("{}b\n/{}b\n", "*a".repeat(500), "**/*a/".repeat(500));
    assert!(ignored(&rules, Dialect::Gitignore, &[&name, &format!("{name}/{name}/{name}")]).is_empty());
    assert!(ignored(&rules, Dialect::Kpt, &[&name]).is_empty());
}

/// A `.krmignore` of a few lines that are likely to say something about the files.
fn rules() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => "[abcde]", 2 => Just("*".to_owned()), 2 => Just("**".into()), 1 => Just("***".into()), 1 => Just("?".into()),
        4 => Just("/".into()), 2 => Just("**/".into()), 2 => Just("/**".into()), 1 => Just(".yaml".into()), 1 => Just("foo".into()),
        1 => Just("bar".into()), 1 => Just("[ab]".into()), 1 => Just("[!a]".into()), 1 => Just("[^a-c]".into()), 1 => Just("[]-a]".into()),
        1 => Just("[[:alpha:]]".into()), 1 => Just("[[:punct:]_]".into()), 1 => Just("[[:space:][:upper:]]".into()), 1 => Just("[a".into()),
        1 => Just("[[:a]".into()), 1 => Just("[[:nope:]]".into()), 1 => Just("[a\\]b]".into()), 1 => Just("[b-\\d]".into()), 1 => Just("\\".into()),
        1 => Just("\\a".into()), 1 => Just("\\*".into()), 1 => Just("\\/".into()), 1 => Just(" ".into()), 1 => Just("\\ ".into()), 1 => Just("-".into()), 1 => Just("é".into()), 1 => Just("]".into()),
    ];
    let line = (
        prop_oneof![6 => Just(""), 2 => Just("!"), 2 => Just("/"), 1 => Just("#"), 1 => Just("\\!"), 1 => Just("\\#"), 1 => Just("!/")],
        prop::collection::vec(piece, 1..5),
        prop_oneof![5 => Just(""), 2 => Just("/"), 1 => Just(" "), 1 => Just("\t"), 1 => Just("\r"), 1 => Just("/*")],
    );
    let line = line.prop_map(|(start, pieces, end)| format!("{start}{}{end}", pieces.concat()));
    (prop::collection::vec(line, 1..5), prop_oneof![4 => Just("\n"), 1 => Just("")])
        .prop_map(|(lines, end)| format!("{}{end}", lines.join("\n")))
}

/// Every set of rules has a folder, and git is asked once about the same files in all of them. They do not exist: git
/// takes what it does not find for a file.
#[test]
fn git_ignores_the_same_files() {
    const CASES: usize = 400;
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "--quiet"], b"");
    let mut runner = TestRunner::new_with_rng(
        Config::default(),
        TestRng::deterministic_rng(Config::default().rng_algorithm),
    );
    let cases: Vec<String> = (0..CASES).map(|_| rules().new_tree(&mut runner).unwrap().current()).collect();
    let mut asked = Vec::new();
    for (number, rules) in cases.iter().enumerate() {
        let root = folder.path().join(number.to_string());
        fs::create_dir(&root).unwrap();
        for file in FILES {
            asked.extend_from_slice(format!("{number}/{file}\0").as_bytes());
        }
        fs::write(root.join(".gitignore"), rules).unwrap();
    }
    let answer = git(folder.path(), &["check-ignore", "--no-index", "-z", "--stdin"], &asked);
    let by_git: BTreeSet<&str> =
        answer.split(|byte| *byte == 0).map(|path| std::str::from_utf8(path).unwrap()).collect();
    let mut matched = 0;
    for (number, rules) in cases.iter().enumerate() {
        let ours = ignored(rules, Dialect::Gitignore, &FILES);
        let theirs: Vec<&str> =
            FILES.into_iter().filter(|file| by_git.contains(format!("{number}/{file}").as_str())).collect();
        assert_eq!(ours, theirs, "{rules:?}");
        matched += theirs.len();
    }
    assert!(matched > CASES, "the patterns say something: {matched}");
}
