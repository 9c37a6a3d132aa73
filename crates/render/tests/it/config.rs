//! What configures a function.

use lanai_render::Error;

use crate::rendering::{BREADTH_FIRST, annotated, kptfile, mutators, refused, rendered, resource};

fn by_file(path: &str) -> String {
    kptfile("p", &format!("mutators:\n- exec: mark-config\n  configPath: {path}"))
}

#[test]
fn config_comes_from_the_kptfile_or_a_file_or_nowhere() {
    for (config, value) in [
        ("\n  configMap: {value: here}", "here"),
        ("\n  configPath: x.yaml", "old"),
        ("\n  configPath: ./y/../x.yaml", "old"),
        ("", "none"),
    ] {
        let pipeline = kptfile("p", &format!("mutators:\n- exec: mark-config{config}"));
        let seen = rendered(&[("Kptfile", &pipeline), ("x.yaml", &resource("x"))]).succeeded();
        assert_eq!(seen.annotation("x.yaml", "config").as_deref(), Some(value), "{config}");
    }
}

#[test]
fn a_config_that_functions_changed_counts_as_it_is_then() {
    let pipeline = "mutators:\n- exec: set x new\n- exec: mark-config\n  configPath: x.yaml";
    let seen = rendered(&[("Kptfile", &kptfile("p", pipeline)), ("x.yaml", &resource("x"))]).succeeded();
    assert_eq!(seen.annotation("x.yaml", "config").as_deref(), Some("new"));
    assert!(seen.text("x.yaml").contains("value: new # kept"));
}

#[test]
fn the_outer_cannot_change_a_config_that_was_used() {
    let root = mutators("p", &["set x new"]);
    for (root, value) in [(root.clone(), "old"), (annotated(&root, BREADTH_FIRST), "new")] {
        let seen =
            rendered(&[("Kptfile", &root), ("a/Kptfile", &by_file("x.yaml")), ("a/x.yaml", &resource("x"))]);
        assert_eq!(seen.annotation("a/x.yaml", "config").as_deref(), Some(value));
    }
}

#[test]
fn a_config_that_was_deleted_counts_as_it_was() {
    let pipeline = kptfile("p", "mutators:\n- exec: delete x\n- exec: mark-config\n  configPath: x.yaml");
    let seen = rendered(&[("Kptfile", &pipeline), ("x.yaml", &resource("x")), ("y.yaml", &resource("y"))]);
    assert_eq!(seen.succeeded().annotation("y.yaml", "config").as_deref(), Some("old"));
}

#[test]
fn a_config_in_a_folder_counts_and_one_in_another_package_does_not() {
    let (root, x) = (by_file("sub/x.yaml"), resource("x"));
    let seen = rendered(&[("Kptfile", &root), ("sub/x.yaml", &x)]).succeeded();
    assert_eq!(seen.annotation("sub/x.yaml", "config").as_deref(), Some("old"));
    let seen = rendered(&[("Kptfile", &root), ("sub/x.yaml", &x), ("sub/Kptfile", &kptfile("sub", ""))]);
    let text = "functionConfig resource for mutator \"mark-config\" is missing from path \"sub/x.yaml\", \
                this also occurs if \"sub/x.yaml\" is part of a subpackage";
    assert_eq!(seen.error(), text);
    assert_eq!(seen.message(), format!("pkg.render: pkg .: {text}"));
    assert!(seen.calls.is_empty() && seen.rendered.status.mutation_steps.is_empty());
    let seen = rendered(&[("Kptfile", &root), ("sub/x.yaml", &x), (".krmignore", "x.yaml\n")]);
    assert_eq!(seen.error(), text);
}

#[test]
fn files_that_cannot_configure_are_refused_before_anything_runs() {
    for (path, text, reason) in [
        ("none.yaml", "", "failed to open functionConfig from path \"none.yaml\""),
        (
            "x.yaml",
            "a: 1\n---\nb: 2\n",
            "functionConfig \"x.yaml\" must not contain more than one config, got 2",
        ),
        ("x.yaml", "# nothing\n", "functionConfig \"x.yaml\" is empty"),
        (
            "x.yaml",
            "apiVersion: v1\nkind: A\n",
            "functionConfig \"x.yaml\": resource must have `metadata.name`",
        ),
        ("x.yaml", "- 1\n", "functionConfig \"x.yaml\" cannot be read: line 1: a resource is a mapping"),
        ("/x.yaml", "", "path must be relative"),
        ("../x.yaml", "", "path must not be outside the package"),
    ] {
        let error = refused(&[("Kptfile", &by_file(path)), ("x.yaml", text)]);
        let Error::Invalid(invalid) = &error else { panic!("{error}") };
        assert_eq!(invalid.field, "pipeline.mutators[0].configPath");
        assert!(invalid.reason.contains(reason), "{}", invalid.reason);
    }
}

#[test]
fn the_first_function_that_is_wrong_is_named() {
    for (pipeline, field) in [
        (
            "mutators:\n- exec: a\n  configPath: none.yaml\n- exec: b\n  image: c\nvalidators:\n- {}",
            "pipeline.mutators[0].configPath",
        ),
        (
            "mutators:\n- exec: a\n- exec: b\n  image: c\nvalidators:\n- exec: a\n  configPath: none.yaml",
            "pipeline.mutators[1]",
        ),
    ] {
        let error = refused(&[("Kptfile", &kptfile("p", pipeline))]);
        let Error::Invalid(invalid) = &error else { panic!("{error}") };
        assert_eq!(invalid.field, field);
    }
}

#[test]
fn new_resources_stand_beside_the_file_that_configures() {
    for (config, new) in [
        ("x.yaml", "new_n.yaml"),
        ("sub/x.yaml", "sub/new_n.yaml"),
        ("sub/functions/x.yaml", "sub/new_n.yaml"),
        ("functions/x.yaml", "new_n.yaml"),
    ] {
        let pipeline = kptfile("p", &format!("mutators:\n- exec: add n\n  configPath: {config}"));
        let seen = rendered(&[("Kptfile", &pipeline), (config, &resource("x"))]).succeeded();
        assert!(seen.files().contains(&new.to_owned()), "{config}: {:?}", seen.files());
    }
}

#[test]
fn a_config_map_is_a_resource_of_its_own() {
    let config = lanai_render::config_map("ConfigMap", [("b", "1"), ("a", "x: y")]).unwrap();
    assert!(config.check_krm().is_ok());
    let data = config.root().get("data").unwrap();
    assert_eq!(data.get("b").unwrap().as_str().as_deref(), Some("1"));
    assert_eq!(data.get("a").unwrap().as_str().as_deref(), Some("x: y"));
}

#[test]
fn any_text_is_a_kind() {
    for kind in ["[", "\"", "a: b", "- x", "true", "", "a\nb", "#"] {
        let config = lanai_render::config_map(kind, [("a", "b")]).unwrap();
        let again = lanai_krm::Resource::parse(&config.to_string()).unwrap();
        assert_eq!(again.root().get("kind").unwrap().as_str().as_deref(), Some(kind));
    }
}
