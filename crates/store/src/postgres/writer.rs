//! The one task of this process that writes.
//!
//! A batch locks its keys in order, loads what it touches, takes the counter row, and only then knows its revisions. The counter row is
//! locked until the commit, so that revisions become visible in their order, whichever process gives them.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use super::compact::slice;
use super::counter::{take_counter, used_keys};
use super::follow::Follower;
use super::load::{load_blobs, load_leases, lock};
use super::query::{COLUMNS, read_row, signed};
use super::rotate::{Progress, Rotation, ready_to_seal};
use super::rows::{Net, Uploaded, Versions, write_leases};
use super::seen::{Seen, lost, new_gap, new_stamp};
use super::session::{Link, Session, at_commit, harmless, is_about_the_request};
use crate::compaction::{self, Compaction};
use crate::plan::{Needs, Outcome, Task, World};
use crate::row::{SharedKeyring, unsealable};
use crate::watch::Record;
use crate::{Error, Key, Limits, Revision};

/// Tasks that wait at most.
pub(crate) const QUEUE: usize = 1_024;

/// Tasks that share a commit at most.
const MAX_BATCH: usize = 256;

/// Bytes of values and blobs after which a batch takes no more.
const MAX_BATCH_BYTES: usize = 16 << 20;

/// Objects and leases after which a batch takes no more.
const MAX_BATCH_KEYS: usize = 2_000;

type Reply = oneshot::Sender<Result<Outcome, Error>>;

/// Something for the writer to do.
#[derive(Debug)]
pub(crate) enum Message {
    Task { task: Task, reply: Reply },
    Compact { up_to: Revision, reply: oneshot::Sender<Result<Revision, Error>> },
    Rotate { reply: oneshot::Sender<Result<(), Error>> },
}

pub(crate) struct Writer {
    pub(crate) link: Link,
    pub(crate) follower: Arc<Follower>,
    pub(crate) keys: SharedKeyring,
    pub(crate) limits: Limits,
    pub(crate) channel: String,
    pub(crate) compaction: Option<Compaction>,
    pub(crate) rotation: Option<Rotation>,
}

/// Why a batch was not written.
struct Failure {
    error: Error,
    scope: Scope,
}

/// Whom a failure concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Everybody in the batch.
    Batch,
    /// One of them, or more; which, only trying tells.
    Task,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self { error, scope: Scope::Batch }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        let scope = if is_about_the_request(&error) { Scope::Task } else { Scope::Batch };
        Self { error: harmless(&error), scope }
    }
}

struct Done {
    outcomes: Vec<Result<Outcome, Error>>,
    records: Vec<Record>,
    /// What had been seen, and is there.
    before: Seen,
    /// What is there now.
    newest: Seen,
    horizon: Revision,
}

impl Writer {
    /// Works until nobody can ask any more.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        loop {
            let is_busy = self.compaction.is_some() || self.rotation.is_some();
            let first = if is_busy { queue.try_recv().ok() } else { queue.recv().await };
            match first {
                Some(message) => self.take(message, &mut queue).await,
                None if is_busy => {}
                None => return,
            }
            self.compact_some().await;
            self.rotate_some().await;
        }
    }

    /// Does something, with all that waits and can be done with it.
    async fn take(&mut self, first: Message, queue: &mut mpsc::Receiver<Message>) {
        let (mut tasks, mut replies) = (Vec::new(), Vec::new());
        let (mut bytes, mut keys) = (0, 0);
        let mut next = Some(first);
        let mut other = None;
        while let Some(message) = next.take() {
            match message {
                Message::Task { task, reply } => {
                    bytes += task.weight();
                    keys += task.touches();
                    tasks.push(task);
                    replies.push(reply);
                }
                Message::Compact { .. } | Message::Rotate { .. } => {
                    other = Some(message);
                    break;
                }
            }
            if tasks.len() < MAX_BATCH && bytes < MAX_BATCH_BYTES && keys < MAX_BATCH_KEYS {
                next = queue.try_recv().ok();
            }
        }
        if !tasks.is_empty() {
            self.batch(tasks, replies).await;
        }
        match other {
            Some(Message::Compact { up_to, reply }) => self.ask_compaction(up_to, reply).await,
            Some(Message::Rotate { reply }) => self.begin_rotation(reply).await,
            Some(Message::Task { .. }) | None => {}
        }
    }

    async fn batch(&mut self, tasks: Vec<Task>, replies: Vec<Reply>) {
        // Who shares a batch with something that cannot be written is none the worse for it.
        let again = if tasks.len() > 1 { tasks.clone() } else { Vec::new() };
        match self.try_batch(tasks).await {
            Ok(done) => self.written(done, replies).await,
            Err(Failure { scope: Scope::Task, .. }) if !again.is_empty() => {
                for (task, reply) in again.into_iter().zip(replies) {
                    match self.try_batch(vec![task]).await {
                        Ok(done) => self.written(done, vec![reply]).await,
                        Err(Failure { error, .. }) => drop(reply.send(Err(error))),
                    }
                }
            }
            Err(Failure { error, .. }) => {
                for reply in replies {
                    let _ = reply.send(Err(error.clone()));
                }
            }
        }
    }

    async fn written(&mut self, done: Done, replies: Vec<Reply>) {
        let Done { outcomes, records, before, newest, horizon } = done;
        let head = records.last().map(|record| record.revision);
        self.follower.written(records, before, newest).await;
        for (reply, outcome) in replies.into_iter().zip(outcomes) {
            let _ = reply.send(outcome);
        }
        let kept = self.limits.max_history.saturating_add(self.limits.max_history / 8);
        if let Some(head) = head
            && head.get() - horizon.get() > kept
            && self.compaction.is_none()
        {
            self.begin_compaction(Revision::new(head.get() - self.limits.max_history), None);
        }
    }

    async fn try_batch(&self, tasks: Vec<Task>) -> Result<Done, Failure> {
        let session = self.link.session().await?;
        let done = self.transaction(&session, tasks).await;
        if done.is_err() && !session.client.is_closed() {
            // What cannot be undone by asking ends with the connection.
            let _ = session.client.batch_execute("ROLLBACK").await;
        }
        done
    }

    fn seen(&self) -> Seen {
        self.follower.readers.newest.get()
    }

    async fn transaction(&self, session: &Session, tasks: Vec<Task>) -> Result<Done, Failure> {
        let needs = Needs::of(&tasks);
        session.client.batch_execute("BEGIN").await?;
        lock(session, &needs, &self.channel).await?;
        let mut world = World::default();
        self.load_objects(session, &needs, &mut world).await?;
        load_leases(session, &needs, &mut world).await?;
        // Content may take long; nobody waits for it but those who share the batch.
        let uploaded = Uploaded::send(session, &tasks).await?;
        // From here on everybody else waits.
        let before = self.seen();
        let testimony = take_counter(session, &before).await?;
        if !testimony.confirms(&before) {
            session.client.batch_execute("ROLLBACK").await?;
            self.follower.move_ahead(session, &before).await?;
            self.follower.readers.hint.notify_one();
            return Err(lost().into());
        }
        world.head = testimony.head.get();
        world.fence = testimony.fence;
        world.fence_gap = new_gap()?;
        let horizon = testimony.horizon;
        load_blobs(session, &needs, &mut world).await?;
        uploaded.are_new(&mut world);
        let may_seal = if tasks.iter().any(|task| task.seals().is_some()) {
            ready_to_seal(&self.keys, used_keys(session).await?.first())
        } else {
            Ok(())
        };
        let step = |task: Task| match (&may_seal, task.seals()) {
            (Err(error), Some(key)) => Err(unsealable(key, error)),
            (Ok(()), _) | (Err(_), None) => world.step(task),
        };
        let outcomes: Vec<_> = tasks.into_iter().map(step).collect();
        if world.changes.is_empty() {
            session.client.batch_execute("ROLLBACK").await?;
            return Ok(Done { outcomes, records: Vec::new(), before, newest: testimony.newest(), horizon });
        }
        let stamp = new_stamp()?;
        uploaded.settle(session, &world.changes).await?;
        self.write(session, &world, stamp).await?;
        session.client.batch_execute("COMMIT").await.map_err(|error| at_commit(&error))?;
        // The stamp of the counter is that of the newest revision.
        let stamp = if world.changes.records.is_empty() { testimony.stamp } else { Some(stamp) };
        let timeline = testimony.timeline;
        let newest = Seen { revision: Revision::new(world.head), stamp, fence: world.fence, timeline };
        Ok(Done { outcomes, records: world.changes.records, before, newest, horizon })
    }

    async fn load_objects(
        &self,
        session: &Session,
        needs: &Needs,
        world: &mut World,
    ) -> Result<(), tokio_postgres::Error> {
        let keys: Vec<&str> = needs.keys.iter().map(Key::as_str).collect();
        let sql = format!(
            "SELECT {COLUMNS} FROM current c JOIN version v ON v.revision = c.revision WHERE c.key = ANY($1)"
        );
        let rows = session.query(&sql, &[&keys]).await?;
        for row in rows {
            let key = needs.keys.iter().find(|key| key.as_str() == row.get::<_, &str>(0));
            let stored = read_row(&row, 0).into_stored(&self.keys);
            world.objects.extend(key.map(|key| (key.clone(), stored.map(|stored| Some(Arc::new(stored))))));
        }
        Ok(())
    }

    async fn write(&self, session: &Session, world: &World, stamp: i64) -> Result<(), Failure> {
        let changes = &world.changes;
        let versions = Versions::of(&changes.records, stamp, &self.keys)
            .map_err(|error| Failure { error, scope: Scope::Task })?;
        let net = Net::of(&changes.records);
        let head = signed(world.head);
        let fence = signed(world.fence);
        let stamp = (!changes.records.is_empty()).then_some(stamp);
        let notice = world.head.to_string();
        let counter: [&(dyn ToSql + Sync); 3] = [&head, &fence, &stamp];
        let hint: [&(dyn ToSql + Sync); 2] = [&self.channel, &notice];
        // All of it is sent together.
        let (versions, net, leases, counter, hint) = tokio::join!(
            versions.write(session),
            net.write(session),
            write_leases(session, changes),
            session.execute("UPDATE meta SET head = $1, fence = $2, stamp = coalesce($3, stamp)", &counter),
            session.execute("SELECT pg_notify($1, $2)", &hint),
        );
        let failures = [versions.err(), net.err(), leases.err(), counter.err(), hint.err()];
        // One of them is the cause; the others are only told that there was one.
        let mut failures: Vec<_> = failures.into_iter().flatten().collect();
        failures.sort_by_key(|error| error.code() == Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
        failures.into_iter().next().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Begins what can be done; what was never given does not concern those who wait for another one.
    async fn ask_compaction(&mut self, up_to: Revision, reply: compaction::Reply) {
        match self.follower.readers.bounds().await {
            Ok(found) if up_to > found.head => {
                drop(reply.send(Err(Error::TooNew { asked: up_to, current: found.head })));
            }
            Ok(found) if up_to <= found.horizon => drop(reply.send(Ok(found.horizon))),
            Ok(_) => self.begin_compaction(up_to, Some(reply)),
            Err(error) => drop(reply.send(Err(error))),
        }
    }

    fn begin_compaction(&mut self, up_to: Revision, reply: Option<compaction::Reply>) {
        let compaction = self.compaction.get_or_insert_with(|| Compaction::new(up_to));
        compaction.extend(up_to, reply);
    }

    async fn compact_some(&mut self) {
        let Some(mut compaction) = self.compaction.take() else { return };
        match self.compact_slice(compaction.target).await {
            Ok(horizon) => {
                self.follower.forget(horizon);
                if !compaction.reached(horizon) {
                    self.compaction = Some(compaction);
                }
            }
            // Who cannot forget now forgets later.
            Err(error) => compaction.fail(&error),
        }
    }

    async fn compact_slice(&self, target: Revision) -> Result<Revision, Error> {
        let session = self.link.session().await?;
        let done = slice(&session, &self.seen(), target).await;
        self.look_if_lost(&done);
        if done.is_err() && !session.client.is_closed() {
            let _ = session.client.batch_execute("ROLLBACK").await;
        }
        done
    }

    /// A server that has lost something is moved ahead by whoever follows.
    fn look_if_lost<T>(&self, done: &Result<T, Error>) {
        if done.as_ref().is_err_and(|error| *error == lost()) {
            self.follower.readers.hint.notify_one();
        }
    }

    /// One that is going on serves whoever asks for another one.
    async fn begin_rotation(&mut self, reply: oneshot::Sender<Result<(), Error>>) {
        if self.rotation.is_none() {
            let begun = match self.link.session().await {
                Ok(session) => Rotation::begin(&session, &self.seen(), &self.keys).await,
                Err(error) => Err(error),
            };
            self.look_if_lost(&begun);
            match begun {
                Ok(rotation) => self.rotation = Some(rotation),
                Err(error) => return drop(reply.send(Err(error))),
            }
        }
        if let Some(rotation) = &mut self.rotation {
            rotation.tell(reply);
        }
    }

    async fn rotate_some(&mut self) {
        let Some(mut rotation) = self.rotation.take() else { return };
        let done = match self.link.session().await {
            Ok(session) => rotation.slice(&session, &self.seen(), &self.keys).await,
            Err(error) => Err(error),
        };
        self.look_if_lost(&done);
        match done {
            Ok(Progress::More) => self.rotation = Some(rotation),
            Ok(Progress::Done) => rotation.answer(&Ok(())),
            Err(error) => rotation.answer(&Err(error)),
        }
    }
}
