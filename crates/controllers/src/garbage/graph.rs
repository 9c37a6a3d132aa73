//! Who depends on whom.
//!
//! Only objects that have owners, and owners that wait for their dependents, are kept; most objects are neither.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::hub::Change;
use crate::kind::{Kind, KindId};

/// The uid of an object.
pub(crate) type Uid = String;

/// How an object is being deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// Not at all.
    No,
    /// Whatever holds it is not about dependents.
    Begun,
    /// It waits until its dependents are deleted.
    Foreground,
    /// It waits until its dependents are free of it.
    Orphan,
}

impl Deletion {
    pub fn of(object: &ObjectMeta) -> Self {
        let has = |name: &str| object.finalizers.iter().flatten().any(|one| one == name);
        match &object.deletion_timestamp {
            None => Self::No,
            // Orphaning comes first: what is freed must not be deleted.
            Some(_) if has(super::ORPHAN) => Self::Orphan,
            Some(_) if has(super::FOREGROUND) => Self::Foreground,
            Some(_) => Self::Begun,
        }
    }

    fn waits(self) -> bool {
        matches!(self, Self::Foreground | Self::Orphan)
    }
}

/// What is kept of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub kind: Arc<Kind>,
    pub namespace: Option<String>,
    pub name: String,
    pub owners: Vec<Owner>,
    pub deletion: Deletion,
}

/// A reference to an owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owner {
    pub uid: Uid,
    pub group: String,
    pub kind: String,
    pub name: String,
    /// The owner, deleted in the foreground, waits for this one.
    pub blocks: bool,
}

impl From<&OwnerReference> for Owner {
    fn from(reference: &OwnerReference) -> Self {
        let group = reference.api_version.split_once('/').map_or("", |(group, _)| group);
        Self {
            uid: reference.uid.clone(),
            group: group.to_owned(),
            kind: reference.kind.clone(),
            name: reference.name.clone(),
            blocks: reference.block_owner_deletion == Some(true),
        }
    }
}

/// Who depends on whom, folded from changes.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: HashMap<Uid, Node>,
    dependents: HashMap<Uid, BTreeSet<Uid>>,
    /// Owners that were seen to go while something depends on them.
    gone: HashSet<Uid>,
    /// Kinds all of whose objects were told.
    listed: HashSet<KindId>,
    /// Nodes that were not told yet since the listing of their kind began.
    listing: HashMap<KindId, HashSet<Uid>>,
    /// Dependents whose owner is of a kind that is not known.
    unresolved: BTreeSet<Uid>,
}

impl Graph {
    /// Takes in a change; returns what is to be looked at.
    pub fn see(&mut self, change: &Change<'_>) -> Vec<Uid> {
        match change {
            Change::There { kind, object } => self.there(kind, object),
            Change::Gone { object, .. } => object.uid.as_ref().map_or_else(Vec::new, |uid| self.gone(uid)),
            Change::Listing(kind) => {
                let id = kind.id();
                let of_kind = |(uid, node): (&Uid, &Node)| (node.kind.id() == id).then(|| uid.clone());
                self.listing.insert(id.clone(), self.nodes.iter().filter_map(of_kind).collect());
                Vec::new()
            }
            Change::Listed(kind) => self.listed(kind),
            Change::Served(_) => std::mem::take(&mut self.unresolved).into_iter().collect(),
            Change::Withdrawn(kind) => self.withdrawn(kind),
        }
    }

    pub fn get(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// True for an owner that was seen to go.
    pub fn is_gone(&self, uid: &str) -> bool {
        self.gone.contains(uid)
    }

    pub fn has_dependents(&self, uid: &str) -> bool {
        self.dependents.contains_key(uid)
    }

    /// The dependents that an owner waits for.
    pub fn blocking(&self, uid: &str) -> usize {
        let dependents = self.dependents.get(uid).into_iter().flatten().filter_map(|uid| self.nodes.get(uid));
        let blocks = |node: &Node| node.owners.iter().any(|owner| owner.uid == uid && owner.blocks);
        dependents.filter(|node| blocks(node)).count()
    }

    /// True when all objects of these kinds were told.
    pub fn knows_all(&self, kinds: &[Arc<Kind>]) -> bool {
        kinds.iter().filter(|kind| kind.is_watched()).all(|kind| self.listed.contains(&kind.id()))
    }

    /// Remembers to look again when there are more kinds.
    pub fn leave_unresolved(&mut self, uid: &str) {
        self.unresolved.insert(uid.to_owned());
    }

    fn there(&mut self, kind: &Arc<Kind>, object: &ObjectMeta) -> Vec<Uid> {
        let (Some(uid), Some(name)) = (object.uid.clone(), object.name.clone()) else { return Vec::new() };
        if let Some(open) = self.listing.get_mut(&kind.id()) {
            open.remove(&uid);
        }
        let deletion = Deletion::of(object);
        let owners: Vec<Owner> = object.owner_references.iter().flatten().map(Owner::from).collect();
        let node = Node { kind: kind.clone(), namespace: object.namespace.clone(), name, owners, deletion };
        if self.nodes.get(&uid) == Some(&node) {
            return Vec::new();
        }
        let mut due = self.unlink(&uid);
        if node.owners.is_empty() && !node.deletion.waits() {
            return due;
        }
        if node.deletion.waits() {
            due.extend(self.dependents.get(&uid).into_iter().flatten().cloned());
        }
        for owner in &node.owners {
            self.dependents.entry(owner.uid.clone()).or_default().insert(uid.clone());
        }
        self.nodes.insert(uid.clone(), node);
        due.push(uid);
        due
    }

    fn gone(&mut self, uid: &str) -> Vec<Uid> {
        let mut due = self.unlink(uid);
        if let Some(dependents) = self.dependents.get(uid) {
            self.gone.insert(uid.to_owned());
            due.extend(dependents.iter().cloned());
        }
        due
    }

    /// Forgets an object; returns the owners that may have waited for it.
    fn unlink(&mut self, uid: &str) -> Vec<Uid> {
        self.unresolved.remove(uid);
        let Some(node) = self.nodes.remove(uid) else { return Vec::new() };
        let mut due = Vec::new();
        for owner in node.owners {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(uid);
                if dependents.is_empty() {
                    self.dependents.remove(&owner.uid);
                    self.gone.remove(&owner.uid);
                }
            }
            if self.nodes.get(&owner.uid).is_some_and(|owner| owner.deletion.waits()) {
                due.push(owner.uid);
            }
        }
        due
    }

    fn listed(&mut self, kind: &Arc<Kind>) -> Vec<Uid> {
        let missed = self.listing.remove(&kind.id()).unwrap_or_default();
        let mut due: Vec<Uid> = missed.iter().flat_map(|uid| self.gone(uid)).collect();
        if !self.listed.insert(kind.id()) {
            // Owners may have gone unseen.
            let of_kind = |owner: &Owner| kind.is(&owner.group, &owner.kind);
            let nodes = self.nodes.iter().filter(|(_, node)| node.owners.iter().any(of_kind));
            due.extend(nodes.map(|(uid, _)| uid.clone()));
        }
        // Those that wait may have waited to know all.
        due.extend(self.nodes.iter().filter(|(_, node)| node.deletion.waits()).map(|(uid, _)| uid.clone()));
        due
    }

    fn withdrawn(&mut self, kind: &Arc<Kind>) -> Vec<Uid> {
        let id = kind.id();
        self.listed.remove(&id);
        self.listing.remove(&id);
        let of_kind = |(uid, node): (&Uid, &Node)| (node.kind.id() == id).then(|| uid.clone());
        let uids: Vec<Uid> = self.nodes.iter().filter_map(of_kind).collect();
        uids.iter().flat_map(|uid| self.gone(uid)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::tests::kind;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use lanai_api::Scope;

    fn object(uid: &str, owners: &[&str], finalizers: &[&str]) -> ObjectMeta {
        let reference = |uid: &&str| OwnerReference {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            name: (*uid).into(),
            uid: (*uid).into(),
            block_owner_deletion: Some(true),
            controller: None,
        };
        ObjectMeta {
            name: Some(uid.into()),
            namespace: Some("n".into()),
            uid: Some(uid.into()),
            owner_references: Some(owners.iter().map(reference).collect()),
            finalizers: Some(finalizers.iter().map(|one| (*one).to_owned()).collect()),
            deletion_timestamp: (!finalizers.is_empty()).then_some(Time(jiff::Timestamp::UNIX_EPOCH)),
            ..ObjectMeta::default()
        }
    }

    fn maps() -> Arc<Kind> {
        Arc::new(kind("", "ConfigMap", "configmaps", Scope::Namespaced))
    }

    #[test]
    fn only_what_depends_or_waits_is_kept() {
        let (mut graph, kind) = (Graph::default(), maps());
        let mut there = |object: &ObjectMeta| graph.see(&Change::There { kind: &kind, object });
        assert!(there(&object("owner", &[], &[])).is_empty());
        assert_eq!(there(&object("child", &["owner"], &[])), ["child"]);
        assert!(there(&object("child", &["owner"], &[])).is_empty(), "nothing changed");
        assert_eq!(there(&object("owner", &[], &["foregroundDeletion"])), ["child", "owner"]);
        assert_eq!(graph.blocking("owner"), 1);
        assert_eq!(graph.nodes.len(), 2);
        let gone = |object: &ObjectMeta, graph: &mut Graph| graph.see(&Change::Gone { kind: &kind, object });
        assert_eq!(gone(&object("child", &["owner"], &[]), &mut graph), ["owner"], "the owner waited for it");
        assert_eq!(graph.blocking("owner"), 0);
        assert!(gone(&object("owner", &[], &[]), &mut graph).is_empty());
        assert!(graph.nodes.is_empty() && graph.dependents.is_empty() && graph.gone.is_empty());
    }

    #[test]
    fn an_owner_that_was_seen_to_go_is_remembered_as_long_as_something_depends_on_it() {
        let (mut graph, kind) = (Graph::default(), maps());
        graph.see(&Change::There { kind: &kind, object: &object("child", &["owner"], &[]) });
        assert_eq!(graph.see(&Change::Gone { kind: &kind, object: &object("owner", &[], &[]) }), ["child"]);
        assert!(graph.is_gone("owner"));
        graph.see(&Change::There { kind: &kind, object: &object("child", &[], &[]) });
        assert!(!graph.is_gone("owner") && graph.nodes.is_empty());
    }

    #[test]
    fn what_is_missing_from_a_second_list_is_gone() {
        let (mut graph, kind) = (Graph::default(), maps());
        let list = |graph: &mut Graph, objects: &[ObjectMeta]| {
            graph.see(&Change::Listing(&kind));
            for object in objects {
                graph.see(&Change::There { kind: &kind, object });
            }
            graph.see(&Change::Listed(&kind))
        };
        assert!(!graph.knows_all(&[maps()]));
        assert!(list(&mut graph, &[object("a", &["x"], &[]), object("b", &["a"], &[])]).is_empty());
        assert!(graph.knows_all(&[maps()]));
        let due = list(&mut graph, &[object("b", &["a"], &[])]);
        assert!(due.contains(&"b".to_owned()) && graph.get("a").is_none(), "{due:?}");
        assert!(graph.see(&Change::Withdrawn(&kind)).is_empty());
        assert!(graph.get("b").is_none() && !graph.knows_all(&[maps()]));
    }

    #[test]
    fn orphaning_comes_before_deleting() {
        assert_eq!(Deletion::of(&object("a", &[], &["foregroundDeletion", "orphan"])), Deletion::Orphan);
        assert_eq!(Deletion::of(&object("a", &[], &["x.org/y"])), Deletion::Begun);
        assert_eq!(Deletion::of(&object("a", &[], &[])), Deletion::No);
    }
}
