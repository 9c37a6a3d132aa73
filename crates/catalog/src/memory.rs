//! Records in memory.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lanai_types::{FencingNumber, Sha256Digest};

use crate::records::{Claim, Committed, Error, Records, Reserved, Total};
use crate::{Entry, Key, Moment, Subject, Trace};

/// Records that end with the process: the reference of what records are.
#[derive(Debug, Default)]
pub struct MemoryRecords(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    entries: BTreeMap<Key, Entry>,
    leases: HashMap<Key, Lease>,
    last: HashMap<Subject, Trace>,
    number: u64,
}

#[derive(Debug)]
struct Lease {
    owner: String,
    number: FencingNumber,
    until: Moment,
}

impl MemoryRecords {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Records for MemoryRecords {
    fn find(&self, key: &Key, now: Moment) -> Result<Option<Entry>, Error> {
        Ok(self.state().entries.get(key).filter(|entry| entry.outcome.counts_at(now)).cloned())
    }

    fn reserve(&self, claim: &Claim<'_>) -> Result<Reserved, Error> {
        let mut state = self.state();
        if state.entries.get(claim.key).is_some_and(|entry| entry.outcome.counts_at(claim.now)) {
            return Ok(Reserved::Done);
        }
        let until = claim.now.after(claim.time);
        if let Some(lease) = state.leases.get_mut(claim.key) {
            if lease.owner == claim.owner {
                lease.until = until;
                return Ok(Reserved::Granted(lease.number));
            }
            if claim.now < lease.until && claim.dead != Some(&lease.owner) {
                return Ok(Reserved::Held { owner: lease.owner.clone(), until: lease.until });
            }
        }
        state.number += 1;
        let number = FencingNumber::new(state.number);
        state.leases.insert(*claim.key, Lease { owner: claim.owner.to_owned(), number, until });
        Ok(Reserved::Granted(number))
    }

    fn release(&self, key: &Key, number: FencingNumber) -> Result<(), Error> {
        let mut state = self.state();
        if state.leases.get(key).is_some_and(|lease| lease.number == number) {
            state.leases.remove(key);
        }
        Ok(())
    }

    fn commit(&self, entry: &Entry, number: FencingNumber, trace: &Trace) -> Result<Committed, Error> {
        let mut state = self.state();
        if state.leases.get(&entry.key).is_none_or(|lease| lease.number != number) {
            return Ok(Committed::Stale);
        }
        state.leases.remove(&entry.key);
        state.last.insert(entry.subject.clone(), trace.clone());
        state.entries.insert(entry.key, entry.clone());
        Ok(Committed::Stored)
    }

    fn used(&self, key: &Key, subject: &Subject, trace: &Trace, now: Moment) -> Result<(), Error> {
        let mut state = self.state();
        if let Some(entry) = state.entries.get_mut(key) {
            entry.used = now;
        }
        state.last.insert(subject.clone(), trace.clone());
        Ok(())
    }

    fn forget(&self, key: &Key, blob: &Sha256Digest) -> Result<bool, Error> {
        let mut state = self.state();
        let names = state.entries.get(key).is_some_and(|entry| entry.blob == *blob);
        if names {
            state.entries.remove(key);
        }
        Ok(names)
    }

    fn last(&self, subject: &Subject) -> Result<Option<Trace>, Error> {
        Ok(self.state().last.get(subject).cloned())
    }

    fn entries(&self, behind: Option<&Key>, limit: usize) -> Result<Vec<Entry>, Error> {
        let state = self.state();
        let behind = state.entries.values().filter(|entry| behind.is_none_or(|key| entry.key > *key));
        Ok(behind.take(limit).cloned().collect())
    }

    fn total(&self) -> Result<Total, Error> {
        let state = self.state();
        let bytes = state.entries.values().map(|entry| entry.size).sum();
        Ok(Total { entries: state.entries.len() as u64, bytes })
    }

    fn evict(&self, room: u64, now: Moment) -> Result<Vec<Sha256Digest>, Error> {
        let mut state = self.state();
        let mut bytes: u64 = state.entries.values().map(|entry| entry.size).sum();
        let mut order: Vec<(bool, Moment, Key)> = state
            .entries
            .values()
            .map(|entry| (entry.outcome.counts_at(now), entry.used, entry.key))
            .collect();
        order.sort();
        let mut blobs = Vec::new();
        for (counts, _, key) in order {
            if counts && bytes <= room {
                break;
            }
            let Some(entry) = state.entries.remove(&key) else { continue };
            bytes -= entry.size;
            blobs.push(entry.blob);
        }
        blobs.retain(|blob| !state.entries.values().any(|entry| entry.blob == *blob));
        Ok(blobs)
    }

    fn names(&self, blob: &Sha256Digest) -> Result<bool, Error> {
        Ok(self.state().entries.values().any(|entry| entry.blob == *blob))
    }

    fn check(&self) -> Result<Vec<String>, Error> {
        Ok(Vec::new())
    }
}
