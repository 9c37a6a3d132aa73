//! A folder that appears as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lanai_krm::Package;

use crate::lock::{Lock, is_locked_by_us, lock};
use crate::sync::sync;
use crate::{Error, STATE_FOLDER, entry};

/// How many other names are tried.
const MAX_NAMES: usize = 1_000;

/// Makes a folder with the files of a package, where nothing is yet. Whoever looks sees no folder or all of it.
///
/// It is made under another name beside its place, with a lock in it, and renamed. A killed process leaves that behind;
/// the next one that makes the same folder knows it by the lock, and removes it. The parent must be there.
///
/// # Errors
/// [`Error::Exists`] when something is there; [`Error::Locked`] when somebody else is making the same folder, or is
/// changing a package around it; what the system refuses.
pub fn create(root: &Path, package: &Package) -> Result<(), Error> {
    if fs::symlink_metadata(root).is_ok() {
        return Err(Error::Exists(root.into()));
    }
    if let Some((path, _)) =
        package.iter().find(|(path, _)| path.components().any(|name| name == STATE_FOLDER))
    {
        return Err(Error::Reserved(path.clone()));
    }
    let mut lock = fresh(root)?;
    let folder = lock.root().to_path_buf();
    let made = empty(&folder)
        .and_then(|()| fill(&folder, package))
        .and_then(|()| sync(&folder, &places(&folder, package)))
        .and_then(|()| {
            if fs::symlink_metadata(root).is_ok() {
                return Err(Error::Exists(root.into()));
            }
            fs::rename(&folder, root).map_err(Error::io("create", root))
        });
    match made {
        Ok(()) => lock.moved(root),
        Err(_) => {
            let _ = fs::remove_dir_all(&folder);
        }
    }
    made
}

/// A folder beside the place that is nobody else's, locked: a new one, or what a killed process left.
fn fresh(root: &Path) -> Result<Lock, Error> {
    let name = root.file_name().ok_or_else(|| Error::Exists(root.into()))?.to_string_lossy();
    for number in 0..MAX_NAMES {
        let end = if number == 0 { String::new() } else { format!("-{number}") };
        let folder = root.with_file_name(format!("{STATE_FOLDER}-new-{name}{end}"));
        match fs::create_dir(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if !is_locked_by_us(&folder) {
                    continue;
                }
            }
            Err(error) => return Err(Error::io("create", root)(error)),
        }
        let who = format!("\"lanai pkg get\" (process {})", std::process::id());
        return lock(&folder, &who).map_err(|error| match error {
            Error::Locked { root: locked, holder } if locked == folder => {
                Error::Locked { root: root.into(), holder }
            }
            other => other,
        });
    }
    Err(Error::Exists(root.with_file_name(format!("{STATE_FOLDER}-new-{name}"))))
}

fn places(folder: &Path, package: &Package) -> Vec<PathBuf> {
    package.iter().map(|(path, _)| folder.join(path.as_str())).collect()
}

fn fill(folder: &Path, package: &Package) -> Result<(), Error> {
    let mut last = None;
    for (path, file) in package.iter() {
        let place = folder.join(path.as_str());
        let parent = path.parent();
        if parent.is_some() && parent != last {
            let parent = place.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        }
        last = parent;
        entry::write_new(&place, file, None).map_err(Error::io("write", &place))?;
    }
    Ok(())
}

/// Removes what is in a folder, but for the lock.
fn empty(folder: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let path = entry.map_err(Error::io("read", folder))?.path();
        if path.ends_with(STATE_FOLDER) {
            continue;
        }
        let removed = if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.map_err(Error::io("remove", &path))?;
    }
    Ok(())
}
