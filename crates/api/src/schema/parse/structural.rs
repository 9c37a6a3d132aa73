//! What a structural schema may not have, in Kubernetes's words.

use serde_json::Value;

use super::super::{Additional, Embedded, Limits, ListKind, MapKind, Null, Schema, Type, Unknown, validate};
use crate::cause::{Cause, FieldPath};

/// Keywords of JSON schemas that no schema of a custom resource has.
const FORBIDDEN: [(&str, &str); 8] = [
    ("$ref", "$ref is not supported"),
    ("$schema", "must not be set"),
    ("id", "id is not supported"),
    ("additionalItems", "additionalItems is not supported"),
    ("patternProperties", "patternProperties is not supported"),
    ("definitions", "definitions is not supported"),
    ("dependencies", "dependencies is not supported"),
    ("externalDocs", "externalDocs is not supported"),
];

/// Keywords that conditions (`allOf` and such) may not have.
const NOT_IN_CONDITIONS: [&str; 11] = [
    "type",
    "description",
    "title",
    "default",
    "nullable",
    "additionalProperties",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
];

/// Where a schema stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Root,
    Field,
    Item,
}

/// Adds what is wrong with a schema that could be read.
pub(super) fn check(
    source: &Value,
    schema: &Schema,
    at: &FieldPath,
    limits: &Limits,
    causes: &mut Vec<Cause>,
) {
    let mut checker = Checker { limits, causes };
    checker.schema(source, schema, at, Place::Root);
    checker.root_metadata(schema, at);
}

struct Checker<'a> {
    limits: &'a Limits,
    causes: &'a mut Vec<Cause>,
}

impl Checker<'_> {
    fn schema(&mut self, source: &Value, schema: &Schema, at: &FieldPath, place: Place) {
        self.kind(schema, at, place);
        self.keywords(source, schema, at);
        self.list(schema, at);
        self.conditions(source, schema, at);
        self.default(schema, at);
        for (name, property) in &schema.properties {
            self.schema(
                &source["properties"][name],
                property,
                &at.child("properties").key(name),
                Place::Field,
            );
        }
        if let Some(Additional::Like(values)) = &schema.additional {
            self.schema(
                &source["additionalProperties"],
                values,
                &at.child("additionalProperties"),
                Place::Field,
            );
        }
        if let Some(items) = &schema.items {
            self.schema(&source["items"], items, &at.child("items"), Place::Item);
        }
    }

    fn kind(&mut self, schema: &Schema, at: &FieldPath, place: Place) {
        let at_type = at.child("type");
        match (schema.kind, place) {
            (Type::Any, _) if schema.unknown == Unknown::Kept && place != Place::Root => {}
            (Type::Any, Place::Root) => {
                self.causes.push(Cause::required(&at_type, "must not be empty at the root"));
            }
            (Type::Any, Place::Field) => {
                self.causes.push(Cause::required(&at_type, "must not be empty for specified object fields"));
            }
            (Type::Any, Place::Item) => {
                self.causes.push(Cause::required(&at_type, "must not be empty for specified array items"));
            }
            (Type::Object, _) => {}
            (other, Place::Root) => {
                self.causes.push(Cause::invalid(&at_type, other.name(), "must be object at the root"));
            }
            (other, Place::Field | Place::Item) => {
                if schema.embedded == Embedded::Resource {
                    let detail = "must be object if x-kubernetes-embedded-resource is true";
                    self.causes.push(Cause::invalid(&at_type, other.name(), detail));
                }
            }
        }
        if schema.embedded == Embedded::Resource
            && schema.properties.is_empty()
            && schema.unknown == Unknown::Pruned
        {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
            self.causes.push(Cause::required(&at.child("properties"), detail));
        }
    }

    fn keywords(&mut self, source: &Value, schema: &Schema, at: &FieldPath) {
        for (keyword, detail) in FORBIDDEN {
            if source.get(keyword).is_some() {
                self.causes.push(Cause::forbidden(&at.child(keyword), detail));
            }
        }
        if source.get("uniqueItems") == Some(&Value::Bool(true)) {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.causes.push(Cause::forbidden(&at.child("uniqueItems"), detail));
        }
        match &schema.additional {
            Some(Additional::Like(_) | Additional::Anything) if !schema.properties.is_empty() => {
                let detail = "additionalProperties and properties are mutual exclusive";
                self.causes.push(Cause::forbidden(&at.child("additionalProperties"), detail));
            }
            Some(Additional::Like(_) | Additional::Anything | Additional::Nothing) | None => {}
        }
        if schema.kind == Type::Array && schema.items.is_none() {
            self.causes.push(Cause::required(&at.child("items"), "must be specified"));
        }
    }

    fn list(&mut self, schema: &Schema, at: &FieldPath) {
        let at_type = at.child("type");
        if schema.list.is_some() && schema.kind != Type::Array {
            self.causes.push(Cause::invalid(
                &at_type,
                schema.kind.name(),
                "must be array if x-kubernetes-list-type is specified",
            ));
        }
        if schema.map.is_some() && schema.kind != Type::Object {
            self.causes.push(Cause::invalid(
                &at_type,
                schema.kind.name(),
                "must be object if x-kubernetes-map-type is specified",
            ));
        }
        let (Some(list), Some(items)) = (&schema.list, &schema.items) else { return };
        let at_items = at.child("items");
        match list {
            ListKind::Atomic => {}
            ListKind::Set => {
                if items.null == Null::Allowed {
                    let detail = "cannot be nullable when x-kubernetes-list-type is set";
                    self.causes.push(Cause::forbidden(&at_items.child("nullable"), detail));
                }
                if items.kind == Type::Object && items.map != Some(MapKind::Atomic) {
                    let found = items.map.map_or(Value::Null, |_| "granular".into());
                    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
                    self.causes.push(Cause::invalid(&at_items.child("x-kubernetes-map-type"), found, detail));
                }
                if items.kind == Type::Array && items.list != Some(ListKind::Atomic) {
                    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
                    self.causes.push(Cause::invalid(
                        &at_items.child("x-kubernetes-list-type"),
                        Value::Null,
                        detail,
                    ));
                }
            }
            ListKind::Map(keys) => self.list_keys(keys, items, at),
        }
    }

    fn list_keys(&mut self, keys: &[String], items: &Schema, at: &FieldPath) {
        let (at_keys, at_items) = (at.child("x-kubernetes-list-map-keys"), at.child("items"));
        if keys.is_empty() {
            self.causes.push(Cause::required(&at_keys, "must not be empty if x-kubernetes-list-type is map"));
        }
        if items.kind != Type::Object {
            let detail = "must be object if parent array's x-kubernetes-list-type is map";
            self.causes.push(Cause::invalid(&at_items.child("type"), items.kind.name(), detail));
        }
        for (index, key) in keys.iter().enumerate() {
            if keys[..index].contains(key) {
                self.causes.push(Cause::duplicate(&at_keys.index(index), key.as_str()));
            }
            let Some(property) = items.properties.get(key) else {
                let detail = "entries must all be names of item properties";
                self.causes.push(Cause::invalid(&at_keys, keys.to_vec(), detail));
                continue;
            };
            let at_property = at_items.child("properties").key(key);
            match property.kind {
                Type::Array | Type::Object => {
                    let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    self.causes.push(Cause::invalid(
                        &at_property.child("type"),
                        property.kind.name(),
                        detail,
                    ));
                }
                Type::Any
                | Type::String
                | Type::Integer
                | Type::Number
                | Type::Boolean
                | Type::IntOrString
                | Type::Quantity => {}
            }
            if property.default.is_none() && !items.required.contains(key) {
                let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
                self.causes.push(Cause::required(&at_property.child("default"), detail));
            }
        }
    }

    /// The schemas in `allOf` and such say more of what is described outside of them, and describe nothing themselves.
    fn conditions(&mut self, source: &Value, schema: &Schema, at: &FieldPath) {
        let checks = &schema.checks;
        let lists = [("allOf", &checks.all_of), ("anyOf", &checks.any_of), ("oneOf", &checks.one_of)];
        for (keyword, conditions) in lists {
            for (index, condition) in conditions.iter().enumerate() {
                let at_condition = at.child(keyword).index(index);
                self.condition(&source[keyword][index], condition, schema, &at_condition, at);
            }
        }
        if let Some(condition) = &checks.not {
            self.condition(&source["not"], condition, schema, &at.child("not"), at);
        }
    }

    fn condition(
        &mut self,
        source: &Value,
        condition: &Schema,
        of: &Schema,
        at: &FieldPath,
        at_of: &FieldPath,
    ) {
        for keyword in NOT_IN_CONDITIONS {
            let Some(value) = source.get(keyword) else { continue };
            if of.kind == Type::IntOrString && keyword == "type" {
                continue;
            }
            if *value != Value::Bool(false) && *value != Value::String(String::new()) {
                self.causes.push(Cause::forbidden(&at.child(keyword), "must be empty to be structural"));
            }
        }
        for (name, below) in &condition.properties {
            let (at, at_of) = (at.child("properties").key(name), at_of.child("properties").key(name));
            match of.properties.get(name) {
                Some(described) => self.condition(&source["properties"][name], below, described, &at, &at_of),
                None => self.causes.push(Cause::required(&at_of, format!("because it is defined in {at}"))),
            }
        }
        if let Some(below) = &condition.items {
            let (at, at_of) = (at.child("items"), at_of.child("items"));
            match &of.items {
                Some(described) => self.condition(&source["items"], below, described, &at, &at_of),
                None => self.causes.push(Cause::required(&at_of, format!("because it is defined in {at}"))),
            }
        }
        let checks = &condition.checks;
        let lists = [("allOf", &checks.all_of), ("anyOf", &checks.any_of), ("oneOf", &checks.one_of)];
        for (keyword, conditions) in lists {
            for (index, below) in conditions.iter().enumerate() {
                self.condition(&source[keyword][index], below, of, &at.child(keyword).index(index), at_of);
            }
        }
        if let Some(below) = &checks.not {
            self.condition(&source["not"], below, of, &at.child("not"), at_of);
        }
    }

    fn default(&mut self, schema: &Schema, at: &FieldPath) {
        let Some(default) = &schema.default else { return };
        let at = at.child("default");
        let mut pruned = default.clone();
        let unknown = super::super::prune::inside(&mut pruned, schema);
        if !unknown.is_empty() {
            self.causes.push(Cause::invalid(&at, default.clone(), "must not have unknown fields"));
            return;
        }
        // What is said of a default does not name the place where it will stand.
        for mut wrong in validate::value(default, schema, &FieldPath::root(), self.limits) {
            wrong.field = if wrong.field.is_root() { at.clone() } else { at.child(wrong.field.as_str()) };
            self.causes.push(wrong);
        }
    }

    fn root_metadata(&mut self, schema: &Schema, at: &FieldPath) {
        let Some(metadata) = schema.properties.get("metadata") else { return };
        let at = at.child("properties").key("metadata");
        let only_names =
            metadata.properties.keys().all(|name| matches!(name.as_str(), "name" | "generateName"));
        let says_more = metadata.additional.is_some()
            || !metadata.required.is_empty()
            || metadata.default.is_some()
            || metadata.unknown == Unknown::Kept;
        if !only_names || says_more {
            let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
            self.causes.push(Cause::forbidden(&at, detail));
        }
    }
}
