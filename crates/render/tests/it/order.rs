//! Which functions run when, and what they see.

use crate::rendering::{BREADTH_FIRST, Seen, annotated, kptfile, mutators, rendered, resource};

fn tree(root: &str, a: &str) -> Seen {
    rendered(&[
        ("Kptfile", root),
        ("r.yaml", &resource("r")),
        ("a/Kptfile", a),
        ("a/a.yaml", &resource("in-a")),
        ("a/deep/d/Kptfile", &mutators("d", &["mark d"])),
        ("a/deep/d/d.yaml", &resource("in-d")),
        ("b/Kptfile", &mutators("b", &["mark b"])),
        ("b/b.yaml", &resource("in-b")),
    ])
    .succeeded()
}

#[test]
fn depth_first_the_outer_see_what_the_inner_made() {
    let seen = tree(&mutators("p", &["mark p"]), &mutators("a", &["mark a"]));
    let calls =
        ["mark d: d in-d", "mark a: a in-a d in-d", "mark b: b in-b", "mark p: p r a in-a d in-d b in-b"];
    assert_eq!(seen.calls, calls);
    assert_eq!(seen.by("a/deep/d/d.yaml"), "d a p");
    assert_eq!(seen.by("b/b.yaml"), "b p");
    assert_eq!(seen.by("r.yaml"), "p");
    assert_eq!((seen.rendered.executed, seen.rendered.packages), (4, 4));
}

#[test]
fn breadth_first_the_inner_see_what_the_outer_made() {
    let seen = tree(&annotated(&mutators("p", &["mark p"]), BREADTH_FIRST), &mutators("a", &["mark a"]));
    let calls =
        ["mark p: p r a in-a d in-d b in-b", "mark a: a in-a d in-d", "mark b: b in-b", "mark d: d in-d"];
    assert_eq!(seen.calls, calls);
    assert_eq!(seen.by("a/deep/d/d.yaml"), "p a d");
}

#[test]
fn the_annotation_counts_in_any_case_and_on_the_root_only() {
    let (root, a) = (mutators("p", &["mark p"]), mutators("a", &["mark a"]));
    let loud = annotated(&root, BREADTH_FIRST).replace("\"true\"", "'TRUE'");
    assert_eq!(tree(&loud, &a).calls[0], "mark p: p r a in-a d in-d b in-b");
    assert_eq!(tree(&root, &annotated(&a, BREADTH_FIRST)).calls[0], "mark d: d in-d");
}

#[test]
fn a_package_without_functions_passes_its_resources_on() {
    for empty in [kptfile("a", ""), kptfile("a", "{}"), kptfile("a", "mutators: []")] {
        let seen = rendered(&[
            ("Kptfile", &mutators("p", &["mark p"])),
            ("a/Kptfile", &empty),
            ("a/x.yaml", &resource("x")),
        ]);
        assert_eq!(seen.succeeded().calls, ["mark p: p a x"]);
    }
}

#[test]
fn what_an_inner_package_adds_stands_behind_all_that_is_in_it() {
    let seen = rendered(&[
        ("Kptfile", &mutators("p", &["mark p"])),
        ("a/Kptfile", &mutators("a", &["add new path=n.yaml"])),
        ("a/b/Kptfile", &kptfile("b", "")),
        ("c/Kptfile", &kptfile("c", "")),
    ]);
    assert_eq!(seen.succeeded().calls.last().unwrap(), "mark p: p a b new c");
}

#[test]
fn the_order_that_a_function_leaves_stays() {
    let seen = rendered(&[("Kptfile", &mutators("p", &["reverse", "mark p"])), ("x.yaml", &resource("x"))]);
    assert_eq!(seen.calls, ["reverse: p x", "mark p: x p"]);
}

#[test]
fn folders_with_the_name_of_a_package_are_none() {
    let seen = rendered(&[
        ("Kptfile", &kptfile("p", "")),
        ("sub/x.yaml", &resource("of-p")),
        ("other/sub/Kptfile", &mutators("sub", &["mark sub"])),
        ("other/sub/x.yaml", &resource("of-sub")),
        ("other/sub-b/x.yaml", &resource("of-p-too")),
    ]);
    assert_eq!(seen.succeeded().calls, ["mark sub: sub of-sub"]);
}

#[test]
fn breadth_first_what_the_outer_delete_is_gone() {
    let seen = rendered(&[
        ("Kptfile", &annotated(&mutators("p", &["delete in-a"]), BREADTH_FIRST)),
        ("a/Kptfile", &mutators("a", &["mark a"])),
        ("a/x.yaml", &resource("in-a")),
    ]);
    assert_eq!(seen.calls, ["delete in-a: p a in-a", "mark a: a"]);
    assert_eq!(seen.files(), ["Kptfile", "a/Kptfile"]);
}

#[test]
fn an_ignored_kptfile_is_no_resource_and_its_pipeline_runs() {
    let seen = rendered(&[
        ("Kptfile", &mutators("p", &["mark p"])),
        (".krmignore", "Kptfile\nskipped.yaml\n"),
        ("skipped.yaml", "- 1\n"),
        ("x.yaml", &resource("x")),
    ]);
    assert_eq!(seen.succeeded().calls, ["mark p: x"]);
}
