//! What can be done to packages in Git, and how it is staged.

use std::collections::BTreeMap;

use gix_hash::ObjectId;
use lanai_krm::Package;
use lanai_krm::package::File;
use lanai_types::{CommitId, GitObjectId, PackageName, RefName, RevisionNumber, SafePath, WorkspaceName};
use serde_json::Value;

use super::bring::{Bring, Versions};
use super::history::MainLine;
use super::layout::{Layout, Meaning, number_of};
use super::message::{self, Annotation, Event};
use super::nodes::{Entry, NewCommit};
use super::person::Person;
use super::push::Command;
use super::staging::Staging;
use crate::tree::{Failure, git_id, our_id};

/// Something that is to be done, by somebody, at some time.
#[derive(Clone, Debug)]
pub struct Request {
    /// What.
    pub what: Operation,
    /// Who wants it.
    pub user: Person,
    /// When, in seconds since 1970.
    pub time: i64,
    /// What the caller calls it; the journal is told.
    pub label: String,
}

/// What can be done.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Makes the branch of published packages, where there is none.
    CreateBranch,
    /// Writes the content of a draft, proposed or not: a new one or a further commit.
    Save(Box<Save>),
    /// Moves a draft to the proposed ones, or back.
    Move(Move),
    /// Brings a draft to where it shall be: commits that the remote lacks, and the move between drafts and proposed ones.
    Bring(Box<Bring>),
    /// Publishes.
    Publish(Publish),
    /// Proposes the deletion of what is published.
    Mark(Mark),
    /// Takes that back.
    Unmark(Mark),
    /// Deletes a draft, proposed or not.
    DeleteDraft(Place),
    /// Deletes the tag of a published revision, and its mark.
    DeleteRevision(Mark),
    /// Takes a package off the branch of published ones.
    DeletePlaceholder(PackageName),
}

impl Operation {
    /// The package that it is about; none if it is about the branch.
    pub(crate) fn package(&self) -> Option<&PackageName> {
        match self {
            Self::CreateBranch => None,
            Self::Save(save) => Some(&save.package),
            Self::Move(order) => Some(&order.from.package),
            Self::Bring(bring) => Some(&bring.package),
            Self::Publish(publish) => Some(&publish.package),
            Self::Mark(mark) | Self::Unmark(mark) | Self::DeleteRevision(mark) => Some(&mark.package),
            Self::DeleteDraft(place) => Some(&place.package),
            Self::DeletePlaceholder(package) => Some(package),
        }
    }

    /// Makes somebody the author of all commits that have one of their own.
    pub(crate) fn attribute_to(&mut self, author: &Person) {
        let versions = match self {
            Self::Bring(bring) => &mut bring.versions,
            Self::Publish(Publish { source: Source::Versions(all), .. }) => &mut all.versions,
            Self::CreateBranch
            | Self::Save(_)
            | Self::Move(_)
            | Self::Publish(_)
            | Self::Mark(_)
            | Self::Unmark(_)
            | Self::DeleteDraft(_)
            | Self::DeleteRevision(_)
            | Self::DeletePlaceholder(_) => return,
        };
        for version in versions {
            version.user.clone_from(author);
        }
    }
}

/// Where a draft is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Below `drafts/`.
    Draft,
    /// Below `proposed/`.
    Proposed,
}

/// A draft at a commit.
#[derive(Clone, Debug)]
pub struct Place {
    /// The package.
    pub package: PackageName,
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Among drafts or proposed ones.
    pub stage: Stage,
    /// The commit that its branch must be at.
    pub at: CommitId,
}

/// Content for a draft.
#[derive(Clone, Debug)]
pub struct Save {
    /// The package.
    pub package: PackageName,
    /// The workspace.
    pub workspace: WorkspaceName,
    /// Among drafts or proposed ones.
    pub stage: Stage,
    /// The commit that its branch must be at; `None` for a new draft, which begins at the head of the main branch.
    pub expected: Option<CommitId>,
    /// All files.
    pub content: Package,
    /// What made it.
    pub event: Event,
    /// The task, for the message.
    pub task: Option<Value>,
}

/// A draft that is to be moved.
#[derive(Clone, Debug)]
pub struct Move {
    /// The draft, where it is.
    pub from: Place,
    /// Where it shall be.
    pub to: Stage,
}

/// A revision that is to be published.
#[derive(Clone, Debug)]
pub struct Publish {
    /// The package.
    pub package: PackageName,
    /// The workspace.
    pub workspace: WorkspaceName,
    /// What is published.
    pub source: Source,
    /// The highest number that the caller has ever seen for the package; 0 for none.
    pub highest_seen: i64,
}

/// What is published.
#[derive(Clone, Debug)]
pub enum Source {
    /// The draft on a branch, which goes away with it.
    Branch {
        /// Among drafts or proposed ones.
        stage: Stage,
        /// The commit that the branch must be at.
        at: CommitId,
    },
    /// Content that the remote does not have yet. It becomes a commit of its own.
    Content(Box<NewContent>),
    /// Several states of the content that the remote does not have yet, on top of the branch if there is one, which goes away. At least
    /// one.
    Versions(Box<Versions>),
}

/// Content that becomes a commit of its own when it is published.
#[derive(Clone, Debug)]
pub struct NewContent {
    /// All files.
    pub content: Package,
    /// What made it.
    pub event: Event,
    /// The task, for the message.
    pub task: Option<Value>,
    /// A branch with an older state of it, which goes away.
    pub branch: Option<(Stage, CommitId)>,
}

/// A published revision.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The package.
    pub package: PackageName,
    /// The last part of its tag: `v3`. For a placeholder, the name of its branch.
    pub last: String,
    /// What its tag or mark must lead to.
    pub at: CommitId,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// The commit that the revision is at now; `None` where there is none any more.
    pub commit: Option<CommitId>,
    /// The number that was given.
    pub revision: Option<RevisionNumber>,
    /// The refs that moved.
    pub commands: Vec<Command>,
}

/// Why something cannot be done as things are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Conflict {
    /// A ref is not where the caller believed it to be.
    #[error("\"{name}\" is at {}, not at {}", shown(.found.as_ref()), shown(.expected.as_ref()))]
    Moved {
        /// The ref.
        name: RefName,
        /// What the caller expected; `None` for no such ref.
        expected: Option<GitObjectId>,
        /// What is there.
        found: Option<GitObjectId>,
    },
    /// The branch of published packages does not exist.
    #[error("branch \"{branch}\" does not exist\nhint: create it, or let Lanai do it (createBranch)")]
    NoBranch {
        /// The branch.
        branch: String,
    },
    /// The draft has no such folder.
    #[error("commit {commit} has no package \"{path}\"")]
    NoPackage {
        /// The commit.
        commit: CommitId,
        /// The folder.
        path: String,
    },
    /// A ref stands where the new one would need a folder, or the other way round.
    #[error("\"{name}\" cannot be made beside \"{other}\"")]
    Beside {
        /// The ref.
        name: RefName,
        /// What is in its way.
        other: RefName,
    },
    /// A file of somebody else stands where the package would have to be.
    #[error("package \"{path}\" cannot be written: \"{other}\" is no folder in commit {commit}")]
    Occupied {
        /// The folder of the package.
        path: String,
        /// What is in its way.
        other: String,
        /// The commit.
        commit: CommitId,
    },
    /// No ref can have the name that this would need.
    #[error("no ref can be called \"{name}\"")]
    BadName {
        /// The name.
        name: String,
    },
    /// The package has no Kptfile.
    #[error("package \"{path}\" has no Kptfile")]
    NoKptfile {
        /// The folder.
        path: String,
    },
    /// All numbers are used up.
    #[error("package \"{path}\" has no number left")]
    NoNumber {
        /// The folder.
        path: String,
    },
}

fn shown(id: Option<&GitObjectId>) -> String {
    id.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

/// Why an operation was not staged.
pub(crate) enum Unstaged {
    Conflict(Conflict),
    Failure(Failure),
}

impl From<Failure> for Unstaged {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

impl From<Conflict> for Unstaged {
    fn from(conflict: Conflict) -> Self {
        Self::Conflict(conflict)
    }
}

/// Who made a commit, and when.
#[derive(Clone, Copy)]
pub(crate) struct Made<'a> {
    pub(crate) author: &'a Person,
    pub(crate) time: i64,
}

/// The refs as they are, with what was staged on top.
pub(crate) type Virtual = BTreeMap<RefName, ObjectId>;

/// The ground that an operation is staged on.
pub(crate) struct Ground<'a, 'b> {
    pub(crate) layout: &'a Layout,
    pub(crate) author: &'a Person,
    pub(crate) time: i64,
    pub(crate) refs: &'a mut Virtual,
    pub(crate) staging: &'a mut Staging<'b>,
    pub(crate) line: &'a MainLine,
    /// What refs were before they were moved, in the order of the moves.
    pub(crate) undo: Vec<(RefName, Option<ObjectId>)>,
}

impl Ground<'_, '_> {
    /// Makes the objects of an operation and moves the virtual refs. On an error the refs may have moved;
    /// [`take_back`](Self::take_back) puts them back.
    pub(crate) fn stage(&mut self, what: &Operation) -> Result<Done, Unstaged> {
        let mut commands = Vec::new();
        let (commit, revision) = match what {
            Operation::CreateBranch => (self.create_branch(&mut commands)?, None),
            Operation::Save(save) => (Some(self.save(save, &mut commands)?), None),
            Operation::Move(order) => {
                let (from, at) = (self.branch(&order.from)?, order.from.at.object_id());
                let to = self.branch(&Place { stage: order.to, ..order.from.clone() })?;
                self.set(&mut commands, from, Some(at), None)?;
                self.set(&mut commands, to, None, Some(git_id(at)?))?;
                (Some(git_id(at)?), None)
            }
            Operation::Bring(bring) => (Some(self.bring(bring, &mut commands)?), None),
            Operation::Publish(publish) => {
                let (commit, number) = self.publish(publish, &mut commands)?;
                (Some(commit), Some(number))
            }
            Operation::Mark(mark) => {
                let name = self.mark(&mark.package, &mark.last)?;
                let at = git_id(mark.at.object_id())?;
                let tag = self.tag(&mark.package, &mark.last)?;
                // A placeholder has no tag; main moves, and its mark stays where it was made.
                if mark.last != self.layout.placeholder() {
                    self.check_tag(&tag, mark.at)?;
                }
                self.set(&mut commands, name, None, Some(at))?;
                (Some(at), None)
            }
            Operation::Unmark(mark) => {
                let name = self.mark(&mark.package, &mark.last)?;
                self.set(&mut commands, name, Some(mark.at.object_id()), None)?;
                (Some(git_id(mark.at.object_id())?), None)
            }
            Operation::DeleteDraft(place) => {
                let name = self.branch(place)?;
                self.set(&mut commands, name, Some(place.at.object_id()), None)?;
                (None, None)
            }
            Operation::DeleteRevision(mark) => {
                let name = self.tag(&mark.package, &mark.last)?;
                let found = self.check_tag(&name, mark.at)?;
                self.set(&mut commands, name, Some(found), None)?;
                self.remove_mark(&mut commands, &mark.package, &mark.last)?;
                (None, None)
            }
            Operation::DeletePlaceholder(package) => {
                self.delete_placeholder(package, &mut commands)?;
                (None, None)
            }
        };
        let commit = commit.map(|id| CommitId::new(our_id(id)));
        Ok(Done { commit, revision, commands })
    }

    /// Puts the virtual refs back to where they were.
    pub(crate) fn take_back(self) {
        for (name, before) in self.undo.into_iter().rev() {
            match before {
                Some(before) => self.refs.insert(name, before),
                None => self.refs.remove(&name),
            };
        }
    }

    pub(super) fn branch(&self, place: &Place) -> Result<RefName, Conflict> {
        let (package, workspace) = (&place.package, &place.workspace);
        let name = match place.stage {
            Stage::Draft => self.layout.draft(package, workspace),
            Stage::Proposed => self.layout.proposed(package, workspace),
        };
        name.ok_or_else(|| Conflict::BadName { name: format!("{}/{workspace}", self.layout.path(package)) })
    }

    /// The mark of a revision, which is called as the number of its tag is, whatever the tag's spelling.
    fn mark(&self, package: &PackageName, last: &str) -> Result<RefName, Conflict> {
        let last = number_of(last).tag().unwrap_or_else(|| last.to_owned());
        let name = self.layout.deletion_mark(package, &last);
        name.ok_or_else(|| Conflict::BadName { name: format!("{}/{last}", self.layout.path(package)) })
    }

    fn tag(&self, package: &PackageName, last: &str) -> Result<RefName, Conflict> {
        let name = self.layout.tag_name(package, last);
        name.ok_or_else(|| Conflict::BadName { name: format!("{}/{last}", self.layout.path(package)) })
    }

    /// What a tag is at, if it leads to the commit: itself, or as the object that says so.
    fn check_tag(&self, name: &RefName, at: CommitId) -> Result<GitObjectId, Unstaged> {
        let found = self.refs.get(name).copied();
        let leads_there = |id: ObjectId| {
            our_id(id) == at.object_id()
                || self.staging.peeled(id).is_some_and(|id| our_id(id) == at.object_id())
        };
        let moved = || Conflict::Moved {
            name: name.clone(),
            expected: Some(at.object_id()),
            found: found.map(our_id),
        };
        Ok(found.filter(|id| leads_there(*id)).map(our_id).ok_or_else(moved)?)
    }

    /// A ref must be where the caller believes it to be.
    pub(super) fn expect(&self, name: &RefName, expected: Option<GitObjectId>) -> Result<(), Conflict> {
        let found = self.refs.get(name).map(|id| our_id(*id));
        if found == expected {
            return Ok(());
        }
        Err(Conflict::Moved { name: name.clone(), expected, found })
    }

    pub(super) fn set(
        &mut self,
        commands: &mut Vec<Command>,
        name: RefName,
        old: Option<GitObjectId>,
        new: Option<ObjectId>,
    ) -> Result<(), Unstaged> {
        self.expect(&name, old)?;
        if old.is_none()
            && let Some(other) = self.beside(&name)
        {
            return Err(Conflict::Beside { name, other }.into());
        }
        let before = match new {
            Some(new) => self.refs.insert(name.clone(), new),
            None => self.refs.remove(&name),
        };
        self.undo.push((name.clone(), before));
        commands.push(Command { name, old, new: new.map(our_id) });
        Ok(())
    }

    /// A ref that cannot be there together with a new one.
    fn beside(&self, name: &RefName) -> Option<RefName> {
        let mut around = name.as_str();
        while let Some((folder, _)) = around.rsplit_once('/') {
            if let Some((other, _)) =
                folder.parse().ok().and_then(|folder: RefName| self.refs.get_key_value(&folder))
            {
                return Some(other.clone());
            }
            around = folder;
        }
        // The least name that can be inside of it.
        let inside = format!("{name}/");
        let first: RefName = format!("{inside}!").parse().ok()?;
        let next = self.refs.range(first..).next().map(|(other, _)| other);
        next.filter(|other| other.as_str().starts_with(&inside)).cloned()
    }

    pub(super) fn head(&self) -> Result<ObjectId, Conflict> {
        let head = self.refs.get(self.layout.branch.ref_name()).copied();
        head.ok_or_else(|| Conflict::NoBranch { branch: self.layout.branch.to_string() })
    }

    pub(super) fn path(&self, package: &PackageName) -> Result<SafePath, Failure> {
        let path = self.layout.path(package);
        path.parse().map_err(|cause: lanai_types::safe_path::Error| Failure::Damaged(cause.to_string()))
    }

    fn move_main(
        &mut self,
        commands: &mut Vec<Command>,
        from: ObjectId,
        to: ObjectId,
    ) -> Result<(), Unstaged> {
        let name = self.layout.branch.ref_name().clone();
        self.set(commands, name, Some(our_id(from)), Some(to))
    }

    fn create_branch(&mut self, commands: &mut Vec<Command>) -> Result<Option<ObjectId>, Unstaged> {
        let name = self.layout.branch.ref_name().clone();
        if let Some(head) = self.refs.get(&name) {
            return Ok(Some(*head));
        }
        let id = self.staging.write_blob(b"Created by porch")?;
        let entry = Entry { mode: b"100644".to_vec(), name: b"README.md".to_vec(), id };
        let tree = self.staging.write_tree(vec![entry])?;
        let author = Person::orchestrator();
        let (time, message) = (self.time, message::BRANCH_CREATION);
        let commit =
            self.staging.write_commit(&NewCommit { tree, parents: &[], author: &author, time, message })?;
        self.set(commands, name, None, Some(commit))?;
        Ok(Some(commit))
    }

    /// A commit with the package's folder replaced on top of another commit, by whoever asks.
    fn content(
        &mut self,
        parent: ObjectId,
        path: &SafePath,
        content: &Package,
        message: &str,
    ) -> Result<ObjectId, Unstaged> {
        let made = Made { author: self.author, time: self.time };
        self.content_by(made, parent, path, content, message)
    }

    /// The same, by somebody else.
    pub(super) fn content_by(
        &mut self,
        Made { author, time }: Made<'_>,
        parent: ObjectId,
        path: &SafePath,
        content: &Package,
        message: &str,
    ) -> Result<ObjectId, Unstaged> {
        let kptfile = "Kptfile".parse::<SafePath>().map_err(|cause| Failure::Damaged(cause.to_string()))?;
        if content.get(&kptfile).is_none_or(|file: &File| file.mode() == lanai_krm::package::Mode::Symlink) {
            return Err(Conflict::NoKptfile { path: path.to_string() }.into());
        }
        let base = self.staging.commit(parent)?.tree;
        self.check_way(parent, base, path)?;
        self.staging.know(base, path);
        let folder = self.staging.write_package(content)?;
        let tree = self.staging.replace(base, path, Some(folder))?;
        let parents = &[parent];
        Ok(self.staging.write_commit(&NewCommit { tree, parents, author, time, message })?)
    }

    /// Files of somebody else are not ours to replace.
    fn check_way(&self, commit: ObjectId, root: ObjectId, path: &SafePath) -> Result<(), Unstaged> {
        match self.staging.in_the_way(root, path)? {
            Some(other) => {
                let commit = CommitId::new(our_id(commit));
                Err(Conflict::Occupied { path: path.to_string(), other, commit }.into())
            }
            None => Ok(()),
        }
    }

    pub(super) fn annotation(
        &self,
        package: &PackageName,
        workspace: &WorkspaceName,
        number: i64,
        task: Option<&Value>,
    ) -> Annotation {
        Annotation {
            package: self.layout.path(package),
            workspace_name: workspace.to_string(),
            revision: number.to_string(),
            task: task.cloned(),
        }
    }

    fn save(&mut self, save: &Save, commands: &mut Vec<Command>) -> Result<ObjectId, Unstaged> {
        let parent = match save.expected {
            Some(expected) => git_id(expected.object_id())?,
            None => self.head()?,
        };
        let (package, workspace) = (save.package.clone(), save.workspace.clone());
        let at = save.expected.unwrap_or(CommitId::new(our_id(parent)));
        let name = self.branch(&Place { package, workspace, stage: save.stage, at })?;
        let old = save.expected.map(|expected| expected.object_id());
        self.expect(&name, old)?;
        let annotation = self.annotation(&save.package, &save.workspace, 0, save.task.as_ref());
        let message = message::draft(&save.event, &annotation);
        let commit = self.content(parent, &self.path(&save.package)?, &save.content, &message)?;
        self.set(commands, name, old, Some(commit))?;
        Ok(commit)
    }

    fn publish(
        &mut self,
        publish: &Publish,
        commands: &mut Vec<Command>,
    ) -> Result<(ObjectId, RevisionNumber), Unstaged> {
        let (package, workspace) = (&publish.package, &publish.workspace);
        let path = self.path(package)?;
        let head = self.head()?;
        let (draft, branch) = match &publish.source {
            Source::Branch { stage, at } => (git_id(at.object_id())?, Some((*stage, *at))),
            Source::Content(new) => {
                let NewContent { content, event, task, branch } = &**new;
                let annotation = self.annotation(package, workspace, 0, task.as_ref());
                let message = message::draft(event, &annotation);
                (self.content(head, &path, content, &message)?, *branch)
            }
            Source::Versions(all) => {
                let parent = match all.branch {
                    Some((_, at)) => git_id(at.object_id())?,
                    None => head,
                };
                (self.versions(parent, package, workspace, &all.versions)?, all.branch)
            }
        };
        if let Some((stage, at)) = branch {
            let name =
                self.branch(&Place { package: package.clone(), workspace: workspace.clone(), stage, at })?;
            self.set(commands, name, Some(at.object_id()), None)?;
        }
        let root = self.staging.commit(draft)?.tree;
        let folder = self.staging.folder(root, &path)?.ok_or_else(|| Conflict::NoPackage {
            commit: CommitId::new(our_id(draft)),
            path: path.to_string(),
        })?;
        let number = self.number(publish)?;
        let annotation = self.annotation(package, workspace, number.get(), None);
        let main = self.staging.commit(head)?.tree;
        self.check_way(head, main, &path)?;
        let tree = self.staging.replace(main, &path, Some(folder))?;
        let message = message::approve(&annotation);
        let (author, time, parents) = (self.author, self.time, [head, draft]);
        let new = NewCommit { tree, parents: &parents, author, time, message: &message };
        let commit = self.staging.write_commit(&new)?;
        let tag = self.tag(package, &format!("v{number}"))?;
        self.set(commands, tag, None, Some(commit))?;
        self.move_main(commands, head, commit)?;
        Ok((commit, number))
    }

    /// One more than all that were ever seen, and not taken.
    fn number(&self, publish: &Publish) -> Result<RevisionNumber, Conflict> {
        let path = self.layout.path(&publish.package);
        let mut highest = publish.highest_seen.max(self.line.highest(&path)).max(0);
        let start: Option<RefName> = format!("refs/tags/{path}/0").parse().ok();
        let prefix = format!("refs/tags/{path}/");
        let tags = start.into_iter().flat_map(|start| {
            // The least name below the folder of the package's tags; names before it have other beginnings.
            self.refs.range(start..).map(|(name, _)| name)
        });
        for name in tags.take_while(|name| name.as_str().starts_with(&prefix)) {
            if let Meaning::Tag(place) = self.layout.meaning(name)
                && place.package == publish.package
            {
                highest = highest.max(number_of(&place.last).get());
            }
        }
        let next = highest.checked_add(1).and_then(|next| RevisionNumber::try_from(next).ok());
        next.ok_or(Conflict::NoNumber { path })
    }

    fn remove_mark(
        &mut self,
        commands: &mut Vec<Command>,
        package: &PackageName,
        last: &str,
    ) -> Result<(), Unstaged> {
        let name = self.mark(package, last)?;
        match self.refs.get(&name).copied() {
            Some(at) => self.set(commands, name, Some(our_id(at)), None),
            None => Ok(()),
        }
    }

    fn delete_placeholder(
        &mut self,
        package: &PackageName,
        commands: &mut Vec<Command>,
    ) -> Result<(), Unstaged> {
        let head = self.head()?;
        let path = self.path(package)?;
        let main = self.staging.commit(head)?.tree;
        if self.staging.folder(main, &path)?.is_none() {
            let (commit, path) = (CommitId::new(our_id(head)), path.to_string());
            return Err(Conflict::NoPackage { commit, path }.into());
        }
        let tree = self.staging.replace(main, &path, None)?;
        let message = message::delete(path.as_str());
        let (author, time, parents) = (self.author, self.time, [head]);
        let new = NewCommit { tree, parents: &parents, author, time, message: &message };
        let commit = self.staging.write_commit(&new)?;
        self.move_main(commands, head, commit)?;
        self.remove_mark(commands, package, &self.layout.placeholder())
    }
}
