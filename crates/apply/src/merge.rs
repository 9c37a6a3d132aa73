//! Merge patches (RFC 7396).

use serde_json::Value;

/// The object with a merge patch applied to it: fields that are null in the patch go, objects merge, all else is replaced.
pub fn patch(object: &Value, patch: &Value) -> Value {
    let mut patched = object.clone();
    json_patch::merge(&mut patched, patch);
    patched
}
