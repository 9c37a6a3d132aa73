//! Which functions there are, and what finds them.

use lanai_functions::catalog;
use lanai_functions::catalog::find;
use lanai_functions::run_on_wire;

fn check(image: &str, expected: Option<&str>) {
    assert_eq!(find(image).map(lanai_functions::Function::name), expected, "{image}");
}

#[test]
fn functions_are_found_by_name_and_image() {
    check("set-namespace", Some("set-namespace"));
    check("set-namespace:v0.4.5", Some("set-namespace"));
    check("set-namespace:latest", Some("set-namespace"));
    check("gcr.io/kpt-fn/set-namespace:v0.4", Some("set-namespace"));
    check("ghcr.io/kptdev/krm-functions-catalog/set-namespace", Some("set-namespace"));
    check("set-namespace:v0.1.0", None);
    check("set-namespace@sha256:0000", None);
    check("example.com/set-namespace:v0.4.5", None);
    check("unknown", None);
    check("", None);
}

#[test]
fn names_are_sorted_and_nobody_has_the_name_of_another() {
    let names: Vec<_> = catalog().iter().map(|function| function.name()).collect();
    assert!(names.is_sorted(), "{names:?}");
    let aliases = catalog().iter().flat_map(|function| function.aliases());
    let mut all: Vec<_> = names.iter().chain(aliases).collect();
    all.sort();
    let len = all.len();
    all.dedup();
    assert_eq!(all.len(), len);
}

#[test]
fn an_unknown_name_and_an_unreadable_list_are_refused() {
    let answer = run_on_wire("unknown", "");
    assert_eq!((answer.exit_code, answer.stdout.as_str()), (1, ""));
    assert!(answer.stderr.starts_with("there is no function \"unknown\"; there are "), "{}", answer.stderr);
    let answer = run_on_wire("set-namespace", "a: [");
    assert_eq!((answer.exit_code, answer.stdout.as_str()), (1, ""));
    let answer = run_on_wire("set-namespace", "kind: Other\napiVersion: v1\n");
    assert_eq!(
        answer.stderr,
        "failed to evaluate function: a ResourceList of config.kubernetes.io/v1 or a List of v1 is expected, this is \"Other\" of \"v1\"\n"
    );
}

#[test]
fn a_text_without_content_is_an_empty_list() {
    let answer = run_on_wire("no-op", " \n");
    assert_eq!(answer.stdout, "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n");
    assert_eq!(answer.exit_code, 0);
}
