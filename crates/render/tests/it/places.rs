//! Where resources end up.

use crate::functions::Way;
use crate::rendering::{
    BREADTH_FIRST, Seen, annotated, kptfile, mutators, options, rendered, resource, run, with_status,
};

/// What these functions make of some files.
fn made(functions: &[&str], files: &[(&str, String)]) -> Seen {
    let root = mutators("p", functions);
    let files = files.iter().map(|(path, text)| (*path, text.as_str()));
    rendered(&[("Kptfile", root.as_str())].into_iter().chain(files).collect::<Vec<_>>())
}

#[test]
fn new_resources_get_files() {
    let functions = [
        "add a path=n/a.yaml",
        "add b",
        "add c path=x.yaml",
        "add d path=/abs.yaml",
        "add e path=n/../e.yaml",
    ];
    let seen = made(&functions, &[("x.yaml", resource("x"))]).succeeded();
    assert_eq!(seen.files(), ["Kptfile", "abs.yaml", "e.yaml", "n/a.yaml", "new_b.yaml", "x.yaml"]);
    let new = |name: &str| format!("apiVersion: v1\nkind: New\nmetadata:\n  name: {name}\n");
    assert_eq!(seen.text("x.yaml"), format!("{}---\n{}", resource("x"), new("c")));
    assert_eq!(seen.text("n/a.yaml"), new("a"));
}

#[test]
fn moved_resources_leave_their_files() {
    let files = [("x.yaml", resource("x")), ("b.yaml", format!("{}---\n{}", resource("a"), resource("b")))];
    let seen = made(&["annotate x path=new/x.yaml", "annotate b path=c.yaml"], &files).succeeded();
    assert_eq!(seen.files(), ["Kptfile", "b.yaml", "c.yaml", "new/x.yaml"]);
    assert_eq!((seen.text("b.yaml"), seen.text("c.yaml")), (resource("a"), resource("b")));
    assert_eq!(seen.text("new/x.yaml"), resource("x"));
}

#[test]
fn a_file_that_moves_as_a_whole_keeps_its_order() {
    let text = ["a", "b", "c"].map(resource).join("---\n");
    let functions = ["annotate a path=n.yaml", "annotate b path=n.yaml", "annotate c path=n.yaml"];
    assert_eq!(made(&functions, &[("o.yaml", text.clone())]).succeeded().text("n.yaml"), text);
}

#[test]
fn the_old_names_of_annotations_move_as_well() {
    let functions =
        ["annotate x config.kubernetes.io/path=old.yaml", "annotate y config.kubernetes.io/index=4"];
    let seen = made(&functions, &[("x.yaml", resource("x")), ("y.yaml", resource("y"))]).succeeded();
    assert_eq!(seen.files(), ["Kptfile", "old.yaml", "y.yaml"]);
    assert_eq!((seen.text("old.yaml"), seen.text("y.yaml")), (resource("x"), resource("y")));
}

#[test]
fn a_function_that_forgets_a_place_moves_nothing() {
    let seen = made(&["forget-place x"], &[("some/x.yaml", resource("x"))]);
    assert_eq!(seen.succeeded().files(), ["Kptfile", "some/x.yaml"]);
}

#[test]
fn deleted_resources_take_their_files_along() {
    let two = format!("# of the file\n{}---\n{}", resource("a"), resource("b"));
    let files = [("x.yaml", resource("x")), ("b.yaml", two), ("README.md", "stays".into())];
    let seen = made(&["delete a", "delete x"], &files).succeeded();
    assert_eq!(seen.files(), ["Kptfile", "README.md", "b.yaml"]);
    assert!(seen.text("b.yaml").ends_with(&resource("b")) && !seen.text("b.yaml").contains("name: a"));
}

#[test]
fn everything_can_be_deleted_and_then_nobody_tells() {
    let seen = with_status(&[
        ("Kptfile", &mutators("p", &["delete-all", "mark p"])),
        ("x.yaml", &resource("x")),
        ("README.md", "stays"),
    ]);
    assert_eq!(seen.calls, ["delete-all: p x", "mark p: "]);
    assert_eq!(seen.succeeded().files(), ["README.md"]);
}

#[test]
fn an_inner_package_can_be_deleted_from_outside() {
    let files = [("a/Kptfile", mutators("a", &["mark a"])), ("a/x.yaml", resource("x"))];
    assert_eq!(made(&["delete a", "delete x"], &files).succeeded().files(), ["Kptfile"]);
}

#[test]
fn places_that_cannot_be_are_refused() {
    let outside = "function must not modify resources outside of package: resource has path ";
    for (function, text) in [
        ("add n path=../n.yaml", format!("{outside}../n.yaml")),
        ("add n path=a/../../n.yaml", format!("{outside}a/../../n.yaml")),
        ("add n path=..", format!("{outside}..")),
        ("annotate x path=../x.yaml", format!("{outside}../x.yaml")),
        ("add n path=.", "config.kubernetes.io/path cannot be a directory: .".into()),
        ("add n path=dir", "failed to save resources: ".into()),
        ("add n path=x.yaml/n.yaml", "failed to save resources: ".into()),
        (
            "add n path=n.txt",
            "failed to save resources: file \"n.txt\" is ignored or is no resource file".into(),
        ),
        ("add n path=x.yaml index=0", "resource at path \"x.yaml\" and index \"0\" already exists".into()),
        ("annotate x path=y.yaml", "resource at path \"y.yaml\" and index \"0\" already exists".into()),
        ("copy x", "resource at path \"x.yaml\" and index \"0\" already exists".into()),
        (
            "add n path=x.yaml index=one",
            "resource at path \"x.yaml\": index \"one\" is not a whole number".into(),
        ),
    ] {
        let files = [("x.yaml", resource("x")), ("y.yaml", resource("y")), ("dir/z.yaml", resource("z"))];
        let error = made(&[function], &files).error();
        assert!(error.starts_with(&text), "{function}: {error}");
    }
}

#[test]
fn two_new_ones_without_a_place_in_the_same_file_collide() {
    let seen = made(&["add a path=n.yaml", "add b path=n.yaml"], &[]);
    assert_eq!(seen.error(), "resource at path \"n.yaml\" and index \"\" already exists");
}

#[test]
fn one_name_changed_one_way_and_the_other_another_way_is_refused() {
    let root = mutators("p", &["annotate x path=a.yaml config.kubernetes.io/path=b.yaml"]);
    let seen = run(&[("Kptfile", &root), ("x.yaml", &resource("x"))], &options(), Way::Wire).unwrap();
    let text = "resource input to function has mismatched legacy and internal path annotations";
    assert!(seen.error().contains(text), "{}", seen.error());
}

#[test]
fn a_package_writes_into_those_below_it_and_not_above() {
    let files = [("a/Kptfile", mutators("a", &["mark a"])), ("a/x.yaml", resource("x"))];
    let seen = made(&["add n path=a/n.yaml", "add m path=m.yaml package=a"], &files);
    assert_eq!(seen.succeeded().files(), ["Kptfile", "a/Kptfile", "a/m.yaml", "a/n.yaml", "a/x.yaml"]);
    for package in ["package=.", "package=b", "package=nowhere", "package=/"] {
        let seen = rendered(&[
            ("Kptfile", &kptfile("p", "")),
            ("a/Kptfile", &mutators("a", &[&format!("add n path=n.yaml {package}")])),
            ("b/Kptfile", &kptfile("b", "")),
        ]);
        assert_eq!(seen.succeeded().files(), ["Kptfile", "a/Kptfile", "a/n.yaml", "b/Kptfile"], "{package}");
    }
}

#[test]
fn what_the_outer_put_into_the_folder_of_the_inner_stays_with_the_outer() {
    let root = mutators("p", &["add n path=a/n.yaml", "add m path=m.yaml package=a"]);
    let seen = rendered(&[
        ("Kptfile", &annotated(&root, BREADTH_FIRST)),
        ("a/Kptfile", &mutators("a", &["mark a"])),
    ]);
    assert_eq!(seen.calls.last().unwrap(), "mark a: a m");
}

#[test]
fn the_places_of_two_packages_are_one_place() {
    let files = [("a/Kptfile", kptfile("a", "")), ("a/x.yaml", resource("x"))];
    let seen = made(&["add n path=a/x.yaml index=0"], &files);
    assert_eq!(seen.error(), "resource at path \"a/x.yaml\" and index \"0\" already exists");
}

#[test]
fn places_that_a_file_writes_down_do_not_count() {
    let text = "apiVersion: v1\nkind: A\nmetadata:\n  name: x\n  annotations:\n    config.kubernetes.io/path: ../x.yaml\n    \
                config.kubernetes.io/index: '7'\n    internal.config.kubernetes.io/package-path: elsewhere\n";
    let seen = made(&["nothing"], &[("x.yaml", text.into())]).succeeded();
    assert_eq!(
        (seen.files(), seen.text("x.yaml")),
        (vec!["Kptfile".to_owned(), "x.yaml".into()], text.into())
    );
    let seen = made(&["mark p"], &[("x.yaml", text.into())]).succeeded();
    let marked = "apiVersion: v1\nkind: A\nmetadata:\n  name: x\n  annotations:\n    by: p\n";
    assert_eq!(seen.text("x.yaml"), marked);
}

#[test]
fn what_functions_do_not_change_keeps_its_bytes() {
    let text = "# licence\n---\n# about x\nkind:   A\napiVersion: \"v1\"\nmetadata: {name: x}\nlist:\n    - 1\n\n    - 2 # two\n\
                ---\n# only a comment\n---\n{apiVersion: v1, kind: B, metadata: {name: y}}\n...\n";
    let seen = made(&["nothing", "set z new"], &[("x.yaml", text.into()), ("z.yaml", resource("z"))]);
    assert_eq!(seen.succeeded().text("x.yaml"), text);
}
