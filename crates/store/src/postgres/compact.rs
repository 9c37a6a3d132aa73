//! Forgetting history, a slice at a time, so that writes go on in between.

use super::counter::take_trusted_counter;
use super::query::signed;
use super::seen::{Seen, Testimony};
use super::session::{Session, at_commit, harmless};
use crate::{Error, Revision};

/// Revisions that one slice of a compaction forgets.
const SLICE: u64 = 1_000;

/// Forgets some history below a revision, in one transaction; returns the horizon.
pub(crate) async fn slice(session: &Session, seen: &Seen, target: Revision) -> Result<Revision, Error> {
    let failed = |error: tokio_postgres::Error| harmless(&error);
    session.client.batch_execute("BEGIN").await.map_err(failed)?;
    let Testimony { head, horizon, .. } = take_trusted_counter(session, seen).await?;
    if target > head || target <= horizon {
        session.client.batch_execute("ROLLBACK").await.map_err(failed)?;
        if target > head {
            return Err(Error::TooNew { asked: target, current: head });
        }
        return Ok(horizon);
    }
    let end = target.get().min(horizon.get() + SLICE);
    let bounds = [signed(horizon.get()), signed(end)];
    let gone = "SELECT previous FROM version WHERE revision > $1 AND revision <= $2 AND previous IS NOT NULL";
    let sql = format!("DELETE FROM blob_use WHERE revision IN ({gone}) RETURNING digest");
    let swept = session.query(&sql, &[&bounds[0], &bounds[1]]).await.map_err(failed)?;
    let sql = format!(
        "DELETE FROM version WHERE revision IN (
            {gone} UNION ALL SELECT revision FROM version WHERE tombstone AND revision > $1 AND revision <= $2)"
    );
    session.execute(&sql, &[&bounds[0], &bounds[1]]).await.map_err(failed)?;
    let digests: Vec<Vec<u8>> = swept.iter().map(|row| row.get(0)).collect();
    if !digests.is_empty() {
        let sql = "DELETE FROM blob b WHERE digest = ANY($1)
            AND NOT EXISTS (SELECT 1 FROM blob_use u WHERE u.digest = b.digest)";
        session.execute(sql, &[&digests]).await.map_err(failed)?;
    }
    session.execute("UPDATE meta SET horizon = $1", &[&bounds[1]]).await.map_err(failed)?;
    session.client.batch_execute("COMMIT").await.map_err(|error| at_commit(&error))?;
    Ok(Revision::new(end))
}
