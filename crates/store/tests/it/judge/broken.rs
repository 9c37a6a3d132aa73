//! Stores that break one promise each. The judge must see it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use lanai_store::watch::Tail;
use lanai_store::{
    Change, Claim, Committed, Error, Event, Fence, Filter, Key, Lease, ListRequest, MemoryStore, Page,
    Revision, Signal, Store, Stored, Transaction, Watch, WatchFrom, WatchRequest, Write,
};
use lanai_testkit::history::{History, Recorder, Sink, Violation, check};
use lanai_types::Sha256Digest;
use tokio::task::yield_now;

use super::LIMITS;
use super::clients::{Ending, Workload};
use crate::support::rev;

/// The promise that a store breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    LostWrite,
    ReorderedEvents,
    GapAfterReconnect,
    TornList,
    ReusedRevision,
    TwoEventsWithOneRevision,
    HalfATransactionVisible,
    HalfATransactionWritten,
    EarlyAnswer,
    StaleRead,
    StaleList,
    IgnoredCondition,
    LostEvent,
    EarlyBookmark,
    LeakingFilter,
    SilentExpiry,
    WrongTombstone,
    WrongExpiry,
    SwappedRevisions,
    StalledWatch,
    NewerPage,
    WrongConflict,
    ForgottenHorizon,
    FailingWatch,
    FailingRead,
    WrongFuture,
    WrongCount,
}

/// A fault, and what the judge may say of it.
type Row = (Fault, fn(&Violation) -> bool);

/// Each fault, and what the judge may say of it.
const FAULTS: &[Row] = &[
    (Fault::LostWrite, |v| matches!(v, Violation::TwoAccounts { .. } | Violation::Gap { .. })),
    (Fault::ReorderedEvents, |v| matches!(v, Violation::Missed { .. } | Violation::Repeated { .. })),
    (Fault::GapAfterReconnect, |v| matches!(v, Violation::Missed { .. })),
    (Fault::TornList, |v| matches!(v, Violation::TornList { .. })),
    (Fault::ReusedRevision, |v| matches!(v, Violation::TwoAccounts { .. })),
    (Fault::TwoEventsWithOneRevision, |v| {
        matches!(v, Violation::Repeated { .. } | Violation::TwoAccounts { .. })
    }),
    (Fault::HalfATransactionVisible, |v| matches!(v, Violation::HalfTransaction { .. })),
    (Fault::HalfATransactionWritten, |v| {
        matches!(v, Violation::Gap { .. } | Violation::TwoAccounts { .. } | Violation::HalfCommitted { .. })
    }),
    (Fault::EarlyAnswer, |v| matches!(v, Violation::TwoAccounts { .. } | Violation::Gap { .. })),
    (Fault::StaleRead, |v| matches!(v, Violation::StaleRead { .. })),
    (Fault::StaleList, |v| matches!(v, Violation::StaleList { .. })),
    (Fault::IgnoredCondition, |v| matches!(v, Violation::LostUpdate { .. })),
    (Fault::LostEvent, |v| matches!(v, Violation::Missed { .. } | Violation::Gap { .. })),
    (Fault::EarlyBookmark, |v| matches!(v, Violation::Missed { .. } | Violation::Repeated { .. })),
    (Fault::LeakingFilter, |v| matches!(v, Violation::WrongEvent { .. })),
    (Fault::SilentExpiry, |v| matches!(v, Violation::Missed { .. } | Violation::BelowHorizon { .. })),
    (Fault::WrongTombstone, |v| matches!(v, Violation::WrongEvent { .. })),
    (Fault::WrongExpiry, |v| matches!(v, Violation::WrongExpiry { .. })),
    (Fault::SwappedRevisions, |v| {
        matches!(v, Violation::NotConsecutive { .. } | Violation::TwoAccounts { .. })
    }),
    (Fault::StalledWatch, |v| matches!(v, Violation::Stalled { .. })),
    (Fault::NewerPage, |v| matches!(v, Violation::OtherRevision { .. })),
    (Fault::WrongConflict, |v| matches!(v, Violation::WrongConflict { .. })),
    (Fault::ForgottenHorizon, |v| matches!(v, Violation::BelowHorizon { .. })),
    (Fault::FailingWatch, |v| matches!(v, Violation::Failed { .. })),
    (Fault::FailingRead, |v| matches!(v, Violation::Failed { .. })),
    (Fault::WrongFuture, |v| matches!(v, Violation::WrongTooNew { .. })),
    (Fault::WrongCount, |v| matches!(v, Violation::WrongCount { .. })),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_broken_promise_is_seen() {
    for (fault, is_expected) in FAULTS {
        println!("{fault:?}: {}", seen_as(*fault, *is_expected).await);
    }
}

/// How many histories a fault may take to show: which of them it shows in depends on how busy the machine is.
const HISTORIES: u64 = 20;

/// The first violation that tells what is broken. On a busy machine a history may also show something else, such as a watch that took long.
async fn seen_as(fault: Fault, is_expected: fn(&Violation) -> bool) -> Violation {
    let mut others = Vec::new();
    for seed in 3..3 + HISTORIES {
        let violations = check(&run(fault, seed).await).err().unwrap_or_default();
        for violation in violations {
            if is_expected(&violation) {
                return violation;
            }
            others.push(violation);
        }
    }
    panic!("{fault:?} was not seen in {HISTORIES} histories, but {others:#?}")
}

async fn run(fault: Fault, seed: u64) -> History {
    let store = Broken::new(fault);
    let recorder = Arc::new(Recorder::new(0, Sink::Memory));
    let workload =
        Workload { seed, run: 0, audit_from: 0, ending: Ending::CatchUp, patience: Duration::from_secs(2) };
    workload.run(Arc::new(store.clone()), recorder.clone()).await;
    let history = recorder.history();
    if fault != Fault::EarlyAnswer {
        return history;
    }
    let after = store.after_power_cut().await;
    let recorder = Arc::new(Recorder::new(1_000_000_000, Sink::Memory));
    let from = after.current().await.unwrap().get();
    let workload = Workload {
        seed: seed + 1,
        run: 1,
        audit_from: from,
        ending: Ending::CatchUp,
        patience: Duration::from_secs(2),
    };
    workload.run(Arc::new(after), recorder.clone()).await;
    history.then_killed(recorder.history())
}

/// A store that is right but for one thing, now and then.
#[derive(Clone)]
struct Broken {
    inner: MemoryStore,
    fault: Fault,
    calls: Arc<AtomicU64>,
    /// What was answered, in the order of the revisions.
    journal: Arc<Mutex<Vec<(Revision, Transaction)>>>,
    /// Who writes.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// What somebody read once.
    old: Arc<Mutex<Vec<Stored>>>,
}

impl Broken {
    fn new(fault: Fault) -> Self {
        let (journal, old) = (Arc::default(), Arc::default());
        Self {
            inner: MemoryStore::new(LIMITS),
            fault,
            calls: Arc::default(),
            journal,
            turn: Arc::default(),
            old,
        }
    }

    /// True for a store with this fault, every so many calls.
    fn fails(&self, fault: Fault, every: u64) -> bool {
        self.fault == fault && self.calls.fetch_add(1, Relaxed) % every == every - 1
    }

    /// What is there when the last answers were not synced.
    async fn after_power_cut(&self) -> MemoryStore {
        let store = MemoryStore::new(LIMITS);
        let mut journal = self.journal.lock().unwrap().clone();
        journal.sort_by_key(|(revision, _)| *revision);
        journal.truncate(journal.len() - 3);
        for (_, transaction) in journal {
            store.commit(transaction).await.unwrap();
        }
        store
    }

    async fn commit_some(&self, mut transaction: Transaction) -> Result<Committed, Error> {
        if self.fails(Fault::LostWrite, 10) {
            let head = self.inner.current().await?.get();
            return Ok(Committed {
                revisions: (head + 1..).map(rev).take(transaction.writes.len()).collect(),
            });
        }
        if self.fails(Fault::WrongConflict, 10) {
            let (key, expected) = (transaction.writes[0].key().clone(), transaction.writes[0].expected());
            return Err(Error::Conflict { key, expected, found: expected });
        }
        if self.fails(Fault::IgnoredCondition, 5) {
            for write in &mut transaction.writes {
                if let Write::Update { key, expected, .. } = write
                    && let Some(found) = self.inner.get(key).await?
                {
                    *expected = found.revision;
                }
            }
        }
        let parts = transaction.writes.len();
        // Writes are one after another, so that nothing else is broken.
        let _turn = self.turn.lock().await;
        if parts > 1 && self.fault == Fault::HalfATransactionVisible {
            for write in &transaction.writes {
                let (key, expected) = (write.key().clone(), write.expected());
                let found = self.inner.get(&key).await?.map(|stored| stored.revision).into();
                if found != expected {
                    return Err(Error::Conflict { key, expected, found });
                }
            }
            let mut revisions = Vec::new();
            for write in transaction.writes {
                revisions.extend(self.inner.commit(write.into()).await?.revisions);
                for _ in 0..5 {
                    yield_now().await;
                }
            }
            return Ok(Committed { revisions });
        }
        if parts > 1 && self.fails(Fault::HalfATransactionWritten, 3) {
            transaction.writes.truncate(parts - 1);
            let mut done = self.inner.commit(transaction).await?;
            let last = done.revisions.last().copied().unwrap_or(Revision::ZERO);
            done.revisions.extend(last.next());
            return Ok(done);
        }
        let mut done = self.inner.commit(transaction).await?;
        if self.fails(Fault::ReusedRevision, 10) {
            for revision in &mut done.revisions {
                *revision = rev(revision.get() - 1);
            }
        }
        if self.fault == Fault::SwappedRevisions {
            done.revisions.reverse();
        }
        Ok(done)
    }
}

#[async_trait]
impl Store for Broken {
    async fn current(&self) -> Result<Revision, Error> {
        self.inner.current().await
    }

    async fn get(&self, key: &Key) -> Result<Option<Stored>, Error> {
        if self.fails(Fault::FailingRead, 50) {
            return Err(Error::Unavailable { cause: "for no reason".into() });
        }
        let found = self.inner.get(key).await?;
        if self.fault == Fault::StaleRead {
            let mut old = self.old.lock().unwrap();
            if let Some(known) = old.iter().find(|stored| stored.key == *key)
                && self.fails(Fault::StaleRead, 5)
            {
                return Ok(Some(known.clone()));
            }
            old.extend(found.clone());
        }
        Ok(found)
    }

    async fn list(&self, request: &ListRequest) -> Result<Page, Error> {
        if let lanai_store::At::Continue(from) = &request.at
            && self.fault == Fault::NewerPage
        {
            let all =
                ListRequest { at: lanai_store::At::Latest, limit: None, filter: request.filter.clone() };
            let mut page = self.inner.list(&all).await?;
            page.items.retain(|item| item.key > from.after);
            return Ok(page);
        }
        let mut page = self.inner.list(request).await?;
        if self.fault == Fault::TornList && request.at == lanai_store::At::Latest {
            for _ in 0..20 {
                yield_now().await;
            }
            let later = self.inner.list(request).await?;
            let half = page.items.len() / 2;
            let Some(middle) = page.items.get(half).map(|item| item.key.clone()) else { return Ok(page) };
            page.items.truncate(half);
            page.items.extend(later.items.into_iter().filter(|item| item.key >= middle));
        }
        if self.fault == Fault::StaleList && request.at == lanai_store::At::Latest && page.revision > rev(20)
        {
            let at = lanai_store::At::Revision(rev(page.revision.get() - 5));
            return self.inner.list(&ListRequest { at, ..request.clone() }).await;
        }
        Ok(page)
    }

    async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        let counted = self.inner.count(filter).await?;
        // More than there ever are.
        Ok(if self.fault == Fault::WrongCount { counted + 100 } else { counted })
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        let done = self.commit_some(transaction.clone()).await?;
        self.journal.lock().unwrap().push((done.revisions[0], transaction));
        Ok(done)
    }

    async fn watch(&self, mut request: WatchRequest) -> Result<Watch, Error> {
        if let WatchFrom::After(after) = &mut request.from
            && self.fault == Fault::GapAfterReconnect
            && *after > Revision::ZERO
            && *after < self.inner.current().await?
        {
            *after = rev(after.get() + 1);
        }
        if let WatchFrom::After(asked) = request.from
            && self.fails(Fault::WrongFuture, 10)
            && let Some(current) = asked.get().checked_sub(1)
        {
            return Err(Error::TooNew { asked, current: rev(current) });
        }
        if self.fault == Fault::LeakingFilter {
            request.filter.selector.requirements.clear();
        }
        let inner = match self.inner.watch(request.clone()).await {
            Err(Error::Expired { horizon, .. }) if self.fault == Fault::SilentExpiry => {
                self.inner.watch(WatchRequest { from: WatchFrom::After(horizon), ..request }).await?
            }
            other => other?,
        };
        Ok(Watch::from_tail(Box::new(BrokenTail { inner, store: self.clone(), held: None, signals: 0 })))
    }

    async fn blob(&self, digest: &Sha256Digest) -> Result<Option<Bytes>, Error> {
        self.inner.blob(digest).await
    }

    async fn compact(&self, up_to: Revision) -> Result<Revision, Error> {
        if self.fault == Fault::ForgottenHorizon {
            // Says so, and goes on handing out what is below.
            return self.inner.current().await.map(|head| head.min(up_to));
        }
        self.inner.compact(up_to).await
    }

    async fn acquire(&self, claim: Claim) -> Result<Lease, Error> {
        self.inner.acquire(claim).await
    }

    async fn renew(&self, fence: &Fence, claim: Claim) -> Result<Lease, Error> {
        self.inner.renew(fence, claim).await
    }

    async fn release(&self, fence: &Fence) -> Result<(), Error> {
        self.inner.release(fence).await
    }
}

struct BrokenTail {
    inner: Watch,
    store: Broken,
    /// A signal that comes later than it should, or again.
    held: Option<Signal>,
    signals: u64,
}

#[async_trait]
impl Tail for BrokenTail {
    async fn next(&mut self) -> Result<Signal, Error> {
        if let Some(held) = self.held.take() {
            return Ok(held);
        }
        self.signals += 1;
        if self.store.fault == Fault::StalledWatch && self.signals > 5 {
            return std::future::pending().await;
        }
        if self.store.fault == Fault::FailingWatch && self.signals > 20 {
            return Err(Error::Unavailable { cause: "for no reason".into() });
        }
        let is_turn = self.signals.is_multiple_of(4);
        let signal = self.inner.next().await?;
        let Signal::Event(event) = signal else {
            if self.store.fault == Fault::EarlyBookmark {
                // Three more than there is to tell.
                return Ok(Signal::Bookmark(rev(self.inner.position().get() + 3)));
            }
            return Ok(signal);
        };
        match self.store.fault {
            Fault::ReorderedEvents if is_turn => {
                let next = self.inner.next().await?;
                self.held = Some(Signal::Event(event));
                Ok(next)
            }
            Fault::TwoEventsWithOneRevision if is_turn => {
                self.held = Some(Signal::Event(event.clone()));
                Ok(Signal::Event(event))
            }
            Fault::LostEvent if is_turn => self.inner.next().await,
            Fault::WrongExpiry if is_turn && self.signals > 8 => {
                Err(Error::Expired { asked: event.revision, horizon: rev(event.revision.get() + 1_000_000) })
            }
            Fault::WrongTombstone => Ok(Signal::Event(forgetful(event))),
            _ => Ok(Signal::Event(event)),
        }
    }

    fn position(&self) -> Revision {
        self.inner.position()
    }
}

/// A tombstone without the last value.
fn forgetful(event: Event) -> Event {
    let Change::Deleted { last } = &event.change else { return event };
    let last = Stored { object: lanai_store::Object::default(), ..Stored::clone(last) };
    Event { change: Change::Deleted { last: Arc::new(last) }, ..event }
}
