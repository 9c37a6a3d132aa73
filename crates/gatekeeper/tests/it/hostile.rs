//! Policies that want too much, and lists of every wrong shape: an answer comes.

use std::time::Duration;

use lanai_functions::Function;
use lanai_gatekeeper::{Gatekeeper, Limits};
use lanai_krm::{Resource, ResourceList};

/// What a policy fails with, if it does.
fn run(rego: &str, limits: Limits) -> Result<(), String> {
    let indented = rego.trim_end().replace('\n', "\n      ");
    let template = format!(
        "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\nmetadata:\n  name: some\nspec:\n  crd:\n    spec:\n      \
         names:\n        kind: Some\n  targets:\n  - target: admission.k8s.gatekeeper.sh\n    rego: |\n      {indented}\n"
    );
    let constraint = "apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: Some\nmetadata:\n  name: one\n";
    list([&template, constraint], limits)
}

fn list<'a>(items: impl IntoIterator<Item = &'a str>, limits: Limits) -> Result<(), String> {
    let items = items.into_iter().map(|item| Resource::parse(item).unwrap()).collect();
    let mut list = ResourceList { items, ..ResourceList::default() };
    Gatekeeper { limits }.run(&mut list).map_err(|failure| failure.message)
}

const SLOW: &str = "package a\nviolation[{\"msg\": \"m\"}] {\n  x := numbers.range(1, 300)\n  y := numbers.range(1, 300)\n  count([z | z := x[_] + y[_]]) < 0\n}\n";

#[test]
fn a_policy_that_takes_too_long_is_stopped() {
    let message = run(SLOW, Limits { max_time: Duration::ZERO, ..Limits::DEFAULT }).unwrap_err();
    assert!(message.starts_with("constraint \"one\" takes more than 0 ms for "), "{message}");
    assert!(message.ends_with("(max_time)"), "{message}");
    assert_eq!(run(SLOW, Limits { max_time: Duration::from_mins(10), ..Limits::DEFAULT }), Ok(()));
}

#[test]
fn comprehensions_without_an_end_are_stopped() {
    let limits = Limits { max_time: Duration::from_millis(50), ..Limits::DEFAULT };
    for body in [
        "x := numbers.range(1, 3000)\n  count([1 | x[_]; x[_]; x[_]]) > 0",
        "x := numbers.range(1, 3000)\n  count({y | y := x[_] + x[_] + x[_]}) > 0",
        "x := numbers.range(1, 3000)\n  count({y: 1 | y := x[_] + x[_] + x[_]}) > 0",
        "x := numbers.range(1, 3000)\n  x[_] + x[_] + x[_] < 0",
    ] {
        let message =
            run(&format!("package a\nviolation[{{\"msg\": \"m\"}}] {{\n  {body}\n}}\n"), limits).unwrap_err();
        assert!(message.ends_with("(max_time)"), "{body}: {message}");
    }
}

#[test]
fn messages_have_at_most_so_many_bytes() {
    let rego = "package a\nviolation[{\"msg\": msg}] {\n  x := numbers.range(1, 100)\n  msg := sprintf(\"%v%v\", [x[_], x])\n}\n";
    assert!(run(rego, Limits::DEFAULT).unwrap_err().contains("violatedConstraint"));
    let message = run(rego, Limits { max_output: 1_000, ..Limits::DEFAULT }).unwrap_err();
    assert_eq!(message, "constraint \"one\": the policies say more than 1000 bytes (max_output)");
    // One message about each of the two resources that there are.
    let one = "package a\nviolation[{\"msg\": \"m\"}] { true }\n";
    let len = 2 * "m\nviolatedConstraint: one".len();
    assert!(run(one, Limits { max_output: len, ..Limits::DEFAULT }).unwrap_err().starts_with("m\n"));
    assert!(
        run(one, Limits { max_output: len - 1, ..Limits::DEFAULT }).unwrap_err().ends_with("(max_output)")
    );
}

#[test]
fn patterns_that_take_other_engines_forever_are_answered() {
    for pattern in ["(a+)+$", "(a|aa)+$", "(a|a?)+$", "(.*)*=", "(a*)*b"] {
        let rego = format!(
            "package a\nviolation[{{\"msg\": \"m\"}}] {{\n  x := concat(\"\", [y | numbers.range(1, 5000)[_]; y := \"a\"])\n  \
             regex.match(\"{pattern}\", concat(\"\", [x, \"!\"]))\n  false\n}}\n"
        );
        assert_eq!(run(&rego, Limits::DEFAULT), Ok(()), "{pattern}");
    }
    let bomb =
        "package a\nviolation[{\"msg\": \"m\"}] { regex.match(\"(((a{100}){100}){100}){100}\", \"a\") }\n";
    // Whether that is an error or no match is up to the engine; that there is an answer is ours.
    let _ = run(bomb, Limits::DEFAULT);
}

#[test]
fn rego_has_at_most_so_many_bytes() {
    let rego = "package a\nviolation[{\"msg\": \"m\"}] { false }\n";
    assert_eq!(run(rego, Limits { max_source: rego.len(), ..Limits::DEFAULT }), Ok(()));
    let message = run(rego, Limits { max_source: rego.len() - 1, ..Limits::DEFAULT }).unwrap_err();
    assert!(message.ends_with(&format!("at most {} are accepted (max_source)", rego.len() - 1)), "{message}");
}

#[test]
fn rego_of_every_wrong_shape_is_refused_without_a_panic() {
    let deep = format!("package a\nviolation[x] {{ x := {}1{} }}", "[".repeat(20_000), "]".repeat(20_000));
    let long = format!("package a\nviolation[x] {{ x := {}1 }}", "1 + ".repeat(20_000));
    let edge = format!("package a\nviolation[x] {{ x := {}1{} }}", "[".repeat(11), "]".repeat(11));
    let braces = format!("package a\nviolation[x] {{ x := {}1{} }}", "{".repeat(11), "}".repeat(11));
    let round = format!("package a\nviolation[x] {{ x := {}1{} }}", "(".repeat(11), ")".repeat(11));
    let long_edge = format!("package a\nviolation[x] {{ x := {}1 }}", "1 + ".repeat(500));
    let endless = "package a\nviolation[{\"msg\": \"m\"}] { f(1) }\nf(x) { f(x) }";
    let strange = [
        "",
        "package",
        "package a",
        "package a\nviolation = 1",
        "package a\nviolation[",
        &deep,
        &long,
        &edge,
        &braces,
        &round,
        &long_edge,
        endless,
    ];
    for rego in strange {
        let _ = run(rego, Limits::DEFAULT);
    }
    let rules = "package a\nviolation[{\"msg\": \"m\"}] { b }\nb { c }\nc { b }";
    assert!(run(rules, Limits::DEFAULT).is_err());
    let message = run(endless, Limits::DEFAULT).unwrap_err();
    assert!(message.ends_with("the function \"f\" calls itself"), "{message}");
    let texts = "package a\nviolation[x] { x := 1 }";
    let message = run(texts, Limits::DEFAULT).unwrap_err();
    assert!(message.ends_with("a violation has a text \"msg\", this one has none"), "{message}");
}

#[test]
fn templates_and_constraints_of_every_wrong_shape_are_refused_without_a_panic() {
    const VALUES: &[&str] = &["null", "x", "7", "[]", "[a, {b: c}]", "{}", "{a: {b: c}}"];
    for value in VALUES {
        for path in ["spec", "spec:\n  crd", "spec:\n  targets", "metadata"] {
            let template = format!(
                "apiVersion: templates.gatekeeper.sh/v1\nkind: ConstraintTemplate\n{path}: {value}\n"
            );
            let message = list([template.as_str()], Limits::DEFAULT).unwrap_err();
            assert!(message.starts_with("adding template \""), "{message}");
        }
        for path in ["spec", "spec:\n  match", "spec:\n  match:\n    kinds", "metadata"] {
            let constraint =
                format!("apiVersion: constraints.gatekeeper.sh/v1\nkind: Some\n{path}: {value}\n");
            let message = list([constraint.as_str()], Limits::DEFAULT).unwrap_err();
            assert!(message.starts_with("adding constraint \""), "{message}");
        }
    }
}
