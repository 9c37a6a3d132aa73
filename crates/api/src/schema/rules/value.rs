//! Values as rules see them: only what the schema describes, under names that expressions can write.

use std::collections::HashMap;
use std::sync::Arc;

use lanai_cel::{Key, Map, Value as Cel};
use serde_json::Value;

use super::super::{Additional, Embedded, Schema, Type, Unknown};
use super::Place;

/// Words of the language; fields of that name are written with underscores around them.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// A value for an expression.
pub(super) fn of(value: &Value, schema: &Schema, place: Place) -> Cel {
    match value {
        Value::String(text) => self::text(text, schema),
        Value::Number(number) if schema.kind == Type::Number => {
            Cel::Float(number.as_f64().unwrap_or(f64::NAN))
        }
        #[expect(clippy::cast_possible_truncation, reason = "the number is whole")]
        Value::Number(number) if schema.kind == Type::Integer && number.is_f64() => {
            Cel::Int(number.as_f64().unwrap_or_default() as i64)
        }
        Value::Array(items) => {
            let of = |item: &Value| {
                schema
                    .items
                    .as_deref()
                    .map_or_else(|| lanai_cel::value(item), |below| of(item, below, Place::Inside))
            };
            Cel::List(Arc::new(items.iter().map(of).collect()))
        }
        Value::Object(fields) => Cel::Map(Map { map: Arc::new(object(fields, schema, place)) }),
        Value::Null | Value::Bool(_) | Value::Number(_) => lanai_cel::value(value),
    }
}

fn text(text: &str, schema: &Schema) -> Cel {
    let made = match schema.checks.format_name.as_deref() {
        Some("date-time" | "date") => lanai_cel::timestamp(text),
        Some("duration") => lanai_cel::duration(text),
        _ => None,
    };
    made.unwrap_or_else(|| Cel::from(text.to_owned()))
}

fn object(fields: &serde_json::Map<String, Value>, schema: &Schema, place: Place) -> HashMap<Key, Cel> {
    let mut seen = HashMap::new();
    let is_resource = place == Place::Root || schema.embedded == Embedded::Resource;
    for (name, value) in fields {
        if is_resource && name == "metadata" {
            seen.insert(key("metadata"), metadata(value));
            continue;
        }
        if is_resource && matches!(name.as_str(), "apiVersion" | "kind") {
            seen.insert(key(name), lanai_cel::value(value));
            continue;
        }
        match (schema.properties.get(name), &schema.additional) {
            (Some(property), _) => {
                seen.insert(key(&escaped(name)), of(value, property, Place::Inside));
            }
            (None, Some(Additional::Like(values))) => {
                seen.insert(key(name), of(value, values, Place::Inside));
            }
            (None, Some(Additional::Anything)) => {
                seen.insert(key(name), lanai_cel::value(value));
            }
            // An object without any description is one whole for those who look at it from outside.
            (None, Some(Additional::Nothing) | None) => {
                if schema.kind == Type::Any && schema.unknown == Unknown::Kept {
                    seen.insert(key(name), lanai_cel::value(value));
                }
            }
        }
    }
    seen
}

/// The part of metadata that rules see.
fn metadata(value: &Value) -> Cel {
    let names = ["name", "generateName"].into_iter();
    let seen = names.filter_map(|name| Some((key(name), lanai_cel::value(value.get(name)?))));
    Cel::Map(Map { map: Arc::new(seen.collect()) })
}

fn key(name: &str) -> Key {
    Key::String(Arc::new(name.to_owned()))
}

/// The name of a field as expressions write it.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
