//! What is known of commits, walked once and then only as far as there is something new.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use gix_hash::ObjectId;
use lanai_types::ByteSize;

use super::nodes::{self, Commit};
use super::objects::Objects;
use crate::tree::Failure;
use crate::{Error, RemoteUrl};

/// Commits by id. What is in here never changes.
pub(crate) struct History {
    remote: RemoteUrl,
    limit: ByteSize,
    commits: HashMap<ObjectId, Arc<Commit>>,
    /// What they take, about.
    bytes: usize,
}

impl History {
    /// Nothing is known yet, and no more than the limit will ever be.
    pub(crate) fn new(remote: RemoteUrl, limit: ByteSize) -> Self {
        Self { remote, limit, commits: HashMap::new(), bytes: 0 }
    }

    pub(crate) fn get(&self, id: ObjectId) -> Option<&Arc<Commit>> {
        self.commits.get(&id)
    }

    /// Reads the commits that the tips lead to and that are not known yet. What is no commit is passed by.
    pub(crate) fn learn(
        &mut self,
        objects: &Objects,
        tips: impl IntoIterator<Item = ObjectId>,
    ) -> Result<(), Failure> {
        let mut wanted: Vec<_> = tips.into_iter().filter(|id| !self.commits.contains_key(id)).collect();
        // Known only together, so that a failure in the middle does not leave commits whose parents are unknown.
        let mut new = HashMap::new();
        let mut bytes = self.bytes;
        while let Some(id) = wanted.pop() {
            if new.contains_key(&id) || self.commits.contains_key(&id) {
                continue;
            }
            let Some(data) = objects.commit(id)? else { continue };
            let commit = nodes::commit(&data);
            let commit = commit.ok_or_else(|| Failure::Bad(format!("commit {id} cannot be read")))?;
            bytes = bytes.saturating_add(commit.weight());
            if !self.limit.admits(bytes) {
                let (remote, limit) = (self.remote.clone(), self.limit);
                return Err(Failure::Other(Error::TooMuch { remote, limit, name: "max_history" }));
            }
            wanted.extend(&commit.parents);
            new.insert(id, Arc::new(commit));
        }
        self.commits.extend(new);
        self.bytes = bytes;
        Ok(())
    }

    /// Whether a commit can be reached from one of the tips. Those that nobody learnt reach nothing.
    pub(crate) fn reaches(&self, tips: impl IntoIterator<Item = ObjectId>, wanted: ObjectId) -> bool {
        let mut seen = HashSet::new();
        let mut waiting: Vec<_> = tips.into_iter().collect();
        while let Some(id) = waiting.pop() {
            if id == wanted {
                return true;
            }
            if !seen.insert(id) {
                continue;
            }
            waiting.extend(self.commits.get(&id).into_iter().flat_map(|commit| &commit.parents));
        }
        false
    }

    /// The commits of a revision's life before it, newest first: those that say they are about it, as far as they hang
    /// together, with at most `MAX_GAP` others between two of them.
    pub(crate) fn life(&self, from: ObjectId, path: &str, workspace: &str) -> Vec<ObjectId> {
        let mut life = Vec::new();
        let mut seen = HashSet::new();
        let mut waiting = vec![(from, 0)];
        while let Some((id, gap)) = waiting.pop() {
            let Some(commit) = self.commits.get(&id).filter(|_| seen.insert(id)) else { continue };
            let gap = if commit.annotations.read.iter().any(|found| found.is_about(path, workspace)) {
                life.push(id);
                0
            } else if gap < MAX_GAP && commit.annotations.read.is_empty() {
                gap + 1
            } else {
                continue;
            };
            waiting.extend(commit.parents.iter().map(|parent| (*parent, gap)));
        }
        life
    }
}

/// How many commits of others a draft may have in a row before its life is taken to begin there.
const MAX_GAP: usize = 16;

/// The published past of a branch: which commit published what last, and the highest number of each package.
#[derive(Default)]
pub(crate) struct MainLine {
    head: Option<ObjectId>,
    latest: HashMap<String, ObjectId>,
    highest: HashMap<String, i64>,
}

impl MainLine {
    /// The newest commit that was looked at.
    pub(crate) fn head(&self) -> Option<ObjectId> {
        self.head
    }

    /// Goes along first parents from the head to where the last walk began. Numbers only grow, also when a branch was
    /// moved back by force.
    pub(crate) fn follow(&mut self, history: &History, head: Option<ObjectId>) {
        if self.head == head {
            return;
        }
        let mut latest = HashMap::new();
        let mut next = head;
        while let Some(id) = next {
            if Some(id) == self.head {
                break;
            }
            let Some(commit) = history.get(id) else { break };
            for annotation in &commit.annotations.read {
                let Some(number) = annotation.number().filter(|number| *number > 0) else { continue };
                latest.entry(annotation.package.clone()).or_insert(id);
                self.saw(annotation.package.clone(), number);
            }
            next = commit.parents.first().copied();
        }
        // Where the old head was not met again, what it led to is not the past of the new one.
        if next != self.head || next.is_none() {
            self.latest.clear();
        }
        self.latest.extend(latest);
        self.head = head;
    }

    /// A number that was given to a package.
    pub(crate) fn saw(&mut self, path: String, number: i64) {
        let highest = self.highest.entry(path).or_default();
        *highest = number.max(*highest);
    }

    pub(crate) fn latest(&self, path: &str) -> Option<ObjectId> {
        self.latest.get(path).copied()
    }

    pub(crate) fn highest(&self, path: &str) -> i64 {
        self.highest.get(path).copied().unwrap_or(0)
    }
}
