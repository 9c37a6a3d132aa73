//! What both sides of an update began with, and what upstream has now.

use lanai_krm::Package;
use lanai_krm::package::Folder;
use lanai_merge::Strategy;
use lanai_repository::{RemoteUrl, Revision, Want};
use lanai_types::CommitId;
use lanai_types::quote::Quoted;

use super::conflicts::Update;
use super::kptfile::{Locked, Read, Source};
use super::local::LIMITS;
use super::upstream::{Repositories, Unread, shown};
use crate::failure::{Code, Failure};
use crate::io::Io;

/// The upstream of a package, now and before.
pub(super) struct Versions {
    pub original: Package,
    pub upstream: Package,
    pub update: Update,
    /// The name under which the version was found, and its commit.
    pub found: String,
    pub commit: CommitId,
}

/// What is to be fetched for the update of one package.
pub(super) struct Request<'a> {
    pub kptfile: &'a Read,
    /// Its folder in the outermost package.
    pub folder: &'a Folder,
    /// Where it moves.
    pub new: &'a Source,
    pub revision: Revision,
    pub strategy: Strategy,
    /// A version in place of the commit that was fetched.
    pub origin: Option<&'a str>,
}

/// What both sides began with, before it is fetched.
struct Origin {
    source: Source,
    remote: RemoteUrl,
    want: Want,
}

impl Request<'_> {
    /// Fetches both, in one transfer where they are in one repository.
    ///
    /// An origin that the repository no longer has is done without where the strategy does not need it.
    ///
    /// # Errors
    /// When the repository does not have what is needed.
    pub fn fetch(&self, repositories: &mut Repositories, io: &mut Io<'_>) -> Result<Versions, Failure> {
        let new = self.new;
        io.tell(&format!("Fetching upstream from {}@{}", shown(&new.repo), new.reference));
        let found = repositories.find(&new.repo, &self.revision, &new.folder, io)?;
        let commit = found.resolved.commit;
        let want = Want { commit, folder: new.folder.clone() };
        let origin = self.origin(repositories, io)?;
        let together = origin.as_ref().filter(|origin| origin.source.repo == new.repo);
        let wants: Vec<Want> =
            [Some(&want), together.map(|origin| &origin.want)].into_iter().flatten().cloned().collect();
        let mut packages = match repositories.read(&found.remote, &wants, io) {
            // Not every server says which one it does not have.
            Err(Unread::Lost { .. }) if together.is_some() => {
                repositories.read(&found.remote, &wants[..1], io)?
            }
            other => other?,
        }
        .into_iter();
        let empty = || Package::new(LIMITS);
        let upstream = packages.next().unwrap_or_else(empty);
        let original = match (&origin, packages.next()) {
            (_, Some(original)) => original,
            (None, None) => empty(),
            (Some(origin), None) => self.alone(origin, repositories, io)?,
        };
        let update = Update {
            package: self.folder.to_string(),
            from: origin.map(|origin| origin.want.commit.to_string()),
            version: new.reference.clone(),
            to: commit.to_string(),
        };
        Ok(Versions { original, upstream, update, found: found.resolved.name, commit })
    }

    /// The version that the user names, else the commit that was fetched; `None` where nothing was.
    fn origin(&self, repositories: &mut Repositories, io: &mut Io<'_>) -> Result<Option<Origin>, Failure> {
        let locked = self.kptfile.locked()?;
        if let Some(version) = self.origin {
            let source = locked.map_or_else(|| self.new.clone(), |locked| locked.source);
            io.tell(&format!("Fetching origin from {}@{version}", shown(&source.repo)));
            let revision =
                version.parse().map_err(|error| Failure::of(Code::Upstream, format!("--origin: {error}")))?;
            let found = repositories.find(&source.repo, &revision, &source.folder, io)?;
            let want = Want { commit: found.resolved.commit, folder: source.folder.clone() };
            let source = Source { reference: version.into(), ..source };
            return Ok(Some(Origin { source, remote: found.remote, want }));
        }
        let Some(Locked { source, commit }) = locked else { return Ok(None) };
        io.tell(&format!("Fetching origin from {}@{}", shown(&source.repo), commit.object_id().short()));
        let found = repositories.find(&source.repo, &Revision::Commit(commit), &source.folder, io)?;
        let want = Want { commit, folder: source.folder.clone() };
        Ok(Some(Origin { source, remote: found.remote, want }))
    }

    /// Reads the origin by itself. One that is lost is nothing to a strategy that needs none.
    fn alone(
        &self,
        origin: &Origin,
        repositories: &mut Repositories,
        io: &mut Io<'_>,
    ) -> Result<Package, Failure> {
        let read = repositories.read(&origin.remote, std::slice::from_ref(&origin.want), io);
        let commit = match read {
            Ok(mut packages) => return Ok(packages.pop().unwrap_or_else(|| Package::new(LIMITS))),
            Err(Unread::Lost { commit, .. }) if commit == origin.want.commit => commit,
            Err(other) => return Err(other.into()),
        };
        let text = lost(self.kptfile.name(), commit, &origin.source);
        match self.strategy {
            Strategy::ForceDeleteReplace | Strategy::CopyMerge => {
                io.tell(&format!("note: {text}; the strategy {} does without", Quoted(self.strategy.as_str())));
                Ok(Package::new(LIMITS))
            }
            Strategy::ResourceMerge | Strategy::FastForward => Err(Failure::of(Code::Upstream, text).hint(
                "name a version to take in its place with --origin; --strategy force-delete-replace and copy-merge need none",
            )),
        }
    }
}

/// What is to be said of a commit that was fetched once and is gone.
pub(super) fn lost(package: &str, commit: CommitId, source: &Source) -> String {
    let version =
        if source.reference.is_empty() { String::new() } else { format!(" ({})", Quoted(&source.reference)) };
    format!(
        "package {} was fetched at commit {commit}{version} of repository {}, which no longer has it or does not give it away",
        Quoted(package),
        Quoted(&shown(&source.repo))
    )
}
