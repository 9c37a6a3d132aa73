//! The metadata of objects.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// The finalizer of an owner whose dependents are deleted first.
pub const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner whose dependents stay.
pub const ORPHAN: &str = "orphan";
/// The finalizer of a definition whose objects are deleted first.
pub const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// The metadata of an object; makes it an object if it is none.
pub fn metadata(object: &mut Value) -> &mut Map<String, Value> {
    fields(fields_of(object, "metadata"))
}

/// A field of an object that is an object itself; makes it one if it is none.
pub fn fields_of<'a>(object: &'a mut Value, name: &str) -> &'a mut Value {
    fields(object).entry(name).or_insert_with(|| json!({}))
}

fn fields(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = json!({});
    }
    value.as_object_mut().expect("it was made an object")
}

/// A text of the metadata; empty where it is not there.
pub fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"][name].as_str().unwrap_or_default()
}

/// The name.
pub fn name(object: &Value) -> &str {
    text(object, "name")
}

/// The namespace; empty for objects in none.
pub fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

/// The uid.
pub fn uid(object: &Value) -> &str {
    text(object, "uid")
}

/// True for an object that is being deleted.
pub fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// The finalizers.
pub fn finalizers(object: &Value) -> Vec<&str> {
    let list = object["metadata"]["finalizers"].as_array();
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Replaces the finalizers; none leaves no field.
pub fn set_finalizers(object: &mut Value, finalizers: &[String]) {
    let metadata = metadata(object);
    if finalizers.is_empty() {
        metadata.shift_remove("finalizers");
    } else {
        metadata.insert("finalizers".into(), json!(finalizers));
    }
}

/// The labels.
pub fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = object["metadata"]["labels"].as_object();
    let pairs = labels.into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// The generation; zero where there is none.
pub fn generation(object: &Value) -> i64 {
    object["metadata"]["generation"].as_i64().unwrap_or_default()
}

/// Takes over a field of the metadata of another object, or its absence.
pub fn take_over(object: &mut Value, from: &Value, name: &str) {
    match from["metadata"].get(name) {
        Some(value) => metadata(object).insert(name.into(), value.clone()),
        None => metadata(object).shift_remove(name),
    };
}

/// A time as Kubernetes writes it, in whole seconds.
pub fn time(at: jiff::Timestamp) -> Value {
    json!(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}
