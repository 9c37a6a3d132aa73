//! Structural schemas: filling in, pruning, checking. What is said was compared with kube-apiserver 1.34.

use lanai_api::schema::{self, Limits};
use lanai_api::{FieldPath, Schema, cause};
use serde_json::{Value, json};

#[expect(clippy::needless_pass_by_value, reason = "what is written by `json!` is given away")]
fn parse(source: Value) -> Result<Schema, String> {
    schema::parse(&source, &FieldPath::from("at"), &Limits::default())
        .map_err(|causes| cause::joined(&causes))
}

/// The schema of an object whose field `a` is like this.
#[expect(clippy::needless_pass_by_value, reason = "what is written by `json!` is given away")]
fn field(source: Value) -> Value {
    json!({"type": "object", "properties": {"a": source}})
}

#[test]
fn schemas_that_are_not_structural_are_refused() {
    let check =
        |source: Value, expected: &str| assert_eq!(parse(source.clone()).unwrap_err(), expected, "{source}");
    check(
        field(json!({})),
        "at.properties[a].type: Required value: must not be empty for specified object fields",
    );
    check(json!({"type": "string"}), r#"at.type: Invalid value: "string": must be object at the root"#);
    check(json!({}), "at.type: Required value: must not be empty at the root");
    check(
        field(json!({"type": "strung"})),
        r#"at.properties[a].type: Unsupported value: "strung": supported values: "array", "boolean", "integer", "number", "object", "string""#,
    );
    check(
        field(json!({"type": "string", "$ref": "#/x"})),
        "at.properties[a].$ref: Forbidden: $ref is not supported",
    );
    check(
        field(
            json!({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
        ),
        "at.properties[a].additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
    );
    check(field(json!({"type": "array"})), "at.properties[a].items: Required value: must be specified");
    check(
        field(json!({"type": "array", "items": {}})),
        "at.properties[a].items.type: Required value: must not be empty for specified array items",
    );
    let list_map = |keys: Value, items: Value| {
        field(
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys, "items": items}),
        )
    };
    let named = json!({"type": "object", "properties": {"n": {"type": "string"}}});
    check(
        list_map(json!([]), named.clone()),
        "at.properties[a].x-kubernetes-list-map-keys: Required value: must not be empty if x-kubernetes-list-type is map",
    );
    check(
        list_map(json!(["k"]), named.clone()),
        r#"at.properties[a].x-kubernetes-list-map-keys: Invalid value: ["k"]: entries must all be names of item properties"#,
    );
    check(
        list_map(json!(["n"]), named.clone()),
        "at.properties[a].items.properties[n].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have \
         a default or be a required property",
    );
    check(
        field(json!({"type": "array", "x-kubernetes-list-type": "heap", "items": named})),
        r#"at.properties[a].x-kubernetes-list-type: Unsupported value: "heap": supported values: "atomic", "set", "map""#,
    );
    check(
        field(json!({"type": "array", "x-kubernetes-list-type": "set", "items": named})),
        "at.properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with \
         x-kubernetes-list-type=set",
    );
    check(
        field(json!({"type": "string", "anyOf": [{"type": "string"}]})),
        "at.properties[a].anyOf[0].type: Forbidden: must be empty to be structural",
    );
    check(
        json!({"type": "object", "anyOf": [{"properties": {"z": {"minimum": 1}}}]}),
        "at.properties[z]: Required value: because it is defined in at.anyOf[0].properties[z]",
    );
    check(
        field(json!({"type": "string", "default": 1})),
        r#"at.properties[a].default: Invalid value: "integer":  in body must be of type string: "integer""#,
    );
    check(
        field(json!({"type": "object", "properties": {"b": {"type": "string"}}, "default": {"z": 1}})),
        r#"at.properties[a].default: Invalid value: {"z":1}: must not have unknown fields"#,
    );
    check(
        json!({"type": "object", "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}}),
        "at.properties[metadata]: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly \
         specified",
    );
    check(
        field(json!({"type": "object", "x-kubernetes-embedded-resource": true})),
        "at.properties[a].properties: Required value: must not be empty if x-kubernetes-embedded-resource is true without \
         x-kubernetes-preserve-unknown-fields",
    );
}

#[test]
fn limits_of_schemas_have_edges() {
    let nested = |depth: usize| {
        (0..depth).fold(json!({"type": "string"}), |inner, _| json!({"type": "array", "items": inner}))
    };
    let limits = Limits { max_schema_depth: 4, max_schema_nodes: 6, ..Limits::default() };
    let read = |source: Value| {
        schema::parse(&source, &FieldPath::from("at"), &limits).map_err(|causes| cause::joined(&causes))
    };
    assert!(read(field(nested(3))).is_ok());
    let error = read(field(nested(4))).unwrap_err();
    assert!(error.contains("schemas may be nested 4 levels deep at most"), "{error}");
    let wide = |count: usize| {
        let fields: serde_json::Map<String, Value> =
            (0..count).map(|at| (at.to_string(), json!({"type": "string"}))).collect();
        json!({"type": "object", "properties": fields})
    };
    assert!(read(wide(5)).is_ok());
    assert_eq!(read(wide(6)).unwrap_err(), "at.properties[5]: Forbidden: a schema may have 6 parts at most");
}

#[test]
fn defaults_are_filled_in_where_their_object_is() {
    let schema = parse(json!({"type": "object", "properties": {
        "a": {"type": "string", "default": "x"},
        "o": {"type": "object", "properties": {"b": {"type": "integer", "default": 1}}},
        "p": {"type": "object", "default": {}, "properties": {"c": {"type": "boolean", "default": true}}},
        "l": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "string", "default": "y"}}}},
        "m": {"type": "object", "additionalProperties": {"type": "string", "default": "z"}},
        "n": {"type": "string", "nullable": true, "default": "n"},
    }}))
    .unwrap();
    let check = |mut value: Value, expected: Value| {
        schema::fill(&mut value, &schema);
        assert_eq!(value, expected);
    };
    check(json!({}), json!({"a": "x", "n": "n", "p": {"c": true}}));
    check(
        json!({"a": null, "n": null, "o": {}, "p": {"c": false}, "l": [{}, {"d": "k"}], "m": {"q": null, "r": "s"}}),
        json!({
            "a": "x", "n": null, "o": {"b": 1}, "p": {"c": false},
            "l": [{"d": "y"}, {"d": "k"}], "m": {"q": "z", "r": "s"},
        }),
    );
    check(json!({"o": null, "a": "q"}), json!({"a": "q", "n": "n", "p": {"c": true}}));
}

#[test]
fn what_is_not_described_is_removed_and_named() {
    let schema = parse(json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "a": {"type": "string"},
            "list": {"type": "array", "items": {"type": "object", "properties": {"b": {"type": "string"}}}},
            "map": {"type": "object", "additionalProperties": {"type": "object", "properties": {"c": {"type": "string"}}}},
            "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {
                "closed": {"type": "object"}}},
            "inner": {"type": "object", "x-kubernetes-embedded-resource": true, "properties": {"d": {"type": "string"}}},
            "any": {"x-kubernetes-preserve-unknown-fields": true},
            "number": {"x-kubernetes-int-or-string": true},
        }},
    }}))
    .unwrap();
    let mut object = json!({
        "apiVersion": "g/v1", "kind": "K", "metadata": {"name": "n", "nmae": "x", "labels": {"any": "thing"}},
        "spec": {
            "a": "1", "x": 1,
            "list": [{"b": "1"}, {"y": 2}],
            "map": {"k": {"c": "1", "z": 3}},
            "open": {"unknown": {"q": 1}, "closed": {"w": 1}},
            "inner": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "p", "v": 1}, "d": "1", "u": 1},
            "any": {"thing": [{"goes": 1}]},
            "number": "5",
        },
        "status": {},
    });
    let pruned = schema::prune(&mut object, &schema);
    let paths: Vec<&str> = pruned.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "metadata.nmae",
            "spec.x",
            "spec.list[1].y",
            "spec.map.k.z",
            "spec.open.closed.w",
            "spec.inner.metadata.v",
            "spec.inner.u",
            "status",
        ]
    );
    assert_eq!(pruned[1].message(), r#"unknown field "spec.x""#);
    assert_eq!(
        object["spec"],
        json!({
            "a": "1", "list": [{"b": "1"}, {}], "map": {"k": {"c": "1"}},
            "open": {"unknown": {"q": 1}, "closed": {}},
            "inner": {"apiVersion": "v1", "kind": "P", "metadata": {"name": "p"}, "d": "1"},
            "any": {"thing": [{"goes": 1}]}, "number": "5",
        })
    );
    assert!(schema::prune(&mut object, &schema).is_empty(), "once is enough");
}
