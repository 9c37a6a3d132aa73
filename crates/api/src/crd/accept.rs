//! Which names a definition gets, and whether it is established.

use jiff::Timestamp;
use serde_json::{Value, json};

/// The names of a kind that exists: those that other definitions of the group cannot have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defined {
    /// The plural, the singular and the short names.
    pub resources: Vec<String>,
    /// The kind and the kind of lists.
    pub kinds: Vec<String>,
}

/// The status of a definition: the names that are accepted, the conditions `NamesAccepted` and `Established`, and the versions in which
/// objects were stored. `others` are the accepted names of the other kinds of the group.
///
/// Once established, a definition stays so. Times of conditions change only when their status does.
pub fn accept(object: &Value, others: &[Defined], now: Timestamp) -> Value {
    let mut status = object["status"].as_object().cloned().unwrap_or_default();
    let names = &object["spec"]["names"];
    let before = status.get("acceptedNames").cloned().unwrap_or_else(|| json!({"plural": "", "kind": ""}));
    let (accepted, conflict) = accepted(names, &before, others);
    let mut conditions = Conditions {
        list: status.get("conditions").and_then(Value::as_array).cloned().unwrap_or_default(),
        now,
    };
    let was_established = conditions.is("Established");
    match conflict {
        None => conditions.set("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        Some(conflict) => conditions.set("NamesAccepted", "False", conflict.reason, &conflict.message),
    }
    if conditions.is("NamesAccepted") {
        if !was_established {
            conditions.set(
                "Established",
                "True",
                "InitialNamesAccepted",
                "the initial names have been accepted",
            );
        }
    } else if !was_established {
        conditions.set("Established", "False", "NotAccepted", "not all names are accepted");
    }
    status.insert("conditions".to_owned(), conditions.list.into());
    status.insert("acceptedNames".to_owned(), accepted);
    status.insert("storedVersions".to_owned(), stored(object, &status));
    Value::Object(status)
}

/// The versions that objects were stored in, the current one included.
fn stored(object: &Value, status: &serde_json::Map<String, Value>) -> Value {
    let mut stored = status.get("storedVersions").and_then(Value::as_array).cloned().unwrap_or_default();
    let versions = object["spec"]["versions"].as_array().map_or(&[][..], Vec::as_slice);
    for version in versions.iter().filter(|version| version["storage"] == true) {
        if !stored.contains(&version["name"]) {
            stored.push(version["name"].clone());
        }
    }
    stored.into()
}

struct Conflict {
    reason: &'static str,
    message: String,
}

/// The names that are free; those that are not stay as they were.
fn accepted(names: &Value, before: &Value, others: &[Defined]) -> (Value, Option<Conflict>) {
    let mut accepted = before.as_object().cloned().unwrap_or_default();
    let mut conflict = None;
    let resource_taken =
        |name: &str| others.iter().any(|other| other.resources.iter().any(|taken| taken == name));
    let kind_taken = |name: &str| others.iter().any(|other| other.kinds.iter().any(|taken| taken == name));
    let fields = [
        ("plural", "PluralConflict"),
        ("singular", "SingularConflict"),
        ("kind", "KindConflict"),
        ("listKind", "ListKindConflict"),
    ];
    for (field, reason) in fields {
        let Some(name) = names[field].as_str() else { continue };
        let is_taken = if reason.contains("Kind") { kind_taken(name) } else { resource_taken(name) };
        if is_taken {
            conflict.get_or_insert(Conflict { reason, message: format!("\"{name}\" is already in use") });
        } else {
            accepted.insert(field.to_owned(), name.into());
        }
    }
    let short = names["shortNames"].as_array().map_or(&[][..], Vec::as_slice);
    let taken: Vec<&str> =
        short.iter().filter_map(Value::as_str).filter(|name| resource_taken(name)).collect();
    if let [first, ..] = taken.as_slice() {
        let message = format!("\"{first}\" is already in use");
        conflict.get_or_insert(Conflict { reason: "ShortNamesConflict", message });
    } else {
        set_or_remove(&mut accepted, "shortNames", &names["shortNames"]);
    }
    set_or_remove(&mut accepted, "categories", &names["categories"]);
    (Value::Object(accepted), conflict)
}

fn set_or_remove(map: &mut serde_json::Map<String, Value>, name: &str, value: &Value) {
    if value.is_null() {
        map.remove(name);
    } else {
        map.insert(name.to_owned(), value.clone());
    }
}

struct Conditions {
    list: Vec<Value>,
    now: Timestamp,
}

impl Conditions {
    fn is(&self, kind: &str) -> bool {
        self.list.iter().any(|one| one["type"] == kind && one["status"] == "True")
    }

    fn set(&mut self, kind: &str, status: &str, reason: &str, message: &str) {
        let now = crate::time::text(self.now);
        match self.list.iter_mut().find(|one| one["type"] == kind) {
            Some(one) => {
                if one["status"] != status {
                    one["lastTransitionTime"] = now.into();
                }
                one["status"] = status.into();
                one["reason"] = reason.into();
                one["message"] = message.into();
            }
            None => self.list.push(json!({
                "type": kind,
                "status": status,
                "lastTransitionTime": now,
                "reason": reason,
                "message": message,
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn definition() -> Value {
        json!({"spec": {
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList", "shortNames": ["th"]},
            "versions": [{"name": "v1", "storage": true}],
        }})
    }

    #[test]
    fn free_names_are_accepted_and_the_definition_is_established() {
        let status = accept(&definition(), &[], at(0));
        assert_eq!(status["acceptedNames"], definition()["spec"]["names"]);
        assert_eq!(status["storedVersions"], json!(["v1"]));
        let said: Vec<_> = status["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| (&one["type"], &one["status"]))
            .collect();
        assert_eq!(json!(said), json!([["NamesAccepted", "True"], ["Established", "True"]]));
    }

    #[test]
    fn a_name_that_is_taken_is_not_accepted_and_an_established_definition_stays_so() {
        let taken = Defined { resources: vec!["th".to_owned()], kinds: Vec::new() };
        let status = accept(&definition(), std::slice::from_ref(&taken), at(0));
        assert_eq!(status["conditions"][0]["reason"], "ShortNamesConflict");
        assert_eq!(status["conditions"][0]["message"], "\"th\" is already in use");
        assert_eq!(status["conditions"][1]["reason"], "NotAccepted");
        let mut object = definition();
        object["status"] = accept(&object, &[], at(0));
        let later = accept(&object, &[taken], at(9));
        assert_eq!(later["conditions"][0]["lastTransitionTime"], "1970-01-01T00:00:09Z");
        assert_eq!(later["conditions"][1]["lastTransitionTime"], "1970-01-01T00:00:00Z");
        assert_eq!(later["conditions"][1]["status"], "True");
    }
}
