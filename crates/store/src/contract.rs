//! The contract that every back end keeps.

use async_trait::async_trait;
use bytes::Bytes;
use lanai_types::Sha256Digest;

use crate::lease::{Claim, Fence, Lease};
use crate::list::{ListRequest, Page};
use crate::select::Filter;
use crate::transaction::{Committed, Transaction, Write};
use crate::watch::{Watch, WatchRequest};
use crate::{Error, Key, Object, Revision, Stored};

/// Objects under keys, with one revision counter for all of them.
///
/// # What is promised
///
/// - **Revisions.** Every write gets the next number of one counter: no number is given twice, none is left out. The writes of a
///   transaction get consecutive numbers.
/// - **Writes** are conditional, atomic, and durable before they are answered. They are linearizable: a write is visible to everything that
///   starts after its answer.
/// - **Reads** see all of a transaction or nothing of it. A list is what was there at one revision.
/// - **Watches** hand out every matching event behind a revision, in order, each once, and can be resumed behind any revision that they
///   handed out. A watcher that is slow never holds up a writer.
/// - **History** is kept down to the horizon. What is asked for below it is [`Error::Expired`], never something else.
///
/// # What is not
///
/// A call that is dropped, or answered with [`Error::Unknown`], may still take effect. Who must know reads.
#[async_trait]
pub trait Store: Send + Sync {
    /// The newest revision that can be read. Zero in a new store.
    async fn current(&self) -> Result<Revision, Error>;

    /// What is under a key now.
    async fn get(&self, key: &Key) -> Result<Option<Stored>, Error>;

    /// What matches, in the order of the keys, as it was at one revision; one page of it if the request has a limit.
    async fn list(&self, request: &ListRequest) -> Result<Page, Error>;

    /// How many objects match now.
    async fn count(&self, filter: &Filter) -> Result<u64, Error>;

    /// Does all of a transaction or, with an error, nothing of it.
    ///
    /// The error is the one of the first condition or write that does not hold, in the order in which they are given, conditions first.
    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error>;

    /// Follows what happens behind a revision.
    async fn watch(&self, request: WatchRequest) -> Result<Watch, Error>;

    /// The content of a blob that something in the store names, now or within the kept history.
    async fn blob(&self, digest: &Sha256Digest) -> Result<Option<Bytes>, Error>;

    /// Forgets history: moves the horizon up to a revision, and drops versions and blobs that can no longer be asked for.
    ///
    /// Changes nothing that exists, and no revision. A revision at or below the horizon changes nothing; one that was never given is
    /// [`Error::TooNew`]. Returns the horizon.
    async fn compact(&self, up_to: Revision) -> Result<Revision, Error>;

    /// Takes a lease that is free, or whose time is over, or that this holder has already; gives it a new fencing number.
    ///
    /// [`Error::Held`] if somebody else has it. Leases whose time has been over for [`FORGOTTEN_AFTER`](crate::lease::FORGOTTEN_AFTER) by the
    /// clock of the claim, and that nobody gave back, are forgotten on this occasion; their numbers hold nothing any more.
    async fn acquire(&self, claim: Claim) -> Result<Lease, Error>;

    /// Extends a lease, whether or not its time is over, as long as nobody took it: [`Error::Fenced`] otherwise.
    ///
    /// It stays with its holder: a claim for another lease is [`Error::Invalid`], one by somebody else [`Error::Held`].
    async fn renew(&self, fence: &Fence, claim: Claim) -> Result<Lease, Error>;

    /// Gives a lease back; what shows its number afterwards is refused. No error if somebody else has it by now.
    async fn release(&self, fence: &Fence) -> Result<(), Error>;

    /// Stores an object where none is. [`Error::Conflict`] if there is one.
    async fn create(&self, key: Key, object: Object) -> Result<Revision, Error> {
        self.commit(Write::Create { key, object }.into()).await.map(Committed::last)
    }

    /// Replaces an object that is at this revision. [`Error::Conflict`] if it is not.
    async fn update(&self, key: Key, expected: Revision, object: Object) -> Result<Revision, Error> {
        self.commit(Write::Update { key, expected, object }.into()).await.map(Committed::last)
    }

    /// Removes an object that is at this revision. [`Error::Conflict`] if it is not. The event carries its last value.
    async fn delete(&self, key: Key, expected: Revision) -> Result<Revision, Error> {
        self.commit(Write::Delete { key, expected }.into()).await.map(Committed::last)
    }
}
