//! What Kubernetes's own kinds fill in and check beyond their schemas.

mod check;

use lanai_openapi::format::base64_text;
use serde_json::{Map, Value};

use crate::kind::{KindInfo, Origin};

pub use check::validate;

/// Fills in what an object of one of Kubernetes's own kinds may leave out, as kube-apiserver does when it reads it. Nothing for other kinds.
///
/// - `Secret`: the type `Opaque`; what stands in `stringData` goes to `data`.
/// - `Namespace`: the label with its name.
/// - Bindings of roles: the group of the role and of subjects.
/// - Lists that are never absent, such as `rules`.
pub fn fill(kind: &KindInfo, object: &mut Value) {
    if kind.origin != Origin::BuiltIn {
        return;
    }
    match kind.names.kind.as_str() {
        "Secret" => secret(object),
        "Namespace" => namespace(object),
        "RoleBinding" | "ClusterRoleBinding" => binding(object),
        "Role" | "ClusterRole" => {
            if let Some(fields) = object.as_object_mut() {
                fields.entry("rules").or_insert(Value::Null);
            }
        }
        "CustomResourceDefinition" => crate::crd::fill(object),
        _ => {}
    }
}

fn secret(object: &mut Value) {
    let Some(fields) = object.as_object_mut() else { return };
    if fields.get("type").and_then(Value::as_str).unwrap_or_default().is_empty() {
        fields.insert("type".to_owned(), "Opaque".into());
    }
    let Some(Value::Object(texts)) = fields.remove("stringData") else { return };
    if texts.is_empty() {
        return;
    }
    let data = fields.entry("data").or_insert_with(|| Value::Object(Map::new()));
    if data.is_null() {
        *data = Value::Object(Map::new());
    }
    let Some(data) = data.as_object_mut() else { return };
    for (name, text) in texts {
        data.insert(name, base64_text(text.as_str().unwrap_or_default().as_bytes()).into());
    }
}

fn namespace(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    if name.as_str().is_some_and(|name| !name.is_empty()) {
        object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
    }
}

fn binding(object: &mut Value) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    if object["roleRef"].is_object() && object["roleRef"]["apiGroup"].as_str().unwrap_or_default().is_empty()
    {
        object["roleRef"]["apiGroup"] = GROUP.into();
    }
    for subject in object["subjects"].as_array_mut().into_iter().flatten() {
        let is_person = matches!(subject["kind"].as_str(), Some("User" | "Group"));
        if is_person && subject["apiGroup"].as_str().unwrap_or_default().is_empty() {
            subject["apiGroup"] = GROUP.into();
        }
    }
}
