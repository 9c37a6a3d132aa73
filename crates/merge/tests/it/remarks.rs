//! Documents of comments only: they belong to the document before them, and merge by lines.

use lanai_merge::{ConflictId, Options, Policy, Resolution, Take, three_way};

use crate::support::{lines, one, package, policy, text};

fn thing(name: &str, v: u8) -> String {
    format!("apiVersion: example.com/v1\nkind: Thing\nmetadata:\n  name: {name}\nv: {v}\n")
}

#[track_caller]
fn check(sides: [&str; 3], expected: &str, conflicts: &[&str]) {
    let merged = one("a.yaml", sides, &Options::default());
    assert_eq!(text(&merged.package, "a.yaml"), expected);
    assert_eq!(lines(&merged.conflicts), conflicts);
    // Once more: everything is there already.
    let again = one("a.yaml", [sides[0], sides[1], expected], &Options::default());
    assert_eq!(text(&again.package, "a.yaml"), expected);
}

/// A file with remarks before, between and behind two things.
fn file(v: u8, [before, between, behind]: [&str; 3]) -> String {
    let remark = |text: &str| if text.is_empty() { String::new() } else { format!("---\n{text}") };
    let first = if before.is_empty() { String::new() } else { format!("{}---\n", remark(before)) };
    format!("{first}{}{}---\n{}{}", thing("a", v), remark(between), thing("b", 1), remark(behind))
}

#[test]
fn one_side_changed_them() {
    let original = file(1, ["# x\n", "# y\n", "# z\n"]);
    let changed = ["# x2\n", "# y2\n# more\n", "# z2\n"];
    check([&original, &file(1, changed), &file(2, ["# x\n", "# y\n", "# z\n"])], &file(2, changed), &[]);
    check([&original, &file(2, ["# x\n", "# y\n", "# z\n"]), &file(1, changed)], &file(2, changed), &[]);
    // Added and removed.
    check([&file(1, [""; 3]), &original, &file(2, [""; 3])], &file(2, ["# x\n", "# y\n", "# z\n"]), &[]);
    let bare = file(2, [""; 3]);
    check(
        [&original, &file(1, [""; 3]), &file(2, ["# x\n", "# y\n", "# z\n"])],
        &format!("---\n{bare}"),
        &[],
    );
}

#[test]
fn both_changed_other_lines() {
    let of = |v: u8, a: &str, c: &str| file(v, ["", &format!("# {a}\n# b\n# {c}\n"), ""]);
    check([&of(1, "a", "c"), &of(1, "A", "c"), &of(2, "a", "C")], &of(2, "A", "C"), &[]);
}

#[test]
fn both_changed_the_same_lines() {
    let of = |v: u8, x: &str| file(v, [x, "", x]);
    let (was, theirs, ours) = (of(1, "# x\n"), of(1, "# u\n"), of(2, "# l\n"));
    let conflicts = ["CommentsDiffer . upstream", "CommentsDiffer . upstream"];
    check([&was, &theirs, &ours], &of(2, "# u\n"), &conflicts);
    let merged = one("a.yaml", [&was, &theirs, &ours], &policy(Policy::LocalWins));
    assert_eq!(text(&merged.package, "a.yaml"), ours);
    let ids: Vec<&str> = merged.conflicts.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids, ["a.yaml:Thing.example.com/b~remarks", "a.yaml~preamble"]);
    assert_eq!(merged.conflicts[1].local.as_deref(), Some("---\n# l"));
    // Each of them can be decided.
    let takes = [(ids[0], Take::Original), (ids[1], Take::Value("other".into()))];
    let resolutions =
        takes.map(|(id, take)| Resolution { conflict: ConflictId::new(id), take }).into_iter().collect();
    let options = Options { policy: Policy::Fail, resolutions, ..Options::default() };
    let decided = file(2, ["# other\n", "", "# x\n"]);
    let merged = one("a.yaml", [&was, &theirs, &ours], &options);
    assert_eq!(text(&merged.package, "a.yaml"), decided);
    let again = one("a.yaml", [&was, &theirs, &decided], &options);
    assert_eq!(text(&again.package, "a.yaml"), decided);
}

#[test]
fn they_go_and_come_with_their_resource() {
    let both = |remark: &str| format!("{}---\n{}{remark}", thing("a", 1), thing("b", 1));
    let noted = |v: u8| format!("{}---\n# about a\n---\n{}", thing("a", v), thing("b", 1));
    // Upstream removed what stands before it.
    check([&noted(1), &thing("b", 1), &noted(1).replace("b\nv: 1", "b\nv: 2")], &thing("b", 2), &[]);
    // Changed here, so that the resource stays.
    let mine = noted(1).replace("about", "mine about");
    check([&noted(1), &thing("b", 1), &mine], &mine, &["RemovedUpstreamChangedLocally . local"]);
    // A new resource brings them.
    let more = format!("{}---\n# about c\n", both("---\n").trim_end_matches("---\n"));
    let added = format!("{more}---\n{}---\n# end\n", thing("c", 1));
    check(
        [&both(""), &added, &both("").replacen("v: 1", "v: 5", 1)],
        &added.replacen("v: 1", "v: 5", 1),
        &[],
    );
}

#[test]
fn a_file_of_which_only_comments_are_left() {
    let original = thing("a", 1);
    let marked = original.replace("metadata:", "metadata: # kpt-merge: /a");
    check([&original, "# moved to b.yaml\n", &marked], "# moved to b.yaml\n", &[]);
    // Where local removed the file, it does not come back for a comment.
    let sides = [&original, "# x\n---\n# y\n", ""]
        .map(|text| if text.is_empty() { package(&[]) } else { package(&[("a.yaml", text)]) });
    let merged = three_way(&sides[0], &sides[1], &sides[2], &Options::default()).unwrap();
    assert_eq!(merged.package, package(&[]));
    assert_eq!(lines(&merged.conflicts), ["RemovedLocallyChangedUpstream . local"]);
    // A resource comes to what was comments only.
    let full = format!("# todo\n---\n{original}");
    check(["# todo\n", &full, "# todo\n"], &full, &[]);
    check(["# todo\n", &full, "# todo\n# soon\n"], &full, &["CommentsDiffer . upstream"]);
}
