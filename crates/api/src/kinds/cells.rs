//! Cells of the tables of Kubernetes's kinds.

use jiff::Timestamp;
use serde_json::Value;

use crate::age;

/// How long ago the object was made.
pub(super) fn age(object: &Value, now: Timestamp) -> Value {
    since(&object["metadata"]["creationTimestamp"], now).into()
}

/// When the object was made.
pub(super) fn created(object: &Value, _: Timestamp) -> Value {
    object["metadata"]["creationTimestamp"].clone()
}

pub(super) fn phase(object: &Value, _: Timestamp) -> Value {
    object["status"]["phase"].as_str().unwrap_or_default().into()
}

pub(super) fn secret_type(object: &Value, _: Timestamp) -> Value {
    object["type"].as_str().unwrap_or_default().into()
}

/// How many entries a `ConfigMap` or a `Secret` has.
pub(super) fn entries(object: &Value, _: Timestamp) -> Value {
    let count = |field: &str| object[field].as_object().map_or(0, serde_json::Map::len);
    (count("data") + count("binaryData")).into()
}

pub(super) fn secrets(object: &Value, _: Timestamp) -> Value {
    object["secrets"].as_array().map_or(0, Vec::len).into()
}

pub(super) fn holder(object: &Value, _: Timestamp) -> Value {
    object["spec"]["holderIdentity"].as_str().unwrap_or_default().into()
}

pub(super) fn role(object: &Value, _: Timestamp) -> Value {
    let text = |name: &str| object["roleRef"][name].as_str().unwrap_or_default();
    format!("{}/{}", text("kind"), text("name")).into()
}

pub(super) fn users(object: &Value, _: Timestamp) -> Value {
    subjects(object, "User")
}

pub(super) fn groups(object: &Value, _: Timestamp) -> Value {
    subjects(object, "Group")
}

pub(super) fn accounts(object: &Value, _: Timestamp) -> Value {
    subjects(object, "ServiceAccount")
}

fn subjects(object: &Value, kind: &str) -> Value {
    let subjects = object["subjects"].as_array().map_or(&[][..], Vec::as_slice);
    let names = subjects.iter().filter(|subject| subject["kind"] == kind).map(|subject| {
        let name = subject["name"].as_str().unwrap_or_default();
        match subject["namespace"].as_str() {
            Some(namespace) if kind == "ServiceAccount" => format!("{namespace}/{name}"),
            Some(_) | None => name.to_owned(),
        }
    });
    names.collect::<Vec<_>>().join(", ").into()
}

/// Events of the core have the fields of the newer group under other names.
fn first<'v>(object: &'v Value, names: [&str; 2]) -> &'v Value {
    let found = names.iter().map(|name| &object[*name]).find(|value| !value.is_null());
    found.unwrap_or(&Value::Null)
}

pub(super) fn last_seen(object: &Value, now: Timestamp) -> Value {
    let series = &object["series"]["lastObservedTime"];
    let last =
        if series.is_null() { first(object, ["lastTimestamp", "deprecatedLastTimestamp"]) } else { series };
    if last.is_null() { first_seen(object, now) } else { since(last, now).into() }
}

pub(super) fn first_seen(object: &Value, now: Timestamp) -> Value {
    let seen = first(object, ["firstTimestamp", "deprecatedFirstTimestamp"]);
    let seen = if seen.is_null() { &object["eventTime"] } else { seen };
    since(seen, now).into()
}

pub(super) fn event_count(object: &Value, _: Timestamp) -> Value {
    let series = object["series"]["count"].as_i64();
    let count = series.or(first(object, ["count", "deprecatedCount"]).as_i64());
    match count {
        Some(count) => count.into(),
        None => i64::from(!object["eventTime"].is_null()).into(),
    }
}

pub(super) fn event_type(object: &Value, _: Timestamp) -> Value {
    object["type"].as_str().unwrap_or_default().into()
}

pub(super) fn reason(object: &Value, _: Timestamp) -> Value {
    object["reason"].as_str().unwrap_or_default().into()
}

pub(super) fn message(object: &Value, _: Timestamp) -> Value {
    first(object, ["message", "note"]).as_str().unwrap_or_default().trim().into()
}

pub(super) fn about(object: &Value, _: Timestamp) -> Value {
    let about = first(object, ["involvedObject", "regarding"]);
    let text = |name: &str| about[name].as_str().unwrap_or_default();
    format!("{}/{}", text("kind").to_lowercase(), text("name")).into()
}

pub(super) fn about_part(object: &Value, _: Timestamp) -> Value {
    first(object, ["involvedObject", "regarding"])["fieldPath"].as_str().unwrap_or_default().into()
}

pub(super) fn source(object: &Value, _: Timestamp) -> Value {
    let source = first(object, ["source", "deprecatedSource"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let component = match text(&source["component"]) {
        component if component.is_empty() => {
            text(first(object, ["reportingComponent", "reportingController"]))
        }
        component => component,
    };
    let parts = [component, text(&source["host"])];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ").into()
}

fn since(time: &Value, now: Timestamp) -> String {
    match time.as_str().map(str::parse::<Timestamp>) {
        Some(Ok(time)) => age::since(time, now),
        Some(Err(_)) | None => "<unknown>".to_owned(),
    }
}
