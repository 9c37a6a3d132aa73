//! Types as values, as in `type(1) == int`.

use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Opaque, OptionalValue};

/// The name of a type.
#[derive(Debug, PartialEq, Eq)]
struct Kind(&'static str);

impl Opaque for Kind {
    fn runtime_type_name(&self) -> &'static str {
        "type"
    }
}

/// The types that have a name in expressions.
const NAMED: &[&str] = &[
    "int",
    "uint",
    "double",
    "bool",
    "string",
    "bytes",
    "list",
    "map",
    "null_type",
    "type",
    "optional_type",
];

/// The type of that name.
pub(crate) fn named(name: &str) -> Option<Value> {
    NAMED.iter().find(|kind| **kind == name).map(|kind| Value::Opaque(Arc::new(Kind(kind))))
}

/// The type of a value.
pub(crate) fn of(value: &Value) -> Value {
    Value::Opaque(Arc::new(Kind(match value {
        Value::Int(_) => "int",
        Value::UInt(_) => "uint",
        Value::Float(_) => "double",
        Value::Bool(_) => "bool",
        Value::String(_) => "string",
        Value::Bytes(_) => "bytes",
        Value::List(_) => "list",
        Value::Map(_) => "map",
        Value::Null => "null_type",
        Value::Opaque(opaque) if opaque.downcast_ref::<Kind>().is_some() => "type",
        Value::Opaque(opaque) if opaque.downcast_ref::<OptionalValue>().is_some() => "optional_type",
        _ => "another",
    })))
}

/// The name of a type, if the value is one.
pub(crate) fn name(value: &Value) -> Option<&'static str> {
    match value {
        Value::Opaque(opaque) => opaque.downcast_ref::<Kind>().map(|kind| kind.0),
        _ => None,
    }
}
