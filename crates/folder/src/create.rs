//! A folder that appears as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use lanai_krm::Package;

use crate::sync::sync;
use crate::{Error, STATE_FOLDER, entry};

/// Makes a folder with the files of a package, where nothing is yet. Whoever looks sees no folder or all of it.
///
/// It is made under another name beside its place, and renamed. A killed process leaves that behind; the next one that
/// makes the same folder removes it. The parent must be there.
///
/// # Errors
/// [`Error::Exists`] when something is there; [`Error::Locked`] when somebody else is making the same folder; what the
/// system refuses.
pub fn create(root: &Path, package: &Package) -> Result<(), Error> {
    if fs::symlink_metadata(root).is_ok() {
        return Err(Error::Exists(root.into()));
    }
    if let Some((path, _)) =
        package.iter().find(|(path, _)| path.components().any(|name| name == STATE_FOLDER))
    {
        return Err(Error::Reserved(path.clone()));
    }
    let name = root.file_name().ok_or_else(|| Error::Exists(root.into()))?.to_string_lossy();
    let fresh = root.with_file_name(format!("{STATE_FOLDER}-new-{name}"));
    match fs::create_dir(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(Error::io("create", &fresh)(error));
        }
        Ok(()) | Err(_) => {}
    }
    let held = fs::File::open(&fresh).map_err(Error::io("lock", &fresh))?;
    if held.try_lock().is_err() {
        return Err(Error::Locked { root: root.into(), holder: "another process".into() });
    }
    let made = empty(&fresh)
        .and_then(|()| fill(&fresh, package))
        .and_then(|()| sync(&fresh, &places(&fresh, package)))
        .and_then(|()| {
            if fs::symlink_metadata(root).is_ok() {
                return Err(Error::Exists(root.into()));
            }
            fs::rename(&fresh, root).map_err(Error::io("create", root))
        });
    if made.is_err() {
        let _ = fs::remove_dir_all(&fresh);
    }
    made
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
        entry::write(&place, file, None).map_err(Error::io("write", &place))?;
    }
    Ok(())
}

fn empty(folder: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let path = entry.map_err(Error::io("read", folder))?.path();
        let removed = if path.is_dir() && !path.is_symlink() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.map_err(Error::io("remove", &path))?;
    }
    Ok(())
}
