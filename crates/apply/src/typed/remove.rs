//! A value without some fields.

use serde_json::{Map, Value};

use crate::fields::{Element, FieldSet};
use crate::shape::{Form, Shape};

/// A value without the fields of a set. An object or a list of which nothing stays becomes null.
pub(crate) fn without(value: &Value, set: &FieldSet, shape: Shape<'_>) -> Value {
    match (shape.form(value), value) {
        (Form::Fields, Value::Object(fields)) if !fields.is_empty() => {
            let mut left = Map::new();
            for (name, value) in fields {
                let element = Element::Field(name.clone());
                if set.has(&element) {
                    continue;
                }
                let value = set
                    .below(&element)
                    .map_or_else(|| value.clone(), |below| without(value, below, shape.field(name)));
                left.insert(name.clone(), value);
            }
            if left.is_empty() { Value::Null } else { Value::Object(left) }
        }
        (form @ (Form::Set | Form::Keyed(_)), Value::Array(items)) if !items.is_empty() => {
            let mut left = Vec::new();
            for item in items {
                let Ok(element) = shape.element(form, item) else {
                    left.push(item.clone());
                    continue;
                };
                if set.has(&element) {
                    continue;
                }
                left.push(
                    set.below(&element)
                        .map_or_else(|| item.clone(), |below| without(item, below, shape.items())),
                );
            }
            if left.is_empty() { Value::Null } else { Value::Array(left) }
        }
        (Form::Leaf | Form::Fields | Form::Set | Form::Keyed(_), _) => value.clone(),
    }
}
