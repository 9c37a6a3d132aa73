//! The one task of this process that writes.
//!
//! A batch locks its keys in order, loads what it touches, takes the counter row, and only then knows its revisions. The counter row is
//! locked until the commit, so that revisions become visible in their order, whichever process gives them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_postgres::types::ToSql;

use super::follow::{Follower, jump};
use super::query::{COLUMNS, read_row, signed, unsigned};
use super::session::{Link, Session, chain, harmless};
use crate::lease::{Fence, Lease, LeaseName, Moment};
use crate::plan::{Changes, IndexChange, Needs, Outcome, Task, World};
use crate::row::{Row, SharedKeyring};
use crate::transaction::sha256;
use crate::watch::Record;
use crate::{Error, Key, Limits, Revision, Stored};

/// Tasks that wait at most.
pub(crate) const QUEUE: usize = 1_024;

/// Tasks that share a commit at most.
const MAX_BATCH: usize = 256;

/// Revisions that one slice of a compaction forgets.
const SLICE: u64 = 1_000;

/// Something for the writer to do.
#[derive(Debug)]
pub(crate) enum Message {
    Task { task: Task, reply: oneshot::Sender<Result<Outcome, Error>> },
    Compact { up_to: Revision, reply: oneshot::Sender<Result<Revision, Error>> },
}

pub(crate) struct Writer {
    pub(crate) link: Link,
    pub(crate) follower: Arc<Follower>,
    pub(crate) keys: SharedKeyring,
    pub(crate) limits: Limits,
    pub(crate) channel: String,
}

impl Writer {
    /// Works until nobody can ask any more.
    pub(crate) async fn run(self, mut queue: mpsc::Receiver<Message>) {
        while let Some(first) = queue.recv().await {
            let mut tasks = Vec::new();
            let mut replies = Vec::new();
            let mut next = Some(first);
            let mut other = None;
            while let Some(message) = next.take() {
                match message {
                    Message::Task { task, reply } => {
                        tasks.push(task);
                        replies.push(reply);
                    }
                    Message::Compact { up_to, reply } => {
                        other = Some((up_to, reply));
                        break;
                    }
                }
                if tasks.len() < MAX_BATCH {
                    next = queue.try_recv().ok();
                }
            }
            if !tasks.is_empty() {
                self.batch(tasks, replies).await;
            }
            if let Some((up_to, reply)) = other {
                let _ = reply.send(self.compact(up_to).await);
            }
        }
    }

    async fn batch(&self, tasks: Vec<Task>, replies: Vec<oneshot::Sender<Result<Outcome, Error>>>) {
        match self.try_batch(tasks).await {
            Ok(Done { outcomes, records, horizon }) => {
                let head = records.last().map(|record| record.revision);
                self.follower.written(records);
                for (reply, outcome) in replies.into_iter().zip(outcomes) {
                    let _ = reply.send(outcome);
                }
                if let Some(head) = head {
                    self.compact_if_due(head, horizon).await;
                }
            }
            Err(error) => {
                for reply in replies {
                    let _ = reply.send(Err(error.clone()));
                }
            }
        }
    }

    async fn try_batch(&self, tasks: Vec<Task>) -> Result<Done, Error> {
        let session = self.link.session().await?;
        let done = self.transaction(&session, tasks).await;
        if done.is_err() && !session.client.is_closed() {
            // What cannot be undone by asking ends with the connection.
            let _ = session.client.batch_execute("ROLLBACK").await;
        }
        done
    }

    async fn transaction(&self, session: &Session, tasks: Vec<Task>) -> Result<Done, Error> {
        let failed = |error: tokio_postgres::Error| harmless(&error);
        let needs = Needs::of(&tasks);
        session.client.batch_execute("BEGIN").await.map_err(failed)?;
        lock(session, &needs, &self.channel).await.map_err(failed)?;
        let mut world = World::default();
        self.load_objects(session, &needs, &mut world).await?;
        load_leases(session, &needs, &mut world).await.map_err(failed)?;
        // From here on everybody else waits.
        let horizon = load_counter(session, &mut world).await?;
        if world.head < self.follower.head().get() {
            session.client.batch_execute("ROLLBACK").await.map_err(failed)?;
            let head = jump(session, self.follower.head()).await?;
            self.follower.reset(head);
            return Err(Error::Unavailable {
                cause: "the server has lost revisions that were seen here; it goes on behind them".into(),
            });
        }
        load_blobs(session, &needs, &mut world).await.map_err(failed)?;
        let outcomes: Vec<_> = tasks.into_iter().map(|task| world.step(task)).collect();
        if world.changes.is_empty() {
            session.client.batch_execute("ROLLBACK").await.map_err(failed)?;
            return Ok(Done { outcomes, records: Vec::new(), horizon });
        }
        self.write(session, &world).await?;
        session.client.batch_execute("COMMIT").await.map_err(|error| match error.as_db_error() {
            // The server has said no; a connection that is lost says nothing.
            Some(_) => harmless(&error),
            None => Error::Unknown { cause: chain(&error) },
        })?;
        Ok(Done { outcomes, records: world.changes.records, horizon })
    }

    async fn load_objects(&self, session: &Session, needs: &Needs, world: &mut World) -> Result<(), Error> {
        let keys: Vec<&str> = needs.keys.iter().map(Key::as_str).collect();
        let sql = format!(
            "SELECT {COLUMNS} FROM current c JOIN version v ON v.revision = c.revision WHERE c.key = ANY($1)"
        );
        let rows = session.query(&sql, &[&keys]).await.map_err(|error| harmless(&error))?;
        for row in rows {
            let key = needs.keys.iter().find(|key| key.as_str() == row.get::<_, &str>(0));
            let stored = read_row(&row, 0).into_stored(&self.keys);
            world.objects.extend(key.map(|key| (key.clone(), stored.map(|stored| Some(Arc::new(stored))))));
        }
        Ok(())
    }

    async fn write(&self, session: &Session, world: &World) -> Result<(), Error> {
        let changes = &world.changes;
        let versions = Versions::of(&changes.records, &self.keys)?;
        let net = Net::of(&changes.records);
        let head = signed(world.head);
        let fence = signed(world.fence);
        let notice = world.head.to_string();
        let counter: [&(dyn ToSql + Sync); 2] = [&head, &fence];
        let hint: [&(dyn ToSql + Sync); 2] = [&self.channel, &notice];
        // Before what names them.
        write_blobs(session, changes).await.map_err(|error| harmless(&error))?;
        // The rest is sent together.
        let done = tokio::try_join!(
            versions.write(session),
            net.write(session),
            write_leases(session, changes),
            session.execute("UPDATE meta SET head = $1, fence = $2", &counter),
            session.execute("SELECT pg_notify($1, $2)", &hint),
        );
        done.map(drop).map_err(|error| harmless(&error))
    }

    async fn compact_if_due(&self, head: Revision, horizon: u64) {
        let kept = self.limits.max_history.saturating_add(self.limits.max_history / 8);
        if head.get() - horizon > kept {
            // Who cannot forget now forgets later.
            let _ = self.compact(Revision::new(head.get() - self.limits.max_history)).await;
        }
    }

    async fn compact(&self, up_to: Revision) -> Result<Revision, Error> {
        let session = self.link.session().await?;
        loop {
            let done = slice(&session, up_to).await;
            if done.is_err() && !session.client.is_closed() {
                let _ = session.client.batch_execute("ROLLBACK").await;
            }
            let horizon = done?;
            self.follower.forget(horizon);
            if horizon >= up_to {
                return Ok(horizon);
            }
        }
    }
}

struct Done {
    outcomes: Vec<Result<Outcome, Error>>,
    records: Vec<Record>,
    horizon: u64,
}

/// Locks what a batch touches, in one order for all processes.
async fn lock(session: &Session, needs: &Needs, channel: &str) -> Result<(), tokio_postgres::Error> {
    let keys = needs.keys.iter().map(|key| lock_number(channel, "key", key.as_str()));
    let leases = needs.leases.iter().map(|lease| lock_number(channel, "lease", lease.as_str()));
    let mut locks: Vec<i64> = keys.chain(leases).collect();
    locks.sort_unstable();
    locks.dedup();
    session.execute("SELECT pg_advisory_xact_lock(x) FROM unnest($1::bigint[]) x", &[&locks]).await.map(drop)
}

/// The number of a lock. Processes of all versions must agree on it, for as long as there are any.
fn lock_number(channel: &str, what: &str, name: &str) -> i64 {
    let digest = sha256(format!("{channel}\0{what}\0{name}").as_bytes());
    let first = digest.as_bytes().first_chunk().expect("a digest has more than eight bytes");
    i64::from_be_bytes(*first)
}

async fn load_leases(
    session: &Session,
    needs: &Needs,
    world: &mut World,
) -> Result<(), tokio_postgres::Error> {
    if needs.leases.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = needs.leases.iter().map(LeaseName::as_str).collect();
    let rows =
        session.query("SELECT name, holder, fence, until FROM lease WHERE name = ANY($1)", &[&names]).await?;
    for row in rows {
        let Some(lease) = needs.leases.iter().find(|lease| lease.as_str() == row.get::<_, &str>(0)) else {
            continue;
        };
        let number = lanai_types::FencingNumber::new(unsigned(&row, 2));
        let fence = Fence { lease: lease.clone(), number };
        let until = Moment(unsigned(&row, 3));
        world.leases.insert(lease.clone(), Lease { fence, holder: row.get(1), until });
    }
    Ok(())
}

async fn load_counter(session: &Session, world: &mut World) -> Result<u64, Error> {
    let rows = session.query("SELECT head, fence, horizon FROM meta FOR UPDATE", &[]).await;
    let rows = rows.map_err(|error| harmless(&error))?;
    let row =
        rows.first().ok_or_else(|| Error::Damaged { what: "the table of revisions is empty".into() })?;
    world.head = unsigned(row, 0);
    world.fence = unsigned(row, 1);
    Ok(unsigned(row, 2))
}

/// Blobs are looked for behind the counter row, as they are swept there.
async fn load_blobs(
    session: &Session,
    needs: &Needs,
    world: &mut World,
) -> Result<(), tokio_postgres::Error> {
    if needs.blobs.is_empty() {
        return Ok(());
    }
    let digests: Vec<&[u8]> = needs.blobs.iter().map(|digest| digest.as_bytes().as_slice()).collect();
    let rows = session.query("SELECT digest FROM blob WHERE digest = ANY($1)", &[&digests]).await?;
    for row in rows {
        let found: &[u8] = row.get(0);
        world.blobs.extend(needs.blobs.iter().filter(|digest| digest.as_bytes() == found));
    }
    Ok(())
}

/// The versions of a batch, a list for each column.
#[derive(Default)]
struct Versions {
    revision: Vec<i64>,
    previous: Vec<Option<i64>>,
    created: Vec<i64>,
    tombstone: Vec<bool>,
    key: Vec<String>,
    attributes: Vec<Option<String>>,
    blobs: Vec<Option<Vec<u8>>>,
    sealed: Vec<Option<i64>>,
    checksum: Vec<i64>,
    value: Vec<Option<Vec<u8>>>,
    used: Vec<Vec<u8>>,
    used_by: Vec<i64>,
}

impl Versions {
    fn of(records: &[Record], keys: &SharedKeyring) -> Result<Self, Error> {
        let mut versions = Self::default();
        for record in records {
            let row = record.after.as_ref().map(|stored| Row::of(stored, keys)).transpose()?;
            let Some(known) = record.after.as_ref().or(record.before.as_ref()) else { continue };
            versions.revision.push(signed(record.revision.get()));
            versions.previous.push(record.before.as_ref().map(|before| signed(before.revision.get())));
            versions.created.push(signed(known.created.get()));
            versions.tombstone.push(row.is_none());
            versions.key.push(known.key.as_str().to_owned());
            for digest in record.after.iter().flat_map(|stored| &stored.object.blobs) {
                versions.used.push(digest.as_bytes().to_vec());
                versions.used_by.push(signed(record.revision.get()));
            }
            versions.checksum.push(row.as_ref().map_or(0, |row| i64::from(row.checksum)));
            versions.sealed.push(row.as_ref().and_then(|row| row.sealed).map(i64::from));
            let (attributes, blobs, value) =
                row.map_or((None, None, None), |row| (row.attributes, row.blobs, Some(row.value)));
            versions.attributes.push(attributes);
            versions.blobs.push(blobs);
            versions.value.push(value);
        }
        Ok(versions)
    }

    async fn write(&self, session: &Session) -> Result<(), tokio_postgres::Error> {
        let columns: [&(dyn ToSql + Sync); 10] = [
            &self.revision,
            &self.previous,
            &self.created,
            &self.tombstone,
            &self.key,
            &self.attributes,
            &self.blobs,
            &self.sealed,
            &self.checksum,
            &self.value,
        ];
        session
            .execute(
                "INSERT INTO version (revision, previous, created, tombstone, key, attributes, blobs, sealed, checksum, value)
                 SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::boolean[], $5::text[], $6::text[],
                    $7::bytea[], $8::bigint[], $9::bigint[], $10::bytea[])",
                &columns,
            )
            .await?;
        if !self.used.is_empty() {
            let sql =
                "INSERT INTO blob_use (digest, revision) SELECT * FROM unnest($1::bytea[], $2::bigint[])";
            session.execute(sql, &[&self.used, &self.used_by]).await?;
        }
        let mut sealed: Vec<i64> = self.sealed.iter().flatten().copied().collect();
        sealed.dedup();
        if !sealed.is_empty() {
            let sql = "INSERT INTO seal_key (id) SELECT DISTINCT * FROM unnest($1::bigint[]) ON CONFLICT DO NOTHING";
            session.execute(sql, &[&sealed]).await?;
        }
        Ok(())
    }
}

/// An object before a batch and after it.
struct Ends {
    before: Option<Arc<Stored>>,
    after: Option<Arc<Stored>>,
}

/// What a batch leaves, whatever it did in between.
#[derive(Default)]
struct Net {
    there: Vec<String>,
    revision: Vec<i64>,
    gone: Vec<String>,
    index_gone: [Vec<String>; 3],
    index_come: [Vec<String>; 3],
}

impl Net {
    fn of(records: &[Record]) -> Self {
        let mut ends: BTreeMap<&Key, Ends> = BTreeMap::new();
        for record in records {
            let Some(known) = record.after.as_ref().or(record.before.as_ref()) else { continue };
            let end =
                ends.entry(&known.key).or_insert_with(|| Ends { before: record.before.clone(), after: None });
            end.after.clone_from(&record.after);
        }
        let mut net = Self::default();
        for (key, Ends { before, after }) in ends {
            match &after {
                Some(stored) => {
                    net.there.push(key.as_str().to_owned());
                    net.revision.push(signed(stored.revision.get()));
                }
                None => net.gone.push(key.as_str().to_owned()),
            }
            let change = IndexChange::of(&Record { revision: Revision::ZERO, before, after });
            for (entries, columns) in [(change.gone, &mut net.index_gone), (change.come, &mut net.index_come)]
            {
                for entry in entries {
                    columns[0].push(entry.name);
                    columns[1].push(entry.value);
                    columns[2].push(key.as_str().to_owned());
                }
            }
        }
        net
    }

    async fn write(&self, session: &Session) -> Result<(), tokio_postgres::Error> {
        if !self.there.is_empty() {
            let sql = "INSERT INTO current (key, revision) SELECT * FROM unnest($1::text[], $2::bigint[])
                ON CONFLICT (key) DO UPDATE SET revision = excluded.revision";
            session.execute(sql, &[&self.there, &self.revision]).await?;
        }
        if !self.gone.is_empty() {
            session.execute("DELETE FROM current WHERE key = ANY($1)", &[&self.gone]).await?;
        }
        if !self.index_gone[0].is_empty() {
            let sql = "DELETE FROM attribute a USING unnest($1::text[], $2::text[], $3::text[]) AS g (name, value, key)
                WHERE a.name = g.name AND a.value = g.value AND a.key = g.key";
            let [name, value, key] = &self.index_gone;
            session.execute(sql, &[name, value, key]).await?;
        }
        if !self.index_come[0].is_empty() {
            let sql = "INSERT INTO attribute (name, value, key) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])";
            let [name, value, key] = &self.index_come;
            session.execute(sql, &[name, value, key]).await?;
        }
        Ok(())
    }
}

async fn write_blobs(session: &Session, changes: &Changes) -> Result<(), tokio_postgres::Error> {
    for blob in &changes.blobs {
        let sql = "INSERT INTO blob (digest, content) VALUES ($1, $2)";
        session.execute(sql, &[&blob.digest().as_bytes().as_slice(), &&blob.content()[..]]).await?;
    }
    Ok(())
}

async fn write_leases(session: &Session, changes: &Changes) -> Result<(), tokio_postgres::Error> {
    for (name, lease) in &changes.leases {
        match lease {
            Some(lease) => {
                let sql = "INSERT INTO lease (name, holder, fence, until) VALUES ($1, $2, $3, $4)
                    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, fence = excluded.fence, until = excluded.until";
                let (fence, until) = (signed(lease.fence.number.get()), signed(lease.until.0));
                session.execute(sql, &[&name.as_str(), &lease.holder, &fence, &until]).await?
            }
            None => session.execute("DELETE FROM lease WHERE name = $1", &[&name.as_str()]).await?,
        };
    }
    Ok(())
}

/// Forgets some history below a revision, in one transaction; returns the horizon.
async fn slice(session: &Session, target: Revision) -> Result<Revision, Error> {
    let failed = |error: tokio_postgres::Error| harmless(&error);
    session.client.batch_execute("BEGIN").await.map_err(failed)?;
    let mut world = World::default();
    let horizon = load_counter(session, &mut world).await?;
    if target.get() > world.head || target.get() <= horizon {
        session.client.batch_execute("ROLLBACK").await.map_err(failed)?;
        let head = Revision::new(world.head);
        if target > head {
            return Err(Error::TooNew { asked: target, current: head });
        }
        return Ok(Revision::new(horizon));
    }
    let end = target.get().min(horizon + SLICE);
    let bounds = [signed(horizon), signed(end)];
    let gone = "SELECT previous FROM version WHERE revision > $1 AND revision <= $2 AND previous IS NOT NULL";
    let sql = format!("DELETE FROM blob_use WHERE revision IN ({gone}) RETURNING digest");
    let swept = session.query(&sql, &[&bounds[0], &bounds[1]]).await.map_err(failed)?;
    let sql = format!(
        "DELETE FROM version WHERE revision IN ({gone}) OR (tombstone AND revision > $1 AND revision <= $2)"
    );
    session.execute(&sql, &[&bounds[0], &bounds[1]]).await.map_err(failed)?;
    let digests: Vec<Vec<u8>> = swept.iter().map(|row| row.get(0)).collect();
    if !digests.is_empty() {
        let sql = "DELETE FROM blob b WHERE digest = ANY($1)
            AND NOT EXISTS (SELECT 1 FROM blob_use u WHERE u.digest = b.digest)";
        session.execute(sql, &[&digests]).await.map_err(failed)?;
    }
    session.execute("UPDATE meta SET horizon = $1", &[&bounds[1]]).await.map_err(failed)?;
    session.client.batch_execute("COMMIT").await.map_err(failed)?;
    Ok(Revision::new(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with another program; a release that has others would write beside its predecessors.
    #[test]
    fn locks_have_the_same_numbers_for_ever() {
        assert_eq!(lock_number("lanai_store_lanai", "key", "a/x/1"), 3_268_847_176_706_537_162);
        assert_eq!(lock_number("lanai_store_lanai", "lease", "work"), -5_959_779_537_242_675_407);
    }
}
