//! Which kinds there are.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use kube::api::{ApiResource, DynamicObject};
use kube::{Api, Client};
use lanai_api::{KindInfo, Scope, Verb};

/// A kind by its resource: `plural.group`, or `plural` alone in the core. Definitions of custom resources have the same names.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KindId(String);

impl KindId {
    /// From a group, which is empty for the core, and a plural.
    pub fn new(group: &str, plural: &str) -> Self {
        Self(if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") })
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KindId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What it means to delete the objects of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backing {
    /// The object is its row.
    Stored,
    /// The object stands for something elsewhere, which stays when a namespace goes: its objects are unregistered.
    Virtual,
}

/// A kind whose objects can be listed, watched and deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kind {
    /// The group; empty for the core.
    pub group: String,
    /// The version in which controllers talk of it.
    pub version: String,
    /// `ConfigMap`
    pub kind: String,
    /// `configmaps`
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
    /// What deleting means.
    pub backing: Backing,
}

impl Kind {
    /// A kind that the server serves; none for those that controllers have nothing to do with.
    pub fn of(info: &KindInfo, backing: Backing) -> Option<Self> {
        let needed = [Verb::Get, Verb::List, Verb::Watch, Verb::Delete];
        if !needed.iter().all(|verb| info.allows(*verb)) {
            return None;
        }
        Some(Self {
            group: info.group.clone(),
            version: info.served().next()?.name.clone(),
            kind: info.names.kind.clone(),
            plural: info.names.plural.clone(),
            scope: info.scope,
            backing,
        })
    }

    /// Its name.
    pub fn id(&self) -> KindId {
        KindId::new(&self.group, &self.plural)
    }

    /// True for this group and kind.
    pub fn is(&self, group: &str, kind: &str) -> bool {
        self.group == group && self.kind == kind
    }

    /// True for kinds whose objects live in namespaces.
    pub fn is_namespaced(&self) -> bool {
        self.scope == Scope::Namespaced
    }

    /// True for kinds whose changes are told. Events are not: there are many, and nothing depends on them.
    pub fn is_watched(&self) -> bool {
        self.kind != "Event"
    }

    /// As the client names it.
    pub fn resource(&self) -> ApiResource {
        let api_version = if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        };
        ApiResource {
            group: self.group.clone(),
            version: self.version.clone(),
            api_version,
            kind: self.kind.clone(),
            plural: self.plural.clone(),
        }
    }

    /// Its objects in a namespace, or all of them.
    pub fn api(&self, client: &Client, namespace: Option<&str>) -> Api<DynamicObject> {
        match namespace {
            Some(namespace) if self.is_namespaced() => {
                Api::namespaced_with(client.clone(), namespace, &self.resource())
            }
            _ => Api::all_with(client.clone(), &self.resource()),
        }
    }
}

/// All kinds, as of now.
#[derive(Debug, Default)]
pub struct Kinds {
    base: BTreeMap<KindId, Arc<Kind>>,
    defined: RwLock<BTreeMap<KindId, Arc<Kind>>>,
}

impl Kinds {
    /// With the kinds that are always there.
    pub fn new(base: impl IntoIterator<Item = Kind>) -> Self {
        let base = base.into_iter().map(|kind| (kind.id(), Arc::new(kind))).collect();
        Self { base, defined: RwLock::default() }
    }

    /// All of them.
    pub fn all(&self) -> Vec<Arc<Kind>> {
        let defined = self.defined.read().unwrap_or_else(PoisonError::into_inner);
        self.base.values().chain(defined.values()).cloned().collect()
    }

    /// By its name.
    pub fn get(&self, id: &KindId) -> Option<Arc<Kind>> {
        let defined = self.defined.read().unwrap_or_else(PoisonError::into_inner);
        self.base.get(id).or_else(|| defined.get(id)).cloned()
    }

    /// By group and kind, as references name it.
    pub fn find(&self, group: &str, kind: &str) -> Option<Arc<Kind>> {
        self.all().into_iter().find(|found| found.is(group, kind))
    }

    /// True for kinds that no definition can take away.
    pub fn is_base(&self, id: &KindId) -> bool {
        self.base.contains_key(id)
    }

    /// Takes over what a definition says; returns the kind that was there before. What is always there stays.
    pub(crate) fn define(&self, id: &KindId, kind: Option<Kind>) -> Option<Arc<Kind>> {
        if self.is_base(id) {
            return None;
        }
        let mut defined = self.defined.write().unwrap_or_else(PoisonError::into_inner);
        match kind {
            Some(kind) => defined.insert(id.clone(), Arc::new(kind)),
            None => defined.remove(id),
        }
    }

    /// The names of the kinds that definitions brought.
    pub(crate) fn defined(&self) -> Vec<KindId> {
        self.defined.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn kind(group: &str, kind: &str, plural: &str, scope: Scope) -> Kind {
        let text = str::to_owned;
        let backing = Backing::Stored;
        Kind {
            group: text(group),
            version: text("v1"),
            kind: text(kind),
            plural: text(plural),
            scope,
            backing,
        }
    }

    #[test]
    fn what_comes_with_the_server_cannot_be_defined_away() {
        let kinds = Kinds::new([kind("", "ConfigMap", "configmaps", Scope::Namespaced)]);
        let id = KindId::new("", "configmaps");
        assert!(kinds.define(&id, None).is_none());
        assert!(kinds.get(&id).is_some());
        let widgets = KindId::new("x.org", "widgets");
        kinds.define(&widgets, Some(kind("x.org", "Widget", "widgets", Scope::Cluster)));
        assert_eq!(kinds.find("x.org", "Widget").unwrap().id(), widgets);
        assert_eq!(kinds.all().len(), 2);
        kinds.define(&widgets, None);
        assert!(kinds.find("x.org", "Widget").is_none());
    }

    #[test]
    fn reviews_are_no_business_of_controllers() {
        let kinds: Vec<Kind> =
            lanai_api::kinds::all().iter().filter_map(|info| Kind::of(info, Backing::Stored)).collect();
        assert!(kinds.iter().any(|kind| kind.is("", "Secret")));
        assert!(!kinds.iter().any(|kind| kind.kind.ends_with("Review")));
    }
}
