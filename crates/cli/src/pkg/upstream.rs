//! The package in a repository.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use lanai_krm::Package;
use lanai_krm::package::{Folder, Mode};
use lanai_repository::{
    Error, Options, Phase, Progress, RemoteUrl, Remotes, Report, Resolved, Revision, Want,
};
use lanai_types::quote::Quoted;
use lanai_types::{CommitId, SafePath};

use crate::failure::Failure;
use crate::io::{Audience, Io};

/// How long nothing is shown.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long what is shown stays.
const PAUSE: Duration = Duration::from_millis(100);

/// The repositories that packages come from, and what was read from them.
pub(super) struct Repositories {
    remotes: Remotes,
    folder: PathBuf,
    found: HashMap<(String, Revision, Folder), Found>,
    read: HashMap<(String, CommitId, Folder), Package>,
    /// Links that were left out, and told.
    links: BTreeSet<SafePath>,
}

/// A revision that was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The repository under the name by which it answers.
    pub remote: RemoteUrl,
    pub resolved: Resolved,
}

impl Repositories {
    /// Knows where to keep what comes from far away.
    ///
    /// # Errors
    /// When the environment says nothing about that.
    pub fn new(io: &Io<'_>) -> Result<Self, Failure> {
        let variable = |name: &str| {
            let value = io.environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
            value.map(PathBuf::from)
        };
        let home = variable("HOME");
        let cache = variable("LANAI_CACHE_DIR")
            .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("lanai")))
            .or_else(|| home.as_ref().map(|home| home.join(".cache/lanai")));
        let Some(cache) = cache else {
            return Err(Failure::new("there is no place for what is fetched: HOME is not set")
                .hint("name a folder with LANAI_CACHE_DIR"));
        };
        let options = Options {
            cache: cache.join("git"),
            home,
            environment: io.environment.clone(),
            limits: lanai_repository::Limits::default(),
            package_limits: lanai_types::Limits::default(),
        };
        Ok(Self {
            remotes: Remotes::new(options),
            folder: io.folder.clone(),
            found: HashMap::new(),
            read: HashMap::new(),
            links: BTreeSet::new(),
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
    ) -> Result<Vec<Package>, Failure> {
        let key = |want: &Want| (remote.to_string(), want.commit, want.folder.clone());
        let missing: Vec<Want> =
            wants.iter().filter(|want| !self.read.contains_key(&key(want))).cloned().collect();
        if !missing.is_empty() {
            let progress = Watch::new(io);
            let contents = self.remotes.packages(remote, &missing, &progress).map_err(failure);
            drop(progress);
            for (want, content) in missing.iter().zip(contents?) {
                let package = self.without_links(content.package, io);
                self.read.insert(key(want), package);
            }
        }
        Ok(wants.iter().filter_map(|want| self.read.get(&key(want)).cloned()).collect())
    }

    fn ask<T>(
        &self,
        repo: &str,
        io: &mut Io<'_>,
        question: impl Fn(RemoteUrl, &dyn Progress) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let place = self.place(repo);
        let url = |text: &str| text.parse::<RemoteUrl>().map_err(|error| Failure::new(error.to_string()));
        let progress = Watch::new(io);
        let first = match question(url(&place)?, &progress) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let other = place.strip_suffix(".git").is_none()
            && matches!(
                first,
                Error::NotARepository { .. } | Error::Unreachable { .. } | Error::Credentials { .. }
            );
        if other && let Ok(answer) = question(url(&format!("{place}.git"))?, &progress) {
            return Ok(answer);
        }
        Err(failure(first))
    }

    /// Leaves out symbolic links, and says so once for each.
    fn without_links(&mut self, mut package: Package, io: &mut Io<'_>) -> Package {
        let links = package.iter().filter(|(_, file)| file.mode() == Mode::Symlink);
        let links: Vec<SafePath> = links.map(|(path, _)| path.clone()).collect();
        for link in links {
            package.remove(&link);
            if !self.links.contains(&link) {
                io.tell(&format!("[Warn] Ignoring symlink {}", Quoted(link.as_str())));
                self.links.insert(link);
            }
        }
        package
    }

    /// A relative path begins where the command runs.
    fn place(&self, repo: &str) -> String {
        if is_relative(repo) { self.folder.join(repo).display().to_string() } else { repo.to_owned() }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "for `map_err`")]
fn failure(error: Error) -> Failure {
    let text = error.to_string();
    match text.split_once("\nhint: ") {
        Some((text, hint)) => Failure::new(text).hint(hint),
        None => Failure::new(text),
    }
}

/// Whether a repository is named by a path that begins in the current folder.
pub(super) fn is_relative(repo: &str) -> bool {
    !repo.contains(':') && Path::new(repo).is_relative()
}

/// Shows how far it is, on terminals, when it takes long.
struct Watch<'a, 'b> {
    io: RefCell<&'a mut Io<'b>>,
    since: Instant,
    last: Cell<Option<Instant>>,
}

impl<'a, 'b> Watch<'a, 'b> {
    fn new(io: &'a mut Io<'b>) -> Self {
        Self { io: RefCell::new(io), since: Instant::now(), last: Cell::new(None) }
    }
}

impl Progress for Watch<'_, '_> {
    fn report(&self, report: Report) {
        let Ok(mut io) = self.io.try_borrow_mut() else { return };
        let recent = self.last.get().is_some_and(|last| last.elapsed() < PAUSE);
        if io.audience == Audience::Record || self.since.elapsed() < PATIENCE || recent {
            return;
        }
        self.last.set(Some(Instant::now()));
        let _ = write!(io.stderr, "\r\x1b[K{}", line(report)).and_then(|()| io.stderr.flush());
    }
}

impl Drop for Watch<'_, '_> {
    fn drop(&mut self) {
        if self.last.get().is_some() {
            let io = self.io.get_mut();
            let _ = write!(io.stderr, "\r\x1b[K").and_then(|()| io.stderr.flush());
        }
    }
}

fn line(report: Report) -> String {
    let what = match report.phase {
        Phase::Waiting => "waiting for another process",
        Phase::Connecting => "connecting",
        Phase::Listing => "listing branches and tags",
        Phase::Receiving => "receiving objects",
        Phase::Reading => "reading files",
    };
    match (report.done, report.total) {
        (0, None) => format!("{what} …"),
        (done, None) => format!("{what}: {done}"),
        (done, Some(total)) => format!("{what}: {done}/{total}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_a_line() {
        let report = |done, total| line(Report { phase: Phase::Receiving, done, total, bytes: 0 });
        assert_eq!(report(0, None), "receiving objects …");
        assert_eq!(report(7, None), "receiving objects: 7");
        assert_eq!(report(7, Some(9)), "receiving objects: 7/9");
    }
}
