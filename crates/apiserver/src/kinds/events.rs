//! Events, which clients see under two groups: rows have the fields of the core.

use serde_json::Value;

/// What a field is called in `events.k8s.io`, and in the core.
const NAMES: [(&str, &str); 7] = [
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
    ("reportingController", "reportingComponent"),
];

/// An event of `events.k8s.io` with the fields of the core.
pub(crate) fn to_core(mut object: Value) -> Value {
    rename(&mut object, NAMES);
    object["apiVersion"] = "v1".into();
    object
}

/// An event of the core with the fields of `events.k8s.io`.
pub(crate) fn from_core(mut object: Value) -> Value {
    rename(&mut object, NAMES.map(|(new, old)| (old, new)));
    object["apiVersion"] = "events.k8s.io/v1".into();
    object
}

/// The name in rows of a field that selectors of `events.k8s.io` name.
pub(crate) fn row_field(field: &str) -> String {
    let (first, rest) = field.split_once('.').map_or((field, None), |(first, rest)| (first, Some(rest)));
    let first = NAMES.iter().find(|(new, _)| *new == first).map_or(first, |(_, old)| old);
    rest.map_or_else(|| first.to_owned(), |rest| format!("{first}.{rest}"))
}

fn rename(object: &mut Value, names: [(&str, &str); 7]) {
    let Some(fields) = object.as_object_mut() else { return };
    for (from, to) in names {
        if let Some(value) = fields.shift_remove(from) {
            fields.insert(to.to_owned(), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn there_and_back() {
        let new = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "note": "n", "regarding": {"name": "x"},
                         "reason": "R", "deprecatedCount": 2});
        let old = to_core(new.clone());
        assert_eq!(
            (&old["message"], &old["involvedObject"]["name"], &old["apiVersion"]),
            (&json!("n"), &json!("x"), &json!("v1"))
        );
        assert_eq!(from_core(old), new);
        assert_eq!(row_field("regarding.name"), "involvedObject.name");
        assert_eq!(row_field("reason"), "reason");
    }
}
