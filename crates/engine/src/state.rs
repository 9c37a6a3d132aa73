//! What the engine remembers of a revision beside what clients see.

use std::collections::{BTreeMap, BTreeSet};

use lanai_repository::packages;
use lanai_store::{Attributes, Object};
use lanai_types::{
    ByteSize, CommitId, Lifecycle, PackageName, RefName, RepositoryName, RevisionNumber, Sha256Digest,
    TreeId, WorkspaceName,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bounds::Conflicts;

/// The field of states by which those of a repository are found.
pub const REPOSITORY: &str = "repository";
/// The field of states by which those of a package are found.
pub const PACKAGE: &str = "package";
/// The field of states that have something to be pushed.
pub const PENDING: &str = "pending";

/// The most versions that wait for a remote. Of more, the second oldest gets no commit of its own; the first one has the task that made
/// the draft.
pub const MAX_UNPUSHED: usize = 1_000;

/// What the engine remembers of a revision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The repository, in the namespace of the revision.
    pub repository: RepositoryName,
    /// The package.
    pub package: PackageName,
    /// The workspace.
    pub workspace: WorkspaceName,
    /// What is remembered depends on where it is in its life.
    pub life: Life,
    /// What the last render said, as clients see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub render_status: Option<Value>,
    /// Where an upgrade found that both sides changed the same.
    #[serde(default, skip_serializing_if = "Conflicts::is_empty")]
    pub conflicts: Conflicts,
}

/// Where a revision is in its life.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub enum Life {
    /// A draft, proposed or not.
    Draft(Draft),
    /// Published, whether or not its deletion is proposed; placeholders too.
    Published(Published),
    /// Deleted here; the remote does not know yet.
    Deleted(Deleted),
}

/// A draft.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Draft {
    /// Among drafts or proposed ones.
    pub stage: Stage,
    /// The blob with the content.
    pub content: Sha256Digest,
    /// Git's id of the same.
    pub tree: TreeId,
    /// How the last render of exactly this content ended.
    pub rendered: Rendered,
    /// What the remote lacks, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unpushed: Vec<Version>,
    /// What the remote was brought to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<Pushed>,
    /// Where the remote went, while we went elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diverged: Option<CommitId>,
    /// The content of an earlier draft of the same name that may still be on its way to the remote: a branch with it is ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<TreeId>,
    /// Whether the remote gets it before it is published.
    #[serde(default)]
    pub push: DraftPush,
}

/// Among drafts or proposed ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Stage {
    /// A draft.
    Draft,
    /// Proposed.
    Proposed,
}

impl Stage {
    /// The stage of something that is not published.
    pub fn of(lifecycle: Lifecycle) -> Option<Self> {
        match lifecycle {
            Lifecycle::Draft => Some(Self::Draft),
            Lifecycle::Proposed => Some(Self::Proposed),
            Lifecycle::Published | Lifecycle::DeletionProposed => None,
        }
    }
}

impl From<Stage> for packages::Stage {
    fn from(stage: Stage) -> Self {
        match stage {
            Stage::Draft => Self::Draft,
            Stage::Proposed => Self::Proposed,
        }
    }
}

/// When the remote gets a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DraftPush {
    /// Soon after it was answered.
    #[default]
    Async,
    /// Before it is answered.
    Sync,
    /// Never: only what is published.
    None,
}

/// How a render ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rendered {
    /// Nobody rendered it here.
    Unknown,
    /// All functions passed, and it is what they made.
    Passed,
    /// It was kept all the same.
    Failed,
}

/// A version of a draft that becomes a commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Version {
    /// The blob with the content.
    pub content: Sha256Digest,
    /// Git's id of the same.
    pub tree: TreeId,
    /// The task that made it.
    pub task: Value,
    /// Who made it.
    pub user: String,
    /// When, in seconds since 1970.
    pub time: i64,
    /// How large the content is, in bytes.
    #[serde(default)]
    pub bytes: u64,
}

/// What a remote was brought to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pushed {
    /// Among drafts or proposed ones.
    pub stage: Stage,
    /// Where its branch is.
    pub commit: CommitId,
}

/// Something published.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Published {
    /// Its number; of placeholders and foreign tags, -1.
    pub number: RevisionNumber,
    /// Where it was found.
    pub ref_name: RefName,
    /// The commit.
    pub commit: CommitId,
    /// The content.
    pub tree: TreeId,
    /// Whether its deletion is proposed.
    pub deletion: Deletion,
    /// Whether the remote knows.
    pub marked: Deletion,
}

/// Whether the deletion of something published is proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Deletion {
    /// It is not.
    #[default]
    Unproposed,
    /// It is.
    Proposed,
}

impl From<Lifecycle> for Deletion {
    fn from(lifecycle: Lifecycle) -> Self {
        match lifecycle {
            Lifecycle::DeletionProposed => Self::Proposed,
            Lifecycle::Draft | Lifecycle::Proposed | Lifecycle::Published => Self::Unproposed,
        }
    }
}

/// A draft that was deleted.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    /// What the remote was brought to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<Pushed>,
    /// The content of versions that may have been on their way to the remote: a branch with it is ours, and goes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<TreeId>,
}

impl Deleted {
    /// What is left of a draft.
    pub fn of(draft: &Draft) -> Self {
        let unpushed = draft.unpushed.iter().map(|version| version.tree);
        Self { pushed: draft.pushed, sent: draft.sent.iter().copied().chain(unpushed).collect() }
    }
}

impl State {
    /// True when the remote has to get something.
    pub fn is_pending(&self) -> bool {
        match &self.life {
            Life::Draft(draft) => draft.is_pending(),
            Life::Published(published) => published.deletion != published.marked,
            Life::Deleted(_) => true,
        }
    }

    /// The draft, if it is one.
    pub fn draft(&self) -> Option<&Draft> {
        match &self.life {
            Life::Draft(draft) => Some(draft),
            Life::Published(_) | Life::Deleted(_) => None,
        }
    }

    /// What goes to the remote in one push: of a draft, the oldest versions that together have no more bytes than this. It is among those
    /// among which it is until the last one goes.
    #[must_use]
    pub fn first_part(&self, most: ByteSize) -> Self {
        let Life::Draft(draft) = &self.life else { return self.clone() };
        let part = part(&draft.unpushed, most);
        let stage = if part.len() == draft.unpushed.len() {
            draft.stage
        } else {
            draft.pushed.map_or(Stage::Draft, |pushed| pushed.stage)
        };
        let draft = Draft { unpushed: part.to_vec(), stage, ..draft.clone() };
        Self { life: Life::Draft(draft), ..self.clone() }
    }

    /// The row.
    pub fn to_object(&self) -> Object {
        let mut fields = BTreeMap::new();
        fields.insert(REPOSITORY.to_owned(), self.repository.to_string());
        fields.insert(PACKAGE.to_owned(), format!("{}/{}", self.repository, self.package));
        if self.is_pending() {
            fields.insert(PENDING.to_owned(), "true".to_owned());
        }
        let blobs: BTreeSet<Sha256Digest> = match &self.life {
            Life::Draft(draft) => {
                draft.unpushed.iter().map(|version| version.content).chain([draft.content]).collect()
            }
            Life::Published(_) | Life::Deleted(_) => BTreeSet::new(),
        };
        let value = serde_json::to_vec(self).expect("a state is texts and numbers");
        Object { value: value.into(), attributes: Attributes::of_fields(&fields), blobs, ..Object::default() }
    }
}

impl Draft {
    /// True when the remote has to get something of it.
    pub fn is_pending(&self) -> bool {
        let is_behind =
            !self.unpushed.is_empty() || self.pushed.is_some_and(|pushed| pushed.stage != self.stage);
        self.push != DraftPush::None && self.diverged.is_none() && is_behind
    }

    /// Takes over new content.
    pub fn save(&mut self, version: Version, rendered: Rendered) {
        (self.content, self.tree, self.rendered) = (version.content, version.tree, rendered);
        self.unpushed.push(version);
        if self.unpushed.len() > MAX_UNPUSHED {
            self.unpushed.remove(1);
        }
    }
}

/// The oldest versions of a list that together have no more bytes than this; at least one, where there is one.
pub fn part(versions: &[Version], most: ByteSize) -> &[Version] {
    let mut sum = 0_u64;
    let fits = |version: &&Version| {
        sum = sum.saturating_add(version.bytes);
        ByteSize::bytes(sum) <= most
    };
    let count = versions.iter().take_while(fits).count().max(1).min(versions.len());
    &versions[..count]
}

/// The versions behind one of a list; all where it is not in it.
pub fn behind(versions: &[Version], last: Option<&Version>) -> Vec<Version> {
    let at = last.and_then(|last| versions.iter().rposition(|version| version == last));
    versions[at.map_or(0, |at| at + 1)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_as_many_bytes_as_it_may_and_at_least_one_version() {
        let version = |bytes: u64| Version {
            content: lanai_store::Blob::new("x").digest(),
            tree: "0123456789012345678901234567890123456789".parse().unwrap(),
            task: Value::Null,
            user: String::new(),
            time: 0,
            bytes,
        };
        let count = |sizes: &[u64]| {
            let versions: Vec<Version> = sizes.iter().map(|bytes| version(*bytes)).collect();
            part(&versions, ByteSize::bytes(10)).len()
        };
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&[4, 6, 1]), 2, "exactly as many");
        assert_eq!(count(&[4, 7, 1]), 1, "one more");
        assert_eq!(count(&[11, 1]), 1, "one always goes");
    }
}
