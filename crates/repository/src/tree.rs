//! Reads a folder out of a commit.

use std::cell::RefCell;
use std::collections::HashMap;

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use gix_object::{Find, FindHeader, Kind, TreeRefIter};
use lanai_krm::Package;
use lanai_krm::package::{self, File, Folder, Mode};
use lanai_types::quote::Quoted;
use lanai_types::{ByteSize, GitObjectId, Limits, SafePath, TreeId};

use crate::progress::{Phase, Progress, Report};
use crate::{Cancel, Content, Error, RemoteUrl, Want};

/// Why a folder was not read.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An object is not there. For a mirror: not yet.
    Missing,
    /// An object is not what its id says.
    Damaged(String),
    /// An object is what its id says, and cannot be used. Another copy of it would be the same.
    Bad(String),
    Other(Error),
}

/// The most bytes of a commit, tag or tree. Git itself has no bound; one of 64 MiB holds a million names.
pub(crate) const MAX_NODE: ByteSize = ByteSize::mib(64);

/// Where objects come from.
pub(crate) trait Source: Find + FindHeader {}

impl<T: Find + FindHeader> Source for T {}

/// Reads one folder. Every object is checked against its id.
pub(crate) struct Reader<'a> {
    pub(crate) objects: &'a dyn Source,
    pub(crate) remote: &'a RemoteUrl,
    pub(crate) limits: &'a Limits,
    pub(crate) progress: &'a dyn Progress,
    pub(crate) cancel: &'a Cancel,
    /// The large files that were read: the same one in another version is not held twice.
    pub(crate) large: RefCell<HashMap<ObjectId, File>>,
}

/// From how many bytes on a file is worth sharing.
const LARGE: usize = 64 * 1024;

/// A folder that is being read.
struct Reading<'a> {
    want: &'a Want,
    package: Package,
    submodules: Vec<SafePath>,
    /// Folders count as files do: a few trees that hold each other many times unfold into billions of folders.
    folders: usize,
}

impl Reader<'_> {
    pub(crate) fn read(&self, want: &Want) -> Result<Content, Failure> {
        let root = self.tree_of(git_id(want.commit.object_id())?)?;
        let tree = self.folder(root, want)?;
        let mut reading =
            Reading { want, package: Package::new(*self.limits), submodules: Vec::new(), folders: 0 };
        self.add(&mut reading, tree, None)?;
        let Reading { package, submodules, .. } = reading;
        Ok(Content { package, tree: TreeId::new(our_id(tree)), submodules })
    }

    fn tree_of(&self, id: ObjectId) -> Result<ObjectId, Failure> {
        let mut buffer = Vec::new();
        match self.object(id, &mut buffer)? {
            Kind::Commit => {
                let mut commit = gix_object::CommitRefIter::from_bytes(&buffer, id.kind());
                commit.tree_id().map_err(|cause| Failure::Bad(crate::error::chain(&cause)))
            }
            kind @ (Kind::Tag | Kind::Tree | Kind::Blob) => {
                let what = format!("{kind} {id} in place of a commit");
                Err(Failure::Other(Error::Unsupported { remote: self.remote.clone(), what }))
            }
        }
    }

    /// Walks down to the folder that is wanted.
    fn folder(&self, root: ObjectId, want: &Want) -> Result<ObjectId, Failure> {
        let Folder::At(path) = &want.folder else { return Ok(root) };
        let mut at = root;
        let mut buffer = Vec::new();
        for name in path.components() {
            self.tree(at, &mut buffer)?;
            let mut next = None;
            for entry in TreeRefIter::from_bytes(&buffer, at.kind()) {
                let entry = entry.map_err(|cause| Failure::Bad(crate::error::chain(&cause)))?;
                if AsRef::<[u8]>::as_ref(entry.filename) == name.as_bytes() && entry.mode.is_tree() {
                    next = Some(entry.oid.to_owned());
                }
            }
            at = next.ok_or_else(|| {
                let (remote, commit, folder) = (self.remote.clone(), want.commit, want.folder.clone());
                Failure::Other(Error::NoFolder { remote, commit, folder })
            })?;
        }
        Ok(at)
    }

    /// Adds what is in a tree, which is at a path below the folder that is wanted. Goes as deep as paths do.
    fn add(&self, reading: &mut Reading<'_>, tree: ObjectId, at: Option<&SafePath>) -> Result<(), Failure> {
        reading.folders += 1;
        let limit = reading.package.limits().max_files;
        // The folder that is read is not one of the package's folders.
        if reading.folders > limit.saturating_add(1) {
            return Err(self.refused(reading.want, package::Error::TooManyFiles { limit }));
        }
        let mut buffer = Vec::new();
        self.tree(tree, &mut buffer)?;
        for entry in TreeRefIter::from_bytes(&buffer, tree.kind()) {
            if self.cancel.is_cancelled() {
                return Err(Failure::Other(Error::Cancelled));
            }
            let entry = entry.map_err(|cause| Failure::Bad(crate::error::chain(&cause)))?;
            let path = self.path(reading.want, at, entry.filename.as_ref())?;
            let mode = match entry.mode.kind() {
                EntryKind::Tree => {
                    self.add(reading, entry.oid.to_owned(), Some(&path))?;
                    continue;
                }
                EntryKind::Commit => {
                    reading.submodules.push(path);
                    continue;
                }
                EntryKind::Blob => Mode::Regular,
                EntryKind::BlobExecutable => Mode::Executable,
                EntryKind::Link => Mode::Symlink,
            };
            let refuse = |cause| self.refused(reading.want, cause);
            let limits = reading.package.limits();
            if reading.package.len() >= limits.max_files {
                return Err(refuse(package::Error::TooManyFiles { limit: limits.max_files }));
            }
            let file = self.file(reading, &path, entry.oid.to_owned())?.with_mode(mode);
            if reading.package.get(&path).is_some() {
                return Err(refuse(package::Error::Twice(path)));
            }
            reading.package.insert(path, file).map_err(refuse)?;
            let (done, bytes) = (reading.package.len() as u64, reading.package.bytes() as u64);
            self.progress.report(Report { phase: Phase::Reading, done, total: None, bytes });
        }
        Ok(())
    }

    /// The content of a file, shared where it was read before.
    fn file(&self, reading: &Reading<'_>, path: &SafePath, id: ObjectId) -> Result<File, Failure> {
        let known = self.large.borrow().get(&id).cloned();
        if let Some(file) = known.filter(|file| reading.package.max_bytes(path).admits(file.len())) {
            return Ok(file);
        }
        let file = File::regular(self.blob(reading, path, id)?);
        if file.len() >= LARGE {
            self.large.borrow_mut().insert(id, file.clone());
        }
        Ok(file)
    }

    /// The bytes of a file, if the package may have them: their number is known before they are read.
    fn blob(&self, reading: &Reading<'_>, path: &SafePath, id: ObjectId) -> Result<Vec<u8>, Failure> {
        let size = usize::try_from(self.header(id)?.size).unwrap_or(usize::MAX);
        let limits = reading.package.limits();
        let refuse = |cause| Err(self.refused(reading.want, cause));
        let limit = reading.package.max_bytes(path);
        if !limit.admits(size) {
            return refuse(package::Error::FileTooLarge { path: path.clone(), size, limit });
        }
        if !limits.max_stream.admits(reading.package.bytes().saturating_add(size)) {
            return refuse(package::Error::TooLarge { limit: limits.max_stream });
        }
        let mut content = Vec::with_capacity(size);
        match self.object(id, &mut content)? {
            Kind::Blob => Ok(content),
            kind @ (Kind::Commit | Kind::Tag | Kind::Tree) => {
                Err(Failure::Bad(format!("\"{path}\" is a {kind} in place of a file")))
            }
        }
    }

    fn tree(&self, id: ObjectId, buffer: &mut Vec<u8>) -> Result<(), Failure> {
        // The empty tree is known to everybody and need not be stored.
        if id == ObjectId::empty_tree(id.kind()) {
            buffer.clear();
            return Ok(());
        }
        let header = self.header(id)?;
        if header.size > MAX_NODE.get() {
            return Err(Failure::Damaged(format!("folder {id} has {} bytes", header.size)));
        }
        match self.object(id, buffer)? {
            Kind::Tree => Ok(()),
            kind @ (Kind::Commit | Kind::Tag | Kind::Blob) => {
                Err(Failure::Bad(format!("{kind} {id} is in place of a folder")))
            }
        }
    }

    fn header(&self, id: ObjectId) -> Result<gix_object::Header, Failure> {
        let header = FindHeader::try_header(self.objects, &id);
        header.map_err(|cause| Failure::Damaged(crate::error::chain(&cause)))?.ok_or(Failure::Missing)
    }

    fn object(&self, id: ObjectId, buffer: &mut Vec<u8>) -> Result<Kind, Failure> {
        let found = Find::try_find(self.objects, &id, buffer);
        let found = found.map_err(|cause| Failure::Damaged(crate::error::chain(&cause)))?;
        let data = found.ok_or(Failure::Missing)?;
        data.verify_checksum(&id).map_err(|cause| Failure::Damaged(crate::error::chain(&cause)))?;
        Ok(data.kind)
    }

    fn path(&self, want: &Want, at: Option<&SafePath>, name: &[u8]) -> Result<SafePath, Failure> {
        let whole = |name: &str| at.map_or_else(|| name.to_owned(), |at| format!("{at}/{name}"));
        let Ok(text) = std::str::from_utf8(name) else {
            let name = whole(&String::from_utf8_lossy(name));
            let (remote, commit, folder) = (self.remote.clone(), want.commit, want.folder.clone());
            return Err(Failure::Other(Error::FileName { remote, commit, folder, name }));
        };
        let path = SafePath::parse_within(&whole(text), &self.limits.path);
        let path = path.map_err(|cause| self.refused(want, package::Error::Path(cause)))?;
        // A path in place of a name: Git cannot write that, others can.
        if text.contains('/') {
            return Err(Failure::Bad(format!("a folder has the name {}", Quoted(text))));
        }
        Ok(path)
    }

    fn refused(&self, want: &Want, cause: package::Error) -> Failure {
        let (remote, commit, folder) = (self.remote.clone(), want.commit, want.folder.clone());
        Failure::Other(Error::Package { remote, commit, folder, cause: Box::new(cause) })
    }
}

/// The id as gix has it. Only repositories with SHA-1 are read.
pub(crate) fn git_id(id: GitObjectId) -> Result<ObjectId, Failure> {
    ObjectId::try_from(id.as_bytes()).map_err(|_| Failure::Missing)
}

/// The id as we have it.
pub(crate) fn our_id(id: ObjectId) -> GitObjectId {
    let mut bytes = [0; 20];
    bytes.copy_from_slice(id.as_slice());
    GitObjectId::from_sha1(bytes)
}
