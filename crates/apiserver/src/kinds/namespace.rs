//! Namespaces.

use serde_json::{Value, json};

pub(super) fn prepare_create(object: &mut Value) {
    object["status"] = json!({"phase": "Active"});
}

pub(super) fn prepare_update(new: &mut Value, old: &Value) {
    new["spec"] = old["spec"].clone();
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
