//! The one thread that writes.
//!
//! It takes all that waits, up to a bound, and makes one SQL transaction of it: what waits together shares a sync.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, JoinHandle};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use tokio::sync::{mpsc, oneshot};

use super::fault::{Broken, at_commit, harmless};
use super::open::{Closing, set_closing};
use super::query::{self, signed, unsigned};
use super::rotate::{Progress, Rotation, note_key};
use super::versions::Versions;
use super::{Options, compact};
use crate::compaction::Compaction;
use crate::feed::Feed;
use crate::lease::{Fence, Lease, LeaseName, Moment};
use crate::plan::{Changes, IndexChange, Needs, Outcome, Task, World};
use crate::row::{Row, SharedKeyring};
use crate::watch::Record;
use crate::{Error, Limits, Revision};

/// Tasks that wait at most; who comes then waits to wait.
const QUEUE: usize = 1_024;

/// Tasks that share a sync at most.
const MAX_BATCH: usize = 256;

/// Bytes of values and blobs after which a batch takes no more.
const MAX_BATCH_BYTES: usize = 16 << 20;

/// Bytes of the log that stay when it begins anew; more are given back to the file system.
const MAX_IDLE_LOG: i64 = 32 << 20;

/// Something for the writer to do.
#[derive(Debug)]
pub(crate) enum Message {
    Task { task: Task, reply: oneshot::Sender<Result<Outcome, Error>> },
    Compact { up_to: Revision, reply: oneshot::Sender<Result<Revision, Error>> },
    Rotate { reply: oneshot::Sender<Result<(), Error>> },
}

/// What the writer has in common with those who read.
pub(crate) struct Shared {
    pub(crate) feed: Arc<Feed>,
    pub(crate) keys: SharedKeyring,
    pub(crate) broken: Broken,
    pub(crate) versions: Arc<Versions>,
}

/// The thread, which ends with this.
#[derive(Debug)]
pub(crate) struct Writer {
    messages: Option<mpsc::Sender<Message>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(
        connection: Connection,
        shared: Shared,
        options: &Options,
    ) -> Result<Self, rusqlite::Error> {
        let pages = Arc::new(AtomicUsize::new(0));
        let seen = pages.clone();
        let mut connection = connection;
        connection.pragma_update(None, "wal_autocheckpoint", 0)?;
        connection.pragma_update(None, "journal_size_limit", MAX_IDLE_LOG)?;
        connection.wal_hook(Some(move |_: &mut _, now: i32| {
            seen.store(usize::try_from(now).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))?;
        let (messages, queue) = mpsc::channel(QUEUE);
        let work = Work {
            connection,
            feed: shared.feed,
            keys: shared.keys,
            versions: shared.versions,
            limits: options.limits,
            checkpoint_pages: options.checkpoint_pages,
            log_pages: pages,
            compaction: None,
            rotation: None,
            broken: shared.broken,
        };
        let thread = Builder::new()
            .name("store-writer".into())
            .spawn(move || work.run(queue))
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
        Ok(Self { messages: Some(messages), thread: Some(thread) })
    }

    pub(crate) async fn send<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<Result<T, Error>>) -> Message,
    ) -> Result<T, Error> {
        let closed = || Error::Unavailable { cause: "the store is closed".into() };
        let (reply, answer) = oneshot::channel();
        let messages = self.messages.as_ref().ok_or_else(closed)?;
        messages.send(message(reply)).await.map_err(|_| closed())?;
        // The writer answers everything that it takes, unless it was killed.
        answer.await.map_err(|_| Error::Unknown { cause: "the writer of the store has ended".into() })?
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.messages = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    connection: Connection,
    feed: Arc<Feed>,
    keys: SharedKeyring,
    versions: Arc<Versions>,
    limits: Limits,
    /// Pages in the write-ahead log after the last commit.
    log_pages: Arc<AtomicUsize>,
    /// Pages of the log after which it is copied into the database.
    checkpoint_pages: usize,
    compaction: Option<Compaction>,
    rotation: Option<Rotation>,
    broken: Broken,
}

struct Batch {
    tasks: Vec<Task>,
    replies: Vec<oneshot::Sender<Result<Outcome, Error>>>,
    bytes: usize,
}

/// What came of a batch.
struct Done {
    /// Of each task, in their order.
    outcomes: Vec<Result<Outcome, Error>>,
    records: Vec<Record>,
}

impl Work {
    fn run(mut self, mut queue: mpsc::Receiver<Message>) {
        loop {
            let is_busy = self.compaction.is_some() || self.rotation.is_some();
            let first = if is_busy { queue.try_recv().ok() } else { queue.blocking_recv() };
            match first {
                Some(Message::Task { task, reply }) => self.batch(task, reply, &mut queue),
                Some(other) => self.alone(other),
                None if is_busy => {}
                None => break,
            }
            self.compact_some();
            self.rotate_some();
            self.checkpoint_if_due();
        }
        self.feed.close();
        // Closing copies the log into the database; if that fails, the next open does it.
    }

    fn batch(
        &mut self,
        task: Task,
        reply: oneshot::Sender<Result<Outcome, Error>>,
        queue: &mut mpsc::Receiver<Message>,
    ) {
        let mut batch = Batch { bytes: task.weight(), tasks: vec![task], replies: vec![reply] };
        let mut afterwards = None;
        while batch.tasks.len() < MAX_BATCH && batch.bytes < MAX_BATCH_BYTES {
            match queue.try_recv() {
                Ok(Message::Task { task, reply }) => {
                    batch.bytes += task.weight();
                    batch.tasks.push(task);
                    batch.replies.push(reply);
                }
                Ok(other) => {
                    afterwards = Some(other);
                    break;
                }
                Err(_) => break,
            }
        }
        self.commit(batch);
        if let Some(other) = afterwards {
            self.alone(other);
        }
    }

    fn alone(&mut self, message: Message) {
        match message {
            Message::Task { task, reply } => {
                self.commit(Batch { bytes: 0, tasks: vec![task], replies: vec![reply] });
            }
            Message::Compact { up_to, reply } => {
                match self.broken.check().and_then(|()| compact::check(&self.connection, up_to)) {
                    Ok(compact::Check::Nothing(horizon)) => drop(reply.send(Ok(horizon))),
                    Ok(compact::Check::Begin) => self.begin_compaction(up_to, Some(reply)),
                    Err(error) => drop(reply.send(Err(error))),
                }
            }
            Message::Rotate { reply } => self.begin_rotation(reply),
        }
    }

    /// Notes what could not be made durable: from then on nothing is written, copied or read.
    fn note(&self, error: &Error) {
        self.broken.note(error);
        if self.broken.is_noted() {
            // The log stays as it is for whoever opens the store next.
            let _ = set_closing(&self.connection, Closing::LeavesLog);
            self.feed.close();
        }
    }

    fn commit(&mut self, batch: Batch) {
        let Batch { tasks, replies, .. } = batch;
        // Who shares a batch with something that cannot be written is none the worse for it.
        let again = if tasks.len() > 1 { tasks.clone() } else { Vec::new() };
        let error = match self.broken.check().and_then(|()| self.try_commit(tasks)) {
            Ok(Done { outcomes, records }) => {
                self.versions.replace(&records);
                self.feed.push(records);
                for (reply, outcome) in replies.into_iter().zip(outcomes) {
                    let _ = reply.send(outcome);
                }
                return;
            }
            Err(error) => error,
        };
        self.note(&error);
        let is_shared = matches!(error, Error::Unknown { .. } | Error::Full { .. }) || self.broken.is_noted();
        if is_shared || again.is_empty() {
            for reply in replies {
                let _ = reply.send(Err(error.clone()));
            }
            return;
        }
        for (task, reply) in again.into_iter().zip(replies) {
            self.commit(Batch { bytes: 0, tasks: vec![task], replies: vec![reply] });
        }
    }

    /// Decides and writes a batch; returns when it is durable.
    fn try_commit(&mut self, tasks: Vec<Task>) -> Result<Done, Error> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| harmless(&error))?;
        let mut world = load(&transaction, &Needs::of(&tasks), &self.keys)?;
        let outcomes: Vec<_> = tasks.into_iter().map(|task| world.step(task)).collect();
        if world.changes.is_empty() {
            return Ok(Done { outcomes, records: Vec::new() });
        }
        write(&transaction, &world, &self.keys)?;
        transaction.commit().map_err(|error| at_commit(&error))?;
        let behind = world.head.saturating_sub(self.limits.max_history);
        if self.compaction.is_none() && is_due(&self.connection, world.head, &self.limits) {
            self.begin_compaction(Revision::new(behind), None);
        }
        Ok(Done { outcomes, records: world.changes.records })
    }

    fn begin_compaction(&mut self, up_to: Revision, reply: Option<oneshot::Sender<Result<Revision, Error>>>) {
        let compaction = self.compaction.get_or_insert_with(|| Compaction::new(up_to));
        compaction.extend(up_to, reply);
    }

    fn compact_some(&mut self) {
        let Some(mut compaction) = self.compaction.take() else { return };
        let done = self.broken.check().and_then(|()| compact::slice(&mut self.connection, compaction.target));
        match done {
            Ok(horizon) => {
                self.feed.forget(horizon);
                if !compaction.reached(horizon) {
                    self.compaction = Some(compaction);
                }
            }
            Err(error) => {
                self.note(&error);
                compaction.fail(&error);
            }
        }
    }

    /// One that is going on serves whoever asks for another one.
    fn begin_rotation(&mut self, reply: oneshot::Sender<Result<(), Error>>) {
        if self.rotation.is_none() {
            match self.broken.check().and_then(|()| Rotation::begin(&self.keys)) {
                Ok(rotation) => self.rotation = Some(rotation),
                Err(error) => return drop(reply.send(Err(error))),
            }
        }
        if let Some(rotation) = &mut self.rotation {
            rotation.tell(reply);
        }
    }

    fn rotate_some(&mut self) {
        let Some(mut rotation) = self.rotation.take() else { return };
        match self.broken.check().and_then(|()| rotation.slice(&mut self.connection, &self.keys)) {
            Ok(Progress::More) => self.rotation = Some(rotation),
            Ok(Progress::Done) => rotation.answer(&Ok(())),
            Err(error) => {
                self.note(&error);
                rotation.answer(&Err(error));
            }
        }
    }

    fn checkpoint_if_due(&mut self) {
        if self.broken.is_noted() || self.log_pages.load(Ordering::Relaxed) < self.checkpoint_pages {
            return;
        }
        // A checkpoint that cannot be made now is made later; nothing depends on it but the size of the log.
        let _ = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        self.log_pages.store(0, Ordering::Relaxed);
    }
}

/// True when an eighth more history is there than is to be kept.
fn is_due(connection: &Connection, head: u64, limits: &Limits) -> bool {
    let kept = limits.max_history.saturating_add(limits.max_history / 8);
    // Who cannot look now looks after the next batch.
    head > kept && query::bounds(connection).is_ok_and(|bounds| head - bounds.horizon.get() > kept)
}

/// What a batch needs to know.
fn load(connection: &Connection, needs: &Needs, keys: &SharedKeyring) -> Result<World, Error> {
    let mut world = World::default();
    connection
        .prepare_cached("SELECT head, fence FROM meta")
        .and_then(|mut statement| {
            statement.query_row([], |row| {
                world.head = unsigned(row, 0)?;
                world.fence = unsigned(row, 1)?;
                Ok(())
            })
        })
        .map_err(|error| harmless(&error))?;
    for key in &needs.keys {
        let found = query::get(connection, key, keys);
        world.objects.insert(key.clone(), found.map(|found| found.map(Arc::new)));
    }
    for digest in &needs.blobs {
        let mut statement = connection
            .prepare_cached("SELECT 1 FROM blob WHERE digest = ?1")
            .map_err(|error| harmless(&error))?;
        if statement.exists([digest.as_bytes().as_slice()]).map_err(|error| harmless(&error))? {
            world.blobs.insert(*digest);
        }
    }
    for name in &needs.leases {
        if let Some(lease) = load_lease(connection, name).map_err(|error| harmless(&error))? {
            world.leases.insert(name.clone(), lease);
        }
    }
    Ok(world)
}

fn load_lease(connection: &Connection, name: &LeaseName) -> rusqlite::Result<Option<Lease>> {
    let mut statement =
        connection.prepare_cached("SELECT holder, fence, until FROM lease WHERE name = ?1")?;
    statement
        .query_row([name.as_str()], |row| {
            let number = lanai_types::FencingNumber::new(unsigned(row, 1)?);
            let fence = Fence { lease: name.clone(), number };
            Ok(Lease { fence, holder: row.get(0)?, until: Moment(unsigned(row, 2)?) })
        })
        .optional()
}

/// Writes what a batch has changed.
fn write(connection: &Connection, world: &World, keys: &SharedKeyring) -> Result<(), Error> {
    let changes = &world.changes;
    for record in &changes.records {
        write_record(connection, record, keys)?;
    }
    write_rest(connection, world, changes).map_err(|error| harmless(&error))
}

fn write_rest(connection: &Connection, world: &World, changes: &Changes) -> rusqlite::Result<()> {
    for blob in &changes.blobs {
        connection
            .prepare_cached("INSERT INTO blob (digest, content) VALUES (?1, ?2)")?
            .execute(params![blob.digest().as_bytes().as_slice(), &blob.content()[..]])?;
    }
    if let Some(before) = changes.forgotten {
        let before = i64::try_from(before.0).unwrap_or(i64::MAX);
        connection.prepare_cached("DELETE FROM lease WHERE until < ?1")?.execute([before])?;
    }
    for (name, lease) in &changes.leases {
        match lease {
            Some(lease) => connection
                .prepare_cached(
                    "INSERT OR REPLACE INTO lease (name, holder, fence, until) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![
                    name.as_str(),
                    lease.holder,
                    signed(Revision::new(lease.fence.number.get())),
                    signed(Revision::new(lease.until.0))
                ])?,
            None => {
                connection.prepare_cached("DELETE FROM lease WHERE name = ?1")?.execute([name.as_str()])?
            }
        };
    }
    connection
        .prepare_cached("UPDATE meta SET head = ?1, fence = ?2")?
        .execute([signed(Revision::new(world.head)), signed(Revision::new(world.fence))])?;
    Ok(())
}

fn write_record(connection: &Connection, record: &Record, keys: &SharedKeyring) -> Result<(), Error> {
    let row = record.after.as_ref().map(|stored| Row::of(stored, keys)).transpose()?;
    let done = match (&row, &record.before) {
        (Some(row), _) => write_version(connection, record, row, keys),
        (None, Some(before)) => write_tombstone(connection, record, before),
        (None, None) => Ok(()),
    };
    done.and_then(|()| write_index(connection, record)).map_err(|error| harmless(&error))
}

fn write_version(
    connection: &Connection,
    record: &Record,
    row: &Row,
    keys: &SharedKeyring,
) -> rusqlite::Result<()> {
    if let Some(id) = row.sealed {
        note_key(connection, id, keys)?;
    }
    connection
        .prepare_cached(
            "INSERT INTO version (revision, previous, created, tombstone, key, attributes, blobs, sealed, checksum, value)
             VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            signed(record.revision),
            record.before.as_ref().map(|before| signed(before.revision)),
            signed(Revision::new(row.created)),
            row.key,
            row.attributes,
            row.blobs,
            row.sealed,
            row.checksum,
            row.value,
        ])?;
    connection
        .prepare_cached(
            "INSERT INTO current (key, revision) VALUES (?1, ?2)
             ON CONFLICT (key) DO UPDATE SET revision = excluded.revision",
        )?
        .execute(params![row.key, signed(record.revision)])?;
    for digest in record.after.iter().flat_map(|stored| &stored.object.blobs) {
        connection
            .prepare_cached("INSERT INTO blob_use (digest, revision) VALUES (?1, ?2)")?
            .execute(params![digest.as_bytes().as_slice(), signed(record.revision)])?;
    }
    Ok(())
}

fn write_tombstone(connection: &Connection, record: &Record, before: &crate::Stored) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO version (revision, previous, created, tombstone, key, checksum) VALUES (?1, ?2, ?3, 1, ?4, 0)",
        )?
        .execute(params![
            signed(record.revision),
            signed(before.revision),
            signed(before.created),
            before.key.as_str()
        ])?;
    connection.prepare_cached("DELETE FROM current WHERE key = ?1")?.execute([before.key.as_str()])?;
    Ok(())
}

fn write_index(connection: &Connection, record: &Record) -> rusqlite::Result<()> {
    let Some(stored) = record.after.as_ref().or(record.before.as_ref()) else { return Ok(()) };
    let change = IndexChange::of(record);
    for entry in change.gone {
        connection
            .prepare_cached("DELETE FROM attribute WHERE name = ?1 AND value = ?2 AND key = ?3")?
            .execute(params![entry.name, entry.value, stored.key.as_str()])?;
    }
    for entry in change.come {
        connection
            .prepare_cached("INSERT INTO attribute (name, value, key) VALUES (?1, ?2, ?3)")?
            .execute(params![entry.name, entry.value, stored.key.as_str()])?;
    }
    Ok(())
}
