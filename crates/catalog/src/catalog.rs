//! Records and blobs together.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use lanai_types::ByteSize;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::{Mutex as Gate, OwnedMutexGuard};

use crate::presence::Presence;
use crate::records::{Claim, Error, Records, Reserved};
use crate::ticket::{Lease, Ticket};
use crate::why::{Miss, difference};
use crate::{Blobs, Entry, Inputs, Key, Moment, SqliteRecords, Subject};

/// What time it is.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;

/// How a catalog behaves.
#[derive(Clone)]
pub struct Options {
    /// How much it keeps; beyond that, what was not used for longest goes.
    pub max_bytes: ByteSize,
    /// How large one result may be; a larger one is not kept.
    pub max_result: ByteSize,
    /// How long a piece of work belongs to a process that shows no sign of life. The living extend it three times in that time.
    pub lease: Duration,
    /// How often a process looks whether another one is done.
    pub poll: Duration,
    /// What time it is.
    pub clock: Clock,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_bytes: ByteSize::gib(2),
            max_result: ByteSize::mib(256),
            lease: Duration::from_secs(15),
            poll: Duration::from_millis(50),
            clock: Arc::new(Moment::of_the_clock),
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { max_bytes, max_result, lease, poll, clock: _ } = self;
        write!(f, "Options {{ {max_bytes}, {max_result}, lease {lease:?}, poll {poll:?} }}")
    }
}

/// Results that were computed before. Clones share everything.
///
/// Nothing that is wrong with it is an error for whoever asks: what cannot be found, read or trusted is a miss, and what cannot be kept
/// is not kept.
#[derive(Clone)]
pub struct Catalog(Arc<Inner>);

pub(crate) struct Inner {
    pub records: Arc<dyn Records>,
    pub blobs: Blobs,
    pub options: Options,
    /// Who asks, among all processes that share the records.
    name: String,
    presence: Option<Presence>,
    asked: AtomicU64,
    gates: Mutex<HashMap<Key, Weak<Gate<Shared>>>>,
}

/// What those who ask for one key at the same time share: the result, once it is there.
#[derive(Default)]
pub(crate) struct Shared {
    hit: Option<Hit>,
}

/// A result that was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// What is known about it.
    pub entry: Entry,
    /// Its content, which has the digest of the entry.
    pub content: Bytes,
}

/// What one who asks gets.
#[derive(Debug)]
pub enum Begun {
    /// The result.
    Hit(Hit),
    /// The right to make it, and why it was not there.
    Run(Ticket, Miss),
}

impl Catalog {
    /// A catalog in a folder: `catalog.db`, and `blobs` with the contents.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn open(folder: &Path, options: Options) -> Result<Self, Error> {
        let records = SqliteRecords::open(folder)?;
        let blobs = Blobs::in_folder(&folder.join("blobs"))?;
        let name = name(&options);
        let presence = Presence::new(&folder.join("owners"), &name);
        Ok(Self::named(Arc::new(records), blobs, options, name, presence))
    }

    /// A catalog of these.
    pub fn new(records: Arc<dyn Records>, blobs: Blobs, options: Options) -> Self {
        let name = name(&options);
        Self::named(records, blobs, options, name, None)
    }

    fn named(
        records: Arc<dyn Records>,
        blobs: Blobs,
        options: Options,
        name: String,
        presence: Option<Presence>,
    ) -> Self {
        let (asked, gates) = (AtomicU64::new(0), Mutex::default());
        Self(Arc::new(Inner { records, blobs, options, name, presence, asked, gates }))
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Gets the result of a piece of work, or the right to do it.
    ///
    /// Waits while somebody else does it. Whoever does not want to wait any longer drops the future.
    pub async fn begin(&self, inputs: &Inputs, subject: &Subject) -> Begun {
        let key = inputs.key();
        let mut gate = self.gate(&key).lock_owned().await;
        if let Some(hit) = &gate.hit {
            return Begun::Hit(hit.clone());
        }
        match self.seek(&key, inputs, subject).await {
            Ok(Sought::Found(hit)) => {
                gate.hit = Some(hit.clone());
                Begun::Hit(hit)
            }
            Ok(Sought::Granted(lease, miss)) => {
                Begun::Run(Ticket::new(self.clone(), inputs, subject, Some(lease), gate), miss)
            }
            Err(error) => {
                tracing::warn!(%error, "the catalog is not used");
                let miss = Miss::Unusable(error.to_string());
                Begun::Run(Ticket::new(self.clone(), inputs, subject, None, gate), miss)
            }
        }
    }

    /// Looks for a result, and waits for nobody.
    pub async fn lookup(&self, inputs: &Inputs, subject: &Subject) -> Result<Hit, Miss> {
        let found = self.look(&inputs.key(), inputs, subject).await;
        found.unwrap_or_else(|error| Err(Miss::Unusable(error.to_string())))
    }

    async fn seek(&self, key: &Key, inputs: &Inputs, subject: &Subject) -> Result<Sought, Error> {
        let mut miss = match self.look(key, inputs, subject).await? {
            Ok(hit) => return Ok(Sought::Found(hit)),
            Err(miss) => miss,
        };
        let owner = format!("{}-{}", self.0.name, self.0.asked.fetch_add(1, Ordering::Relaxed));
        let mut dead = None;
        loop {
            match self.reserve(*key, owner.clone(), dead.take()).await? {
                Reserved::Granted(number) => {
                    return Ok(Sought::Granted(Lease { key: *key, owner, number }, miss));
                }
                Reserved::Done => match self.look(key, inputs, subject).await? {
                    Ok(hit) => return Ok(Sought::Found(hit)),
                    Err(now) => miss = now,
                },
                Reserved::Held { owner, .. } if self.is_dead(&owner) => dead = Some(owner),
                Reserved::Held { until, .. } => {
                    let left = until.since((self.0.options.clock)()).max(Duration::from_millis(1));
                    tokio::time::sleep(left.min(self.0.options.poll)).await;
                }
            }
        }
    }

    pub(crate) async fn reserve(
        &self,
        key: Key,
        owner: String,
        dead: Option<String>,
    ) -> Result<Reserved, Error> {
        let time = self.0.options.lease;
        self.with_records(move |records, now| {
            records.reserve(&Claim { key: &key, owner: &owner, time, now, dead: dead.as_deref() })
        })
        .await
    }

    /// Whether the process of an owner is gone for sure.
    fn is_dead(&self, owner: &str) -> bool {
        let name = owner.rsplit_once('-').map(|(name, _)| name);
        self.0.presence.as_ref().zip(name).is_some_and(|(presence, name)| presence.is_gone(name))
    }

    async fn look(&self, key: &Key, inputs: &Inputs, subject: &Subject) -> Result<Result<Hit, Miss>, Error> {
        let (key, about) = (*key, subject.clone());
        let (found, last) = self
            .with_records(move |records, now| match records.find(&key, now)? {
                Some(entry) => Ok((Some(entry), None)),
                None => Ok((None, records.last(&about)?)),
            })
            .await?;
        let Some(entry) = found else {
            return Ok(Err(match last {
                None => Miss::First,
                Some(last) => difference(inputs, &last).map_or(Miss::NotKept, Miss::Differs),
            }));
        };
        match self.0.blobs.get(&entry.blob).await {
            Ok(content) => {
                let (about, trace) = (subject.clone(), inputs.trace());
                self.with_records(move |records, now| records.used(&key, &about, &trace, now)).await?;
                Ok(Ok(Hit { entry, content }))
            }
            Err(damage) => {
                tracing::warn!(key = %entry.key, %damage, "a result is made anew");
                self.with_records(move |records, _| records.forget(&key, &entry.blob)).await?;
                Ok(Err(Miss::Damaged))
            }
        }
    }

    /// Asks the records, away from the threads that wait.
    pub(crate) async fn with_records<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&dyn Records, Moment) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let inner = Arc::clone(&self.0);
        let asked = tokio::task::spawn_blocking(move || ask(&*inner.records, (inner.options.clock)()));
        asked.await.unwrap_or_else(|cause| {
            Err(Error::Unusable { path: "catalog".into(), cause: format!("its thread is gone: {cause}") })
        })
    }

    /// The gate behind which all who ask for a key in this process stand.
    fn gate(&self, key: &Key) -> Arc<Gate<Shared>> {
        let mut gates = self.0.gates.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(gate) = gates.get(key).and_then(Weak::upgrade) {
            return gate;
        }
        gates.retain(|_, gate| gate.strong_count() > 0);
        let gate = Arc::default();
        gates.insert(*key, Arc::downgrade(&gate));
        gate
    }
}

impl fmt::Debug for Catalog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Catalog").field("records", &self.0.records).finish_non_exhaustive()
    }
}

/// A name that no other process has.
fn name(options: &Options) -> String {
    let mut chance = [0; 8];
    // Without chance the process and the moment are all there is; no two processes have both in common.
    let _ = SystemRandom::new().fill(&mut chance);
    format!("{}-{}-{:016x}", std::process::id(), (options.clock)().0, u64::from_le_bytes(chance))
}

enum Sought {
    Found(Hit),
    Granted(Lease, Miss),
}

/// The place at the head of those who ask for a key.
pub(crate) struct Turn(OwnedMutexGuard<Shared>);

impl Turn {
    pub fn new(gate: OwnedMutexGuard<Shared>) -> Self {
        Self(gate)
    }

    /// Those behind get the result without asking.
    pub fn share(&mut self, hit: Hit) {
        self.0.hit = Some(hit);
    }
}
