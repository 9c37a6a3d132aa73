//! Who owns the fields of what is written.

use serde_json::Value;

use crate::core::Call;
use crate::meta;

/// Who owns what in an object that is about to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owners {
    /// Whoever changes a field owns it from then on.
    ByChange,
    /// Its managed fields say it already.
    Said,
}

/// The object with the managed fields that it has after the write; `live` is the one that it replaces, in the same version.
pub(crate) fn tracked(call: &Call, live: Option<&Value>, mut new: Value, owners: Owners) -> Value {
    meta::metadata(&mut new);
    match owners {
        Owners::Said => new,
        Owners::ByChange => lanai_apply::update(&call.kind.info, live, &new, &call.writer()),
    }
}

/// Takes the managed fields out of an object; null where it has none.
pub(crate) fn take(object: &mut Value) -> Value {
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.and_then(|metadata| metadata.shift_remove("managedFields")).unwrap_or_default()
}

/// Puts managed fields into an object; null leaves none.
pub(crate) fn put(object: &mut Value, managed: Value) {
    if managed.is_null() {
        take(object);
    } else {
        meta::metadata(object).insert("managedFields".into(), managed);
    }
}
