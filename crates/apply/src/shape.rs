//! How a value merges: what its schema says, or, where there is none, what the value looks like.

use lanai_api::schema::{Additional, Embedded, ListKind, MapKind, Schema, Type, Unknown, built_in};
use serde_json::{Map, Value};

use crate::fields::Element;

/// What is known of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape<'s> {
    /// A whole object, which has metadata.
    Object(&'s Schema),
    /// A value inside of one.
    Inside(&'s Schema),
    /// Nothing is known: objects merge by field, all else as a whole.
    Unknown,
}

/// How a value merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form<'s> {
    /// As a whole.
    Leaf,
    /// Field by field.
    Fields,
    /// As a set of scalars.
    Set,
    /// Item by item, with these keys.
    Keyed(&'s [String]),
}

/// A list has an item without a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoKey {
    pub key: Option<String>,
}

impl<'s> Shape<'s> {
    fn schema(self) -> Option<&'s Schema> {
        match self {
            Self::Object(schema) | Self::Inside(schema) => Some(schema.resolved()),
            Self::Unknown => None,
        }
    }

    /// How it merges, for a value that is there on at least one side.
    pub fn form(self, value: &Value) -> Form<'s> {
        let unresolved = match self {
            Self::Object(schema) | Self::Inside(schema) => Some(schema),
            Self::Unknown => None,
        };
        match value {
            Value::Object(_) => match unresolved.map(Schema::map_kind) {
                Some(MapKind::Atomic) => Form::Leaf,
                Some(MapKind::Granular) | None => Form::Fields,
            },
            Value::Array(_) => match unresolved.map(Schema::list_kind) {
                Some(ListKind::Set) => Form::Set,
                Some(ListKind::Map(keys)) => Form::Keyed(keys),
                Some(ListKind::Atomic) | None => Form::Leaf,
            },
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Form::Leaf,
        }
    }

    /// Whether whatever stands here merges as a whole.
    pub fn is_whole(self) -> bool {
        let Some(schema) = self.schema() else { return false };
        match schema.kind {
            Type::Object => match self {
                Self::Object(schema) | Self::Inside(schema) => schema.map_kind() == MapKind::Atomic,
                Self::Unknown => false,
            },
            Type::Array => *schema.list_kind() == ListKind::Atomic,
            Type::String
            | Type::Integer
            | Type::Number
            | Type::Boolean
            | Type::IntOrString
            | Type::Quantity => true,
            Type::Any => false,
        }
    }

    /// What is known of a field.
    pub fn field(self, name: &str) -> Shape<'s> {
        if self.has_metadata() && name == "metadata" {
            return Shape::Inside(built_in::metadata());
        }
        let Some(schema) = self.schema() else { return Shape::Unknown };
        match (schema.properties.get(name), &schema.additional) {
            (Some(property), _) => Shape::Inside(property),
            (None, Some(Additional::Like(values))) => Shape::Inside(values),
            (None, Some(Additional::Anything | Additional::Nothing) | None) => Shape::Unknown,
        }
    }

    fn has_metadata(self) -> bool {
        match self {
            Self::Object(_) => true,
            Self::Inside(schema) => schema.resolved().embedded == Embedded::Resource,
            Self::Unknown => false,
        }
    }

    /// What is known of the items of a list.
    pub fn items(self) -> Shape<'s> {
        self.schema().and_then(|schema| schema.items.as_deref()).map_or(Shape::Unknown, Shape::Inside)
    }

    /// Whether a field has a name in the type, as opposed to a key of a map.
    pub fn names(self, field: &str) -> bool {
        if self.has_metadata() && matches!(field, "apiVersion" | "kind" | "metadata") {
            return true;
        }
        self.schema().is_some_and(|schema| schema.properties.contains_key(field))
    }

    /// Whether an object can have a field.
    pub fn allows(self, field: &str) -> bool {
        let Some(schema) = self.schema() else { return true };
        self.names(field)
            || schema.additional.is_some()
            || schema.unknown == Unknown::Kept
            || matches!(schema.kind, Type::Any)
    }

    /// What is below a step.
    pub fn below(self, element: &Element) -> Shape<'s> {
        match element {
            Element::Field(name) => self.field(name),
            Element::Key(_) | Element::Value(_) | Element::Index(_) => self.items(),
        }
    }

    /// The step that leads to an item of a keyed list: the values of its keys, or the defaults of those.
    pub fn key(self, keys: &[String], item: &Value) -> Result<Element, NoKey> {
        let Value::Object(fields) = item else { return Err(NoKey { key: None }) };
        let items = self.items().schema();
        let mut key = Map::new();
        for name in keys {
            let default = || {
                items
                    .and_then(|items| items.properties.get(name))
                    .and_then(|property| property.default.as_ref())
            };
            if let Some(value) = fields.get(name).or_else(default) {
                key.insert(name.clone(), value.clone());
            }
        }
        if key.is_empty() { Err(NoKey { key: keys.first().cloned() }) } else { Ok(Element::key(&key)) }
    }

    /// The step that leads to an item of a list that is no leaf.
    pub fn element(self, form: Form<'_>, item: &Value) -> Result<Element, NoKey> {
        match form {
            Form::Keyed(keys) => self.key(keys, item),
            Form::Set | Form::Fields | Form::Leaf => Ok(Element::value(item)),
        }
    }
}
