//! Reading all of a store, and saying what does not fit.

use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::path::Path;

use rusqlite::Connection;

use super::open::{OpenError, check_ours, connect_to_look, identify, lasting_log_damage, say};
use super::query::{COLUMNS, read_row, unsigned};
use crate::Attributes;
use crate::plan::index_entries;
use crate::row::digests;
use crate::transaction::sha256;

/// Findings that are listed; behind them the rest is not looked at.
const MAX_FINDINGS: usize = 100;

/// What was found in a store.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verified {
    /// Objects that exist.
    pub objects: u64,
    /// Versions that are kept, tombstones included.
    pub versions: u64,
    /// Blobs.
    pub blobs: u64,
    /// The newest revision.
    pub head: u64,
    /// The revision from which history is kept.
    pub horizon: u64,
    /// What does not fit. Nothing in a store that is whole.
    pub findings: Vec<Finding>,
}

/// Something that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding(String);

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads all of a store or backup and compares what should agree: pages, checksums of objects, digests of blobs, indexes, history.
///
/// Changes nothing, and leaves no other files behind. The file may be in use; what is checked is one snapshot. Secrets are not opened.
pub fn verify(path: &Path) -> Result<Verified, OpenError> {
    let mut verified = Verified::default();
    let mut connection = connect_to_look(path)?;
    let found = identify(&connection, path)?;
    if let Some(what) = lasting_log_damage(path)? {
        verified.find(format!("in the log: {what}"));
        return Ok(verified);
    }
    check_ours(&found, path)?;
    if let Err(error) = look(&mut connection, &mut verified) {
        match error.sqlite_error_code() {
            Some(rusqlite::ErrorCode::DatabaseCorrupt) => verified.find(error.to_string()),
            _ => return Err(say(path, error)),
        }
    }
    Ok(verified)
}

impl Verified {
    fn find(&mut self, what: String) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(Finding(what));
        }
    }
}

fn look(connection: &mut Connection, verified: &mut Verified) -> rusqlite::Result<()> {
    let snapshot = connection.transaction()?;
    {
        let mut statement = snapshot.prepare("PRAGMA integrity_check(100)")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let found: String = row.get(0)?;
            if found != "ok" {
                verified.find(found);
            }
        }
    }
    if !verified.findings.is_empty() {
        return Ok(());
    }
    snapshot.query_row("SELECT head, horizon FROM meta", [], |row| {
        verified.head = unsigned(row, 0)?;
        verified.horizon = unsigned(row, 1)?;
        Ok(())
    })?;
    look_at_versions(&snapshot, verified)?;
    look_at_objects(&snapshot, verified)?;
    look_at_blobs(&snapshot, verified)
}

/// History is whole, and every version is as it was written.
fn look_at_versions(snapshot: &Connection, verified: &mut Verified) -> rusqlite::Result<()> {
    let sql = format!("SELECT {COLUMNS}, v.tombstone, v.previous FROM version v ORDER BY v.revision");
    let mut statement = snapshot.prepare(&sql)?;
    let mut rows = statement.query([])?;
    let mut there = HashSet::new();
    let mut replaced = HashSet::new();
    let mut current: HashSet<u64> = HashSet::new();
    let mut expected = verified.horizon;
    while let Some(row) = rows.next()? {
        verified.versions += 1;
        let revision = unsigned(row, 2)?;
        if revision > verified.horizon {
            expected += 1;
            if revision != expected {
                verified.find(format!("revision {expected} is missing in the history"));
                expected = revision;
            }
        }
        if row.get::<_, Option<i64>>(9)?.is_some() {
            let previous = unsigned(row, 9)?;
            if revision > verified.horizon && !there.contains(&previous) {
                verified.find(format!("revision {revision} follows {previous}, which is missing"));
            }
            replaced.insert(previous);
        }
        if row.get(8)? {
            continue;
        }
        let found = read_row(row, 0)?;
        if !found.is_whole() {
            verified.find(format!("\"{}\" at revision {revision} has another checksum", found.key));
        }
        there.insert(revision);
        current.insert(revision);
    }
    if expected != verified.head && verified.head > verified.horizon {
        verified.find(format!("the newest revision should be {}, and is {expected}", verified.head));
    }
    let listed: HashSet<u64> = collect(snapshot, "SELECT revision FROM current")?;
    for revision in
        current.iter().filter(|revision| !replaced.contains(revision) && !listed.contains(revision))
    {
        verified.find(format!("revision {revision} was not replaced, and is not listed"));
    }
    for revision in
        listed.iter().filter(|revision| !current.contains(revision) || replaced.contains(revision))
    {
        verified.find(format!("revision {revision} is listed, and is not the newest of its object"));
    }
    Ok(())
}

/// The index has what the objects say, and nothing else.
fn look_at_objects(snapshot: &Connection, verified: &mut Verified) -> rusqlite::Result<()> {
    let sql = "SELECT c.key, v.key, v.attributes FROM current c JOIN version v ON v.revision = c.revision";
    let mut statement = snapshot.prepare(sql)?;
    let mut entry =
        snapshot.prepare("SELECT 1 FROM attribute WHERE name = ?1 AND value = ?2 AND key = ?3")?;
    let mut rows = statement.query([])?;
    let mut entries = 0;
    while let Some(row) = rows.next()? {
        verified.objects += 1;
        let (key, of): (String, String) = (row.get(0)?, row.get(1)?);
        if key != of {
            verified.find(format!("\"{key}\" is listed with the version of \"{of}\""));
        }
        let text: Option<String> = row.get(2)?;
        let Some(attributes) = Attributes::of_text(text) else {
            verified.find(format!("\"{key}\" has attributes that cannot be read"));
            continue;
        };
        for expected in index_entries(&attributes) {
            entries += 1;
            if !entry.exists([&expected.name, &expected.value, &key])? {
                verified.find(format!("\"{key}\" is not found by \"{}\"", expected.name));
            }
        }
    }
    let found: u64 = snapshot.query_row("SELECT count(*) FROM attribute", [], |row| unsigned(row, 0))?;
    if found != entries {
        verified.find(format!("the index has {found} entries, and {entries} are expected"));
    }
    Ok(())
}

/// Blobs are what their digests say, and are there as long as something names them.
fn look_at_blobs(snapshot: &Connection, verified: &mut Verified) -> rusqlite::Result<()> {
    let mut blobs = BTreeSet::new();
    let mut statement = snapshot.prepare("SELECT digest, content FROM blob")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        verified.blobs += 1;
        let found: Vec<u8> = row.get(0)?;
        let content: Vec<u8> = row.get(1)?;
        let digest = sha256(&content);
        if found != digest.as_bytes() {
            verified.find(format!("a blob has the content of {digest}, and another name"));
        }
        blobs.insert(found);
    }
    let mut named = BTreeSet::new();
    let mut uses = 0;
    let mut statement = snapshot.prepare("SELECT revision, blobs FROM version WHERE blobs IS NOT NULL")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let revision = unsigned(row, 0)?;
        let bytes: Vec<u8> = row.get(1)?;
        for digest in digests(&bytes).unwrap_or_default() {
            uses += 1;
            if !blobs.contains(digest.as_bytes().as_slice()) {
                verified.find(format!("revision {revision} names the blob {digest}, which is missing"));
            }
            named.insert(digest.as_bytes().to_vec());
        }
    }
    let found: u64 = snapshot.query_row("SELECT count(*) FROM blob_use", [], |row| unsigned(row, 0))?;
    if found != uses {
        verified.find(format!("{found} uses of blobs are noted, and {uses} are there"));
    }
    let idle = blobs.difference(&named).count();
    if idle > 0 {
        verified.find(format!("{idle} blobs are named by nothing"));
    }
    Ok(())
}

fn collect(snapshot: &Connection, sql: &str) -> rusqlite::Result<HashSet<u64>> {
    snapshot.prepare(sql)?.query_map([], |row| unsigned(row, 0))?.collect()
}
