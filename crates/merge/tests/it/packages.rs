//! Resources across files, and packages in packages.

use lanai_merge::{ConflictId, Error, Options, Policy, Resolution, Subject, Take, three_way};

use crate::support::{custom, lines, one, package, policy, text};

fn map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  v: {value}\n")
}

#[track_caller]
fn check(sides: [&[(&str, &str)]; 3], expected: &[(&str, &str)], conflicts: &[&str]) {
    let [original, upstream, local] = sides.map(package);
    let merged = three_way(&original, &upstream, &local, &Options::default()).unwrap();
    assert_eq!(merged.package, package(expected));
    assert_eq!(lines(&merged.conflicts), conflicts);
}

#[test]
fn resources_come_and_go() {
    let (a, b, c) = (map("a", "1"), map("b", "1"), map("c", "1"));
    let (edited, own) = (map("b", "2"), map("own", "1"));
    let all = format!("{a}---\n{b}---\n{c}");
    // Upstream removed a; local changed b.
    let mine = format!("{a}---\n{edited}---\n{c}---\n{own}");
    let merged = format!("{edited}---\n{c}---\n{own}");
    check(
        [&[("f.yaml", &all)], &[("f.yaml", &format!("{b}---\n{c}"))], &[("f.yaml", &mine)]],
        &[("f.yaml", &merged)],
        &[],
    );
    // Upstream removed b, which local changed; and added one.
    let theirs = format!("{a}---\n{c}---\n{}", map("n", "1"));
    let merged = format!("{mine}---\n{}", map("n", "1"));
    let conflict = "RemovedUpstreamChangedLocally . local";
    check(
        [&[("f.yaml", &all)], &[("f.yaml", &theirs)], &[("f.yaml", &mine)]],
        &[("f.yaml", &merged)],
        &[conflict],
    );
    // Local removed b, which upstream changed.
    let theirs = format!("{a}---\n{edited}---\n{c}");
    let mine = format!("{a}---\n{c}");
    let conflict = "RemovedLocallyChangedUpstream . local";
    check(
        [&[("f.yaml", &all)], &[("f.yaml", &theirs)], &[("f.yaml", &mine)]],
        &[("f.yaml", &mine)],
        &[conflict],
    );
}

#[test]
fn a_comment_keeps_what_upstream_removed() {
    let noted = map("a", "1 # mine");
    let conflict = "RemovedUpstreamChangedLocally . local";
    check([&[("f.yaml", &map("a", "1"))], &[], &[("f.yaml", &noted)]], &[("f.yaml", &noted)], &[conflict]);
}

#[test]
fn a_renamed_resource_is_followed() {
    let renamed = "apiVersion: v1\nkind: ConfigMap\nmetadata: # kpt-merge: /a\n  name: mine\n  namespace: n\ndata:\n  v: 1\n";
    let merged = one("f.yaml", [&map("a", "1"), &map("a", "2"), renamed], &Options::default());
    assert_eq!(text(&merged.package, "f.yaml"), renamed.replace("v: 1", "v: 2"));
}

#[test]
fn another_version_is_the_same_resource() {
    let of =
        |version: &str, v: u8| format!("apiVersion: g/{version}\nkind: K\nmetadata:\n  name: a\nv: {v}\n");
    let merged = one("f.yaml", [&of("v1", 1), &of("v2", 1), &of("v1", 2)], &Options::default());
    assert_eq!(text(&merged.package, "f.yaml"), of("v2", 2));
}

#[test]
fn moved_resources() {
    let (one, two) = (map("a", "1"), map("a", "2"));
    let noted = format!("{one}  own: 1\n");
    // Moved here: it stays, and gets upstream's change.
    check([&[("f.yaml", &one)], &[("f.yaml", &two)], &[("g.yaml", &one)]], &[("g.yaml", &two)], &[]);
    // Moved upstream: it follows, with what is local's.
    check(
        [&[("f.yaml", &one)], &[("g.yaml", &two)], &[("f.yaml", &noted)]],
        &[("g.yaml", &format!("{two}  own: 1\n"))],
        &[],
    );
    check([&[("f.yaml", &one)], &[("g.yaml", &one)], &[("f.yaml", &one)]], &[("g.yaml", &one)], &[]);
    // The same identity in two files is two resources, as of a patch and its target.
    let both: &[(&str, &str)] = &[("f.yaml", &one), ("patch.yaml", &noted)];
    check(
        [both, &[("f.yaml", &two), ("patch.yaml", &noted)], both],
        &[("f.yaml", &two), ("patch.yaml", &noted)],
        &[],
    );
}

#[test]
fn duplicates_are_named() {
    let twice = format!("{}---\n{}", map("a", "1"), map("a", "2"));
    let (original, local) = (package(&[("f.yaml", &map("a", "1"))]), package(&[("f.yaml", &twice)]));
    // Where only one side changed the file, it is the answer.
    assert_eq!(three_way(&original, &original, &local, &Options::default()).unwrap().package, local);
    assert_eq!(three_way(&original, &local, &original, &Options::default()).unwrap().package, local);
    let upstream = package(&[("f.yaml", &map("a", "3"))]);
    let error = three_way(&original, &upstream, &local, &Options::default()).unwrap_err();
    assert!(matches!(error, Error::Duplicate { first_line: 1, second_line: 8, .. }), "{error:?}");
    assert_eq!(error.to_string(), "local has ConfigMap/a twice in file \"f.yaml\": on line 1 and on line 8");
}

#[test]
fn moved_on_both_sides() {
    let (one, two, three) = (map("a", "1"), map("a", "2"), map("a", "1 # mine"));
    check(
        [&[("f.yaml", &one)], &[("g.yaml", &two)], &[("h.yaml", &one)]],
        &[("g.yaml", &two)],
        &["MovedApart . upstream"],
    );
    check([&[("f.yaml", &one)], &[("g.yaml", &two)], &[("g.yaml", &one)]], &[("g.yaml", &two)], &[]);
    // Upstream moves it to where local has another of that name.
    check(
        [&[("f.yaml", &one)], &[("g.yaml", &one)], &[("f.yaml", &three), ("g.yaml", &two)]],
        &[("f.yaml", &three), ("g.yaml", &two)],
        &["MovedApart . local"],
    );
}

#[test]
fn moved_here_and_removed_upstream() {
    let one = map("a", "1");
    let conflict = "RemovedUpstreamChangedLocally . local";
    check([&[("f.yaml", &one)], &[], &[("g.yaml", &one)]], &[("g.yaml", &one)], &[conflict]);
}

#[test]
fn a_rename_is_remembered_by_the_annotation() {
    let note = "  annotations:\n    internal.kpt.dev/upstream-identifier: '|ConfigMap|default|a'\n";
    let renamed = map("mine", "1").replace("\ndata:", &format!("\n{note}data:"));
    let merged = one("f.yaml", [&map("a", "1"), &map("a", "2"), &renamed], &Options::default());
    assert_eq!(text(&merged.package, "f.yaml"), renamed.replace("v: 1", "v: 2"));
    assert_eq!(lines(&merged.conflicts), Vec::<String>::new());
}

fn remote(repo: &str, version: &str) -> String {
    let git = format!("  type: git\n  git:\n    repo: {repo}\n    directory: /\n    ref: {version}\n");
    format!("{SUB}upstream:\n{git}upstreamLock:\n{git}")
}

#[test]
fn remote_packages() {
    let (one, two, own) = (map("a", "1"), map("a", "2"), map("own", "1"));
    let (first, second) = (remote("r", "v1"), remote("r", "v2"));
    // The lock follows the content.
    check(
        [
            &[("s/Kptfile", &first), ("s/f.yaml", &one)],
            &[("s/Kptfile", &second), ("s/f.yaml", &two)],
            &[("s/Kptfile", &first), ("s/f.yaml", &one), ("s/own.yaml", &own)],
        ],
        &[("s/Kptfile", &second), ("s/f.yaml", &two), ("s/own.yaml", &own)],
        &[],
    );
    // Local has it from elsewhere: it stays as it is.
    let other = remote("other", "v1");
    let mine: &[(&str, &str)] = &[("s/Kptfile", &other), ("s/x.yaml", &own)];
    check(
        [&[("s/Kptfile", &first), ("s/f.yaml", &one)], &[("s/Kptfile", &second), ("s/f.yaml", &two)], mine],
        mine,
        &["BothChanged . local"],
    );
    check(
        [&[("s/Kptfile", &first), ("s/f.yaml", &one)], &[("s/Kptfile", &first), ("s/f.yaml", &one)], mine],
        mine,
        &[],
    );
    // Two packages of one name are not mixed.
    let theirs: &[(&str, &str)] = &[("s/Kptfile", &first), ("s/f.yaml", &one)];
    check([&[], theirs, mine], theirs, &["AddedOnBoth . upstream"]);
}

#[test]
fn references_to_packages_that_are_not_fetched() {
    let (one, two) = (map("a", "1"), map("a", "2"));
    let reference = |version: &str| remote("r", version).split_once("upstreamLock").unwrap().0.to_owned();
    let (before, after) = (reference("v1"), reference("v2"));
    // Upstream has a reference only: what was fetched here stays.
    let fetched = remote("r", "v1");
    check(
        [&[("s/Kptfile", &before)], &[("s/Kptfile", &after)], &[("s/Kptfile", &fetched), ("s/f.yaml", &one)]],
        &[("s/Kptfile", &fetched.replacen("ref: v1", "ref: v2", 1)), ("s/f.yaml", &one)],
        &[],
    );
    // Local has a reference only: content does not come.
    check(
        [
            &[("s/Kptfile", &fetched), ("s/f.yaml", &one)],
            &[("s/Kptfile", &remote("r", "v2")), ("s/f.yaml", &two)],
            &[("s/Kptfile", &before)],
        ],
        &[("s/Kptfile", &after)],
        &[],
    );
}

const SUB: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n";

#[test]
fn subpackages() {
    let (one, two) = (map("a", "1"), map("a", "2"));
    let sub: &[(&str, &str)] = &[("s/Kptfile", SUB), ("s/f.yaml", &one)];
    let edited: &[(&str, &str)] = &[("s/Kptfile", SUB), ("s/f.yaml", &two)];
    let more: &[(&str, &str)] = &[("s/Kptfile", SUB), ("s/f.yaml", &one), ("s/n.yaml", &two)];
    check([&[], sub, &[]], sub, &[]);
    check([&[], &[], sub], sub, &[]);
    check([sub, sub, &[]], &[], &[]);
    check([sub, &[], sub], &[], &[]);
    check([sub, edited, sub], edited, &[]);
    // A package that is gone here does not come back in pieces.
    check([sub, more, &[]], &[], &["RemovedLocallyChangedUpstream . local"]);
    // One that is changed here stays whole.
    check([sub, &[], edited], edited, &["RemovedUpstreamChangedLocally . local"]);
    check([&[], sub, edited], sub, &["AddedOnBoth data.v upstream"]);
}

#[test]
fn conflicts_say_what_they_are_about() {
    let sides = ["v: 1\n", "v: {z: 1}\n", "v: [3]\n"].map(custom);
    let merged = one("d/a.yaml", [&sides[0], &sides[1], &sides[2]], &Options::default());
    let conflict = &merged.conflicts[0];
    assert_eq!(conflict.path.as_str(), "d/a.yaml");
    assert_eq!(conflict.id.as_str(), "d/a.yaml:Thing.example.com/a#v");
    let Subject::Resource(id) = &conflict.subject else { panic!("{conflict:?}") };
    assert_eq!(id.to_string(), "example.com/v1 Thing a");
    assert_eq!(conflict.original.as_deref(), Some("1"));
    assert_eq!(conflict.upstream.as_deref(), Some("{z: 1}"));
    assert_eq!(conflict.local.as_deref(), Some("[3]"));
}

#[test]
fn added_on_both_sides_in_different_files() {
    let (one, own) = (map("a", "1"), map("own", "1"));
    let sides: [&[(&str, &str)]; 3] =
        [&[("f.yaml", &own)], &[("f.yaml", &own), ("u.yaml", &one)], &[("f.yaml", &own), ("l.yaml", &one)]];
    check(sides, &[("f.yaml", &own), ("u.yaml", &one)], &["MovedApart . upstream"]);
    let [original, upstream, local] = sides.map(package);
    let merged = three_way(&original, &upstream, &local, &policy(Policy::LocalWins)).unwrap();
    assert_eq!(merged.package, local);
    assert_eq!(merged.conflicts[0].id.as_str(), "u.yaml:ConfigMap/a~place");
}

#[test]
fn a_file_where_the_other_side_has_a_folder() {
    let (one, two) = (map("a", "1"), map("a", "2"));
    // Added on both sides: the policy decides.
    let folder: &[(&str, &str)] = &[("d/x", "u\n")];
    let file: &[(&str, &str)] = &[("d", "l\n")];
    check([&[], folder, file], folder, &["KindsDiffer . upstream"]);
    check([&[], file, folder], file, &["KindsDiffer . upstream"]);
    let sides = [&[], folder, file].map(package);
    let merged = three_way(&sides[0], &sides[1], &sides[2], &policy(Policy::LocalWins)).unwrap();
    assert_eq!(merged.package, sides[2]);
    assert_eq!(merged.conflicts[0].id.as_str(), "d~folder");
    // Left alone by one side: the other one's.
    check([&[("d", "l\n")], folder, file], folder, &[]);
    check([&[("d", "o\n")], &[("d", "o\n")], folder], folder, &[]);
    // Changed on both sides: local's.
    check([&[("d", "o\n")], folder, file], file, &["KindsDiffer . local"]);
    // A resource that upstream moved to where it cannot be stays, with upstream's change.
    check(
        [&[("f.yaml", &one), ("d", "o\n")], &[("d/f.yaml", &two)], &[("f.yaml", &one), ("d", "l\n")]],
        &[("f.yaml", &two), ("d", "l\n")],
        &["KindsDiffer . local"],
    );
}

#[test]
fn documents_that_cannot_stand_together_merge_as_text() {
    let (a, b, c) = (map("a", "1"), map("b", "1"), map("c", "1"));
    // Directives stand behind the end of a document only, which goes with the second one.
    let original = format!("{a}---\n{b}...\n%YAML 1.2\n---\n{c}");
    let upstream = format!("{a}...\n%YAML 1.2\n---\n{c}");
    let more = |text: &str, w: u8| text.replacen("data:\n", &format!("data:\n  w: {w}\n"), 1);
    let local = more(&original, 2);
    let merged = one("f.yaml", [&original, &upstream, &local], &Options::default());
    assert_eq!(text(&merged.package, "f.yaml"), more(&upstream, 2));
    assert_eq!(merged.conflicts, []);
    // The same lines are a conflict about the file.
    let upstream = more(&upstream, 3);
    let merged = one("f.yaml", [&original, &upstream, &local], &Options::default());
    assert_eq!(lines(&merged.conflicts), ["FileChanged . upstream"]);
    assert_eq!(merged.conflicts[0].id.as_str(), "f.yaml");
    assert_eq!(text(&merged.package, "f.yaml"), upstream);
}

#[test]
fn removed_here_and_only_moved_or_commented_upstream() {
    let (one, own) = (map("a", "1"), map("own", "1"));
    let conflict = "RemovedLocallyChangedUpstream . local";
    let mine: &[(&str, &str)] = &[("f.yaml", &own)];
    let before: &[(&str, &str)] = &[("f.yaml", &own), ("g.yaml", &one)];
    check([before, &[("f.yaml", &own), ("h.yaml", &one)], mine], mine, &[conflict]);
    let noted = format!("# why\n\n{one}");
    check([before, &[("f.yaml", &own), ("g.yaml", &noted)], mine], mine, &[conflict]);
    // And the other way round.
    let conflict = "RemovedUpstreamChangedLocally . local";
    let noted: &[(&str, &str)] = &[("f.yaml", &own), ("g.yaml", &noted)];
    check([before, mine, noted], noted, &[conflict]);
}

#[test]
fn a_name_that_was_given_away_here() {
    let map = |mark: &str, name: &str, value: u8| {
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:{mark}\n  name: {name}\ndata:\n  v: \"{value}\"\n")
    };
    let (before, renamed) = (map("", "a", 1), map(" # kpt-merge: /a", "b", 1));
    let (changed, theirs) = (map("", "a", 2), map("", "b", 7));
    let followed = map(" # kpt-merge: /a", "b", 2);
    let original = package(&[("a.yaml", &before)]);
    let local = package(&[("a.yaml", &renamed)]);
    let beside = format!("{changed}---\n{theirs}");
    for (upstream, id) in [
        (package(&[("a.yaml", &beside)]), "a.yaml:ConfigMap/b"),
        (package(&[("a.yaml", &changed), ("b.yaml", &theirs)]), "b.yaml:ConfigMap/b"),
    ] {
        for policy in [Policy::UpstreamWins, Policy::LocalWins] {
            let options = Options { policy, ..Options::default() };
            let merged = three_way(&original, &upstream, &local, &options).unwrap();
            assert_eq!(merged.package, package(&[("a.yaml", &followed)]));
            assert_eq!(lines(&merged.conflicts), ["AddedOnBoth . local"]);
            assert_eq!(merged.conflicts[0].id.as_str(), id);
        }
        let resolutions = vec![Resolution { conflict: ConflictId::new(id), take: Take::Upstream }];
        let options = Options { resolutions, ..Options::default() };
        let merged = three_way(&original, &upstream, &local, &options).unwrap();
        let all: String = merged.package.iter().map(|(_, file)| file.text().unwrap()).collect();
        assert!(all.contains(&followed) && all.contains(&theirs), "{all}");
        let again = three_way(&original, &upstream, &merged.package, &options).unwrap();
        assert_eq!(again.package, merged.package);
    }
    // Another package may have the name.
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: in\n";
    let upstream = package(&[("a.yaml", &before), ("in/Kptfile", kptfile), ("in/b.yaml", &theirs)]);
    let merged = three_way(&original, &upstream, &local, &Options::default()).unwrap();
    assert_eq!(merged.conflicts, []);
    assert_eq!(text(&merged.package, "in/b.yaml"), theirs);
}
