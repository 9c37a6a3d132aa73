//! A package: files in folders, as a value.
//!
//! Nothing here reads a disk or a repository. Whoever does hands the entries to [`Package::from_entries`], which lets
//! nothing in that could leave the package again.

mod compose;
mod diff;
mod file;
mod json;
mod nested;
mod parallel;
mod place;
mod read;
mod unchanged;
mod write;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::ops::Bound;

use lanai_types::quote::Quoted;
use lanai_types::{ByteSize, Limits, SafePath, safe_path};

pub use diff::Diff;
pub use file::{File, Mode};
pub use nested::Folder;
pub use place::{Placed, default_path, resource_path};
pub use read::{FileResources, Located, OtherYaml, ReadOptions, Reading, is_resource_name};

/// A package and all that is below it: every file under its path.
///
/// A file is never where a folder is, every path is a [`SafePath`], and the package is within its limits; all of this
/// holds after every call. Folders exist by what is in them, as in Git. Symbolic links are data: nobody follows them
/// here. Two packages are equal when their files are; limits do not count.
#[derive(Clone, Debug)]
pub struct Package {
    files: BTreeMap<Key, File>,
    bytes: usize,
    limits: Limits,
}

/// Paths that differ in case only. A file system that ignores case keeps one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseCollision {
    /// All spellings of the file or folder, in byte order; at least two.
    pub spellings: Vec<SafePath>,
}

/// Why a package cannot be changed so, or cannot be read. A refused change leaves the package as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The path is not one inside a package, or longer or deeper than the limits allow.
    #[error(transparent)]
    Path(#[from] safe_path::Error),
    /// Two entries have the same path.
    #[error("path {} is there twice", Quoted(.0.as_str()))]
    Twice(SafePath),
    /// There is no such file.
    #[error("there is no file {}", Quoted(.0.as_str()))]
    NoSuchFile(SafePath),
    /// There is a file already.
    #[error("there is a file {} already", Quoted(.0.as_str()))]
    Exists(SafePath),
    /// The path of a new file is that of a folder.
    #[error("file {} cannot be where the folder of {} is", Quoted(.path.as_str()), Quoted(.below.as_str()))]
    IsFolder {
        /// The path of the new file.
        path: SafePath,
        /// A file in the folder.
        below: SafePath,
    },
    /// A folder of the path of a new file is a file.
    #[error("file {} cannot be below {}, which is a file", Quoted(.path.as_str()), Quoted(.file.as_str()))]
    BelowFile {
        /// The path of the new file.
        path: SafePath,
        /// The file that is in the way.
        file: SafePath,
    },
    /// `Limits::max_files`.
    #[error("the package has more than the {limit} files that are allowed")]
    TooManyFiles {
        /// What is allowed.
        limit: usize,
    },
    /// `Limits::max_document` for files that hold resources, `Limits::max_opaque` for others.
    #[error("file {} has {size} bytes, more than the {limit} that are allowed", Quoted(.path.as_str()))]
    FileTooLarge {
        /// The file.
        path: SafePath,
        /// Its bytes.
        size: usize,
        /// What is allowed.
        limit: ByteSize,
    },
    /// `Limits::max_stream`.
    #[error("the package has more than the {limit} that are allowed")]
    TooLarge {
        /// What is allowed.
        limit: ByteSize,
    },
    /// A resource file is not YAML.
    #[error("file {}: {cause}", Quoted(.path.as_str()))]
    Unreadable {
        /// The file.
        path: SafePath,
        /// What is wrong and where; its `{:#}` shows the line.
        cause: Box<lanai_yaml::Error>,
    },
    /// A document of a resource file is a list or a scalar, and `OtherYaml::Refused` holds.
    #[error("file {}: line {line}: a resource is a mapping, this is {found}", Quoted(.path.as_str()))]
    NotAResource {
        /// The file.
        path: SafePath,
        /// The line on which the document begins.
        line: usize,
        /// What the document is, in words.
        found: &'static str,
    },
    /// A `.krmignore` is refused.
    #[error("file {}: {cause}", Quoted(.path.as_str()))]
    Ignore {
        /// The file.
        path: SafePath,
        /// What is wrong with it.
        cause: crate::ignore::Error,
    },
    /// It takes too long to say whether a file is ignored.
    #[error("whether file {} is ignored cannot be told: {}", Quoted(.path.as_str()), crate::ignore::TooManySteps)]
    IgnoreTooSlow {
        /// The file.
        path: SafePath,
    },
    /// A resource asks for a place outside of the package. The text is kpt's.
    #[error("function must not modify resources outside of package: resource has path {0}")]
    OutsidePackage(String),
    /// A resource asks for a folder as its file. The text is kpt's.
    #[error("config.kubernetes.io/path cannot be a directory: {0}")]
    PathIsFolder(String),
    /// The index of a resource is not a number.
    #[error("resource at path {}: index {} is not a whole number", Quoted(.path), Quoted(.index))]
    BadIndex {
        /// The path, as the resource names it.
        path: String,
        /// The index, as the resource names it.
        index: String,
    },
    /// Two resources ask for the same place. The text is kpt's.
    #[error("resource at path {} and index \"{index}\" already exists", Quoted(.path.as_str()))]
    PlaceTaken {
        /// The file.
        path: SafePath,
        /// The place in it.
        index: usize,
    },
    /// A resource asks for a file that would not be read as one of resources again: by its name, because it is ignored,
    /// or because it is a symbolic link.
    #[error("file {} is ignored or is no resource file; a resource cannot be written to it", Quoted(.0.as_str()))]
    NotAResourceFile(SafePath),
    /// An annotation cannot be removed.
    #[error("the annotations of {resource} cannot be edited: {cause}")]
    Annotations {
        /// The resource.
        resource: String,
        /// Why.
        cause: lanai_yaml::edit::Error,
    },
    /// What was to be written together would not read back as it is.
    #[error("file {} cannot hold these documents together", Quoted(.0.as_str()))]
    Composition(SafePath),
    /// A resource that JSON has no words for was to be written to a JSON file.
    #[error("file {}: the resource cannot be written as JSON: {cause}", Quoted(.path.as_str()))]
    NotJson {
        /// The file.
        path: SafePath,
        /// Why.
        cause: String,
    },
}

impl Package {
    /// A package without files.
    pub fn new(limits: Limits) -> Self {
        Self { files: BTreeMap::new(), bytes: 0, limits }
    }

    /// Takes entries from outside. Each path is checked, no two may be equal, and no file may be where a folder is.
    ///
    /// # Errors
    /// The first entry that breaks a rule or exceeds a limit.
    pub fn from_entries<P: AsRef<str>>(
        entries: impl IntoIterator<Item = (P, File)>,
        limits: Limits,
    ) -> Result<Self, Error> {
        let mut package = Self::new(limits);
        for (path, file) in entries {
            let path = SafePath::parse_within(path.as_ref(), &limits.path)?;
            if package.get(&path).is_some() {
                return Err(Error::Twice(path));
            }
            package.insert(path, file)?;
        }
        Ok(package)
    }

    /// The limits that the package keeps.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// How many files there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The bytes of all files together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The file at a path.
    pub fn get(&self, path: &SafePath) -> Option<&File> {
        self.files.get(path.as_str())
    }

    /// All files in Git's order: by the bytes of their whole paths.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&SafePath, &File)> {
        self.files.iter().map(|(key, file)| (&key.0, file))
    }

    /// All files in the order in which kpt walks folders: entries by the bytes of their names, depth first. `Kptfile`
    /// comes before what begins in lower case, the folder `d` before `d.yaml`.
    pub fn walk(&self) -> Vec<(&SafePath, &File)> {
        let mut files: Vec<_> = self.iter().collect();
        files.sort_by(|(left, _), (right, _)| left.components().cmp(right.components()));
        files
    }

    /// All files below a folder, in Git's order, with their whole paths.
    pub fn below(&self, folder: &Folder) -> impl Iterator<Item = (&SafePath, &File)> {
        let prefix = folder.prefix();
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let files = self.files.range::<str, _>(from).map(|(key, file)| (&key.0, file));
        files.take_while(move |(path, _)| path.as_str().starts_with(&prefix))
    }

    /// How many bytes a file at a path may have: those that hold resources are read into memory several times over.
    pub fn max_bytes(&self, path: &SafePath) -> ByteSize {
        if is_resource_name(path.file_name()) { self.limits.max_document } else { self.limits.max_opaque }
    }

    // ---- changes

    /// Puts a file at a path, in place of the one that is there, which is returned.
    ///
    /// # Errors
    /// When a folder is there, a file is on the way, or a limit is exceeded.
    pub fn insert(&mut self, path: SafePath, file: File) -> Result<Option<File>, Error> {
        SafePath::parse_within(path.as_str(), &self.limits.path)?;
        let before = self.get(&path);
        let bytes = self.bytes - before.map_or(0, File::len);
        if before.is_none() {
            self.check_place(&path)?;
            if self.files.len() >= self.limits.max_files {
                return Err(Error::TooManyFiles { limit: self.limits.max_files });
            }
        }
        let limit = self.max_bytes(&path);
        if !limit.admits(file.len()) {
            return Err(Error::FileTooLarge { path, size: file.len(), limit });
        }
        let bytes = bytes.saturating_add(file.len());
        if !self.limits.max_stream.admits(bytes) {
            return Err(Error::TooLarge { limit: self.limits.max_stream });
        }
        self.bytes = bytes;
        Ok(self.files.insert(Key(path), file))
    }

    /// Takes a file out.
    pub fn remove(&mut self, path: &SafePath) -> Option<File> {
        let file = self.files.remove(path.as_str())?;
        self.bytes -= file.len();
        Some(file)
    }

    /// Gives a file another path.
    ///
    /// # Errors
    /// When there is no such file, another one has the path already, or a file cannot be there.
    pub fn rename(&mut self, from: &SafePath, to: SafePath) -> Result<(), Error> {
        if self.get(from).is_some() && *from == to {
            return Ok(());
        }
        if self.get(&to).is_some() {
            return Err(Error::Exists(to));
        }
        let Some(file) = self.remove(from) else { return Err(Error::NoSuchFile(from.clone())) };
        let moved = self.insert(to, file.clone());
        if moved.is_err() {
            self.bytes += file.len();
            self.files.insert(Key(from.clone()), file);
        }
        moved.map(|_| ())
    }

    /// Whether a new file can have the path, as far as files and folders go.
    fn check_place(&self, path: &SafePath) -> Result<(), Error> {
        if let Some((below, _)) = self.below(&Folder::At(path.clone())).next() {
            return Err(Error::IsFolder { path: path.clone(), below: below.clone() });
        }
        let mut folder = path.parent();
        while let Some(at) = folder {
            if self.get(&at).is_some() {
                return Err(Error::BelowFile { path: path.clone(), file: at });
            }
            folder = at.parent();
        }
        Ok(())
    }

    // ---- questions

    /// Files and folders whose paths differ from another one's in case only, in the order of their lower-case forms.
    pub fn case_collisions(&self) -> Vec<CaseCollision> {
        let mut spellings: BTreeMap<String, Vec<SafePath>> = BTreeMap::new();
        let mut last: Option<&SafePath> = None;
        for (path, _) in self.iter() {
            let mut entry = Some(path.clone());
            // What the file before lies in as well was seen with it.
            while let Some(at) = entry.take_if(|at| last.is_none_or(|last| !last.starts_with(at))) {
                entry = at.parent();
                spellings.entry(at.as_str().to_lowercase()).or_default().push(at);
            }
            last = Some(path);
        }
        let several = spellings.into_values().filter(|spellings| spellings.len() > 1);
        several
            .map(|mut spellings| {
                spellings.sort();
                CaseCollision { spellings }
            })
            .collect()
    }
}

impl PartialEq for Package {
    fn eq(&self, other: &Self) -> bool {
        self.files == other.files
    }
}

impl Eq for Package {}

/// A path that can be looked up by its text, and so by the text that all paths of a folder begin with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key(SafePath);

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        self.0.as_str()
    }
}
