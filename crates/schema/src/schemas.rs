//! Which schema a resource has.

use std::collections::{HashMap, HashSet};

use lanai_krm::Resource;
use lanai_openapi::{Table, Type, built_in};
use lanai_yaml::{Kind, NodeRef};

use crate::custom;
use crate::definitions;
use crate::limits::Limits;
use crate::message::quote;
use crate::schema::Schema;
use crate::value::Value;
use crate::walk::{Finding, UnknownFields, Walk};

/// The schemas that are known: those of the built-in kinds, and those that definitions bring.
pub struct Schemas {
    built_in: &'static Table,
    custom: HashMap<TypeName, Schema>,
    warnings: Vec<Warning>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct TypeName {
    group: String,
    version: String,
    kind: String,
}

/// Something in a definition that cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The place of the definition among the resources.
    pub item: usize,
    /// What, and where in the definition.
    pub finding: Finding,
}

/// What came of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// What is wrong, each field before what is in it.
    pub findings: Vec<Finding>,
    /// The resources without a schema: the one that was checked, or those in it if it is a list.
    pub missing: Vec<MissingSchema>,
}

/// A resource without a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingSchema {
    /// Where it stands; empty when it is the whole.
    pub path: String,
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
}

/// The schema of a resource.
enum Found<'a> {
    BuiltIn(&'static Type),
    Custom(&'a Schema),
    List(NodeRef<'a>),
    Missing(MissingSchema),
}

impl Schemas {
    /// The built-in ones, and those of the definitions among these resources. A definition goes before what is built in; of
    /// several for a kind, the first counts.
    pub fn of(resources: &[Resource], limits: &Limits) -> Self {
        let mut schemas = Self { built_in: built_in(), custom: HashMap::new(), warnings: Vec::new() };
        for (item, resource) in resources.iter().enumerate() {
            let Some(definition) = definitions::read(resource, limits) else { continue };
            for defined in definition.kinds {
                let name = TypeName { group: defined.group, version: defined.version, kind: defined.kind };
                schemas.custom.entry(name).or_insert(defined.schema);
            }
            schemas.warnings.extend(
                definition.notes.into_iter().map(|note| Warning {
                    item,
                    finding: Finding { path: note.path, message: note.message },
                }),
            );
        }
        schemas
    }

    /// What in the definitions cannot be checked.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Checks a resource. Of a `List`, the resources in it are checked. One without `apiVersion` or `kind` has no schema.
    pub fn check(&self, resource: NodeRef<'_>, unknown: UnknownFields, limits: &Limits) -> Checked {
        let mut walk = Walk::new(unknown, limits);
        let mut missing = Vec::new();
        self.resource(&mut walk, &mut missing, resource);
        if unknown == UnknownFields::Refused {
            duplicates(&mut walk, resource);
        }
        Checked { findings: walk.end(), missing }
    }

    fn resource(&self, walk: &mut Walk<'_>, missing: &mut Vec<MissingSchema>, node: NodeRef<'_>) {
        if !walk.step() {
            return;
        }
        match self.find(walk, node) {
            Found::BuiltIn(of) => crate::built_in::object(walk, self.built_in, node, of),
            Found::Custom(schema) => custom::resource(walk, self.built_in, node, schema),
            Found::List(items) => walk.below("items", |walk| {
                for (at, item) in items.items().enumerate() {
                    walk.below(&at.to_string(), |walk| self.resource(walk, missing, item));
                }
            }),
            Found::Missing(which) => missing.push(which),
        }
    }

    fn find<'a>(&'a self, walk: &Walk<'_>, node: NodeRef<'a>) -> Found<'a> {
        let text = |key: &str| match node.get(key).map(Value::of) {
            Some(Value::Text(text)) => text.into_owned(),
            Some(_) | None => String::new(),
        };
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
        let name = TypeName { group: group.into(), version: version.into(), kind: kind.clone() };
        if let Some(schema) = self.custom.get(&name) {
            return Found::Custom(schema);
        }
        if let Some(of) = self.built_in.kind(group, version, &kind) {
            return Found::BuiltIn(of);
        }
        match node.get("items").map(Value::of) {
            Some(Value::List(items)) if api_version == "v1" && kind == "List" => Found::List(items),
            Some(_) | None => Found::Missing(MissingSchema { path: walk.path().into(), api_version, kind }),
        }
    }
}

/// Reports the keys that stand twice, whatever the schema says.
fn duplicates(walk: &mut Walk<'_>, node: NodeRef<'_>) {
    match node.kind() {
        Kind::Mapping => {
            let mut seen = HashSet::new();
            let mut twice = Vec::new();
            for (key, _) in node.entries().filter(|(key, _)| key.target().kind() == Kind::Scalar) {
                let name = key.target().value();
                if !seen.insert(name.clone()) && !twice.contains(&name) {
                    twice.push(name);
                }
            }
            for name in twice {
                walk.report(format!("key {} stands twice", quote(&name)));
            }
            for (key, value) in node.entries() {
                walk.below(&key.target().value(), |walk| duplicates(walk, value));
            }
        }
        Kind::Sequence => {
            for (at, item) in node.items().enumerate() {
                walk.below(&at.to_string(), |walk| duplicates(walk, item));
            }
        }
        // What an alias stands for is looked at where it stands.
        Kind::Scalar | Kind::Alias => {}
    }
}
