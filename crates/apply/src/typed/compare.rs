//! How two values differ.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::fields::{Element, FieldSet};
use crate::shape::{Form, Shape};

/// The fields in which two values differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub added: FieldSet,
    pub modified: FieldSet,
    pub removed: FieldSet,
}

impl Comparison {
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// A part of the fields of each kind.
    pub fn map(&self, change: impl Fn(&FieldSet) -> FieldSet) -> Self {
        Self { added: change(&self.added), modified: change(&self.modified), removed: change(&self.removed) }
    }
}

/// How a value differs from an older one.
pub(crate) fn compare(old: &Value, new: &Value, shape: Shape<'_>) -> Comparison {
    let mut walk = Walk { path: Vec::new(), found: Comparison::default() };
    walk.values(Some(old), Some(new), shape);
    walk.found
}

struct Walk {
    path: Vec<Element>,
    found: Comparison,
}

/// Nothing, null, and what has nothing in it.
fn is_hollow(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::Object(fields)) => fields.is_empty(),
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => false,
    }
}

impl Walk {
    fn values(&mut self, old: Option<&Value>, new: Option<&Value>, shape: Shape<'_>) {
        let form =
            |value: Option<&Value>| value.filter(|value| !value.is_null()).map(|value| shape.form(value));
        let form = match (form(old), form(new)) {
            (Some(old), Some(new)) if old == new => old,
            (Some(_), Some(_)) | (None, None) => Form::Leaf,
            (Some(one), None) | (None, Some(one)) => one,
        };
        if form == Form::Leaf || is_hollow(old) && is_hollow(new) {
            self.leaf(old, new);
            return;
        }
        match form {
            Form::Leaf => {}
            Form::Fields => {
                self.objects(old.and_then(Value::as_object), new.and_then(Value::as_object), shape);
            }
            Form::Set | Form::Keyed(_) => {
                self.lists(old.and_then(Value::as_array), new.and_then(Value::as_array), shape, form);
            }
        }
        match (old, new) {
            (None, Some(_)) => self.found.added.insert(&self.path),
            (Some(_), None) => self.found.removed.insert(&self.path),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (None, Some(_)) => self.found.added.insert(&self.path),
            (Some(_), None) => self.found.removed.insert(&self.path),
            (Some(old), Some(new)) if old != new => self.found.modified.insert(&self.path),
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    fn objects(
        &mut self,
        old: Option<&Map<String, Value>>,
        new: Option<&Map<String, Value>>,
        shape: Shape<'_>,
    ) {
        let mut names: Vec<&String> = old.into_iter().chain(new).flat_map(Map::keys).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let (old, new) = (old.and_then(|old| old.get(name)), new.and_then(|new| new.get(name)));
            self.path.push(Element::Field(name.clone()));
            self.values(old, new, shape.field(name));
            self.path.pop();
        }
    }

    fn lists(
        &mut self,
        old: Option<&Vec<Value>>,
        new: Option<&Vec<Value>>,
        shape: Shape<'_>,
        form: Form<'_>,
    ) {
        let index = |items: Option<&Vec<Value>>| {
            let mut found: BTreeMap<Element, Vec<Value>> = BTreeMap::new();
            for item in items.into_iter().flatten() {
                if let Ok(element) = shape.element(form, item) {
                    found.entry(element).or_default().push(item.clone());
                }
            }
            found
        };
        let (old, new) = (index(old), index(new));
        let mut elements: Vec<&Element> = old.keys().chain(new.keys()).collect();
        elements.sort_unstable();
        elements.dedup();
        for element in elements {
            let (old, new) = (old.get(element).map(Vec::as_slice), new.get(element).map(Vec::as_slice));
            self.path.push(element.clone());
            match (old, new) {
                // Items that stand twice are compared as one.
                (Some([_, _, ..]), _) | (_, Some([_, _, ..])) => match (old, new) {
                    (None, Some(_)) => self.found.added.insert(&self.path),
                    (Some(_), None) => self.found.removed.insert(&self.path),
                    (Some(old), Some(new)) if old != new => self.found.modified.insert(&self.path),
                    (Some(_), Some(_)) | (None, None) => {}
                },
                (old, new) => {
                    self.values(old.and_then(<[_]>::first), new.and_then(<[_]>::first), shape.items());
                }
            }
            self.path.pop();
        }
    }
}
