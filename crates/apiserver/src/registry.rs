//! The kinds that are served.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lanai_api::{KindInfo, Scope, Serving, Verb, Version, schema};
use lanai_store::{Key, Kind, Protection, Requirement, Revision, Store, Stored, Write};
use serde_json::Value;

use crate::identity::Identity;
use crate::kinds::{Special, events};
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
    /// Who looks at writes that the server does itself.
    pub admission: Option<Arc<dyn Admission>>,
    /// Marks of the versions whose schemas have defaults: a row with the mark has them.
    filled: BTreeMap<String, String>,
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

/// What must hold beyond an object itself, for kinds whose rows the server writes.
#[async_trait]
pub trait Admission: std::fmt::Debug + Send + Sync {
    /// Refuses an object, or says what is written together with it. Of two objects that exclude each other both write the same row, so that
    /// one of the transactions fails; then this is asked again.
    async fn admit(
        &self,
        store: &dyn Store,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<Option<Write>, Status>;
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

/// What a write to a virtual kind made.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// The object, as its row has it.
    pub object: Value,
    /// What the client should know.
    pub warnings: Vec<String>,
}

impl From<Value> for Written {
    fn from(object: Value) -> Self {
        Self { object, warnings: Vec::new() }
    }
}

/// Who does the writes of a virtual kind.
///
/// Get, list and watch never come here, but for content that is not in rows: they see the rows that this writes. What is answered is in the store when it is answered, and what failed has left no row.
///
/// Objects come with their managed fields, which are to be kept; server-side apply and patches arrive as creations and updates like any other.
#[async_trait]
pub trait Virtual: Send + Sync {
    /// Completes a new object before it is looked at: its name, where that is not for the client to choose, and its uid.
    ///
    /// # Errors
    /// When it has none.
    fn prepare(&self, namespace: &str, object: &mut Value) -> Result<(), Status> {
        let _ = (namespace, object);
        Ok(())
    }

    /// Whether objects have more to them than their rows.
    fn content(&self) -> ContentIn {
        ContentIn::Rows
    }

    /// The object of a row, with what is not in it. Only asked where [`content`](Self::content) says so.
    async fn read(&self, stored: &Stored, revision: Revision) -> Result<Value, Status> {
        crate::row::decode_at(stored, revision)
    }

    /// What a term of a field selector asks of rows; `None` for a field that the kind has not.
    ///
    /// # Errors
    /// When the term cannot be.
    fn field(
        &self,
        field: &str,
        operator: FieldOperator,
        value: &str,
    ) -> Result<Option<Requirement>, Status> {
        let _ = (field, operator, value);
        Ok(None)
    }

    /// The words for a verb that the kind has not.
    fn not_allowed(&self, verb: Verb) -> Status {
        let _ = verb;
        Status::method_not_allowed()
    }

    /// Adds to the refusal of a write what only the keeper knows, as that somebody else was there a moment ago.
    fn explain(&self, key: &Key, status: Status) -> Status {
        let _ = key;
        status
    }

    /// Makes an object; returns it as its row has it.
    async fn create(&self, write: VirtualWrite, object: Value) -> Result<Written, Status>;

    /// Replaces an object, whose row is `old`; returns the new one.
    ///
    /// Where the row is not `old` any more, [`Status::modified`] says so: then a request that named no version is computed again.
    async fn update(&self, write: VirtualWrite, old: Value, new: Value) -> Result<Written, Status>;

    /// Deletes an object that nothing holds any more.
    async fn delete(&self, write: VirtualWrite, old: Value) -> Result<(), Status>;

    /// Forgets all objects in a namespace that is being emptied, without deleting what they stand for.
    async fn unregister(&self, namespace: &str) -> Result<(), Status>;
}

/// Where the content of objects is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentIn {
    /// In their rows.
    Rows,
    /// Elsewhere: it is read for each object that is asked for.
    Elsewhere,
}

/// How a field selector compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldOperator {
    /// `=`
    Is,
    /// `!=`
    IsNot,
}

impl Registered {
    /// The same kind as a view of the rows of another one.
    ///
    /// # Errors
    /// When the name cannot be that of rows.
    pub fn over_rows_of(self, resource: &str) -> Result<Self, Status> {
        Ok(Self { rows: Kind::new(resource)?, ..self })
    }

    /// Who keeps the content of its objects, if that is not in rows.
    pub fn elsewhere(&self) -> Option<&Arc<dyn Virtual>> {
        match &self.backing {
            Backing::Virtual(kept) if kept.content() == ContentIn::Elsewhere => Some(kept),
            Backing::Virtual(_) | Backing::Stored | Backing::Answered => None,
        }
    }

    /// A kind with its backing.
    ///
    /// # Errors
    /// When its name cannot be that of rows.
    pub fn new(info: Arc<KindInfo>, backing: Backing) -> Result<Self, Status> {
        let special = Special::of(&info.group, &info.names.kind);
        // Events are the same, whoever asks for them.
        let rows =
            if special == Special::Event { Kind::new("events")? } else { Kind::new(&info.resource())? };
        let filled = info.versions.iter().filter_map(|version| {
            let text = version.source.to_string();
            text.contains("\"default\":").then(|| (version.name.clone(), mark(&version.name, &text)))
        });
        let filled = filled.collect();
        Ok(Self { info, rows, special, backing, admission: None, filled })
    }

    /// The same kind with somebody who looks at its writes.
    #[must_use]
    pub fn admitted_by(self, admission: Arc<dyn Admission>) -> Self {
        Self { admission: Some(admission), ..self }
    }

    /// True for kinds whose rows have other names of fields.
    fn is_renamed(&self) -> bool {
        self.special == Special::Event && !self.info.group.is_empty()
    }

    /// Whether a row is what clients of a version see, byte for byte but for its versions.
    pub(crate) fn is_as_stored(&self, stored: &Stored, version: &str) -> bool {
        let has_defaults = match self.filled.get(version) {
            None => true,
            Some(mark) => stored.object.attributes.field(FILLED).as_deref() == Some(mark),
        };
        has_defaults && !self.is_renamed()
    }

    /// An object of a row as clients of a version see it. Defaults that its schema got since it was written are filled in.
    pub(crate) fn presented(&self, object: Value, version: &str) -> Value {
        if self.is_renamed() {
            return events::from_core(object);
        }
        let mut object = self.info.convert(object, version);
        if let Some(found) = self.info.version(version).filter(|_| self.filled.contains_key(version)) {
            schema::fill(&mut object, &found.schema);
        }
        object
    }

    /// An object that clients of any version wrote, as rows have it.
    pub(crate) fn stored(&self, object: Value) -> Value {
        if self.is_renamed() {
            return events::to_core(object);
        }
        self.info.convert(object, &self.info.storage().name)
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

    /// The fields by which its objects are found, beside name and namespace: as clients name them, and as rows have them.
    pub fn selectable(&self) -> BTreeMap<String, String> {
        let names = self.info.versions.iter().flat_map(|version| version.selectable.iter().cloned());
        let in_rows = |name: &str| if self.is_renamed() { events::row_field(name) } else { name.to_owned() };
        names.map(|name| (name.clone(), in_rows(&name))).collect()
    }

    /// Those fields of an object as rows have it, and that it has the defaults of the version in which it was written. What is not there or empty
    /// is left out.
    pub fn row_fields(&self, object: &Value, written: &str) -> BTreeMap<String, String> {
        let value = |path: String| {
            let found = path.split('.').try_fold(object, |value, part| value.get(part))?;
            let text = match found {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                Value::Bool(flag) => flag.to_string(),
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
            };
            (!text.is_empty()).then_some((path, text))
        };
        let mark = self.filled.get(written).map(|mark| (FILLED.to_owned(), mark.clone()));
        self.selectable().into_values().filter_map(value).chain(mark).collect()
    }
}

impl Registered {
    /// The same for an object that comes from a row and has no defaults that were not there.
    pub(crate) fn row_fields_again(&self, object: &Value, before: &Stored) -> BTreeMap<String, String> {
        let mut fields = self.row_fields(object, "");
        if let Some(mark) = before.object.attributes.field(FILLED) {
            fields.insert(FILLED.to_owned(), mark.into_owned());
        }
        fields
    }
}

/// The field of rows that says which defaults they have. No selector can name it.
const FILLED: &str = "$filled";

/// A short name for a schema.
fn mark(version: &str, schema: &str) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, format!("{version} {schema}").as_bytes());
    URL_SAFE_NO_PAD.encode(&digest.as_ref()[..9])
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
