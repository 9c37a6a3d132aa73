//! Conditions of functions.

use lanai_render::{Event, Watch, render};

use crate::functions::{Functions, Way};
use crate::rendering::{kptfile, options, package, rendered, resource, wait, with_status};

fn pipeline(when: &str) -> String {
    kptfile("p", &format!("mutators:\n- exec: mark f\n  when: {when}\n- exec: mark g"))
}

#[test]
fn a_function_runs_when_its_condition_holds() {
    let when = "resources.exists(r, r.kind == 'A' && r.data.value == 'old')";
    let seen = rendered(&[("Kptfile", &pipeline(when)), ("x.yaml", &resource("x"))]);
    assert_eq!(seen.succeeded().by("x.yaml"), "f g");
}

#[test]
fn a_function_whose_condition_is_false_is_skipped_and_that_is_written_down() {
    let when = "resources.size() > 99";
    let seen = with_status(&[("Kptfile", &pipeline(when)), ("x.yaml", &resource("x"))]).succeeded();
    assert_eq!((seen.by("x.yaml").as_str(), seen.rendered.executed), ("g", 1));
    let [skipped, ran] = seen.rendered.status.mutation_steps.as_slice() else { panic!() };
    assert!(skipped.skipped && !ran.skipped);
    assert_eq!(skipped.when, when);
    assert!(seen.text("Kptfile").contains("skipped: true"));
    assert_eq!(seen.rendered.results.items.len(), 1);
}

#[test]
fn a_condition_sees_what_the_function_would_see() {
    let pipeline = "\
mutators:
- exec: mark f
  selectors: [{name: x}]
  when: resources.size() == 1 && resources[0].metadata.name == 'x'
- exec: mark g
  exclude: [{kind: Kptfile}]
  when: resources.size() == 2
- exec: set x new
- exec: mark h
  when: resources[1].data.value == 'new'
";
    let seen = rendered(&[
        ("Kptfile", &kptfile("p", pipeline)),
        ("x.yaml", &resource("x")),
        ("y.yaml", &resource("y")),
    ]);
    assert_eq!(seen.calls, ["mark f: x", "mark g: x y", "set x new: p x y", "mark h: p x y"]);
}

#[test]
fn a_condition_that_cannot_be_decided_fails_the_render() {
    for (when, error) in [
        ("resources.size(", "cannot be read"),
        ("resources[0].nothing == 1", "cannot be decided"),
        ("resources.size()", "must be true or false, it is int"),
    ] {
        let seen = rendered(&[("Kptfile", &pipeline(when)), ("x.yaml", &resource("x"))]);
        assert!(seen.error().contains(error), "{}", seen.error());
        assert!(seen.calls.is_empty());
        let step = &seen.rendered.status.mutation_steps[0];
        assert!(step.exit_code == 1 && step.execution_error.contains(error));
        assert!(seen.rendered.results.items.is_empty());
    }
}

#[test]
fn validators_have_conditions_too() {
    let pipeline = kptfile("p", "validators:\n- exec: fail 1\n  when: 'false'");
    let seen = rendered(&[("Kptfile", &pipeline)]).succeeded();
    assert!(seen.rendered.status.validation_steps[0].skipped);
}

#[derive(Default)]
struct Lines(Vec<String>);

impl Watch for Lines {
    fn see(&mut self, event: Event<'_>) {
        self.0.push(match event {
            Event::Package { name } => format!("package {name}"),
            Event::Running(running) => {
                format!("running {} on {:?} of {:?}", running.function, running.selected, running.package)
            }
            Event::Skipped { function, when } => format!("skipped {function} by {when}"),
            Event::Passed { function, results, .. } => format!("passed {function} with {}", results.len()),
            Event::Failed { function, exit_code, .. } => format!("failed {function} with {exit_code:?}"),
            Event::PackageDone => "done".into(),
        });
    }
}

#[test]
fn whoever_watches_sees_it_all() {
    let inner = "mutators:\n- exec: mark f\n  when: 'false'\n- exec: tell info\n  selectors: [{kind: A}]";
    let package = package(&[
        ("Kptfile", &kptfile("p", "mutators:\n- exec: fail 3")),
        ("a/Kptfile", &kptfile("a", inner)),
        ("a/x.yaml", &resource("x")),
        ("b/Kptfile", &kptfile("b", "")),
    ]);
    let mut lines = Lines::default();
    wait(render(&package, &options(), &Functions::new(Way::Inside), &mut lines)).unwrap();
    assert_eq!(
        lines.0,
        [
            "package p/a",
            "skipped mark f by false",
            "running tell info on Some(1) of Some(\"p/a\")",
            "passed tell info with 1",
            "done",
            "package p/b",
            "package p",
            "running fail 3 on None of Some(\"p\")",
            "failed fail 3 with Some(3)",
        ]
    );
}
