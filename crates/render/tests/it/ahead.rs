//! Functions that cannot run are named before any does.

use lanai_render::{Cause, ExecPolicy, Options};

use crate::rendering::{kptfile, mutators, options, rendered, rendered_with, resource, with_status};

const UNKNOWN: &str =
    "it is not one that comes with lanai, and there is nothing here that runs images in containers";

#[test]
fn all_that_cannot_run_are_named_with_their_lines_and_nothing_runs() {
    let root = kptfile("p", "mutators:\n- exec: mark p\n- exec: stranger one\n");
    let inner = kptfile("a", "mutators:\n- exec: mark a\nvalidators:\n- name: b\n  exec: cripple two\n");
    let files = [("Kptfile", root.as_str()), ("a/Kptfile", &inner), ("a/x.yaml", &resource("x"))];
    let seen = with_status(&files);
    assert!(seen.calls.is_empty(), "{:?}", seen.calls);
    assert_eq!(
        seen.error(),
        format!(
            "2 functions cannot run, and none did:\n  Kptfile:8: \"stranger one\": {UNKNOWN}\n  a/Kptfile:9: \"cripple two\": it has no legs"
        )
    );
    let failure = seen.rendered.outcome.failure().unwrap();
    assert!(matches!(&failure.cause, Cause::Unrunnable(all) if all.functions.len() == 2), "{failure:?}");
    let status = seen.kptfile().fields().status.clone().unwrap().render_status.unwrap();
    assert_eq!(status.mutation_steps[0].execution_error, UNKNOWN);
    assert_eq!(status.validation_steps[0].exec, "cripple two");
    assert_eq!(seen.text("a/x.yaml"), resource("x"));
}

#[test]
fn one_is_named_on_one_line() {
    let seen = rendered(&[("Kptfile", &mutators("p", &["mark p", "stranger"]))]);
    assert_eq!(
        seen.error(),
        format!("a function cannot run, and none did: Kptfile:8: \"stranger\": {UNKNOWN}")
    );
}

#[test]
fn a_function_that_never_runs_may_be_unknown() {
    let when = |condition: &str| {
        rendered(&[(
            "Kptfile",
            &kptfile("p", &format!("mutators:\n- exec: stranger\n  when: {condition}\n- exec: mark p\n")),
        )])
    };
    for never in ["'false'", "1 > 2"] {
        assert_eq!(when(never).succeeded().calls.len(), 1, "{never}");
    }
    for perhaps in ["'true'", "resources.size() > 9", "nonsense("] {
        let seen = when(perhaps);
        assert!(seen.calls.is_empty() && seen.error().contains("cannot run"), "{perhaps}: {}", seen.error());
    }
}

#[test]
fn a_range_without_a_tag_stops_all() {
    let pipeline = "mutators:\n- exec: mark p\n- image: a/b\n  tag: ~1.2\n";
    let seen = rendered(&[("Kptfile", &kptfile("p", pipeline))]);
    assert!(seen.calls.is_empty(), "{:?}", seen.calls);
    assert!(seen.error().contains("Kptfile:8: \"a/b\": no tag could be found matching"), "{}", seen.error());
}

#[test]
fn programs_that_may_not_run_stop_all() {
    let refused = Options { exec: ExecPolicy::Refused, ..options() };
    let files =
        [("Kptfile", &mutators("p", &["mark p"])), ("a/Kptfile", &kptfile("a", "mutators:\n- image: ok\n"))];
    let files = files.map(|(path, text)| (path, text.as_str()));
    let seen = rendered_with(&files, &refused);
    assert!(seen.error().contains("Kptfile:7: \"mark p\": must run with `--allow-exec`"), "{}", seen.error());
    assert!(seen.calls.is_empty(), "{:?}", seen.calls);
}
