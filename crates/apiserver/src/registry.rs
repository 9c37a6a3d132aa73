//! The kinds that are served.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use lanai_api::{KindInfo, Scope, Serving, Version};
use lanai_store::{Key, Kind, Protection};
use serde_json::Value;

use crate::identity::Identity;
use crate::kinds::Special;
use crate::path::GroupVersion;
use crate::query::DryRun;
use crate::status::{GroupResource, Status};

/// A kind, and what the server does with it.
#[derive(Debug, Clone)]
pub struct Registered {
    /// What it is.
    pub info: Arc<KindInfo>,
    /// Where its rows are.
    pub rows: Kind,
    /// What is particular about it.
    pub special: Special,
    /// Who does its writes.
    pub backing: Backing,
}

/// Who does the writes of a kind.
#[derive(Clone)]
pub enum Backing {
    /// The server: an object is its row.
    Stored,
    /// Somebody else, who also writes the rows.
    Virtual(Arc<dyn Virtual>),
    /// Nobody: an object is a question, and the answer to it is not kept.
    Answered,
}

impl std::fmt::Debug for Backing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Stored => "Stored",
            Self::Virtual(_) => "Virtual",
            Self::Answered => "Answered",
        })
    }
}

/// A write to a virtual kind. The server has checked who may, and that the objects fit their schema.
#[derive(Debug, Clone)]
pub struct VirtualWrite {
    /// Where the row is, or is to be.
    pub key: Key,
    /// The sub-resource, if it is one.
    pub subresource: Option<String>,
    /// Who asks.
    pub identity: Identity,
    /// Whether it is only a rehearsal.
    pub dry_run: DryRun,
}

/// Who does the writes of a virtual kind.
///
/// Get, list and watch never come here: they see the rows that this writes. What is answered is in the store when it is answered, and what failed has left no row.
///
/// Objects come with their managed fields, which are to be kept; server-side apply and patches arrive as creations and updates like any other.
#[async_trait]
pub trait Virtual: Send + Sync {
    /// Makes an object; returns it as its row has it.
    async fn create(&self, write: VirtualWrite, object: Value) -> Result<Value, Status>;

    /// Replaces an object, whose row is `old`; returns the new one.
    ///
    /// Where the row is not `old` any more, [`Status::modified`] says so: then a request that named no version is computed again.
    async fn update(&self, write: VirtualWrite, old: Value, new: Value) -> Result<Value, Status>;

    /// Deletes an object that nothing holds any more.
    async fn delete(&self, write: VirtualWrite, old: Value) -> Result<(), Status>;

    /// Forgets all objects in a namespace that is being emptied, without deleting what they stand for.
    async fn unregister(&self, namespace: &str) -> Result<(), Status>;
}

impl Registered {
    /// A kind with its backing.
    ///
    /// # Errors
    /// When its name cannot be that of rows.
    pub fn new(info: Arc<KindInfo>, backing: Backing) -> Result<Self, Status> {
        let rows = Kind::new(&info.resource())?;
        let special = Special::of(&info.group, &info.names.kind);
        Ok(Self { info, rows, special, backing })
    }

    /// Group and plural, for messages about objects.
    pub fn resource(&self) -> GroupResource {
        GroupResource { group: self.info.group.clone(), resource: self.info.names.plural.clone() }
    }

    /// Group and kind, for messages about what is in objects.
    pub fn kind(&self) -> GroupResource {
        GroupResource { group: self.info.group.clone(), resource: self.info.names.kind.clone() }
    }

    /// The row of an object.
    pub fn key(&self, namespace: Option<&str>, name: &str) -> Result<Key, Status> {
        Ok(Key::new(&self.rows, namespace.unwrap_or_default(), name)?)
    }

    /// True for kinds whose objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.info.scope == Scope::Namespaced
    }

    /// A version that clients can use.
    pub fn served(&self, version: &str) -> Option<&Version> {
        self.info.version(version).filter(|version| version.serving == Serving::Served)
    }

    /// Whether rows are encrypted.
    pub fn protection(&self) -> Protection {
        if self.special == Special::Secret { Protection::Sealed } else { Protection::Plain }
    }

    /// The fields by which its objects are found, beside name and namespace.
    pub fn selectable(&self) -> BTreeSet<String> {
        let versions = self.info.versions.iter();
        versions.flat_map(|version| version.selectable.iter().cloned()).collect()
    }

    /// Those fields of an object; what is not there or empty is left out.
    pub fn selectable_values(&self, object: &Value) -> BTreeMap<String, String> {
        let value = |path: &String| {
            let found = path.split('.').try_fold(object, |value, part| value.get(part))?;
            let text = match found {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            (!text.is_empty()).then(|| (path.clone(), text))
        };
        self.selectable().iter().filter_map(value).collect()
    }
}

/// All kinds that are served.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    kinds: BTreeMap<GroupResource, Arc<Registered>>,
}

impl Registry {
    /// Adds a kind, or replaces it.
    pub fn insert(&mut self, registered: Registered) {
        self.kinds.insert(registered.resource(), Arc::new(registered));
    }

    /// The kind of a resource in a version that is served.
    pub fn find(&self, gv: &GroupVersion, resource: &str) -> Option<&Arc<Registered>> {
        let key = GroupResource { group: gv.group.clone(), resource: resource.to_owned() };
        self.kinds.get(&key).filter(|found| found.served(&gv.version).is_some())
    }

    /// The kind of a resource, in whatever version.
    pub fn find_resource(&self, group: &str, resource: &str) -> Option<&Arc<Registered>> {
        self.kinds.get(&GroupResource { group: group.to_owned(), resource: resource.to_owned() })
    }

    /// All, by group and plural.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Registered>> {
        self.kinds.values()
    }

    /// The kinds of a group and version.
    pub fn of_version<'a>(&'a self, gv: &'a GroupVersion) -> impl Iterator<Item = &'a Arc<Registered>> {
        self.all().filter(move |kind| kind.info.group == gv.group && kind.served(&gv.version).is_some())
    }

    /// All groups with their versions, the preferred one first.
    pub fn groups(&self) -> BTreeMap<String, Vec<String>> {
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for kind in self.all() {
            let versions = groups.entry(kind.info.group.clone()).or_default();
            for version in kind.info.served().map(|version| &version.name) {
                if !versions.contains(version) {
                    versions.push(version.clone());
                }
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by_key(|version| std::cmp::Reverse(crate::discovery::priority(version)));
        }
        groups.retain(|_, versions| !versions.is_empty());
        groups
    }
}
