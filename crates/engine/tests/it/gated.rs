//! A store that stops before certain writes until it is let go on, or refuses them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use lanai_store::{Committed, Error, Store, Transaction};
use tokio::sync::Notify;

use crate::wrapped::{Between, Wrapped};

/// A store behind a gate.
pub(crate) type Gated = Wrapped<Gate>;

/// Stops before a write to a kind of rows, once; or refuses all of them.
pub(crate) struct Gate {
    kind: &'static str,
    is_armed: AtomicBool,
    is_failing: AtomicBool,
    reached: Notify,
    opened: Notify,
}

impl Gated {
    pub(crate) fn new(inner: Arc<dyn Store>, kind: &'static str) -> Self {
        let (is_armed, is_failing) = (AtomicBool::new(false), AtomicBool::new(false));
        let between = Gate { kind, is_armed, is_failing, reached: Notify::new(), opened: Notify::new() };
        Self { inner, between }
    }
}

impl Gate {
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

    /// All writes to the kind fail.
    pub(crate) fn fail(&self) {
        self.is_failing.store(true, Ordering::SeqCst);
    }

    /// They do not any more.
    pub(crate) fn mend(&self) {
        self.is_failing.store(false, Ordering::SeqCst);
    }
}

#[async_trait]
impl Between for Gate {
    async fn commit(&self, store: &dyn Store, transaction: Transaction) -> Result<Committed, Error> {
        let is_meant = transaction.writes.iter().any(|write| write.key().kind() == self.kind);
        if is_meant && self.is_armed.swap(false, Ordering::SeqCst) {
            self.reached.notify_one();
            self.opened.notified().await;
        }
        if is_meant && self.is_failing.load(Ordering::SeqCst) {
            return Err(Error::Unavailable { cause: "the disk is away".to_owned() });
        }
        store.commit(transaction).await
    }
}
