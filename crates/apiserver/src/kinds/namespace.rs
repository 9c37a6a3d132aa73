//! Namespaces.

use serde_json::{Value, json};

/// The finalizer of the controller that empties it.
const FINALIZER: &str = "kubernetes";

pub(super) fn prepare_create(object: &mut Value) {
    let mut finalizers = finalizers(object).to_vec();
    if !finalizers.iter().any(|one| one == FINALIZER) {
        finalizers.push(FINALIZER.into());
    }
    object["spec"]["finalizers"] = finalizers.into();
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
