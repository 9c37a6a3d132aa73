//! One writer at a time.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::{Error, STATE_FOLDER, state};

const LOCK: &str = "lock";
/// How often the file may vanish between opening and locking it. Each time somebody else got something done.
const MAX_TRIES: usize = 1_000;

/// How often somebody may only look at a lock that is about to be taken, and how long each is waited for.
const MAX_LOOKERS: usize = 100;
const LOOK: Duration = Duration::from_millis(1);

/// The right to change a package. It ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct Lock {
    root: PathBuf,
    file: File,
}

/// Takes the right to change a package, without waiting for it.
///
/// `who` is what others are told while it is taken, such as `"lanai pkg update" (process 7)`. Whatever a killed process
/// left behind is still there: see [`crate::recover`].
///
/// # Errors
/// [`Error::Locked`] when somebody has it, or has it for a package around this one; [`Error::Strange`]; what the system
/// refuses.
pub fn lock(root: &Path, who: &str) -> Result<Lock, Error> {
    for outer in root.ancestors().skip(1).filter(|outer| !outer.as_os_str().is_empty()) {
        if state::is_trusted(outer, LOCK).unwrap_or(false)
            && let Some(holder) = holder(outer)
        {
            return Err(Error::Locked { root: outer.into(), holder });
        }
    }
    let folder = root.join(STATE_FOLDER);
    let path = folder.join(LOCK);
    for _ in 0..MAX_TRIES {
        match fs::create_dir(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io("change", root)(error)),
        }
        // Looked at after it was made: from now on nobody removes it who is not locked out.
        state::file(root, LOCK)?;
        let opened = state::open(&path, OpenOptions::new().create(true).read(true).write(true));
        let mut file = match opened {
            Ok(file) => file,
            // The holder has just cleaned up.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::io("lock", &path)(error)),
        };
        match take(&file) {
            Ok(()) if is_at(&file, &path) => {
                let told = file.set_len(0).and_then(|()| file.write_all(who.as_bytes()));
                told.map_err(Error::io("write", &path))?;
                return Ok(Lock { root: root.into(), file });
            }
            // Locked, but it is not the file of that name any more.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Locked { root: root.into(), holder: name(&mut file) });
            }
            Err(TryLockError::Error(error)) => return Err(Error::io("lock", &path)(error)),
        }
    }
    Err(Error::Locked { root: root.into(), holder: "many others".into() })
}

/// Locks a file that nobody else has for himself. Those who only look whether anybody has it are waited for: they are done
/// at once.
#[expect(clippy::disallowed_methods, reason = "a lock can be waited for, but not for a moment only")]
fn take(file: &File) -> Result<(), TryLockError> {
    for _ in 0..MAX_LOOKERS {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {}
            other => return other,
        }
        file.try_lock_shared()?;
        file.unlock().map_err(TryLockError::Error)?;
        thread::sleep(LOOK);
    }
    Err(TryLockError::WouldBlock)
}

/// Whether a folder has the file of a lock, held or not: then it is one of ours.
pub(crate) fn is_locked_by_us(root: &Path) -> bool {
    fs::symlink_metadata(root).is_ok_and(|found| found.is_dir())
        && state::file(root, LOCK).is_ok_and(|found| found.is_some())
}

/// Who is changing the package at `root`; `None` when nobody is.
pub(crate) fn holder(root: &Path) -> Option<String> {
    let path = state::file(root, LOCK).ok()??;
    let mut file = state::open(&path, OpenOptions::new().read(true)).ok()?;
    match file.try_lock_shared() {
        Ok(()) | Err(TryLockError::Error(_)) => None,
        Err(TryLockError::WouldBlock) => Some(name(&mut file)),
    }
}

fn name(file: &mut File) -> String {
    let mut who = String::new();
    let read = file.rewind().and_then(|()| file.take(200).read_to_string(&mut who));
    if read.is_ok() && !who.is_empty() { who } else { "another process".into() }
}

fn is_at(file: &File, path: &Path) -> bool {
    let id = |metadata: io::Result<fs::Metadata>| metadata.map(|found| (found.dev(), found.ino())).ok();
    let now = id(fs::symlink_metadata(path));
    now.is_some() && now == id(file.metadata())
}

impl Lock {
    /// The package.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The package has another name now.
    pub(crate) fn moved(&mut self, root: &Path) {
        self.root = root.into();
    }
}

impl Lock {
    /// Takes the name of the lock away, for a process that ends without dropping it. Nothing may be changed after that.
    pub fn release(&self) {
        // The name goes before the lock does. What cannot be removed is in nobody's way: the next one locks it.
        let folder = self.root.join(STATE_FOLDER);
        if is_at(&self.file, &folder.join(LOCK)) {
            let _ = fs::remove_file(folder.join(LOCK));
        }
        let _ = fs::remove_dir(&folder);
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.release();
    }
}
