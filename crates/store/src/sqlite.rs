//! A store in one file, for one process.

mod backup;
mod candidates;
mod compact;
mod fault;
mod open;
mod query;
mod reader;
mod rotate;
mod schema;
mod verify;
mod versions;
mod wal;
mod writer;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use lanai_types::{ByteSize, Sha256Digest};
use rusqlite::Connection;

use crate::feed::{Feed, Log, Logged};
use crate::lease::{Claim, Fence, Lease};
use crate::list::{ListRequest, Page};
use crate::plan::{Outcome, Task};
use crate::row::SharedKeyring;
use crate::transaction::{Committed, Transaction};
use crate::watch::{Watch, WatchRequest};
use crate::{Error, Filter, Key, Limits, Revision, Store, Stored, check};
use fault::Broken;
use open::Durability;
use reader::Readers;
use versions::Versions;
use writer::{Message, Shared, Writer};

pub use backup::{BackupError, Restored, backup, restore};
pub use open::OpenError;
pub use rotate::rotate_key;
pub use verify::{Finding, Verified, verify};

/// How a store is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// What it takes and keeps.
    pub limits: Limits,
    /// Threads that read.
    pub readers: usize,
    /// A file of at most this size is checked as a whole when it is opened. `lanai store verify` checks all.
    pub check_up_to: ByteSize,
    /// Pages of the log after which it is copied into the database. For tests, which want to see that more often.
    #[doc(hidden)]
    pub checkpoint_pages: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { limits: Limits::DEFAULT, readers: 4, check_up_to: ByteSize::mib(64), checkpoint_pages: 4_000 }
    }
}

/// A store in the file `store.db` of a data directory.
///
/// Writes are durable when they are answered: the log of the database was synced. What waits together shares a sync. One process has
/// the store at a time. When this is dropped, what was taken is finished, and the threads have ended.
#[derive(Debug, Clone)]
pub struct SqliteStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limits: Limits,
    feed: Arc<Feed>,
    log: Arc<ReaderLog>,
    writer: Writer,
    /// Released last.
    _lock: File,
}

/// Reads for watchers and others. It does not hold the writer, so that a watch does not keep a store open.
#[derive(Debug)]
struct ReaderLog {
    readers: Readers,
    keys: SharedKeyring,
    broken: Broken,
    versions: Arc<Versions>,
}

/// Why there is no new key.
#[derive(Debug, thiserror::Error)]
pub enum RotateError {
    /// There is no store.
    #[error("there is no store in \"{}\"", folder.display())]
    Nothing {
        /// The data directory.
        folder: PathBuf,
    },
    /// The store cannot be opened.
    #[error(transparent)]
    Open(OpenError),
    /// Not everything was sealed anew. Everything can still be opened; rotating again finishes it.
    #[error(
        "not everything was sealed with the new key; everything can be opened, and rotating again finishes it"
    )]
    Store(#[from] Error),
}

impl ReaderLog {
    /// Reads, unless what is read could be taken back.
    async fn run<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.broken.check()?;
        self.readers.run(read).await
    }

    /// The same for what is found by its key.
    async fn run_quick<T: Send + 'static>(
        &self,
        read: impl FnOnce(&mut Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.broken.check()?;
        self.readers.run_quick(read).await
    }
}

impl SqliteStore {
    /// Opens the store of a data directory, or makes one.
    ///
    /// A file that is damaged, not a store, or newer than this program is refused, and left as it is.
    pub fn open(folder: &Path, options: Options) -> Result<Self, OpenError> {
        Self::open_with(folder, options, Durability::Synced)
    }

    /// Opens a store that answers before the disk has what it answered. For tests that must see the difference.
    #[doc(hidden)]
    pub fn open_unsynced(folder: &Path, options: Options) -> Result<Self, OpenError> {
        Self::open_with(folder, options, Durability::Unsynced)
    }

    fn open_with(folder: &Path, options: Options, durability: Durability) -> Result<Self, OpenError> {
        let opened = open::open(folder, options.readers, options.check_up_to, durability)?;
        let path = folder.join(open::DATABASE);
        let head = query::bounds(&opened.writer)
            .map_err(|error| OpenError::Damaged { path: path.clone(), what: error.to_string() })?
            .head;
        let feed = Arc::new(Feed::new(head, &options.limits));
        let readers = Readers::start(opened.quick, opened.readers)
            .map_err(|source| OpenError::Io { path: path.clone(), source })?;
        let broken = Broken::default();
        let versions = Arc::new(Versions::new(options.limits.max_versions));
        let log = ReaderLog {
            readers,
            keys: opened.keys.clone(),
            broken: broken.clone(),
            versions: versions.clone(),
        };
        let log = Arc::new(log);
        let shared = Shared { feed: feed.clone(), keys: opened.keys, broken, versions };
        let writer = Writer::start(opened.writer, shared, &options)
            .map_err(|source| OpenError::Sqlite { path, source })?;
        let inner = Inner { limits: options.limits, feed, log, writer, _lock: opened.lock };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Seals all secrets with a new key, and forgets the keys before it. No revision changes, and nobody has to stop.
    pub async fn rotate_key(&self) -> Result<(), Error> {
        self.inner.writer.send(|reply| Message::Rotate { reply }).await
    }

    async fn task(&self, task: Task) -> Result<Outcome, Error> {
        self.inner.writer.send(|reply| Message::Task { task, reply }).await
    }

    async fn lease(&self, task: Task) -> Result<Lease, Error> {
        match self.task(task).await? {
            Outcome::Lease(lease) => Ok(lease),
            Outcome::Committed(_) | Outcome::Released => Err(mixed_up()),
        }
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn current(&self) -> Result<Revision, Error> {
        self.inner.log.run_quick(|connection| query::bounds(connection).map(|bounds| bounds.head)).await
    }

    async fn get(&self, key: &Key) -> Result<Option<Stored>, Error> {
        let (key, keys) = (key.clone(), self.inner.log.keys.clone());
        self.inner.log.run_quick(move |connection| query::get(connection, &key, &keys)).await
    }

    async fn list(&self, request: &ListRequest) -> Result<Page, Error> {
        check::filter(&request.filter)?;
        let (request, log) = (request.clone(), self.inner.log.clone());
        let read =
            move |connection: &mut Connection| query::list(connection, &request, &log.keys, &log.versions);
        self.inner.log.run(read).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        check::filter(filter)?;
        let filter = filter.clone();
        self.inner.log.run(move |connection| query::count(connection, &filter)).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        check::transaction(&transaction, &self.inner.limits)?;
        match self.task(Task::Commit(transaction)).await? {
            Outcome::Committed(committed) => Ok(committed),
            Outcome::Lease(_) | Outcome::Released => Err(mixed_up()),
        }
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch, Error> {
        check::filter(&request.filter)?;
        let from = request.from;
        let position =
            self.inner.log.run_quick(move |connection| query::watch_position(connection, from)).await?;
        Ok(self.inner.feed.watch(request, position, self.inner.log.clone()))
    }

    async fn blob(&self, digest: &Sha256Digest) -> Result<Option<Bytes>, Error> {
        let digest = *digest;
        self.inner.log.run(move |connection| query::blob(connection, &digest)).await
    }

    async fn compact(&self, up_to: Revision) -> Result<Revision, Error> {
        self.inner.writer.send(|reply| Message::Compact { up_to, reply }).await
    }

    async fn acquire(&self, claim: Claim) -> Result<Lease, Error> {
        check::claim(&claim)?;
        self.lease(Task::Acquire(claim)).await
    }

    async fn renew(&self, fence: &Fence, claim: Claim) -> Result<Lease, Error> {
        check::claim(&claim)?;
        self.lease(Task::Renew(fence.clone(), claim)).await
    }

    async fn release(&self, fence: &Fence) -> Result<(), Error> {
        self.task(Task::Release(fence.clone())).await.map(drop)
    }
}

#[async_trait]
impl Log for ReaderLog {
    async fn read(&self, after: Revision, limit: usize, filter: &Filter) -> Result<Logged, Error> {
        let (keys, filter) = (self.keys.clone(), filter.clone());
        let records = self.run(move |connection| query::log(connection, after, limit, &filter, &keys)).await;
        records.map(Logged::Records)
    }
}

/// Each task has one kind of outcome; another one would be a mistake of ours.
fn mixed_up() -> Error {
    Error::Unknown { cause: "the writer answered something else".into() }
}
