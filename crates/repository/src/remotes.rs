//! The door: revisions are resolved and folders are read here.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gix_protocol::handshake::Ref;
use gix_transport::Service;
use lanai_krm::Package;
use lanai_krm::package::Folder;
use lanai_types::{ByteSize, CommitId, RefName, SafePath, TreeId};

use crate::caller::Caller;
use crate::config::Config;
use crate::fetcher::Fetcher;
use crate::link::Opening;
use crate::local::Local;
use crate::resolve;
use crate::secret::Access;
use crate::session::Session;
use crate::tree::{Failure, Reader, our_id};
use crate::{Cancel, Error, Progress, RemoteUrl, Revision};

/// Repositories, near and far, and what is kept of the far ones.
///
/// Cheap to make: nothing is opened before it is needed. May be shared between threads.
#[derive(Debug)]
pub struct Remotes {
    options: Options,
    caller: Caller,
    config: OnceLock<Arc<Config>>,
}

/// What [`Remotes`] need to know.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder for what is kept of remote repositories. It is made when it is needed and can be deleted at any time.
    pub cache: PathBuf,
    /// The user's home folder, where Git's and ssh's configuration is.
    pub home: Option<PathBuf>,
    /// The environment of the process. Git's own variables in it are honoured, and programs that are started get it.
    pub environment: Environment,
    /// Bounds on what remotes send.
    pub limits: Limits,
    /// Bounds on the packages that are read.
    pub package_limits: lanai_types::Limits,
}

/// The variables of an environment.
pub type Environment = BTreeMap<OsString, OsString>;

/// Bounds on what remotes send. All are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// One pack of objects, as it is sent.
    pub max_pack: ByteSize,
    /// One answer with refs, as it comes over the connection.
    pub max_listing: ByteSize,
    /// What the mirrors of repositories that nobody registered may take on disk together. Those that are in use may take
    /// more, one by one.
    pub max_mirrors: ByteSize,
    /// What is known of the commits of one remote, in memory, about.
    pub max_history: ByteSize,
    /// How long the other side may be silent.
    pub max_silence: Duration,
    /// How long it may take until there is a connection.
    pub max_connect: Duration,
}

impl Limits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_pack: ByteSize::gib(2),
        max_listing: ByteSize::mib(64),
        max_mirrors: ByteSize::gib(4),
        max_history: ByteSize::mib(256),
        max_silence: Duration::from_mins(1),
        max_connect: Duration::from_secs(30),
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What a [`Revision`] turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The commit.
    pub commit: CommitId,
    /// The name that was found, as people write it: `v1` may have been found as `folder/v1`. The id for a commit.
    pub name: String,
    /// The branch or tag that was found; `None` for a commit that was named by its id.
    pub ref_name: Option<RefName>,
}

/// A branch, tag or other ref of a remote repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// Its name.
    pub name: RefName,
    /// The commit; of an annotated tag, the one that it is about. A remote does not tell a tag of something else apart.
    pub commit: CommitId,
    /// Whether the repository's `HEAD` names this branch.
    pub is_default: bool,
}

/// A folder at a commit that is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// The commit.
    pub commit: CommitId,
    /// The folder in it.
    pub folder: Folder,
}

/// A folder as it was at a commit.
#[derive(Clone, Debug)]
pub struct Content {
    /// All files below the folder. Symbolic links are in it, as links.
    pub package: Package,
    /// Git's id of the folder.
    pub tree: TreeId,
    /// Folders (relative to the package) in which the repository holds other repositories. They are not read.
    pub submodules: Vec<SafePath>,
}

impl Remotes {
    /// Remotes with these options, for a caller of whom nothing is known.
    pub fn new(options: Options) -> Self {
        Self::for_caller(options, Caller::default())
    }

    /// Remotes with these options, for somebody who can be asked, or who works in a repository.
    pub fn for_caller(options: Options, caller: Caller) -> Self {
        Self { options, caller, config: OnceLock::new() }
    }

    /// Finds the commit that a revision names.
    ///
    /// For a folder `a/b` and a name `v1`, the first that exists of: tag `a/b/v1`, tag `a/v1`, branch `v1`, tag `v1`.
    /// A full name (`refs/…`) is taken as it is. A commit by id is believed without asking anybody; whether it
    /// exists is known when it is read. A remote is asked on every call, because branches move.
    pub fn resolve(
        &self,
        remote: &RemoteUrl,
        revision: &Revision,
        folder: &Folder,
        progress: &dyn Progress,
    ) -> Result<Resolved, Error> {
        let name = match revision {
            Revision::Commit(commit) => {
                return Ok(Resolved { commit: *commit, name: commit.to_string(), ref_name: None });
            }
            Revision::DefaultBranch => return self.default_branch(remote, progress),
            Revision::Name(name) => name,
        };
        let candidates = resolve::candidates(name, folder);
        let (advertised, all) = match self.open(remote)? {
            Opened::Local(local) => {
                let mut advertised = Vec::new();
                for candidate in &candidates {
                    advertised.extend(
                        local.find(candidate.as_str())?.map(|commit| (candidate.to_string(), commit)),
                    );
                }
                (advertised, None)
            }
            Opened::Remote(url) => {
                let prefixes: Vec<_> = candidates.iter().map(ToString::to_string).collect();
                let (session, refs) = self.session(&url, progress)?.refs(&prefixes, progress)?;
                (refs.iter().filter_map(commit_of).collect(), Some(session))
            }
        };
        for candidate in candidates {
            if let Some((_, commit)) = advertised.iter().find(|(name, _)| *name == candidate.as_str()) {
                let is_full = name.as_str().starts_with("refs/");
                let found = if is_full { candidate.as_str() } else { resolve::short(candidate.as_str()) };
                let name = found.to_owned();
                return Ok(Resolved { commit: *commit, name, ref_name: Some(candidate) });
            }
        }
        let names = match (all, self.open(remote)?) {
            (Some(session), _) => session.refs(&[], progress)?.1.iter().filter_map(commit_of).collect(),
            (None, Opened::Local(local)) => local.all()?,
            (None, Opened::Remote(_)) => Vec::new(),
        };
        let wanted = resolve::short(name.as_str());
        let near = resolve::near(wanted, folder, names.iter().map(|(name, _)| name.as_str()));
        Err(Error::UnknownRevision { remote: remote.clone(), revision: revision.clone(), near })
    }

    /// Reads folders, in the order in which they are asked for, with at most one transfer for all that is missing.
    ///
    /// What was fetched before is read from the cache without asking the remote. What is fetched are the wanted commits
    /// without their past, where the server can do that. Every object is checked against its id; a copy in the cache
    /// that is damaged is thrown away and fetched again.
    pub fn packages(
        &self,
        remote: &RemoteUrl,
        wants: &[Want],
        progress: &dyn Progress,
    ) -> Result<Vec<Content>, Error> {
        let cancel = progress.cancel();
        match self.open(remote)? {
            Opened::Local(local) => {
                let unread = match self.read(&local.objects, remote, wants, &cancel, progress) {
                    Ok(contents) => return Ok(contents),
                    Err(unread) => *unread,
                };
                match unread.failure {
                    Failure::Missing => Err(Self::missing(&local, remote, unread.commit)),
                    Failure::Damaged(cause) | Failure::Bad(cause) => {
                        Err(Error::Damaged { remote: remote.clone(), cause })
                    }
                    Failure::Other(error) => Err(error),
                }
            }
            Opened::Remote(url) => {
                let fetcher = Fetcher { remotes: self, remote, url: &url, cancel: &cancel, progress };
                fetcher.packages(wants)
            }
        }
    }

    /// All branches, tags and other refs of the repository that lead to commits, by name.
    pub fn refs(&self, remote: &RemoteUrl, progress: &dyn Progress) -> Result<Vec<Advertised>, Error> {
        let (default, refs) = match self.open(remote)? {
            Opened::Local(local) => (local.head()?.branch, local.all()?),
            Opened::Remote(url) => {
                let (_, refs) = self.session(&url, progress)?.refs(&[], progress)?;
                let default = refs.iter().find_map(|found| match found {
                    Ref::Symbolic { full_ref_name, target, .. } if full_ref_name == "HEAD" => {
                        Some(target.to_string())
                    }
                    _ => None,
                });
                (default, refs.iter().filter_map(commit_of).collect())
            }
        };
        // Refs with names that we would not write are not for us.
        let mut advertised: Vec<_> = refs
            .into_iter()
            .filter_map(|(name, commit)| {
                let is_default = default.as_deref() == Some(name.as_str());
                Some(Advertised { name: name.parse().ok()?, commit, is_default })
            })
            .collect();
        advertised.sort_by(|left, right| left.name.cmp(&right.name));
        Ok(advertised)
    }

    fn default_branch(&self, remote: &RemoteUrl, progress: &dyn Progress) -> Result<Resolved, Error> {
        let (branch, commit) = match self.open(remote)? {
            Opened::Local(local) => {
                let head = local.head()?;
                (head.branch, head.commit)
            }
            Opened::Remote(url) => {
                let (_, refs) = self.session(&url, progress)?.refs(&["HEAD".to_owned()], progress)?;
                let head = refs.into_iter().find_map(|found| match found {
                    Ref::Symbolic { full_ref_name, target, object, .. } if full_ref_name == "HEAD" => {
                        Some((Some(target.to_string()), object))
                    }
                    Ref::Direct { full_ref_name, object } if full_ref_name == "HEAD" => Some((None, object)),
                    _ => None,
                });
                let (branch, commit) = head.unzip();
                (branch.flatten(), commit.map(|id| CommitId::new(our_id(id))))
            }
        };
        let commit = commit.ok_or_else(|| Error::NoDefaultBranch { remote: remote.clone() })?;
        let ref_name: Option<RefName> = branch.and_then(|branch| branch.parse().ok());
        let name = ref_name.as_ref().map(|name| resolve::short(name.as_str()).to_owned());
        Ok(Resolved { commit, name: name.unwrap_or_else(|| commit.to_string()), ref_name })
    }

    // ---- what the others build upon

    pub(crate) fn options(&self) -> &Options {
        &self.options
    }

    pub(crate) fn session(&self, url: &RemoteUrl, progress: &dyn Progress) -> Result<Session, Error> {
        let (config, limits, cancel) = (self.config()?, &self.options.limits, &progress.cancel());
        let (service, access) = (Service::UploadPack, &Access::Helpers);
        Session::open(&Opening { config, limits, remote: url, service, access, cancel }, progress)
    }

    /// Reads all folders, or says which commit could not be read.
    pub(crate) fn read(
        &self,
        objects: &gix_odb::Handle,
        remote: &RemoteUrl,
        wants: &[Want],
        cancel: &Cancel,
        progress: &dyn Progress,
    ) -> Result<Vec<Content>, Box<Unread>> {
        let limits = &self.options.package_limits;
        let reader = Reader { objects, remote, limits, progress, cancel, large: RefCell::default() };
        wants
            .iter()
            .map(|want| {
                reader.read(want).map_err(|failure| Box::new(Unread { commit: want.commit, failure }))
            })
            .collect()
    }

    /// Git's configuration, read once.
    pub(crate) fn config(&self) -> Result<&Arc<Config>, Error> {
        if let Some(config) = self.config.get() {
            return Ok(config);
        }
        let config = Arc::new(Config::load(&self.options, &self.caller)?);
        Ok(self.config.get_or_init(|| config))
    }

    /// Looks where the address leads, by `url.<base>.insteadOf` perhaps elsewhere than it says.
    fn open(&self, remote: &RemoteUrl) -> Result<Opened, Error> {
        let url = match self.config()?.rewritten(remote.with_secrets()) {
            Some(raw) => raw.parse().map_err(|cause: crate::url::Error| Error::Protocol {
                remote: remote.clone(),
                cause: format!("git's configuration leads elsewhere (insteadOf), and {cause}"),
            })?,
            None => remote.clone(),
        };
        match url.local_path() {
            Some(path) => Ok(Opened::Local(Box::new(Local::open(path, remote)?))),
            None => Ok(Opened::Remote(url)),
        }
    }

    /// Tells a commit that is not there from one of which parts are not there.
    fn missing(local: &Local, remote: &RemoteUrl, commit: CommitId) -> Error {
        let remote = remote.clone();
        let id = crate::tree::git_id(commit.object_id());
        let is_there = id.is_ok_and(|id| gix_object::Exists::exists(&local.objects, &id));
        if is_there {
            let cause = format!("objects of commit {commit} are missing");
            return Error::Damaged { remote, cause };
        }
        Error::UnknownCommit { remote, commit }
    }
}

/// A commit of which something could not be read.
pub(crate) struct Unread {
    pub(crate) commit: CommitId,
    pub(crate) failure: Failure,
}

/// Where an address leads.
enum Opened {
    Local(Box<Local>),
    Remote(RemoteUrl),
}

/// Name and commit of a ref, as far as the server tells.
fn commit_of(found: &Ref) -> Option<(String, CommitId)> {
    let (name, id) = match found {
        Ref::Peeled { full_ref_name, object, .. }
        | Ref::Direct { full_ref_name, object }
        | Ref::Symbolic { full_ref_name, object, .. } => (full_ref_name, object),
        Ref::Unborn { .. } => return None,
    };
    (name != "HEAD").then(|| (name.to_string(), CommitId::new(our_id(*id))))
}
