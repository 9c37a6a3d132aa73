//! The tables, and how older ones become these.

use rusqlite::{Connection, TransactionBehavior};

/// Marks a file as ours: `LNAI` as a number.
pub(crate) const APPLICATION: i32 = 0x4c4e_4149;

/// Each step makes tables of one version from those of the version before; version 0 is an empty file.
pub(crate) const MIGRATIONS: &[&str] = &[V1, V2];

const V1: &str = "
CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    head INTEGER NOT NULL,
    horizon INTEGER NOT NULL,
    fence INTEGER NOT NULL
) STRICT;
INSERT INTO meta VALUES (1, 0, 0, 0);

CREATE TABLE version (
    revision INTEGER PRIMARY KEY,
    previous INTEGER,
    created INTEGER NOT NULL,
    tombstone INTEGER NOT NULL,
    key TEXT NOT NULL,
    attributes TEXT,
    blobs BLOB,
    sealed INTEGER,
    checksum INTEGER NOT NULL,
    value BLOB
) STRICT;

CREATE TABLE current (
    key TEXT PRIMARY KEY,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE attribute (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (name, value, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE blob (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    content BLOB NOT NULL
) STRICT;

CREATE TABLE blob_use (
    digest BLOB NOT NULL,
    revision INTEGER NOT NULL,
    PRIMARY KEY (digest, revision)
) STRICT, WITHOUT ROWID;

CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    fence INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE seal_key (
    id INTEGER PRIMARY KEY
) STRICT;
";

const V2: &str = "
ALTER TABLE seal_key ADD COLUMN fingerprint BLOB;
CREATE INDEX version_sealed ON version (revision) WHERE sealed IS NOT NULL;
";

/// Why the tables cannot be brought to the version that this program knows.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("it has version {found} of the tables, and this program knows up to {known}")]
    TooNew { found: usize, known: usize },
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
}

/// The version of the tables, if this program knows it.
pub(crate) fn check(connection: &Connection, migrations: &[&str]) -> Result<usize, Error> {
    let found = version(connection)?;
    if found > migrations.len() {
        return Err(Error::TooNew { found, known: migrations.len() });
    }
    Ok(found)
}

/// Brings the tables to the newest version, in one transaction; returns the version that was there.
pub(crate) fn migrate(connection: &mut Connection, migrations: &[&str]) -> Result<usize, Error> {
    let found = check(connection, migrations)?;
    if found == migrations.len() {
        return Ok(found);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
    for step in &migrations[found..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", u32::try_from(migrations.len()).unwrap_or(u32::MAX))?;
    transaction.commit()?;
    Ok(found)
}

/// The version of the tables that a file has.
pub(crate) fn version(connection: &Connection) -> Result<usize, rusqlite::Error> {
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    Ok(found as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &[&str] =
        &["CREATE TABLE a (x); INSERT INTO a VALUES (1);", "ALTER TABLE a ADD COLUMN y DEFAULT 7;"];

    fn read(connection: &Connection) -> i64 {
        connection.query_row("SELECT x + y FROM a", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn older_tables_are_brought_forward_with_what_they_hold() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert_eq!(migrate(&mut connection, &STEPS[..1]).unwrap(), 0);
        assert_eq!(migrate(&mut connection, STEPS).unwrap(), 1);
        assert_eq!(read(&connection), 8);
        assert_eq!(migrate(&mut connection, STEPS).unwrap(), 2);
    }

    #[test]
    fn a_step_that_fails_leaves_the_old_tables() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &STEPS[..1]).unwrap();
        let broken = [STEPS[0], STEPS[1], "NO SUCH STATEMENT"];
        migrate(&mut connection, &broken).unwrap_err();
        assert_eq!(version(&connection).unwrap(), 1);
        assert_eq!(migrate(&mut connection, STEPS).unwrap(), 1);
    }

    #[test]
    fn newer_tables_are_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, STEPS).unwrap();
        assert!(matches!(migrate(&mut connection, &STEPS[..1]), Err(Error::TooNew { found: 2, known: 1 })));
    }
}
