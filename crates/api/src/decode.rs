//! Reading objects: what stands there twice, what nobody knows, and what has the wrong type.

use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::kind::{KindInfo, Origin, Version};
use crate::schema::{self, Additional, Pruned, Schema, Type};

/// How deep values may stand in a body.
pub const MAX_DEPTH: usize = 127;

/// A body that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    /// The value; of fields that stand there twice, the last.
    pub value: Value,
    /// What is said of fields that stand there twice: `duplicate field "metadata.labels.a"`.
    pub duplicates: Vec<String>,
}

/// Why a body is no JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("couldn't get version/kind; json parse error: {0}")]
pub struct Error(pub String);

/// Reads JSON.
///
/// # Errors
/// When it is none, or deeper than [`MAX_DEPTH`].
pub fn json(bytes: &[u8]) -> Result<Decoded, Error> {
    let mut duplicates = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let seed = Seed { path: String::new(), duplicates: &mut duplicates };
    let value = seed.deserialize(&mut reader).map_err(|error| Error(error.to_string()))?;
    reader.end().map_err(|error| Error(error.to_string()))?;
    Ok(Decoded { value, duplicates })
}

/// How deep a value is: how many lists and objects stand in each other.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Removes the fields that a version of a kind does not know, and says which those were.
pub fn unknown(object: &mut Value, version: &Version) -> Vec<Pruned> {
    schema::prune(object, &version.schema)
}

/// Checks the types in an object of one of Kubernetes's own kinds, in the words of kube-apiserver. Objects of other kinds are checked by
/// their schemas, but for their metadata.
///
/// # Errors
/// With the message for an answer of 400.
pub fn typed(object: &Value, kind: &KindInfo, version: &Version) -> Result<(), String> {
    let wrong = if kind.origin == Origin::BuiltIn {
        let place = Place { owner: kind.names.kind.clone(), path: String::new() };
        mismatch(object, &version.schema, &place)
    } else {
        let place = Place { owner: "ObjectMeta".to_owned(), path: "metadata".to_owned() };
        mismatch(&object["metadata"], schema::built_in::metadata(), &place)
    };
    match wrong {
        None => Ok(()),
        Some(what) => {
            let name = &kind.names.kind;
            Err(format!("{name} in version \"{}\" cannot be handled as a {name}: {what}", version.name))
        }
    }
}

struct Place {
    /// The type that has the field.
    owner: String,
    path: String,
}

impl Place {
    fn field(&self, name: &str, schema: &Schema) -> Self {
        let path = if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) };
        let owner = schema.reference.map_or_else(|| self.owner.clone(), type_name);
        Self { owner, path }
    }
}

fn type_name(id: lanai_openapi::TypeId) -> String {
    let name = lanai_openapi::built_in().get(id).name();
    name.rsplit('.').next().unwrap_or(name).to_owned()
}

fn mismatch(value: &Value, schema: &Schema, place: &Place) -> Option<String> {
    let resolved = schema.resolved();
    let found = match value {
        Value::Null => return None,
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let fits = match (resolved.kind, value) {
        (Type::Integer, Value::Number(number)) => number.is_i64() || number.is_u64(),
        (Type::Any, _)
        | (Type::Object, Value::Object(_))
        | (Type::Array, Value::Array(_))
        | (Type::String | Type::IntOrString | Type::Quantity, Value::String(_))
        | (Type::Number | Type::IntOrString | Type::Quantity, Value::Number(_))
        | (Type::Boolean, Value::Bool(_)) => true,
        (
            Type::Object
            | Type::Array
            | Type::String
            | Type::IntOrString
            | Type::Quantity
            | Type::Number
            | Type::Boolean
            | Type::Integer,
            _,
        ) => false,
    };
    if !fits {
        let of = go_type(schema);
        return Some(if place.path.is_empty() {
            format!("json: cannot unmarshal {found} into Go value of type {of}")
        } else {
            format!(
                "json: cannot unmarshal {found} into Go struct field {}.{} of type {of}",
                place.owner, place.path
            )
        });
    }
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let below = schema.field(name)?;
            if resolved.properties.contains_key(name) {
                let inside = Place { owner: place.owner.clone(), path: place.field(name, below).path };
                let owner = if below.reference.is_some() && value.is_object() {
                    place.field(name, below).owner
                } else {
                    inside.owner
                };
                mismatch(value, below, &Place { owner, path: inside.path })
            } else {
                // Go names the map, not its keys.
                mismatch(value, below, place)
            }
        }),
        Value::Array(items) => {
            let below = resolved.items.as_deref()?;
            let owner = below.reference.map_or_else(|| place.owner.clone(), type_name);
            items.iter().find_map(|item| {
                mismatch(item, below, &Place { owner: owner.clone(), path: place.path.clone() })
            })
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The type of a field in Go.
fn go_type(schema: &Schema) -> String {
    if let Some(id) = schema.reference {
        let name = lanai_openapi::built_in().get(id).name();
        let mut parts = name.rsplit('.');
        let (kind, version) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        return format!("{version}.{kind}");
    }
    match schema.kind {
        Type::String if schema.checks.format_name.as_deref() == Some("byte") => "[]uint8".to_owned(),
        Type::String => "string".to_owned(),
        Type::Integer => schema.checks.format_name.as_deref().map_or("int64", |format| format).to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Number => "float64".to_owned(),
        Type::Array => {
            format!("[]{}", schema.items.as_deref().map_or_else(|| "interface {}".to_owned(), go_type))
        }
        Type::Object => match &schema.additional {
            Some(Additional::Like(values)) => format!("map[string]{}", go_type(values)),
            Some(Additional::Anything | Additional::Nothing) | None => "map[string]interface {}".to_owned(),
        },
        Type::IntOrString => "intstr.IntOrString".to_owned(),
        Type::Quantity => "resource.Quantity".to_owned(),
        Type::Any => "interface {}".to_owned(),
    }
}

/// The name under which the parser hands on the digits of a number.
const DIGITS: &str = "$serde_json::private::Number";

/// Reads a value and collects what stands there twice.
struct Seed<'d> {
    path: String,
    duplicates: &'d mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut read = Vec::new();
        let at = |index: usize| format!("{}[{index}]", self.path);
        while let Some(item) =
            items.next_element_seed(Seed { path: at(read.len()), duplicates: &mut *self.duplicates })?
        {
            read.push(item);
        }
        Ok(read.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut read = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            // Where another crate of the program asks the parser to keep all digits, it hands on numbers so.
            if read.is_empty() && name == DIGITS {
                let text: String = fields.next_value()?;
                match text.parse().ok().and_then(Number::from_f64) {
                    Some(number) => return Ok(number.into()),
                    None => read.insert(name, text.into()),
                };
                continue;
            }
            let path = if self.path.is_empty() { name.clone() } else { format!("{}.{name}", self.path) };
            let value =
                fields.next_value_seed(Seed { path: path.clone(), duplicates: &mut *self.duplicates })?;
            if read.insert(name, value).is_some() {
                self.duplicates.push(format!("duplicate field \"{path}\""));
            }
        }
        Ok(read.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_twice_is_named() {
        let read = json(br#"{"a": 1, "b": {"c": [{"d": 1, "d": 2}]}, "a": 3.5}"#).unwrap();
        assert_eq!(read.value, serde_json::json!({"a": 3.5, "b": {"c": [{"d": 2}]}}));
        assert_eq!(read.duplicates, [r#"duplicate field "b.c[0].d""#, r#"duplicate field "a""#]);
        for bad in ["", "{", "{}x", "{'a': 1}", "[1,]"] {
            assert!(json(bad.as_bytes()).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_body_that_is_too_deep_is_refused() {
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(json(nested(MAX_DEPTH).as_bytes()).is_ok());
        assert!(json(nested(MAX_DEPTH + 1).as_bytes()).is_err());
    }

    #[test]
    fn wrong_types_are_said_as_go_says_them() {
        let check = |object: Value, expected: Option<&str>| {
            let kind = crate::kinds::find("", "ConfigMap").unwrap();
            assert_eq!(typed(&object, kind, kind.storage()).err().as_deref(), expected);
        };
        check(serde_json::json!({"metadata": {"name": "a"}, "data": {"x": "1"}, "immutable": null}), None);
        check(
            serde_json::json!({"metadata": {"labels": {"a": 1}}}),
            Some(
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field \
                 ObjectMeta.metadata.labels of type string",
            ),
        );
        check(
            serde_json::json!({"data": []}),
            Some(
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go struct field \
                 ConfigMap.data of type map[string]string",
            ),
        );
    }
}
