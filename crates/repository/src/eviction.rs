//! Bounds what the mirrors of repositories that nobody registered take on disk.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use lanai_types::ByteSize;

use crate::mirror::Mirror;

/// What a folder that is being removed is called at its end.
const GONE: &str = ".gone";

/// Removes the mirrors in a cache that were used longest ago, until the rest takes no more than `most`. Those that somebody
/// uses right now stay. Killed in between it leaves a folder under another name, which the next one removes.
pub(crate) fn evict(cache: &Path, most: ByteSize) -> io::Result<()> {
    let folder = cache.join("git");
    let mut mirrors = Vec::new();
    for entry in fs::read_dir(&folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "gone") {
            remove(&path)?;
        } else if path.is_dir() && !path.is_symlink() {
            let mirror = Mirror::at(&path);
            mirrors.push((mirror.last_used(), size(&path), mirror));
        }
    }
    mirrors.sort_by_key(|(used, _, _)| *used);
    let mut all: u64 = mirrors.iter().map(|(_, size, _)| size).sum();
    for (_, size, mirror) in mirrors {
        if all <= most.get() {
            break;
        }
        if let Some(_guard) = mirror.try_lock() {
            let gone = PathBuf::from(format!("{}{GONE}", mirror.folder().display()));
            // In one step: nobody sees half of a mirror.
            fs::rename(mirror.folder(), &gone)?;
            mirror.forget_lock()?;
            remove(&gone)?;
            all -= size;
        }
    }
    Ok(())
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        // Somebody else is at it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// What the files below a folder take. What cannot be read takes nothing.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let of = |entry: fs::DirEntry| match entry.metadata() {
        Ok(found) if found.is_dir() => size(&entry.path()),
        Ok(found) => found.len(),
        Err(_) => 0,
    };
    entries.map(of).sum()
}

impl Mirror {
    /// When somebody locked it last.
    fn last_used(&self) -> SystemTime {
        let modified = fs::metadata(self.lock_path()).and_then(|found| found.modified());
        modified.unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// The right to write, if nobody else has any.
    fn try_lock(&self) -> Option<File> {
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .read(true)
            .open(self.lock_path())
            .ok()?;
        (file.try_lock().is_ok() && self.is_current(&file)).then_some(file)
    }

    /// Takes the file of the lock away. Those who wait for it notice.
    fn forget_lock(&self) -> io::Result<()> {
        fs::remove_file(self.lock_path())
    }
}
