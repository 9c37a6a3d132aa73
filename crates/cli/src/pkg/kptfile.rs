//! What a Kptfile says about where its package comes from.

use std::ops::Deref;
use std::path::Path;

use lanai_krm::kptfile::{self, Git, GitLock, OriginType, Upstream, UpstreamLock};
use lanai_krm::package::{File, Folder, Mode};
use lanai_krm::{Kptfile, Package};
use lanai_types::quote::Quoted;
use lanai_types::{CommitId, SafePath};

use lanai_yaml::{Document, NodeRef, Stream};

use super::{address, upstream};
use crate::failure::{Code, Failure};

/// A folder of a repository at a version, as `upstream` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Source {
    pub repo: String,
    pub folder: Folder,
    pub reference: String,
}

/// What was fetched, as `upstreamLock` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Locked {
    pub source: Source,
    pub commit: CommitId,
}

/// The path of the Kptfile of a folder.
pub(super) fn path(folder: &Folder) -> Result<SafePath, Failure> {
    let path = match folder {
        Folder::Root => kptfile::FILE_NAME.parse(),
        Folder::At(folder) => format!("{folder}/{}", kptfile::FILE_NAME).parse(),
    };
    path.map_err(|error| Failure::of(Code::Kptfile, format!("{error}")))
}

/// A Kptfile that was read somewhere.
#[derive(Clone, Debug)]
pub(super) struct Read {
    kptfile: Kptfile,
    /// Where, for messages.
    shown: String,
}

impl Deref for Read {
    type Target = Kptfile;

    fn deref(&self) -> &Kptfile {
        &self.kptfile
    }
}

impl From<Read> for Kptfile {
    fn from(read: Read) -> Self {
        read.kptfile
    }
}

/// Reads the Kptfile of a folder of a package; `None` when there is none. `root` is where the package is, for messages.
///
/// # Errors
/// When it cannot be read.
pub(super) fn read(package: &Package, folder: &Folder, root: &Path) -> Result<Option<Read>, Failure> {
    let path = path(folder)?;
    let Some(file) = package.get(&path) else { return Ok(None) };
    let shown = root.join(path.as_str()).display().to_string();
    Read::parse(file, format!("file {}", Quoted(&shown))).map(Some)
}

/// Reads the Kptfile of a package that was fetched; `None` when there is none.
///
/// # Errors
/// When it cannot be read; the repository and the version are named.
pub(super) fn read_fetched(package: &Package, source: &Source) -> Result<Option<Read>, Failure> {
    read_inside(package, &Folder::Root, source)
}

/// As [`read_fetched`], for a folder of the package.
///
/// # Errors
/// The same.
pub(super) fn read_inside(
    package: &Package,
    folder: &Folder,
    source: &Source,
) -> Result<Option<Read>, Failure> {
    let path = path(folder)?;
    let Some(file) = package.get(&path) else { return Ok(None) };
    let shown = match &source.folder {
        Folder::Root => path.to_string(),
        Folder::At(folder) => format!("{folder}/{path}"),
    };
    let Source { repo, reference, .. } = source;
    let repo = upstream::shown(repo);
    let version = if reference.is_empty() { String::new() } else { format!(" at {}", Quoted(reference)) };
    let shown = format!("file {} of repository {}{version}", Quoted(&shown), Quoted(&repo));
    Read::parse(file, shown).map(Some)
}

impl Read {
    fn parse(file: &File, shown: String) -> Result<Self, Failure> {
        let refused = |why: String| Failure::of(Code::Kptfile, format!("{shown}: {why}"));
        if file.mode() == Mode::Symlink {
            return Err(refused("it is a symbolic link, where a file is needed".into()));
        }
        let text = file.text().ok_or_else(|| refused("it is not UTF-8".into()))?;
        if text.trim().is_empty() {
            return Err(refused("the Kptfile is empty".into()));
        }
        let kptfile = Kptfile::parse(text).map_err(|error| unreadable(&shown, text, &error))?;
        Ok(Self { kptfile, shown })
    }

    /// What is wrong with the whole.
    pub fn refused_whole(&self, why: &str) -> Failure {
        Failure::of(Code::Kptfile, format!("{}: {why}", self.shown))
    }

    /// What is wrong with a field; the line is that of the field or of what should hold it.
    pub fn refused(&self, field: &[&str], why: &dyn std::fmt::Display) -> Failure {
        let root = self.kptfile.document().root();
        let nodes = field.iter().scan(root, |node, key| {
            *node = node.get(key)?;
            Some(*node)
        });
        let line = nodes.last().unwrap_or(root).position().line;
        Failure::of(Code::Kptfile, format!("{}, line {line}: {}: {why}", self.shown, field.join(".")))
    }

    /// Where the package comes from; `None` when it has no upstream.
    ///
    /// # Errors
    /// When the upstream is no Git repository, or names no folder.
    pub fn source(&self) -> Result<Option<Source>, Failure> {
        let Some(upstream) = &self.fields().upstream else { return Ok(None) };
        let Some(git) = upstream.git.as_ref().filter(|git| !git.repo.is_empty()) else {
            return Err(self.refused(&["upstream", "git", "repo"], &"a git repository must be named here"));
        };
        let folder = address::folder(&git.directory);
        let folder = folder.map_err(|why| self.refused(&["upstream", "git", "directory"], &why))?;
        Ok(Some(Source { repo: git.repo.clone(), folder, reference: git.reference.clone() }))
    }

    /// What was fetched; `None` when nothing was, or nobody knows what.
    ///
    /// # Errors
    /// When it names no commit or no folder.
    pub fn locked(&self) -> Result<Option<Locked>, Failure> {
        let lock = self.fields().upstream_lock.as_ref().and_then(|lock| lock.git.as_ref());
        let Some(lock) = lock.filter(|lock| !lock.commit.is_empty()) else { return Ok(None) };
        let commit = lock.commit.parse();
        let commit = commit.map_err(|why| self.refused(&["upstreamLock", "git", "commit"], &why))?;
        let folder = address::folder(&lock.directory);
        let folder = folder.map_err(|why| self.refused(&["upstreamLock", "git", "directory"], &why))?;
        let source = Source { repo: lock.repo.clone(), folder, reference: lock.reference.clone() };
        Ok(Some(Locked { source, commit }))
    }
}

/// Why a Kptfile cannot be read: all that is wrong with it, with the lines.
fn unreadable(shown: &str, text: &str, error: &kptfile::Error) -> Failure {
    let mut wrong = error.in_words();
    if let (kptfile::Error::UnknownType { .. }, Ok(stream)) = (error, Stream::parse(text)) {
        let root = stream.documents().iter().map(Document::root).find(|root| !root.is_null());
        let says = |root: NodeRef<'_>| {
            ["apiVersion", "kind"].iter().find_map(|key| root.get(key)).unwrap_or(root).position().line
        };
        wrong = wrong.iter().map(|why| format!("line {}: {why}", root.map_or(1, says))).collect();
    }
    match &wrong[..] {
        [one] => Failure::of(Code::Kptfile, format!("{shown}: {one}")),
        many => Failure::of(Code::Kptfile, format!("{shown}:\n  {}", many.join("\n  "))),
    }
}

/// Puts a Kptfile into a folder of a package, with the mode that it had.
///
/// # Errors
/// When the package becomes too large.
pub(super) fn write(package: &mut Package, folder: &Folder, kptfile: &Kptfile) -> Result<(), Failure> {
    let path = path(folder)?;
    let mode = package.get(&path).map_or(Mode::Regular, File::mode);
    let file = File::new(kptfile.to_string().into_bytes(), mode);
    package.insert(path, file).map(|_| ()).map_err(|error| {
        Failure::of(Code::Kptfile, format!("the Kptfile of package {}: {error}", Quoted(kptfile.name())))
    })
}

/// Whether the package has an upstream and was not fetched: its Kptfile stands for it.
pub(super) fn is_unfetched(kptfile: &Kptfile) -> bool {
    kptfile.fields().upstream.is_some() && kptfile.fields().upstream_lock.is_none()
}

/// Says where the package comes from and what was fetched; what else `upstream` says stays.
///
/// # Errors
/// When the Kptfile cannot be edited.
pub(super) fn set_origin(
    kptfile: &mut Kptfile,
    source: &Source,
    found: &str,
    commit: CommitId,
) -> Result<(), Failure> {
    let directory = address::directory(&source.folder);
    let lock = GitLock {
        repo: source.repo.clone(),
        directory: directory.clone(),
        reference: found.into(),
        commit: commit.to_string(),
    };
    let git = Git { repo: source.repo.clone(), directory, reference: source.reference.clone() };
    let edited = kptfile.edit(|fields| {
        let upstream = fields.upstream.get_or_insert_with(Upstream::default);
        upstream.origin = Some(OriginType::Git);
        upstream.git = Some(git);
        fields.upstream_lock =
            Some(UpstreamLock { origin: Some(OriginType::Git), git: Some(lock), generic: None });
    });
    edited.map_err(|error| uneditable(kptfile, &error))
}

/// Why a Kptfile cannot be changed.
pub(super) fn uneditable(kptfile: &Kptfile, error: &lanai_yaml::edit::Error) -> Failure {
    Failure::of(
        Code::Kptfile,
        format!("the Kptfile of package {} cannot be edited: {error}", Quoted(kptfile.name())),
    )
}
