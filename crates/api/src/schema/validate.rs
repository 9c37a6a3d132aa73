//! Checking values, in the words of kube-apiserver.

mod lists;
mod scalar;

use serde_json::Value;

use super::{Additional, Embedded, Limits, ListKind, Null, Schema, Type, rules};
use crate::cause::{Cause, FieldPath, Reason};

/// Checks an object: the schema, the uniqueness of lists, and the rules, with the budget of the limits. `old` is the object that it replaces.
///
/// What did not change is not checked again, so that objects which were stored under an older schema can still be edited. Metadata is
/// not looked at, but for what the schema says of names.
pub fn validate(new: &Value, old: Option<&Value>, schema: &Schema, limits: &Limits) -> Vec<Cause> {
    let mut walk = Walk { limits, causes: Vec::new(), depth: 0 };
    walk.value(new, old, schema, &FieldPath::root());
    let mut causes = walk.causes;
    lists::check(new, old, schema, &FieldPath::root(), &mut causes);
    if rules::any(schema) {
        if causes.iter().any(|cause| hides_rules(cause.reason)) {
            causes.push(Cause::invalid(&FieldPath::root(), Value::Null, NOT_CHECKED));
        } else {
            causes.extend(rules::check(new, old, schema, limits));
        }
    }
    causes.truncate(limits.max_causes);
    causes
}

const NOT_CHECKED: &str = "some validation rules were not checked because the object was invalid; correct the existing errors to \
                           complete validation";

/// Checks a value inside of an object; rules are not looked at.
pub(crate) fn value(value: &Value, schema: &Schema, at: &FieldPath, limits: &Limits) -> Vec<Cause> {
    let mut walk = Walk { limits, causes: Vec::new(), depth: 0 };
    walk.value(value, None, schema, at);
    lists::check(value, None, schema, at, &mut walk.causes);
    walk.causes
}

/// Whether a value that is wrong in this way may be one that rules cannot be asked about.
fn hides_rules(reason: Reason) -> bool {
    match reason {
        Reason::NotSupported | Reason::Required | Reason::TooLong | Reason::TooMany | Reason::TypeInvalid => {
            true
        }
        Reason::Invalid | Reason::Duplicate | Reason::Forbidden | Reason::NotFound | Reason::Internal => {
            false
        }
    }
}

struct Walk<'l> {
    limits: &'l Limits,
    causes: Vec<Cause>,
    depth: usize,
}

/// The name of a value's type.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Whether a value has a type.
pub(super) fn fits(kind: Type, value: &Value) -> bool {
    match (kind, value) {
        (Type::Any, _)
        | (Type::Object, Value::Object(_))
        | (Type::Array, Value::Array(_))
        | (Type::String | Type::IntOrString | Type::Quantity, Value::String(_))
        | (Type::Number | Type::Quantity, Value::Number(_))
        | (Type::Boolean, Value::Bool(_)) => true,
        (Type::Integer | Type::IntOrString, Value::Number(number)) => {
            !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
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
    }
}

impl Walk<'_> {
    fn value(&mut self, value: &Value, old: Option<&Value>, schema: &Schema, at: &FieldPath) {
        if self.causes.len() > self.limits.max_causes || old == Some(value) {
            return;
        }
        if self.depth == self.limits.max_depth {
            let detail = format!("values may be nested {} levels deep at most", self.limits.max_depth);
            self.causes.push(Cause::forbidden(at, detail));
            return;
        }
        self.depth += 1;
        self.here(value, old, schema.resolved(), at);
        self.depth -= 1;
    }

    fn here(&mut self, value: &Value, old: Option<&Value>, schema: &Schema, at: &FieldPath) {
        if value.is_null() && schema.null == Null::Allowed {
            return;
        }
        if !fits(schema.kind, value) {
            self.causes.push(wrong_type(value, schema, at));
        }
        self.conditions(value, schema, at);
        scalar::check(value, &schema.checks, at, &mut self.causes);
        scalar::choices(value, &schema.checks.choices, at, &mut self.causes);
        match value {
            Value::Array(items) => self.list(items, old, schema, at),
            Value::Object(_) => self.object(value, old, schema, at),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn list(&mut self, items: &[Value], old: Option<&Value>, schema: &Schema, at: &FieldPath) {
        scalar::count(items.len(), schema.checks.items, scalar::Counted::Items, at, &mut self.causes);
        let Some(item_schema) = &schema.items else { return };
        for (index, item) in items.iter().enumerate() {
            let old = correlated(item, old, schema);
            self.value(item, old, item_schema, &at.index(index));
        }
    }

    fn object(&mut self, value: &Value, old: Option<&Value>, schema: &Schema, at: &FieldPath) {
        let Value::Object(fields) = value else { return };
        scalar::count(fields.len(), schema.checks.fields, scalar::Counted::Fields, at, &mut self.causes);
        for name in &schema.required {
            if !fields.contains_key(name) {
                self.causes.push(Cause::required(&at.child(name), ""));
            }
        }
        for (name, value) in fields {
            if schema.embedded == Embedded::Resource
                && matches!(name.as_str(), "apiVersion" | "kind" | "metadata")
            {
                continue;
            }
            let old = old.and_then(|old| old.get(name));
            match (schema.properties.get(name), &schema.additional) {
                (Some(property), _) => self.value(value, old, property, &at.child(name)),
                (None, Some(Additional::Like(values))) => self.value(value, old, values, &at.child(name)),
                (None, Some(Additional::Nothing)) => {
                    let place = if at.is_root() { "" } else { at.as_str() };
                    let detail = format!("{place}.{name} in body is a forbidden property");
                    self.causes.push(Cause::invalid(&at.child(name), "", detail));
                }
                (None, Some(Additional::Anything) | None) => {}
            }
        }
    }

    fn conditions(&mut self, value: &Value, schema: &Schema, at: &FieldPath) {
        let checks = &schema.checks;
        let place = crate::cause::go_quote(at.as_str());
        // Of several schemas together it is said for the object as a whole.
        let whole = &FieldPath::root();
        let wrong = |condition: &Schema| {
            let mut inner = Walk { limits: self.limits, causes: Vec::new(), depth: self.depth };
            inner.value(value, None, condition, at);
            inner.causes
        };
        if !checks.any_of.is_empty() {
            let mut failures = checks.any_of.iter().map(wrong);
            if failures.all(|causes| !causes.is_empty()) {
                let detail = format!("{place} must validate at least one schema (anyOf)");
                self.causes.push(Cause::invalid(whole, "", detail));
                if let Some(closest) = checks.any_of.iter().map(wrong).min_by_key(Vec::len) {
                    self.causes.extend(closest);
                }
            }
        }
        if !checks.one_of.is_empty() {
            let all: Vec<Vec<Cause>> = checks.one_of.iter().map(wrong).collect();
            let matching = all.iter().filter(|causes| causes.is_empty()).count();
            if matching != 1 {
                let found = if matching == 0 {
                    "Found none valid".to_owned()
                } else {
                    format!("Found {matching} valid alternatives")
                };
                let detail = format!("{place} must validate one and only one schema (oneOf). {found}");
                self.causes.push(Cause::invalid(whole, "", detail));
                if matching == 0 {
                    self.causes.extend(all.into_iter().min_by_key(Vec::len).into_iter().flatten());
                }
            }
        }
        if !checks.all_of.is_empty() {
            let all: Vec<Vec<Cause>> = checks.all_of.iter().map(wrong).collect();
            if all.iter().any(|causes| !causes.is_empty()) {
                let none = if all.iter().all(|causes| !causes.is_empty()) { ". None validated" } else { "" };
                let detail = format!("{place} must validate all the schemas (allOf){none}");
                self.causes.push(Cause::invalid(whole, "", detail));
                self.causes.extend(all.into_iter().flatten());
            }
        }
        if let Some(condition) = &checks.not
            && wrong(condition).is_empty()
        {
            self.causes.push(Cause::invalid(
                whole,
                "",
                format!("{place} must not validate the schema (not)"),
            ));
        }
    }
}

/// The item of an old list that is the same as a new one by its keys.
pub(super) fn correlated<'v>(item: &Value, old: Option<&'v Value>, schema: &Schema) -> Option<&'v Value> {
    let ListKind::Map(keys) = schema.list_kind() else { return None };
    let items = old?.as_array()?;
    items.iter().find(|other| keys.iter().all(|key| item.get(key) == other.get(key)))
}

fn wrong_type(value: &Value, schema: &Schema, at: &FieldPath) -> Cause {
    let found = type_name(value);
    let wanted = match schema.kind {
        Type::IntOrString => "integer,string",
        Type::Quantity => "number,string",
        Type::Any
        | Type::Object
        | Type::Array
        | Type::String
        | Type::Integer
        | Type::Number
        | Type::Boolean => schema.kind.name(),
    };
    let place = if at.is_root() { "" } else { at.as_str() };
    Cause::wrong_type(at, found, format!("{place} in body must be of type {wanted}: \"{found}\""))
}
