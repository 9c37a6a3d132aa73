//! Versions of objects in memory, by their revisions.
//!
//! A version never changes. What is here is right as long as it can be asked for, and nothing has to be told that it is not.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lanai_types::ByteSize;

use crate::{Protection, Record, Revision, Stored};

/// What a version takes beside its texts.
const OVERHEAD: usize = 192;

/// The versions that lists found lately, or that took the place of such.
#[derive(Debug)]
pub(crate) struct Versions {
    kept: Mutex<Kept>,
    max: u64,
}

#[derive(Debug, Default)]
struct Kept {
    by_revision: HashMap<u64, Slot>,
    /// Revisions in the order in which they are looked at when there is no room; those that are not kept any more are passed over.
    order: VecDeque<u64>,
    bytes: u64,
}

#[derive(Debug)]
struct Slot {
    stored: Arc<Stored>,
    /// Whether somebody asked for it since it was looked at.
    is_used: bool,
}

impl Versions {
    /// Keeps at most so much.
    pub(crate) fn new(max: ByteSize) -> Self {
        Self { kept: Mutex::default(), max: max.get() }
    }

    /// The version of a revision, if it is kept.
    pub(crate) fn find(&self, revision: Revision) -> Option<Arc<Stored>> {
        let mut kept = self.kept();
        let slot = kept.by_revision.get_mut(&revision.get())?;
        slot.is_used = true;
        Some(slot.stored.clone())
    }

    /// Keeps what was found.
    pub(crate) fn keep(&self, found: &[Arc<Stored>]) {
        let mut kept = self.kept();
        for stored in found {
            kept.insert(stored.clone(), self.max);
        }
    }

    /// Takes over what was written: a new version stands where the one before it stood.
    pub(crate) fn replace(&self, records: &[Record]) {
        let mut kept = self.kept();
        for record in records {
            let before = record.before.as_ref().map(|before| before.revision);
            if before.is_some_and(|before| kept.remove(before))
                && let Some(after) = &record.after
            {
                kept.insert(after.clone(), self.max);
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn insert(&mut self, stored: Arc<Stored>, max: u64) {
        let (revision, bytes) = (stored.revision.get(), weight(&stored));
        // Secrets are in memory no longer than somebody needs them.
        if stored.object.protection == Protection::Sealed
            || bytes > max
            || self.by_revision.contains_key(&revision)
        {
            return;
        }
        while self.bytes + bytes > max {
            let Some(oldest) = self.order.pop_front() else { return };
            match self.by_revision.get_mut(&oldest) {
                None => {}
                Some(slot) if slot.is_used => {
                    slot.is_used = false;
                    self.order.push_back(oldest);
                }
                Some(_) => drop(self.remove(Revision::new(oldest))),
            }
        }
        self.bytes += bytes;
        self.order.push_back(revision);
        self.by_revision.insert(revision, Slot { stored, is_used: false });
        // Revisions that were replaced stay in the order until they are passed over.
        if self.order.len() > 2 * self.by_revision.len() + 64 {
            let by_revision = &self.by_revision;
            self.order.retain(|revision| by_revision.contains_key(revision));
        }
    }

    fn remove(&mut self, revision: Revision) -> bool {
        let Some(slot) = self.by_revision.remove(&revision.get()) else { return false };
        self.bytes -= weight(&slot.stored);
        true
    }
}

fn weight(stored: &Stored) -> u64 {
    let object = &stored.object;
    let texts = object.value.len() + object.attributes.len() + stored.key.as_str().len();
    (texts + 32 * object.blobs.len() + OVERHEAD) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Object;

    fn stored(revision: u64, size: usize) -> Arc<Stored> {
        let (key, revision) = ("k/n/a".parse().unwrap(), Revision::new(revision));
        Arc::new(Stored { key, created: revision, revision, object: Object::plain(vec![0; size]) })
    }

    fn kept(versions: &Versions, revisions: &[u64]) -> Vec<bool> {
        revisions.iter().map(|revision| versions.find(Revision::new(*revision)).is_some()).collect()
    }

    #[test]
    fn what_nobody_asks_for_goes_first() {
        let one = weight(&stored(1, 1_000));
        let versions = Versions::new(ByteSize::bytes(3 * one));
        versions.keep(&[stored(1, 1_000), stored(2, 1_000), stored(3, 1_000)]);
        assert_eq!(kept(&versions, &[1]), [true]);
        versions.keep(&[stored(4, 1_000)]);
        assert_eq!(kept(&versions, &[1, 2, 3, 4]), [true, false, true, true]);
        assert_eq!(versions.kept().bytes, 3 * one);
    }

    #[test]
    fn a_new_version_stands_where_the_old_one_stood_and_nowhere_else() {
        let versions = Versions::new(ByteSize::mib(1));
        versions.keep(&[stored(1, 10)]);
        let record = |revision, before, after: bool| Record {
            revision: Revision::new(revision),
            before,
            after: after.then(|| stored(revision, 10)),
        };
        versions.replace(&[record(2, Some(stored(1, 10)), true), record(3, None, true)]);
        assert_eq!(kept(&versions, &[1, 2, 3]), [false, true, false]);
        versions.replace(&[record(4, Some(stored(2, 10)), false)]);
        assert_eq!(kept(&versions, &[2, 4]), [false, false]);
        assert_eq!(versions.kept().bytes, 0);
    }

    #[test]
    fn replacing_without_end_keeps_the_order_short() {
        let versions = Versions::new(ByteSize::mib(1));
        versions.keep(&[stored(1, 10)]);
        for revision in 2..10_000 {
            let before = Some(stored(revision - 1, 10));
            let after = Some(stored(revision, 10));
            versions.replace(&[Record { revision: Revision::new(revision), before, after }]);
        }
        assert_eq!(kept(&versions, &[9_999]), [true]);
        assert!(versions.kept().order.len() < 100);
    }

    #[test]
    fn what_is_sealed_or_too_large_is_not_kept() {
        let versions = Versions::new(ByteSize::kib(1));
        let secret = Stored { object: Object::sealed("s"), ..Stored::clone(&stored(1, 0)) };
        versions.keep(&[Arc::new(secret), stored(2, 2_000)]);
        assert_eq!(kept(&versions, &[1, 2]), [false, false]);
    }
}
