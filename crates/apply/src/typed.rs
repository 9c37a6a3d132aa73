//! Values along their shapes: the fields that they have, how two differ, one merged into another, and one without some fields.

mod compare;
mod merge;
mod remove;

use serde_json::Value;

use crate::fields::{Element, FieldSet};
use crate::shape::{Form, Shape};

pub(crate) use compare::{Comparison, compare};
pub(crate) use merge::merge;
pub(crate) use remove::without;

/// What is wrong with a value that is to be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {cause}")]
pub struct Error {
    /// Where.
    pub path: String,
    /// What.
    pub cause: String,
}

/// Checks that a value can be merged: its fields are known, its lists have keys, and no item stands twice.
pub(crate) fn check(value: &Value, shape: Shape<'_>) -> Result<(), Vec<Error>> {
    let mut errors = Vec::new();
    check_at(value, shape, &mut Vec::new(), &mut errors);
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn check_at(value: &Value, shape: Shape<'_>, path: &mut Vec<Element>, errors: &mut Vec<Error>) {
    let here = |path: &[Element], cause: String| Error { path: crate::fields::path_text(path), cause };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                path.push(Element::Field(name.clone()));
                if shape.allows(name) {
                    check_at(value, shape.field(name), path, errors);
                } else {
                    errors.push(here(path, "field not declared in schema".to_owned()));
                }
                path.pop();
            }
        }
        Value::Array(items) => {
            let form = shape.form(value);
            let mut seen = std::collections::BTreeSet::new();
            for (index, item) in items.iter().enumerate() {
                let element = match form {
                    Form::Leaf | Form::Fields => Ok(Element::Index(i64::try_from(index).unwrap_or(i64::MAX))),
                    Form::Set | Form::Keyed(_) => shape.element(form, item),
                };
                let element = match element {
                    Ok(element) => element,
                    Err(missing) => {
                        let cause = match missing.key {
                            Some(key) => format!(
                                "element {index}: associative list with keys has an element that omits key field \"{key}\" (and doesn't \
                                 have default value)"
                            ),
                            None => format!(
                                "element {index}: associative list with keys has an element that is not an object"
                            ),
                        };
                        errors.push(here(path, cause));
                        continue;
                    }
                };
                if !seen.insert(element.clone()) {
                    errors.push(here(path, format!("duplicate entries for key {element}")));
                }
                path.push(element);
                check_at(item, shape.items(), path, errors);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The fields that a value has: leaves, empty objects, entries of maps, and items of lists.
pub(crate) fn fields(value: &Value, shape: Shape<'_>) -> FieldSet {
    let mut set = FieldSet::default();
    match (shape.form(value), value) {
        (Form::Fields, Value::Object(fields)) => {
            for (name, value) in fields {
                let (element, below) = (Element::Field(name.clone()), shape.field(name));
                let is_empty = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
                if is_leaf(value, below) || is_empty || !shape.names(name) {
                    set.add(element.clone());
                }
                set.put(element, self::fields(value, below));
            }
        }
        (form @ (Form::Set | Form::Keyed(_)), Value::Array(items)) => {
            for item in items {
                let Ok(element) = shape.element(form, item) else { continue };
                set.add(element.clone());
                let mut below = self::fields(item, shape.items());
                if let Some(before) = set.below(&element) {
                    below = before.union(&below);
                }
                set.put(element, below);
            }
        }
        (Form::Leaf | Form::Fields | Form::Set | Form::Keyed(_), _) => {}
    }
    set
}

/// Whether a value merges as a whole.
fn is_leaf(value: &Value, shape: Shape<'_>) -> bool {
    shape.form(value) == Form::Leaf
}

/// A set with the names of objects in it that lie on the way to its paths. Keys of maps and items of lists are not added.
pub(crate) fn with_names(set: &FieldSet, shape: Shape<'_>) -> FieldSet {
    let mut named = set.clone();
    for (element, below) in set.children() {
        if let Element::Field(name) = element
            && shape.names(name)
        {
            named.add(element.clone());
        }
        named.put(element.clone(), with_names(below, shape.below(element)));
    }
    named
}
