//! The engine: what all verbs share.

use std::future::Future;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use lanai_repository::packages::{Repositories, Settings};
use lanai_store::{Condition, Presence, Revision, Store, Transaction, Write};
use lanai_types::{Namespace, ObjectName};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::asked::Asked;
use crate::credentials::Secrets;
use crate::doubt::Doubt;
use crate::error::{CONCURRENT, Error, Reason};
use crate::fetch::{Fetcher, InStore};
use crate::journal::Pushes;
use crate::locks::{Locks, Recent};
use crate::outbox::Outbox;
use crate::readiness::Readiness;
use crate::rendering::{Runtimes, Turns};
use crate::repositories::Opened;
use crate::rows;
use crate::state::State;

/// What time it is.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// What an engine is made of.
pub struct Options {
    /// Where everything is remembered.
    pub store: Arc<dyn Store>,
    /// How Git repositories are reached.
    pub git: lanai_repository::Options,
    /// Where repositories of our own are, and bounds on pushes.
    pub settings: Settings,
    /// Who runs functions.
    pub runtimes: Arc<dyn Runtimes>,
    /// How many pipelines run at the same time; others wait.
    pub max_renders: NonZeroUsize,
    /// Whether the server looks at gates.
    pub readiness: Readiness,
    /// What time it is.
    pub clock: Clock,
}

/// Who asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The user, who becomes the author of commits.
    pub user: String,
    /// Whether it is only a rehearsal.
    pub dry_run: DryRun,
}

/// Whether something is only a rehearsal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DryRun {
    /// It is meant.
    #[default]
    No,
    /// Nothing is written.
    Yes,
}

/// What a verb made.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The object, with its version.
    pub object: Value,
    /// What the client should know.
    pub warnings: Vec<String>,
}

impl From<Value> for Answer {
    fn from(object: Value) -> Self {
        Self { object, warnings: Vec::new() }
    }
}

/// Package revisions, with all verbs. Clones are the same engine.
#[derive(Clone)]
pub struct Engine {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) repositories: Arc<Opened>,
    pub(crate) fetcher: Fetcher,
    pub(crate) runtimes: Arc<dyn Runtimes>,
    /// Turns to run a pipeline.
    pub(crate) renders: Turns,
    pub(crate) readiness: Readiness,
    pub(crate) clock: Clock,
    /// Requests on one revision.
    pub(crate) requests: Locks,
    /// Who talks to the remote about one revision.
    pub(crate) talks: Locks,
    pub(crate) recent: Recent,
    pub(crate) doubt: Arc<Doubt>,
    pub(crate) pushes: Arc<Pushes>,
    pub(crate) outbox: Outbox,
    pub(crate) asked: Asked,
    pub(crate) tasks: TaskTracker,
    pub(crate) ending: CancellationToken,
}

/// How often something begins again because somebody else was faster.
pub(crate) const MAX_ATTEMPTS: usize = 32;

impl Engine {
    /// Begins: what an earlier process left is taken up in the background, so that a remote that is down delays nothing.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn start(options: Options) -> Result<Self, Error> {
        let Options { store, git, settings, runtimes, max_renders, readiness, clock } = options;
        let handle = tokio::runtime::Handle::current();
        let doubt = Arc::new(Doubt::default());
        let pushes = Arc::new(Pushes::new(store.clone(), handle.clone(), doubt.clone()));
        let secrets = Arc::new(Secrets::new(store.clone(), handle));
        let git = Arc::new(Repositories::new(git, settings, secrets, pushes.clone()));
        let repositories = Arc::new(Opened::new(store.clone(), git.clone()));
        let in_store = Arc::new(InStore(store.clone()));
        let fetcher = Fetcher {
            opener: repositories.clone(),
            references: in_store.clone(),
            credentials: in_store,
            store: store.clone(),
            git,
        };
        let inner = Inner {
            store,
            repositories,
            fetcher,
            runtimes,
            renders: Turns::new(max_renders),
            readiness,
            clock,
            requests: Locks::default(),
            talks: Locks::default(),
            recent: Recent::default(),
            doubt,
            pushes,
            outbox: Outbox::default(),
            asked: Asked::default(),
            tasks: TaskTracker::new(),
            ending: CancellationToken::new(),
        };
        let engine = Self { inner: Arc::new(inner) };
        engine.take_up().await?;
        Ok(engine)
    }

    /// Ends: work that was begun is finished, what waits for a remote is left for the next start.
    pub async fn stop(&self) {
        self.inner.ending.cancel();
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// The way to Git repositories, also those of our own.
    pub fn git(&self) -> &Arc<Repositories> {
        self.inner.repositories.git()
    }

    /// What time it is.
    pub(crate) fn now(&self) -> Timestamp {
        (self.inner.clock)()
    }

    /// Does something that is finished also when nobody waits for it any more.
    pub(crate) async fn finish<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, Error> {
        let done = self.inner.tasks.spawn(work).await;
        done.map_err(|error| Error::internal(format!("the work broke off: {error}")))?
    }

    /// A revision, as the store has it.
    pub(crate) async fn load(&self, namespace: &Namespace, name: &ObjectName) -> Result<Loaded, Error> {
        let store = &self.inner.store;
        let stored = store.get(&rows::revision_key(namespace, name)).await?;
        let stored =
            stored.ok_or_else(|| self.lost(namespace, name.as_str(), Error::not_found(name.as_str())))?;
        let state = store.get(&rows::state_key(namespace, name)).await?;
        let state = state.ok_or_else(|| Error::internal(format!("nothing is remembered of \"{name}\"")))?;
        let state = rows::decode_state(&state)?;
        Ok(Loaded {
            namespace: namespace.clone(),
            name: name.clone(),
            object: rows::decode(&stored)?,
            revision: stored.revision,
            state: state.value,
            state_revision: state.revision,
        })
    }

    /// An error for somebody who came too late: says so, if somebody else was there a moment ago.
    pub(crate) fn lost(&self, namespace: &Namespace, name: &str, mut error: Error) -> Error {
        if let Some(said) = self.was_just_written(namespace.as_str(), name) {
            error = error.because(CONCURRENT, said, "");
        }
        error
    }

    /// What somebody is told who came too late, if somebody else wrote a moment ago.
    pub fn was_just_written(&self, namespace: &str, name: &str) -> Option<String> {
        let key = format!("{namespace}/{name}");
        self.inner.recent.is_recent(&key, Instant::now()).then(|| {
            format!(
                "another request is already in progress or has just finished on package revision \"{key}\""
            )
        })
    }

    /// Something was written.
    pub(crate) fn note(&self, namespace: &Namespace, name: &str) {
        self.inner.recent.note(&format!("{namespace}/{name}"), Instant::now());
    }
}

/// A revision, as the store has it.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) namespace: Namespace,
    pub(crate) name: ObjectName,
    /// The object, with its version.
    pub(crate) object: Value,
    pub(crate) revision: Revision,
    pub(crate) state: State,
    pub(crate) state_revision: Revision,
}

impl Loaded {
    /// Replaces the object of the revision.
    pub(crate) fn write_object(&self, object: &Value) -> Write {
        Write::Update {
            key: rows::revision_key(&self.namespace, &self.name),
            expected: self.revision,
            object: rows::encode_revision(object),
        }
    }

    /// Replaces what is remembered of it.
    pub(crate) fn write_state(&self, state: &State) -> Write {
        Write::Update {
            key: rows::state_key(&self.namespace, &self.name),
            expected: self.state_revision,
            object: state.to_object(),
        }
    }

    /// The object must be as it was read.
    pub(crate) fn holds(&self) -> Condition {
        Condition::Presence {
            key: rows::revision_key(&self.namespace, &self.name),
            expected: Presence::At(self.revision),
        }
    }
}

/// An object with the version that a write gave it.
pub(crate) fn at(mut object: Value, revision: Revision) -> Value {
    object["metadata"]["resourceVersion"] = json!(revision.to_string());
    object
}

/// Does a transaction; the revision of the write to `key`.
pub(crate) async fn commit(
    store: &dyn Store,
    transaction: Transaction,
    index: usize,
) -> Result<Revision, Error> {
    let committed = store.commit(transaction).await?;
    committed.revisions.get(index).copied().ok_or_else(|| Error::internal("a write has no revision"))
}

/// True when somebody else was faster, and it can begin again.
pub(crate) fn is_overtaken(error: &Error) -> bool {
    error.reason == Reason::Overtaken
}
