//! Items that stand twice in lists that are sets or maps.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::super::{ListKind, Schema};
use crate::cause::{Cause, FieldPath};

/// Adds a cause for each item that stood before in its list. Lists that did not change are not looked at.
pub(super) fn check(
    value: &Value,
    old: Option<&Value>,
    schema: &Schema,
    at: &FieldPath,
    causes: &mut Vec<Cause>,
) {
    if old == Some(value) {
        return;
    }
    let schema = schema.resolved();
    match value {
        Value::Array(items) => {
            match schema.list_kind() {
                ListKind::Atomic => {}
                ListKind::Set => set(items, at, causes),
                ListKind::Map(keys) => map(items, keys, at, causes),
            }
            let Some(item_schema) = &schema.items else { return };
            for (index, item) in items.iter().enumerate() {
                check(item, super::correlated(item, old, schema), item_schema, &at.index(index), causes);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                if let Some(schema) = schema.field(name) {
                    check(value, old.and_then(|old| old.get(name)), schema, &at.child(name), causes);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn set(items: &[Value], at: &FieldPath, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        if !seen.insert(ordered(item).to_string()) {
            causes.push(Cause::duplicate(&at.index(index), item.clone()));
        }
    }
}

fn map(items: &[Value], keys: &[String], at: &FieldPath, causes: &mut Vec<Cause>) {
    let mut seen = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        let Value::Object(fields) = item else { continue };
        let mut key = Map::new();
        for name in keys {
            if let Some(value) = fields.get(name) {
                key.insert(name.clone(), value.clone());
            }
        }
        let key = ordered(&Value::Object(key));
        if !seen.insert(key.to_string()) {
            causes.push(Cause::duplicate(&at.index(index), key));
        }
    }
}

/// A value whose fields stand in the order of their names.
fn ordered(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_unstable();
            Value::Object(names.into_iter().map(|name| (name.clone(), ordered(&fields[name]))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(ordered).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
