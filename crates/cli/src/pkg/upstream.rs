//! The package in a repository.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lanai_krm::Package;
use lanai_krm::package::{Folder, Mode};
use lanai_repository::{
    Caller, Error, Options, Progress, RemoteUrl, Remotes, Resolved, Revision, Want, Whereabouts,
};
use lanai_types::quote::Quoted;
use lanai_types::{CommitId, SafePath};

use super::watch::watched;
use crate::failure::{Code, Failure};
use crate::io::{Audience, Io};
use crate::places;
use crate::terminal::{Asked, AtTerminal};

/// The repositories that packages come from, and what was read from them.
pub(super) struct Repositories {
    remotes: Remotes,
    /// Whether somebody was asked for a password.
    asked: Asked,
    folder: PathBuf,
    found: HashMap<(String, Revision, Folder), Found>,
    read: HashMap<(String, CommitId, Folder), Package>,
    /// Links and submodules that were left out, and told.
    left_out: BTreeSet<SafePath>,
}

/// A revision that was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The repository under the name by which it answers.
    pub remote: RemoteUrl,
    pub resolved: Resolved,
}

/// Why folders were not read.
pub(super) enum Unread {
    /// The repository does not have the commit, or no longer.
    Lost {
        commit: CommitId,
        failure: Failure,
    },
    Other(Failure),
}

impl From<Unread> for Failure {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Lost { failure, .. } | Unread::Other(failure) => failure,
        }
    }
}

impl From<Failure> for Unread {
    fn from(failure: Failure) -> Self {
        Self::Other(failure)
    }
}

impl Repositories {
    /// Knows where to keep what comes from far away.
    ///
    /// # Errors
    /// When the environment says nothing about that.
    pub fn new(io: &Io<'_>) -> Result<Self, Failure> {
        let home = places::variable("HOME", io);
        let cache = places::cache(io)?;
        let options = Options {
            cache: cache.join("git"),
            home,
            environment: io.environment.clone(),
            limits: lanai_repository::Limits::default(),
            package_limits: super::local::LIMITS,
        };
        let asked = Asked::default();
        // Scripts are not to wait for somebody.
        let person = if io.audience == Audience::Terminal { AtTerminal::find(&asked) } else { None };
        let here = if io.folder.as_os_str().is_empty() { Path::new(".") } else { &io.folder };
        let caller = Caller {
            person: person.map(|person| Arc::new(person) as _),
            repository: here.canonicalize().ok().and_then(|here| Whereabouts::of(&here)),
        };
        Ok(Self {
            remotes: Remotes::for_caller(options, caller),
            asked,
            folder: io.folder.clone(),
            found: HashMap::new(),
            read: HashMap::new(),
            left_out: BTreeSet::new(),
        })
    }

    /// Finds a revision. A repository that does not answer is asked as `REPO.git`, too: Kptfiles leave that out.
    ///
    /// # Errors
    /// When there is no such repository or revision.
    pub fn find(
        &mut self,
        repo: &str,
        revision: &Revision,
        folder: &Folder,
        io: &mut Io<'_>,
    ) -> Result<Found, Failure> {
        let key = (repo.to_owned(), revision.clone(), folder.clone());
        if let Some(found) = self.found.get(&key) {
            return Ok(found.clone());
        }
        let found = self.ask(repo, io, |remote, progress| {
            let resolved = self.remotes.resolve(&remote, revision, folder, progress)?;
            Ok(Found { remote, resolved })
        })?;
        self.found.insert(key, found.clone());
        Ok(found)
    }

    /// The names of all branches.
    ///
    /// # Errors
    /// When there is no such repository.
    pub fn branches(&self, repo: &str, io: &mut Io<'_>) -> Result<Vec<String>, Failure> {
        let refs = self.ask(repo, io, |remote, progress| self.remotes.refs(&remote, progress))?;
        let names = refs.iter().filter_map(|found| found.name.as_str().strip_prefix("refs/heads/"));
        Ok(names.map(String::from).collect())
    }

    /// Reads folders at commits, in one transfer. Symbolic links are left out; the answer names them, too.
    ///
    /// # Errors
    /// When the repository does not have them, or they are no packages.
    pub fn read(
        &mut self,
        remote: &RemoteUrl,
        wants: &[Want],
        io: &mut Io<'_>,
    ) -> Result<Vec<Package>, Unread> {
        let key = |want: &Want| (remote.to_string(), want.commit, want.folder.clone());
        let missing: Vec<Want> =
            wants.iter().filter(|want| !self.read.contains_key(&key(want))).cloned().collect();
        if !missing.is_empty() {
            let contents = either(remote.with_secrets(), &self.asked, io, |remote, progress| {
                self.remotes.packages(&remote, &missing, progress)
            })?;
            let contents = contents.map_err(unread)?;
            for (want, content) in missing.iter().zip(contents) {
                self.tell_left_out("submodule", content.submodules, io);
                let package = self.without_links(content.package, io);
                self.read.insert(key(want), package);
            }
        }
        Ok(wants.iter().filter_map(|want| self.read.get(&key(want)).cloned()).collect())
    }

    fn ask<T: Send>(
        &self,
        repo: &str,
        io: &mut Io<'_>,
        question: impl Fn(RemoteUrl, &dyn Progress) -> Result<T, Error> + Sync,
    ) -> Result<T, Failure> {
        either(&self.place(repo), &self.asked, io, question)?.map_err(failure)
    }

    /// Leaves out symbolic links, and says so.
    fn without_links(&mut self, mut package: Package, io: &mut Io<'_>) -> Package {
        let links = package.iter().filter(|(_, file)| file.mode() == Mode::Symlink);
        let links: Vec<SafePath> = links.map(|(path, _)| path.clone()).collect();
        for link in &links {
            package.remove(link);
        }
        self.tell_left_out("symlink", links, io);
        package
    }

    /// Says once for each what is not fetched.
    fn tell_left_out(&mut self, what: &str, paths: Vec<SafePath>, io: &mut Io<'_>) {
        for path in paths {
            if !self.left_out.contains(&path) {
                io.tell(&format!("[Warn] Ignoring {what} {}", Quoted(path.as_str())));
                self.left_out.insert(path);
            }
        }
    }

    /// A relative path begins where the command runs.
    fn place(&self, repo: &str) -> String {
        if is_relative(repo) { self.folder.join(repo).display().to_string() } else { repo.to_owned() }
    }
}

/// Asks a repository; one that is not there under that address is asked as `REPO.git`, too: Kptfiles leave that out.
fn either<T: Send>(
    place: &str,
    asked: &Asked,
    io: &mut Io<'_>,
    question: impl Fn(RemoteUrl, &dyn Progress) -> Result<T, Error> + Sync,
) -> Result<Result<T, Error>, Failure> {
    let url =
        |text: &str| text.parse::<RemoteUrl>().map_err(|error| Failure::of(Code::Address, error.to_string()));
    let remote = url(place)?;
    let other = match place.strip_suffix(".git") {
        Some(_) => None,
        None => Some(url(&format!("{place}.git"))?),
    };
    let is_elsewhere = |error: &Error| {
        matches!(
            error,
            Error::NotARepository { .. }
                | Error::Unreachable { .. }
                | Error::Tls { .. }
                | Error::Timeout { .. }
                | Error::Unavailable { .. }
                | Error::Credentials { .. }
        )
    };
    watched(&remote.to_string(), asked, io, |progress| match (question(remote, progress), other) {
        // Who typed a wrong password is not asked for another one.
        (Err(first), Some(other)) if is_elsewhere(&first) && !asked.is_ever() => {
            match question(other, progress) {
                Err(second) if is_elsewhere(&second) => Err(first),
                answer => answer,
            }
        }
        (answer, _) => answer,
    })
}

fn unread(error: Error) -> Unread {
    match error {
        Error::UnknownCommit { commit, .. } => Unread::Lost { commit, failure: failure(error) },
        other => Unread::Other(failure(other)),
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failure(error: Error) -> Failure {
    let (text, code) = (error.to_string(), code(&error));
    match text.split_once("\nhint: ") {
        Some((text, hint)) => Failure::of(code, text).hint(hint),
        None => Failure::of(code, text),
    }
}

fn code(error: &Error) -> Code {
    match error {
        Error::UnknownRevision { .. }
        | Error::UnknownCommit { .. }
        | Error::NoDefaultBranch { .. }
        | Error::NoFolder { .. }
        | Error::NotARepository { .. } => Code::GitMissing,
        Error::Unreachable { .. }
        | Error::Tls { .. }
        | Error::RateLimited { .. }
        | Error::Unavailable { .. }
        | Error::Timeout { .. }
        | Error::HostKey { .. } => Code::GitUnreachable,
        Error::Credentials { .. } => Code::GitCredentials,
        Error::TooMuch { .. } => Code::Limit,
        Error::File { .. } => Code::File,
        Error::Cancelled => Code::Interrupted,
        _ => Code::GitDamaged,
    }
}

/// The address of a repository for people: without user and password.
pub(super) fn shown(repo: &str) -> String {
    repo.parse::<RemoteUrl>().map_or_else(|_| repo.to_owned(), |url| url.to_string())
}

/// Whether an address holds what is nobody else's business.
pub(super) fn holds_secrets(repo: &str) -> bool {
    repo.parse::<RemoteUrl>()
        .is_ok_and(|url| url.local_path().is_none() && url.to_string() != url.with_secrets())
}

/// Whether a repository is named by a path that begins in the current folder.
pub(super) fn is_relative(repo: &str) -> bool {
    !repo.contains(':') && Path::new(repo).is_relative()
}
