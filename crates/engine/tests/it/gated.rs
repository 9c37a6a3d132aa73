//! A store that stops before certain writes until it is let go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use lanai_store::{
    Claim, Committed, Error, Fence, Filter, Key, Lease, ListRequest, Page, Revision, Store, Stored,
    Transaction, Watch, WatchRequest,
};
use lanai_types::Sha256Digest;
use tokio::sync::Notify;

/// Stops before a write to a kind of rows, once.
pub(crate) struct Gated {
    pub(crate) inner: Arc<dyn Store>,
    kind: &'static str,
    is_armed: AtomicBool,
    reached: Notify,
    opened: Notify,
}

impl Gated {
    pub(crate) fn new(inner: Arc<dyn Store>, kind: &'static str) -> Self {
        Self { inner, kind, is_armed: AtomicBool::new(false), reached: Notify::new(), opened: Notify::new() }
    }

    /// The next write to the kind waits.
    pub(crate) fn arm(&self) {
        self.is_armed.store(true, Ordering::SeqCst);
    }

    /// Somebody waits.
    pub(crate) async fn reached(&self) {
        self.reached.notified().await;
    }

    /// It goes on.
    pub(crate) fn open(&self) {
        self.opened.notify_one();
    }
}

#[async_trait]
impl Store for Gated {
    async fn current(&self) -> Result<Revision, Error> {
        self.inner.current().await
    }

    async fn get(&self, key: &Key) -> Result<Option<Stored>, Error> {
        self.inner.get(key).await
    }

    async fn list(&self, request: &ListRequest) -> Result<Page, Error> {
        self.inner.list(request).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        self.inner.count(filter).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        let is_meant = transaction.writes.iter().any(|write| write.key().kind() == self.kind);
        if is_meant && self.is_armed.swap(false, Ordering::SeqCst) {
            self.reached.notify_one();
            self.opened.notified().await;
        }
        self.inner.commit(transaction).await
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch, Error> {
        self.inner.watch(request).await
    }

    async fn blob(&self, digest: &Sha256Digest) -> Result<Option<Bytes>, Error> {
        self.inner.blob(digest).await
    }

    async fn compact(&self, up_to: Revision) -> Result<Revision, Error> {
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
