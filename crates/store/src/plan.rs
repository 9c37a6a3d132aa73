//! What a batch of transactions does, decided without I/O.
//!
//! A back end loads what the batch touches into a [`World`], asks for the outcome of each transaction in turn, and writes the
//! [`Changes`] that have come together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use lanai_types::{FencingNumber, Sha256Digest};

use crate::error::Invalid;
use crate::lease::{Claim, Fence, Lease, LeaseName, Moment};
use crate::transaction::{Blob, Committed, Condition, Presence, Transaction};
use crate::watch::Record;
use crate::{Attribute, Attributes, Error, Key, Protection, Revision, Sort, Stored, Write};

/// What a batch needs to know of the store, and what it has changed so far.
#[derive(Debug, Default)]
pub(crate) struct World {
    /// The newest revision, with what the batch has written.
    pub(crate) head: u64,
    /// The newest fencing number.
    pub(crate) fence: u64,
    /// Numbers that are left out before the first one that the batch gives.
    pub(crate) fence_gap: u64,
    /// Each object that the batch touches; none for those that are not there, and an error for those that cannot be read: it is the error of
    /// the tasks that touch them, and of no others.
    pub(crate) objects: HashMap<Key, Result<Option<Arc<Stored>>, Error>>,
    /// Each blob that the batch names and that is there.
    pub(crate) blobs: BTreeSet<Sha256Digest>,
    /// Each lease that the batch touches and that somebody has.
    pub(crate) leases: BTreeMap<LeaseName, Lease>,
    /// What is to be written.
    pub(crate) changes: Changes,
}

/// What a batch writes.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    /// One record for each write.
    pub(crate) records: Vec<Record>,
    /// Blobs that are new.
    pub(crate) blobs: Vec<Blob>,
    /// Leases that were given or extended; none for those that were given back.
    pub(crate) leases: BTreeMap<LeaseName, Option<Lease>>,
    /// Leases that ended before this are forgotten, but for those above.
    pub(crate) forgotten: Option<Moment>,
}

impl Changes {
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.leases.is_empty()
    }
}

/// What is to be known before a batch can be decided.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    pub(crate) keys: BTreeSet<Key>,
    pub(crate) blobs: BTreeSet<Sha256Digest>,
    pub(crate) leases: BTreeSet<LeaseName>,
}

/// Something that a batch consists of.
#[derive(Debug, Clone)]
pub(crate) enum Task {
    Commit(Transaction),
    Acquire(Claim),
    Renew(Fence, Claim),
    Release(Fence),
}

impl Task {
    /// Bytes of values and blobs.
    pub(crate) fn weight(&self) -> usize {
        let Self::Commit(transaction) = self else { return 0 };
        let objects = transaction.writes.iter().filter_map(|write| write.object());
        let values = objects.map(|object| object.value.len());
        let blobs = transaction.blobs.iter().map(|blob| blob.content().len());
        values.chain(blobs).sum()
    }

    /// Objects and leases that it looks at or changes.
    pub(crate) fn touches(&self) -> usize {
        let Self::Commit(transaction) = self else { return 1 };
        transaction.conditions.len() + transaction.writes.len()
    }

    /// Content that it brings.
    pub(crate) fn blobs(&self) -> &[Blob] {
        let Self::Commit(transaction) = self else { return &[] };
        &transaction.blobs
    }

    /// The first object of it that is to be sealed.
    pub(crate) fn seals(&self) -> Option<&Key> {
        let Self::Commit(transaction) = self else { return None };
        let sealed =
            |write: &&Write| write.object().is_some_and(|object| object.protection == Protection::Sealed);
        transaction.writes.iter().find(sealed).map(Write::key)
    }
}

/// What came of a task.
#[derive(Debug)]
pub(crate) enum Outcome {
    Committed(Committed),
    Lease(Lease),
    Released,
}

impl Needs {
    pub(crate) fn of<'t>(tasks: impl IntoIterator<Item = &'t Task>) -> Self {
        let mut needs = Self::default();
        for task in tasks {
            needs.add(task);
        }
        needs
    }

    fn add(&mut self, task: &Task) {
        match task {
            Task::Commit(transaction) => self.add_transaction(transaction),
            Task::Acquire(claim) => drop(self.leases.insert(claim.lease.clone())),
            Task::Renew(fence, _) | Task::Release(fence) => drop(self.leases.insert(fence.lease.clone())),
        }
    }

    fn add_transaction(&mut self, transaction: &Transaction) {
        for condition in &transaction.conditions {
            match condition {
                Condition::Presence { key, .. } => drop(self.keys.insert(key.clone())),
                Condition::Holds(fence) => drop(self.leases.insert(fence.lease.clone())),
            }
        }
        for write in &transaction.writes {
            self.keys.insert(write.key().clone());
            self.blobs.extend(write.object().into_iter().flat_map(|object| &object.blobs));
        }
    }
}

impl World {
    /// Does a task, or says why not; then nothing has changed.
    pub(crate) fn step(&mut self, task: Task) -> Result<Outcome, Error> {
        match task {
            Task::Commit(transaction) => self.commit(transaction).map(Outcome::Committed),
            Task::Acquire(claim) => self.acquire(claim).map(Outcome::Lease),
            Task::Renew(fence, claim) => self.renew(&fence, claim).map(Outcome::Lease),
            Task::Release(fence) => {
                if self.check_fence(&fence).is_ok() {
                    self.leases.remove(&fence.lease);
                    self.changes.leases.insert(fence.lease, None);
                }
                Ok(Outcome::Released)
            }
        }
    }

    fn commit(&mut self, transaction: Transaction) -> Result<Committed, Error> {
        for condition in &transaction.conditions {
            match condition {
                Condition::Presence { key, expected } => self.check_presence(key, *expected)?,
                Condition::Holds(fence) => self.check_fence(fence)?,
            }
        }
        for write in &transaction.writes {
            self.check_presence(write.key(), write.expected())?;
        }
        self.check_blobs(&transaction)?;
        if self.head.checked_add(transaction.writes.len() as u64).is_none_or(|head| head > i64::MAX as u64) {
            return Err(Error::Unavailable { cause: "the revisions are used up".into() });
        }
        for blob in transaction.blobs {
            if self.blobs.insert(blob.digest()) {
                self.changes.blobs.push(blob);
            }
        }
        let mut revisions = Vec::with_capacity(transaction.writes.len());
        for write in transaction.writes {
            self.head += 1;
            let revision = Revision::new(self.head);
            let before = self.object(write.key())?.cloned();
            let key = write.key().clone();
            let after = into_object(write).map(|object| {
                let created = before.as_ref().map_or(revision, |before| before.created);
                Arc::new(Stored { key: key.clone(), created, revision, object })
            });
            self.objects.insert(key, Ok(after.clone()));
            self.changes.records.push(Record { revision, before, after });
            revisions.push(revision);
        }
        Ok(Committed { revisions })
    }

    fn object(&self, key: &Key) -> Result<Option<&Arc<Stored>>, Error> {
        match self.objects.get(key) {
            None => Ok(None),
            Some(Ok(found)) => Ok(found.as_ref()),
            Some(Err(error)) => Err(error.clone()),
        }
    }

    fn check_presence(&self, key: &Key, expected: Presence) -> Result<(), Error> {
        let found = self.object(key)?.map(|stored| stored.revision).into();
        if found == expected {
            return Ok(());
        }
        Err(Error::Conflict { key: key.clone(), expected, found })
    }

    fn check_fence(&self, fence: &Fence) -> Result<(), Error> {
        let newest = self.leases.get(&fence.lease).map(|lease| lease.fence.number);
        if newest == Some(fence.number) {
            return Ok(());
        }
        Err(Error::Fenced { lease: fence.lease.clone(), shown: fence.number, newest })
    }

    fn check_blobs(&self, transaction: &Transaction) -> Result<(), Error> {
        let sent: BTreeSet<_> = transaction.blobs.iter().map(Blob::digest).collect();
        let named =
            transaction.writes.iter().filter_map(|write| write.object()).flat_map(|object| &object.blobs);
        let missing: BTreeSet<_> =
            named.filter(|digest| !sent.contains(digest) && !self.blobs.contains(digest)).copied().collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::BlobsMissing { digests: missing.into_iter().collect() })
    }

    fn acquire(&mut self, claim: Claim) -> Result<Lease, Error> {
        if let Some(held) = self.leases.get(&claim.lease)
            && held.holder != claim.holder
            && held.until > claim.now
        {
            return Err(Error::Held { lease: claim.lease, holder: held.holder.clone(), until: held.until });
        }
        self.forget(claim.now.forgotten());
        self.fence += 1 + std::mem::take(&mut self.fence_gap);
        Ok(self.grant(claim, FencingNumber::new(self.fence)))
    }

    /// Forgets leases that ended before a moment, also those that this batch has given.
    fn forget(&mut self, before: Moment) {
        self.changes.forgotten = self.changes.forgotten.max(Some(before));
        self.leases.retain(|_, lease| lease.until >= before);
        for lease in self.changes.leases.values_mut() {
            lease.take_if(|lease| lease.until < before);
        }
    }

    fn renew(&mut self, fence: &Fence, claim: Claim) -> Result<Lease, Error> {
        self.check_fence(fence)?;
        let held =
            self.leases.get(&fence.lease).expect("a fence that holds is that of a lease that is there");
        renewable(held, &claim)?;
        Ok(self.grant(claim, fence.number))
    }

    fn grant(&mut self, claim: Claim, number: FencingNumber) -> Lease {
        let until = claim.now.after(claim.time);
        let lease = Lease { fence: Fence { lease: claim.lease, number }, holder: claim.holder, until };
        self.leases.insert(lease.fence.lease.clone(), lease.clone());
        self.changes.leases.insert(lease.fence.lease.clone(), Some(lease.clone()));
        lease
    }
}

/// A renewal extends what somebody has, and gives nothing to anybody else.
pub(crate) fn renewable(held: &Lease, claim: &Claim) -> Result<(), Error> {
    if held.fence.lease != claim.lease {
        let (shown, claimed) = (held.fence.lease.clone(), claim.lease.clone());
        return Err(Invalid::OtherLease { shown, claimed }.into());
    }
    if held.holder != claim.holder {
        let Lease { fence, holder, until } = held.clone();
        return Err(Error::Held { lease: fence.lease, holder, until });
    }
    Ok(())
}

fn into_object(write: Write) -> Option<crate::Object> {
    match write {
        Write::Create { object, .. } | Write::Update { object, .. } => Some(object),
        Write::Delete { .. } => None,
    }
}

/// An entry of the index over labels and fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct IndexEntry {
    /// `l:` or `f:` and the name.
    pub(crate) name: String,
    pub(crate) value: String,
}

/// Entries that go and that come when an object is replaced.
#[derive(Debug, Default)]
pub(crate) struct IndexChange {
    pub(crate) gone: Vec<IndexEntry>,
    pub(crate) come: Vec<IndexEntry>,
}

impl IndexChange {
    pub(crate) fn of(record: &Record) -> Self {
        let entries = |stored: &Option<Arc<Stored>>| {
            stored.as_ref().map(|stored| index_entries(&stored.object.attributes)).unwrap_or_default()
        };
        let (before, after) = (entries(&record.before), entries(&record.after));
        Self {
            gone: before.difference(&after).cloned().collect(),
            come: after.difference(&before).cloned().collect(),
        }
    }
}

pub(crate) fn index_entries(attributes: &Attributes) -> BTreeSet<IndexEntry> {
    let entry = |one: Attribute<'_>| {
        let sort = match one.sort {
            Sort::Label => 'l',
            Sort::Field => 'f',
        };
        IndexEntry { name: format!("{sort}:{}", one.name), value: one.value.into_owned() }
    };
    attributes.all().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::lease::FORGOTTEN_AFTER;

    fn claim(lease: &str, now: u64) -> Claim {
        let time = Duration::from_millis(10);
        Claim { lease: lease.parse().unwrap(), holder: "ann".into(), now: Moment(now), time }
    }

    /// Whether leases are acquired in one batch or in several makes no difference.
    #[test]
    fn a_lease_is_forgotten_within_a_batch() {
        let day = u64::try_from(FORGOTTEN_AFTER.as_millis()).unwrap();
        let mut world = World { fence: 7, fence_gap: 30, ..World::default() };
        let old = world.acquire(claim("old", 0)).unwrap().fence;
        assert_eq!(old.number.get(), 38);
        let other = world.acquire(claim("other", 10 + day)).unwrap().fence;
        assert_eq!(other.number.get(), 39, "numbers are left out once");
        assert_eq!(world.check_fence(&old), Ok(()), "until the very day");
        world.acquire(claim("other", 11 + day)).unwrap();
        assert!(matches!(world.check_fence(&old), Err(Error::Fenced { newest: None, .. })));
        assert_eq!(world.changes.leases[&old.lease], None, "and it is not written");
    }
}
