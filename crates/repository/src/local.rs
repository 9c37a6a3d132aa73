//! A repository on this machine, read where it is.

use std::fs;
use std::path::{Path, PathBuf};

use gix_ref::Target;
use gix_ref::file::ReferenceExt;

use crate::error::chain;
use crate::mirror::open_objects;
use crate::tree::our_id;
use crate::{Error, RemoteUrl};
use lanai_types::CommitId;

/// A repository on this machine. Its configuration is not obeyed, and nothing of it is run or written, so it does not
/// matter whom it belongs to.
pub(crate) struct Local {
    pub(crate) objects: gix_odb::Handle,
    refs: gix_ref::file::Store,
    remote: RemoteUrl,
}

/// What `HEAD` says.
pub(crate) struct Head {
    /// The full name of the branch; `None` where `HEAD` is a commit.
    pub(crate) branch: Option<String>,
    /// The commit; `None` where the branch has none.
    pub(crate) commit: Option<CommitId>,
}

/// A state of the file of packed refs: its inode, length and time.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packed(u64, u64, i64, i64);

impl Local {
    /// Opens the repository at a path as Git finds it: in the folder, in its `.git`, or in the folder with `.git` at its
    /// end.
    pub(crate) fn open(path: &Path, remote: &RemoteUrl) -> Result<Self, Error> {
        let no_repository = |cause: String| Error::NotARepository { remote: remote.clone(), cause };
        let (folder, common) = folders(path, remote)?;
        check_format(&common, remote)?;
        let objects =
            open_objects(&common.join("objects")).map_err(|cause| no_repository(cause.to_string()))?;
        let refs = gix_ref::file::Store::for_linked_worktree(folder, common, gix_hash::Kind::Sha1);
        Ok(Self { objects, refs, remote: remote.clone() })
    }

    /// The branch and commit of `HEAD`.
    pub(crate) fn head(&self) -> Result<Head, Error> {
        let Some(head) = self.refs.try_find("HEAD").map_err(|cause| self.damaged(&cause))? else {
            return Ok(Head { branch: None, commit: None });
        };
        let branch = match &head.target {
            Target::Symbolic(name) => Some(name.as_bstr().to_string()),
            Target::Object(_) => None,
        };
        let commit = match &branch {
            Some(branch) => self.find(branch)?,
            None => self.peeled(head)?,
        };
        Ok(Head { branch, commit })
    }

    /// The commit of a ref by its full name.
    pub(crate) fn find(&self, name: &str) -> Result<Option<CommitId>, Error> {
        let Ok(full) = gix_ref::FullName::try_from(name) else { return Ok(None) };
        let found =
            self.refs.try_find(full.as_ref().as_partial_name()).map_err(|cause| self.damaged(&cause))?;
        // A partial name finds refs of longer names as well.
        match found.filter(|found| found.name.as_bstr() == name) {
            Some(found) => self.peeled(found),
            None => Ok(None),
        }
    }

    /// The folder of the objects of a repository at a path, as an absolute path.
    pub(crate) fn objects_folder(path: &Path, remote: &RemoteUrl) -> Result<PathBuf, Error> {
        let (_, common) = folders(path, remote)?;
        let objects = common.join("objects");
        let fail = crate::mirror::failed("cannot read", &objects);
        fs::canonicalize(&objects).map_err(fail)
    }

    /// What the file of packed refs is now; `None` where there is none.
    pub(crate) fn packed(path: &Path, remote: &RemoteUrl) -> Result<Option<Packed>, Error> {
        use std::os::unix::fs::MetadataExt;
        let (_, common) = folders(path, remote)?;
        let found = fs::metadata(common.join("packed-refs"));
        Ok(found.ok().map(|found| Packed(found.ino(), found.len(), found.mtime(), found.mtime_nsec())))
    }

    /// All refs: name, object, and what that leads to; and how many files there could not be read as one.
    pub(crate) fn tips(&self) -> Result<Tips, Error> {
        let platform = self.refs.iter().map_err(|cause| self.damaged(&cause))?;
        let iterator = platform.all().map_err(|cause| self.damaged(&cause))?;
        let mut tips = Tips::default();
        for reference in iterator {
            let Ok(mut reference) = reference else {
                tips.unread += 1;
                continue;
            };
            let name = reference.name.as_bstr().to_string();
            let object = reference.target.try_id().map(ToOwned::to_owned);
            let Ok(commit) = reference.peel_to_id(&self.refs, &self.objects) else {
                tips.unread += 1;
                continue;
            };
            let object = object.unwrap_or(commit);
            tips.all.push((name, object, commit));
        }
        Ok(tips)
    }

    /// All refs under `refs/` that lead to a commit, with their commits.
    pub(crate) fn all(&self) -> Result<Vec<(String, CommitId)>, Error> {
        let platform = self.refs.iter().map_err(|cause| self.damaged(&cause))?;
        let iterator = platform.all().map_err(|cause| self.damaged(&cause))?;
        let mut all = Vec::new();
        for reference in iterator {
            // A file that is no ref does not hide the others.
            let Ok(reference) = reference else { continue };
            let name = reference.name.as_bstr().to_string();
            if let Some(commit) = self.peeled(reference)? {
                all.push((name, commit));
            }
        }
        Ok(all)
    }

    /// The commit that a ref leads to in the end; `None` for one that leads to something else or nowhere.
    fn peeled(&self, mut reference: gix_ref::Reference) -> Result<Option<CommitId>, Error> {
        let Ok(id) = reference.peel_to_id(&self.refs, &self.objects) else { return Ok(None) };
        let kind =
            gix_object::FindHeader::try_header(&self.objects, &id).map_err(|cause| self.damaged(&cause))?;
        let is_commit = kind.is_some_and(|header| header.kind == gix_object::Kind::Commit);
        Ok(is_commit.then(|| CommitId::new(our_id(id))))
    }

    fn damaged(&self, cause: &(dyn std::error::Error + 'static)) -> Error {
        Error::Damaged { remote: self.remote.clone(), cause: chain(cause) }
    }
}

/// What a look at the refs found.
#[derive(Default)]
pub(crate) struct Tips {
    pub(crate) all: Vec<(String, gix_hash::ObjectId, gix_hash::ObjectId)>,
    pub(crate) unread: usize,
}

/// The folder of the repository at a path, and the one that it shares with others.
fn folders(path: &Path, remote: &RemoteUrl) -> Result<(PathBuf, PathBuf), Error> {
    let no_repository = |cause: String| Error::NotARepository { remote: remote.clone(), cause };
    let mut with_suffix = path.as_os_str().to_owned();
    with_suffix.push(".git");
    let candidates = [path.join(".git"), path.to_owned(), PathBuf::from(with_suffix)];
    let folder = candidates.iter().find_map(|candidate| git_folder(candidate));
    let Some(folder) = folder else {
        let exists = path.exists();
        return Err(no_repository(
            if exists { "it has no HEAD, refs and objects" } else { "it does not exist" }.to_owned(),
        ));
    };
    let common = match fs::read_to_string(folder.join("commondir")) {
        Ok(text) => folder.join(text.trim_end_matches('\n')),
        Err(_) => folder.clone(),
    };
    Ok((folder, common))
}

/// The folder of a repository at a path: the path itself, or where a file there leads to.
fn git_folder(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        let text = fs::read_to_string(path).ok()?;
        let target = text.strip_prefix("gitdir:")?.trim();
        return Some(path.parent()?.join(target)).filter(|folder| folder.join("HEAD").exists());
    }
    let is_repository =
        path.join("HEAD").exists() && path.join("objects").is_dir() && path.join("refs").is_dir();
    is_repository.then(|| path.to_owned())
}

/// Refuses repositories in a format that we would misread.
fn check_format(common: &Path, remote: &RemoteUrl) -> Result<(), Error> {
    let path = common.join("config");
    let Ok(bytes) = fs::read(&path) else { return Ok(()) };
    let metadata = gix_config::file::Metadata::from(gix_config::Source::Local);
    let config = gix_config::File::from_bytes_no_includes(
        &bytes,
        metadata,
        gix_config::file::init::Options::default(),
    );
    let config = config.map_err(|cause| Error::Damaged { remote: remote.clone(), cause: chain(&cause) })?;
    let unsupported = |what: String| Err(Error::Unsupported { remote: remote.clone(), what });
    let value = |key: &str| config.string(key).map(|value| value.to_string().to_lowercase());
    match value("extensions.objectFormat").as_deref() {
        None | Some("sha1") => {}
        Some(other) => return unsupported(format!("object ids of {other}")),
    }
    match value("extensions.refStorage").as_deref() {
        None | Some("files") => Ok(()),
        Some(other) => unsupported(format!("refs in the format {other}")),
    }
}
