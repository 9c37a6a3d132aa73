//! Reading schemas from `OpenAPI` v3 in JSON, by the rules for structural schemas.

mod structural;

use lanai_openapi::format::Format;
use lanai_openapi::pattern::Pattern;
use serde_json::{Map, Value};

use super::rules::{OldSelf, Rule};
use super::{
    Additional, Bound, Checks, Embedded, End, Limits, ListKind, MapKind, Null, Range, Schema, Type, Unknown,
};
use crate::cause::{Cause, FieldPath, Reason};

/// Reads the schema of a custom resource. `at` is where it stands in its definition, for the causes.
///
/// # Errors
/// With all that is wrong with it, up to [`Limits::max_causes`]: what cannot be read, what a structural schema may not have, defaults that do not
/// fit, and rules that are no expressions.
pub fn parse(source: &Value, at: &FieldPath, limits: &Limits) -> Result<Schema, Vec<Cause>> {
    let mut reader = Reader { limits, nodes: 0, causes: Vec::new() };
    let schema = reader.schema(source, at, 0);
    if reader.causes.is_empty() {
        structural::check(source, &schema, at, limits, &mut reader.causes);
    }
    reader.causes.truncate(limits.max_causes);
    if reader.causes.is_empty() { Ok(schema) } else { Err(reader.causes) }
}

struct Reader<'l> {
    limits: &'l Limits,
    nodes: usize,
    causes: Vec<Cause>,
}

/// What a keyword should have been.
fn wanted(at: &FieldPath, keyword: &str, value: &Value, what: &str) -> Cause {
    Cause::wrong_type(&at.child(keyword), value.clone(), format!("must be {what}"))
}

impl Reader<'_> {
    fn schema(&mut self, source: &Value, at: &FieldPath, depth: usize) -> Schema {
        self.nodes += 1;
        if depth > self.limits.max_schema_depth {
            let max = self.limits.max_schema_depth;
            self.causes
                .push(Cause::forbidden(at, format!("schemas may be nested {max} levels deep at most")));
            return Schema::default();
        }
        if self.nodes == self.limits.max_schema_nodes + 1 {
            let max = self.limits.max_schema_nodes;
            self.causes.push(Cause::forbidden(at, format!("a schema may have {max} parts at most")));
        }
        let Value::Object(fields) = source else {
            self.causes.push(Cause::wrong_type(at, source.clone(), "must be a schema"));
            return Schema::default();
        };
        if self.nodes > self.limits.max_schema_nodes {
            return Schema::default();
        }
        let kind = self.kind(fields, at);
        Schema {
            reference: None,
            kind,
            null: if self.flag(fields, at, "nullable") { Null::Allowed } else { Null::Refused },
            unknown: if self.flag(fields, at, "x-kubernetes-preserve-unknown-fields") {
                Unknown::Kept
            } else {
                Unknown::Pruned
            },
            embedded: if self.flag(fields, at, "x-kubernetes-embedded-resource") {
                Embedded::Resource
            } else {
                Embedded::No
            },
            properties: self.properties(fields, at, depth),
            additional: self.additional(fields, at, depth),
            required: self.texts(fields, at, "required"),
            items: fields
                .get("items")
                .map(|items| Box::new(self.schema(items, &at.child("items"), depth + 1))),
            default: fields.get("default").cloned(),
            list: self.list(fields, at),
            map: match fields.get("x-kubernetes-map-type").and_then(Value::as_str) {
                Some("atomic") => Some(MapKind::Atomic),
                Some("granular") => Some(MapKind::Granular),
                Some(other) => {
                    let at = at.child("x-kubernetes-map-type");
                    self.causes.push(Cause::not_supported(&at, other, &["atomic", "granular"]));
                    None
                }
                None => None,
            },
            patch: super::Patch::default(),
            checks: self.checks(fields, at, depth),
            rules: self.rules(fields, at),
        }
    }

    fn kind(&mut self, fields: &Map<String, Value>, at: &FieldPath) -> Type {
        if self.flag(fields, at, "x-kubernetes-int-or-string") {
            return Type::IntOrString;
        }
        match fields.get("type") {
            None => Type::Any,
            Some(Value::String(name)) if name.is_empty() => Type::Any,
            Some(Value::String(name)) => Type::named(name).unwrap_or_else(|| {
                let known = ["array", "boolean", "integer", "number", "object", "string"];
                self.causes.push(Cause::not_supported(&at.child("type"), name.as_str(), &known));
                Type::Any
            }),
            Some(other) => {
                self.causes.push(wanted(at, "type", other, "a text"));
                Type::Any
            }
        }
    }

    fn flag(&mut self, fields: &Map<String, Value>, at: &FieldPath, keyword: &str) -> bool {
        match fields.get(keyword) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(value)) => *value,
            Some(other) => {
                self.causes.push(wanted(at, keyword, other, "true or false"));
                false
            }
        }
    }

    fn texts(&mut self, fields: &Map<String, Value>, at: &FieldPath, keyword: &str) -> Vec<String> {
        let Some(value) = fields.get(keyword) else { return Vec::new() };
        let texts = value
            .as_array()
            .and_then(|items| items.iter().map(|item| item.as_str().map(str::to_owned)).collect());
        texts.unwrap_or_else(|| {
            self.causes.push(wanted(at, keyword, value, "a list of texts"));
            Vec::new()
        })
    }

    fn properties(
        &mut self,
        fields: &Map<String, Value>,
        at: &FieldPath,
        depth: usize,
    ) -> std::collections::BTreeMap<String, Schema> {
        let Some(value) = fields.get("properties") else { return std::collections::BTreeMap::new() };
        let Value::Object(properties) = value else {
            self.causes.push(wanted(at, "properties", value, "an object"));
            return std::collections::BTreeMap::new();
        };
        let at = at.child("properties");
        let read = properties
            .iter()
            .map(|(name, source)| (name.clone(), self.schema(source, &at.key(name), depth + 1)));
        read.collect()
    }

    fn additional(
        &mut self,
        fields: &Map<String, Value>,
        at: &FieldPath,
        depth: usize,
    ) -> Option<Additional> {
        match fields.get("additionalProperties")? {
            Value::Bool(true) => Some(Additional::Anything),
            Value::Bool(false) => Some(Additional::Nothing),
            source => {
                let schema = self.schema(source, &at.child("additionalProperties"), depth + 1);
                Some(Additional::Like(Box::new(schema)))
            }
        }
    }

    fn list(&mut self, fields: &Map<String, Value>, at: &FieldPath) -> Option<ListKind> {
        match fields.get("x-kubernetes-list-type").and_then(Value::as_str)? {
            "atomic" => Some(ListKind::Atomic),
            "set" => Some(ListKind::Set),
            "map" => Some(ListKind::Map(self.texts(fields, at, "x-kubernetes-list-map-keys"))),
            other => {
                let at = at.child("x-kubernetes-list-type");
                self.causes.push(Cause::not_supported(&at, other, &["atomic", "set", "map"]));
                None
            }
        }
    }

    fn checks(&mut self, fields: &Map<String, Value>, at: &FieldPath, depth: usize) -> Checks {
        let format_name = fields.get("format").and_then(Value::as_str).map(str::to_owned);
        Checks {
            format: format_name.as_deref().and_then(Format::named),
            format_name,
            pattern: self.pattern(fields, at),
            choices: match fields.get("enum") {
                None => Vec::new(),
                Some(Value::Array(choices)) => choices.clone(),
                Some(other) => {
                    self.causes.push(wanted(at, "enum", other, "a list"));
                    Vec::new()
                }
            },
            minimum: self.bound(fields, at, "minimum", "exclusiveMinimum"),
            maximum: self.bound(fields, at, "maximum", "exclusiveMaximum"),
            multiple_of: self.number(fields, at, "multipleOf"),
            length: self.range(fields, at, "minLength", "maxLength"),
            items: self.range(fields, at, "minItems", "maxItems"),
            fields: self.range(fields, at, "minProperties", "maxProperties"),
            all_of: self.several(fields, at, "allOf", depth),
            any_of: self.several(fields, at, "anyOf", depth),
            one_of: self.several(fields, at, "oneOf", depth),
            not: fields.get("not").map(|source| Box::new(self.schema(source, &at.child("not"), depth + 1))),
        }
    }

    fn pattern(&mut self, fields: &Map<String, Value>, at: &FieldPath) -> Option<Pattern> {
        let text = fields.get("pattern")?.as_str().filter(|text| !text.is_empty())?;
        match Pattern::compile(text, self.limits.max_pattern_bytes) {
            Ok(pattern) => Some(pattern),
            Err(why) => {
                let detail = format!("must be a valid regular expression, but isn't: {why}");
                self.causes.push(Cause::invalid(&at.child("pattern"), text, detail));
                None
            }
        }
    }

    fn bound(
        &mut self,
        fields: &Map<String, Value>,
        at: &FieldPath,
        keyword: &str,
        exclusive: &str,
    ) -> Option<Bound> {
        let end = if self.flag(fields, at, exclusive) { End::Outside } else { End::Inside };
        self.number(fields, at, keyword).map(|at| Bound { at, end })
    }

    fn number(&mut self, fields: &Map<String, Value>, at: &FieldPath, keyword: &str) -> Option<f64> {
        let value = fields.get(keyword)?;
        let number = value.as_f64();
        if number.is_none() {
            self.causes.push(wanted(at, keyword, value, "a number"));
        }
        number
    }

    fn range(&mut self, fields: &Map<String, Value>, at: &FieldPath, min: &str, max: &str) -> Range {
        let mut count = |keyword: &str| {
            let value = fields.get(keyword)?;
            let count = value.as_u64();
            if count.is_none() {
                self.causes.push(wanted(at, keyword, value, "a whole number that is not negative"));
            }
            count
        };
        Range { min: count(min), max: count(max) }
    }

    fn several(
        &mut self,
        fields: &Map<String, Value>,
        at: &FieldPath,
        keyword: &str,
        depth: usize,
    ) -> Vec<Schema> {
        let Some(value) = fields.get(keyword) else { return Vec::new() };
        let Value::Array(sources) = value else {
            self.causes.push(wanted(at, keyword, value, "a list of schemas"));
            return Vec::new();
        };
        let at = at.child(keyword);
        sources
            .iter()
            .enumerate()
            .map(|(index, source)| self.schema(source, &at.index(index), depth + 1))
            .collect()
    }

    fn rules(&mut self, fields: &Map<String, Value>, at: &FieldPath) -> Vec<Rule> {
        let Some(value) = fields.get("x-kubernetes-validations") else { return Vec::new() };
        let at = at.child("x-kubernetes-validations");
        let Value::Array(sources) = value else {
            self.causes.push(Cause::wrong_type(&at, value.clone(), "must be a list of rules"));
            return Vec::new();
        };
        sources.iter().enumerate().filter_map(|(index, source)| self.rule(source, &at.index(index))).collect()
    }

    fn rule(&mut self, source: &Value, at: &FieldPath) -> Option<Rule> {
        let text = |name: &str| source.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let rule = text("rule");
        if rule.trim().is_empty() {
            self.causes.push(Cause::required(&at.child("rule"), "rule is not specified"));
            return None;
        }
        let reason = match text("reason").as_str() {
            "" | "FieldValueInvalid" => Reason::Invalid,
            "FieldValueForbidden" => Reason::Forbidden,
            "FieldValueRequired" => Reason::Required,
            "FieldValueDuplicate" => Reason::Duplicate,
            other => {
                let known =
                    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
                self.causes.push(Cause::not_supported(&at.child("reason"), other, &known));
                Reason::Invalid
            }
        };
        Some(Rule {
            rule,
            message: text("message"),
            message_expression: text("messageExpression"),
            reason,
            field_path: text("fieldPath"),
            old_self: match source.get("optionalOldSelf").and_then(Value::as_bool) {
                Some(true) => OldSelf::Optional,
                Some(false) | None => OldSelf::Required,
            },
            programs: super::rules::Programs::default(),
        })
    }
}
