//! The right to do a piece of work.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use lanai_types::{FencingNumber, Sha256Digest};
use tokio::runtime::Handle;
use tokio::sync::OwnedMutexGuard;
use tokio::task::AbortHandle;

use crate::catalog::{Catalog, Hit, Shared, Turn};
use crate::records::{Committed, Reserved};
use crate::{Entry, Inputs, Key, Outcome, Subject, Trace};

/// The right to do a piece of work, which nobody else has meanwhile.
///
/// It is extended as long as this value lives. Dropping it gives the work up, and the next one who waits for it gets it.
pub struct Ticket {
    catalog: Catalog,
    key: Key,
    subject: Subject,
    trace: Trace,
    lease: Option<Lease>,
    heart: Option<AbortHandle>,
    turn: Option<Turn>,
}

/// A lease that we have.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub key: Key,
    pub owner: String,
    pub number: FencingNumber,
}

/// What became of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It is there for the next one who asks.
    Stored,
    /// Somebody else took the work over meanwhile; what they make counts.
    Stale,
    /// It is larger than `Options::max_result`.
    TooLarge,
    /// The catalog cannot be used, for this reason.
    Unusable(String),
}

impl Ticket {
    pub(crate) fn new(
        catalog: Catalog,
        inputs: &Inputs,
        subject: &Subject,
        lease: Option<Lease>,
        gate: OwnedMutexGuard<Shared>,
    ) -> Self {
        let heart = lease.clone().map(|lease| beat(catalog.clone(), lease));
        let turn = Some(Turn::new(gate));
        let (key, subject, trace) = (inputs.key(), subject.clone(), inputs.trace());
        Self { catalog, key, subject, trace, lease, heart, turn }
    }

    /// The number that the result is kept under; none when the catalog cannot be used.
    pub fn number(&self) -> Option<FencingNumber> {
        self.lease.as_ref().map(|lease| lease.number)
    }

    /// Keeps the result.
    pub async fn keep(self, content: Bytes) -> Kept {
        self.put(content, None).await
    }

    /// Keeps a failure for some time, for those who asked for that.
    pub async fn keep_failure(self, content: Bytes, time: Duration) -> Kept {
        self.put(content, Some(time)).await
    }

    /// Gives the work up, and returns when the next one can have it.
    pub async fn give_up(mut self) {
        if let Some(lease) = self.lease.take() {
            // A lease that is not given back ends by itself.
            let _ =
                self.catalog.with_records(move |records, _| records.release(&lease.key, lease.number)).await;
        }
    }

    async fn put(mut self, content: Bytes, failed_for: Option<Duration>) -> Kept {
        let Some(lease) = self.lease.clone() else {
            return Kept::Unusable("there is no lease".to_owned());
        };
        let options = self.catalog.inner().options.clone();
        if !options.max_result.admits(content.len()) {
            return Kept::TooLarge;
        }
        let blob: Sha256Digest = match self.catalog.inner().blobs.put(content.clone()).await {
            Ok(blob) => blob,
            Err(cause) => {
                tracing::warn!(%cause, "a result is not kept");
                return Kept::Unusable(cause);
            }
        };
        let now = (options.clock)();
        let entry = Entry {
            key: self.key,
            blob,
            size: content.len() as u64,
            outcome: match failed_for {
                None => Outcome::Success,
                Some(time) => Outcome::Failure { until: now.after(time) },
            },
            subject: self.subject.clone(),
            made: now,
            used: now,
        };
        let (trace, written) = (self.trace.clone(), entry.clone());
        let committed = self
            .catalog
            .with_records(move |records, _| {
                let committed = records.commit(&written, lease.number, &trace)?;
                Ok((committed, records.total()?))
            })
            .await;
        match committed {
            Ok((Committed::Stored, total)) => {
                // The lease ended with the commit.
                self.lease = None;
                if let Some(turn) = &mut self.turn {
                    turn.share(Hit { entry, content });
                }
                if total.bytes > options.max_bytes.get() {
                    let room = options.max_bytes.get() / 10 * 9;
                    self.catalog.evict(room).await;
                }
                Kept::Stored
            }
            Ok((Committed::Stale, _)) => {
                self.lease = None;
                Kept::Stale
            }
            Err(error) => {
                tracing::warn!(%error, "a result is not kept");
                Kept::Unusable(error.to_string())
            }
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(heart) = &self.heart {
            heart.abort();
        }
        let Some(lease) = self.lease.take() else { return };
        let (catalog, turn) = (self.catalog.clone(), self.turn.take());
        let release = move || {
            // A lease that is not given back ends by itself.
            let _ = catalog.inner().records.release(&lease.key, lease.number);
            drop(turn);
        };
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(release)),
            Err(_) => release(),
        }
    }
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("key", &self.key).field("lease", &self.lease).finish_non_exhaustive()
    }
}

/// Extends a lease until that fails.
fn beat(catalog: Catalog, lease: Lease) -> AbortHandle {
    let every = catalog.inner().options.lease / 3;
    let beating = tokio::spawn(async move {
        loop {
            tokio::time::sleep(every).await;
            let extended = catalog.reserve(lease.key, lease.owner.clone(), None).await;
            if !matches!(extended, Ok(Reserved::Granted(number)) if number == lease.number) {
                tracing::warn!(key = %lease.key, ?extended, "a lease cannot be extended");
                return;
            }
        }
    });
    beating.abort_handle()
}
