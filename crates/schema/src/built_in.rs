//! Walking over a resource along the type of a built-in kind.

use lanai_openapi::{Shape, Table, Type};
use lanai_yaml::NodeRef;

use crate::message::{self, Types};
use crate::value::{Value, fields};
use crate::walk::{UnknownFields, Walk};
use lanai_openapi::format::{Format, is_quantity};

/// Whether a value must be there. The server takes null for a value that is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Presence {
    Required,
    Optional,
}

/// Checks an object of a type.
pub(crate) fn object(walk: &mut Walk<'_>, table: &Table, object: NodeRef<'_>, of: &Type) {
    let fields = fields(object);
    let is_there = |name: &&&str| fields.iter().any(|field| field.name == **name);
    let missing: Vec<&str> = of.required().iter().filter(|name| !is_there(name)).copied().collect();
    if !missing.is_empty() {
        walk.report(message::missing(&missing));
    }
    if walk.unknown() == UnknownFields::Refused {
        let unknown = fields.iter().filter(|field| of.field(&field.name).is_none());
        let unknown: Vec<&str> = unknown.map(|field| &*field.name).collect();
        if !unknown.is_empty() {
            walk.report(message::additional(&unknown));
        }
    }
    for field in &fields {
        let Some(shape) = of.field(&field.name) else { continue };
        let required = of.required().contains(&&*field.name);
        let presence = if required { Presence::Required } else { Presence::Optional };
        walk.below(&field.name, |walk| check(walk, table, field.value, shape, presence));
    }
}

/// Checks a value that may be missing.
pub(crate) fn optional(walk: &mut Walk<'_>, table: &Table, node: NodeRef<'_>, shape: &Shape) {
    check(walk, table, node, shape, Presence::Optional);
}

fn check(walk: &mut Walk<'_>, table: &Table, node: NodeRef<'_>, shape: &Shape, presence: Presence) {
    if !walk.step() {
        return;
    }
    let value = Value::of(node);
    match (shape, &value) {
        (Shape::Any, _)
        | (Shape::Text | Shape::IntegerOrText, Value::Text(_))
        | (Shape::Quantity | Shape::Number, Value::Integer(_) | Value::Number(_))
        | (Shape::Boolean, Value::Boolean(_))
        | (Shape::Object, Value::Object(_)) => {}
        (_, Value::Null) if presence == Presence::Optional => {}
        (Shape::Bytes, Value::Text(text)) => format(walk, text, Format::Byte),
        (Shape::Time, Value::Text(text)) => format(walk, text, Format::DateTime),
        (Shape::Quantity, Value::Text(text)) => {
            if !is_quantity(text) {
                walk.report(message::not_valid(
                    text,
                    "quantity",
                    "a number such as 500m or 1.5Gi is expected",
                ));
            }
        }
        (Shape::Int32 | Shape::IntegerOrText, Value::Integer(number)) => {
            range(walk, *number, i128::from(i32::MIN), i128::from(i32::MAX));
        }
        (Shape::Int64, Value::Integer(number)) => {
            range(walk, *number, i128::from(i64::MIN), i128::from(i64::MAX));
        }
        (Shape::Type(id), Value::Object(node)) => object(walk, table, *node, table.get(*id)),
        (Shape::Map(shape), Value::Object(node)) => {
            for field in fields(*node) {
                walk.below(&field.name, |walk| optional(walk, table, field.value, shape));
            }
        }
        (Shape::List(list), Value::List(node)) => {
            for (at, item) in node.items().enumerate() {
                walk.below(&at.to_string(), |walk| optional(walk, table, item, &list.items));
            }
        }
        (
            Shape::Text
            | Shape::Bytes
            | Shape::Time
            | Shape::Quantity
            | Shape::IntegerOrText
            | Shape::Int32
            | Shape::Int64
            | Shape::Number
            | Shape::Boolean
            | Shape::Object
            | Shape::Type(_)
            | Shape::Map(_)
            | Shape::List(_),
            _,
        ) => walk.report(message::wrong_type(&value, wanted(shape, presence))),
    }
}

fn format(walk: &mut Walk<'_>, text: &str, format: Format) {
    if !format.fits(text) {
        walk.report(message::not_in_format(text, format));
    }
}

/// Reports an integer that is out of range.
pub(crate) fn range(walk: &mut Walk<'_>, number: i128, min: i128, max: i128) {
    if number < min {
        walk.report(message::beyond("minimum", number, min));
    } else if number > max {
        walk.report(message::beyond("maximum", number, max));
    }
}

/// The types that a value of that shape may have.
fn wanted(shape: &Shape, presence: Presence) -> Types {
    let types = match shape {
        Shape::Text | Shape::Bytes | Shape::Time => Types::TEXT,
        Shape::Quantity => Types::NUMBER.and(Types::TEXT),
        Shape::IntegerOrText => Types::INTEGER.and(Types::TEXT),
        Shape::Int32 | Shape::Int64 => Types::INTEGER,
        Shape::Number => Types::NUMBER,
        Shape::Boolean => Types::BOOLEAN,
        Shape::Object | Shape::Type(_) | Shape::Map(_) => Types::OBJECT,
        Shape::List(_) => Types::LIST,
        Shape::Any => Types::default(),
    };
    match presence {
        Presence::Required => types,
        Presence::Optional => types.and(Types::NULL),
    }
}
