//! Fields of which a mapping can have one: a probe is `httpGet` or `tcpSocket`, an environment variable has a `value` or a
//! `valueFrom`.
//!
//! The `OpenAPI` document of Kubernetes marks few of them (`retainKeys`, see [`crate::keys`]). The API server refuses
//! a resource with two of them, so the others are written down here. Merged field by field, what one side changed in the
//! old member and what the other side put in its place would both be there.
//!
//! Some are kinds, with a field that says which: that one is a member, too. Fields that exclude each other by their values only
//! (`insecureSkipTLSVerify: true` and `caBundle`) are not here.

use lanai_yaml::path::Segment;
use lanai_yaml::{Content, Document, NodeMut, NodeRef};

use crate::comments::{self, Noted};
use crate::compare::{same, same_comments_inside};
use crate::conflict::{ConflictId, ConflictKind};
use crate::error::{Error, Misfit};
use crate::fields::{Fields, Pair, Triple, is_fields, trail_of};
use crate::judge::{Rule, Values};
use crate::keys::Cursor;
use crate::names::{Aspect, aspect};
use crate::options::Take;

/// Fields that exclude each other. A type that has all of them is meant. Of those in lists that are one value, none is here: they
/// are not mixed.
struct Union {
    members: &'static [&'static str],
    /// A field that the type has beside them, where other types have all of them, too.
    beside: Option<&'static str>,
}

const fn of(members: &'static [&'static str]) -> Union {
    Union { members, beside: None }
}

const UNIONS: [Union; 24] = [
    // A probe: how to ask a container.
    of(&["exec", "grpc", "httpGet", "tcpSocket"]),
    // A handler of the life of a container: what to do.
    of(&["exec", "httpGet", "sleep", "tcpSocket"]),
    // A variable of the environment: its text, or where to find it.
    of(&["value", "valueFrom"]),
    // Where to find it.
    of(&["configMapKeyRef", "fieldRef", "fileKeyRef", "resourceFieldRef", "secretKeyRef"]),
    // What of a volume a container sees.
    of(&["subPath", "subPathExpr"]),
    // Disks of a network of fibre channels.
    of(&["targetWWNs", "wwids"]),
    // A disk of Flocker.
    of(&["datasetName", "datasetUUID"]),
    // What a claim of a volume begins with. Both may be there, if they are the same.
    of(&["dataSource", "dataSourceRef"]),
    // How many pods may be away.
    of(&["maxUnavailable", "minAvailable"]),
    // Whether clients stay with a pod, and how long.
    of(&["sessionAffinity", "sessionAffinityConfig"]),
    // Whom a webhook asks.
    of(&["service", "url"]),
    // How the versions of a custom resource become each other.
    of(&["strategy", "webhook"]),
    // What the parameters of an admission policy are.
    Union { members: &["name", "selector"], beside: Some("parameterNotFoundAction") },
    // What an ingress leads to.
    of(&["resource", "service"]),
    // The port of a service that it leads to.
    of(&["name", "number"]),
    // Where the parameters of a class of ingresses are.
    of(&["namespace", "scope"]),
    // A level of priority.
    of(&["exempt", "limited", "type"]),
    // What happens to requests beyond its limit.
    of(&["queuing", "type"]),
    // How a group of pods is scheduled.
    of(&["basic", "gang"]),
    // The nodes that devices are on.
    of(&["allNodes", "nodeName", "nodeSelector", "perDeviceNodeSelection"]),
    // What a review of access asks about.
    of(&["nonResourceAttributes", "resourceAttributes"]),
    // How it selects.
    of(&["rawSelector", "requirements"]),
    // The volume that is attached.
    of(&["inlineVolumeSpec", "persistentVolumeName"]),
    // The disk behind a persistent volume.
    of(&[
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "csi",
        "fc",
        "flexVolume",
        "flocker",
        "gcePersistentDisk",
        "glusterfs",
        "hostPath",
        "iscsi",
        "local",
        "nfs",
        "photonPersistentDisk",
        "portworxVolume",
        "quobyte",
        "rbd",
        "scaleIO",
        "storageos",
        "vsphereVolume",
    ]),
];

/// Mappings whose `type` says which of the other keys they can have.
const TYPED: [&str; 3] = ["updateStrategy", "seccompProfile", "appArmorProfile"];

/// The fields of a type that exclude each other.
pub(crate) fn members(of: &lanai_openapi::Type) -> &'static [&'static str] {
    let has_all =
        |union: &&Union| union.members.iter().chain(&union.beside).all(|name| of.field(name).is_some());
    UNIONS.iter().find(has_all).map(|union| union.members).unwrap_or_default()
}

/// Whether a field holds a mapping that is of one type, though nothing marks it.
pub(crate) fn is_typed(field: &str) -> bool {
    TYPED.contains(&field)
}

/// The members that a side has, with their names.
struct Chosen<'a>(Vec<(&'static str, Pair<'a>)>);

impl<'a> Chosen<'a> {
    fn of(node: Option<NodeRef<'a>>, members: &[&'static str]) -> Self {
        let node = node.filter(|node| is_fields(*node));
        let entry = |name: &&'static str| Some((*name, node?.own_entry(name)?));
        Self(members.iter().filter_map(entry).collect())
    }

    fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }

    fn get(&self, name: &str) -> Option<Pair<'a>> {
        self.0.iter().find(|(member, _)| *member == name).map(|(_, pair)| *pair)
    }

    fn has_same(&self, other: &Self) -> bool {
        let is_same = |((name, one), (other_name, other)): (&(&str, Pair<'_>), &(&str, Pair<'_>))| {
            name == other_name
                && same(Some(one.1), Some(other.1))
                && same_comments_inside(one.1, other.1)
                && !comments::differ(&comments::of_entry(Some(*one)), &comments::of_entry(Some(*other)))
        };
        self.0.len() == other.0.len() && self.0.iter().zip(&other.0).all(is_same)
    }

    fn text(&self) -> Option<String> {
        let mut document = Document::parse("").expect("an empty text is a document");
        let mut root = document.root_mut();
        for (name, (_, value)) in &self.0 {
            root.insert(name, Content::from(*value)).ok()?;
        }
        (!self.0.is_empty()).then(|| document.to_string().trim_end().to_owned())
    }
}

impl Fields<'_, '_> {
    /// Takes the members of one side where both sides chose and changed other ones, and where a resolution says so. Returns
    /// the members, if they are decided.
    pub fn settle_members(
        &mut self,
        node: &mut NodeMut<'_>,
        sides: Triple<'_>,
        cursor: Cursor<'_>,
    ) -> Result<&'static [&'static str], Error> {
        let members = cursor.members();
        if members.is_empty() {
            return Ok(&[]);
        }
        let Triple { original, upstream, local } = sides;
        let [original, upstream, local] = [original, upstream, local].map(|side| Chosen::of(side, members));
        let is_mixed = !upstream.0.is_empty()
            && !local.0.is_empty()
            && upstream.names() != local.names()
            && !upstream.has_same(&original)
            && !local.has_same(&original);
        if !is_mixed && !self.judge.has_pins() {
            return Ok(&[]);
        }
        let id = aspect(&self.id(), Aspect::Variant);
        let take = match (is_mixed, self.judge.pinned(&id)) {
            (true, _) => {
                let values =
                    Values { original: original.text(), upstream: upstream.text(), local: local.text() };
                let case = self.case_of(id.clone(), ConflictKind::BothChanged, values);
                self.judge.decide(case, Rule::Policy)
            }
            (false, Some(take)) => take.clone(),
            (false, None) => return Ok(&[]),
        };
        let before = [&original, &upstream, &local];
        match take {
            Take::Local => {}
            Take::Upstream => self.put_members(node, members, &upstream, before)?,
            Take::Original => self.put_members(node, members, &original, before)?,
            Take::Value(text) => {
                let conflict = ConflictId::new(id);
                let bad = |cause| Error::BadValue { conflict: conflict.clone(), cause: Box::new(cause) };
                let value = Document::parse(text).map_err(bad)?;
                let wanted = Chosen::of(Some(value.root()), members);
                if wanted.0.is_empty() || wanted.0.len() != value.root().len() {
                    return Err(Error::Unfit { conflict, why: Misfit::Variant });
                }
                self.put_members(node, members, &wanted, before)?;
            }
        }
        Ok(members)
    }

    /// Makes the members of a mapping those that were chosen, in the place of those that it has.
    fn put_members(
        &mut self,
        node: &mut NodeMut<'_>,
        members: &[&'static str],
        wanted: &Chosen<'_>,
        [original, upstream, local]: [&Chosen<'_>; 3],
    ) -> Result<(), Error> {
        for (name, pair) in &wanted.0 {
            let has = node.read().own_entry(name);
            if has.is_some_and(|has| is_as_wanted(has, *pair)) {
                continue;
            }
            let content = Content::from(pair.1);
            let old = members.iter().find(|old| node.read().own_entry(old).is_some());
            let put = match (has, old) {
                (Some(_), _) => node.reborrow().get_mut(name).and_then(|mut node| node.set(content)),
                (None, Some(old)) => node.insert_behind(old, name, content),
                (None, None) => node.insert(name, content),
            };
            self.did(put)?;
            self.segments.push(Segment::Key((*name).into()));
            self.trail.push(trail_of(name));
            self.note_put(upstream.get(name).map(|(_, value)| value), node.read().get(name))?;
            let noted = Noted {
                original: comments::of_entry(original.get(name)),
                upstream: comments::of_entry(upstream.get(name)),
                local: comments::of_entry(local.get(name)),
            };
            self.set_entry_comments(node, name, &comments::of_entry(Some(*pair)), &noted)?;
            self.trail.pop();
            self.segments.pop();
        }
        let names = wanted.names();
        for gone in members.iter().filter(|name| !names.contains(name)) {
            let removed = node.remove(gone);
            self.did(removed)?;
        }
        Ok(())
    }
}

/// Whether an entry is there already as it should be.
fn is_as_wanted(has: Pair<'_>, wanted: Pair<'_>) -> bool {
    crate::compare::exact(Some(has.1), Some(wanted.1))
        && comments::of_entry(Some(has)) == comments::of_entry(Some(wanted))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use lanai_openapi::{Merge, Shape, Table, Type, built_in};

    use super::*;

    fn is_in(of: &Type, union: &Union) -> bool {
        union.members.iter().chain(&union.beside).all(|name| of.field(name).is_some())
    }

    /// The types that are merged field by field, by their numbers: what is in a list that is one value is not.
    fn merged_by_fields(table: &Table) -> HashSet<usize> {
        let versions = table.kinds().flat_map(|kind| kind.versions.to_vec());
        let mut open: Vec<_> = versions.map(|version| version.id).collect();
        let mut seen = HashSet::new();
        while let Some(id) = open.pop() {
            if !seen.insert(id.number()) {
                continue;
            }
            for (_, shape) in table.get(id).fields() {
                let inner = match shape {
                    Shape::List(list) if list.merge != Merge::Whole => &list.items,
                    other => other,
                };
                if let Shape::Type(id) = inner {
                    open.push(*id);
                }
            }
        }
        seen
    }

    #[test]
    fn each_union_is_of_a_type_that_is_merged_by_fields() {
        let table = built_in();
        let merged = merged_by_fields(table);
        for union in &UNIONS {
            let found = |at: &usize| is_in(&table.types()[*at], union);
            assert!(merged.iter().any(found), "{:?}", union.members);
        }
    }

    #[test]
    fn a_type_has_one_union_at_most() {
        for of in built_in().types() {
            let all: Vec<_> = UNIONS.iter().filter(|union| is_in(of, union)).collect();
            assert!(all.len() <= 1, "{of:?}");
        }
    }
}
