//! List keys that custom resource definitions bring.

use std::collections::HashMap;

use lanai_yaml::NodeRef;

use super::{Field, List, Schemas};

/// How deep a schema is read.
const MAX_DEPTH: usize = 64;

/// Takes the lists of a definition, version by version.
pub(super) fn add(schemas: &mut Schemas, root: NodeRef<'_>) {
    let is = |key: &str, wanted: &str| root.get(key).is_some_and(|node| node.target().value() == wanted);
    let known = root.get("apiVersion").is_some_and(|node| {
        node.target().value().strip_prefix("apiextensions.k8s.io/").is_some_and(|version| !version.is_empty())
    });
    let Some(spec) = root.get("spec").filter(|_| known && is("kind", "CustomResourceDefinition")) else {
        return;
    };
    let kind = spec.get("names").and_then(|names| names.get("kind"));
    let (Some(group), Some(kind)) = (spec.get("group"), kind) else { return };
    let (group, kind) = (group.target().value(), kind.target().value());
    for version in spec.get("versions").into_iter().flat_map(NodeRef::items) {
        let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
        let (Some(name), Some(schema)) = (version.get("name"), schema) else { continue };
        if let Some(number) = object(schemas, schema, 0) {
            schemas.add_kind(&group, &name.target().value(), &kind, number);
        }
    }
}

/// The type of an object; `None` when no list with keys can be reached from it.
fn object(schemas: &mut Schemas, schema: NodeRef<'_>, depth: usize) -> Option<usize> {
    let properties = schema.get("properties").filter(|_| depth < MAX_DEPTH)?;
    let mut fields = HashMap::new();
    for (key, schema) in properties.entries() {
        let list = list(schema);
        let held = if list == List::Atomic { Some(schema) } else { schema.get("items") };
        let holds = held.and_then(|held| object(schemas, held, depth + 1));
        if list != List::Atomic || holds.is_some() {
            fields.insert(key.target().value().into_owned(), Field { list, holds });
        }
    }
    (!fields.is_empty()).then(|| schemas.add_type(fields))
}

fn list(schema: NodeRef<'_>) -> List {
    let kind = schema.get("x-kubernetes-list-type").map(|kind| kind.target().value());
    let keys = schema.get("x-kubernetes-list-map-keys").into_iter().flat_map(NodeRef::items);
    let keys: Vec<String> = keys.map(|key| key.target().value().into_owned()).collect();
    match kind.as_deref() {
        Some("map") if !keys.is_empty() => List::Map(keys),
        Some("set") => List::Set,
        Some(_) | None => List::Atomic,
    }
}
