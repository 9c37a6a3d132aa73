//! Opening a store, and refusing what is not one.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use lanai_types::ByteSize;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, params};

use super::query::{COLUMNS, read_row, unsigned};
use super::schema::{self, APPLICATION, MIGRATIONS};
use super::wal;
use crate::Key;
use crate::row::SharedKeyring;
use crate::seal::{self, KeyId, Keyring, UsedKey};

/// Names of the files in a data directory.
pub(crate) const DATABASE: &str = "store.db";
const LOG: &str = "store.db-wal";
const KEYS: &str = "store.key";
const LOCK: &str = "store.lock";

/// How often a log is looked at before it is called damaged.
const LOOKS: u32 = 20;

/// Why a store cannot be opened. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it.
    #[error("the store in \"{}\" is in use by another process", folder.display())]
    Locked {
        /// The data directory.
        folder: PathBuf,
    },
    /// A file cannot be used.
    #[error("\"{}\" cannot be used", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file that is not a store.
    #[error("\"{}\" is not a store: {why}", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// A file that a newer program wrote.
    #[error("\"{}\" was written by a newer program: {why}", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// The versions.
        why: String,
    },
    /// A file that is not as it was written. It is left as it is.
    #[error("\"{}\" is damaged: {what}; restore a backup, or look at what \"lanai store verify\" says", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The keys for secrets are not there, or cannot be used.
    #[error("secrets cannot be opened")]
    Keys(#[from] seal::Error),
    /// Secrets are sealed with keys, and the key file is missing.
    #[error("the store in \"{}\" holds secrets, and the key file \"{KEYS}\" is missing", folder.display())]
    KeysMissing {
        /// The data directory.
        folder: PathBuf,
    },
    /// SQLite refuses.
    #[error("\"{}\" cannot be opened", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
}

/// What is open.
pub(crate) struct Opened {
    pub(crate) lock: File,
    pub(crate) writer: Connection,
    /// For reads that are quick.
    pub(crate) quick: Connection,
    pub(crate) readers: Vec<Connection>,
    pub(crate) keys: SharedKeyring,
}

/// Pages that each reader keeps, in KiB: the system has them all, and objects that are listed are kept as what they are.
const READER_CACHE_KIB: i64 = 512;

/// How a commit waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durability {
    /// A commit returns when the disk has it.
    Synced,
    /// A commit returns at once. Exists so that the tests can see that they notice.
    Unsynced,
}

pub(crate) fn open(
    folder: &Path,
    readers: usize,
    check_up_to: ByteSize,
    durability: Durability,
) -> Result<Opened, OpenError> {
    fs::create_dir_all(folder).map_err(|source| OpenError::Io { path: folder.to_owned(), source })?;
    let lock = take_lock(folder)?;
    let path = folder.join(DATABASE);
    check_files(folder, &path)?;
    let mut writer = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)?;
    // What is refused is left as it is, with its log.
    set_closing(&writer, Closing::LeavesLog).map_err(|error| say(&path, error))?;
    prepare(&mut writer, &path, check_up_to)?;
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| OpenError::Io { path: folder.to_owned(), source })?;
    let synchronous = match durability {
        Durability::Synced => "FULL",
        Durability::Unsynced => "OFF",
    };
    let wrong = |source| OpenError::Sqlite { path: path.clone(), source };
    writer.pragma_update(None, "synchronous", synchronous).map_err(wrong)?;
    let keys = open_keys(folder, &writer)?;
    set_closing(&writer, Closing::CopiesLog).map_err(wrong)?;
    let connect_reader = || {
        let reader = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        reader.pragma_update(None, "query_only", true).map_err(wrong)?;
        reader.pragma_update(None, "cache_size", -READER_CACHE_KIB).map_err(wrong)?;
        Ok(reader)
    };
    let readers = (0..readers.max(1)).map(|_| connect_reader()).collect::<Result<_, OpenError>>()?;
    Ok(Opened { lock, quick: connect_reader()?, readers, writer, keys })
}

/// The right to write; ends with the process.
pub(crate) fn take_lock(folder: &Path) -> Result<File, OpenError> {
    let path = folder.join(LOCK);
    let wrong = |source| OpenError::Io { path: path.clone(), source };
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(wrong)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked { folder: folder.to_owned() }),
        Err(TryLockError::Error(error)) => Err(wrong(error)),
    }
}

/// Looks at the files before SQLite may change them.
fn check_files(folder: &Path, path: &Path) -> Result<(), OpenError> {
    let log = folder.join(LOG);
    let log_is_there = fs::metadata(&log).is_ok_and(|found| found.len() > 0);
    let size = fs::metadata(path).ok().map(|found| found.len());
    let damaged = |what: String| Err(OpenError::Damaged { path: path.to_owned(), what });
    if log_is_there && size.unwrap_or(0) == 0 {
        return damaged(format!("it is missing or empty, and its log \"{LOG}\" is not"));
    }
    // The keys of a new store are made when its tables are there.
    if size == Some(0) && folder.join(KEYS).exists() {
        return damaged(format!(
            "it is empty, and the keys of a store, \"{KEYS}\", are beside it (if there never was a store, remove the empty file)"
        ));
    }
    match log_damage(path)? {
        Some(what) => Err(OpenError::Damaged { path: log, what }),
        None => Ok(()),
    }
}

pub(crate) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, OpenError> {
    let open = || {
        let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(Duration::from_secs(10))?;
        connection.set_prepared_statement_cache_capacity(128);
        Ok(connection)
    };
    open().map_err(|source| OpenError::Sqlite { path: path.to_owned(), source })
}

/// A connection that leaves the log as it is, for those who only look. Where there is none, none is left.
pub(crate) fn connect_to_look(path: &Path) -> Result<Connection, OpenError> {
    let has_log = fs::metadata(log_of(path)).is_ok_and(|found| found.len() > 0);
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let closing = if has_log { Closing::LeavesLog } else { Closing::CopiesLog };
    set_closing(&connection, closing).map_err(|error| say(path, error))?;
    Ok(connection)
}

/// What the last connection does with the log when it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    CopiesLog,
    LeavesLog,
}

pub(crate) fn set_closing(connection: &Connection, closing: Closing) -> rusqlite::Result<()> {
    let leaves = closing == Closing::LeavesLog;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, leaves).map(drop)
}

/// The log of a database.
fn log_of(path: &Path) -> PathBuf {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    PathBuf::from(log)
}

/// What is wrong with the log of a database, if it has one; nobody else writes to it.
pub(crate) fn log_damage(path: &Path) -> Result<Option<String>, OpenError> {
    let log = log_of(path);
    if !fs::metadata(&log).is_ok_and(|found| found.len() > 0) {
        return Ok(None);
    }
    wal::damage(&log, path).map_err(|source| OpenError::Io { path: log, source })
}

/// The same for a log that somebody may be writing: what was half written is whole when it is read
/// again, and damage stays.
pub(crate) fn lasting_log_damage(path: &Path) -> Result<Option<String>, OpenError> {
    let mut found = log_damage(path)?;
    for _ in 1..LOOKS {
        if found.is_none() {
            break;
        }
        found = log_damage(path)?;
    }
    Ok(found)
}

/// Looks at everything before anything is changed.
fn prepare(connection: &mut Connection, path: &Path, check_up_to: ByteSize) -> Result<(), OpenError> {
    let found = identify(connection, path)?;
    let wrong = |error| say(path, error);
    match found {
        Found::New => connection.pragma_update(None, "auto_vacuum", "INCREMENTAL").map_err(wrong)?,
        Found::Ours => {
            schema::check(connection, MIGRATIONS).map_err(|error| unfit(path, error))?;
            check_pages(connection, path, check_up_to)?;
            check_meta(connection, path)?;
        }
    }
    connection.pragma_update(None, "journal_mode", "WAL").map_err(wrong)?;
    schema::migrate(connection, MIGRATIONS).map_err(|error| unfit(path, error)).map(drop)
}

/// Why the tables are not those of this program.
pub(crate) fn unfit(path: &Path, error: schema::Error) -> OpenError {
    match error {
        schema::Error::Sqlite(error) => say(path, error),
        schema::Error::TooNew { .. } => OpenError::TooNew { path: path.to_owned(), why: error.to_string() },
    }
}

fn check_pages(connection: &Connection, path: &Path, check_up_to: ByteSize) -> Result<(), OpenError> {
    let size = fs::metadata(path).map_or(0, |found| found.len());
    if ByteSize::bytes(size) > check_up_to {
        return Ok(());
    }
    match quick_check(connection).map_err(|error| say(path, error))? {
        None => Ok(()),
        Some(what) => Err(OpenError::Damaged { path: path.to_owned(), what }),
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    New,
    Ours,
}

/// A store or backup that is to be read: an empty file is none.
pub(crate) fn identify_ours(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    check_ours(&identify(connection, path)?, path)
}

/// The same, of what was found.
pub(crate) fn check_ours(found: &Found, path: &Path) -> Result<(), OpenError> {
    match found {
        Found::Ours => Ok(()),
        Found::New => Err(OpenError::NotAStore { path: path.to_owned(), why: "it is empty".into() }),
    }
}

/// Whether a file is new, ours, or neither.
pub(crate) fn identify(connection: &Connection, path: &Path) -> Result<Found, OpenError> {
    let wrong = |error| say(path, error);
    // SQLite takes a file of one byte for an empty one, and would write over it.
    if fs::metadata(path).is_ok_and(|found| found.len() == 1) {
        let why = "it has one byte, and a database has more".to_owned();
        return Err(OpenError::NotAStore { path: path.to_owned(), why });
    }
    let tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(wrong)?;
    let application: i32 =
        connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(wrong)?;
    match (application, tables) {
        (APPLICATION, _) => Ok(Found::Ours),
        (0, 0) => Ok(Found::New),
        (other, _) => {
            let why = format!("its application id is {other:#x}, and not {APPLICATION:#x}");
            Err(OpenError::NotAStore { path: path.to_owned(), why })
        }
    }
}

/// SQLite's own check of its pages; the first thing that it finds.
pub(crate) fn quick_check(connection: &Connection) -> rusqlite::Result<Option<String>> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    Ok((found != "ok").then_some(found))
}

fn check_meta(connection: &Connection, path: &Path) -> Result<(), OpenError> {
    let damaged = |what: String| OpenError::Damaged { path: path.to_owned(), what };
    let sql = "SELECT (SELECT count(*) FROM meta), (SELECT head FROM meta), (SELECT horizon FROM meta),
        (SELECT coalesce(max(revision), 0) FROM version)";
    let (rows, head, horizon, newest) = connection
        .query_row(sql, [], |row| {
            Ok((unsigned(row, 0)?, unsigned(row, 1)?, unsigned(row, 2)?, unsigned(row, 3)?))
        })
        .map_err(|error| damaged(format!("its table of revisions cannot be read: {error}")))?;
    if rows != 1 || horizon > head || newest > head || (head > horizon && newest != head) {
        return Err(damaged(format!(
            "the newest revision should be {head}, with history from {horizon} on, and {newest} is the newest there is"
        )));
    }
    Ok(())
}

fn open_keys(folder: &Path, connection: &Connection) -> Result<SharedKeyring, OpenError> {
    let path = folder.join(DATABASE);
    let used: Vec<UsedKey> = connection
        .prepare("SELECT id, fingerprint FROM seal_key")
        .and_then(|mut statement| {
            let read =
                |row: &Row<'_>| Ok(UsedKey::new(row.get(0)?, row.get::<_, Option<Vec<u8>>>(1)?.as_deref()));
            statement.query_map([], read)?.collect()
        })
        .map_err(|source| OpenError::Sqlite { path, source })?;
    let file = folder.join(KEYS);
    let keys = match Keyring::load(&file)? {
        Some(keys) => keys,
        None if used.is_empty() => Keyring::create(&file)?,
        None => return Err(OpenError::KeysMissing { folder: folder.to_owned() }),
    };
    for used in &used {
        keys.check(used)?;
        if used.fingerprint.is_none() {
            note_fingerprint(connection, &folder.join(DATABASE), &keys, used.id)?;
        }
    }
    Ok(Arc::new(RwLock::new(keys)))
}

/// The first tables had no fingerprints. A key that opens what is sealed with its number is the right one.
fn note_fingerprint(
    connection: &Connection,
    path: &Path,
    keys: &Keyring,
    id: KeyId,
) -> Result<(), OpenError> {
    let wrong = |source| OpenError::Sqlite { path: path.to_owned(), source };
    let sql = format!("SELECT {COLUMNS} FROM version v WHERE v.sealed = ?1 LIMIT 1");
    let sealed = connection.query_row(&sql, [id.0], |row| read_row(row, 0)).optional().map_err(wrong)?;
    if let Some(row) = sealed {
        let opens = |key: Key| keys.open(id, &key, &row.value).is_ok();
        // What is damaged says nothing of the key.
        if !row.is_whole() {
            return Ok(());
        }
        if !row.key.parse().is_ok_and(opens) {
            return Err(seal::Error::OtherKey { id, path: keys.path().to_owned() }.into());
        }
    }
    let fingerprint = keys.fingerprint(id).map(|fingerprint| fingerprint.0);
    let sql = "UPDATE seal_key SET fingerprint = ?2 WHERE id = ?1";
    connection.execute(sql, params![id.0, fingerprint]).map(drop).map_err(wrong)
}

/// A failure of SQLite while a store is opened.
pub(crate) fn say(path: &Path, error: rusqlite::Error) -> OpenError {
    use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(NotADatabase) => OpenError::NotAStore { path, why: error.to_string() },
        Some(DatabaseCorrupt) => OpenError::Damaged { path, what: error.to_string() },
        _ => OpenError::Sqlite { path, source: error },
    }
}
