//! A folder as it is when a change that was interrupted is finished, for those who only look.

use std::io;
use std::path::{Path, PathBuf};

use lanai_krm::Package;
use lanai_types::{Limits, SafePath};

use crate::apply::{JOURNAL, read_journal};
use crate::entry::Stamp;
use crate::lock::holder;
use crate::plan::{Home, Plan, Read};
use crate::read::{Odd, OddKind, read};
use crate::run::is_torn;
use crate::{Error, state};

/// What a folder holds, as [`crate::Contents`], with changes that were begun seen as finished.
#[derive(Clone, Debug)]
pub struct View {
    /// The files.
    pub package: Package,
    /// What is there and is no part of the package.
    pub odd: Vec<Odd>,
    /// Changes that are not finished, in the folder, around it and inside of it.
    pub unfinished: Vec<Unfinished>,
}

/// A change that is not finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// Files are being changed by somebody at work. The view shows what comes out.
    Working {
        /// The folder that is changed.
        root: PathBuf,
        /// Who it is.
        holder: String,
    },
    /// Whoever changed files was interrupted. The view shows what comes out when [`crate::recover`] finishes it.
    Interrupted {
        /// The folder that is changed.
        root: PathBuf,
    },
    /// Whoever wanted to change files was interrupted before that. The view shows what is there.
    Planned {
        /// The folder that was to be changed.
        root: PathBuf,
    },
    /// A plan that is not to be followed here, see [`crate::Recovery::Foreign`]. The view shows what is there.
    Foreign {
        /// The plan.
        journal: PathBuf,
    },
    /// What is in the place of the lock or the journal is none of ours, see [`crate::Error::Strange`]. The view shows what
    /// is there.
    Strange {
        /// What is there.
        path: PathBuf,
    },
}

/// Reads everything below a folder, as [`read`] does, and writes nothing. What a journal wants that is there, around or
/// inside is seen as done, but where somebody else changed a file meanwhile.
///
/// # Errors
/// Those of [`read`]; a journal that cannot be read.
pub fn view(root: &Path, limits: Limits) -> Result<View, Error> {
    let contents = read(root, limits)?;
    let mut view = View { package: contents.package, odd: contents.odd, unfinished: Vec::new() };
    let inner = view.odd.iter().filter(|odd| odd.kind == OddKind::Unfinished);
    let inner: Vec<PathBuf> = inner.filter_map(|odd| odd.path.parent().map(Path::to_path_buf)).collect();
    let around = root.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let around = around.filter(|folder| state::is_trusted(folder, JOURNAL).unwrap_or(false));
    let folders: Vec<PathBuf> = around.map(Path::to_path_buf).chain(inner).collect();
    for folder in folders {
        let Some(change) = open(&folder)? else { continue };
        if let Some(plan) = change.plan {
            finish(&plan, &folder, root, &mut view.package)?;
        }
        view.unfinished.push(change.unfinished);
    }
    Ok(view)
}

/// The nearest folder around a path, or the path itself, that holds a change that is not finished.
pub fn change_around(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| state::file(folder, JOURNAL).is_ok_and(|found| found.is_some()))
}

/// A change that is not finished, and the plan where it is to be seen as done.
struct Change {
    plan: Option<Plan>,
    unfinished: Unfinished,
}

/// The change in a folder; `None` when there is none.
fn open(folder: &Path) -> Result<Option<Change>, Error> {
    let journal = match state::file(folder, JOURNAL) {
        Ok(Some(journal)) => journal,
        Ok(None) => return Ok(None),
        Err(Error::Strange(path)) => {
            return Ok(Some(Change { plan: None, unfinished: Unfinished::Strange { path } }));
        }
        Err(error) => return Err(error),
    };
    if !state::is_trusted(folder, JOURNAL)? {
        return Ok(Some(Change { plan: None, unfinished: Unfinished::Foreign { journal } }));
    }
    let bytes = match read_journal(&journal) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("read", &journal)(error)),
    };
    let root = folder.to_path_buf();
    let (plan, unfinished) = match (Plan::decode(&bytes), holder(folder)) {
        (Read::Plan(plan), _) if plan.home != Home::of(folder)? => (None, Unfinished::Foreign { journal }),
        (Read::Other, _) => (None, Unfinished::Foreign { journal }),
        (Read::Plan(plan), Some(holder)) => (Some(plan), Unfinished::Working { root, holder }),
        (Read::Plan(plan), None) => (Some(plan), Unfinished::Interrupted { root }),
        // Somebody is writing it right now.
        (Read::Incomplete, Some(_)) => return Ok(None),
        (Read::Incomplete, None) => (None, Unfinished::Planned { root }),
    };
    Ok(Some(Change { plan, unfinished }))
}

/// Does to a package what a plan for `folder` wants of the files below `root`.
fn finish(plan: &Plan, folder: &Path, root: &Path, package: &mut Package) -> Result<(), Error> {
    let inside = |path: &Path| -> Option<SafePath> {
        folder.join(path).strip_prefix(root).ok()?.to_str()?.parse().ok()
    };
    for number in 0..plan.written.len() {
        if let Some(path) = inside(&plan.temporary(Path::new(""), number)) {
            package.remove(&path);
        }
    }
    for entry in &plan.removed {
        if let Some(path) = inside(Path::new(entry.path.as_str()))
            && Stamp::is_of(Some(entry.before), package.get(&path))?
        {
            package.remove(&path);
        }
    }
    for entry in &plan.written {
        let Some(path) = inside(Path::new(entry.path.as_str())) else { continue };
        let now = package.get(&path);
        if Stamp::is_of(entry.before, now)? || now.is_some_and(|now| is_torn(now, &entry.file)) {
            // Where something of somebody else is in the way, that stays.
            let _ = package.insert(path, entry.file.clone());
        }
    }
    Ok(())
}
