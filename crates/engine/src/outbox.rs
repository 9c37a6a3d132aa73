//! What the remote still has to get: drafts, moves between stages, marks, branches of what was deleted.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use lanai_repository::packages::{
    Bring, Conflict, Done, Mark, Operation, Person, Place, Request, WriteError,
};
use lanai_repository::{Silent, packages};
use lanai_store::{Transaction, Write};
use lanai_types::{ByteSize, Namespace, ObjectName, RepositoryName};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use crate::doubt;
use crate::engine::{Engine, MAX_ATTEMPTS, is_overtaken};
use crate::error::{Error, Reason};
use crate::fetch::blocking;
use crate::publish::write_error;
use crate::repositories::Registered;
use crate::rows::{self, Row};
use crate::state::{self, Deleted, Deletion, Draft, Life, Published, Pushed, Stage, State};

/// How long a worker waits for more to come before it pushes: what follows within it goes in the same push.
const GATHER: Duration = Duration::from_millis(100);
/// The first pause after a failure; each further one is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
/// The longest pause.
const MAX_PAUSE: Duration = Duration::from_mins(1);
/// How many revisions of one repository are pushed at a time.
const MAX_TOGETHER: usize = 32;

/// How much content of one draft goes in one push; one version always does.
pub const MAX_PART: ByteSize = ByteSize::mib(8);
/// How much content is on its way to one repository at a time; one version always is.
pub const MAX_IN_FLIGHT: ByteSize = ByteSize::mib(32);

/// The workers, one for each repository with something to be pushed.
#[derive(Default)]
pub(crate) struct Outbox {
    workers: Mutex<HashMap<(Namespace, RepositoryName), Worker>>,
}

#[derive(Default)]
struct Worker {
    is_running: bool,
    /// Something came while it ran.
    again: bool,
    /// Why the last round did not push everything.
    failure: Option<String>,
    /// Ends a pause.
    nudged: Arc<Notify>,
}

/// What a repository still has to get.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutboxReport {
    /// How many revisions wait.
    pub pending: u64,
    /// Why they could not be pushed the last time.
    pub failure: Option<String>,
}

/// What became of one revision.
enum Sent {
    Done,
    /// There was more of it than goes in one push.
    Part,
    /// The remote is not as it was believed to be: a look at it will tell.
    Look,
    Failed(Error),
}

/// Room for content that is on its way to one repository.
#[derive(Clone)]
struct Room(Arc<Semaphore>);

impl Room {
    /// What one permit stands for, in bytes.
    const UNIT: u64 = 1024;

    fn new() -> Self {
        Self(Arc::new(Semaphore::new(usize::try_from(Self::most()).unwrap_or(Semaphore::MAX_PERMITS))))
    }

    fn most() -> u32 {
        u32::try_from(MAX_IN_FLIGHT.get() / Self::UNIT).unwrap_or(u32::MAX)
    }

    /// Waits until there is room for what goes of a revision.
    async fn take(&self, state: &State) -> Option<OwnedSemaphorePermit> {
        let bytes: u64 =
            state.draft().into_iter().flat_map(|draft| &draft.unpushed).map(|one| one.bytes).sum();
        let units = u32::try_from(bytes.div_ceil(Self::UNIT)).unwrap_or(u32::MAX).min(Self::most());
        self.0.clone().acquire_many_owned(units).await.ok()
    }
}

impl Outbox {
    fn with<T>(&self, key: &(Namespace, RepositoryName), change: impl FnOnce(&mut Worker) -> T) -> T {
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        change(workers.entry(key.clone()).or_default())
    }

    /// Ends the pause of a worker whose last round failed.
    pub(crate) fn nudge(&self, namespace: &Namespace, repository: &RepositoryName) {
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let worker = workers.get(&(namespace.clone(), repository.clone()));
        if let Some(worker) = worker.filter(|worker| worker.failure.is_some()) {
            worker.nudged.notify_one();
        }
    }
}

impl Engine {
    /// Something is to be pushed.
    pub(crate) fn kick(&self, namespace: &Namespace, repository: &RepositoryName) {
        let key = (namespace.clone(), repository.clone());
        let is_first = self.inner.outbox.with(&key, |worker| {
            let is_first = !worker.is_running;
            worker.again = true;
            worker.is_running = true;
            is_first
        });
        if is_first && !self.inner.ending.is_cancelled() {
            let engine = self.clone();
            self.inner.tasks.spawn(async move { engine.work(key).await });
        }
    }

    /// What a repository still has to get.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn outbox(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
    ) -> Result<OutboxReport, Error> {
        let filter = pending_filter(namespace, repository)?;
        let pending = self.inner.store.count(&filter).await?;
        let key = (namespace.clone(), repository.clone());
        let failure = self.inner.outbox.with(&key, |worker| worker.failure.clone()).filter(|_| pending > 0);
        Ok(OutboxReport { pending, failure })
    }

    /// Pushes until nothing is left, or the server ends.
    async fn work(&self, key: (Namespace, RepositoryName)) {
        let mut pause = FIRST_PAUSE;
        let mut wait = GATHER;
        let nudged = self.inner.outbox.with(&key, |worker| worker.nudged.clone());
        loop {
            tokio::select! {
                () = self.inner.ending.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
                () = nudged.notified() => {}
            }
            self.inner.outbox.with(&key, |worker| worker.again = false);
            match self.flush(&key.0, &key.1).await {
                Ok(()) => {
                    let (is_done, had_failed) = self.inner.outbox.with(&key, |worker| {
                        worker.is_running = worker.again;
                        (!worker.again, worker.failure.take().is_some())
                    });
                    if had_failed {
                        self.ask_for_look(&key.0, &key.1);
                    }
                    if is_done {
                        return;
                    }
                    (pause, wait) = (FIRST_PAUSE, GATHER);
                }
                // Only the object tells that: a remote that is not found may be there again in a moment.
                Err(_) if self.is_unregistered(&key).await => {
                    // The repository is gone, and with it what waited.
                    self.inner.outbox.with(&key, |worker| *worker = Worker::default());
                    return;
                }
                Err(error) => {
                    tracing::warn!(namespace = %key.0, repository = %key.1, %error, "drafts were not pushed");
                    let is_first = self
                        .inner
                        .outbox
                        .with(&key, |worker| worker.failure.replace(error.to_string()).is_none());
                    if is_first {
                        self.ask_for_look(&key.0, &key.1);
                    }
                    wait = pause;
                    pause = (pause * 2).min(MAX_PAUSE);
                }
            }
        }
    }

    /// Whether there is no such repository any more. What cannot be read is still there.
    async fn is_unregistered(&self, (namespace, repository): &(Namespace, RepositoryName)) -> bool {
        matches!(self.inner.repositories.is_there(namespace, repository).await, Ok(false))
    }

    /// Sends what waits for a remote that was reached.
    pub(crate) async fn kick_if_pending(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
    ) -> Result<(), Error> {
        if self.inner.store.count(&pending_filter(namespace, repository)?).await? > 0 {
            self.kick(namespace, repository);
        }
        Ok(())
    }

    /// Pushes all that waits.
    ///
    /// # Errors
    /// The first failure; the others were tried as well.
    pub(crate) async fn flush(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
    ) -> Result<(), Error> {
        let mut looked = false;
        loop {
            let waiting =
                rows::list(self.inner.store.as_ref(), pending_filter(namespace, repository)?).await?;
            if waiting.is_empty() {
                return Ok(());
            }
            let (registered, _) = self.inner.repositories.any(namespace, repository.as_str()).await?;
            let mut names: Vec<ObjectName> =
                waiting.iter().filter_map(|stored| stored.key.name().parse().ok()).collect();
            let (mut failure, mut look) = (None, false);
            let mut sending = JoinSet::new();
            let room = Room::new();
            while !names.is_empty() || !sending.is_empty() {
                while sending.len() < MAX_TOGETHER {
                    let Some(name) = names.pop() else { break };
                    let (engine, namespace, registered, room) =
                        (self.clone(), namespace.clone(), registered.clone(), room.clone());
                    sending.spawn(async move { engine.send(&namespace, &name, &registered, &room).await });
                }
                match sending.join_next().await {
                    Some(Ok(Sent::Done | Sent::Part)) | None => {}
                    Some(Ok(Sent::Look)) => look = true,
                    Some(Ok(Sent::Failed(error))) => failure = failure.or(Some(error)),
                    Some(Err(error)) => failure = failure.or(Some(Error::internal(error))),
                }
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
            if look {
                if looked {
                    let why = "the remote is not as expected, also after a look at it";
                    return Err(Error::new(Reason::Conflict, repository.as_str(), why));
                }
                looked = true;
                self.sync(namespace, repository).await?;
            }
        }
    }

    /// Pushes one revision before it is answered.
    pub(crate) async fn push_now(&self, namespace: &Namespace, name: &ObjectName) -> Result<(), Error> {
        let (registered, _) = self.inner.repositories.any(namespace, name.repository().as_str()).await?;
        let failure = match self.send(namespace, name, &registered, &Room::new()).await {
            Sent::Done | Sent::Part => return Ok(()),
            Sent::Look => Error::new(Reason::Conflict, name.as_str(), "somebody else changed its branch"),
            Sent::Failed(error) => error,
        };
        self.kick(namespace, name.repository());
        let text = format!("it is saved here, and the remote does not have it yet: {}", failure.message);
        Err(Error { message: text, ..failure })
    }

    /// Brings the remote to where one revision shall be.
    async fn send(
        &self,
        namespace: &Namespace,
        name: &ObjectName,
        registered: &Arc<Registered>,
        room: &Room,
    ) -> Sent {
        let _talk = self.inner.talks.lock(&format!("{namespace}/{name}")).await;
        if self.inner.doubt.check(namespace, name.as_str()).is_err() {
            return Sent::Failed(Error::new(
                Reason::Unknown,
                name.as_str(),
                "it is not known what became of the last push",
            ));
        }
        loop {
            match self.send_part(namespace, name, registered, room).await {
                Ok(Sent::Part) => {}
                Ok(sent) => return sent,
                Err(error) => return Sent::Failed(error),
            }
        }
    }

    /// Pushes of a draft that is to be published what is more than goes in one push.
    ///
    /// # Errors
    /// What the remote refuses.
    pub(crate) async fn send_all_but_last(
        &self,
        namespace: &Namespace,
        name: &ObjectName,
        registered: &Arc<Registered>,
    ) -> Result<(), Error> {
        while let Some(state) = self.state(namespace, name).await?
            && state.value.first_part(MAX_PART).life != state.value.life
        {
            match self.send_part(namespace, name, registered, &Room::new()).await? {
                Sent::Part => {}
                Sent::Done => return Ok(()),
                Sent::Look => {
                    let why = "somebody else changed its branch";
                    return Err(Error::new(Reason::Conflict, name.as_str(), why));
                }
                Sent::Failed(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn send_part(
        &self,
        namespace: &Namespace,
        name: &ObjectName,
        registered: &Arc<Registered>,
        room: &Room,
    ) -> Result<Sent, Error> {
        let Some(state) = self.state(namespace, name).await? else { return Ok(Sent::Done) };
        if !state.value.is_pending() {
            return Ok(Sent::Done);
        }
        let sent = state.value.first_part(MAX_PART);
        let _taken = room.take(&sent).await;
        let Some((what, user)) = self.order(registered, &sent).await? else {
            self.update_state(namespace, name, |state| match &state.life {
                Life::Deleted(Deleted { pushed: None, .. }) => None,
                Life::Deleted(_) | Life::Draft(_) | Life::Published(_) => Some(state.clone()),
            })
            .await?;
            return Ok(Sent::Done);
        };
        let label = doubt::label(namespace, name.as_str());
        let time = self.now().as_second();
        let request = Request { what, user, time, label: label.clone() };
        let git = registered.git.clone();
        let done = match blocking(move || git.write(request, &Silent)).await? {
            Ok(done) => done,
            Err(WriteError::Conflict(Conflict::Moved { found, .. })) => {
                if found.is_none() && matches!(state.value.life, Life::Deleted(_)) {
                    self.update_state(namespace, name, |_| None).await?;
                    return Ok(Sent::Done);
                }
                return Ok(Sent::Look);
            }
            Err(error @ WriteError::Unknown { .. }) => {
                self.inner.doubt.add([label]);
                self.settle_later(namespace, &registered.name);
                return Err(write_error(name.as_str(), &error));
            }
            Err(error) => return Err(write_error(name.as_str(), &error)),
        };
        let is_part = sent.life != state.value.life;
        let written = self.update_state(namespace, name, |now| brought(&sent, now, &done)).await;
        self.inner.pushes.settled(&label).await;
        written?;
        Ok(if is_part { Sent::Part } else { Sent::Done })
    }

    /// What has to be done on the remote; `None` where nothing has.
    async fn order(
        &self,
        registered: &Arc<Registered>,
        state: &State,
    ) -> Result<Option<(Operation, Person)>, Error> {
        let (package, workspace) = (state.package.clone(), state.workspace.clone());
        Ok(match &state.life {
            Life::Draft(draft) => {
                let versions = self.versions(draft).await?;
                let user =
                    draft.unpushed.last().map_or_else(Person::orchestrator, |last| Person::user(&last.user));
                let from = draft.pushed.map(|pushed| (pushed.stage.into(), pushed.commit));
                let bring = Bring { package, workspace, from, to: draft.stage.into(), versions };
                Some((Operation::Bring(Box::new(bring)), user))
            }
            Life::Deleted(deleted) => deleted.pushed.map(|Pushed { stage, commit }| {
                let place = Place { package, workspace, stage: stage.into(), at: commit };
                (Operation::DeleteDraft(place), Person::orchestrator())
            }),
            Life::Published(published) => {
                let mark = self.mark(registered, state, published).await?;
                mark.map(|operation| (operation, Person::orchestrator()))
            }
        })
    }

    async fn mark(
        &self,
        registered: &Arc<Registered>,
        state: &State,
        published: &Published,
    ) -> Result<Option<Operation>, Error> {
        let layout = &registered.spec.layout;
        let is_placeholder = published.ref_name == *layout.branch.ref_name();
        let last = if is_placeholder {
            layout.branch.as_str().to_owned()
        } else {
            published.ref_name.as_str().rsplit('/').next().unwrap_or_default().to_owned()
        };
        let mark = |at| Mark { package: state.package.clone(), last: last.clone(), at };
        match published.deletion {
            Deletion::Proposed => Ok(Some(Operation::Mark(mark(published.commit)))),
            Deletion::Unproposed => {
                // Somebody else may have made it, at another commit.
                let git = registered.git.clone();
                let refs = blocking(move || git.poll(&Silent)).await?;
                let refs = refs.map_err(|error| crate::fetch::remote_error(last.as_str(), &error))?;
                let name = layout
                    .deletion_mark(&state.package, &published.number.tag().unwrap_or_else(|| last.clone()));
                let at = name.and_then(|name| refs.commit(&name)).unwrap_or(published.commit);
                Ok(Some(Operation::Unmark(mark(at))))
            }
        }
    }

    /// What is remembered of a revision.
    pub(crate) async fn state(
        &self,
        namespace: &Namespace,
        name: &ObjectName,
    ) -> Result<Option<Row<State>>, Error> {
        let stored = self.inner.store.get(&rows::state_key(namespace, name)).await?;
        stored.map(|stored| rows::decode_state(&stored)).transpose()
    }

    /// Changes what is remembered of a revision; `None` forgets it.
    pub(crate) async fn update_state(
        &self,
        namespace: &Namespace,
        name: &ObjectName,
        change: impl Fn(&State) -> Option<State>,
    ) -> Result<(), Error> {
        let key = rows::state_key(namespace, name);
        for _ in 0..MAX_ATTEMPTS {
            let Some(now) = self.state(namespace, name).await? else { return Ok(()) };
            let expected = now.revision;
            let write = match change(&now.value) {
                Some(new) if new == now.value => return Ok(()),
                Some(new) => Write::Update { key: key.clone(), expected, object: new.to_object() },
                None => Write::Delete { key: key.clone(), expected },
            };
            match crate::engine::commit(self.inner.store.as_ref(), Transaction::from(write), 0).await {
                Err(error) if is_overtaken(&error) => {}
                other => return other.map(|_| ()),
            }
        }
        Err(Error::modified(name.as_str()))
    }

    /// Takes up what an earlier process left.
    pub(crate) async fn take_up(&self) -> Result<(), Error> {
        for (_, intent) in self.inner.pushes.left_behind().await? {
            self.inner.doubt.add(intent.labels.iter().cloned());
            for (namespace, repository) in intent.labels.iter().filter_map(|label| repository_of(label)) {
                self.settle_later(&namespace, &repository);
            }
        }
        self.let_all_go().await?;
        let filter = rows::everywhere(&rows::STATE, &[(state::PENDING, "true")]);
        for stored in rows::list(self.inner.store.as_ref(), filter).await? {
            let namespace = stored.key.namespace().parse::<Namespace>();
            if let (Ok(namespace), Ok(state)) = (namespace, rows::decode_state(&stored)) {
                self.kick(&namespace, &state.value.repository);
            }
        }
        Ok(())
    }

    /// Finds out in the background what became of pushes about a repository.
    pub(crate) fn settle_later(&self, namespace: &Namespace, repository: &RepositoryName) {
        if self.inner.ending.is_cancelled() {
            return;
        }
        let (engine, namespace, repository) = (self.clone(), namespace.clone(), repository.clone());
        self.inner.tasks.spawn(async move {
            let mut pause = FIRST_PAUSE;
            while let Err(error) = engine.settle(&namespace, &repository).await {
                tracing::warn!(%namespace, %repository, %error, "what became of a push is still not known");
                tokio::select! {
                    () = engine.inner.ending.cancelled() => return,
                    () = tokio::time::sleep(pause) => {}
                }
                pause = (pause * 2).min(MAX_PAUSE);
            }
        });
    }

    async fn settle(&self, namespace: &Namespace, repository: &RepositoryName) -> Result<(), Error> {
        let _one = self.inner.talks.lock(&format!("settle {namespace}/{repository}")).await;
        for (key, intent) in self.inner.pushes.left_behind().await? {
            let about: BTreeSet<(Namespace, RepositoryName)> =
                intent.labels.iter().filter_map(|label| repository_of(label)).collect();
            if !about.contains(&(namespace.clone(), repository.clone())) {
                continue;
            }
            let registered = match self.inner.repositories.any(namespace, repository.as_str()).await {
                Ok((registered, _)) => registered,
                Err(error) if error.reason == Reason::NotFound => {
                    // Nobody is there any more whom it concerns.
                    self.inner.doubt.clear(&intent.labels);
                    self.inner.pushes.remove(&key).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let (git, again) = (registered.git.clone(), intent.clone());
            let outcome = match blocking(move || git.recover(&again, &Silent)).await? {
                Ok(packages::Outcome::Unknown) => {
                    Err(Error::new(Reason::Unknown, repository.as_str(), "the remote does not tell"))
                }
                Ok(outcome) => Ok(outcome),
                Err(error) => Err(crate::fetch::remote_error(repository.as_str(), &error)),
            };
            let outcome = match outcome {
                Ok(outcome) => outcome,
                Err(error) => {
                    self.show_doubts(&intent.labels, Some(&error.message)).await;
                    return Err(error);
                }
            };
            tracing::info!(%namespace, %repository, ?outcome, "what became of a push is known");
            for (space, repository) in &about {
                self.sync_at_last(space, repository).await?;
            }
            // Only now: what was deleted here while the push was on its way must not be forgotten before the remote was looked at.
            self.inner.doubt.clear(&intent.labels);
            self.show_doubts(&intent.labels, None).await;
            for label in &intent.labels {
                if let Some((space, name)) = parse_label(label) {
                    self.let_go(&space, &name).await?;
                }
            }
            self.inner.pushes.remove(&key).await;
            for (space, repository) in &about {
                self.kick(space, repository);
            }
        }
        Ok(())
    }
}

impl Engine {
    /// Looks at a repository; again where somebody wrote meanwhile.
    async fn sync_at_last(&self, namespace: &Namespace, repository: &RepositoryName) -> Result<(), Error> {
        for _ in 0..MAX_ATTEMPTS {
            match self.sync(namespace, repository).await {
                Err(error) if is_overtaken(&error) => {}
                looked => return looked.map(|_| ()),
            }
        }
        Err(Error::modified(repository.as_str()))
    }

    /// Shows on revisions that they are in doubt, or are not any more.
    async fn show_doubts(&self, labels: &[String], why: Option<&str>) {
        for (namespace, name) in labels.iter().filter_map(|label| parse_label(label)) {
            if let Ok(loaded) = self.load(&namespace, &name).await {
                self.show_doubt(&loaded, why).await;
            }
        }
    }
}

/// The repository that a label is about: that of the revision, or itself.
fn repository_of(label: &str) -> Option<(Namespace, RepositoryName)> {
    let (namespace, name) = label.split_once('/')?;
    let repository = name.split_once('.').map_or(name, |(repository, _)| repository);
    Some((namespace.parse().ok()?, repository.parse().ok()?))
}

fn parse_label(label: &str) -> Option<(Namespace, ObjectName)> {
    let (namespace, name) = label.split_once('/')?;
    Some((namespace.parse().ok()?, name.parse().ok()?))
}

fn pending_filter(namespace: &Namespace, repository: &RepositoryName) -> Result<lanai_store::Filter, Error> {
    let fields = [(state::REPOSITORY, repository.as_str()), (state::PENDING, "true")];
    rows::with_fields(&rows::STATE, namespace, &fields)
}

/// The state after the remote was brought to what an earlier state asked for.
fn brought(sent: &State, now: &State, done: &Done) -> Option<State> {
    let pushed = |stage: Stage| done.commit.map(|commit| Pushed { stage, commit });
    let life = match (&sent.life, &now.life) {
        (Life::Draft(sent), Life::Draft(now)) => {
            let unpushed = state::behind(&now.unpushed, sent.unpushed.last());
            Life::Draft(Draft { unpushed, pushed: pushed(sent.stage), sent: Vec::new(), ..now.clone() })
        }
        // It was deleted while it was pushed.
        (Life::Draft(sent), Life::Deleted(_)) => {
            Life::Deleted(Deleted { pushed: pushed(sent.stage), ..Deleted::default() })
        }
        (Life::Deleted(_), Life::Deleted(_)) => return None,
        // One of the same name was made while the branch of the old one was deleted.
        (Life::Deleted(_), Life::Draft(now)) => {
            Life::Draft(Draft { pushed: None, sent: Vec::new(), ..now.clone() })
        }
        (Life::Published(sent), Life::Published(now)) => {
            Life::Published(Published { marked: sent.deletion, ..now.clone() })
        }
        (Life::Draft(_) | Life::Deleted(_), Life::Published(_))
        | (Life::Published(_), Life::Draft(_) | Life::Deleted(_)) => now.life.clone(),
    };
    Some(State { life, ..now.clone() })
}
