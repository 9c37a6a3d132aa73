//! Every limit, on its edge.

use lanai_krm::Resource;
use lanai_schema::{Finding, Limits, Schemas, UnknownFields};

#[test]
fn findings_have_a_number() {
    let labels = |count: usize| {
        let labels: Vec<String> = (0..count).map(|at| format!("l{at}: {at}")).collect();
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{labels: {{{}}}}}\n", labels.join(", "))
    };
    let limits = Limits { max_findings: 5, ..Limits::default() };
    assert_eq!(check(&labels(5), "", &limits).len(), 5);
    let found = check(&labels(6), "", &limits);
    assert_eq!(found.len(), 6);
    assert_eq!(found[5].to_string(), "there is more: only the first 5 are listed");
    assert_eq!(check(&labels(1000), "", &limits).len(), 6);
}

#[test]
fn resources_have_a_depth() {
    // `metadata`, `labels` and the label are three levels.
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: 1}}\n";
    let at = |max_depth: usize| check(text, "", &Limits { max_depth, ..Limits::default() });
    assert_eq!(at(3)[0].to_string(), "metadata.labels.a: got number, want null or string");
    assert_eq!(at(2)[0].to_string(), "metadata.labels.a: stands deeper than 2 levels, and was not checked");
}

#[test]
fn visits_have_a_number() {
    // The resource, three fields, and two labels with the mapping that holds them.
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {labels: {a: b, c: d}}\n";
    let at = |max_visits: usize| check(text, "", &Limits { max_visits, ..Limits::default() });
    assert_eq!(at(7), []);
    assert_eq!(at(6)[0].to_string(), "has more than 6 values to look at, and was not checked to the end");
}

#[test]
fn schemas_have_a_depth() {
    let spec = "properties: {a: {properties: {b: {type: string}}}}";
    let limits = |max_schema_depth| Limits { max_schema_depth, ..Limits::default() };
    let text = "apiVersion: example.com/v1\nkind: Widget\nspec: {a: {b: 1}}\n";
    // The root, the spec, `a` and `b`.
    assert_eq!(check(text, spec, &limits(3))[0].to_string(), "spec.a.b: got number, want string");
    assert_eq!(check(text, spec, &limits(2)), []);
    let warnings = warnings(spec, &limits(2));
    assert_eq!(
        warnings,
        [
            "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.a.properties.b: is deeper than 2 schemas, and is not checked"
        ]
    );
}

#[test]
fn schemas_have_a_number() {
    let spec = "properties: {a: {type: string}, b: {type: string}}";
    let limits = |max_schema_nodes| Limits { max_schema_nodes, ..Limits::default() };
    let text = "apiVersion: example.com/v1\nkind: Widget\nspec: {a: 1, b: 1}\n";
    assert_eq!(check(text, spec, &limits(4)).len(), 2);
    assert_eq!(warnings(spec, &limits(4)), [""; 0]);
    assert_eq!(check(text, spec, &limits(3)).len(), 1);
    let warnings = warnings(spec, &limits(3));
    assert_eq!(
        warnings,
        [
            "spec.versions.0.schema.openAPIV3Schema.properties.spec.properties.b: there are more than 3 schemas: the others are not checked"
        ]
    );
}

#[test]
fn patterns_have_a_size() {
    let spec = "properties: {a: {type: string, pattern: '^[a-z]{50}$'}}";
    let text = "apiVersion: example.com/v1\nkind: Widget\nspec: {a: b}\n";
    let limits = |max_pattern_bytes| Limits { max_pattern_bytes, ..Limits::default() };
    assert_eq!(check(text, spec, &limits(1 << 20)).len(), 1);
    assert_eq!(check(text, spec, &limits(1 << 8)), []);
    assert_eq!(warnings(spec, &limits(1 << 8)).len(), 1);
}

fn check(text: &str, spec: &str, limits: &Limits) -> Vec<Finding> {
    let schemas = Schemas::of(&[definition(spec)], limits);
    let resource = Resource::parse(text).unwrap();
    schemas.check(resource.root(), UnknownFields::Accepted, limits).findings
}

fn warnings(spec: &str, limits: &Limits) -> Vec<String> {
    let schemas = Schemas::of(&[definition(spec)], limits);
    schemas.warnings().iter().map(|warning| warning.finding.to_string()).collect()
}

/// The definition of a kind whose spec has this schema.
fn definition(spec: &str) -> Resource {
    Resource::parse(&format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: example.com\n  names: {{kind: Widget}}\n  \
         versions:\n  - name: v1\n    schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {{{spec}}}}}}}}}\n"
    ))
    .unwrap()
}
