//! Reading the schemas of custom resources from their definitions.

use lanai_krm::Resource;
use lanai_yaml::NodeRef;

use crate::limits::Limits;
use crate::message::{Types, quote};
use crate::schema::{Bits, Bound, Choice, Embedded, End, Null, Others, Schema, Unique};
use crate::value::{Value, fields};
use lanai_openapi::format::Format;
use lanai_openapi::pattern::Pattern;

/// A kind that a definition defines.
pub(crate) struct Defined {
    /// Its group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// Its name.
    pub kind: String,
    /// Its schema.
    pub schema: Schema,
}

/// What a definition says.
#[derive(Default)]
pub(crate) struct Definition {
    /// Its versions that have a schema.
    pub kinds: Vec<Defined>,
    /// What of it cannot be checked, with the field.
    pub notes: Vec<Note>,
}

/// Something that cannot be checked.
pub(crate) struct Note {
    /// The field of the definition.
    pub path: String,
    /// Why, in words.
    pub message: String,
}

/// Reads a definition; `None` for any other resource.
pub(crate) fn read(resource: &Resource, limits: &Limits) -> Option<Definition> {
    let id = resource.id();
    if id.group != "apiextensions.k8s.io" || id.kind != "CustomResourceDefinition" {
        return None;
    }
    let mut definition = Definition::default();
    let Some(spec) = resource.root().get("spec") else { return Some(definition) };
    let (Some(group), Some(kind)) =
        (text(spec, "group"), spec.get("names").and_then(|names| text(names, "kind")))
    else {
        return Some(definition);
    };
    // In the first version of definitions, what is not said is kept.
    let keeps = boolean(spec, "preserveUnknownFields").unwrap_or(id.version == "v1beta1");
    let shared = spec.get("validation").and_then(|validation| validation.get("openAPIV3Schema"));
    let mut versions: Vec<VersionOf<'_>> = Vec::new();
    for (at, version) in spec.get("versions").into_iter().flat_map(NodeRef::items).enumerate() {
        let own = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
        let (Some(name), Some(schema)) = (text(version, "name"), own.or(shared)) else { continue };
        let path = match own {
            Some(_) => format!("spec.versions.{at}.schema.openAPIV3Schema"),
            None => SHARED.into(),
        };
        versions.push(VersionOf { name, schema, path });
    }
    if let (Some(name), Some(schema)) = (text(spec, "version"), shared)
        && versions.iter().all(|version| version.name != name)
    {
        versions.push(VersionOf { name, schema, path: SHARED.into() });
    }
    for VersionOf { name, schema, path } in versions {
        let mut reader = Reader { limits, path, nodes: 0, notes: Vec::new() };
        let read = reader.schema(schema, 0);
        definition.notes.append(&mut reader.notes);
        let Some(mut schema) = read else { continue };
        schema.embedded = Embedded::Resource;
        if keeps {
            schema.keep_unknown();
        }
        let (group, kind) = (group.clone(), kind.clone());
        definition.kinds.push(Defined { group, version: name, kind, schema });
    }
    Some(definition)
}

/// Reads a schema that stands by itself.
pub(crate) fn read_schema(node: NodeRef<'_>, limits: &Limits) -> Option<Schema> {
    Reader { limits, path: String::new(), nodes: 0, notes: Vec::new() }.schema(node, 0)
}

/// Where the schema of all versions stands in the first version of definitions.
const SHARED: &str = "spec.validation.openAPIV3Schema";

/// A version of a kind, and where its schema stands.
struct VersionOf<'a> {
    name: String,
    schema: NodeRef<'a>,
    path: String,
}

impl Schema {
    /// Keeps fields that are not known, here and below.
    fn keep_unknown(&mut self) {
        if matches!(self.others, Others::Unknown) {
            self.others = Others::Kept;
        }
        if let Others::Like(schema) = &mut self.others {
            schema.keep_unknown();
        }
        self.properties.values_mut().for_each(Self::keep_unknown);
        if let Some(items) = &mut self.items {
            items.keep_unknown();
        }
    }
}

struct Reader<'l> {
    limits: &'l Limits,
    path: String,
    nodes: usize,
    notes: Vec<Note>,
}

impl Reader<'_> {
    fn note(&mut self, message: String) {
        self.notes.push(Note { path: self.path.clone(), message });
    }

    /// Reads the schema in a field, or its items.
    fn below<T>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let here = self.path.len();
        self.path.push('.');
        self.path.push_str(step);
        let found = read(self);
        self.path.truncate(here);
        found
    }

    /// The schema at a node; `None` when it is none, or too large, which is noted.
    fn schema(&mut self, node: NodeRef<'_>, depth: usize) -> Option<Schema> {
        if self.nodes > self.limits.max_schema_nodes {
            return None;
        }
        self.nodes += 1;
        if self.nodes > self.limits.max_schema_nodes {
            self.note(format!(
                "there are more than {} schemas: the others are not checked",
                self.limits.max_schema_nodes
            ));
            return None;
        }
        if depth > self.limits.max_schema_depth {
            self.note(format!("is deeper than {} schemas, and is not checked", self.limits.max_schema_depth));
            return None;
        }
        let Value::Object(node) = Value::of(node) else { return None };
        let mut schema = Schema::default();
        let mut flags = Flags::default();
        for field in fields(node) {
            self.keyword(&mut schema, &mut flags, &field.name, field.value, depth + 1);
        }
        if flags.exclusive_minimum
            && let Some(bound) = &mut schema.minimum
        {
            bound.end = End::Outside;
        }
        if flags.exclusive_maximum
            && let Some(bound) = &mut schema.maximum
        {
            bound.end = End::Outside;
        }
        if flags.keeps_unknown && matches!(schema.others, Others::Unknown) {
            schema.others = Others::Kept;
        }
        if flags.is_map && !flags.map_keys.is_empty() {
            schema.unique = Unique::Keys(flags.map_keys);
        }
        if flags.int_or_string {
            schema.types = Types::INTEGER.and(Types::TEXT);
        }
        Some(schema)
    }

    fn keyword(
        &mut self,
        schema: &mut Schema,
        flags: &mut Flags,
        name: &str,
        node: NodeRef<'_>,
        depth: usize,
    ) {
        match name {
            "type" => schema.types = Types::named(&node.target().value()).unwrap_or_default(),
            "nullable" if is_true(node) => schema.null = Null::Allowed,
            "default" if schema.null == Null::Refused && !node.is_null() => schema.null = Null::Dropped,
            "properties" => {
                for field in fields(node) {
                    let read = self.below("properties", |reader| {
                        reader.below(&field.name, |reader| reader.schema(field.value, depth))
                    });
                    schema.properties.insert(field.name.into_owned(), read.unwrap_or_else(anything));
                }
            }
            "additionalProperties" => schema.others = self.others(node, depth),
            "required" => {
                schema.required = node.items().filter_map(|item| item.as_str().map(Into::into)).collect();
            }
            "items" => schema.items = self.below(name, |reader| reader.schema(node, depth)).map(Box::new),
            "x-kubernetes-list-type" if node.target().value() == "set" => schema.unique = Unique::Items,
            "x-kubernetes-list-type" if node.target().value() == "map" => flags.is_map = true,
            "x-kubernetes-list-map-keys" => {
                flags.map_keys = node.items().filter_map(|item| item.as_str().map(Into::into)).collect();
            }
            "enum" => schema.choices = node.items().map(choice).collect(),
            "pattern" => schema.pattern = self.pattern(node),
            "format" => {
                let name = node.target().value();
                schema.format = Format::named(&name);
                schema.bits = match &*name {
                    "int32" => Some(Bits::Int32),
                    "int64" => Some(Bits::Int64),
                    _ => None,
                };
            }
            "minimum" => schema.minimum = number(node).map(|at| Bound { at, end: End::Inside }),
            "maximum" => schema.maximum = number(node).map(|at| Bound { at, end: End::Inside }),
            "exclusiveMinimum" => flags.exclusive_minimum = is_true(node),
            "exclusiveMaximum" => flags.exclusive_maximum = is_true(node),
            "multipleOf" => schema.multiple_of = number(node).filter(|number| *number > 0.0),
            "minLength" => schema.length.min = count(node),
            "maxLength" => schema.length.max = count(node),
            "minItems" => schema.item_count.min = count(node),
            "maxItems" => schema.item_count.max = count(node),
            "minProperties" => schema.field_count.min = count(node),
            "maxProperties" => schema.field_count.max = count(node),
            "allOf" => schema.all_of = self.schemas(name, node, depth),
            "anyOf" => schema.any_of = self.schemas(name, node, depth),
            "oneOf" => schema.one_of = self.schemas(name, node, depth),
            "not" => schema.not = self.below(name, |reader| reader.schema(node, depth)).map(Box::new),
            "x-kubernetes-preserve-unknown-fields" => flags.keeps_unknown = is_true(node),
            "x-kubernetes-int-or-string" => flags.int_or_string = is_true(node),
            "x-kubernetes-embedded-resource" if is_true(node) => schema.embedded = Embedded::Resource,
            _ => {}
        }
    }

    fn schemas(&mut self, name: &str, node: NodeRef<'_>, depth: usize) -> Vec<Schema> {
        let items = node.items().enumerate();
        items
            .map(|(at, item)| {
                let read =
                    |reader: &mut Self| reader.below(&at.to_string(), |reader| reader.schema(item, depth));
                self.below(name, read).unwrap_or_else(anything)
            })
            .collect()
    }

    fn others(&mut self, node: NodeRef<'_>, depth: usize) -> Others {
        match Value::of(node) {
            Value::Boolean(true) => Others::Kept,
            Value::Boolean(false) => Others::Refused,
            Value::Object(node) => {
                let read = self.below("additionalProperties", |reader| reader.schema(node, depth));
                read.map_or(Others::Kept, |schema| Others::Like(Box::new(schema)))
            }
            Value::Null | Value::Integer(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                Others::Unknown
            }
        }
    }

    fn pattern(&mut self, node: NodeRef<'_>) -> Option<Pattern> {
        let text = node.as_str()?;
        match Pattern::compile(&text, self.limits.max_pattern_bytes) {
            Ok(pattern) => Some(pattern),
            Err(why) => {
                self.note(format!("the pattern {} is not checked: {why}", quote(&text)));
                None
            }
        }
    }
}

/// Keywords that change what others say.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "they are read as such, and live for a moment")]
struct Flags {
    exclusive_minimum: bool,
    exclusive_maximum: bool,
    keeps_unknown: bool,
    int_or_string: bool,
    is_map: bool,
    map_keys: Vec<String>,
}

/// The schema of what cannot be checked.
fn anything() -> Schema {
    Schema { null: Null::Allowed, others: Others::Kept, ..Schema::default() }
}

fn choice(node: NodeRef<'_>) -> Choice {
    match Value::of(node) {
        Value::Null => Choice::Null,
        Value::Boolean(is) => Choice::Boolean(is),
        Value::Integer(number) => Choice::Integer(number),
        Value::Number(number) => Choice::Number(number),
        Value::Text(text) => Choice::Text(text.into_owned()),
        Value::List(_) | Value::Object(_) => Choice::Compound,
    }
}

#[expect(clippy::cast_precision_loss, reason = "schemas state limits as floating-point numbers")]
fn number(node: NodeRef<'_>) -> Option<f64> {
    match Value::of(node) {
        Value::Integer(number) => Some(number as f64),
        Value::Number(number) => Some(number),
        Value::Null | Value::Boolean(_) | Value::Text(_) | Value::List(_) | Value::Object(_) => None,
    }
}

fn count(node: NodeRef<'_>) -> Option<u64> {
    match Value::of(node) {
        Value::Integer(number) => u64::try_from(number).ok(),
        Value::Null
        | Value::Boolean(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Object(_) => None,
    }
}

fn is_true(node: NodeRef<'_>) -> bool {
    matches!(Value::of(node), Value::Boolean(true))
}

fn boolean(node: NodeRef<'_>, key: &str) -> Option<bool> {
    match Value::of(node.get(key)?) {
        Value::Boolean(is) => Some(is),
        Value::Null
        | Value::Integer(_)
        | Value::Number(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Object(_) => None,
    }
}

fn text(node: NodeRef<'_>, key: &str) -> Option<String> {
    node.get(key)?.as_str().map(Into::into)
}
