//! What a repository holds: one fact for each package revision.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use gix_hash::ObjectId;
use gix_object::Kind;
use lanai_krm::kptfile::Kptfile;
use lanai_types::{
    CommitId, Lifecycle, PackageName, RefName, RevisionNumber, SafePath, TreeId, WorkspaceName,
};
use serde_json::Value;

use super::history::{History, MainLine};
use super::layout::{Layout, Meaning, number_of};
use super::nodes;
use super::objects::Objects;
use super::person::Person;
use super::refs::{Refs, Tip};
use crate::tree::{Failure, our_id};

/// One package revision, as Git has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// The package, without the directory of its repository.
    pub package: PackageName,
    /// The workspace. For a placeholder, the name of the branch, with `-` for slashes.
    pub workspace: WorkspaceName,
    /// The number.
    pub revision: RevisionNumber,
    /// Where it is in its life.
    pub lifecycle: Lifecycle,
    /// The ref that it was found at.
    pub ref_name: RefName,
    /// The commit. For a placeholder, the one that published it, or else the head of the branch.
    pub commit: CommitId,
    /// The content.
    pub tree: TreeId,
    /// What its Kptfile says.
    pub kptfile: Arc<KptfileFacts>,
    /// Who made the commit.
    pub author: Person,
    /// When, in seconds since 1970.
    pub time: i64,
    /// The tasks that made the content, the oldest first.
    pub tasks: Arc<[Value]>,
}

/// What a Kptfile says.
#[derive(Clone, Debug, PartialEq)]
pub enum KptfileFacts {
    /// It could be read.
    Read(Box<lanai_krm::kptfile::Fields>),
    /// It could not, and why. The revision is there all the same.
    Unreadable(String),
}

/// All that a repository holds at one moment: a function of its refs, trees and commits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// The revisions, by ref; placeholders by the branch and their package.
    pub revisions: Vec<Arc<Found>>,
    /// What looks like a revision and is none.
    pub problems: Vec<Problem>,
}

/// Something that looks like a revision and is none. It hides no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub ref_name: RefName,
    /// What is wrong.
    pub why: String,
}

/// What was learnt for an earlier snapshot and is still true.
#[derive(Default)]
pub(crate) struct Knowledge {
    /// Folders: the Kptfile in them, if there is one.
    kptfiles_in: HashMap<ObjectId, Option<ObjectId>>,
    /// Kptfiles by their content, with their sizes.
    kptfiles: HashMap<ObjectId, (Arc<KptfileFacts>, u64)>,
    /// The sizes of all of them together.
    kptfile_bytes: u64,
    /// Folders that are no packages: the packages below.
    below: HashMap<ObjectId, Arc<Vec<Below>>>,
    /// How many there are in all of these folders.
    below_len: usize,
    /// Revisions by ref.
    by_ref: HashMap<RefName, Known>,
    /// Placeholders by package.
    placeholders: HashMap<String, Arc<Found>>,
    pub(crate) main_line: MainLine,
}

#[derive(Clone)]
struct Below {
    path: String,
    tree: ObjectId,
}

struct Known {
    tip: Tip,
    lifecycle: Lifecycle,
    found: Option<Arc<Found>>,
    problem: Option<String>,
}

/// How the names of marks begin.
const MARKS: &str = "refs/heads/deletionProposed/";

/// The most packages that one branch may hold.
const MAX_PACKAGES: usize = 100_000;

/// The most bytes of Kptfiles that are known of one repository: those beyond are not read.
const MAX_KPTFILES: u64 = 64 * 1024 * 1024;

/// The longest path that is looked at for a package, in bytes. Names that are longer are those of none.
const MAX_PATH: usize = 1024;

/// How many things more than there are now may be remembered.
const MAX_SURPLUS: usize = 20_000;

/// How deep folders are looked into for packages.
const MAX_DEPTH: usize = 32;

impl Knowledge {
    /// Forgets what was learnt of things that are gone, when there is much of it. What is needed again is learnt again.
    fn forget(&mut self, revisions: usize) {
        let most = revisions.saturating_mul(4).saturating_add(MAX_SURPLUS);
        if self.below_len > most {
            self.below.clear();
            self.below_len = 0;
        }
        if self.kptfiles_in.len() > most {
            self.kptfiles_in.clear();
        }
        if self.kptfiles.len() > most || self.kptfile_bytes > MAX_KPTFILES / 2 {
            // Those of revisions that are there are held by them as well.
            self.kptfiles.retain(|_, (facts, _)| Arc::strong_count(facts) > 1);
            self.kptfile_bytes = self.kptfiles.values().map(|(_, size)| size).sum();
        }
    }
}

/// One look at a repository.
pub(crate) struct Look<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) refs: &'a Refs,
    pub(crate) objects: &'a Objects,
    pub(crate) history: &'a History,
    pub(crate) max_file: u64,
}

impl Look<'_> {
    pub(crate) fn snapshot(&self, knowledge: &mut Knowledge) -> Result<Snapshot, Failure> {
        let mut snapshot = Snapshot::default();
        let mut by_ref = HashMap::with_capacity(self.refs.len());
        let has_marks = self.refs.tips.keys().any(|name| name.as_str().starts_with(MARKS));
        for (name, tip) in &self.refs.tips {
            // Most refs are as they were; where there are no marks, that is all there is to know.
            let is_same = |known: &Known| known.tip == *tip && known.lifecycle != Lifecycle::DeletionProposed;
            if !has_marks && knowledge.by_ref.get(name).is_some_and(is_same) {
                let Some((name, known)) = knowledge.by_ref.remove_entry(name) else { continue };
                snapshot.revisions.extend(known.found.clone());
                let problem = known.problem.clone().map(|why| Problem { ref_name: name.clone(), why });
                snapshot.problems.extend(problem);
                by_ref.insert(name, known);
                continue;
            }
            let lifecycle = match self.layout.meaning(name) {
                Meaning::Main => {
                    match self.placeholders(knowledge, name, *tip, &mut snapshot) {
                        Err(Failure::Bad(why)) => {
                            snapshot.problems.push(Problem { ref_name: name.clone(), why });
                        }
                        done => done?,
                    }
                    continue;
                }
                Meaning::Foreign | Meaning::DeletionMark(_) => continue,
                Meaning::Odd(why) => {
                    snapshot.problems.push(Problem { ref_name: name.clone(), why });
                    continue;
                }
                Meaning::Draft(_) => Lifecycle::Draft,
                Meaning::Proposed(_) => Lifecycle::Proposed,
                Meaning::Tag(place) => self.published(&place.package, &place.last),
            };
            let known = knowledge.by_ref.remove(name);
            let known = known.filter(|known| known.tip == *tip && known.lifecycle == lifecycle);
            let known = match known {
                Some(known) => known,
                None => match self.revision(knowledge, name, *tip, lifecycle) {
                    // It is no revision, and hides no other.
                    Err(Failure::Bad(why)) => Known { tip: *tip, lifecycle, found: None, problem: Some(why) },
                    found => found?,
                },
            };
            snapshot.revisions.extend(known.found.clone());
            let problem = known.problem.clone().map(|why| Problem { ref_name: name.clone(), why });
            snapshot.problems.extend(problem);
            by_ref.insert(name.clone(), known);
        }
        knowledge.by_ref = by_ref;
        knowledge.forget(snapshot.revisions.len());
        Ok(snapshot)
    }

    /// Published, unless there is a mark.
    fn published(&self, package: &PackageName, last: &str) -> Lifecycle {
        let number = number_of(last);
        let mark = number.tag().unwrap_or_else(|| last.to_owned());
        let is_marked = format!("refs/heads/deletionProposed/{}/{mark}", self.layout.path(package)).parse();
        let is_marked = is_marked.is_ok_and(|name: RefName| self.refs.tips.contains_key(&name));
        if is_marked { Lifecycle::DeletionProposed } else { Lifecycle::Published }
    }

    fn revision(
        &self,
        knowledge: &mut Knowledge,
        name: &RefName,
        tip: Tip,
        lifecycle: Lifecycle,
    ) -> Result<Known, Failure> {
        let none = |why: Option<&str>| Known { tip, lifecycle, found: None, problem: why.map(str::to_owned) };
        let (package, last) = match self.layout.meaning(name) {
            Meaning::Draft(place) | Meaning::Proposed(place) => (place.package, place.last.to_string()),
            Meaning::Tag(place) => (place.package, place.last),
            Meaning::Main | Meaning::Foreign | Meaning::DeletionMark(_) | Meaning::Odd(_) => {
                return Ok(none(None));
            }
        };
        let Some(commit) = self.history.get(tip.commit) else {
            return Ok(none(Some("it leads to no commit")));
        };
        let path = self.layout.path(&package);
        let Some(tree) = self.folder(commit.tree, &path)? else {
            return Ok(none(lifecycle.is_published().then_some("its commit has no such folder")));
        };
        let Some(kptfile) = self.kptfile(knowledge, tree)? else {
            // Porch passes by branches without a Kptfile in silence.
            return Ok(none(lifecycle.is_published().then_some("its folder has no Kptfile")));
        };
        let revision = match lifecycle {
            Lifecycle::Draft | Lifecycle::Proposed => RevisionNumber::UNPUBLISHED,
            Lifecycle::Published | Lifecycle::DeletionProposed => number_of(&last),
        };
        let workspace = match lifecycle {
            Lifecycle::Draft | Lifecycle::Proposed => last.clone(),
            Lifecycle::Published | Lifecycle::DeletionProposed => workspace(commit, &path, revision, &last),
        };
        let Ok(workspace) = WorkspaceName::imported(&workspace) else {
            return Ok(none(Some("its last part is no name of a workspace")));
        };
        let life = self.history.life(tip.commit, &path, workspace.as_str());
        let found = Found {
            package,
            revision,
            lifecycle,
            ref_name: name.clone(),
            commit: CommitId::new(our_id(tip.commit)),
            tree: TreeId::new(our_id(tree)),
            kptfile,
            author: commit.author.clone(),
            time: commit.time,
            tasks: self.tasks(&life, &path, workspace.as_str()),
            workspace,
        };
        Ok(Known { tip, lifecycle, found: Some(Arc::new(found)), problem: None })
    }

    fn tasks(&self, life: &[ObjectId], path: &str, workspace: &str) -> Arc<[Value]> {
        let commits = life.iter().rev().filter_map(|id| self.history.get(*id));
        let annotations = commits.flat_map(|commit| &commit.annotations.read);
        let ours = annotations.filter(|annotation| annotation.is_about(path, workspace));
        ours.filter_map(|annotation| annotation.task.clone()).collect()
    }

    fn folder(&self, root: ObjectId, path: &str) -> Result<Option<ObjectId>, Failure> {
        let Ok(path) = path.parse::<SafePath>() else { return Ok(None) };
        super::staging::Staging::new(self.objects).folder(root, &path)
    }

    /// What the Kptfile of a folder says; `None` where there is none.
    fn kptfile(
        &self,
        knowledge: &mut Knowledge,
        tree: ObjectId,
    ) -> Result<Option<Arc<KptfileFacts>>, Failure> {
        let Some(id) = self.kptfile_in(knowledge, tree)? else { return Ok(None) };
        if let Some((known, _)) = knowledge.kptfiles.get(&id) {
            return Ok(Some(Arc::clone(known)));
        }
        let size = self.objects.header(id)?.ok_or(Failure::Missing)?.size;
        let all = knowledge.kptfile_bytes.saturating_add(size);
        let facts = if size > self.max_file {
            KptfileFacts::Unreadable(format!("it has {size} bytes"))
        } else if all > MAX_KPTFILES {
            let why = format!("the Kptfiles of the repository have more than {MAX_KPTFILES} bytes together");
            return Ok(Some(Arc::new(KptfileFacts::Unreadable(why))));
        } else {
            knowledge.kptfile_bytes = all;
            let data = self.objects.node(id, Kind::Blob)?;
            match std::str::from_utf8(&data).map(Kptfile::parse) {
                Ok(Ok(kptfile)) => KptfileFacts::Read(Box::new(kptfile.fields().clone())),
                Ok(Err(cause)) => KptfileFacts::Unreadable(cause.to_string()),
                Err(_) => KptfileFacts::Unreadable("it is not UTF-8".to_owned()),
            }
        };
        let facts = Arc::new(facts);
        let size = if size > self.max_file { 0 } else { size };
        knowledge.kptfiles.insert(id, (Arc::clone(&facts), size));
        Ok(Some(facts))
    }

    fn kptfile_in(&self, knowledge: &mut Knowledge, tree: ObjectId) -> Result<Option<ObjectId>, Failure> {
        if let Some(known) = knowledge.kptfiles_in.get(&tree) {
            return Ok(*known);
        }
        let entries = self.entries(tree)?;
        let found =
            entries.iter().find(|entry| entry.name == b"Kptfile" && entry.is_file()).map(|entry| entry.id);
        knowledge.kptfiles_in.insert(tree, found);
        Ok(found)
    }

    fn entries(&self, tree: ObjectId) -> Result<Vec<nodes::Entry>, Failure> {
        let data = self.objects.node(tree, Kind::Tree)?;
        nodes::entries(&data).ok_or_else(|| Failure::Bad(format!("tree {tree} cannot be read")))
    }

    /// The packages of the branch. One whose content did not change since it was published is at that commit.
    fn placeholders(
        &self,
        knowledge: &mut Knowledge,
        name: &RefName,
        tip: Tip,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        let Some(head) = self.history.get(tip.commit) else {
            snapshot
                .problems
                .push(Problem { ref_name: name.clone(), why: "it leads to no commit".to_owned() });
            return Ok(());
        };
        knowledge.main_line.follow(self.history, Some(tip.commit));
        let root = match &self.layout.directory {
            lanai_krm::package::Folder::Root => Some(head.tree),
            lanai_krm::package::Folder::At(path) => self.folder(head.tree, path.as_str())?,
        };
        let below = match root {
            Some(root) => self.below(knowledge, root, 0)?,
            None => Arc::default(),
        };
        let workspace = WorkspaceName::imported(self.layout.branch.as_str());
        let workspace =
            workspace.or_else(|_| WorkspaceName::imported(&self.layout.branch.as_str().replace('/', "-")));
        let Ok(workspace) = workspace else {
            snapshot
                .problems
                .push(Problem { ref_name: name.clone(), why: "it is no name of a workspace".to_owned() });
            return Ok(());
        };
        let mut placeholders = HashMap::with_capacity(below.len());
        for found in below.iter() {
            let Ok(package) = PackageName::imported(&found.path) else {
                let why = format!("folder \"{}\" is no name of a package", found.path);
                snapshot.problems.push(Problem { ref_name: name.clone(), why });
                continue;
            };
            let path = self.layout.path(&package);
            let at = self.published_at(knowledge, &path, found.tree)?.unwrap_or(tip.commit);
            let mark = self.layout.deletion_mark(&package, self.layout.branch.as_str());
            let is_marked = mark.is_some_and(|mark| self.refs.tips.contains_key(&mark));
            let lifecycle = if is_marked { Lifecycle::DeletionProposed } else { Lifecycle::Published };
            let (commit, tree) = (CommitId::new(our_id(at)), TreeId::new(our_id(found.tree)));
            let known = knowledge
                .placeholders
                .get(&found.path)
                .filter(|known| known.commit == commit && known.tree == tree && known.lifecycle == lifecycle);
            let placeholder = if let Some(known) = known {
                Arc::clone(known)
            } else {
                let Some(kptfile) = self.kptfile(knowledge, found.tree)? else { continue };
                let author = self.history.get(at).unwrap_or(head);
                Arc::new(Found {
                    package,
                    workspace: workspace.clone(),
                    revision: RevisionNumber::UNNUMBERED,
                    lifecycle,
                    ref_name: name.clone(),
                    commit,
                    tree,
                    kptfile,
                    author: author.author.clone(),
                    time: author.time,
                    tasks: Arc::default(),
                })
            };
            placeholders.insert(found.path.clone(), Arc::clone(&placeholder));
            snapshot.revisions.push(placeholder);
        }
        knowledge.placeholders = placeholders;
        Ok(())
    }

    /// The commit that published exactly this content last.
    fn published_at(
        &self,
        knowledge: &Knowledge,
        path: &str,
        tree: ObjectId,
    ) -> Result<Option<ObjectId>, Failure> {
        let Some(id) = knowledge.main_line.latest(path) else { return Ok(None) };
        let relative = path;
        // Known from before: its folder was compared then.
        let key = match &self.layout.directory {
            lanai_krm::package::Folder::Root => relative,
            lanai_krm::package::Folder::At(directory) => relative
                .strip_prefix(directory.as_str())
                .map_or(relative, |rest| rest.trim_start_matches('/')),
        };
        let is_known = knowledge.placeholders.get(key).is_some_and(|known| {
            known.commit == CommitId::new(our_id(id)) && known.tree == TreeId::new(our_id(tree))
        });
        if is_known {
            return Ok(Some(id));
        }
        let Some(commit) = self.history.get(id) else { return Ok(None) };
        let published = self.folder(commit.tree, path)?;
        Ok((published == Some(tree)).then_some(id))
    }

    /// The packages below a folder, with their paths. A package's own folders belong to it.
    fn below(
        &self,
        knowledge: &mut Knowledge,
        tree: ObjectId,
        depth: usize,
    ) -> Result<Arc<Vec<Below>>, Failure> {
        if let Some(known) = knowledge.below.get(&tree) {
            return Ok(Arc::clone(known));
        }
        let mut all = BTreeMap::new();
        for entry in self.entries(tree)?.into_iter().filter(nodes::Entry::is_tree) {
            let Ok(name) = String::from_utf8(entry.name) else { continue };
            if name.len() > MAX_PATH {
                continue;
            }
            if self.kptfile_in(knowledge, entry.id)?.is_some() {
                all.insert(name, entry.id);
                continue;
            }
            if depth >= MAX_DEPTH {
                continue;
            }
            for found in self.below(knowledge, entry.id, depth + 1)?.iter() {
                if name.len() + found.path.len() < MAX_PATH {
                    all.insert(format!("{name}/{}", found.path), found.tree);
                }
            }
            if all.len() > MAX_PACKAGES {
                return Err(Failure::Bad(format!("a branch has more than {MAX_PACKAGES} packages")));
            }
        }
        let all: Vec<_> = all.into_iter().map(|(path, tree)| Below { path, tree }).collect();
        let all = Arc::new(all);
        // The folder that holds everything is another one after each change, and the largest.
        if depth > 0 && knowledge.below_len <= 2 * MAX_PACKAGES {
            knowledge.below_len += all.len() + 1;
            knowledge.below.insert(tree, Arc::clone(&all));
        }
        Ok(all)
    }
}

/// The workspace that the commit of a tag names for the package and number, or else what the tag says.
fn workspace(commit: &nodes::Commit, path: &str, revision: RevisionNumber, last: &str) -> String {
    let named = commit.annotations.read.iter().find(|annotation| {
        let is_number = annotation.number().is_none_or(|number| number == revision.get());
        annotation.package == path && is_number && !annotation.workspace_name.is_empty()
    });
    match named {
        Some(annotation) => annotation.workspace_name.clone(),
        None => revision.tag().unwrap_or_else(|| last.to_owned()),
    }
}
