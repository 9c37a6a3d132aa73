//! The folder that holds the lock and the journal, and whose word counts in it.
//!
//! A package may come from anybody, with whatever under these names: a link that leads elsewhere, a pipe on which a reader
//! waits for ever. Only a real folder with real files in it is ours; nothing is followed, and nothing else is opened.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::{Error, STATE_FOLDER};

/// The state folder of a package; `None` when there is none.
///
/// # Errors
/// [`Error::Strange`] when something else has its name; what the system refuses.
pub(crate) fn folder(root: &Path) -> Result<Option<PathBuf>, Error> {
    let path = root.join(STATE_FOLDER);
    match look(&path)? {
        Some(found) if found.is_dir() => Ok(Some(path)),
        Some(_) => Err(Error::Strange(path)),
        None => Ok(None),
    }
}

/// A file in the state folder of a package; `None` when there is none.
///
/// # Errors
/// As [`folder`].
pub(crate) fn file(root: &Path, name: &str) -> Result<Option<PathBuf>, Error> {
    let Some(folder) = folder(root)? else { return Ok(None) };
    let path = folder.join(name);
    match look(&path)? {
        Some(found) if found.is_file() => Ok(Some(path)),
        Some(_) => Err(Error::Strange(path)),
        None => Ok(None),
    }
}

fn look(path: &Path) -> Result<Option<Metadata>, Error> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Opens a file of the state folder, unless it is something else by now.
///
/// # Errors
/// What the system refuses: a link is.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // No reader waits for the other end of a pipe.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits();
    let file = options.clone().custom_flags(flags.cast_signed()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is no file")) }
}

/// Whether the state folder of a package, and a file in it where there is one, are ours or of the owner of the package. In a
/// folder that many share, anybody could be in the way of all.
///
/// # Errors
/// As [`folder`].
pub(crate) fn is_trusted(root: &Path, name: &str) -> Result<bool, Error> {
    let Some(folder) = folder(root)? else { return Ok(false) };
    let owner = fs::metadata(root).map_err(Error::io("read", root))?.uid();
    let us = rustix::process::geteuid().as_raw();
    let is_ours = |path: &Path| -> Result<bool, Error> {
        Ok(look(path)?.is_none_or(|found| found.uid() == owner || found.uid() == us))
    };
    Ok(is_ours(&folder)? && is_ours(&folder.join(name))?)
}
