//! A store with somebody between it and the engine.

use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use lanai_store::{
    Claim, Committed, Error, Fence, Filter, Key, Lease, ListRequest, Page, Revision, Store, Stored,
    Transaction, Watch, WatchRequest,
};
use lanai_types::Sha256Digest;

/// Who is between.
#[async_trait]
pub(crate) trait Between: Send + Sync {
    /// Somebody reads.
    async fn read(&self) {}

    /// Somebody writes.
    async fn commit(&self, store: &dyn Store, transaction: Transaction) -> Result<Committed, Error>;
}

/// A store behind somebody.
pub(crate) struct Wrapped<T> {
    pub(crate) inner: Arc<dyn Store>,
    pub(crate) between: T,
}

impl<T> Deref for Wrapped<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.between
    }
}

#[async_trait]
impl<T: Between> Store for Wrapped<T> {
    async fn current(&self) -> Result<Revision, Error> {
        self.inner.current().await
    }

    async fn get(&self, key: &Key) -> Result<Option<Stored>, Error> {
        self.between.read().await;
        self.inner.get(key).await
    }

    async fn list(&self, request: &ListRequest) -> Result<Page, Error> {
        self.inner.list(request).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        self.inner.count(filter).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        self.between.commit(self.inner.as_ref(), transaction).await
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

/// Remembers what was written.
#[derive(Default)]
pub(crate) struct Recorder(Mutex<Vec<Transaction>>);

impl Wrapped<Recorder> {
    pub(crate) fn recording(inner: Arc<dyn Store>) -> Self {
        Self { inner, between: Recorder::default() }
    }
}

impl Recorder {
    /// All that was written since the last time.
    pub(crate) fn take(&self) -> Vec<Transaction> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Between for Recorder {
    async fn commit(&self, store: &dyn Store, transaction: Transaction) -> Result<Committed, Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(transaction.clone());
        store.commit(transaction).await
    }
}
