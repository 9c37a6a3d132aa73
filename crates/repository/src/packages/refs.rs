//! The refs that a credential was shown.

use std::collections::BTreeMap;

use gix_hash::ObjectId;
use gix_protocol::handshake::Ref;
use lanai_types::{CommitId, RefName};

use crate::tree::our_id;

/// What a ref is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tip {
    /// The object itself: what a compare is made with.
    pub(crate) object: ObjectId,
    /// What it leads to: for an annotated tag, what the tag is about.
    pub(crate) commit: ObjectId,
}

/// Branches and tags at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refs {
    pub(crate) tips: BTreeMap<RefName, Tip>,
    /// How many refs have a name that we would not write.
    pub(crate) odd: usize,
}

impl Refs {
    /// Refs that somebody listed earlier with the same credential and wrote down. They lead to what they led to then.
    pub fn remembered(refs: impl IntoIterator<Item = (RefName, CommitId)>) -> Self {
        let tip = |commit: CommitId| {
            let id = crate::tree::git_id(commit.object_id()).ok()?;
            Some(Tip { object: id, commit: id })
        };
        let tips = refs.into_iter().filter_map(|(name, commit)| Some((name, tip(commit)?))).collect();
        Self { tips, odd: 0 }
    }

    /// What a branch or tag leads to; `None` where there is no such ref.
    pub fn commit(&self, name: &RefName) -> Option<CommitId> {
        self.tips.get(name).map(|tip| CommitId::new(our_id(tip.commit)))
    }

    /// All names with what they lead to, sorted.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&RefName, CommitId)> {
        self.tips.iter().map(|(name, tip)| (name, CommitId::new(our_id(tip.commit))))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tips.len()
    }

    /// True for a repository without branches and tags.
    pub fn is_empty(&self) -> bool {
        self.tips.is_empty()
    }

    /// How many refs of the remote have names that nothing of ours could have; they are not in here.
    pub fn odd(&self) -> usize {
        self.odd
    }

    /// Branches and tags of a listing.
    pub(crate) fn of(listed: &[Ref]) -> Self {
        let mut refs = Self::default();
        for found in listed {
            let (name, object, commit) = match found {
                Ref::Peeled { full_ref_name, tag, object } => (full_ref_name, *tag, *object),
                Ref::Direct { full_ref_name, object } => (full_ref_name, *object, *object),
                Ref::Symbolic { full_ref_name, object, tag, .. } => {
                    (full_ref_name, tag.unwrap_or(*object), *object)
                }
                Ref::Unborn { .. } => continue,
            };
            refs.add(&name.to_string(), Tip { object, commit });
        }
        refs
    }

    /// Adds a branch or tag; other refs are none of our business.
    pub(crate) fn add(&mut self, name: &str, tip: Tip) {
        if !name.starts_with("refs/heads/") && !name.starts_with("refs/tags/") {
            return;
        }
        match name.parse() {
            Ok(name) => {
                self.tips.insert(name, tip);
            }
            Err(_) => self.odd += 1,
        }
    }
}
