//! A new key for secrets. No revision changes.

use std::sync::PoisonError;

use rusqlite::{Connection, TransactionBehavior, params};

use super::fault::{at_commit, harmless};
use super::query::{COLUMNS, read_row, signed};
use crate::row::{Row, SharedKeyring};
use crate::{Error, Revision};

/// Versions that are sealed anew in one transaction.
const SLICE: usize = 500;

/// Adds a key, seals all secrets with it, and forgets the keys before it.
///
/// Killed anywhere, everything can still be opened, and rotating again finishes it.
pub(crate) fn rotate(connection: &mut Connection, keys: &SharedKeyring) -> Result<(), Error> {
    let file = |error: crate::seal::Error| Error::Unavailable { cause: chain(&error) };
    let newest = {
        let mut keys = keys.write().unwrap_or_else(PoisonError::into_inner);
        keys.add_key().map_err(file)?
    };
    let mut after = 0;
    loop {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| harmless(&error))?;
        let rows = sealed_rows(&transaction, after).map_err(|error| harmless(&error))?;
        let Some(last) = rows.last() else { break };
        after = last.revision;
        for row in rows {
            let row = row.sealed_anew(keys)?;
            replace(&transaction, &row).map_err(|error| harmless(&error))?;
        }
        transaction.commit().map_err(|error| at_commit(&error))?;
    }
    let transaction = connection.transaction().map_err(|error| harmless(&error))?;
    transaction
        .execute("DELETE FROM seal_key WHERE id <> ?1", [newest.0])
        .and_then(|_| transaction.execute("INSERT OR IGNORE INTO seal_key (id) VALUES (?1)", [newest.0]))
        .map_err(|error| harmless(&error))?;
    transaction.commit().map_err(|error| at_commit(&error))?;
    keys.write().unwrap_or_else(PoisonError::into_inner).forget_old_keys().map_err(file)
}

fn sealed_rows(connection: &Connection, after: u64) -> rusqlite::Result<Vec<Row>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM version v WHERE v.sealed IS NOT NULL AND v.revision > ?1 ORDER BY v.revision LIMIT {SLICE}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    statement.query_map([signed(Revision::new(after))], |row| read_row(row, 0))?.collect()
}

fn replace(connection: &Connection, row: &Row) -> rusqlite::Result<()> {
    if let Some(id) = row.sealed {
        connection.prepare_cached("INSERT OR IGNORE INTO seal_key (id) VALUES (?1)")?.execute([id])?;
    }
    connection
        .prepare_cached("UPDATE version SET sealed = ?2, checksum = ?3, value = ?4 WHERE revision = ?1")?
        .execute(params![signed(Revision::new(row.revision)), row.sealed, row.checksum, row.value])?;
    Ok(())
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
