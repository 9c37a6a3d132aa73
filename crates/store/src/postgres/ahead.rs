//! A server that lost something goes on ahead of everything that was seen.

use super::counter::take_counter;
use super::query::{COLUMNS, read_row, signed};
use super::seen::{Seen, new_stamp};
use super::session::{Session, at_commit, harmless};
use crate::row::Row;
use crate::{Error, Jump};

/// Objects that get new revisions with one statement at most.
const SLICE: i64 = 1_000;

/// Bytes of values after which a statement takes no more objects.
const SLICE_BYTES: i64 = 8 << 20;

/// What came of looking once more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// The server was moved, and goes on here.
    Jumped(Seen),
    /// The server has what was seen, or another process was faster.
    Fine(Seen),
}

/// Moves a server that does not have what was seen ahead of it, and forgets its history, as a restore does.
///
/// Everything that exists gets a new revision behind the jump: another server may have shown something else under the old one, and whoever
/// knows that must not write as if it were this. Several processes may notice; one of them does it.
pub(crate) async fn jump(session: &Session, seen: &Seen) -> Result<Ahead, Error> {
    let done = try_jump(session, seen).await;
    if done.is_err() && !session.client.is_closed() {
        let _ = session.client.batch_execute("ROLLBACK").await;
    }
    done
}

async fn try_jump(session: &Session, seen: &Seen) -> Result<Ahead, Error> {
    let failed = |error: tokio_postgres::Error| harmless(&error);
    session.client.batch_execute("BEGIN").await.map_err(failed)?;
    let testimony = take_counter(session, seen).await?;
    if testimony.confirms(seen) {
        session.client.batch_execute("ROLLBACK").await.map_err(failed)?;
        return Ok(Ahead::Fine(testimony.newest()));
    }
    let jump = Jump::by_chance()?;
    let old = "SELECT revision FROM version v WHERE NOT EXISTS (SELECT 1 FROM current c WHERE c.revision = v.revision)";
    // Who had a lease may have lost it on the server that is gone: nobody has one.
    session
        .client
        .batch_execute(&format!(
            "DELETE FROM blob_use WHERE revision IN ({old});
             DELETE FROM version WHERE revision IN ({old});
             DELETE FROM blob b WHERE NOT EXISTS (SELECT 1 FROM blob_use u WHERE u.digest = b.digest);
             DELETE FROM lease"
        ))
        .await
        .map_err(failed)?;
    let stamp = new_stamp()?;
    let first = jump.ahead_of(testimony.head.max(seen.revision).get())?;
    let head = renumber(session, first, stamp).await.map_err(failed)?;
    let fence = jump.ahead_of(testimony.fence.max(seen.fence))?;
    let sql = "UPDATE meta SET head = $1, horizon = $1, fence = $2, stamp = $3, renewed = $4";
    let (numbers, timeline) = ([signed(head), signed(fence)], testimony.timeline);
    session.execute(sql, &[&numbers[0], &numbers[1], &stamp, &timeline]).await.map_err(failed)?;
    session.client.batch_execute("COMMIT").await.map_err(|error| at_commit(&error))?;
    Ok(Ahead::Jumped(Seen { revision: crate::Revision::new(head), stamp: Some(stamp), fence, timeline }))
}

/// Gives everything that exists the revisions behind one; returns the last.
async fn renumber(session: &Session, first: u64, stamp: i64) -> Result<u64, tokio_postgres::Error> {
    let sql = format!(
        "SELECT {COLUMNS} FROM (
            SELECT x.*, sum(octet_length(x.value)) OVER (ORDER BY x.key) - octet_length(x.value) AS bytes_before
            FROM (SELECT w.* FROM current c JOIN version w ON w.revision = c.revision WHERE c.key > $1 ORDER BY c.key LIMIT $2) x
         ) v WHERE v.bytes_before <= $3 ORDER BY v.key"
    );
    let (mut last, mut after) = (first, String::new());
    loop {
        let rows = session.query(&sql, &[&after, &SLICE, &SLICE_BYTES]).await?;
        let mut columns = Columns::default();
        for row in rows {
            last += 1;
            columns.push(read_row(&row, 0), last);
        }
        let Some(key) = columns.key.last().cloned() else { return Ok(last) };
        columns.write(session, stamp).await?;
        after = key;
    }
}

#[derive(Default)]
struct Columns {
    key: Vec<String>,
    old: Vec<i64>,
    new: Vec<i64>,
    checksum: Vec<i64>,
}

impl Columns {
    fn push(&mut self, row: Row, revision: u64) {
        self.old.push(signed(row.revision));
        self.new.push(signed(revision));
        let row = row.renumbered(revision);
        self.checksum.push(i64::from(row.checksum));
        self.key.push(row.key);
    }

    async fn write(&self, session: &Session, stamp: i64) -> Result<(), tokio_postgres::Error> {
        // What was before is gone with the history.
        let sql = "UPDATE version v SET revision = n.new, checksum = n.checksum, previous = NULL, stamp = $4
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS n (old, new, checksum) WHERE v.revision = n.old";
        session.execute(sql, &[&self.old, &self.new, &self.checksum, &stamp]).await?;
        let sql =
            "UPDATE blob_use u SET revision = n.new FROM unnest($1::bigint[], $2::bigint[]) AS n (old, new)
            WHERE u.revision = n.old";
        session.execute(sql, &[&self.old, &self.new]).await?;
        let sql =
            "UPDATE current c SET revision = n.new FROM unnest($1::text[], $2::bigint[]) AS n (key, new)
            WHERE c.key = n.key";
        session.execute(sql, &[&self.key, &self.new]).await.map(drop)
    }
}
