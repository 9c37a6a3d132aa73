//! Drafts whose commits are made later than they were thought of: several at once, each by whoever made it.

use gix_hash::ObjectId;
use lanai_krm::Package;
use lanai_types::{CommitId, PackageName, WorkspaceName};
use serde_json::Value;

use super::message::{self, Event};
use super::operation::{Conflict, Ground, Made, Place, Stage, Unstaged};
use super::person::Person;
use super::push::Command;
use crate::tree::{git_id, our_id};

/// One state of a draft, which becomes a commit.
#[derive(Clone, Debug)]
pub struct Version {
    /// All files.
    pub content: Package,
    /// What made it.
    pub event: Event,
    /// The task, for the message.
    pub task: Option<Value>,
    /// Who made it; where the repository sets an author, that one stands in the commit.
    pub user: Person,
    /// When, in seconds since 1970.
    pub time: i64,
}

/// A draft, where it is, and how it shall be.
#[derive(Clone, Debug)]
pub struct Bring {
    /// The package.
    pub package: PackageName,
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Where its branch must be; `None` for a draft that has none, which begins at the head of the main branch.
    pub from: Option<(Stage, CommitId)>,
    /// Among which it shall be.
    pub to: Stage,
    /// What is to be committed on top, the oldest first. A draft without a branch needs at least one.
    pub versions: Vec<Version>,
}

/// The states of a draft that is published and that the remote does not have yet.
#[derive(Clone, Debug)]
pub struct Versions {
    /// The oldest first; at least one.
    pub versions: Vec<Version>,
    /// The branch that they are on top of, if there is one.
    pub branch: Option<(Stage, CommitId)>,
}

impl Ground<'_, '_> {
    /// Commits on top of a commit; the last one.
    pub(super) fn versions(
        &mut self,
        parent: ObjectId,
        package: &PackageName,
        workspace: &WorkspaceName,
        versions: &[Version],
    ) -> Result<ObjectId, Unstaged> {
        let path = self.path(package)?;
        let mut at = parent;
        for version in versions {
            let annotation = self.annotation(package, workspace, 0, version.task.as_ref());
            let message = message::draft(&version.event, &annotation);
            let made = Made { author: &version.user, time: version.time };
            at = self.content_by(made, at, &path, &version.content, &message)?;
        }
        Ok(at)
    }

    pub(super) fn bring(&mut self, bring: &Bring, commands: &mut Vec<Command>) -> Result<ObjectId, Unstaged> {
        let (package, workspace) = (&bring.package, &bring.workspace);
        let parent = match bring.from {
            Some((_, at)) => git_id(at.object_id())?,
            None if bring.versions.is_empty() => {
                return Err(Conflict::NoKptfile { path: self.path(package)?.to_string() }.into());
            }
            None => self.head()?,
        };
        let place = |stage| Place {
            package: package.clone(),
            workspace: workspace.clone(),
            stage,
            at: CommitId::new(our_id(parent)),
        };
        let to = self.branch(&place(bring.to))?;
        // What is expected is looked at before commits are made for it.
        if let Some((stage, at)) = bring.from {
            let name = self.branch(&place(stage))?;
            self.expect(&name, Some(at.object_id()))?;
        } else {
            self.expect(&to, None)?;
        }
        let commit = self.versions(parent, package, workspace, &bring.versions)?;
        match bring.from {
            Some((stage, at)) if stage == bring.to => {
                self.set(commands, to, Some(at.object_id()), Some(commit))?;
            }
            Some((stage, at)) => {
                let from = self.branch(&place(stage))?;
                self.set(commands, from, Some(at.object_id()), None)?;
                self.set(commands, to, None, Some(commit))?;
            }
            None => self.set(commands, to, None, Some(commit))?,
        }
        Ok(commit)
    }
}
