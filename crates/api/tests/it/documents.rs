//! The documents that clients read.

use std::path::Path;
use std::sync::LazyLock;

use lanai_api::{KindInfo, kinds, openapi};
use serde_json::Value;

fn all() -> Vec<&'static KindInfo> {
    static PACKAGES: LazyLock<[KindInfo; 3]> = LazyLock::new(kinds::packages::all);
    kinds::all().iter().map(AsRef::as_ref).chain(PACKAGES.iter()).collect()
}

/// Every `$ref` of a document.
fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str));
            fields.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_reference_leads_to_a_definition() {
    let v2 = openapi::v2(&all());
    let check = |document: &Value, at: &str| {
        let mut found = Vec::new();
        references(document, &mut found);
        assert!(found.len() > 10, "{at}");
        for reference in found {
            let pointer = reference.strip_prefix('#').expect("references are local");
            assert!(document.pointer(pointer).is_some_and(Value::is_object), "{at}: {reference}");
        }
    };
    check(&v2, "v2");
    for kind in all() {
        for version in &kind.versions {
            check(&openapi::v3(&all(), &kind.group, &version.name), &kind.api_version(&version.name));
        }
    }
}

#[test]
fn clients_find_kinds_and_parameters() {
    let document = openapi::v3(&all(), "config.porch.kpt.dev", "v1alpha1");
    let schema = &document["components"]["schemas"]["dev.kpt.porch.config.v1alpha1.Repository"];
    assert_eq!(schema["x-kubernetes-group-version-kind"][0]["kind"], "Repository");
    assert_eq!(schema["properties"]["spec"]["properties"]["git"]["required"][0], "repo");
    let path = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/{namespace}/repositories/{name}";
    let operation = &document["paths"][path]["patch"];
    let names: Vec<&str> = operation["parameters"]
        .as_array()
        .expect("there are some")
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(names, ["dryRun", "fieldManager", "fieldValidation", "force"]);
    assert!(document["paths"].get(format!("{path}/status")).is_some());
    let core = openapi::v3(&all(), "", "v1");
    let account =
        &core["components"]["schemas"]["io.k8s.api.core.v1.ServiceAccount"]["properties"]["secrets"];
    assert_eq!(account["x-kubernetes-patch-merge-key"], "name");
}

/// What a client of ours sees is reviewed like code: a change of a document is a change of a file. `LANAI_WRITE_DOCUMENTS=1` writes them.
#[test]
fn the_documents_are_those_that_are_committed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi");
    let mut documents = vec![("v2.json".to_owned(), openapi::v2(&all()))];
    for kind in all() {
        for version in kind.served() {
            let group = if kind.group.is_empty() { "core" } else { &kind.group };
            let name = format!("v3.{group}.{}.json", version.name);
            if documents.iter().all(|(found, _)| *found != name) {
                documents.push((name, openapi::v3(&all(), &kind.group, &version.name)));
            }
        }
    }
    let is_writing = std::env::var_os("LANAI_WRITE_DOCUMENTS").is_some();
    for (name, document) in &documents {
        let path = folder.join(name);
        let mut document = document.clone();
        // It changes with every release.
        document["info"]["version"] = "VERSION".into();
        let text = format!("{}\n", serde_json::to_string_pretty(&document).expect("it is JSON"));
        if is_writing {
            std::fs::create_dir_all(&folder).expect("the folder can be made");
            std::fs::write(&path, &text).expect("the file can be written");
        }
        let there = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            there == text,
            "docs/openapi/{name} is not the document; see what changed with LANAI_WRITE_DOCUMENTS=1"
        );
    }
    let files = std::fs::read_dir(&folder).expect("the folder is there").count();
    assert_eq!(files, documents.len(), "docs/openapi has a document that nobody serves");
}
