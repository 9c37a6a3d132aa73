//! Schemas as the documents have them.

use serde_json::{Map, Value, json};

use super::Dialect;
use crate::schema::{Additional, ListKind, MapKind, PatchKeys, PatchList, Schema, Type, Unknown, built_in};

/// Whether a schema is written out, or named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is a definition itself.
    Definition,
    /// It stands inside of one.
    Inside,
}

/// A schema; those of Kubernetes's types that it leads to are added to the definitions.
pub(super) fn of_schema(
    schema: &Schema,
    dialect: Dialect,
    definitions: &mut Map<String, Value>,
    place: Place,
) -> Value {
    if let (Some(id), Place::Inside) = (schema.reference, place) {
        let name = lanai_openapi::built_in().get(id).name();
        if !definitions.contains_key(name) {
            // Types can lead to themselves: the name is taken before the type is written.
            definitions.insert(name.to_owned(), Value::Null);
            let written = of_schema(schema, dialect, definitions, Place::Definition);
            definitions.insert(name.to_owned(), written);
        }
        return dialect.reference(name);
    }
    let here = schema.resolved();
    let mut out = Map::new();
    match here.kind {
        Type::Any => {}
        Type::Quantity => {
            out.insert("type".to_owned(), "string".into());
        }
        Type::IntOrString => {
            out.insert("type".to_owned(), "string".into());
            out.insert("format".to_owned(), "int-or-string".into());
        }
        Type::Object | Type::Array | Type::String | Type::Integer | Type::Number | Type::Boolean => {
            out.insert("type".to_owned(), here.kind.name().into());
        }
    }
    if let Some(format) = &here.checks.format_name {
        out.insert("format".to_owned(), format.as_str().into());
    }
    if !here.required.is_empty() {
        out.insert("required".to_owned(), here.required.clone().into());
    }
    if !here.properties.is_empty() {
        let mut properties = Map::new();
        for (name, property) in &here.properties {
            properties.insert(name.clone(), of_schema(property, dialect, definitions, Place::Inside));
        }
        out.insert("properties".to_owned(), properties.into());
    }
    if let Some(Additional::Like(values)) = &here.additional {
        out.insert("additionalProperties".to_owned(), of_schema(values, dialect, definitions, Place::Inside));
    }
    if let Some(items) = &here.items {
        out.insert("items".to_owned(), of_schema(items, dialect, definitions, Place::Inside));
    }
    if here.unknown == Unknown::Kept {
        out.insert("x-kubernetes-preserve-unknown-fields".to_owned(), true.into());
    }
    merging(schema, here, &mut out);
    Value::Object(out)
}

/// How a value merges.
fn merging(schema: &Schema, here: &Schema, out: &mut Map<String, Value>) {
    match &here.list {
        None => {}
        Some(ListKind::Atomic) => {
            out.insert("x-kubernetes-list-type".to_owned(), "atomic".into());
        }
        Some(ListKind::Set) => {
            out.insert("x-kubernetes-list-type".to_owned(), "set".into());
        }
        Some(ListKind::Map(keys)) => {
            out.insert("x-kubernetes-list-type".to_owned(), "map".into());
            out.insert("x-kubernetes-list-map-keys".to_owned(), keys.clone().into());
        }
    }
    if here.map == Some(MapKind::Atomic) {
        out.insert("x-kubernetes-map-type".to_owned(), "atomic".into());
    }
    let strategy = match (&schema.patch.list, schema.patch.keys) {
        (PatchList::Replaced, PatchKeys::Merged) => return,
        (PatchList::Replaced, PatchKeys::Retained) => "retainKeys",
        (PatchList::Set | PatchList::Key(_), PatchKeys::Merged) => "merge",
        (PatchList::Set | PatchList::Key(_), PatchKeys::Retained) => "merge,retainKeys",
    };
    out.insert("x-kubernetes-patch-strategy".to_owned(), strategy.into());
    if let PatchList::Key(key) = &schema.patch.list {
        out.insert("x-kubernetes-patch-merge-key".to_owned(), key.as_str().into());
    }
}

/// The metadata of every object.
pub(super) fn of_metadata(dialect: Dialect, definitions: &mut Map<String, Value>) -> Value {
    let object = built_in::of_kind("", "v1", "ConfigMap");
    let field = object.as_ref().and_then(|object| object.field("metadata"));
    field.map_or_else(
        || json!({"type": "object"}),
        |metadata| of_schema(metadata, dialect, definitions, Place::Inside),
    )
}

/// The schema of a custom resource without what v2 cannot say.
pub(super) fn for_v2(source: &Value) -> Value {
    const UNKNOWN: [&str; 4] = ["nullable", "oneOf", "anyOf", "not"];
    match source {
        Value::Object(fields) => {
            let mut out = Map::new();
            let keeps_all = fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
            for (name, value) in fields.iter().filter(|(name, _)| !UNKNOWN.contains(&name.as_str())) {
                let value = match (name.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        // Readers of v2 take an object with some properties for one without others.
                        if keeps_all {
                            continue;
                        }
                        properties
                            .iter()
                            .map(|(name, value)| (name.clone(), for_v2(value)))
                            .collect::<Map<_, _>>()
                            .into()
                    }
                    ("items" | "additionalProperties", value) => for_v2(value),
                    ("allOf", Value::Array(all)) => all.iter().map(for_v2).collect(),
                    (_, value) => value.clone(),
                };
                out.insert(name.clone(), value);
            }
            Value::Object(out)
        }
        other => other.clone(),
    }
}
