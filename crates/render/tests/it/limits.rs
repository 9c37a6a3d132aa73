//! Bounds, on their edges.

use std::time::Duration;

use async_trait::async_trait;
use lanai_evaluate::{Deadline, Error, Evaluator, Request, Response};
use lanai_render::{Options, RenderLimits, render};

use crate::rendering::{
    BREADTH_FIRST, Seen, annotated, kptfile, mutators, options, package, rendered_with, resource, wait,
};

fn within(files: &[(&str, &str)], limits: RenderLimits) -> Seen {
    rendered_with(files, &Options { limits, ..options() })
}

fn items(max_items: usize) -> RenderLimits {
    RenderLimits { max_items, ..RenderLimits::DEFAULT }
}

#[test]
fn packages_in_packages() {
    let (p, a, b) = (kptfile("p", ""), kptfile("a", ""), mutators("b", &["mark b"]));
    let files = [("Kptfile", p.as_str()), ("a/Kptfile", &a), ("a/x/b/Kptfile", &b)];
    let depth = |max_depth| RenderLimits { max_depth, ..RenderLimits::DEFAULT };
    assert_eq!(within(&files, depth(3)).succeeded().calls.len(), 1);
    let seen = within(&files, depth(2));
    assert_eq!(seen.error(), "packages are nested deeper than the 2 levels that are allowed");
    assert!(seen.calls.is_empty());
}

#[test]
fn resources_that_are_read() {
    let (p, a, x) = (mutators("p", &["nothing"]), kptfile("a", ""), resource("x"));
    let files = [("Kptfile", p.as_str()), ("x.yaml", &x), ("a/Kptfile", &a)];
    assert_eq!(within(&files, items(3)).succeeded().calls.len(), 1);
    let seen = within(&files, items(2));
    assert_eq!(seen.error(), "there are 3 resources, more than the 2 that are allowed");
    assert!(seen.calls.is_empty());
}

#[test]
fn resources_that_are_made_count_with_those_of_all_packages() {
    for root in [kptfile("p", ""), annotated(&kptfile("p", ""), BREADTH_FIRST)] {
        let (a, b) = (mutators("a", &["add n path=n.yaml", "add m path=m.yaml"]), kptfile("b", ""));
        let x = resource("x");
        let files = [("Kptfile", root.as_str()), ("a/Kptfile", &a), ("b/Kptfile", &b), ("b/x.yaml", &x)];
        assert_eq!(within(&files, items(6)).succeeded().rendered.items.len(), 6);
        let seen = within(&files, items(5));
        assert_eq!(seen.error(), "there are 6 resources, more than the 5 that are allowed");
    }
}

/// Looks at how long it has.
struct Asks;

#[async_trait]
impl Evaluator for Asks {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        assert_eq!(deadline.limit, Duration::from_secs(7));
        assert!(deadline.left() <= deadline.limit);
        Ok(Response { list: request.list, ..Response::default() })
    }
}

#[test]
fn functions_hear_how_long_they_have() {
    let limits = RenderLimits { max_function_time: Duration::from_secs(7), ..RenderLimits::DEFAULT };
    let package = package(&[("Kptfile", &mutators("p", &["some"]))]);
    let rendered = wait(render(&package, &Options { limits, ..options() }, &Asks, &mut ())).unwrap();
    assert_eq!(rendered.executed, 1);
}
