//! Files that are no resources.

use lanai_krm::Package;
use lanai_krm::ignore::Dialect;
use lanai_krm::package::{File, Mode};
use lanai_merge::{Options, Policy, three_way};
use lanai_types::Limits;

use crate::support::{lines, one, policy, text};

const BASE: &str = "a\nb\nc\nd\ne\n";

#[track_caller]
fn check(sides: [&str; 3], expected: &str, conflicts: &[&str]) {
    let merged = one("README.md", sides, &Options::default());
    assert_eq!(text(&merged.package, "README.md"), expected);
    assert_eq!(lines(&merged.conflicts), conflicts);
}

#[test]
fn text_by_lines() {
    check([BASE, "A\nb\nc\nd\ne\n", "a\nb\nc\nd\nE\n"], "A\nb\nc\nd\nE\n", &[]);
    check([BASE, "a\nb\nc\nd\ne\nf\n", "0\na\nb\nc\nd\ne\n"], "0\na\nb\nc\nd\ne\nf\n", &[]);
    check([BASE, "a\nx\nc\nd\ne\n", "a\nx\nc\nd\ne\n"], "a\nx\nc\nd\ne\n", &[]);
    check([BASE, "a\ne\n", "a\nb\nc\nd\ne\nf\n"], "a\ne\nf\n", &[]);
    check([BASE, "a\nU\nc\nd\ne\n", "a\nL\nc\nd\ne\n"], "a\nU\nc\nd\ne\n", &["FileChanged . upstream"]);
    check(["", "u\n", "l\n"], "u\n", &["AddedOnBoth . upstream"]);
}

#[test]
fn removed_files() {
    check([BASE, "", BASE], "", &[]);
    check([BASE, "", "l\n"], "l\n", &["RemovedUpstreamChangedLocally . local"]);
    check([BASE, BASE, ""], "", &[]);
    check([BASE, "u\n", ""], "", &["RemovedLocallyChangedUpstream . local"]);
    check(["", "u\n", ""], "u\n", &[]);
    check(["", "", "l\n"], "l\n", &[]);
}

#[test]
fn templates_that_are_no_yaml_merge_as_text() {
    let base = "{{ if .x }}\na: 1\n{{ end }}\nb: 1\nc: 1\n";
    let sides = [base, &base.replace("a: 1", "a: 2"), &base.replace("c: 1", "c: 3")];
    let merged = one("t.yaml", sides, &Options::default());
    assert_eq!(text(&merged.package, "t.yaml"), "{{ if .x }}\na: 2\n{{ end }}\nb: 1\nc: 3\n");
}

#[test]
fn values_files_merge_by_fields() {
    let merged = one("values.yaml", ["a: 1\nb: 1\n", "a: 2\nb: 1\n", "a: 1\nb: 3\n"], &Options::default());
    assert_eq!(text(&merged.package, "values.yaml"), "a: 2\nb: 3\n");
    let merged = one("values.yaml", ["- a\n", "- b\n", "- c\n"], &Options::default());
    assert_eq!(lines(&merged.conflicts), ["BothChanged . upstream"]);
    assert_eq!(merged.conflicts[0].id.as_str(), "values.yaml");
}

fn single(content: &[u8], mode: Mode) -> Package {
    Package::from_entries([("f", File::new(content, mode))], Limits::default()).unwrap()
}

#[test]
fn binaries_and_links_are_wholes() {
    let path = "f".parse().unwrap();
    let sides = [b"\0a", b"\0b", b"\0c"].map(|bytes| single(bytes, Mode::Regular));
    for (who, expected) in [(Policy::UpstreamWins, b"\0b"), (Policy::LocalWins, b"\0c")] {
        let merged = three_way(&sides[0], &sides[1], &sides[2], &policy(who)).unwrap();
        assert_eq!(merged.package.get(&path).unwrap().content(), expected);
        assert_eq!(merged.conflicts.len(), 1);
        let text = merged.conflicts[0].local.as_deref().unwrap();
        assert!(text.starts_with("binary, 2 bytes, "), "{text}");
    }
    let sides = ["x", "y", "x"].map(|target| single(target.as_bytes(), Mode::Symlink));
    let merged = three_way(&sides[0], &sides[1], &sides[2], &Options::default()).unwrap();
    assert_eq!(merged.package, sides[1]);
    assert_eq!(merged.conflicts, []);
}

#[test]
fn modes_merge_beside_the_text() {
    let original = single(b"a\nb\nc\n", Mode::Regular);
    let upstream = single(b"a\nb\nc\n", Mode::Executable);
    let local = single(b"a\nb\nx\n", Mode::Regular);
    let merged = three_way(&original, &upstream, &local, &Options::default()).unwrap();
    assert_eq!(merged.package, single(b"a\nb\nx\n", Mode::Executable));
    assert_eq!(merged.conflicts, []);
}

#[test]
fn modes_that_both_changed() {
    let sides = [Mode::Regular, Mode::Executable, Mode::Symlink].map(|mode| single(b"a", mode));
    for (who, expected) in [(Policy::UpstreamWins, &sides[1]), (Policy::LocalWins, &sides[2])] {
        let merged = three_way(&sides[0], &sides[1], &sides[2], &policy(who)).unwrap();
        assert_eq!(&merged.package, expected);
        assert_eq!(merged.conflicts[0].id.as_str(), "f~mode");
        assert_eq!(merged.conflicts[0].upstream.as_deref(), Some("executable"));
    }
    // Added alike, but for the mode.
    let merged =
        three_way(&Package::new(Limits::default()), &sides[1], &sides[0], &Options::default()).unwrap();
    assert_eq!(merged.package, sides[1]);
    assert_eq!(lines(&merged.conflicts), ["ModesDiffer . upstream"]);
    // Of resources, too.
    let yaml = |mode, text: &str| {
        Package::from_entries([("a.yaml", File::new(text.as_bytes(), mode))], Limits::default()).unwrap()
    };
    let (original, local) = (yaml(Mode::Regular, "a: 1\n"), yaml(Mode::Regular, "a: 1\nb: 1\n"));
    let merged =
        three_way(&original, &yaml(Mode::Executable, "a: 2\n"), &local, &Options::default()).unwrap();
    assert_eq!(merged.package, yaml(Mode::Executable, "a: 2\nb: 1\n"));
}

#[test]
fn json_merges_by_fields_and_stays_json() {
    let sides = [
        "{\n  \"a\": 1,\n  \"b\": 1\n}\n",
        "{\n  \"a\": 2,\n  \"b\": 1\n}\n",
        "{\n  \"a\": 1,\n  \"b\": 3\n}\n",
    ];
    let merged = one("a.json", sides, &Options::default());
    assert_eq!(text(&merged.package, "a.json"), "{\n  \"a\": 2,\n  \"b\": 3\n}\n");
    // What is no JSON merges as text.
    let merged = one("a.json", ["{ a\nb\nc\n", "{ A\nb\nc\n", "{ a\nb\nC\n"], &Options::default());
    assert_eq!(text(&merged.package, "a.json"), "{ A\nb\nC\n");
}

#[test]
fn ignored_files_are_no_resources() {
    let side = |text: &str| {
        let files =
            [(".krmignore", File::from_text("*.tmpl.yaml\n")), ("a.tmpl.yaml", File::from_text(text))];
        Package::from_entries(files, Limits::default()).unwrap()
    };
    let sides = [side("a: 1\nb: 1\n"), side("a: 2\nb: 1\n"), side("a: 1\nb: 3\n")];
    let merged = three_way(&sides[0], &sides[1], &sides[2], &Options::default()).unwrap();
    assert_eq!(lines(&merged.conflicts), ["FileChanged . upstream"]);
}

#[test]
fn rules_are_read_in_the_dialect_that_was_asked_for() {
    // For Git, a slash in the middle anchors the pattern; for kpt it does not.
    let side = |text: &str| {
        let files =
            [(".krmignore", File::from_text("sub/a.yaml\n")), ("d/sub/a.yaml", File::from_text(text))];
        Package::from_entries(files, Limits::default()).unwrap()
    };
    let sides = [side("a: 1\nb: 1\n"), side("a: 2\nb: 1\n"), side("a: 1\nb: 3\n")];
    for (ignore_dialect, conflicts) in [(Dialect::Gitignore, 0), (Dialect::Kpt, 1)] {
        let options = Options { ignore_dialect, ..Options::default() };
        let merged = three_way(&sides[0], &sides[1], &sides[2], &options).unwrap();
        assert_eq!(merged.conflicts.len(), conflicts, "{ignore_dialect:?}");
    }
}

#[test]
fn files_of_comments_only_merge_as_text() {
    let merged =
        one("a.yaml", ["# a\n# b\n# c\n", "# A\n# b\n# c\n", "# a\n# b\n# C\n"], &Options::default());
    assert_eq!(text(&merged.package, "a.yaml"), "# A\n# b\n# C\n");
}

#[test]
fn long_texts_without_a_line_that_stands_out() {
    let text = |lines: [&str; 2]| lines.concat().repeat(3_000);
    let sides = [text(["a\n", "b\n"]), text(["b\n", "c\n"]), text(["a\n", "d\n"])];
    let merged = one("f", [&sides[0], &sides[1], &sides[2]], &Options::default());
    assert_eq!(lines(&merged.conflicts), ["FileChanged . upstream"]);
}

/// Lines that are added end as those of the file do.
#[test]
fn separators_follow_the_line_breaks_of_the_file() {
    let map = |name: &str, value: &str| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  v: {value}\n")
    };
    let crlf = |text: String| text.replace('\n', "\r\n");
    let (a, b) = (map("a", "1"), map("b", "1"));
    // A new document.
    let sides = [crlf(a.clone()), crlf(format!("{a}---\n{b}")), crlf(map("a", "2"))];
    let merged = one("a.yaml", [&sides[0], &sides[1], &sides[2]], &Options::default());
    assert_eq!(text(&merged.package, "a.yaml"), crlf(format!("{}---\n{b}", map("a", "2"))));
    // One without an end of its last line.
    let open = sides[2].trim_end();
    let merged = one("a.yaml", [&sides[0], &sides[1], open], &Options::default());
    assert_eq!(text(&merged.package, "a.yaml"), crlf(format!("{}---\n{b}", map("a", "2"))));
    // The first document goes, and with it the marker of the second one.
    let mine = crlf(format!("{a}---\n{}", map("b", "2")));
    let merged = one("a.yaml", [&sides[1], &crlf(b.clone()), &mine], &Options::default());
    assert_eq!(text(&merged.package, "a.yaml"), crlf(map("b", "2")));
    // Comments before and behind all fields.
    let noted = crlf(format!("# first\n---\n{a}\n# last\n"));
    let merged = one("a.yaml", [&sides[0], &noted, &sides[2]], &Options::default());
    assert_eq!(text(&merged.package, "a.yaml"), crlf(format!("# first\n---\n{}\n# last\n", map("a", "2"))));
}
