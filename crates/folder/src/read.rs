//! A folder as a package.

use std::fs;
use std::path::{Path, PathBuf};

use lanai_krm::Package;
use lanai_krm::package::File;
use lanai_types::{Limits, SafePath};

use crate::entry::{self, mode_of};
use crate::{Error, STATE_FOLDER};

/// What a folder holds.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The files.
    pub package: Package,
    /// What is there and is no part of the package, in the order of the walk.
    pub odd: Vec<Odd>,
}

/// Something in the folder that is no part of the package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Odd {
    /// Where it is.
    pub path: PathBuf,
    /// What it is.
    pub kind: OddKind,
}

/// What is no part of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OddKind {
    /// Git's own: a repository, a submodule, or a work tree that points to one.
    Git,
    /// A folder without files; packages have none.
    EmptyFolder,
    /// A socket, a pipe or a device.
    Special,
    /// A change that is being made, or that a killed process left behind. See [`crate::recover`] and [`crate::view()`].
    Unfinished,
}

/// Reads everything below a folder.
///
/// Symbolic links are data: nothing is read through one, but for the folder itself. `.git` is not looked into.
///
/// # Errors
/// What the system refuses, with the file; a name that no package can have; more than the limits allow. A file that is
/// larger is not read.
pub fn read(root: &Path, limits: Limits) -> Result<Contents, Error> {
    let mut contents = Contents { package: Package::new(limits), odd: Vec::new() };
    walk(root, root, None, &mut contents)?;
    Ok(contents)
}

/// Returns how many entries the folder has that are worth keeping it.
fn walk(root: &Path, folder: &Path, at: Option<&SafePath>, contents: &mut Contents) -> Result<usize, Error> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        entries.push(entry.map_err(Error::io("read", folder))?);
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    let count = entries.len();
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| Error::Name(path.clone()))?;
        let mut odd = |kind| contents.odd.push(Odd { path: path.clone(), kind });
        if name == ".git" {
            odd(OddKind::Git);
            continue;
        }
        if name == STATE_FOLDER {
            odd(OddKind::Unfinished);
            continue;
        }
        let broken =
            |cause: lanai_types::safe_path::Error| Error::Package { root: root.into(), cause: cause.into() };
        let inside = at.map_or_else(|| name.to_owned(), |folder| format!("{folder}/{name}"));
        let inside = SafePath::parse_within(&inside, &contents.package.limits().path).map_err(broken)?;
        let kind = entry.file_type().map_err(Error::io("read", &path))?;
        if kind.is_dir() {
            if walk(root, &path, Some(&inside), contents)? == 0 {
                contents.odd.push(Odd { path, kind: OddKind::EmptyFolder });
            }
            continue;
        }
        let metadata = fs::symlink_metadata(&path).map_err(Error::io("read", &path))?;
        let Some(mode) = mode_of(&metadata) else {
            odd(OddKind::Special);
            continue;
        };
        let refused = |cause| Error::Package { root: root.into(), cause };
        let limit = contents.package.max_bytes(&inside);
        let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
        if !limit.admits(size) {
            return Err(refused(lanai_krm::package::Error::FileTooLarge { path: inside, size, limit }));
        }
        let content = entry::content(&path, &metadata).map_err(Error::io("read", &path))?;
        contents.package.insert(inside, File::new(content, mode)).map_err(refused)?;
    }
    Ok(count)
}
