//! Fields of which a mapping can have one: a probe is `httpGet` or `tcpSocket`, an environment variable has a `value` or a
//! `valueFrom`.
//!
//! The `OpenAPI` document of Kubernetes marks such fields in two places only (`retainKeys`, see [`crate::keys`]). The API server refuses
//! a resource with two of them, so the others are written down here. Merged field by field, what one side changed in the
//! old member and what the other side put in its place would both be there.

use lanai_yaml::{Content, Document, NodeMut, NodeRef};

use crate::comments;
use crate::compare::{same, same_comments_inside};
use crate::conflict::{ConflictId, ConflictKind};
use crate::error::{Error, Misfit};
use crate::fields::{Fields, Pair, Triple, is_fields};
use crate::judge::{Rule, Values};
use crate::keys::Cursor;
use crate::names::{Aspect, aspect};
use crate::options::Take;

/// Fields that exclude each other. A type that has all of them is meant.
const UNIONS: [&[&str]; 6] = [
    // A probe: how to ask a container.
    &["exec", "grpc", "httpGet", "tcpSocket"],
    // A handler of the life of a container: what to do.
    &["exec", "httpGet", "sleep", "tcpSocket"],
    // A variable of the environment: its text, or where to find it.
    &["value", "valueFrom"],
    // Where to find it.
    &["configMapKeyRef", "fieldRef", "resourceFieldRef", "secretKeyRef"],
    // What an ingress leads to.
    &["resource", "service"],
    // The disk behind a persistent volume.
    &[
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
    ],
];

/// Mappings whose `type` says which of the other keys they can have.
const TYPED: [&str; 3] = ["updateStrategy", "seccompProfile", "appArmorProfile"];

/// The fields of a type that exclude each other.
pub(crate) fn members(of: &lanai_openapi::Type) -> &'static [&'static str] {
    let has_all = |union: &&&[&str]| union.iter().all(|name| of.field(name).is_some());
    UNIONS.iter().find(has_all).copied().unwrap_or_default()
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
        match take {
            Take::Local => {}
            Take::Upstream => self.put_members(node, members, &upstream)?,
            Take::Original => self.put_members(node, members, &original)?,
            Take::Value(text) => {
                let conflict = ConflictId::new(id);
                let bad = |cause| Error::BadValue { conflict: conflict.clone(), cause: Box::new(cause) };
                let value = Document::parse(text).map_err(bad)?;
                let wanted = Chosen::of(Some(value.root()), members);
                if wanted.0.is_empty() || wanted.0.len() != value.root().len() {
                    return Err(Error::Unfit { conflict, why: Misfit::Variant });
                }
                self.put_members(node, members, &wanted)?;
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
    ) -> Result<(), Error> {
        for (name, pair) in &wanted.0 {
            let has = node.read().own_entry(name);
            if has.is_some_and(|has| is_as_wanted(has, *pair)) {
                continue;
            }
            let old = members.iter().find(|old| node.read().own_entry(old).is_some());
            let content = Content::from(pair.1);
            let put = match old {
                Some(old) if old == name => {
                    node.reborrow().get_mut(name).and_then(|mut node| node.set(content))
                }
                Some(old) => node.insert_behind(old, name, content),
                None => node.insert(name, content),
            };
            self.did(put)?;
            self.set_entry_comments(node, name, &comments::of_entry(Some(*pair)))?;
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
