//! List keys that custom resource definitions bring.

use lanai_yaml::{Kind, NodeRef};

use super::{Field, Keys, List, MapKey, Schemas, Type};

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
    // In `v1beta1` all versions may have one schema, and there may be one version only.
    let common = spec.get("validation").and_then(|validation| validation.get("openAPIV3Schema"));
    let common = common.and_then(|schema| object(schemas, schema, 0));
    let mut is_listed = false;
    for version in spec.get("versions").into_iter().flat_map(NodeRef::items) {
        let Some(name) = version.get("name") else { continue };
        is_listed = true;
        let schema = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema"));
        let number = match schema {
            Some(schema) => object(schemas, schema, 0),
            None => common,
        };
        if let Some(number) = number {
            schemas.add_kind(&group, &name.target().value(), &kind, number);
        }
    }
    if let (Some(number), Some(name), false) = (common, spec.get("version"), is_listed) {
        schemas.add_kind(&group, &name.target().value(), &kind, number);
    }
}

/// The type of an object; `None` when no list with keys can be reached from it.
fn object(schemas: &mut Schemas, schema: NodeRef<'_>, depth: usize) -> Option<usize> {
    if depth >= MAX_DEPTH {
        return None;
    }
    let mut found = Type::default();
    for (key, schema) in schema.get("properties").into_iter().flat_map(NodeRef::entries) {
        if let Some(field) = field(schemas, schema, depth) {
            found.fields.insert(key.target().value().into_owned(), field);
        }
    }
    // A mapping with keys that nobody knows beforehand.
    found.rest = schema.get("additionalProperties").and_then(|schema| field(schemas, schema, depth));
    if found.fields.is_empty() && found.rest.is_none() {
        return None;
    }
    schemas.types.push(found);
    Some(schemas.types.len() - 1)
}

/// A field; `None` when neither it nor what is below it is a list with keys.
fn field(schemas: &mut Schemas, schema: NodeRef<'_>, depth: usize) -> Option<Field> {
    let list = list(schema);
    let held = match list {
        List::Atomic => Some(schema),
        List::Set | List::Map(_) | List::Functions => schema.get("items"),
    };
    let holds = held.and_then(|held| object(schemas, held, depth + 1));
    (list != List::Atomic || holds.is_some()).then_some(Field { list, holds, keys: Keys::Any })
}

fn list(schema: NodeRef<'_>) -> List {
    let kind = schema.get("x-kubernetes-list-type").map(|kind| kind.target().value());
    let keys = schema.get("x-kubernetes-list-map-keys").into_iter().flat_map(NodeRef::items);
    let properties = schema.get("items").and_then(|items| items.get("properties"));
    let default = |key: &str| {
        let default = properties.and_then(|all| all.get(key))?.get("default")?.target();
        (default.kind() == Kind::Scalar && !default.is_null()).then(|| default.value().into_owned())
    };
    let keys = keys.map(|key| key.target().value().into_owned());
    let keys: Vec<MapKey> = keys.map(|name| MapKey { default: default(&name), name }).collect();
    match kind.as_deref() {
        Some("map") if !keys.is_empty() => List::Map(keys),
        Some("set") => List::Set,
        Some(_) | None => List::Atomic,
    }
}

#[cfg(test)]
mod tests {
    use lanai_types::SafePath;
    use lanai_yaml::Document;

    use super::*;

    #[test]
    fn schemas_are_read_up_to_a_depth() {
        let definition = |depth: usize| {
            let list = "{l: {x-kubernetes-list-type: set}}";
            let (open, close) = ("{p: {properties: ".repeat(depth), "}}".repeat(depth));
            let schema = format!("{{openAPIV3Schema: {{properties: {open}{list}{close}}}}}");
            format!(
                "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nspec:\n  group: e.com\n  \
                 names: {{kind: T}}\n  versions:\n  - name: v1\n    schema: {schema}\n"
            )
        };
        let is_set = |depth: usize| {
            let mut schemas = Schemas::built_in().clone();
            schemas.add_definition(&Document::parse(definition(depth)).unwrap());
            let resource = Document::parse("apiVersion: e.com/v1\nkind: T\n").unwrap();
            let path: SafePath = "a.yaml".parse().unwrap();
            let mut cursor = schemas.of(&path, resource.root());
            for _ in 0..depth {
                cursor = cursor.field("p").below;
            }
            *cursor.field("l").list == List::Set
        };
        assert!(is_set(MAX_DEPTH - 1));
        assert!(!is_set(MAX_DEPTH));
    }
}
