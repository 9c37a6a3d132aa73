//! Forgetting history, a slice at a time, so that writes go on in between.

use std::collections::BTreeSet;

use lanai_types::Sha256Digest;
use rusqlite::{Connection, params};

use super::fault::{at_commit, harmless};
use super::query::{bounds, signed, unsigned};
use crate::row::digests;
use crate::{Error, Revision};

/// Revisions that one slice forgets.
const SLICE: u64 = 1_000;

/// Pages that one slice gives back to the file system at most.
const VACUUM_PAGES: u32 = 2_000;

/// What there is to do for a compaction.
#[derive(Debug)]
pub(crate) enum Check {
    Nothing(Revision),
    Begin,
}

pub(crate) fn check(connection: &Connection, up_to: Revision) -> Result<Check, Error> {
    let bounds = bounds(connection)?;
    if up_to > bounds.head {
        return Err(Error::TooNew { asked: up_to, current: bounds.head });
    }
    Ok(if up_to <= bounds.horizon { Check::Nothing(bounds.horizon) } else { Check::Begin })
}

/// Forgets some history below a revision, in one transaction; returns the horizon.
pub(crate) fn slice(connection: &mut Connection, target: Revision) -> Result<Revision, Error> {
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(|error| harmless(&error))?;
    let horizon = bounds(&transaction)?.horizon;
    if target <= horizon {
        return Ok(horizon);
    }
    let end = Revision::new(target.get().min(horizon.get().saturating_add(SLICE)));
    forget(&transaction, horizon, end).map_err(|error| harmless(&error))?;
    transaction.commit().map_err(|error| at_commit(&error))?;
    match vacuum(connection).map_err(|error| at_commit(&error)) {
        // It is a commit as well: what the disk did not take may be there or not.
        Err(unknown @ Error::Unknown { .. }) => Err(unknown),
        // Pages that cannot be given back now are given back later, or used again.
        Ok(()) | Err(_) => Ok(end),
    }
}

/// Gives pages back to the file system. Each is a row of the answer: who does not read them all does not give all back.
fn vacuum(connection: &Connection) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"))?;
    let mut rows = statement.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

fn forget(connection: &Connection, horizon: Revision, end: Revision) -> rusqlite::Result<()> {
    let mut gone = Vec::new();
    let mut blobs = BTreeSet::new();
    {
        let mut statement = connection.prepare_cached(
            "SELECT v.revision, v.tombstone, p.revision, p.blobs
             FROM version v LEFT JOIN version p ON p.revision = v.previous
             WHERE v.revision > ?1 AND v.revision <= ?2",
        )?;
        let mut rows = statement.query([signed(horizon), signed(end)])?;
        while let Some(row) = rows.next()? {
            if row.get(1)? {
                gone.push(unsigned(row, 0)?);
            }
            if row.get::<_, Option<i64>>(2)?.is_some() {
                let previous = unsigned(row, 2)?;
                gone.push(previous);
                let named: Option<Vec<u8>> = row.get(3)?;
                let named = named.as_deref().and_then(digests).unwrap_or_default();
                blobs.extend(named.into_iter().map(|digest| Use { digest, revision: previous }));
            }
        }
    }
    for revision in gone {
        connection
            .prepare_cached("DELETE FROM version WHERE revision = ?1")?
            .execute([signed(Revision::new(revision))])?;
    }
    sweep(connection, &blobs)?;
    connection.prepare_cached("UPDATE meta SET horizon = ?1")?.execute([signed(end)])?;
    Ok(())
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    digest: Sha256Digest,
    revision: u64,
}

/// Removes uses, and blobs that nothing uses any more.
fn sweep(connection: &Connection, uses: &BTreeSet<Use>) -> rusqlite::Result<()> {
    for named in uses {
        connection
            .prepare_cached("DELETE FROM blob_use WHERE digest = ?1 AND revision = ?2")?
            .execute(params![named.digest.as_bytes().as_slice(), signed(Revision::new(named.revision))])?;
    }
    let digests: BTreeSet<_> = uses.iter().map(|named| named.digest).collect();
    for digest in digests {
        connection
            .prepare_cached(
                "DELETE FROM blob WHERE digest = ?1 AND NOT EXISTS (SELECT 1 FROM blob_use WHERE digest = ?1)",
            )?
            .execute([digest.as_bytes().as_slice()])?;
    }
    Ok(())
}
