//! Objects that are made in memory, on top of those of a repository.

use std::collections::BTreeMap;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gix_hash::ObjectId;
use gix_object::Kind;
use lanai_krm::Package;
use lanai_types::SafePath;

use super::nodes::{self, Entry, NewCommit, TREE};
use super::objects::Objects;
use crate::tree::Failure;

/// New objects. Dropping them undoes everything.
pub(crate) struct Staging<'a> {
    base: &'a Objects,
    order: Vec<ObjectId>,
    /// What the remote has for certain, since refs that it showed lead there. That something is in the mirror says less:
    /// the remote may have pruned it, or be another one under the same address.
    known: HashSet<ObjectId>,
    new: HashMap<ObjectId, (Kind, Arc<[u8]>)>,
}

/// A folder that is being written.
#[derive(Default)]
struct Writing {
    files: BTreeMap<String, (Vec<u8>, ObjectId)>,
    folders: BTreeMap<String, Writing>,
}

impl<'a> Staging<'a> {
    pub(crate) fn new(base: &'a Objects) -> Self {
        Self { base, order: Vec::new(), known: HashSet::new(), new: HashMap::new() }
    }

    /// The new objects, those that others lead to first.
    pub(crate) fn objects(&self) -> impl ExactSizeIterator<Item = (Kind, &[u8])> {
        self.order.iter().rev().map(|id| {
            let (kind, data) = &self.new[id];
            (*kind, data.as_ref())
        })
    }

    /// Forgets what was made after there were so many.
    pub(crate) fn truncate(&mut self, len: usize) {
        for id in self.order.drain(len.min(self.order.len())..) {
            self.new.remove(&id);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    fn add(&mut self, kind: Kind, data: Vec<u8>) -> Result<ObjectId, Failure> {
        let id = gix_object::compute_hash(gix_hash::Kind::Sha1, kind, &data);
        let id = id.map_err(|cause| Failure::Damaged(crate::error::chain(&cause)))?;
        if !self.new.contains_key(&id) && !self.known.contains(&id) {
            self.order.push(id);
            self.new.insert(id, (kind, data.into()));
        }
        Ok(id)
    }

    pub(crate) fn node(&self, id: ObjectId, kind: Kind) -> Result<Arc<[u8]>, Failure> {
        match self.new.get(&id) {
            Some((found, data)) if *found == kind => Ok(Arc::clone(data)),
            Some(_) => Err(Failure::Damaged(format!("{id} is no {kind}"))),
            None => self.base.node(id, kind),
        }
    }

    /// What a tag object is about.
    pub(crate) fn peeled(&self, id: ObjectId) -> Option<ObjectId> {
        nodes::peeled(self.base, id)
    }

    pub(crate) fn commit(&self, id: ObjectId) -> Result<nodes::Commit, Failure> {
        let data = self.node(id, Kind::Commit)?;
        nodes::commit(&data).ok_or_else(|| Failure::Bad(format!("commit {id} cannot be read")))
    }

    pub(crate) fn write_commit(&mut self, commit: &NewCommit<'_>) -> Result<ObjectId, Failure> {
        self.add(Kind::Commit, commit.bytes())
    }

    pub(crate) fn write_blob(&mut self, content: &[u8]) -> Result<ObjectId, Failure> {
        self.add(Kind::Blob, content.to_vec())
    }

    /// The tree of a package, with modes and links as they are.
    pub(crate) fn write_package(&mut self, package: &Package) -> Result<ObjectId, Failure> {
        let mut root = Writing::default();
        for (path, file) in package.iter() {
            let id = self.add(Kind::Blob, file.content().to_vec())?;
            let mut at = &mut root;
            let mut names: Vec<_> = path.components().collect();
            let Some(last) = names.pop() else { continue };
            for name in names {
                at = at.folders.entry(name.to_owned()).or_default();
            }
            at.files.insert(last.to_owned(), (file.mode().git().as_bytes().to_vec(), id));
        }
        self.write_folder(root)
    }

    fn write_folder(&mut self, folder: Writing) -> Result<ObjectId, Failure> {
        let mut entries = Vec::new();
        for (name, (mode, id)) in folder.files {
            entries.push(Entry { mode, name: name.into_bytes(), id });
        }
        for (name, below) in folder.folders {
            let id = self.write_folder(below)?;
            entries.push(Entry { mode: TREE.to_vec(), name: name.into_bytes(), id });
        }
        self.write_tree(entries)
    }

    pub(crate) fn write_tree(&mut self, entries: Vec<Entry>) -> Result<ObjectId, Failure> {
        self.add(Kind::Tree, nodes::tree(entries))
    }

    /// Notes that the remote has a folder with all that is in it, and the folders on the way to it. What cannot be read is
    /// sent again, which harms nobody.
    pub(crate) fn know(&mut self, root: ObjectId, path: &SafePath) {
        let mut at = root;
        for name in path.components() {
            self.known.insert(at);
            let Ok(entries) = self.entries(at) else { return };
            let found = entries.into_iter().find(|entry| entry.name == name.as_bytes() && entry.is_tree());
            let Some(entry) = found else { return };
            at = entry.id;
        }
        let mut waiting = vec![at];
        while let Some(tree) = waiting.pop() {
            if !self.known.insert(tree) {
                continue;
            }
            for entry in self.entries(tree).unwrap_or_default() {
                if entry.is_tree() {
                    waiting.push(entry.id);
                } else {
                    self.known.insert(entry.id);
                }
            }
        }
    }

    /// What is no folder where one would have to be on the way to a path, or at its end.
    pub(crate) fn in_the_way(&self, root: ObjectId, path: &SafePath) -> Result<Option<String>, Failure> {
        let mut at = root;
        let mut walked = String::new();
        for name in path.components() {
            walked.push_str(if walked.is_empty() { "" } else { "/" });
            walked.push_str(name);
            let entries = self.entries(at)?;
            match entries.into_iter().find(|entry| entry.name == name.as_bytes()) {
                None => return Ok(None),
                Some(entry) if entry.is_tree() => at = entry.id,
                Some(_) => return Ok(Some(walked)),
            }
        }
        Ok(None)
    }

    pub(crate) fn entries(&self, tree: ObjectId) -> Result<Vec<Entry>, Failure> {
        let data = self.node(tree, Kind::Tree)?;
        nodes::entries(&data).ok_or_else(|| Failure::Bad(format!("tree {tree} cannot be read")))
    }

    /// The folder at a path; `None` where there is none.
    pub(crate) fn folder(&self, root: ObjectId, path: &SafePath) -> Result<Option<ObjectId>, Failure> {
        let mut at = root;
        for name in path.components() {
            let data = self.node(at, Kind::Tree)?;
            let found = nodes::folder_in(&data, name.as_bytes());
            match found.map_err(|_| Failure::Bad(format!("tree {at} cannot be read")))? {
                Some(below) => at = below,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// The tree with the folder at a path replaced or, with `None`, removed. Everything beside the path stays as it is;
    /// folders that become empty go.
    pub(crate) fn replace(
        &mut self,
        root: ObjectId,
        path: &SafePath,
        folder: Option<ObjectId>,
    ) -> Result<ObjectId, Failure> {
        let names: Vec<_> = path.components().map(str::to_owned).collect();
        let new = self.replace_below(Some(root), &names, folder)?;
        match new {
            Some(tree) => Ok(tree),
            None => self.write_tree(Vec::new()),
        }
    }

    fn replace_below(
        &mut self,
        tree: Option<ObjectId>,
        names: &[String],
        folder: Option<ObjectId>,
    ) -> Result<Option<ObjectId>, Failure> {
        let Some((name, rest)) = names.split_first() else { return Ok(folder) };
        let mut entries = match tree {
            Some(tree) => self.entries(tree)?,
            None => Vec::new(),
        };
        let at = entries.iter().position(|entry| entry.name == name.as_bytes());
        let below = at.filter(|at| entries[*at].is_tree()).map(|at| entries[at].id);
        let new = self.replace_below(below, rest, folder)?;
        if at.is_some() && below.is_none() && new.is_none() {
            // A file of that name is not ours to remove.
            return Ok(tree);
        }
        entries.retain(|entry| entry.name != name.as_bytes());
        entries.extend(new.map(|id| Entry { mode: TREE.to_vec(), name: name.clone().into_bytes(), id }));
        if entries.is_empty() {
            return Ok(None);
        }
        self.write_tree(entries).map(Some)
    }

    /// The new commits.
    pub(crate) fn commits(&self) -> Vec<ObjectId> {
        self.order.iter().copied().filter(|id| self.new[id].0 == Kind::Commit).collect()
    }

    /// These commits with their trees and files, as far as the trees of their parents do not have them.
    pub(crate) fn with_content(&self, commits: &[ObjectId]) -> Result<Found, Failure> {
        let mut found = Found::new();
        for id in commits {
            let commit = self.commit(*id)?;
            found.insert(*id, (Kind::Commit, self.node(*id, Kind::Commit)?));
            // What the parents have is either with the remote or among these commits as well.
            let mut known = Vec::new();
            for parent in &commit.parents {
                known.push(self.commit(*parent)?.tree);
            }
            self.add_tree(commit.tree, &known, &mut found)?;
        }
        Ok(found)
    }

    fn add_tree(&self, tree: ObjectId, known: &[ObjectId], found: &mut Found) -> Result<(), Failure> {
        if known.contains(&tree) || found.contains_key(&tree) {
            return Ok(());
        }
        let mut beside = Vec::new();
        for known in known {
            beside.push(self.entries(*known)?);
        }
        found.insert(tree, (Kind::Tree, self.node(tree, Kind::Tree)?));
        for entry in self.entries(tree)? {
            let same = beside.iter().flatten().filter(|other| other.name == entry.name);
            let same: Vec<_> = same.map(|other| other.id).collect();
            if same.contains(&entry.id) {
                continue;
            }
            if entry.is_tree() {
                let folders =
                    beside.iter().flatten().filter(|other| other.name == entry.name && other.is_tree());
                let folders: Vec<_> = folders.map(|other| other.id).collect();
                self.add_tree(entry.id, &folders, found)?;
            } else if entry.mode != b"160000" {
                found.insert(entry.id, (Kind::Blob, self.node(entry.id, Kind::Blob)?));
            }
        }
        Ok(())
    }
}

/// Objects by id.
pub(crate) type Found = BTreeMap<ObjectId, (Kind, Arc<[u8]>)>;
