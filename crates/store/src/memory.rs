//! The reference: everything in memory, under one lock, in the simplest way that is right.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use lanai_types::{FencingNumber, Sha256Digest};
use tokio::sync::watch;

use crate::lease::{Claim, Fence, Lease, LeaseName};
use crate::list::{ListRequest, Page, within};
use crate::plan::renewable;
use crate::transaction::{Committed, Condition, Presence, Transaction};
use crate::watch::{Bookmarks, Record, Signal, Tail, Watch, WatchFrom, WatchRequest};
use crate::{Error, Filter, Key, Limits, Revision, Store, Stored, check};

/// A store that ends with its process. It keeps all history that nobody compacts.
#[derive(Debug, Clone)]
pub struct MemoryStore {
    limits: Limits,
    state: Arc<Mutex<State>>,
    /// Tells watchers that there may be something for them.
    changed: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    /// What happened behind the horizon, one record a revision.
    log: Vec<Record>,
    /// What was there at the horizon.
    base: BTreeMap<Key, Arc<Stored>>,
    /// What is there now.
    objects: BTreeMap<Key, Arc<Stored>>,
    head: Revision,
    horizon: Revision,
    blobs: BTreeMap<Sha256Digest, Bytes>,
    leases: BTreeMap<LeaseName, Lease>,
    last_fence: u64,
}

impl MemoryStore {
    /// A new store with these limits, of which `max_history`, `max_window` and `max_window_bytes` do not matter here.
    pub fn new(limits: Limits) -> Self {
        let state = State {
            log: Vec::new(),
            base: BTreeMap::new(),
            objects: BTreeMap::new(),
            head: Revision::ZERO,
            horizon: Revision::ZERO,
            blobs: BTreeMap::new(),
            leases: BTreeMap::new(),
            last_fence: 0,
        };
        Self { limits, state: Arc::new(Mutex::new(state)), changed: watch::Sender::new(()) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics between two changes that belong together.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Limits::DEFAULT)
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn current(&self) -> Result<Revision, Error> {
        Ok(self.state().head)
    }

    async fn get(&self, key: &Key) -> Result<Option<Stored>, Error> {
        Ok(self.state().objects.get(key).map(|stored| Stored::clone(stored)))
    }

    async fn list(&self, request: &ListRequest) -> Result<Page, Error> {
        check::filter(&request.filter)?;
        let state = self.state();
        let revision = request.at.resolve(state.head, state.horizon)?;
        let objects = state.objects_at(revision);
        let behind =
            objects.values().filter(|stored| request.at.after().is_none_or(|after| stored.key > *after));
        let matching = behind.filter(|stored| request.filter.admits(stored)).cloned();
        let enough = request.limit.map_or(usize::MAX, |limit| limit.get().saturating_add(1));
        Ok(Page::cut(revision, matching.take(enough).collect(), request.limit))
    }

    async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        check::filter(filter)?;
        Ok(self.state().objects.values().filter(|stored| filter.admits(stored)).count() as u64)
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        check::transaction(&transaction, &self.limits)?;
        let committed = {
            let mut state = self.state();
            state.refuse(&transaction)?;
            state.apply(transaction)
        };
        self.changed.send_replace(());
        Ok(committed)
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch, Error> {
        check::filter(&request.filter)?;
        let state = self.state();
        let position = match request.from {
            WatchFrom::Now => state.head,
            WatchFrom::After(revision) => within(revision, state.head, state.horizon)?,
        };
        Ok(Watch::new(MemoryTail {
            store: self.clone(),
            changed: self.changed.subscribe(),
            filter: request.filter,
            bookmarks: request.bookmarks,
            position,
            told: position,
        }))
    }

    async fn blob(&self, digest: &Sha256Digest) -> Result<Option<Bytes>, Error> {
        Ok(self.state().blobs.get(digest).cloned())
    }

    async fn compact(&self, up_to: Revision) -> Result<Revision, Error> {
        let horizon = self.state().compact(up_to)?;
        self.changed.send_replace(());
        Ok(horizon)
    }

    async fn acquire(&self, claim: Claim) -> Result<Lease, Error> {
        check::claim(&claim)?;
        let mut state = self.state();
        if let Some(held) = state.leases.get(&claim.lease)
            && held.holder != claim.holder
            && held.until > claim.now
        {
            return Err(Error::Held { lease: claim.lease, holder: held.holder.clone(), until: held.until });
        }
        let forgotten = claim.now.forgotten();
        state.leases.retain(|_, lease| lease.until >= forgotten);
        state.last_fence += 1;
        let number = FencingNumber::new(state.last_fence);
        Ok(state.grant(claim, number))
    }

    async fn renew(&self, fence: &Fence, claim: Claim) -> Result<Lease, Error> {
        check::claim(&claim)?;
        let mut state = self.state();
        state.refuse_fence(fence)?;
        renewable(&state.leases[&fence.lease], &claim)?;
        Ok(state.grant(claim, fence.number))
    }

    async fn release(&self, fence: &Fence) -> Result<(), Error> {
        let mut state = self.state();
        if state.refuse_fence(fence).is_ok() {
            state.leases.remove(&fence.lease);
        }
        Ok(())
    }
}

impl State {
    fn presence(&self, key: &Key) -> Presence {
        self.objects.get(key).map(|stored| stored.revision).into()
    }

    /// The error of the first condition or write that does not hold.
    fn refuse(&self, transaction: &Transaction) -> Result<(), Error> {
        for condition in &transaction.conditions {
            match condition {
                Condition::Presence { key, expected } => self.refuse_presence(key, *expected)?,
                Condition::Holds(fence) => self.refuse_fence(fence)?,
            }
        }
        for write in &transaction.writes {
            self.refuse_presence(write.key(), write.expected())?;
        }
        let sent: BTreeSet<_> = transaction.blobs.iter().map(crate::Blob::digest).collect();
        let named =
            transaction.writes.iter().filter_map(|write| write.object()).flat_map(|object| &object.blobs);
        let missing: BTreeSet<_> = named
            .filter(|digest| !sent.contains(digest) && !self.blobs.contains_key(digest))
            .copied()
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(Error::BlobsMissing { digests: missing.into_iter().collect() })
    }

    fn refuse_presence(&self, key: &Key, expected: Presence) -> Result<(), Error> {
        let found = self.presence(key);
        if found == expected {
            return Ok(());
        }
        Err(Error::Conflict { key: key.clone(), expected, found })
    }

    fn refuse_fence(&self, fence: &Fence) -> Result<(), Error> {
        let newest = self.leases.get(&fence.lease).map(|lease| lease.fence.number);
        if newest == Some(fence.number) {
            return Ok(());
        }
        Err(Error::Fenced { lease: fence.lease.clone(), shown: fence.number, newest })
    }

    fn apply(&mut self, transaction: Transaction) -> Committed {
        for blob in transaction.blobs {
            self.blobs.insert(blob.digest(), blob.content().clone());
        }
        let mut revisions = Vec::new();
        for write in transaction.writes {
            let revision = self.head.next().expect("nobody writes 2^64 times into memory");
            let before = self.objects.get(write.key()).cloned();
            let after = write.object().map(|object| {
                let created = before.as_ref().map_or(revision, |before| before.created);
                Arc::new(Stored { key: write.key().clone(), created, revision, object: object.clone() })
            });
            match &after {
                Some(stored) => self.objects.insert(stored.key.clone(), stored.clone()),
                None => self.objects.remove(write.key()),
            };
            self.log.push(Record { revision, before, after });
            self.head = revision;
            revisions.push(revision);
        }
        Committed { revisions }
    }

    /// What was there at a revision of the kept history: what was there at the horizon, and all that happened since.
    fn objects_at(&self, revision: Revision) -> BTreeMap<Key, Arc<Stored>> {
        let mut objects = self.base.clone();
        for record in self.log.iter().take_while(|record| record.revision <= revision) {
            replay(&mut objects, record);
        }
        objects
    }

    fn compact(&mut self, up_to: Revision) -> Result<Revision, Error> {
        if up_to > self.head {
            return Err(Error::TooNew { asked: up_to, current: self.head });
        }
        if up_to <= self.horizon {
            return Ok(self.horizon);
        }
        self.base = self.objects_at(up_to);
        self.log.retain(|record| record.revision > up_to);
        self.horizon = up_to;
        let versions = self.base.values().chain(self.log.iter().filter_map(|record| record.after.as_ref()));
        let named: BTreeSet<_> = versions.flat_map(|stored| &stored.object.blobs).copied().collect();
        self.blobs.retain(|digest, _| named.contains(digest));
        Ok(up_to)
    }

    fn grant(&mut self, claim: Claim, number: FencingNumber) -> Lease {
        let until = claim.now.after(claim.time);
        let lease = Lease { fence: Fence { lease: claim.lease, number }, holder: claim.holder, until };
        self.leases.insert(lease.fence.lease.clone(), lease.clone());
        lease
    }
}

fn replay(objects: &mut BTreeMap<Key, Arc<Stored>>, record: &Record) {
    if let Some(before) = &record.before {
        objects.remove(&before.key);
    }
    if let Some(after) = &record.after {
        objects.insert(after.key.clone(), after.clone());
    }
}

struct MemoryTail {
    store: MemoryStore,
    changed: watch::Receiver<()>,
    filter: Filter,
    bookmarks: Bookmarks,
    position: Revision,
    /// The revision of the last signal.
    told: Revision,
}

impl MemoryTail {
    fn look(&mut self) -> Result<Option<Signal>, Error> {
        let state = self.store.state();
        if self.position < state.horizon {
            return Err(Error::Expired { asked: self.position, horizon: state.horizon });
        }
        let first = state.log.partition_point(|record| record.revision <= self.position);
        let event = state.log[first..].iter().find_map(|record| record.through(&self.filter));
        self.position = event.as_ref().map_or(state.head, |event| event.revision);
        let silent = self.position.get() - self.told.get();
        let signal = match (event, self.bookmarks) {
            (Some(event), _) => Some(Signal::Event(event)),
            (None, Bookmarks::Every(number)) if silent >= number.get() => {
                Some(Signal::Bookmark(self.position))
            }
            (None, Bookmarks::Every(_) | Bookmarks::Never) => None,
        };
        if signal.is_some() {
            self.told = self.position;
        }
        Ok(signal)
    }
}

#[async_trait]
impl Tail for MemoryTail {
    async fn next(&mut self) -> Result<Signal, Error> {
        loop {
            self.changed.mark_unchanged();
            if let Some(signal) = self.look()? {
                return Ok(signal);
            }
            self.changed
                .changed()
                .await
                .map_err(|_| Error::Unavailable { cause: "the store is closed".into() })?;
        }
    }

    fn position(&self) -> Revision {
        self.position
    }
}
