//! What is written down about a run.

use lanai_evaluate::FunctionRef;
use lanai_types::SafePath;

use crate::rendering::{kptfile, mutators, rendered, resource};

#[test]
fn every_function_is_written_down() {
    let pipeline =
        "mutators:\n- exec: tell warning\n  name: first\n- image: some\nvalidators:\n- exec: tell error";
    let seen = rendered(&[("Kptfile", &kptfile("p", pipeline))]).succeeded();
    let steps = &seen.rendered.status;
    let [first, second] = steps.mutation_steps.as_slice() else { panic!("{steps:?}") };
    assert_eq!((first.name.as_str(), first.exec.as_str(), first.exit_code), ("first", "tell warning", 0));
    assert_eq!((first.results.len(), first.error_results.len()), (1, 0));
    assert_eq!(second.image, "reg.example/fn/some:latest");
    // A result is no failure: the function decides.
    assert_eq!(steps.validation_steps[0].error_results.len(), 1);
    assert_eq!(steps.error_summary, "");
    let expected = "\
apiVersion: kpt.dev/v1
kind: FunctionResultList
metadata:
  name: fnresults
exitCode: 0
items:
  - exec: tell warning
    exitCode: 0
    results:
      - message: Warning of it
        severity: warning
  - image: reg.example/fn/some:latest
    exitCode: 0
  - exec: tell error
    exitCode: 0
    results:
      - message: Error of it
        severity: error
";
    assert_eq!(seen.rendered.results.to_string(), expected);
}

#[test]
fn failures_are_written_down() {
    let seen = rendered(&[("Kptfile", &mutators("p", &["mark p", "fail 3", "mark q"]))]);
    let steps = &seen.rendered.status;
    assert_eq!(steps.mutation_steps.len(), 2);
    let failed = &steps.mutation_steps[1];
    assert_eq!((failed.exit_code, failed.stderr.as_str(), failed.execution_error.as_str()), (3, "no!\n", ""));
    assert_eq!((failed.results.len(), failed.error_results.len()), (2, 1));
    assert_eq!(steps.error_summary, "fail 3: exit code 3");
    assert_eq!((seen.rendered.results.exit_code(), seen.rendered.results.items[1].exit_code), (1, 3));
    assert_eq!(seen.rendered.executed, 1);
}

#[test]
fn what_a_function_said_before_it_was_ended_is_kept() {
    for (function, error, stderr) in [
        ("hang", "function did not end within 300s", "still here\n"),
        ("die", "function was ended by signal 9", "no!\n"),
        ("garble", "what the function wrote is no list of resources: no list", "no!\n"),
        ("missing", "cannot run \"missing\"", ""),
        ("unknown", "function \"unknown\" is not known here", ""),
    ] {
        let seen = rendered(&[("Kptfile", &mutators("p", &[function]))]);
        let step = &seen.rendered.status.mutation_steps[0];
        assert_eq!((step.exit_code, step.execution_error.as_str(), step.stderr.as_str()), (1, error, stderr));
        assert_eq!(seen.rendered.status.error_summary, format!("{function}: {error}"));
        assert_eq!(seen.rendered.results.items[0].stderr, stderr);
        assert_eq!(seen.rendered.results.exit_code(), 1);
    }
}

#[test]
fn without_functions_there_are_no_items() {
    let seen = rendered(&[("Kptfile", &kptfile("p", ""))]).succeeded();
    let expected =
        "apiVersion: kpt.dev/v1\nkind: FunctionResultList\nmetadata:\n  name: fnresults\nexitCode: 0\n";
    assert_eq!(seen.rendered.results.to_string(), expected);
}

#[test]
fn the_inputs_are_all_that_counts() {
    let inputs = |pipeline: &str| {
        let seen = rendered(&[
            ("Kptfile", &kptfile("p", pipeline)),
            (".krmignore", "ignored.yaml\n"),
            ("README.md", "text"),
            ("conf.txt", &resource("c")),
            ("x.yaml", &resource("x")),
        ]);
        seen.rendered.inputs
    };
    let with_config = inputs("mutators:\n- image: some\n  configPath: conf.txt");
    let paths: Vec<_> = with_config.files.iter().map(|input| input.path.as_str()).collect();
    assert_eq!(paths, [".krmignore", "Kptfile", "conf.txt", "x.yaml"]);
    assert_eq!(with_config.others.iter().map(SafePath::as_str).collect::<Vec<_>>(), ["README.md"]);
    assert_eq!(with_config.settings.image_prefix, "reg.example/fn");
    let pipeline = "mutators:\n- image: some\n- exec: nothing\n  when: 'false'";
    let skipping = inputs(pipeline);
    assert_eq!(skipping.functions, [FunctionRef::Image("reg.example/fn/some:latest".into())]);
    assert_eq!(skipping, inputs(pipeline));
    assert_ne!(skipping, inputs("mutators:\n- image: some"));
}

#[test]
fn items_come_in_the_order_of_the_list_and_from_the_root() {
    let seen = rendered(&[
        ("Kptfile", &mutators("p", &["add n path=n.yaml"])),
        ("x.yaml", &resource("x")),
        ("a/Kptfile", &kptfile("a", "")),
        ("a/y.yaml", &resource("y")),
    ]);
    let items = seen.succeeded().rendered.items;
    let places: Vec<_> = items.iter().map(|item| item.path().unwrap().into_owned()).collect();
    assert_eq!(places, ["Kptfile", "x.yaml", "a/Kptfile", "a/y.yaml", "n.yaml"]);
}
