//! Opening the file, and putting aside one that cannot be used.

use std::fs::{self, File};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};

use crate::records::Error;

const DATABASE: &str = "catalog.db";
const ASIDE: &str = "catalog.db.damaged";
const LOCK: &str = "catalog.lock";
/// A file that says that the database was found to be damaged.
const MARK: &str = "catalog.damaged";

/// How long a process waits for another one that writes.
const PATIENCE: Duration = Duration::from_secs(10);

/// The number of the schema; a file with another one is put aside.
const SCHEMA: i64 = 1;
const TABLES: &str = "
    CREATE TABLE meta (fence INTEGER NOT NULL, entries INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT;
    INSERT INTO meta VALUES (0, 0, 0);
    CREATE TABLE entry (
        key BLOB PRIMARY KEY, blob BLOB NOT NULL, size INTEGER NOT NULL, until INTEGER,
        function TEXT NOT NULL, package TEXT NOT NULL, made INTEGER NOT NULL, used INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX entry_used ON entry (used);
    CREATE INDEX entry_blob ON entry (blob);
    CREATE TABLE lease (
        key BLOB PRIMARY KEY, owner TEXT NOT NULL, number INTEGER NOT NULL, until INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE last (
        id INTEGER PRIMARY KEY, function TEXT NOT NULL, package TEXT NOT NULL, inputs TEXT NOT NULL, UNIQUE (function, package)
    ) STRICT;
";

/// A connection that reads and one that writes.
pub(super) fn open(folder: &Path) -> Result<(Connection, Connection), Error> {
    let unusable = |cause: std::io::Error| Error::Unusable {
        path: folder.display().to_string(),
        cause: cause.to_string(),
    };
    fs::create_dir_all(folder).map_err(unusable)?;
    // Making the file and putting it aside are done by one process at a time.
    let lock = File::options().create(true).truncate(false).write(true).open(folder.join(LOCK));
    let lock = lock.map_err(unusable)?;
    lock.lock().map_err(unusable)?;
    if fs::exists(folder.join(MARK)).unwrap_or(false) {
        put_aside(folder).map_err(unusable)?;
    }
    let opened = connections(folder);
    let opened = match opened {
        Err(error) if is_damage(&error) => {
            put_aside(folder).map_err(unusable)?;
            connections(folder)
        }
        opened => opened,
    };
    opened.map_err(|error| say(folder, &error))
}

fn connections(folder: &Path) -> rusqlite::Result<(Connection, Connection)> {
    let path = folder.join(DATABASE);
    let mut writer = connect(&path)?;
    let mut schema: i64 = writer.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if schema == 0 {
        let transaction = writer.transaction()?;
        transaction.execute_batch(TABLES)?;
        transaction.pragma_update(None, "user_version", SCHEMA)?;
        transaction.commit()?;
        schema = SCHEMA;
    }
    if schema != SCHEMA {
        // Another program made it; what is in it can be made again.
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
        return Err(rusqlite::Error::SqliteFailure(
            code,
            Some(format!("its schema has the number {schema}")),
        ));
    }
    let reader = connect(&path)?;
    reader.pragma_update(None, "query_only", true)?;
    reader.query_row("SELECT fence FROM meta", [], |_| Ok(()))?;
    Ok((reader, writer))
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

fn put_aside(folder: &Path) -> std::io::Result<()> {
    tracing::warn!(folder = %folder.display(), "the catalog is damaged, and is begun anew");
    for (name, aside) in
        [(DATABASE, Some(ASIDE)), ("catalog.db-wal", None), ("catalog.db-shm", None), (MARK, None)]
    {
        let path = folder.join(name);
        let done = match aside {
            Some(aside) => fs::rename(path, folder.join(aside)),
            None => fs::remove_file(path),
        };
        match done {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => return Err(cause),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Says for the next one who opens it that the file is damaged.
pub(super) fn mark_damaged(folder: &Path) {
    // Where it cannot be said, it is found again.
    let _ = File::create(folder.join(MARK));
}

pub(super) fn say(folder: &Path, error: &rusqlite::Error) -> Error {
    let (path, cause) = (folder.display().to_string(), error.to_string());
    if is_damage(error) { Error::Damaged { path, cause } } else { Error::Unusable { path, cause } }
}
