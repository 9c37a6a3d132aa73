//! Nothing that a package holds makes the function panic, or run for long.

use std::fmt::Write as _;

use lanai_functions::run_this_on_wire;
use lanai_krm::Resource;
use lanai_schema::{Limits, Schemas, UnknownFields, function};

/// A definition with this schema, and a resource of its kind.
fn list(schema: &str, spec: &str) -> String {
    let schema = schema.replace('\n', "\n          ");
    let spec = spec.replace('\n', "\n    ");
    format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- apiVersion: apiextensions.k8s.io/v1\n  kind: CustomResourceDefinition\n  \
         metadata: {{name: ws.example.com}}\n  spec:\n    group: example.com\n    scope: Cluster\n    names: {{kind: Widget, plural: ws}}\n    \
         versions:\n    - name: v1\n      served: true\n      storage: true\n      schema:\n        openAPIV3Schema:\n          {schema}\n- apiVersion: example.com/v1\n  \
         kind: Widget\n  metadata: {{name: w}}\n  spec:\n    {spec}\n"
    )
}

/// The messages of the results.
fn check(schema: &str, spec: &str) -> Vec<String> {
    let list = list(schema, spec);
    let answer = run_this_on_wire(function(), &list);
    assert!(!answer.stdout.is_empty(), "{}\n{list}", answer.stderr);
    let list = lanai_krm::ResourceList::parse(&answer.stdout).unwrap();
    list.results.into_iter().map(|result| result.message).collect()
}

#[test]
fn references_are_not_followed() {
    assert_eq!(
        check("type: object\nproperties:\n  spec: {$ref: '#'}", "{a: {a: 1}}"),
        [""; 0],
        "a schema that refers to itself says nothing"
    );
}

#[test]
fn keywords_of_the_wrong_shape_say_nothing_of_the_resource() {
    for keyword in [
        "type: [string]",
        "type: nonsense",
        "properties: 3",
        "properties: [a]",
        "required: {a: b}",
        "required: [1, [2]]",
        "items: 3",
        "enum: 3",
        "minimum: a",
        "maximum: []",
        "multipleOf: 0",
        "multipleOf: -1",
        "minLength: -1",
        "maxItems: 1.5",
        "pattern: [a]",
        "format: {a: b}",
        "allOf: {a: b}",
        "anyOf: []",
        "oneOf: []",
        "not: 3",
        "additionalProperties: 3",
        "nullable: maybe",
        "x-kubernetes-preserve-unknown-fields: 3",
    ] {
        let schemas = schemas_of(&format!("type: object\nproperties:\n  spec: {{{keyword}}}"));
        let resource = Resource::parse("apiVersion: example.com/v1\nkind: Widget\nspec: {a: 1}\n").unwrap();
        let checked = schemas.check(resource.root(), UnknownFields::Accepted, &Limits::default());
        assert_eq!(checked.findings, [], "{keyword}");
    }
}

fn schemas_of(schema: &str) -> Schemas {
    let list = lanai_krm::ResourceList::parse(&list(schema, "{}")).unwrap();
    Schemas::of(&list.items, &Limits::default())
}

#[test]
fn definitions_of_the_wrong_shape_define_nothing() {
    for spec in [
        "3",
        "[]",
        "{}",
        "{group: example.com}",
        "{group: 3, names: {kind: W}}",
        "{group: g, names: 3, versions: 3}",
        "{group: g, names: {kind: W}, versions: [1, {name: 2}, {name: v1, schema: 3}]}",
    ] {
        let text =
            format!("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec: {spec}\n");
        let definition = Resource::parse(&text).unwrap();
        assert_eq!(Schemas::of(&[definition], &Limits::default()).warnings(), [], "{spec}");
    }
}

#[test]
fn values_count_for_each_condition() {
    let conditions = vec!["{}"; 100].join(", ");
    let schemas = schemas_of(&format!(
        "type: object\nproperties:\n  spec:\n    type: array\n    items: {{anyOf: [{{type: string}}], allOf: [{conditions}]}}"
    ));
    let items = vec!["a"; 100].join(", ");
    let text = format!("apiVersion: example.com/v1\nkind: Widget\nspec: [{items}]\n");
    assert_eq!(messages(&schemas, &text, 11_000), [""; 0]);
    assert_eq!(
        messages(&schemas, &text, 10_000),
        ["has more than 10000 values to look at, and was not checked to the end"]
    );
}

#[test]
fn aliases_of_aliases_end() {
    let mut text = String::from("apiVersion: v1\nkind: List\nx0: &x0 {apiVersion: v1, kind: ConfigMap}\n");
    for level in 1..6 {
        let items = vec![format!("*x{}", level - 1); 10].join(", ");
        let _ = writeln!(text, "x{level}: &x{level} {{apiVersion: v1, kind: List, items: [{items}]}}");
    }
    text += "items: [*x5]\n";
    assert_eq!(
        messages(&schemas_of("type: object"), &text, 10_000),
        ["has more than 10000 values to look at, and was not checked to the end"]
    );
}

fn messages(schemas: &Schemas, text: &str, max_visits: usize) -> Vec<String> {
    let resource = Resource::parse(text).unwrap();
    let limits = Limits { max_visits, ..Limits::default() };
    let found = schemas.check(resource.root(), UnknownFields::Accepted, &limits).findings;
    found.into_iter().map(|finding| finding.message).collect()
}

#[test]
fn a_definition_made_of_aliases_ends() {
    let mut text = String::from(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nx0: &x0 {type: string}\n",
    );
    for level in 1..12 {
        let below = level - 1;
        let fields = format!("a: *x{below}, b: *x{below}, c: *x{below}");
        let _ = writeln!(text, "x{level}: &x{level} {{properties: {{{fields}}}}}");
    }
    text += "spec:\n  group: example.com\n  names: {kind: Widget}\n  versions:\n  - {name: v1, schema: {openAPIV3Schema: *x11}}\n";
    let schemas = Schemas::of(&[Resource::parse(&text).unwrap()], &Limits::default());
    assert_eq!(schemas.warnings().len(), 1, "the limit is noted once");
}

#[test]
fn circles_of_aliases_end() {
    let text = "apiVersion: v1\nkind: List\nitems: &items\n- apiVersion: v1\n  kind: List\n  items: *items\n";
    let resource = Resource::parse(text).unwrap();
    let schemas = schemas_of("type: object");
    let checked = schemas.check(resource.root(), UnknownFields::Refused, &Limits::default());
    assert!(
        checked.findings.iter().any(|finding| finding.message.contains("deeper")),
        "{:?}",
        checked.findings
    );
}

#[test]
fn patterns_on_long_texts_take_linear_time() {
    let found = check(
        "type: object\nproperties:\n  spec:\n    properties:\n      a: {type: string, pattern: '^(a+)+$'}",
        &format!("{{a: {}!}}", "a".repeat(100_000)),
    );
    assert_eq!(found.len(), 1);
    assert!(found[0].len() < 500, "long texts are cut");
}
