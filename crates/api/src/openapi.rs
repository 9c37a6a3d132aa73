//! The documents that clients read: `OpenAPI` v3 per group and version, and v2 for all, as JSON and as protobuf.
//!
//! Descriptions are ours; types of Kubernetes have none.

mod paths;
mod protobuf;
mod types;

use serde_json::{Map, Value, json};

use crate::kind::{KindInfo, Origin, Version};

pub use protobuf::{MEDIA_TYPE, v2_protobuf};

/// Which version of `OpenAPI` a document is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    V2,
    V3,
}

impl Dialect {
    fn reference(self, name: &str) -> Value {
        match self {
            Self::V2 => json!({"$ref": format!("#/definitions/{name}")}),
            Self::V3 => json!({"$ref": format!("#/components/schemas/{name}")}),
        }
    }
}

/// The document of a group and version, of all kinds that are served in it.
pub fn v3(kinds: &[&KindInfo], group: &str, version: &str) -> Value {
    let mut parts = Parts::new(Dialect::V3);
    for kind in kinds.iter().filter(|kind| kind.group == group) {
        for served in kind.served().filter(|served| served.name == version) {
            parts.add(kind, served);
        }
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Lanai", "version": env!("CARGO_PKG_VERSION")},
        "paths": parts.paths,
        "components": {
            "schemas": parts.schemas,
            "securitySchemes": {"BearerToken": {
                "type": "apiKey", "in": "header", "name": "authorization", "description": "Authentication by a bearer token",
            }},
        },
    })
}

/// The document of all kinds and versions that are served.
pub fn v2(kinds: &[&KindInfo]) -> Value {
    let mut parts = Parts::new(Dialect::V2);
    for kind in kinds {
        for served in kind.served() {
            parts.add(kind, served);
        }
    }
    json!({
        "swagger": "2.0",
        "info": {"title": "Lanai", "version": env!("CARGO_PKG_VERSION")},
        "paths": parts.paths,
        "definitions": parts.schemas,
        "securityDefinitions": {"BearerToken": {
            "type": "apiKey", "in": "header", "name": "authorization", "description": "Authentication by a bearer token",
        }},
        "security": [{"BearerToken": []}],
    })
}

struct Parts {
    dialect: Dialect,
    paths: Map<String, Value>,
    schemas: Map<String, Value>,
}

impl Parts {
    fn new(dialect: Dialect) -> Self {
        Self { dialect, paths: Map::new(), schemas: Map::new() }
    }

    fn add(&mut self, kind: &KindInfo, version: &Version) {
        let name = definition_name(kind, version);
        let mut schema = match kind.origin {
            Origin::BuiltIn => {
                types::of_schema(&version.schema, self.dialect, &mut self.schemas, types::Place::Definition)
            }
            Origin::Ours | Origin::Custom => self.custom(&version.source),
        };
        let tagged =
            |kind_name: &str| json!([{"group": kind.group, "version": version.name, "kind": kind_name}]);
        schema["x-kubernetes-group-version-kind"] = tagged(&kind.names.kind);
        self.schemas.insert(name.clone(), schema);
        let list_meta = self.shared(
            "ListMeta",
            &json!({"type": "object", "properties": {
                "continue": {"type": "string"},
                "remainingItemCount": {"type": "integer", "format": "int64"},
                "resourceVersion": {"type": "string"},
                "selfLink": {"type": "string"},
            }}),
        );
        let list = json!({
            "description": format!("A list of objects of the kind {}.", kind.names.kind),
            "type": "object",
            "required": ["items"],
            "properties": {
                "apiVersion": {"type": "string"},
                "kind": {"type": "string"},
                "metadata": list_meta,
                "items": {"type": "array", "items": self.dialect.reference(&name)},
            },
            "x-kubernetes-group-version-kind": tagged(&kind.names.list_kind),
        });
        self.schemas.insert(format!("{name}List"), list);
        paths::add(&mut self.paths, kind, version, &name, self.dialect);
    }

    /// A definition that all documents share.
    fn shared(&mut self, name: &str, schema: &Value) -> Value {
        let name = format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}");
        self.schemas.entry(name.clone()).or_insert_with(|| schema.clone());
        self.dialect.reference(&name)
    }

    /// The schema of a custom resource, with the fields that every object has.
    fn custom(&mut self, source: &Value) -> Value {
        let mut schema = match self.dialect {
            Dialect::V3 => source.clone(),
            Dialect::V2 => types::for_v2(source),
        };
        let metadata = types::of_metadata(self.dialect, &mut self.schemas);
        if !schema["properties"].is_object() {
            schema["properties"] = json!({});
        }
        for name in ["apiVersion", "kind"] {
            if schema["properties"].get(name).is_none() {
                schema["properties"][name] = json!({"type": "string"});
            }
        }
        schema["properties"]["metadata"] = metadata;
        schema
    }
}

/// The name of a kind's definition: the group backwards, the version, the kind.
fn definition_name(kind: &KindInfo, version: &Version) -> String {
    if let Some(id) = version.schema.reference {
        return lanai_openapi::built_in().get(id).name().to_owned();
    }
    let group: Vec<&str> = kind.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), version.name, kind.names.kind)
}
