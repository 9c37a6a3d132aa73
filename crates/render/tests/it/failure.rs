//! What is left when something fails.

use lanai_render::Outcome;

use crate::rendering::{
    BREADTH_FIRST, SAVE, Seen, annotated, kptfile, mutators, options, refused, rendered, rendered_with,
    resource,
};

fn validators(name: &str, mutators: &[&str], validators: &[&str]) -> String {
    let list = |title: &str, execs: &[&str]| {
        let lines = execs.iter().map(|exec| format!("- exec: {exec}\n")).collect::<Vec<_>>().concat();
        if lines.is_empty() { String::new() } else { format!("{title}:\n{lines}") }
    };
    kptfile(name, &format!("{}{}", list("mutators", mutators), list("validators", validators)))
}

/// A tree of four packages: the root, `a`, `a/d` in it, and `b`.
fn tree(root: &str, a: &str, d: &str, b: &str) -> Seen {
    rendered(&[
        ("Kptfile", root),
        ("r.yaml", &resource("r")),
        ("a/Kptfile", a),
        ("a/x.yaml", &resource("x")),
        ("a/d/Kptfile", d),
        ("a/d/y.yaml", &resource("y")),
        ("b/Kptfile", b),
        ("b/z.yaml", &resource("z")),
    ])
}

/// Who marked the resources of the root, of `a`, of `a/d` and of `b`.
fn marks(seen: &Seen) -> [String; 4] {
    ["r.yaml", "a/x.yaml", "a/d/y.yaml", "b/z.yaml"].map(|path| seen.by(path))
}

#[test]
fn validators_see_the_outcome_and_change_nothing() {
    let pipeline = validators("p", &["mark m"], &["mark v", "delete x", "tell warning"]);
    let seen = rendered(&[("Kptfile", &pipeline), ("x.yaml", &resource("x"))]).succeeded();
    assert_eq!(seen.calls, ["mark m: p x", "mark v: p x", "delete x: p x", "tell warning: p x"]);
    assert_eq!(seen.by("x.yaml"), "m");
    assert_eq!(seen.rendered.executed, 4);
}

#[test]
fn what_a_validator_answers_is_checked() {
    let seen = rendered(&[("Kptfile", &validators("p", &[], &["add n path=../n.yaml"]))]);
    assert!(seen.error().contains("outside of package"), "{}", seen.error());
    assert_eq!(seen.rendered.status.validation_steps[0].exit_code, 1);
}

#[test]
fn a_failure_leaves_the_package_as_it_was() {
    let fails = mutators("p", &["mark p", "fail 1", "mark q"]);
    let by_validator = validators("p", &["mark p"], &["fail 1", "mark q"]);
    for root in [annotated(&fails, BREADTH_FIRST), fails, by_validator] {
        let seen = tree(&root, &mutators("a", &["mark a"]), &kptfile("d", ""), &kptfile("b", ""));
        assert!(matches!(seen.rendered.outcome, Outcome::Failed(_)));
        assert_eq!(marks(&seen), ["", "", "", ""]);
        assert!(!seen.calls.iter().any(|call| call.starts_with("mark q")));
        assert!(seen.rendered.items.is_empty());
    }
}

#[test]
fn a_failing_mutator_keeps_what_was_before_it() {
    let root = annotated(&mutators("p", &["mark p", "fail 1", "mark q"]), SAVE);
    let seen = tree(&root, &mutators("a", &["mark a"]), &kptfile("d", ""), &mutators("b", &["mark b"]));
    assert!(matches!(seen.rendered.outcome, Outcome::Partial(_)));
    assert_eq!(marks(&seen), ["p", "a p", "a p", "b p"]);
    assert!(seen.rendered.items.is_empty());
}

#[test]
fn a_failing_validator_keeps_what_all_mutators_did() {
    let root = annotated(&validators("p", &["mark p"], &["mark v", "fail 1"]), SAVE);
    let seen = tree(&root, &kptfile("a", ""), &kptfile("d", ""), &kptfile("b", ""));
    assert_eq!(marks(&seen), ["p", "p", "p", "p"]);
}

#[test]
fn a_failing_inner_package_keeps_what_was_done_so_far() {
    let root = annotated(&mutators("p", &["mark p"]), SAVE);
    let [a, d, b] = ["a", "d", "b"].map(|name| mutators(name, &[&format!("mark {name}")]));
    let [a_fails, d_fails, b_fails] =
        ["a", "d", "b"].map(|name| mutators(name, &[&format!("mark {name}"), "fail 1"]));
    // Depth first: d, a, b, root.
    assert_eq!(marks(&tree(&root, &a, &d, &b_fails)), ["", "a", "d a", "b"]);
    assert_eq!(marks(&tree(&root, &a_fails, &d, &b)), ["", "a", "d a", ""]);
    // Two levels below the root.
    assert_eq!(marks(&tree(&root, &a, &d_fails, &b)), ["", "", "d", ""]);
    // Breadth first: root, a, b, d.
    let root = annotated(&root, BREADTH_FIRST);
    assert_eq!(marks(&tree(&root, &a_fails, &d, &b)), ["p", "p a", "p a", "p"]);
    assert_eq!(marks(&tree(&root, &a, &d_fails, &b)), ["p", "p a", "p a d", "p b"]);
    let checked = validators("a", &["mark a"], &["fail 1"]);
    assert_eq!(marks(&tree(&root, &checked, &d, &b)), ["p", "p a", "p a", "p"]);
}

#[test]
fn what_is_kept_deletes_no_file() {
    let functions = ["delete x", "delete a", "annotate m path=n.yaml", "add new path=new.yaml", "fail 1"];
    let seen = rendered(&[
        ("Kptfile", &annotated(&mutators("p", &functions), SAVE)),
        ("x.yaml", &resource("x")),
        ("m.yaml", &resource("m")),
        ("two.yaml", &format!("{}---\n{}", resource("a"), resource("b"))),
    ]);
    assert_eq!(seen.files(), ["Kptfile", "m.yaml", "n.yaml", "new.yaml", "two.yaml", "x.yaml"]);
    assert_eq!(seen.text("two.yaml"), resource("b"));
    assert_eq!((seen.text("m.yaml"), seen.text("n.yaml")), (resource("m"), resource("m")));
}

#[test]
fn a_failure_before_any_function_keeps_the_package_as_it_was() {
    let pipeline = kptfile("p", "mutators:\n- exec: mark p\n- image: a\n  tag: '>9'");
    let seen = rendered(&[("Kptfile", &annotated(&pipeline, SAVE)), ("x.yaml", &resource("x"))]);
    assert!(matches!(seen.rendered.outcome, Outcome::Partial(_)));
    assert!(seen.calls.is_empty());
    assert_eq!(seen.by("x.yaml"), "");
}

#[test]
fn the_annotation_counts_on_the_root_only() {
    let inner = annotated(&mutators("a", &["mark a", "fail 1"]), SAVE);
    let seen = tree(&kptfile("p", ""), &inner, &kptfile("d", ""), &kptfile("b", ""));
    assert!(matches!(seen.rendered.outcome, Outcome::Failed(_)));
}

#[test]
fn bad_functions_stop_those_before_them_and_are_all_told() {
    let options = lanai_render::Options { exec: lanai_render::ExecPolicy::Refused, ..options() };
    let pipeline = "mutators:\n- image: ok\n- image: bad\n  tag: '>9'\nvalidators:\n- exec: some";
    let seen = rendered_with(&[("Kptfile", &kptfile("p", pipeline))], &options);
    assert!(seen.calls.is_empty());
    let status = &seen.rendered.status;
    let no_tag = "no tag could be found matching the version constraint \">9\"";
    let no_exec = "must run with `--allow-exec` option to allow running function binaries";
    assert_eq!(status.mutation_steps[0].execution_error, no_tag);
    assert_eq!(status.validation_steps[0].execution_error, no_exec);
    assert_eq!(status.error_summary, format!("bad: {no_tag}\nsome: {no_exec}"));
    let told = format!("Kptfile:8: \"bad\": {no_tag}\n  Kptfile:11: \"some\": {no_exec}");
    assert_eq!(seen.error(), format!("2 functions cannot run, and none did:\n  {told}"));
    assert_eq!((seen.rendered.results.items.len(), seen.rendered.results.exit_code()), (0, 0));
}

#[test]
fn messages_name_the_packages_that_lead_there() {
    let handled = "already handled error";
    let none = |name| kptfile(name, "");
    let fails = |name| mutators(name, &["fail 1"]);
    let (p, bfs) = (none("p"), annotated(&none("p"), BREADTH_FIRST));
    let (a, d, b) = (none("a"), none("d"), none("b"));
    let no_function = "Kptfile is invalid:\nField: `pipeline.mutators[0]`\nReason: must specify a functon (`image` or `exec`) to execute\n";
    let two_functions = "Kptfile is invalid:\nField: `pipeline.validators[0]`\nReason: must not specify both `image` and `exec` at the same time\n";
    for (seen, message) in [
        (tree(&fails("p"), &a, &d, &b), format!("pkg .:\n\tpipeline.run: {handled}")),
        (tree(&p, &fails("a"), &d, &b), format!("pkg ./a:\n\tpipeline.run: {handled}")),
        (tree(&p, &a, &fails("d"), &b), format!("pkg ./a:\n\tpkg ./a/d:\n\tpipeline.run: {handled}")),
        (tree(&bfs, &a, &fails("d"), &b), format!("pkg .:\n\tpipeline.run: pkg ./a/d: {handled}")),
        (
            tree(&annotated(&fails("p"), BREADTH_FIRST), &a, &d, &b),
            format!("pkg .:\n\tpipeline.run: {handled}"),
        ),
        (tree(&p, &mutators("a", &["die"]), &d, &b), format!("pkg ./a:\n\tpipeline.run: {handled}")),
        (
            tree(&p, &mutators("a", &["missing"]), &d, &b),
            "pkg ./a:\n\tpipeline.run: cannot run \"missing\"".into(),
        ),
        (
            tree(&p, &a, &kptfile("d", "mutators:\n- {}"), &b),
            format!("pkg ./a:\n\tpkg ./a/d:\n\tpkg.read: invalid pipeline: function \"\": {no_function}"),
        ),
        (
            tree(&bfs, &kptfile("a", "validators:\n- image: i\n  exec: e"), &d, &b),
            format!("pkg .:\n\tpkg.read: pkg ./a: invalid pipeline: function \"i\": {two_functions}"),
        ),
    ] {
        assert_eq!(seen.message(), format!("pkg.render: {message}"));
    }
    let broken = "kind: none\n";
    for (seen, outer, at) in
        [(tree(&p, &a, broken, &b), "./a", "./a/d"), (tree(&p, broken, &d, &b), ".", "./a")]
    {
        let text = format!(
            "pkg.render: pkg {outer}:\n\tpkg.Subpackages: pkg {at}: error reading Kptfile at \"{at}\": "
        );
        assert!(seen.message().starts_with(&text), "{}", seen.message());
    }
}

#[test]
fn inner_packages_are_looked_at_when_their_turn_comes() {
    let wrong = kptfile("b", "mutators:\n- {}");
    let (p, a, d) = (kptfile("p", ""), mutators("a", &["mark a"]), kptfile("d", ""));
    // `a` runs before `b` is looked at; a Kptfile that cannot be read stops its siblings, too.
    assert_eq!(tree(&p, &a, &d, &wrong).calls, ["mark a: a x d y"]);
    assert!(tree(&p, &a, &d, "kind: none\n").calls.is_empty());
    assert!(tree(&annotated(&p, BREADTH_FIRST), &a, &d, &wrong).calls.is_empty());
}

#[test]
fn a_root_that_cannot_be_opened_is_an_error() {
    let unknown = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\nnew: 1\n";
    for text in ["kind: none\n", unknown] {
        assert!(matches!(refused(&[("Kptfile", text)]), lanai_render::Error::Kptfile(_)));
    }
    let invalid = refused(&[("Kptfile", &kptfile("p", "mutators:\n- {}"))]);
    assert!(matches!(invalid, lanai_render::Error::Invalid(_)));
    let missing = refused(&[("x.yaml", "a: 1\n")]);
    assert!(matches!(missing, lanai_render::Error::Kptfile(lanai_krm::kptfile::Error::NotFound)));
}

#[test]
fn a_render_that_is_called_off_calls_no_function() {
    let options = options();
    options.cancel.cancel();
    let seen = rendered_with(&[("Kptfile", &mutators("p", &["mark p"]))], &options);
    assert!(seen.calls.is_empty());
    assert_eq!(seen.error(), "function was called off");
}

/// Functions of which some can be run again for nothing.
struct Repeatable(crate::functions::Functions);

#[async_trait::async_trait]
impl lanai_evaluate::Evaluator for Repeatable {
    async fn evaluate(
        &self,
        request: lanai_evaluate::Request,
        deadline: &lanai_evaluate::Deadline,
    ) -> Result<lanai_evaluate::Response, lanai_evaluate::Error> {
        self.0.evaluate(request, deadline).await
    }

    fn is_repeatable(&self, function: &lanai_evaluate::FunctionRef) -> bool {
        !function.as_str().ends_with("once")
    }
}

#[test]
fn what_a_function_got_that_failed_is_known_whether_it_was_kept_or_not() {
    let inner = mutators("a", &["mark a"]);
    for (second, calls) in [("mark b", 7), ("mark once", 4)] {
        let root = mutators("p", &[second, "set x new", "fail 1"]);
        let files = [("Kptfile", root.as_str()), ("a/Kptfile", &inner), ("a/x.yaml", &resource("x"))];
        let functions = Repeatable(crate::functions::Functions::new(crate::functions::Way::Inside));
        let package = crate::rendering::package(&files);
        let rendered =
            crate::rendering::wait(lanai_render::render(&package, &options(), &functions, &mut ())).unwrap();
        let Some(lanai_render::Cause::Function(failure)) =
            rendered.outcome.failure().map(|failure| &failure.cause)
        else {
            panic!("{:?}", rendered.outcome);
        };
        let input = failure.input.as_ref().expect("it is known");
        let x = input.items.iter().find(|item| item.name().is_some_and(|name| name == "x")).unwrap();
        let text = x.to_string();
        assert!(
            text.contains("value: new # kept") && text.contains(&second.replace("mark", "by: a")),
            "{text}"
        );
        // Those before it run again where it was not kept.
        assert_eq!(functions.0.calls().len(), calls, "{:?}", functions.0.calls());
        assert_eq!(rendered.results.items.len(), 4);
    }
}
