//! The paths of a kind, with the parameters that clients look for.

use serde_json::{Map, Value, json};

use super::Dialect;
use crate::kind::{KindInfo, Scope, SubResource, Verb, Version};

pub(super) fn add(
    paths: &mut Map<String, Value>,
    kind: &KindInfo,
    version: &Version,
    definition: &str,
    dialect: Dialect,
) {
    let root = if kind.group.is_empty() {
        format!("/api/{}", version.name)
    } else {
        format!("/apis/{}/{}", kind.group, version.name)
    };
    let plural = &kind.names.plural;
    let collection = match kind.scope {
        Scope::Namespaced => format!("{root}/namespaces/{{namespace}}/{plural}"),
        Scope::Cluster => format!("{root}/{plural}"),
    };
    let writer = Writer { kind, version, definition, dialect };
    let mut item = |path: String, verbs: &[Verb]| {
        let operations: Map<String, Value> = verbs.iter().map(|verb| writer.operation(*verb)).collect();
        if !operations.is_empty() {
            paths.insert(path, operations.into());
        }
    };
    let allowed =
        |verbs: &[Verb]| verbs.iter().copied().filter(|verb| kind.allows(*verb)).collect::<Vec<_>>();
    item(collection.clone(), &allowed(&[Verb::List, Verb::Create, Verb::DeleteCollection]));
    item(format!("{collection}/{{name}}"), &allowed(&[Verb::Get, Verb::Update, Verb::Patch, Verb::Delete]));
    for part in &version.sub_resources {
        match part {
            SubResource::Status => {
                item(format!("{collection}/{{name}}/status"), &[Verb::Get, Verb::Update, Verb::Patch]);
            }
            SubResource::Scale(_) | SubResource::Action(_) => {}
        }
    }
    if kind.scope == Scope::Namespaced {
        item(format!("{root}/{plural}"), &allowed(&[Verb::List]));
    }
}

struct Writer<'k> {
    kind: &'k KindInfo,
    version: &'k Version,
    definition: &'k str,
    dialect: Dialect,
}

impl Writer<'_> {
    fn operation(&self, verb: Verb) -> (String, Value) {
        let name = &self.kind.names.kind;
        let (method, action, description) = match verb {
            Verb::Create => ("post", "post", format!("Creates an object of the kind {name}.")),
            Verb::Delete => ("delete", "delete", format!("Deletes an object of the kind {name}.")),
            Verb::DeleteCollection => {
                ("delete", "deletecollection", format!("Deletes objects of the kind {name}."))
            }
            Verb::Get => ("get", "get", format!("Reads an object of the kind {name}.")),
            Verb::List | Verb::Watch => {
                ("get", "list", format!("Lists or watches objects of the kind {name}."))
            }
            Verb::Patch => ("patch", "patch", format!("Changes a part of an object of the kind {name}.")),
            Verb::Update => ("put", "put", format!("Replaces an object of the kind {name}.")),
        };
        let parameters: &[&str] = match verb {
            Verb::Create | Verb::Update => &["dryRun", "fieldManager", "fieldValidation"],
            Verb::Patch => &["dryRun", "fieldManager", "fieldValidation", "force"],
            Verb::Delete | Verb::DeleteCollection => {
                &["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"]
            }
            Verb::List | Verb::Watch => &[
                "allowWatchBookmarks",
                "continue",
                "fieldSelector",
                "labelSelector",
                "limit",
                "resourceVersion",
                "resourceVersionMatch",
                "sendInitialEvents",
                "timeoutSeconds",
                "watch",
            ],
            Verb::Get => &[],
        };
        let answer = match verb {
            Verb::List | Verb::Watch => format!("{}List", self.definition),
            Verb::Create | Verb::Delete | Verb::DeleteCollection | Verb::Get | Verb::Patch | Verb::Update => {
                self.definition.to_owned()
            }
        };
        let schema = self.dialect.reference(&answer);
        let ok = match self.dialect {
            Dialect::V2 => json!({"description": "OK", "schema": schema}),
            Dialect::V3 => json!({"description": "OK", "content": {"application/json": {"schema": schema}}}),
        };
        let mut operation = json!({
            "description": description,
            "parameters": parameters.iter().map(|name| self.parameter(name)).collect::<Vec<_>>(),
            "responses": {"200": ok},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {
                "group": self.kind.group, "version": self.version.name, "kind": self.kind.names.kind,
            },
        });
        let takes_object = matches!(verb, Verb::Create | Verb::Update);
        if takes_object && self.dialect == Dialect::V3 {
            let schema = self.dialect.reference(self.definition);
            operation["requestBody"] =
                json!({"required": true, "content": {"application/json": {"schema": schema}}});
        }
        (method.to_owned(), operation)
    }

    fn parameter(&self, name: &str) -> Value {
        let kind = match name {
            "allowWatchBookmarks" | "force" | "orphanDependents" | "sendInitialEvents" | "watch" => "boolean",
            "gracePeriodSeconds" | "limit" | "timeoutSeconds" => "integer",
            _ => "string",
        };
        match self.dialect {
            Dialect::V2 => json!({"name": name, "in": "query", "type": kind, "uniqueItems": true}),
            Dialect::V3 => {
                json!({"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": true}})
            }
        }
    }
}
