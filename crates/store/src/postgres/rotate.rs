//! A new key for secrets, while other processes write and read. No revision changes.
//!
//! 1. Under the counter row: the key file gets the new key, and `seal_key` its number. Who seals looks there, under the same row, and reads the
//!    file again; who reads a value with a key that it does not know reads the file again.
//! 2. Values are sealed anew, some in each transaction, under the counter row.
//! 3. When none is left, the old numbers go from `seal_key`, and then the old keys from the file.
//!
//! Killed anywhere, everything can still be opened, and rotating again finishes it.

use std::sync::PoisonError;

use tokio::sync::oneshot;

use super::counter::{take_trusted_counter, used_keys};
use super::query::{COLUMNS, read_row, signed};
use super::rows::note_key;
use super::seen::Seen;
use super::session::{Session, at_commit, harmless};
use crate::Error;
use crate::error::chain;
use crate::row::{Row, SharedKeyring};
use crate::seal::{self, KeyId, Keyring, UsedKey};

/// Versions that are sealed anew in one transaction at most.
const SLICE: i64 = 500;

/// Bytes of values after which a transaction takes no more of them.
const SLICE_BYTES: i64 = 8 << 20;

/// A rotation that goes on.
#[derive(Debug)]
pub(crate) struct Rotation {
    target: KeyId,
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
    /// Adds a key, with which everybody seals from now on.
    pub(crate) async fn begin(session: &Session, seen: &Seen, keys: &SharedKeyring) -> Result<Self, Error> {
        let done = try_begin(session, seen, keys).await;
        let target = undone(session, done).await?;
        Ok(Self { target, after: 0, replies: Vec::new() })
    }

    pub(crate) fn tell(&mut self, reply: oneshot::Sender<Result<(), Error>>) {
        self.replies.push(reply);
    }

    pub(crate) fn answer(self, outcome: &Result<(), Error>) {
        for reply in self.replies {
            let _ = reply.send(outcome.clone());
        }
    }

    /// Seals some values with the new key; behind the last of them, forgets the keys before it.
    pub(crate) async fn slice(
        &mut self,
        session: &Session,
        seen: &Seen,
        keys: &SharedKeyring,
    ) -> Result<Progress, Error> {
        let done = self.try_slice(session, seen, keys).await;
        if undone(session, done).await? == Progress::More {
            return Ok(Progress::More);
        }
        let done = self.forget(session, seen, keys).await;
        undone(session, done).await.map(|()| Progress::Done)
    }

    async fn try_slice(
        &mut self,
        session: &Session,
        seen: &Seen,
        keys: &SharedKeyring,
    ) -> Result<Progress, Error> {
        let failed = |error: tokio_postgres::Error| harmless(&error);
        session.client.batch_execute("BEGIN").await.map_err(failed)?;
        take_trusted_counter(session, seen).await?;
        let used = used_keys(session).await.map_err(failed)?;
        if used.first().is_some_and(|newest| newest.id > self.target) {
            let cause = "another process has begun to seal everything with a newer key".into();
            return Err(Error::Unavailable { cause });
        }
        let rows = self.rows(session).await.map_err(failed)?;
        let Some(last) = rows.last() else {
            let target = i64::from(self.target.0);
            session.execute("DELETE FROM seal_key WHERE id < $1", &[&target]).await.map_err(failed)?;
            session.client.batch_execute("COMMIT").await.map_err(|error| at_commit(&error))?;
            return Ok(Progress::Done);
        };
        let after = last.revision;
        let mut columns = Columns::default();
        for row in rows {
            columns.push(row.sealed_anew(keys)?);
        }
        let (newest, fingerprint) = {
            let keys = keys.read().unwrap_or_else(PoisonError::into_inner);
            (keys.newest(), keys.fingerprint(keys.newest()))
        };
        note_key(session, i64::from(newest.0), fingerprint).await.map_err(failed)?;
        columns.write(session).await.map_err(failed)?;
        session.client.batch_execute("COMMIT").await.map_err(|error| at_commit(&error))?;
        self.after = after;
        Ok(Progress::More)
    }

    async fn rows(&self, session: &Session) -> Result<Vec<Row>, tokio_postgres::Error> {
        let sql = format!(
            "SELECT {COLUMNS} FROM (
                SELECT x.*, sum(octet_length(x.value)) OVER (ORDER BY x.revision) - octet_length(x.value) AS bytes_before
                FROM (SELECT * FROM version WHERE sealed IS NOT NULL AND sealed < $1 AND revision > $2
                    ORDER BY revision LIMIT $3) x
             ) v WHERE v.bytes_before <= $4 ORDER BY v.revision"
        );
        let (target, after) = (i64::from(self.target.0), signed(self.after));
        let rows = session.query(&sql, &[&target, &after, &SLICE, &SLICE_BYTES]).await?;
        Ok(rows.iter().map(|row| read_row(row, 0)).collect())
    }

    /// Takes the old keys out of the file; nobody adds one at the same time.
    async fn forget(&self, session: &Session, seen: &Seen, keys: &SharedKeyring) -> Result<(), Error> {
        session.client.batch_execute("BEGIN").await.map_err(|error| harmless(&error))?;
        take_trusted_counter(session, seen).await?;
        change(keys, |keys| {
            keys.reload()?;
            keys.forget_keys_before(self.target)
        })?;
        session.client.batch_execute("COMMIT").await.map_err(|error| harmless(&error))
    }
}

async fn try_begin(session: &Session, seen: &Seen, keys: &SharedKeyring) -> Result<KeyId, Error> {
    let failed = |error: tokio_postgres::Error| harmless(&error);
    session.client.batch_execute("BEGIN").await.map_err(failed)?;
    take_trusted_counter(session, seen).await?;
    let used = used_keys(session).await.map_err(failed)?;
    let target = change(keys, |keys| {
        keys.reload()?;
        fits(keys, used.first())?;
        keys.add_key()
    })?;
    let fingerprint = keys.read().unwrap_or_else(PoisonError::into_inner).fingerprint(target);
    note_key(session, i64::from(target.0), fingerprint).await.map_err(failed)?;
    session.client.batch_execute("COMMIT").await.map_err(|error| at_commit(&error))?;
    Ok(target)
}

/// Whoever seals needs the newest key of the store; looks into the file again if it is not here. To be asked under the counter row.
pub(crate) fn ready_to_seal(keys: &SharedKeyring, newest: Option<&UsedKey>) -> Result<(), seal::Error> {
    let is_ready = fits(&keys.read().unwrap_or_else(PoisonError::into_inner), newest);
    if !matches!(is_ready, Err(seal::Error::Missing { .. })) {
        return is_ready;
    }
    let mut keys = keys.write().unwrap_or_else(PoisonError::into_inner);
    keys.reload()?;
    fits(&keys, newest)
}

fn fits(keys: &Keyring, newest: Option<&UsedKey>) -> Result<(), seal::Error> {
    newest.map_or(Ok(()), |newest| keys.check(newest))
}

fn change<T>(
    keys: &SharedKeyring,
    how: impl FnOnce(&mut Keyring) -> Result<T, seal::Error>,
) -> Result<T, Error> {
    let mut keys = keys.write().unwrap_or_else(PoisonError::into_inner);
    how(&mut keys).map_err(|error| Error::Unavailable { cause: chain(&error) })
}

/// Ends a transaction that failed.
async fn undone<T>(session: &Session, done: Result<T, Error>) -> Result<T, Error> {
    if done.is_err() && !session.client.is_closed() {
        let _ = session.client.batch_execute("ROLLBACK").await;
    }
    done
}

#[derive(Default)]
struct Columns {
    revision: Vec<i64>,
    sealed: Vec<Option<i64>>,
    checksum: Vec<i64>,
    value: Vec<Vec<u8>>,
}

impl Columns {
    fn push(&mut self, row: Row) {
        self.revision.push(signed(row.revision));
        self.sealed.push(row.sealed.map(i64::from));
        self.checksum.push(i64::from(row.checksum));
        self.value.push(row.value);
    }

    async fn write(&self, session: &Session) -> Result<(), tokio_postgres::Error> {
        let sql = "UPDATE version v SET sealed = n.sealed, checksum = n.checksum, value = n.value
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bytea[]) AS n (revision, sealed, checksum, value)
            WHERE v.revision = n.revision";
        session.execute(sql, &[&self.revision, &self.sealed, &self.checksum, &self.value]).await.map(drop)
    }
}
