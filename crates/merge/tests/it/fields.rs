//! Scalars, mappings, nulls, comments and quoting.

use lanai_merge::Policy;

use crate::support::{check_spec, custom, lines, one, policy, text};

const BOTH: &str = "BothChanged";

#[test]
fn scalars() {
    check_spec(["v: 1\n", "v: 1\n", "v: 5\n"], "v: 5\n", &[]);
    check_spec(["w: 1\n", "w: 1\nv: 2\n", "w: 1\n"], "w: 1\nv: 2\n", &[]);
    check_spec(["", "v: 2\n", "v: 3\n"], "v: 2\n", &["AddedOnBoth v upstream"]);
    check_spec(["", "v: 2\n", "v: 2\n"], "v: 2\n", &[]);
    check_spec(["v: 1\n", "v: 2\n", "v: 1\n"], "v: 2\n", &[]);
    check_spec(["v: 1\n", "v: 2\n", "v: 3\n"], "v: 2\n", &[&format!("{BOTH} v upstream")]);
    check_spec(["v: 1\n", "v: 2\n", ""], "v: 2\n", &["RemovedLocallyChangedUpstream v upstream"]);
    check_spec(["v: 1\n", "", "v: 1\n"], "", &[]);
    check_spec(["v: 1\n", "", "v: 3\n"], "", &["RemovedUpstreamChangedLocally v upstream"]);
    check_spec(["v: 1\n", "v: 1\n", ""], "", &[]);
    check_spec(["v: 1\n", "", ""], "", &[]);
    check_spec(["", "", "v: 1\n"], "v: 1\n", &[]);
    // The type of a value counts, its spelling does not.
    check_spec(["v: 1\n", "v: \"1\"\n", "v: 1\n"], "v: \"1\"\n", &[]);
    check_spec(["v: 16\n", "v: 0x10\n", "v: 17\n"], "v: 17\n", &[]);
}

#[test]
fn lists_without_keys_are_wholes() {
    check_spec(["v: [a]\n", "v: [a, b]\n", "v: [a]\n"], "v: [a, b]\n", &[]);
    check_spec(["v: [a]\n", "v: [a, b]\n", "v: [c]\n"], "v: [a, b]\n", &["BothChanged v upstream"]);
    check_spec(["v: [a]\n", "v: [a]\n", ""], "", &[]);
    check_spec(["v: [a]\n", "", "v: [c]\n"], "", &["RemovedUpstreamChangedLocally v upstream"]);
}

#[test]
fn null_is_a_value() {
    check_spec(["v: null\n", "v: null\n", "v: null\n"], "v: null\n", &[]);
    check_spec(["w: 1\n", "w: 2\n", "w: 1\nv: null\n"], "w: 2\nv: null\n", &[]);
    check_spec(["w: 1\n", "w: 1\nv: null\n", "w: 1\n"], "w: 1\nv: null\n", &[]);
    check_spec(["v: 1\n", "v: 1\n", "v: null\n"], "v: null\n", &[]);
    check_spec(["v: 1\n", "v: null\n", "v: 1\n"], "v: null\n", &[]);
    check_spec(["v: 1\n", "v: null\n", "v: 5\n"], "v: null\n", &["BothChanged v upstream"]);
    check_spec(["v: null\n", "v: 3\n", "v: null\n"], "v: 3\n", &[]);
    check_spec(["v: null\n", "v: null\n", "v: 7\n"], "v: 7\n", &[]);
    check_spec(["v: {a: 1}\n", "v: {a: 2}\n", "v: null\n"], "v: {a: 2}\n", &["KindsDiffer v upstream"]);
}

#[test]
fn mappings() {
    check_spec(["v:\n  a: 1\n", "", "v:\n  a: 1\n"], "", &[]);
    check_spec(
        ["v:\n  a: 1\n", "", "v:\n  a: 2\n  c: 3\n"],
        "v:\n  c: 3\n",
        &["RemovedUpstreamChangedLocally v upstream"],
    );
    check_spec(
        ["v:\n  a: 1\n", "", "v:\n  a: 1\n  c: 3\n"],
        "v:\n  c: 3\n",
        &["RemovedUpstreamChangedLocally v upstream"],
    );
    check_spec(
        ["v:\n  w: {a: 1}\n", "", "v:\n  w: {a: 1, c: 3}\n"],
        "v:\n  w: {c: 3}\n",
        &["RemovedUpstreamChangedLocally v.w upstream"],
    );
    check_spec(["v:\n  a: 1\n", "v: {}\n", "v:\n  a: 1\n"], "v: {}\n", &[]);
    check_spec(["v:\n  a: 1\n", "v:\n  a: 1\n", ""], "", &[]);
    check_spec(
        ["v:\n  a: 1\n  b: 1\n", "v:\n  a: 2\n  b: 1\n", ""],
        "v:\n  a: 2\n  b: 1\n",
        &["RemovedLocallyChangedUpstream v upstream"],
    );
    check_spec(
        ["", "v:\n  z: 1\n  a: 2\n", "v:\n  a: 3\n  l: 4\n"],
        "v:\n  z: 1\n  a: 2\n  l: 4\n",
        &["AddedOnBoth v.a upstream"],
    );
    check_spec(["v: {}\n", "v: {}\n", "v: {}\n"], "v: {}\n", &[]);
    // What is new keeps upstream's order and style.
    check_spec(["b: 1\n", "b: 1\nv: {z: 1, a: 2}\n", "b: 2\n"], "b: 2\nv: {z: 1, a: 2}\n", &[]);
}

#[test]
fn kinds_that_differ_are_a_conflict() {
    check_spec(["v: 1\n", "v: {a: 1}\n", "v: [1]\n"], "v: {a: 1}\n", &["KindsDiffer v upstream"]);
    check_spec(["v: 1\n", "v: {a: 1}\n", "v: 1\n"], "v: {a: 1}\n", &[]);
}

#[test]
fn comments_and_quoting() {
    check_spec(["v: 1\n", "v: 1 # why\n", "v: 1\n"], "v: 1 # why\n", &[]);
    check_spec(["v: 1 # a\n", "v: 1 # b\n", "v: 1 # c\n"], "v: 1 # b\n", &["CommentsDiffer v upstream"]);
    check_spec(["v: 1 # a\n", "v: 2 # b\n", "v: 1 # c\n"], "v: 2 # b\n", &["CommentsDiffer v upstream"]);
    check_spec(["w: 1\n", "# u\nw: 1\n", "# l\nw: 1\n"], "# u\nw: 1\n", &["CommentsDiffer w upstream"]);
    // A comment goes with the field that upstream removed.
    check_spec(["w: 1\nv: 1 # a\n", "w: 1\n", "w: 1\nv: 1 # a\n"], "w: 1\n", &[]);
    check_spec(["v: 1\n", "# why\nv: 1\n", "v: 2\n"], "# why\nv: 2\n", &[]);
    check_spec(["v: 1 # a\n", "v: 1\n", "v: 1 # a\n"], "v: 1\n", &[]);
    check_spec(["v: 1\n", "v: 2\n", "v: 1 # note\n"], "v: 2 # note\n", &[]);
    check_spec(["v: a\n", "v: \"a\"\n", "v: a\n"], "v: \"a\"\n", &[]);
    check_spec(["v: \"a\"\n", "v: a\n", "v: \"a\"\n"], "v: a\n", &[]);
    check_spec(["v: a\n", "v: \"b\"\n", "v: a\n"], "v: \"b\"\n", &[]);
    check_spec(["w: 1\n", "w: 1\n# new\nv: 2 # line\n", "w: 2\n"], "w: 2\n# new\nv: 2 # line\n", &[]);
}

#[test]
fn a_comment_at_what_the_other_side_removed_is_a_change() {
    let gone = "RemovedUpstreamChangedLocally v upstream";
    let away = "RemovedLocallyChangedUpstream v upstream";
    for (plain, noted) in [
        ("v: 1\n", "v: 1 # mine\n"),
        ("v: 1 # one\n", "v: 1 # two\n"),
        ("v: 1\n", "# mine\nv: 1\n"),
        ("# one\nv: 1\n", "v: 1\n"),
        ("v:\n  a: 1\n", "v:\n  a: 1 # mine\n"),
        ("v:\n  a: 1\n", "v: # mine\n  a: 1\n"),
        ("v:\n- a\n- b\n", "v:\n- a # mine\n- b\n"),
    ] {
        let [plain, noted] = [plain, noted].map(|text| format!("w: 1\n{text}"));
        check_spec([&plain, "w: 1\n", &noted], "w: 1\n", &[gone]);
        let merged =
            one("a.yaml", [&custom(&plain), &custom("w: 1\n"), &custom(&noted)], &policy(Policy::LocalWins));
        assert_eq!(text(&merged.package, "a.yaml"), custom(&noted));
        // The other way round, too.
        check_spec([&plain, &noted, "w: 1\n"], &noted, &[away]);
    }
    // At a key of a mapping that upstream removed and local changed elsewhere.
    check_spec(
        ["w: 1\nv:\n  a: 1\n  b: 1\n", "w: 1\n", "w: 1\nv:\n  a: 1 # mine\n  b: 2\n"],
        "w: 1\n",
        &["RemovedUpstreamChangedLocally v.a upstream", "RemovedUpstreamChangedLocally v.b upstream"],
    );
    // At the mapping itself.
    check_spec(["w: 1\nv:\n  b: 1\n", "w: 1\n", "w: 1\n# mine\nv:\n  b: 2\n"], "w: 1\n", &[gone]);
    // Another order of keys is no comment.
    check_spec(["w: 1\nv: {a: 1, b: 1}\n", "w: 1\n", "w: 1\nv: {b: 1, a: 1}\n"], "w: 1\n", &[]);
    // The mark of a merge is no comment of anybody.
    let marked = "apiVersion: v1\nkind: X\nmetadata: # kpt-merge: /a\n  name: a\n";
    let plain = "apiVersion: v1\nkind: X\nmetadata:\n  name: a\n";
    let merged = one_file([plain, "apiVersion: v1\nkind: X\n", marked]);
    assert_eq!(lines(&merged.conflicts), Vec::<String>::new());
}

#[test]
fn what_a_conflict_about_a_removed_comment_shows() {
    let sides = ["w: 1\nv: 1 # a\n", "w: 1\n", "w: 1\n# why\nv: 1 # b\n"].map(custom);
    let merged = one_file([&sides[0], &sides[1], &sides[2]]);
    assert_eq!(merged.conflicts[0].original.as_deref(), Some("1 # a"));
    assert_eq!(merged.conflicts[0].upstream, None);
    assert_eq!(merged.conflicts[0].local.as_deref(), Some("# why\n1 # b"));
}

#[test]
fn policies() {
    let sides = ["v: 1\nw: 1\n", "v: 2\n", "v: 3\nw: 4\n"].map(custom);
    let sides = [sides[0].as_str(), &sides[1], &sides[2]];
    let merged = one("a.yaml", sides, &policy(Policy::LocalWins));
    assert_eq!(text(&merged.package, "a.yaml"), sides[2]);
    let expected = ["BothChanged v local", "RemovedUpstreamChangedLocally w local"];
    assert_eq!(lines(&merged.conflicts), expected);
}

#[test]
fn comments_inside_of_a_list_that_is_one_value() {
    let (plain, noted) = ("v:\n- a\n- b\n", "v:\n- a # note\n- b\n");
    let more = "v:\n- a\n- b\n- c\n";
    check_spec([plain, noted, plain], noted, &[]);
    check_spec([plain, plain, noted], noted, &[]);
    // One side replaced the list, so that the other's comment has no place.
    check_spec([plain, more, noted], more, &["CommentsDiffer v upstream"]);
    check_spec([plain, noted, more], more, &["CommentsDiffer v local"]);
    let other = "v:\n- a # other\n- b\n";
    check_spec([plain, noted, other], noted, &["CommentsDiffer v upstream"]);
}

#[test]
fn comments_of_the_document() {
    let of = |head: &str, v: u8| format!("{head}{}", custom(&format!("v: {v}\n")));
    let (one, two) = ("# Copyright 1\n\n", "# Copyright 2\n\n");
    let cases = [
        ([of(one, 1), of(two, 1), of(one, 2)], of(two, 2), vec![]),
        ([of("", 1), of(one, 1), of("", 2)], of(one, 2), vec![]),
        ([of(one, 1), of("", 1), of(one, 2)], of("", 2), vec![]),
        ([of("# a\n---\n", 1), of("# b\n---\n", 1), of("# a\n---\n", 2)], of("# b\n---\n", 2), vec![]),
        ([of("", 1), of(one, 1), of(two, 2)], of(one, 2), vec!["CommentsDiffer . upstream"]),
    ];
    for ([original, upstream, local], expected, conflicts) in cases {
        let merged = one_file([&original, &upstream, &local]);
        assert_eq!(text(&merged.package, "a.yaml"), expected);
        assert_eq!(lines(&merged.conflicts), conflicts);
    }
    let foot = |comment: &str, v: u8| format!("{}{comment}", custom(&format!("v: {v}\n")));
    let sides = [foot("", 1), foot("\n# end\n", 1), foot("", 2)];
    let merged = one_file([&sides[0], &sides[1], &sides[2]]);
    assert_eq!(text(&merged.package, "a.yaml"), foot("\n# end\n", 2));
}

fn one_file(sides: [&str; 3]) -> lanai_merge::Merged {
    one("a.yaml", sides, &lanai_merge::Options::default())
}

#[test]
fn what_an_alias_names_is_not_changed_behind_its_back() {
    let base = "a: &x\n  v: 1\nb: *x\n";
    check_spec(
        [base, "a: &x\n  v: 2\nb: *x\n", "a: &x\n  v: 1\nb: *x\nc: 1\n"],
        "a: &x\n  v: 2\nb: *x\nc: 1\n",
        &[],
    );
    let sides = [base, "a:\n  v: 2\nb:\n  v: 1\n", "a: &x\n  v: 1\nb: *x\nc: 1\n"].map(custom);
    let merged = one_file([&sides[0], &sides[1], &sides[2]]);
    assert_eq!(text(&merged.package, "a.yaml"), custom("a:\n  v: 2\nb:\n  v: 1\nc: 1\n"));
}

#[test]
fn comments_before_the_marker() {
    let noted = |v: u8| format!("# licence\n---\n{}", custom(&format!("v: {v}\nw: 1\n")));
    let plain = |v: u8, w: u8| custom(&format!("v: {v}\nw: {w}\n"));
    let merged = |sides: [&str; 3]| {
        let merged = one("a.yaml", sides, &policy(Policy::UpstreamWins));
        (text(&merged.package, "a.yaml"), lines(&merged.conflicts))
    };
    let arrived = format!("# licence\n---\n{}", plain(2, 5));
    assert_eq!(merged([&plain(1, 1), &noted(2), &plain(1, 5)]), (arrived.clone(), vec![]));
    assert_eq!(merged([&plain(1, 1), &noted(2), &arrived]), (arrived.clone(), vec![]));
    let marked = format!("---\n{}", plain(1, 5));
    assert_eq!(merged([&plain(1, 1), &noted(2), &marked]), (arrived.clone(), vec![]));
    // Both changed it.
    let (one, two) = (format!("# one\n---\n{}", plain(1, 1)), format!("# two\n---\n{}", plain(1, 5)));
    let conflict = vec!["CommentsDiffer . upstream".to_owned()];
    assert_eq!(merged([&one, &noted(2), &two]), (arrived.clone(), conflict.clone()));
    assert_eq!(merged([&one, &noted(2), &plain(1, 5)]), (arrived, conflict));
    // Behind another document it would belong to that one.
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: own\n";
    let behind = |v: u8| format!("{other}---\n{}", plain(v, 5));
    let local = vec!["CommentsDiffer . local".to_owned()];
    assert_eq!(merged([&plain(1, 1), &noted(2), &behind(1)]), (behind(2), local.clone()));
    assert_eq!(merged([&one, &noted(2), &behind(1)]), (behind(2), local));
}

#[test]
fn comments_without_a_place() {
    let sides = ["v:\n  a: 1 # one\n  b: 1\n", "v:\n  a: 1 # two\n  b: 2\n", "v: {a: 1, b: 1}\n"];
    check_spec(sides, "v: {a: 1, b: 2}\n", &["CommentsDiffer v.a local"]);
}

#[test]
fn fields_are_merged_one_by_one_up_to_a_depth() {
    const MAX_DEPTH: usize = 100;
    let nested = |depth: usize, inner: &str| {
        custom(&format!("{}{{{inner}}}{}\n", "v: {".repeat(depth - 1) + "v: ", "}".repeat(depth - 1)))
    };
    let conflicts = |depth: usize| {
        let sides = ["a: 1, b: 1", "a: 2, b: 1", "a: 1, b: 3"].map(|inner| nested(depth, inner));
        one_file([&sides[0], &sides[1], &sides[2]]).conflicts.len()
    };
    assert_eq!(conflicts(MAX_DEPTH - 1), 0);
    assert_eq!(conflicts(MAX_DEPTH), 1);
}

/// Between brackets on one line no comment can stand: upstream's are left out, and that is told.
#[test]
fn comments_without_a_place_are_told() {
    let line = "CommentsDiffer v.a local";
    check_spec(
        ["v:\n  a: 1\n  b: 1\n", "v:\n  a: 1 # why\n  b: 1\n", "v: {a: 1, b: 1}\n"],
        "v: {a: 1, b: 1}\n",
        &[line],
    );
    // The value comes without.
    check_spec(
        ["v:\n  a: 1\n  b: 1\n", "v:\n  # why\n  a: 2\n  b: 1\n", "v: {a: 1, b: 1}\n"],
        "v: {a: 2, b: 1}\n",
        &[line],
    );
    check_spec(["v:\n  b: 1\n", "v:\n  a: 1 # why\n  b: 1\n", "v: {b: 1}\n"], "v: {a: 1, b: 1}\n", &[line]);
    // One inside of a value that comes.
    check_spec(
        ["v:\n  b: 1\n", "v:\n  b: 1\n  a:\n    c: 1 # why\n    l:\n    # too\n    - x\n", "v: {b: 1}\n"],
        "v: {b: 1, a: {c: 1, l: [x]}}\n",
        &["CommentsDiffer v.a.c local", "CommentsDiffer v.a.l[0] local"],
    );
    // Where it can stand, it does.
    check_spec(["v:\n  b: 1\n", "v: # why\n  b: 1\n", "v: {b: 1}\n"], "v: {b: 1} # why\n", &[]);
}
