//! Copies of a store, made while it works, and stores made from copies.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::compact::slice;
use super::open::{
    DATABASE, OpenError, connect, connect_to_look, identify_ours, lasting_log_damage, take_lock, unfit,
};
use super::query::{Bounds, bounds, signed, unsigned};
use super::schema::{self, MIGRATIONS};
use super::verify::{Finding, Verified, verify};
use crate::{Error, Jump, Revision};

/// Why there is no backup, or no restored store.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The store or the backup cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// There is something at the place where it should be written.
    #[error("\"{}\" is there already: move it away first", path.display())]
    Exists {
        /// The place.
        path: PathBuf,
    },
    /// There is no store to back up.
    #[error("there is no store in \"{}\"", folder.display())]
    Nothing {
        /// The data directory.
        folder: PathBuf,
    },
    /// A file cannot be written.
    #[error("\"{}\" cannot be written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The copy was not made.
    #[error("\"{}\" cannot be copied", path.display())]
    Sqlite {
        /// The file that should be copied.
        path: PathBuf,
        /// Why.
        source: rusqlite::Error,
    },
    /// The copy is not as it should be.
    #[error("\"{}\" is damaged: {}", path.display(), finding)]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first thing that was found.
        finding: Finding,
    },
    /// History could not be cut.
    #[error("the copy cannot be prepared")]
    Store(#[from] Error),
}

/// A store that was made from a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restored {
    /// The newest revision of the backup.
    pub backup: Revision,
    /// The revision from which the store goes on.
    pub head: Revision,
}

/// Copies the store of a data directory into a new file, as it is at one revision; another process may work with it.
///
/// The copy holds no keys: secrets in it are sealed, and open only where the key file is. The file is whole and synced when
/// it has its name. Returns what was found when it was read again.
pub fn backup(folder: &Path, target: &Path) -> Result<Verified, BackupError> {
    let source = folder.join(DATABASE);
    if !source.is_file() {
        return Err(BackupError::Nothing { folder: folder.to_owned() });
    }
    refuse_existing(target)?;
    if let Some(what) = lasting_log_damage(&source)? {
        return Err(OpenError::Damaged { path: source, what: format!("in its log: {what}") }.into());
    }
    let connection = connect_to_look(&source)?;
    identify_ours(&connection, &source)?;
    let fresh = beside(target);
    let done = copy(&connection, &source, &fresh).and_then(|()| settle(&fresh, target));
    done.inspect_err(|_| drop(fs::remove_file(&fresh)))
}

/// Makes the store of a data directory from a backup. There must be no store in it; a key file stays as it is.
///
/// The store goes on at a revision that nothing ever had, and its history begins there: who knew the lost store is told
/// [`Expired`](Error::Expired) and lists again, and nobody can take something old for something new. One backup may be restored twice:
/// each time with a jump of its own.
pub fn restore(backup: &Path, folder: &Path, ahead: Jump) -> Result<Restored, BackupError> {
    fs::create_dir_all(folder).map_err(|source| BackupError::Io { path: folder.to_owned(), source })?;
    let _lock = take_lock(folder)?;
    let target = folder.join(DATABASE);
    for name in [DATABASE, "store.db-wal", "store.db-shm"] {
        refuse_existing(&folder.join(name))?;
    }
    check(backup)?;
    let fresh = beside(&target);
    let done = (|| {
        let from = connect(backup, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        identify_ours(&from, backup)?;
        copy(&from, backup, &fresh)?;
        let restored = jump(&fresh, ahead)?;
        settle(&fresh, &target)?;
        Ok(restored)
    })();
    done.inspect_err(|_| drop(fs::remove_file(&fresh)))
}

fn refuse_existing(path: &Path) -> Result<(), BackupError> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(BackupError::Exists { path: path.to_owned() });
    }
    Ok(())
}

/// The name under which a file is written before it gets its own.
fn beside(target: &Path) -> PathBuf {
    let mut name = target.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    target.with_file_name(name)
}

fn copy(connection: &Connection, source: &Path, fresh: &Path) -> Result<(), BackupError> {
    let wrong = |error| BackupError::Sqlite { path: source.to_owned(), source: error };
    // What an earlier process with this number left.
    let _ = fs::remove_file(fresh);
    connection.execute("VACUUM INTO ?1", [fresh.to_string_lossy()]).map_err(wrong)?;
    Ok(())
}

/// Syncs a file, reads it again, and gives it its name.
fn settle(fresh: &Path, target: &Path) -> Result<Verified, BackupError> {
    let wrong = |source| BackupError::Io { path: target.to_owned(), source };
    File::open(fresh).and_then(|file| file.sync_all()).map_err(wrong)?;
    let verified = check(fresh)?;
    name(fresh, target, |from, to| fs::hard_link(from, to)).map_err(wrong)?;
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(wrong)?;
    Ok(verified)
}

/// Gives a file its name. Fails if somebody was faster: nothing is overwritten.
fn name(fresh: &Path, target: &Path, link: impl Fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
    match link(fresh, target) {
        Ok(()) => fs::remove_file(fresh),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Not every file system has links: the name is taken with an empty file, which is then replaced.
        Err(_) => {
            File::create_new(target)?;
            fs::rename(fresh, target).inspect_err(|_| drop(fs::remove_file(target)))
        }
    }
}

fn check(path: &Path) -> Result<Verified, BackupError> {
    let verified = verify(path)?;
    match verified.findings.first() {
        None => Ok(verified),
        Some(finding) => Err(BackupError::Damaged { path: path.to_owned(), finding: finding.clone() }),
    }
}

/// Moves a copy ahead of everything that its store can have given out.
fn jump(path: &Path, far: Jump) -> Result<Restored, BackupError> {
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    schema::migrate(&mut connection, MIGRATIONS).map_err(|error| unfit(path, error))?;
    let Bounds { head, .. } = bounds(&connection)?;
    while slice(&mut connection, head)? < head {}
    let wrong = |source| BackupError::Sqlite { path: path.to_owned(), source };
    let fence = connection.query_row("SELECT fence FROM meta", [], |row| unsigned(row, 0)).map_err(wrong)?;
    let ahead = Revision::new(far.ahead_of(head.get())?);
    let fence = Revision::new(far.ahead_of(fence)?);
    // Who had a lease may have lost it in the lost store: nobody has one.
    connection
        .execute("DELETE FROM lease", [])
        .and_then(|_| {
            connection.execute(
                "UPDATE meta SET head = ?1, horizon = ?1, fence = ?2",
                [signed(ahead), signed(fence)],
            )
        })
        .map_err(wrong)?;
    Ok(Restored { backup: head, head: ahead })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_its_name_where_there_are_no_links() {
        let folder = tempfile::tempdir().unwrap();
        let (fresh, target) = (folder.path().join("fresh"), folder.path().join("target"));
        let without = |_: &Path, _: &Path| Err(io::Error::from(io::ErrorKind::Unsupported));
        fs::write(&fresh, "new").unwrap();
        name(&fresh, &target, without).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "new");
        assert!(!fresh.exists());
        fs::write(&fresh, "newer").unwrap();
        let error = name(&fresh, &target, without).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&target).unwrap(), "new", "nothing is overwritten");
    }
}
