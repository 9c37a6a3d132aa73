//! Packages inside a package.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use lanai_types::SafePath;

use super::{Mode, Package};

/// A folder of a package: its root, or one below it. Ordered by segments, the root first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Folder {
    /// The root of the package.
    Root,
    /// The folder at a path.
    At(SafePath),
}

/// The name of the file that makes a folder a package.
const KPTFILE: &str = "Kptfile";

impl Folder {
    /// The folder that a file is in.
    pub fn of(path: &SafePath) -> Self {
        path.parent().map_or(Self::Root, Self::At)
    }

    /// The folder that the folder is in; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        match self {
            Self::Root => None,
            Self::At(path) => Some(Self::of(path)),
        }
    }

    /// Whether the file, or the folder with that path, lies below the folder.
    pub fn holds(&self, path: &SafePath) -> bool {
        self.relative(path).is_some()
    }

    /// The path as seen from the folder; `None` when it does not lie below it.
    pub fn relative(&self, path: &SafePath) -> Option<SafePath> {
        match self {
            Self::Root => Some(path.clone()),
            Self::At(folder) => path.strip_prefix(folder),
        }
    }

    /// What the paths of all files below the folder begin with.
    pub(super) fn prefix(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::At(path) => format!("{path}/"),
        }
    }

    fn segments(&self) -> impl Iterator<Item = &str> {
        let path = match self {
            Self::Root => None,
            Self::At(path) => Some(path),
        };
        path.into_iter().flat_map(SafePath::components)
    }
}

impl PartialOrd for Folder {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Folder {
    fn cmp(&self, other: &Self) -> Ordering {
        self.segments().cmp(other.segments())
    }
}

impl fmt::Display for Folder {
    /// The path; a dot for the root.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("."),
            Self::At(path) => fmt::Display::fmt(path, f),
        }
    }
}

impl Package {
    /// The folders that are packages, by segments, the outer before the inner: those with a `Kptfile` that is a file.
    /// What is in the Kptfile, and whether it is ignored, does not matter.
    pub fn package_roots(&self) -> BTreeSet<Folder> {
        let kptfiles = self.iter().filter(|(path, _)| path.file_name() == KPTFILE);
        let files = kptfiles.filter(|(_, file)| file.mode() != Mode::Symlink);
        files.map(|(path, _)| Folder::of(path)).collect()
    }

    /// The package that a path belongs to: the deepest that holds it, the root where none does.
    pub fn owner(&self, path: &SafePath) -> Folder {
        let mut folder = Folder::of(path);
        while let Folder::At(at) = &folder {
            if self.is_package(&folder) {
                break;
            }
            folder = Folder::of(at);
        }
        folder
    }

    /// The packages that are nearest below a folder, by segments. Which of them have an upstream is in their Kptfiles.
    pub fn direct_subpackages(&self, of: &Folder) -> Vec<Folder> {
        let mut direct: Vec<Folder> = Vec::new();
        // The outer comes before the inner, and nothing comes in between.
        for root in self.package_roots() {
            let Folder::At(path) = &root else { continue };
            let covered = direct.last().is_some_and(|last| last.holds(path));
            if of.holds(path) && !covered {
                direct.push(root);
            }
        }
        direct
    }

    /// Whether the folder is a package.
    pub fn is_package(&self, folder: &Folder) -> bool {
        let kptfile = self.files.get(format!("{}{KPTFILE}", folder.prefix()).as_str());
        kptfile.is_some_and(|file| file.mode() != Mode::Symlink)
    }
}
