//! What may go into a function and come out of it.

use crate::rendering::{BREADTH_FIRST, annotated, kptfile, mutators, rendered, resource};

#[test]
fn what_is_no_resource_does_not_go_into_a_function() {
    for (text, error) in [
        ("kind: A\nmetadata: {name: x}\n", "x.yaml: resource must have `apiVersion`"),
        ("apiVersion: v1\nmetadata: {name: x}\n", "x.yaml: resource must have `kind`"),
        ("apiVersion: v1\nkind: List\nitems: []\n", "x.yaml: resource must have `metadata.name`"),
        ("values: 1\n", "x.yaml: resource must have `apiVersion`"),
    ] {
        let error = format!("input resource list must contain only KRM resources: {error}");
        let seen = rendered(&[("Kptfile", &mutators("p", &["nothing"])), ("x.yaml", text)]);
        assert_eq!(seen.error(), error);
        assert!(seen.calls.is_empty());
        assert_eq!(seen.message(), format!("pkg.render: pkg .:\n\tpipeline.run: {error}"));
        let step = &seen.rendered.status.mutation_steps[0];
        assert_eq!((step.exit_code, &step.execution_error), (1, &error));
        assert!(seen.rendered.results.items.is_empty());
        let seen = rendered(&[("Kptfile", &kptfile("p", "")), ("x.yaml", text)]);
        assert_eq!(seen.message(), format!("pkg.render: pkg .: {error}"));
    }
}

#[test]
fn an_inner_package_without_functions_is_checked_as_well() {
    let error =
        "input resource list must contain only KRM resources: x.yaml: resource must have `apiVersion`";
    let root = kptfile("p", "");
    for (root, message) in [
        (root.clone(), format!("pkg.render: pkg ./a:\n\t{error}")),
        (annotated(&root, BREADTH_FIRST), format!("pkg.render: pkg .: {error}")),
    ] {
        let seen =
            rendered(&[("Kptfile", &root), ("a/Kptfile", &kptfile("a", "")), ("a/x.yaml", "values: 1\n")]);
        assert_eq!(seen.message(), message);
    }
}

#[test]
fn lists_and_scalars_are_found_with_their_line() {
    for (text, found) in [
        ("- 1\n", "line 1: a resource is a mapping, this is a list"),
        ("just text\n", "line 1: a resource is a mapping, this is a scalar"),
        (
            "apiVersion: v1\nkind: A\nmetadata: {name: x}\n---\n\n- 1\n",
            "line 6: a resource is a mapping, this is a list",
        ),
    ] {
        for pipeline in [kptfile("p", ""), mutators("p", &["nothing"])] {
            let seen = rendered(&[("Kptfile", &pipeline), ("x.yaml", text)]);
            assert_eq!(seen.error(), format!("file \"x.yaml\": {found}"));
            assert_eq!(seen.message(), format!("pkg.render: pkg .:\n\tpkg.readResources: ./x.yaml: {found}"));
            assert!(seen.calls.is_empty());
        }
    }
    let seen = rendered(&[("Kptfile", &kptfile("p", "")), ("x.yaml", "null\n---\n# nothing\n")]).succeeded();
    assert_eq!(seen.text("x.yaml"), "null\n---\n# nothing\n");
}

#[test]
fn kustomizations_pass() {
    let text = "resources: [a.yaml]\n";
    let seen =
        rendered(&[("Kptfile", &mutators("p", &["nothing"])), ("kustomization.yaml", text)]).succeeded();
    assert_eq!(seen.calls, ["nothing: p ?"]);
    assert_eq!(seen.text("kustomization.yaml"), text);
}

#[test]
fn what_is_no_resource_does_not_come_out_of_a_function() {
    let seen = rendered(&[("Kptfile", &mutators("p", &["forget-kind x"])), ("d/x.yaml", &resource("x"))]);
    let error = "output resource list must contain only KRM resources: d/x.yaml: resource must have `kind`";
    assert_eq!(seen.error(), error);
    assert_eq!(seen.text("d/x.yaml"), resource("x"));
}

#[test]
fn a_file_that_is_no_yaml_is_named_when_its_package_is_reached() {
    let render = |root: &str| {
        rendered(&[
            ("Kptfile", root),
            ("a/Kptfile", &mutators("a", &["mark a"])),
            ("b/Kptfile", &kptfile("b", "")),
            ("b/c/Kptfile", &kptfile("c", "")),
            ("b/c/x.yaml", "a: [\n"),
        ])
    };
    let root = kptfile("p", "");
    let seen = render(&root);
    assert_eq!(seen.calls, ["mark a: a"]);
    let text = "pkg.render: pkg ./b:\n\tpkg ./b/c:\n\tpkg.readResources: ./b/c/x.yaml: ";
    assert!(seen.message().starts_with(text), "{}", seen.message());
    // Breadth first, all are read before the first function runs.
    let seen = render(&annotated(&root, BREADTH_FIRST));
    assert!(seen.calls.is_empty());
    let text = "pkg.render: pkg .:\n\tpkg.readResources: pkg ./b/c: ./b/c/x.yaml: ";
    assert!(seen.message().starts_with(text), "{}", seen.message());
}

#[test]
fn the_own_files_of_a_package_are_read_before_those_of_the_inner_ones() {
    let seen = rendered(&[
        ("Kptfile", &kptfile("p", "")),
        ("a/Kptfile", &kptfile("a", "")),
        ("a/x.yaml", "a: [\n"),
        ("z.yaml", "z: [\n"),
    ]);
    assert!(seen.error().starts_with("file \"z.yaml\": "), "{}", seen.error());
}
