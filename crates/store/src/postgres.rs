//! A store in a PostgreSQL server, for several processes.

mod ahead;
mod compact;
mod counter;
mod follow;
mod load;
mod query;
mod rotate;
mod rows;
mod schema;
mod seen;
mod session;
mod statement;
mod tls;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use async_trait::async_trait;
use bytes::Bytes;
use lanai_types::Sha256Digest;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::feed::Feed;
use crate::lease::{Claim, Fence, Lease};
use crate::list::{ListRequest, Page, within};
use crate::plan::{Outcome, Task};
use crate::seal::{self, Keyring};
use crate::transaction::{Committed, Transaction};
use crate::watch::{Watch, WatchFrom, WatchRequest};
use crate::{Error, Filter, Key, Limits, Revision, Store, Stored, check};
use follow::Follower;
use query::Readers;
use session::{Address, Link, Session};
use tls::Tls;
use writer::{Message, Writer};

pub use session::Fault;
pub use tls::Error as TlsError;

/// How a store is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What it takes and keeps. Processes of one store have the same.
    pub limits: Limits,
    /// Connections that read.
    pub readers: usize,
    /// The schema that holds the tables: a lower-case letter, then letters, digits and underscores.
    pub schema: String,
    /// A file with the certificates (PEM) of those who vouch for the server, in place of the system's. Of use with `sslmode=require` only.
    pub authorities: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { limits: Limits::DEFAULT, readers: 4, schema: "lanai".into(), authorities: None }
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The address of the server is none.
    #[error("this is no address of a PostgreSQL server")]
    Address(#[source] tokio_postgres::Error),
    /// The schema has no name that can be used.
    #[error(
        "\"{raw}\" is no name for a schema: use a lower-case letter, then letters, digits and underscores"
    )]
    Schema {
        /// The name.
        raw: String,
    },
    /// The connection cannot be encrypted.
    #[error("the connection to the PostgreSQL server cannot be encrypted")]
    Tls(#[from] tls::Error),
    /// The server cannot be asked, or refuses.
    #[error("the PostgreSQL server cannot be used")]
    Server(#[from] Fault),
    /// The keys for secrets are not there, or cannot be used.
    #[error("secrets cannot be opened")]
    Keys(#[from] seal::Error),
    /// What the server holds does not fit.
    #[error("the store cannot be read")]
    Store(#[from] Error),
}

/// A store in a PostgreSQL server. Several processes may have it at once, each with one of these.
///
/// Revisions become visible in their order, whichever process gives them. A process hears of the writes of others through notifications, and
/// reads them from the tables in order. A server that comes back with less than was seen here (a fail-over that lost something)
/// goes on at a revision that nothing ever had, as after a restore.
///
/// Needs a tokio runtime for as long as it lives.
#[derive(Debug, Clone)]
pub struct PostgresStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    limits: Limits,
    feed: Arc<Feed>,
    readers: Arc<Readers>,
    messages: mpsc::Sender<Message>,
    follower: Arc<Follower>,
    /// Reads what is new.
    following: JoinHandle<()>,
    /// Hears of other processes.
    listening: JoinHandle<()>,
    /// Ends by itself, when it has finished what it took.
    _writing: JoinHandle<()>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.feed.close();
        // They only read.
        self.following.abort();
        self.listening.abort();
    }
}

impl PostgresStore {
    /// Opens the store of a server, or makes one. The address is a connection string as libpq has it. With `sslmode=require` connections
    /// are encrypted, and the server must be the one that its certificate says (libpq's `verify-full`); otherwise they are not.
    ///
    /// The key file is that of this process; processes of one store have the same keys. The first process notes which; one that has others is
    /// refused.
    pub async fn open(address: &str, key_file: &Path, options: Options) -> Result<Self, OpenError> {
        let config: tokio_postgres::Config = address.parse().map_err(OpenError::Address)?;
        check_schema(&options.schema)?;
        let tls = Tls::of(&config, options.authorities.as_deref())?;
        let address = Address::new(config, options.schema.clone(), tls);
        let session = Session::connect(&address).await?;
        schema::migrate(&session.client, &address.schema).await?;
        let keys = Arc::new(RwLock::new(open_keys(&session, key_file).await?));
        let readers = Arc::new(Readers::new(&address, options.readers, keys.clone()));
        let head = readers.bounds().await?.head;
        let feed = Arc::new(Feed::new(head, &options.limits));
        let follower = Arc::new(Follower::new(feed.clone(), readers.clone()));
        let channel = format!("lanai_store_{}", options.schema);
        let (messages, queue) = mpsc::channel(writer::QUEUE);
        let writer = Writer {
            link: Link::new(address.clone()),
            follower: follower.clone(),
            keys,
            limits: options.limits,
            channel: channel.clone(),
            compaction: None,
            rotation: None,
        };
        let inner = Inner {
            limits: options.limits,
            feed,
            readers,
            messages,
            following: tokio::spawn(follower.clone().follow(address.clone())),
            listening: tokio::spawn(follower.clone().listen(address, channel)),
            _writing: tokio::spawn(writer.run(queue)),
            follower,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Seals all secrets with a new key, and forgets the keys before it. No revision changes, and nobody has to stop.
    ///
    /// Other processes read the key file again when they need the new key: they must have the same file, or get it before they write or read
    /// the next secret.
    pub async fn rotate_key(&self) -> Result<(), Error> {
        self.send(|reply| Message::Rotate { reply }).await
    }

    /// Why this process does not hear of what happens, or a part of history that it could not hand to watchers.
    pub fn trouble(&self) -> Option<Error> {
        self.inner.follower.trouble()
    }

    async fn send<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Message,
    ) -> Result<T, Error> {
        let (reply, answer) = oneshot::channel();
        let closed = || Error::Unavailable { cause: "the store is closed".into() };
        self.inner.messages.send(message(reply)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| Error::Unknown { cause: "the writer of the store has ended".into() })?
    }

    async fn task(&self, task: Task) -> Result<Outcome, Error> {
        self.send(|reply| Message::Task { task, reply }).await
    }

    async fn lease(&self, task: Task) -> Result<Lease, Error> {
        match self.task(task).await? {
            Outcome::Lease(lease) => Ok(lease),
            Outcome::Committed(_) | Outcome::Released => Err(mixed_up()),
        }
    }
}

fn check_schema(raw: &str) -> Result<(), OpenError> {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if raw.len() > 40 || !raw.starts_with(|first: char| first.is_ascii_lowercase()) || !raw.bytes().all(fits)
    {
        return Err(OpenError::Schema { raw: raw.to_owned() });
    }
    Ok(())
}

/// Reads the key file, or makes one for a new store, and notes its key with the store: processes that start together with a new file
/// each do not both go on.
async fn open_keys(session: &Session, file: &Path) -> Result<Keyring, OpenError> {
    let used = counter::used_keys(session).await.map_err(Fault::Server)?;
    let keys = match (Keyring::load(file)?, used.first()) {
        (Some(keys), _) => keys,
        (None, None) => Keyring::create(file)?,
        (None, Some(used)) => {
            return Err(seal::Error::Missing { id: used.id, path: file.to_owned() }.into());
        }
    };
    if used.is_empty() {
        let newest = keys.newest();
        let noted = rows::note_key(session, i64::from(newest.0), keys.fingerprint(newest)).await;
        noted.map_err(Fault::Server)?;
    }
    for used in counter::used_keys(session).await.map_err(Fault::Server)? {
        keys.check(&used)?;
    }
    Ok(keys)
}

#[async_trait]
impl Store for PostgresStore {
    async fn current(&self) -> Result<Revision, Error> {
        self.inner.readers.bounds().await.map(|bounds| bounds.head)
    }

    async fn get(&self, key: &Key) -> Result<Option<Stored>, Error> {
        self.inner.readers.get(key).await
    }

    async fn list(&self, request: &ListRequest) -> Result<Page, Error> {
        check::filter(&request.filter)?;
        self.inner.readers.list(request).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        check::filter(filter)?;
        self.inner.readers.count(filter).await
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
        let bounds = self.inner.readers.bounds().await?;
        let position = match request.from {
            WatchFrom::Now => bounds.head,
            WatchFrom::After(revision) => within(revision, bounds.head, bounds.horizon)?,
        };
        Ok(self.inner.feed.watch(request, position, self.inner.readers.clone()))
    }

    async fn blob(&self, digest: &Sha256Digest) -> Result<Option<Bytes>, Error> {
        self.inner.readers.blob(digest).await
    }

    async fn compact(&self, up_to: Revision) -> Result<Revision, Error> {
        self.send(|reply| Message::Compact { up_to, reply }).await
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

/// Each task has one kind of outcome; another one would be a mistake of ours.
fn mixed_up() -> Error {
    Error::Unknown { cause: "the writer answered something else".into() }
}
