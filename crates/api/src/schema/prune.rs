//! Removing what is not described.

use serde_json::Value;

use super::{Additional, Embedded, Schema, Unknown, built_in};

/// A field that was removed, or that a strict request may not have: `spec.ports[0].nmae`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Where it stood.
    pub path: String,
}

impl Pruned {
    /// As warnings and errors word it.
    pub fn message(&self) -> String {
        format!("unknown field \"{}\"", self.path)
    }
}

/// Whether the value is a whole object, with a type and metadata of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Resource,
    Inside,
}

/// Removes the fields of an object that its schema does not describe, and says which those were, in the order of the object.
///
/// `apiVersion`, `kind` and `metadata` of the object stay; of metadata, what Kubernetes knows. Below a schema that keeps unknown fields
/// only what is described is looked at.
pub fn prune(object: &mut Value, schema: &Schema) -> Vec<Pruned> {
    let mut pruned = Vec::new();
    descend(object, Some(schema), Place::Resource, "", &mut pruned);
    pruned
}

/// As [`prune`], for a value inside of an object.
pub(crate) fn inside(value: &mut Value, schema: &Schema) -> Vec<Pruned> {
    let mut pruned = Vec::new();
    descend(value, Some(schema), Place::Inside, "", &mut pruned);
    pruned
}

fn descend(value: &mut Value, schema: Option<&Schema>, place: Place, path: &str, pruned: &mut Vec<Pruned>) {
    let schema = schema.map(Schema::resolved);
    match value {
        Value::Object(fields) => {
            let keeps = schema.is_some_and(|schema| schema.unknown == Unknown::Kept);
            let is_resource = place == Place::Resource
                || schema.is_some_and(|schema| schema.embedded == Embedded::Resource);
            let mut unknown = Vec::new();
            for (name, value) in fields.iter_mut() {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                if is_resource && matches!(name.as_str(), "apiVersion" | "kind") {
                    continue;
                }
                if is_resource && name == "metadata" {
                    descend(value, Some(built_in::metadata()), Place::Inside, &path, pruned);
                    continue;
                }
                let property = schema.and_then(|schema| schema.properties.get(name));
                match (property, schema.and_then(|schema| schema.additional.as_ref())) {
                    (Some(property), _) => descend(value, Some(property), Place::Inside, &path, pruned),
                    (None, Some(Additional::Like(values))) => {
                        descend(value, Some(values), Place::Inside, &path, pruned);
                    }
                    (None, Some(Additional::Anything)) if !keeps => {
                        descend(value, None, Place::Inside, &path, pruned);
                    }
                    (None, Some(Additional::Anything | Additional::Nothing) | None) if keeps => {}
                    (None, Some(Additional::Anything | Additional::Nothing) | None) => {
                        pruned.push(Pruned { path });
                        unknown.push(name.clone());
                    }
                }
            }
            if !unknown.is_empty() {
                fields.retain(|name, _| !unknown.contains(name));
            }
        }
        Value::Array(items) => {
            let items_schema = schema.and_then(|schema| schema.items.as_deref());
            if items_schema.is_none() && schema.is_some_and(|schema| schema.unknown == Unknown::Kept) {
                return;
            }
            for (at, item) in items.iter_mut().enumerate() {
                descend(item, items_schema, Place::Inside, &format!("{path}[{at}]"), pruned);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
