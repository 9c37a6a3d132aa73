//! Namespaces.

use serde_json::{Value, json};

use crate::meta;

const LABEL: &str = "kubernetes.io/metadata.name";

pub(super) fn prepare_create(object: &mut Value) {
    object["spec"] = json!({"finalizers": ["kubernetes"]});
    object["status"] = json!({"phase": "Active"});
    set_label(object);
}

pub(super) fn prepare_update(new: &mut Value, old: &Value) {
    new["spec"] = old["spec"].clone();
    set_label(new);
}

fn set_label(object: &mut Value) {
    let name = meta::name(object).to_owned();
    meta::fields_of(&mut object["metadata"], "labels")[LABEL] = json!(name);
}

pub(super) fn finalizers(object: &Value) -> &[Value] {
    object["spec"]["finalizers"].as_array().map_or(&[], Vec::as_slice)
}

/// Takes over the finalizers in the spec, and nothing else: what the sub-resource `finalize` does.
pub(crate) fn set_finalizers(old: &Value, sent: &Value) -> Value {
    let mut new = old.clone();
    let finalizers = finalizers(sent);
    new["spec"] = if finalizers.is_empty() { json!({}) } else { json!({"finalizers": finalizers}) };
    new
}
