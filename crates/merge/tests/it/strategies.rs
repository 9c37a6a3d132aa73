//! The strategies that are no merge.

use lanai_merge::{Error, Options, Policy, Strategy, three_way};

use crate::support::{custom, package, policy, text};

fn strategy(strategy: Strategy) -> Options {
    Options { strategy, ..Options::default() }
}

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: up\n";
const LOCAL_KPTFILE: &str =
    "upstream:\n  type: git\napiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: mine\n";
const MARKED: &str =
    "metadata: # kpt-merge: /a\n  annotations:\n    internal.kpt.dev/upstream-identifier: x\n";
const INFO: &str = "info:\n  description: new\n";

#[test]
fn fast_forward() {
    let (plain, marked) = (custom("a: 1\n"), custom("a: 1\n").replace("metadata:\n", MARKED));
    let original = package(&[("Kptfile", KPTFILE), ("a.yaml", &plain), ("b", "b\n")]);
    let upstream = package(&[("Kptfile", &format!("{KPTFILE}{INFO}")), ("a.yaml", "a: 2\n")]);
    let local = package(&[("Kptfile", LOCAL_KPTFILE), ("a.yaml", &marked), ("b", "b\n")]);
    let merged = three_way(&original, &upstream, &local, &strategy(Strategy::FastForward)).unwrap();
    let expected = package(&[("Kptfile", &format!("{LOCAL_KPTFILE}{INFO}")), ("a.yaml", "a: 2\n")]);
    assert_eq!(merged.package, expected);
    // A comment is a change, too.
    let noted = marked.replace("a: 1", "a: 1 # mine");
    let local = package(&[("Kptfile", LOCAL_KPTFILE), ("a.yaml", &noted), ("c", "c\n")]);
    let error = three_way(&original, &upstream, &local, &strategy(Strategy::FastForward)).unwrap_err();
    assert_eq!(error.to_string(), "local files have been modified: a.yaml, b, c; use another strategy");
}

#[test]
fn force_delete_replace() {
    let original = package(&[("Kptfile", KPTFILE), ("a.yaml", "a: 1\n")]);
    let upstream = package(&[("Kptfile", &format!("{KPTFILE}{INFO}")), ("a.yaml", "a: 2\n")]);
    let local = package(&[("Kptfile", LOCAL_KPTFILE), ("a.yaml", "a: 3\n"), ("own", "o\n")]);
    let merged = three_way(&original, &upstream, &local, &strategy(Strategy::ForceDeleteReplace)).unwrap();
    let expected = package(&[("Kptfile", &format!("{LOCAL_KPTFILE}{INFO}")), ("a.yaml", "a: 2\n")]);
    assert_eq!(merged.package, expected);
}

#[test]
fn copy_merge() {
    let original = package(&[("Kptfile", KPTFILE), ("a.yaml", "a: 1\n"), ("gone", "g\n")]);
    let upstream = package(&[("a.yaml", "a: 2\n")]);
    let local = package(&[("Kptfile", LOCAL_KPTFILE), ("a.yaml", "a: 3\n"), ("gone", "x\n"), ("own", "o\n")]);
    let merged = three_way(&original, &upstream, &local, &strategy(Strategy::CopyMerge)).unwrap();
    let expected = package(&[("Kptfile", LOCAL_KPTFILE), ("a.yaml", "a: 2\n"), ("own", "o\n")]);
    assert_eq!(merged.package, expected);
}

#[test]
fn without_local_edits_all_strategies_give_upstream() {
    let original = package(&[("a.yaml", "a: 1\n"), ("b", "b\n"), ("d/e.yaml", "e: 1\n")]);
    let upstream = package(&[("a.yaml", "a: 2\n"), ("c", "c\n"), ("d", "a file now\n")]);
    for name in ["resource-merge", "fast-forward", "force-delete-replace", "copy-merge"] {
        let merged = three_way(&original, &upstream, &original, &strategy(name.parse().unwrap())).unwrap();
        assert_eq!(merged.package, upstream, "{name}");
        assert_eq!(merged.conflicts, []);
    }
    assert!("other".parse::<Strategy>().is_err());
}

#[test]
fn fail_returns_the_conflicts() {
    let sides = ["a: 1\n", "a: 2\n", "a: 3\n"].map(|text| package(&[("a.yaml", text)]));
    let error = three_way(&sides[0], &sides[1], &sides[2], &policy(Policy::Fail)).unwrap_err();
    let Error::Conflicts(conflicts) = error else { panic!("{error:?}") };
    assert_eq!(conflicts.len(), 1);
    let merged = three_way(&sides[0], &sides[0], &sides[2], &policy(Policy::Fail)).unwrap();
    assert_eq!(text(&merged.package, "a.yaml"), "a: 3\n");
}

const REMOTE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: remote\nupstream:\n  type: git\n  git:\n    repo: https://example.com/r\n    directory: /d\n    ref: v1\n";
const LOCK: &str = "upstreamLock:\n  type: git\n  git:\n    commit: abc\n";

#[test]
fn packages_that_were_fetched_here_keep_lock_and_content() {
    let fetched = format!("{REMOTE}{LOCK}");
    let original = package(&[("Kptfile", KPTFILE), ("a", "1\n"), ("remote/Kptfile", REMOTE)]);
    let local = package(&[
        ("Kptfile", LOCAL_KPTFILE),
        ("a", "1\n"),
        ("remote/Kptfile", &fetched),
        ("remote/b", "b\n"),
    ]);
    let newer = REMOTE.replace("v1\n", "v2\n");
    for name in ["fast-forward", "force-delete-replace", "copy-merge"] {
        for remote in [REMOTE, &newer] {
            let upstream = package(&[("Kptfile", KPTFILE), ("a", "2\n"), ("remote/Kptfile", remote)]);
            let merged = three_way(&original, &upstream, &local, &strategy(name.parse().unwrap())).unwrap();
            assert_eq!(text(&merged.package, "remote/Kptfile"), format!("{remote}{LOCK}"), "{name}");
            assert_eq!(text(&merged.package, "remote/b"), "b\n", "{name}");
            assert_eq!(text(&merged.package, "a"), "2\n");
            assert_eq!(merged.conflicts, []);
        }
    }
    // A lock of upstream's is upstream's; another place has another lock.
    let theirs = fetched.replace("abc", "def");
    let elsewhere = REMOTE.replace("/d\n", "/e\n");
    for remote in [&theirs, &elsewhere] {
        let upstream = package(&[("Kptfile", KPTFILE), ("remote/Kptfile", remote)]);
        let merged =
            three_way(&original, &upstream, &local, &strategy(Strategy::ForceDeleteReplace)).unwrap();
        assert_eq!(text(&merged.package, "remote/Kptfile"), *remote);
        assert_eq!(text(&merged.package, "remote/b"), "");
    }
    // What would be lost is told.
    let upstream = package(&[("Kptfile", KPTFILE)]);
    let error = three_way(&original, &upstream, &local, &strategy(Strategy::FastForward)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "local files have been modified: remote/Kptfile, remote/b; use another strategy"
    );
}
