//! The Kptfile.

use lanai_merge::{Options, Resolution, Take, three_way};

use crate::support::{lines, one, package, text};

fn kptfile(name: &str, rest: &str) -> String {
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n{rest}")
}

#[track_caller]
fn check(sides: [&str; 3], expected: &str, conflicts: &[&str]) {
    let [original, upstream, local] = sides;
    let (original, upstream) = (kptfile("up", original), kptfile("upper", upstream));
    let merged = one("Kptfile", [&original, &upstream, &kptfile("mine", local)], &Options::default());
    assert_eq!(text(&merged.package, "Kptfile"), kptfile("mine", expected));
    assert_eq!(lines(&merged.conflicts), conflicts);
}

#[test]
fn name_and_upstream_are_local() {
    let mine = "upstream:\n  type: git\nupstreamLock:\n  type: git\ninfo:\n  description: a\n";
    let merged = "upstream:\n  type: git\nupstreamLock:\n  type: git\ninfo:\n  description: b\n";
    let theirs = "upstream:\n  type: other\ninfo:\n  description: b\n";
    check(["info:\n  description: a\n", theirs, mine], merged, &[]);
}

#[test]
fn an_untouched_kptfile_keeps_its_name_too() {
    let original = kptfile("up", "upstream:\n  type: git\n");
    let upstream = kptfile("upper", "upstream:\n  type: other\ninfo:\n  description: b\n");
    // Where a package inside comes from follows its content; its name does not.
    for (path, origin) in [("Kptfile", "git"), ("sub/Kptfile", "other")] {
        let merged = one(path, [&original, &upstream, &original], &Options::default());
        let expected = kptfile("up", &format!("upstream:\n  type: {origin}\ninfo:\n  description: b\n"));
        assert_eq!(text(&merged.package, path), expected);
    }
}

#[test]
fn functions_by_name() {
    let of = |items: &str| format!("pipeline:\n  mutators:\n{items}");
    let original = of("  - name: a\n    image: x:v1\n");
    let upstream = of("  - name: a\n    image: x:v2\n  - name: b\n    image: x:v1\n");
    let local = of("  - name: mine\n    image: y\n  - name: a\n    image: x:v1\n    configPath: c.yaml\n");
    let merged = "  - name: mine\n    image: y\n  - name: a\n    image: x:v2\n    configPath: c.yaml\n";
    check([&original, &upstream, &local], &of(&format!("{merged}  - name: b\n    image: x:v1\n")), &[]);
}

#[test]
fn functions_without_names_by_image() {
    let of = |items: &str| format!("pipeline:\n  validators:\n{items}");
    let original = of("  - image: host:5000/x:v1\n");
    let upstream = of("  - image: host:5000/x:v2\n");
    let local = of("  - image: mine:v1\n  - image: host:5000/x:v1\n    configPath: c.yaml\n");
    let merged = of("  - image: mine:v1\n  - image: host:5000/x:v2\n    configPath: c.yaml\n");
    check([&original, &upstream, &local], &merged, &[]);
    // Removed upstream, edited here: it goes as a whole, and nothing without an image is left.
    let (local, removed) =
        (of("  - image: host:5000/x:v1\n    configPath: c.yaml\n  - image: y\n"), of("  - image: z\n"));
    let conflict = "RemovedUpstreamChangedLocally pipeline.validators[image=host:5000/x] upstream";
    check([&original, &removed, &local], &of("  - image: y\n  - image: z\n"), &[conflict]);
}

#[test]
fn functions_with_some_names_missing() {
    let of = |items: &str| format!("pipeline:\n  mutators:\n{items}");
    let original = of("  - name: a\n    image: x:v1\n  - image: y:v1\n");
    let upstream = of("  - name: a\n    image: x:v2\n  - image: y:v2\n");
    let local = of("  - name: a\n    image: x:v1\n  - image: y:v1\n    configPath: c.yaml\n");
    let merged = of("  - name: a\n    image: x:v2\n  - image: y:v2\n    configPath: c.yaml\n");
    check([&original, &upstream, &local], &merged, &[]);
}

#[test]
fn repeated_images_make_the_list_a_whole() {
    let of = |items: &str| format!("pipeline:\n  mutators:\n{items}");
    let original = of("  - image: x\n  - image: x\n");
    let upstream = of("  - image: x\n  - image: z\n");
    let local = of("  - image: x\n  - image: x\n  - image: y\n");
    check([&original, &upstream, &local], &upstream, &["BothChanged pipeline.mutators upstream"]);
}

#[test]
fn conditions_by_type() {
    let of = |items: &str| format!("status:\n  conditions:\n{items}");
    let rendered = "  - type: Rendered\n    status: \"True\"\n";
    let ready = "  - type: Ready\n    status: \"False\"\n";
    let local = of(rendered);
    check(["", &of(ready), &local], &of(&format!("{rendered}{ready}")), &[]);
}

/// A function that was given a name is not another one.
#[test]
fn functions_that_are_named_on_one_side() {
    let of = |items: &str| format!("pipeline:\n  mutators:\n{items}");
    let (old, new) = (&of("  - image: x:v1\n"), &of("  - image: x:v2\n"));
    let (named, named_new) =
        (&of("  - image: x:v1\n    name: foo\n"), &of("  - image: x:v2\n    name: foo\n"));
    check([old, new, named], named_new, &[]);
    check([old, named_new, old], named_new, &[]);
    check([named, named_new, old], new, &[]);
    check(
        [old, &of("  - image: y\n"), named],
        &of("  - image: y\n"),
        &["RemovedUpstreamChangedLocally pipeline.mutators[image=x] upstream"],
    );
    // Two names for one function are a conflict about its name.
    let other = &of("  - image: x:v1\n    name: bar\n");
    check([old, other, named], other, &["AddedOnBoth pipeline.mutators[image=x].name upstream"]);
    // The command says it as the image does.
    let exec = |name: &str, tag: &str| of(&format!("  - exec: ./run\n{name}    configPath: {tag}\n"));
    let name = "    name: foo\n";
    check([&exec("", "a"), &exec("", "b"), &exec(name, "a")], &exec(name, "b"), &[]);
    // Where it is not clear which one is meant, names and images are what they were.
    let two = &of("  - image: x:v1\n    name: foo\n  - image: x:v1\n    name: bar\n");
    let both = &of("  - image: x:v1\n    name: foo\n  - image: x:v1\n    name: bar\n  - image: x:v2\n");
    check([old, new, two], both, &["RemovedLocallyChangedUpstream pipeline.mutators[image=x] upstream"]);
    // A function that runs nothing is no reason to take one for another.
    let nothing = "  - name: mine\n    configPath: fn.yaml\n";
    check(
        [old, named_new, &of(&format!("{nothing}  - image: x:v1\n"))],
        &of(&format!("{nothing}  - image: x:v2\n    name: foo\n")),
        &[],
    );
    // A name that another function has upstream.
    let taken = &of("  - image: y\n    name: foo\n");
    let merged = &of("  - image: y\n    name: foo\n");
    check([old, taken, named], merged, &["AddedOnBoth pipeline.mutators[name=foo].image upstream"]);
}

#[test]
fn a_function_that_was_named_here_can_be_decided_again() {
    let of = |items: &str| kptfile("up", &format!("pipeline:\n  mutators:\n{items}"));
    let sides = [of("  - image: x:v1\n"), of("  - image: x:v2\n"), of("  - image: x:v3\n    name: foo\n")];
    let [original, upstream, local] = sides.each_ref().map(|text| package(&[("Kptfile", text)]));
    let conflicts = three_way(&original, &upstream, &local, &Options::default()).unwrap().conflicts;
    assert_eq!(lines(&conflicts), ["BothChanged pipeline.mutators[image=x].image upstream"]);
    let resolutions = vec![Resolution { conflict: conflicts[0].id.clone(), take: Take::Local }];
    let options = Options { resolutions, ..Options::default() };
    let once = three_way(&original, &upstream, &local, &options).unwrap().package;
    assert_eq!(once, local);
    assert_eq!(three_way(&original, &upstream, &once, &options).unwrap().package, once);
}
