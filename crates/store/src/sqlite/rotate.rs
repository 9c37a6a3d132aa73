//! A new key for secrets. No revision changes.

use std::path::Path;
use std::sync::PoisonError;

use rusqlite::{Connection, TransactionBehavior, params};
use tokio::sync::oneshot;

use super::fault::{at_commit, harmless};
use super::open::{Durability, OpenError, open};
use super::query::{COLUMNS, read_row, signed};
use super::{Options, RotateError};
use crate::error::chain;
use crate::row::{Row, SharedKeyring};
use crate::seal::KeyId;
use crate::{Error, Revision};

/// Versions that are sealed anew in one transaction at most.
const SLICE: usize = 500;

/// Bytes of values after which a transaction takes no more of them.
const SLICE_BYTES: usize = 8 << 20;

/// A rotation that goes on.
///
/// Killed anywhere, everything can still be opened, and rotating again finishes it.
#[derive(Debug)]
pub(crate) struct Rotation {
    newest: KeyId,
    /// All up to this revision is sealed with the newest key.
    after: u64,
    replies: Vec<oneshot::Sender<Result<(), Error>>>,
}

/// Whether there is more to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

impl Rotation {
    /// Adds a key, with which everything is sealed from now on.
    pub(crate) fn begin(keys: &SharedKeyring) -> Result<Self, Error> {
        let newest =
            keys.write().unwrap_or_else(PoisonError::into_inner).add_key().map_err(|error| file(&error))?;
        Ok(Self { newest, after: 0, replies: Vec::new() })
    }

    pub(crate) fn tell(&mut self, reply: oneshot::Sender<Result<(), Error>>) {
        self.replies.push(reply);
    }

    pub(crate) fn answer(self, outcome: &Result<(), Error>) {
        for reply in self.replies {
            let _ = reply.send(outcome.clone());
        }
    }

    /// Seals some values with the new key, in one transaction; behind the last of them, forgets the keys before it.
    pub(crate) fn slice(
        &mut self,
        connection: &mut Connection,
        keys: &SharedKeyring,
    ) -> Result<Progress, Error> {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| harmless(&error))?;
        let rows = sealed_rows(&transaction, self.after).map_err(|error| harmless(&error))?;
        let Some(last) = rows.last() else {
            forget(&transaction, self.newest).map_err(|error| harmless(&error))?;
            transaction.commit().map_err(|error| at_commit(&error))?;
            let mut keys = keys.write().unwrap_or_else(PoisonError::into_inner);
            return keys
                .forget_keys_before(self.newest)
                .map_err(|error| file(&error))
                .map(|()| Progress::Done);
        };
        let after = last.revision;
        for row in rows {
            let row = row.sealed_anew(keys)?;
            replace(&transaction, &row, keys).map_err(|error| harmless(&error))?;
        }
        transaction.commit().map_err(|error| at_commit(&error))?;
        self.after = after;
        Ok(Progress::More)
    }
}

/// Seals all secrets of a data directory with a new key, while no server has it.
pub fn rotate_key(folder: &Path) -> Result<(), RotateError> {
    let path = folder.join(super::open::DATABASE);
    if !path.is_file() {
        return Err(RotateError::Nothing { folder: folder.to_owned() });
    }
    let options = Options::default();
    let mut opened = open(folder, 1, options.check_up_to, Durability::Synced)?;
    let mut rotation = Rotation::begin(&opened.keys)?;
    while rotation.slice(&mut opened.writer, &opened.keys)? == Progress::More {}
    Ok(())
}

impl From<OpenError> for RotateError {
    fn from(error: OpenError) -> Self {
        Self::Open(error)
    }
}

fn file(error: &crate::seal::Error) -> Error {
    Error::Unavailable { cause: chain(error) }
}

fn forget(connection: &Connection, newest: KeyId) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM seal_key WHERE id <> ?1", [newest.0]).map(drop)
}

/// Notes that something is sealed with a key.
pub(crate) fn note_key(connection: &Connection, id: u32, keys: &SharedKeyring) -> rusqlite::Result<()> {
    let fingerprint = keys.read().unwrap_or_else(PoisonError::into_inner).fingerprint(KeyId(id));
    connection
        .prepare_cached("INSERT OR IGNORE INTO seal_key (id, fingerprint) VALUES (?1, ?2)")?
        .execute(params![id, fingerprint.map(|fingerprint| fingerprint.0)])
        .map(drop)
}

fn sealed_rows(connection: &Connection, after: u64) -> rusqlite::Result<Vec<Row>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM version v WHERE v.sealed IS NOT NULL AND v.revision > ?1 ORDER BY v.revision LIMIT {SLICE}"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = Vec::new();
    let mut bytes = 0;
    for row in statement.query_map([signed(Revision::new(after))], |row| read_row(row, 0))? {
        let row = row?;
        bytes += row.value.len();
        found.push(row);
        if bytes > SLICE_BYTES {
            break;
        }
    }
    Ok(found)
}

fn replace(connection: &Connection, row: &Row, keys: &SharedKeyring) -> rusqlite::Result<()> {
    if let Some(id) = row.sealed {
        note_key(connection, id, keys)?;
    }
    connection
        .prepare_cached("UPDATE version SET sealed = ?2, checksum = ?3, value = ?4 WHERE revision = ?1")?
        .execute(params![signed(Revision::new(row.revision)), row.sealed, row.checksum, row.value])?;
    Ok(())
}
