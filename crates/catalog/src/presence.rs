//! Which processes are gone.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// Tells the other processes of this machine that we are here: a file of our name, which is locked as long as we live.
///
/// The system gives the lock up when the process ends, however it ends. So a file that can be locked is that of a process that is gone,
/// and nobody has to wait until its lease runs out. Where files cannot be locked, leases run out.
#[derive(Debug)]
pub(crate) struct Presence {
    folder: PathBuf,
    path: PathBuf,
    _lock: File,
}

impl Presence {
    /// None where the file cannot be made or locked.
    pub fn new(folder: &Path, name: &str) -> Option<Self> {
        fs::create_dir_all(folder).ok()?;
        let path = folder.join(name);
        let lock = File::create_new(&path).ok()?;
        lock.try_lock().ok()?;
        Some(Self { folder: folder.to_owned(), path, _lock: lock })
    }

    /// Whether the process of that name is gone. In doubt it is not.
    pub fn is_gone(&self, name: &str) -> bool {
        let path = self.folder.join(name);
        let Ok(file) = File::open(&path) else { return false };
        match file.try_lock_shared() {
            // Those who looked before us have a shared lock as well.
            Ok(()) => true,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        self.sweep();
    }
}

impl Presence {
    /// Removes the files of processes that are gone for a day: by then their leases have run out.
    fn sweep(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let age =
                entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|time| time.elapsed().ok());
            let is_old = age.is_some_and(|age| age > std::time::Duration::from_hours(24));
            if is_old && entry.file_name().to_str().is_some_and(|name| self.is_gone(name)) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}
