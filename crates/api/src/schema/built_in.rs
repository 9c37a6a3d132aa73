//! The schemas of the kinds of Kubernetes, made of its table when they are asked for.

use std::sync::{LazyLock, OnceLock};

use lanai_openapi::format::Format;
use lanai_openapi::{List, Merge, Shape, TypeId, Whole, built_in};

use super::{
    Additional, Checks, ListKind, MapKind, Null, Patch, PatchKeys, PatchList, Schema, Type, Unknown,
};

/// The schema of a kind; the group of the core is empty.
pub fn of_kind(group: &str, version: &str, kind: &str) -> Option<Schema> {
    built_in().id(group, version, kind).map(reference)
}

/// The schema of a type of the table.
pub fn of_type(id: TypeId) -> &'static Schema {
    static SCHEMAS: LazyLock<Vec<OnceLock<Schema>>> =
        LazyLock::new(|| built_in().types().iter().map(|_| OnceLock::new()).collect());
    SCHEMAS[id.number()].get_or_init(|| converted(id))
}

/// What `metadata` of every object looks like.
pub fn metadata() -> &'static Schema {
    static METADATA: LazyLock<Schema> = LazyLock::new(|| {
        let field = built_in().kind("", "v1", "ConfigMap").and_then(|kind| kind.field("metadata"));
        field.map(of_shape).unwrap_or_default()
    });
    METADATA.resolved()
}

fn reference(id: TypeId) -> Schema {
    Schema { reference: Some(id), kind: Type::Object, null: Null::Allowed, ..Schema::default() }
}

fn converted(id: TypeId) -> Schema {
    let table = built_in();
    let of = table.get(id);
    let properties = of.fields().map(|(name, shape)| {
        let mut schema = of_shape(shape);
        if of.has_variants(name) {
            schema.patch.keys = PatchKeys::Retained;
        }
        (name.to_owned(), schema)
    });
    Schema {
        kind: Type::Object,
        null: Null::Allowed,
        properties: properties.collect(),
        required: of.required().iter().map(|name| (*name).to_owned()).collect(),
        map: match of.merge() {
            Whole::ByField => None,
            Whole::Atomic => Some(MapKind::Atomic),
        },
        ..Schema::default()
    }
}

fn of_shape(shape: &Shape) -> Schema {
    let plain = |kind| Schema { kind, null: Null::Allowed, ..Schema::default() };
    let formatted = |kind, name: &str| Schema {
        checks: Checks {
            format: Format::named(name),
            format_name: Some(name.to_owned()),
            ..Checks::default()
        },
        ..plain(kind)
    };
    match shape {
        Shape::Text => plain(Type::String),
        Shape::Bytes => formatted(Type::String, "byte"),
        Shape::Time => formatted(Type::String, "date-time"),
        Shape::Quantity => plain(Type::Quantity),
        Shape::IntegerOrText => plain(Type::IntOrString),
        Shape::Int32 => formatted(Type::Integer, "int32"),
        Shape::Int64 => formatted(Type::Integer, "int64"),
        Shape::Number => plain(Type::Number),
        Shape::Boolean => plain(Type::Boolean),
        Shape::Object => Schema { unknown: Unknown::Kept, ..plain(Type::Object) },
        Shape::Any => Schema { unknown: Unknown::Kept, ..plain(Type::Any) },
        Shape::Type(id) => reference(*id),
        Shape::Map(values) => {
            Schema { additional: Some(Additional::Like(Box::new(of_shape(values)))), ..plain(Type::Object) }
        }
        Shape::List(list) => of_list(list),
    }
}

fn of_list(list: &List) -> Schema {
    let kind = match &list.merge {
        Merge::Whole => ListKind::Atomic,
        Merge::Set => ListKind::Set,
        Merge::Keys(keys) => ListKind::Map(keys.iter().map(|key| (*key).to_owned()).collect()),
    };
    let patch = match &list.patch {
        Merge::Whole => PatchList::Replaced,
        Merge::Set => PatchList::Set,
        Merge::Keys(keys) => keys.first().map_or(PatchList::Set, |key| PatchList::Key((*key).to_owned())),
    };
    Schema {
        kind: Type::Array,
        null: Null::Allowed,
        items: Some(Box::new(of_shape(&list.items))),
        list: Some(kind),
        patch: Patch { list: patch, keys: PatchKeys::Merged },
        ..Schema::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_lead_to_each_other_without_end() {
        let crd = of_kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition").unwrap();
        let versions = crd.field("spec").unwrap().field("versions").unwrap().resolved();
        let version = versions.items.as_deref().unwrap();
        let mut schema = version.field("schema").unwrap().field("openAPIV3Schema").unwrap();
        for _ in 0..100 {
            schema = schema.field("properties").unwrap().field("any").unwrap();
        }
        assert_eq!(schema.field("type").unwrap().kind, Type::String);
    }

    #[test]
    fn metadata_knows_its_lists() {
        let owners = metadata().field("ownerReferences").unwrap();
        assert_eq!(*owners.list_kind(), ListKind::Map(vec!["uid".to_owned()]));
        assert_eq!(owners.patch.list, PatchList::Key("uid".to_owned()));
        assert_eq!(owners.items.as_deref().unwrap().map_kind(), MapKind::Atomic);
        let finalizers = metadata().field("finalizers").unwrap();
        assert_eq!((finalizers.list_kind(), &finalizers.patch.list), (&ListKind::Set, &PatchList::Set));
        assert!(metadata().field("labels").unwrap().is_map());
    }
}
