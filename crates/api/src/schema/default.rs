//! Filling in what is missing.

use serde_json::Value;

use super::{Additional, Null, Schema};

/// Fills in the defaults of a schema, and removes nulls from fields that neither have a default nor may be null.
///
/// Fields are filled in where their object is there; an object is not made only because fields in it have defaults.
pub fn fill(value: &mut Value, schema: &Schema) {
    defaults(value, schema);
    remove_nulls(value, schema);
}

fn defaults(value: &mut Value, schema: &Schema) {
    let schema = schema.resolved();
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else { continue };
                if fields.get(name).is_none_or(|found| is_stray_null(found, property)) {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields.iter_mut() {
                match (schema.properties.get(name), &schema.additional) {
                    (Some(property), _) => defaults(value, property),
                    (None, Some(Additional::Like(values))) => in_collection(value, values),
                    (None, Some(Additional::Anything | Additional::Nothing) | None) => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for item in items {
                in_collection(item, schema);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An item of a list or a value of a map.
fn in_collection(value: &mut Value, schema: &Schema) {
    if let (true, Some(default)) = (is_stray_null(value, schema), &schema.default) {
        *value = default.clone();
    }
    defaults(value, schema);
}

fn remove_nulls(value: &mut Value, schema: &Schema) {
    let schema = schema.resolved();
    match value {
        Value::Object(fields) => {
            fields.retain(|name, value| {
                schema.properties.get(name).is_none_or(|property| !is_stray_null(value, property))
            });
            for (name, value) in fields.iter_mut() {
                if let Some(schema) = schema.field(name) {
                    remove_nulls(value, schema);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = &schema.items else { return };
            for item in items {
                remove_nulls(item, schema);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_stray_null(value: &Value, schema: &Schema) -> bool {
    value.is_null() && schema.null == Null::Refused
}
