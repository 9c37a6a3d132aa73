//! The entries of `metadata.managedFields`: who owns which fields.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lanai_api::Origin;
use serde_json::{Value, json};

use crate::fields::FieldSet;

/// How many managers that did not apply an object has; the oldest beyond that become one.
pub const MAX_UPDATE_MANAGERS: usize = 10;
/// The manager that the oldest become.
pub const ANCIENT: &str = "ancient-changes";
/// The manager of what was there before anybody applied, when nobody kept count.
pub const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// How fields were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By anything else.
    Update,
}

impl Operation {
    fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// What tells one entry from another. Who applies has one entry for all versions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ManagerKey {
    pub operation: Operation,
    pub manager: String,
    pub sub_resource: String,
    /// Empty for those who apply.
    pub version: String,
}

/// The fields of a manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Owned {
    pub set: FieldSet,
    pub api_version: String,
    pub time: Option<String>,
}

/// All entries of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Managers(pub BTreeMap<ManagerKey, Owned>);

impl ManagerKey {
    pub fn new(operation: Operation, manager: &str, sub_resource: Option<&str>, api_version: &str) -> Self {
        let version = match operation {
            Operation::Apply => String::new(),
            Operation::Update => api_version.to_owned(),
        };
        Self {
            operation,
            manager: manager.to_owned(),
            sub_resource: sub_resource.unwrap_or_default().to_owned(),
            version,
        }
    }
}

impl Managers {
    /// The entries of an object; none if one of them cannot be read.
    pub fn of(object: &Value) -> Self {
        Self::read(&object["metadata"]["managedFields"]).unwrap_or_default()
    }

    /// Reads entries; `None` if one of them cannot be read.
    pub fn read(entries: &Value) -> Option<Self> {
        let mut managers = BTreeMap::new();
        for entry in entries.as_array().into_iter().flatten() {
            let text = |name: &str| entry[name].as_str().unwrap_or_default();
            if text("fieldsType") != "FieldsV1" {
                return None;
            }
            let operation = match text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return None,
            };
            let sub_resource = entry["subresource"].as_str();
            let key = ManagerKey::new(operation, text("manager"), sub_resource, text("apiVersion"));
            let set = match &entry["fieldsV1"] {
                Value::Null => FieldSet::default(),
                fields => FieldSet::read(fields).ok()?,
            };
            let owned = Owned {
                set,
                api_version: text("apiVersion").to_owned(),
                time: entry["time"].as_str().map(str::to_owned),
            };
            managers.insert(key, owned);
        }
        Some(Self(managers))
    }

    /// Entries: those who apply first, then by time.
    pub fn write(&self) -> Value {
        let mut entries: Vec<(&ManagerKey, &Owned)> = self.0.iter().collect();
        entries.sort_by(|(one, one_owned), (other, other_owned)| {
            let key = |key: &ManagerKey, owned: &Owned| {
                (
                    key.operation,
                    owned.time.clone(),
                    key.manager.clone(),
                    owned.api_version.clone(),
                    key.sub_resource.clone(),
                )
            };
            key(one, one_owned).cmp(&key(other, other_owned))
        });
        let written = entries.into_iter().map(|(key, owned)| {
            let mut entry = json!({
                "manager": key.manager,
                "operation": key.operation.as_str(),
                "apiVersion": owned.api_version,
            });
            if let Some(time) = &owned.time {
                entry["time"] = time.as_str().into();
            }
            entry["fieldsType"] = "FieldsV1".into();
            entry["fieldsV1"] = owned.set.write();
            if !key.sub_resource.is_empty() {
                entry["subresource"] = key.sub_resource.as_str().into();
            }
            entry
        });
        written.collect()
    }

    /// Puts the entries into an object, or takes them out of it if there is none.
    pub fn put(&self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
        if self.0.is_empty() {
            metadata.remove("managedFields");
        } else {
            metadata.insert("managedFields".to_owned(), self.write());
        }
    }

    /// Makes one of the oldest of those that did not apply, until there are no more than [`MAX_UPDATE_MANAGERS`].
    pub fn cap(&mut self) {
        let mut updates: Vec<(Option<String>, ManagerKey)> = self
            .0
            .iter()
            .filter(|(key, _)| key.operation == Operation::Update)
            .map(|(key, owned)| (owned.time.clone(), key.clone()))
            .collect();
        updates.sort_unstable();
        let mut count = updates.len();
        for (_, key) in updates {
            if count <= MAX_UPDATE_MANAGERS {
                return;
            }
            if key.manager == ANCIENT {
                continue;
            }
            let Some(owned) = self.0.remove(&key) else { continue };
            let bucket = ManagerKey::new(Operation::Update, ANCIENT, None, &owned.api_version);
            match self.0.get_mut(&bucket) {
                None => {
                    self.0.insert(bucket, owned);
                }
                Some(ancient) => {
                    ancient.set = ancient.set.union(&owned.set);
                    ancient.time = ancient.time.clone().max(owned.time);
                    count -= 1;
                }
            }
        }
    }
}

/// Whether a request asks for the entries to be forgotten: one empty entry, or, for Kubernetes's own kinds, an empty list.
pub(crate) fn is_reset(object: &Value, origin: Origin) -> bool {
    match object["metadata"]["managedFields"].as_array().map(Vec::as_slice) {
        Some([]) => origin == Origin::BuiltIn,
        Some([only]) => only.as_object().is_some_and(serde_json::Map::is_empty),
        Some([_, ..]) | None => false,
    }
}

/// The time of an entry.
pub(crate) fn time_text(now: Timestamp) -> String {
    lanai_api::time::text(now)
}

/// Whether two objects are the same but for the times of entries.
pub(crate) fn same_but_for_times(one: &Value, other: &Value) -> bool {
    let plain = |object: &Value| {
        let mut object = object.clone();
        for entry in object["metadata"]["managedFields"].as_array_mut().into_iter().flatten() {
            entry["time"] = Value::Null;
        }
        object
    };
    plain(one) == plain(other)
}
