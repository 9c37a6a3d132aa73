//! Which resources a function sees.

use crate::rendering::{kptfile, rendered, resource};

fn calls(choice: &str) -> Vec<String> {
    let choice = choice.lines().map(|line| format!("  {line}\n")).collect::<Vec<_>>().concat();
    let labels = "kind: B\nmetadata:\n  namespace: n\n  labels: {x: y, z: w}\n";
    let labelled = resource("c").replace("kind: A\nmetadata:\n", labels);
    let seen = rendered(&[
        ("Kptfile", &kptfile("p", &format!("mutators:\n- exec: mark f\n{choice}"))),
        ("x.yaml", &format!("{}---\n{}---\n{labelled}", resource("a"), resource("b"))),
    ]);
    seen.succeeded().calls
}

#[test]
fn selectors_are_alternatives_and_their_fields_are_not() {
    for (choice, names) in [
        ("selectors: [{name: a}]", "a"),
        ("selectors: [{name: a}, {name: b}]", "a b"),
        ("selectors: [{name: c, kind: A}]", ""),
        ("selectors: [{kind: B, namespace: n}]", "c"),
        ("selectors: [{apiVersion: v1, kind: A}]", "a b"),
        ("selectors: [{apiVersion: v}]", ""),
        ("selectors: [{labels: {x: y}}]", "c"),
        ("selectors: [{labels: {x: y, z: v}}]", ""),
        ("selectors: [{}]", "p a b c"),
        ("selectors: [{kind: A}]\nexclude: [{name: b}]", "a"),
        ("exclude: [{kind: Kptfile}, {kind: B}]", "a b"),
        ("exclude: [{kind: A, name: a}]", "p b c"),
        ("exclude: [{}]", "p a b c"),
    ] {
        assert_eq!(calls(choice), [format!("mark f: {names}")], "{choice}");
    }
}

#[test]
fn a_resource_that_two_selectors_match_is_there_once() {
    assert_eq!(calls("selectors: [{kind: A}, {name: a}, {}]"), ["mark f: p a b c"]);
}

#[test]
fn what_was_not_selected_stays_in_its_place() {
    let pipeline = "\
mutators:
- exec: delete b
  selectors: [{name: b}]
- exec: add new path=n.yaml
  selectors: [{name: c}]
- exec: rename a z
  selectors: [{kind: A}]
- exec: nothing
";
    let seen = rendered(&[
        ("Kptfile", &kptfile("p", pipeline)),
        ("x.yaml", &["a", "b", "c", "d"].map(resource).join("---\n")),
    ]);
    let calls = ["delete b: b", "add new path=n.yaml: c", "rename a z: a c d", "nothing: p z c d new"];
    assert_eq!(seen.calls, calls);
    assert_eq!(seen.text("x.yaml"), ["z", "c", "d"].map(resource).join("---\n"));
    assert!(seen.files().contains(&"n.yaml".to_owned()));
}

#[test]
fn a_function_that_gets_nothing_runs() {
    assert_eq!(calls("selectors: [{name: nobody}]"), ["mark f: "]);
}

#[test]
fn a_selected_resource_cannot_take_the_place_of_one_that_was_not() {
    let pipeline = "mutators:\n- exec: annotate a path=b.yaml\n  selectors: [{name: a}]";
    let files = [("Kptfile", kptfile("p", pipeline)), ("a.yaml", resource("a")), ("b.yaml", resource("b"))];
    let seen = rendered(&files.each_ref().map(|(path, text)| (*path, text.as_str())));
    assert_eq!(seen.error(), "resource at path \"b.yaml\" and index \"0\" already exists");
}
