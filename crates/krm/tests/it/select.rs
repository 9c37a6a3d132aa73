//! Which resources a function sees.

use lanai_krm::select::selected;
use lanai_krm::{Resource, Selector};

const RESOURCES: &str = "\
{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: x, labels: {app: web, tier: 1}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: b, annotations: {k: v}}}
---
{apiVersion: v1, kind: Service, metadata: {name: a, namespace: x}}
---
{kind: Odd}
";

fn selectors(text: &str) -> Vec<Selector> {
    let document = lanai_yaml::Document::parse(text).unwrap();
    document.root().deserialize().unwrap()
}

#[test]
fn selection() {
    let resources = Resource::parse_stream(RESOURCES).unwrap();
    let check = |include: &str, exclude: &str, expected: &[usize]| {
        let found = selected(&resources, &selectors(include), &selectors(exclude));
        assert_eq!(found, expected, "{include} but {exclude}");
    };
    check("[]", "[]", &[0, 1, 2, 3]);
    check("[{}]", "[]", &[0, 1, 2, 3]);
    check("[{kind: Deployment}]", "[]", &[0, 1]);
    check("[{kind: Deploy}]", "[]", &[]);
    check("[{kind: 'Deploy*'}]", "[]", &[]);
    check("[{apiVersion: apps/v1, name: a}]", "[]", &[0]);
    check("[{apiVersion: apps}]", "[]", &[]);
    check("[{namespace: x}]", "[]", &[0, 2]);
    check("[{labels: {app: web}}]", "[]", &[0]);
    check("[{labels: {app: web, tier: '1'}}]", "[]", &[0]);
    check("[{labels: {app: web, tier: '2'}}]", "[]", &[]);
    check("[{annotations: {k: v}}]", "[]", &[1]);
    check("[{kind: Service}, {name: a}]", "[]", &[0, 2]);
    check("[]", "[{kind: Deployment}]", &[2, 3]);
    check("[]", "[{}]", &[0, 1, 2, 3]);
    check("[]", "[{kind: Odd}, {name: b}]", &[0, 2]);
    check("[{name: a}]", "[{kind: Service}]", &[0]);
    check("[{name: a}]", "[{name: a}]", &[]);
}
