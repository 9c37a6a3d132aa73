//! Reading. Each function reads one snapshot.

use std::ops::ControlFlow;
use std::sync::Arc;

use bytes::Bytes;
use lanai_types::Sha256Digest;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row as SqlRow, params};

use super::candidates::Candidates;
use super::fault::harmless;
use super::versions::Versions;
use crate::list::{At, ListRequest, Page, within};
use crate::row::{Row, SharedKeyring, is_for_others};
use crate::transaction::sha256;
use crate::watch::{Record, WatchFrom};
use crate::{Attributes, Error, Filter, Key, Revision, Stored};

/// Bytes of values after which a watcher that catches up is given what was read so far.
const CATCH_UP_BYTES: usize = 8 << 20;

/// The columns of a version, in the order in which [`read_row`] reads them.
pub(crate) const COLUMNS: &str =
    "v.key, v.created, v.revision, v.attributes, v.blobs, v.sealed, v.checksum, v.value";

/// Head and horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) head: Revision,
    pub(crate) horizon: Revision,
}

pub(crate) fn bounds(connection: &Connection) -> Result<Bounds, Error> {
    let mut statement =
        connection.prepare_cached("SELECT head, horizon FROM meta").map_err(|error| harmless(&error))?;
    statement
        .query_row([], |row| Ok(Bounds { head: revision(row, 0)?, horizon: revision(row, 1)? }))
        .map_err(|error| harmless(&error))
}

pub(crate) fn get(connection: &Connection, key: &Key, keys: &SharedKeyring) -> Result<Option<Stored>, Error> {
    let sql = "SELECT v.key, v.created, v.revision, v.attributes, v.blobs, v.sealed, v.checksum, v.value
        FROM current c JOIN version v ON v.revision = c.revision WHERE c.key = ?1";
    let mut statement = connection.prepare_cached(sql).map_err(|error| harmless(&error))?;
    let row = statement.query_row([key.as_str()], |row| read_row(row, 0)).optional();
    row.map_err(|error| harmless(&error))?.map(|row| row.into_stored(keys)).transpose()
}

pub(crate) fn list(
    connection: &mut Connection,
    request: &ListRequest,
    keys: &SharedKeyring,
    versions: &Versions,
) -> Result<Page, Error> {
    let snapshot = connection.transaction().map_err(|error| harmless(&error))?;
    let Bounds { head, horizon } = bounds(&snapshot)?;
    let revision = request.at.resolve(head, horizon)?;
    let enough = request.limit.map_or(usize::MAX, |limit| limit.get().saturating_add(1));
    let mut version = version_statement(&snapshot)?;
    let mut items: Vec<Arc<Stored>> = Vec::new();
    let mut read: Vec<Arc<Stored>> = Vec::new();
    let mut failure = None;
    let mut take = |revision: Revision| -> rusqlite::Result<ControlFlow<()>> {
        if let Some(known) = versions.find(revision) {
            if request.filter.selector.admits(&known.object.attributes) {
                items.push(known);
            }
        } else {
            match version.query_row([signed(revision)], |row| selected(row, &request.filter, keys))? {
                Ok(Some(stored)) => {
                    let stored = Arc::new(stored);
                    read.push(stored.clone());
                    items.push(stored);
                }
                Ok(None) => {}
                Err(error) => {
                    failure = Some(error);
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(if items.len() >= enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let candidates = Candidates::choose(&snapshot, &request.filter).map_err(|error| harmless(&error))?;
    let start = start(&request.filter, &request.at);
    candidates
        .visit(&snapshot, &start, &request.filter.prefix.end(), revision, head, &mut take)
        .map_err(|error| harmless(&error))?;
    if let Some(error) = failure {
        return Err(error);
    }
    // What is listed without a selector is listed often. What is old, or one of a few, is not worth the room.
    if revision == head && request.filter.selector.requirements.is_empty() {
        versions.keep(&read);
    }
    Ok(Page::cut(revision, items, request.limit))
}

/// Reads a version by its revision.
fn version_statement(connection: &Connection) -> Result<CachedStatement<'_>, Error> {
    let sql = format!("SELECT {COLUMNS} FROM version v WHERE v.revision = ?1");
    connection.prepare_cached(&sql).map_err(|error| harmless(&error))
}

/// The text behind which a page begins, and whether a key with just this text is part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Start {
    At(String),
    Behind(String),
}

fn start(filter: &Filter, at: &At) -> Start {
    let first = filter.prefix.first();
    match at.after() {
        Some(after) if after.as_str() >= first => Start::Behind(after.as_str().to_owned()),
        Some(_) | None => Start::At(first.to_owned()),
    }
}

pub(crate) fn count(connection: &mut Connection, filter: &Filter) -> Result<u64, Error> {
    let snapshot = connection.transaction().map_err(|error| harmless(&error))?;
    let (first, end) = (filter.prefix.first(), filter.prefix.end());
    if filter.selector.requirements.is_empty() {
        let sql = "SELECT count(*) FROM current WHERE key >= ?1 AND key < ?2";
        let found: i64 = snapshot
            .query_row(sql, params![first, end], |row| row.get(0))
            .map_err(|error| harmless(&error))?;
        return Ok(found.unsigned_abs());
    }
    let head = bounds(&snapshot)?.head;
    let mut found = 0;
    let mut version = version_statement(&snapshot)?;
    let mut take = |revision: Revision| {
        let attributes = version.query_row([signed(revision)], |row| row.get(3))?;
        let is_selected = Attributes::of_text(attributes).is_some_and(|found| filter.selector.admits(&found));
        found += u64::from(is_selected);
        Ok(ControlFlow::Continue(()))
    };
    let candidates = Candidates::choose(&snapshot, filter).map_err(|error| harmless(&error))?;
    candidates
        .visit(&snapshot, &Start::At(first.to_owned()), &end, head, head, &mut take)
        .map_err(|error| harmless(&error))?;
    Ok(found)
}

/// Where a watch begins, if it may.
pub(crate) fn watch_position(connection: &Connection, from: WatchFrom) -> Result<Revision, Error> {
    let Bounds { head, horizon } = bounds(connection)?;
    match from {
        WatchFrom::Now => Ok(head),
        WatchFrom::After(revision) => within(revision, head, horizon),
    }
}

/// Records behind a revision; see [`Log::read`](crate::feed::Log::read).
pub(crate) fn log(
    connection: &mut Connection,
    after: Revision,
    limit: usize,
    filter: &Filter,
    keys: &SharedKeyring,
) -> Result<Vec<Record>, Error> {
    let snapshot = connection.transaction().map_err(|error| harmless(&error))?;
    let Bounds { head, horizon } = bounds(&snapshot)?;
    within(after, head, horizon)?;
    let sql = "SELECT v.key, v.created, v.revision, v.attributes, v.blobs, v.sealed, v.checksum, v.value,
            v.tombstone, v.previous,
            p.key, p.created, p.revision, p.attributes, p.blobs, p.sealed, p.checksum, p.value
        FROM version v LEFT JOIN version p ON p.revision = v.previous
        WHERE v.revision > ?1 ORDER BY v.revision LIMIT ?2";
    let mut statement = snapshot.prepare_cached(sql).map_err(|error| harmless(&error))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = statement.query(params![signed(after), limit]).map_err(|error| harmless(&error))?;
    let mut records = Vec::new();
    let mut bytes = 0;
    while let Some(row) = rows.next().map_err(|error| harmless(&error))? {
        let found = read_record(row).map_err(|error| harmless(&error))?;
        bytes += found.bytes();
        let expected = after.get() + records.len() as u64 + 1;
        let is_next = found.revision == expected;
        let missing =
            || Error::Damaged { what: format!("revision {expected} is missing in the history that is kept") };
        match if is_next { found.open(filter, keys) } else { Err(missing()) } {
            Ok(record) => records.push(record),
            // What is whole is handed out first.
            Err(_) if !records.is_empty() => break,
            Err(error) => return Err(error),
        }
        if bytes > CATCH_UP_BYTES {
            break;
        }
    }
    if records.is_empty() && after < head {
        let what =
            format!("the history that is kept ends at revision {after}, and the newest revision is {head}");
        return Err(Error::Damaged { what });
    }
    Ok(records)
}

struct RawRecord {
    revision: u64,
    after: Option<Row>,
    before: Option<Row>,
}

impl RawRecord {
    fn bytes(&self) -> usize {
        self.after.iter().chain(&self.before).map(|row| row.value.len()).sum()
    }

    fn open(self, filter: &Filter, keys: &SharedKeyring) -> Result<Record, Error> {
        let revision = Revision::new(self.revision);
        let open = |row: Option<Row>| row.map(|row| row.into_stored(keys).map(Arc::new)).transpose();
        if is_for_others(self.before.iter().chain(&self.after), filter) {
            return Ok(Record { revision, before: None, after: None });
        }
        Ok(Record { revision, before: open(self.before)?, after: open(self.after)? })
    }
}

fn read_record(row: &SqlRow<'_>) -> rusqlite::Result<RawRecord> {
    let revision = unsigned(row, 2)?;
    let is_tombstone: bool = row.get(8)?;
    let previous: Option<i64> = row.get(9)?;
    let after = if is_tombstone { None } else { Some(read_row(row, 0)?) };
    let before = if previous.is_some() { Some(read_row(row, 10)?) } else { None };
    Ok(RawRecord { revision, after, before })
}

/// The content of a blob, if it is there.
pub(crate) fn blob(connection: &Connection, digest: &Sha256Digest) -> Result<Option<Bytes>, Error> {
    let mut statement = connection
        .prepare_cached("SELECT content FROM blob WHERE digest = ?1")
        .map_err(|error| harmless(&error))?;
    let content: Option<Vec<u8>> = statement
        .query_row([digest.as_bytes().as_slice()], |row| row.get(0))
        .optional()
        .map_err(|error| harmless(&error))?;
    let Some(content) = content else { return Ok(None) };
    if sha256(&content) != *digest {
        return Err(Error::Damaged { what: format!("the content of the blob {digest} has another digest") });
    }
    Ok(Some(Bytes::from(content)))
}

/// The object of a row, if it is selected; values of others are not read.
fn selected(
    row: &SqlRow<'_>,
    filter: &Filter,
    keys: &SharedKeyring,
) -> rusqlite::Result<Result<Option<Stored>, Error>> {
    if !filter.selector.requirements.is_empty() {
        let found = Attributes::of_text(row.get(3)?);
        if found.is_some_and(|found| !filter.selector.admits(&found)) {
            return Ok(Ok(None));
        }
    }
    Ok(read_row(row, 0)?.into_stored(keys).map(Some))
}

/// Reads the columns of [`COLUMNS`], from one on.
pub(crate) fn read_row(row: &SqlRow<'_>, from: usize) -> rusqlite::Result<Row> {
    Ok(Row {
        key: row.get(from)?,
        created: unsigned(row, from + 1)?,
        revision: unsigned(row, from + 2)?,
        attributes: row.get(from + 3)?,
        blobs: row.get(from + 4)?,
        sealed: row.get(from + 5)?,
        checksum: row.get(from + 6)?,
        value: row.get(from + 7)?,
    })
}

pub(crate) fn unsigned(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<u64> {
    let number: i64 = row.get(at)?;
    u64::try_from(number).map_err(|_| rusqlite::Error::IntegralValueOutOfRange(at, number))
}

pub(crate) fn revision(row: &SqlRow<'_>, at: usize) -> rusqlite::Result<Revision> {
    unsigned(row, at).map(Revision::new)
}

/// A revision as databases count. Revisions stay below 2^63.
pub(crate) fn signed(revision: Revision) -> i64 {
    i64::try_from(revision.get()).unwrap_or(i64::MAX)
}
