//! Records in a file that processes share.

mod open;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use lanai_types::{FencingNumber, Sha256Digest};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use crate::records::{Claim, Committed, Error, Records, Reserved, Total};
use crate::{Entry, Key, Moment, Outcome, Subject, Trace};

/// Moments of use are written down when they are that much later than what is written: most hits write nothing.
const USED_WITHIN: Duration = Duration::from_mins(1);

/// Records in the file `catalog.db` of a folder.
///
/// Processes share it. Commits do not wait for the disk: after a power cut the last ones may be missing, and that is a miss. A file
/// that is no database, or was found to be damaged, is put aside when it is opened.
#[derive(Debug)]
pub struct SqliteRecords {
    folder: PathBuf,
    reader: Mutex<Connection>,
    writer: Mutex<Connection>,
}

impl SqliteRecords {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// When the folder cannot be used.
    pub fn open(folder: &Path) -> Result<Self, Error> {
        let (reader, writer) = open::open(folder)?;
        Ok(Self { folder: folder.to_owned(), reader: Mutex::new(reader), writer: Mutex::new(writer) })
    }

    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, Error> {
        read(&lock(&self.reader)).map_err(|error| self.failed(&error))
    }

    fn write<T>(&self, write: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, Error> {
        let mut writer = lock(&self.writer);
        let done = (|| {
            let transaction = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let done = write(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })();
        done.map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &rusqlite::Error) -> Error {
        if open::is_damage(error) {
            open::mark_damaged(&self.folder);
        }
        open::say(&self.folder, error)
    }
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Records for SqliteRecords {
    fn find(&self, key: &Key, now: Moment) -> Result<Option<Entry>, Error> {
        let found = self.read(|reader| find(reader, key))?;
        Ok(found.filter(|entry| entry.outcome.counts_at(now)))
    }

    fn reserve(&self, claim: &Claim<'_>) -> Result<Reserved, Error> {
        self.write(|transaction| {
            if find(transaction, claim.key)?.is_some_and(|entry| entry.outcome.counts_at(claim.now)) {
                return Ok(Reserved::Done);
            }
            let until = number(claim.now.after(claim.time).0);
            let key = claim.key.digest().as_bytes();
            let held = "SELECT owner, number, until FROM lease WHERE key = ?1";
            let held = transaction
                .prepare_cached(held)?
                .query_row([key], |row| {
                    Ok((row.get::<_, String>(0)?, unsigned(row, 1)?, Moment(unsigned(row, 2)?)))
                })
                .optional()?;
            match held {
                Some((owner, fence, _)) if owner == claim.owner => {
                    let extend = "UPDATE lease SET until = ?2 WHERE key = ?1";
                    transaction.prepare_cached(extend)?.execute(params![key, until])?;
                    return Ok(Reserved::Granted(FencingNumber::new(fence)));
                }
                Some((owner, _, until)) if claim.now < until && claim.dead != Some(&owner) => {
                    return Ok(Reserved::Held { owner, until });
                }
                Some(_) | None => {}
            }
            let next = "UPDATE meta SET fence = fence + 1 RETURNING fence";
            let fence = transaction.prepare_cached(next)?.query_row([], |row| unsigned(row, 0))?;
            let grant = "INSERT OR REPLACE INTO lease (key, owner, number, until) VALUES (?1, ?2, ?3, ?4)";
            transaction.prepare_cached(grant)?.execute(params![key, claim.owner, number(fence), until])?;
            Ok(Reserved::Granted(FencingNumber::new(fence)))
        })
    }

    fn release(&self, key: &Key, fence: FencingNumber) -> Result<(), Error> {
        self.write(|transaction| {
            let release = "DELETE FROM lease WHERE key = ?1 AND number = ?2";
            let release = transaction
                .prepare_cached(release)?
                .execute(params![key.digest().as_bytes(), number(fence.get())]);
            release.map(|_| ())
        })
    }

    fn commit(&self, entry: &Entry, fence: FencingNumber, trace: &Trace) -> Result<Committed, Error> {
        self.write(|transaction| {
            let key = entry.key.digest().as_bytes();
            let end = "DELETE FROM lease WHERE key = ?1 AND number = ?2";
            if transaction.prepare_cached(end)?.execute(params![key, number(fence.get())])? == 0 {
                return Ok(Committed::Stale);
            }
            remove(transaction, &entry.key)?;
            let until = match entry.outcome {
                Outcome::Success => None,
                Outcome::Failure { until } => Some(number(until.0)),
            };
            let insert = "INSERT INTO entry (key, blob, size, until, function, package, made, used)
                          VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
            transaction.prepare_cached(insert)?.execute(params![
                key,
                entry.blob.as_bytes(),
                number(entry.size),
                until,
                entry.subject.function,
                entry.subject.package,
                number(entry.made.0),
                number(entry.used.0),
            ])?;
            let count = "UPDATE meta SET entries = entries + 1, bytes = bytes + ?1";
            transaction.prepare_cached(count)?.execute([number(entry.size)])?;
            remember(transaction, &entry.subject, trace)?;
            Ok(Committed::Stored)
        })
    }

    fn used(&self, key: &Key, subject: &Subject, trace: &Trace, now: Moment) -> Result<(), Error> {
        let (entry, last) = self.read(|reader| Ok((find(reader, key)?, last(reader, subject)?)))?;
        let is_old = entry.is_some_and(|entry| now.since(entry.used) >= USED_WITHIN);
        if !is_old && last.as_ref() == Some(trace) {
            return Ok(());
        }
        self.write(|transaction| {
            let touch = "UPDATE entry SET used = ?2 WHERE key = ?1";
            transaction.prepare_cached(touch)?.execute(params![key.digest().as_bytes(), number(now.0)])?;
            remember(transaction, subject, trace)
        })
    }

    fn forget(&self, key: &Key, blob: &Sha256Digest) -> Result<bool, Error> {
        self.write(|transaction| {
            if find(transaction, key)?.is_none_or(|entry| entry.blob != *blob) {
                return Ok(false);
            }
            remove(transaction, key)?;
            Ok(true)
        })
    }

    fn last(&self, subject: &Subject) -> Result<Option<Trace>, Error> {
        self.read(|reader| last(reader, subject))
    }

    fn entries(&self, behind: Option<&Key>, limit: usize) -> Result<Vec<Entry>, Error> {
        let behind: &[u8] = behind.map_or(&[], |key| key.digest().as_bytes());
        self.read(|reader| {
            let query = format!("SELECT {COLUMNS} FROM entry WHERE key > ?1 ORDER BY key LIMIT ?2");
            let mut query = reader.prepare_cached(&query)?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            query.query_map(params![behind, limit], entry)?.collect()
        })
    }

    fn total(&self) -> Result<Total, Error> {
        self.read(|reader| {
            reader.query_row("SELECT entries, bytes FROM meta", [], |row| {
                Ok(Total { entries: unsigned(row, 0)?, bytes: unsigned(row, 1)? })
            })
        })
    }

    fn evict(&self, room: u64, now: Moment) -> Result<Vec<Sha256Digest>, Error> {
        self.write(|transaction| {
            let mut bytes = transaction.query_row("SELECT bytes FROM meta", [], |row| unsigned(row, 0))?;
            let mut blobs = Vec::new();
            let order = format!("SELECT {COLUMNS} FROM entry ORDER BY coalesce(until > ?1, 1), used, key");
            let mut order = transaction.prepare(&order)?;
            let mut rows = order.query([number(now.0)])?;
            let mut gone = Vec::new();
            while let Some(row) = rows.next()? {
                let entry = entry(row)?;
                if bytes <= room && entry.outcome.counts_at(now) {
                    break;
                }
                bytes = bytes.saturating_sub(entry.size);
                gone.push(entry.key);
                blobs.push(entry.blob);
            }
            for key in &gone {
                remove(transaction, key)?;
            }
            let mut unnamed = Vec::new();
            for blob in blobs {
                if !names(transaction, &blob)? {
                    unnamed.push(blob);
                }
            }
            // Leases of the dead and inputs of packages that nobody renders any more go as well.
            transaction.execute("DELETE FROM lease WHERE until <= ?1", [number(now.0)])?;
            let old =
                "DELETE FROM last WHERE id IN (SELECT id FROM last ORDER BY id DESC LIMIT -1 OFFSET ?1)";
            transaction.execute(old, [MAX_SUBJECTS])?;
            Ok(unnamed)
        })
    }

    fn names(&self, blob: &Sha256Digest) -> Result<bool, Error> {
        self.read(|reader| names(reader, blob))
    }

    fn check(&self) -> Result<Vec<String>, Error> {
        let lines: Vec<String> = self.read(|reader| {
            let mut query = reader.prepare("PRAGMA integrity_check(20)")?;
            query.query_map([], |row| row.get(0))?.collect()
        })?;
        let findings: Vec<String> = lines.into_iter().filter(|line| line != "ok").collect();
        if !findings.is_empty() {
            open::mark_damaged(&self.folder);
        }
        Ok(findings)
    }
}

/// How many subjects are remembered when there was an eviction.
const MAX_SUBJECTS: i64 = 10_000;

const COLUMNS: &str = "key, blob, size, until, function, package, made, used";

fn find(connection: &Connection, key: &Key) -> rusqlite::Result<Option<Entry>> {
    let query = format!("SELECT {COLUMNS} FROM entry WHERE key = ?1");
    connection.prepare_cached(&query)?.query_row([key.digest().as_bytes()], entry).optional()
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let until: Option<i64> = row.get(3)?;
    Ok(Entry {
        key: Key::new(Sha256Digest::from_bytes(row.get(0)?)),
        blob: Sha256Digest::from_bytes(row.get(1)?),
        size: unsigned(row, 2)?,
        outcome: match until {
            None => Outcome::Success,
            Some(until) => Outcome::Failure { until: Moment(until.try_into().unwrap_or_default()) },
        },
        subject: Subject { function: row.get(4)?, package: row.get(5)? },
        made: Moment(unsigned(row, 6)?),
        used: Moment(unsigned(row, 7)?),
    })
}

fn remove(transaction: &Transaction<'_>, key: &Key) -> rusqlite::Result<()> {
    let delete = "DELETE FROM entry WHERE key = ?1 RETURNING size";
    let size = transaction
        .prepare_cached(delete)?
        .query_row([key.digest().as_bytes()], |row| unsigned(row, 0))
        .optional()?;
    if let Some(size) = size {
        let count = "UPDATE meta SET entries = max(entries - 1, 0), bytes = max(bytes - ?1, 0)";
        transaction.prepare_cached(count)?.execute([number(size)])?;
    }
    Ok(())
}

fn names(connection: &Connection, blob: &Sha256Digest) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM entry WHERE blob = ?1 LIMIT 1")?.exists([blob.as_bytes()])
}

fn last(connection: &Connection, subject: &Subject) -> rusqlite::Result<Option<Trace>> {
    let query = "SELECT inputs FROM last WHERE function = ?1 AND package = ?2";
    let mut query = connection.prepare_cached(query)?;
    let found = query.query_row([&subject.function, &subject.package], |row| row.get(0)).optional()?;
    Ok(found.map(Trace::from_text))
}

fn remember(transaction: &Transaction<'_>, subject: &Subject, trace: &Trace) -> rusqlite::Result<()> {
    let replace = "INSERT OR REPLACE INTO last (function, package, inputs) VALUES (?1, ?2, ?3)";
    let mut replace = transaction.prepare_cached(replace)?;
    replace.execute([&subject.function, &subject.package, trace.as_str()]).map(|_| ())
}

/// SQLite has signed numbers.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(column)?;
    Ok(u64::try_from(number).unwrap_or_default())
}
