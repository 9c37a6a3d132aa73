//! Where tasks get packages from: other revisions, and repositories that nobody registered.

use std::sync::Arc;

use async_trait::async_trait;
use lanai_krm::Package;
use lanai_krm::package::Folder;
use lanai_repository::packages::{self, Refs};
use lanai_repository::{CredentialName, RemoteUrl, Silent, Want};
use lanai_store::{Revision, Store};
use lanai_types::{CommitId, Lifecycle, Limits, Namespace, ObjectName, RefName};
use serde_json::Value;

use crate::content;
use crate::error::{Error, Reason};
use crate::kptfile::Origin;
use crate::object::GitSource;
use crate::repositories::{Opened, Registered};
use crate::rows;
use crate::state::{Life, State};

/// Opens repositories that are registered.
#[async_trait]
pub trait RepositoryOpener: Send + Sync {
    /// The repository of this name.
    async fn open(&self, namespace: &Namespace, name: &str) -> Result<Arc<Registered>, Error>;
}

/// Finds revisions by their names.
#[async_trait]
pub trait ReferenceResolver: Send + Sync {
    /// The revision of this name, if there is one.
    async fn resolve(&self, namespace: &Namespace, name: &ObjectName) -> Result<Option<Known>, Error>;
}

/// Names the credential of a Secret. Its content never comes here: whoever connects asks for it.
pub trait CredentialResolver: Send + Sync {
    /// The credential of a Secret in a namespace.
    fn credential(&self, namespace: &Namespace, secret: &str) -> CredentialName;
}

/// A revision, as the store has it.
#[derive(Debug, Clone)]
pub struct Known {
    /// The object, with its version.
    pub object: Value,
    /// The revision of its row.
    pub revision: Revision,
    /// What the engine remembers.
    pub state: State,
}

/// A package with where it came from.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// The revision, as the store has it.
    pub known: Known,
    /// Its name.
    pub name: ObjectName,
    /// Its files.
    pub package: Package,
    /// Where it is.
    pub origin: Origin,
    /// Whether it stands for a branch, and is no revision that people made.
    pub is_placeholder: bool,
}

/// Gets packages for tasks.
#[derive(Clone)]
pub struct Fetcher {
    pub(crate) opener: Arc<dyn RepositoryOpener>,
    pub(crate) references: Arc<dyn ReferenceResolver>,
    pub(crate) credentials: Arc<dyn CredentialResolver>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) git: Arc<packages::Repositories>,
}

#[async_trait]
impl RepositoryOpener for Opened {
    async fn open(&self, namespace: &Namespace, name: &str) -> Result<Arc<Registered>, Error> {
        self.find(namespace, name).await
    }
}

/// Finds revisions in the store, and names Secrets of the namespace.
pub struct InStore(pub Arc<dyn Store>);

#[async_trait]
impl ReferenceResolver for InStore {
    async fn resolve(&self, namespace: &Namespace, name: &ObjectName) -> Result<Option<Known>, Error> {
        let Some(stored) = self.0.get(&rows::revision_key(namespace, name)).await? else { return Ok(None) };
        let state = self.0.get(&rows::state_key(namespace, name)).await?;
        let state = state.ok_or_else(|| Error::internal(format!("nothing is remembered of \"{name}\"")))?;
        let state = rows::decode_state(&state)?.value;
        Ok(Some(Known { object: rows::decode(&stored)?, revision: stored.revision, state }))
    }
}

impl CredentialResolver for InStore {
    fn credential(&self, namespace: &Namespace, secret: &str) -> CredentialName {
        CredentialName(format!("{namespace}/{secret}"))
    }
}

impl Fetcher {
    /// The revision of a name that a task refers to, with its files.
    ///
    /// # Errors
    /// A name that is none, no such revision or repository, content that cannot be read.
    pub async fn revision(&self, namespace: &Namespace, raw: &str) -> Result<Fetched, Error> {
        let name: ObjectName = raw.parse().map_err(|error: lanai_types::object_name::Error| {
            Error::new(Reason::Invalid, raw, error.to_string())
        })?;
        let registered = self.opener.open(namespace, name.repository().as_str()).await.map_err(|error| {
            if error.reason == Reason::NotFound {
                let repository = name.repository();
                let text = format!(
                    "cannot find repository {namespace}:{repository}::: Repository.config.porch.kpt.dev \"{repository}\" not found"
                );
                return Error::new(Reason::NotFound, raw, text);
            }
            error
        })?;
        let known = self.references.resolve(namespace, &name).await?;
        let known = known.ok_or_else(|| {
            Error::new(Reason::NotFound, raw, format!("cannot find package revision \"{raw}\""))
        })?;
        let package = self.content(&registered, &known.state).await?;
        let origin = origin(&registered, &known.state);
        let is_placeholder = name.workspace().as_str() == registered.placeholder()
            && matches!(&known.state.life, Life::Published(published) if published.number.get() < 0);
        Ok(Fetched { known, name, package, origin, is_placeholder })
    }

    /// The files of a revision: of a draft, from the store; of what is published, from Git.
    ///
    /// # Errors
    /// When the content is not there or cannot be read.
    pub async fn content(&self, registered: &Arc<Registered>, state: &State) -> Result<Package, Error> {
        match &state.life {
            Life::Draft(draft) => self.blob(&draft.content).await,
            Life::Published(published) => {
                let (git, package) = (registered.git.clone(), state.package.clone());
                let commit = published.commit;
                // The ref was listed with this credential when the row was written.
                let refs = Refs::remembered([(published.ref_name.clone(), commit)]);
                let read = move || git.read(&refs, commit, &package, &Silent);
                let content = blocking(read).await?;
                Ok(content.map_err(|error| remote_error(state.workspace.as_str(), &error))?.package)
            }
            Life::Deleted(_) => Err(Error::not_found(state.workspace.as_str())),
        }
    }

    /// The package of a blob.
    ///
    /// # Errors
    /// When it is not there or is none.
    pub async fn blob(&self, digest: &lanai_types::Sha256Digest) -> Result<Package, Error> {
        let bytes = self.store.blob(digest).await?;
        let bytes =
            bytes.ok_or_else(|| Error::internal(format!("the content {digest} is not in the store")))?;
        content::decode(&bytes, Limits::DEFAULT).map_err(Error::internal)
    }

    /// A folder of a repository that nobody registered.
    ///
    /// # Errors
    /// An address that is none, what cannot be reached, a name or folder that is not there.
    pub async fn git(&self, namespace: &Namespace, source: &GitSource) -> Result<(Package, Origin), Error> {
        let invalid = |why: String| Error::new(Reason::Invalid, "", why);
        let remote: RemoteUrl =
            source.repo.parse().map_err(|error| invalid(format!("cannot clone Git repository: {error}")))?;
        if remote.local_path().is_some() {
            let why =
                "cannot clone Git repository: a folder of the server's machine is no place to clone from";
            return Err(Error::new(Reason::Forbidden, "", why));
        }
        let folder = match source.directory.trim_matches('/') {
            "" => Folder::Root,
            path => {
                Folder::At(path.parse().map_err(|error| invalid(format!("directory \"{path}\": {error}")))?)
            }
        };
        let revision: lanai_repository::Revision =
            source.reference.parse().map_err(|error: lanai_repository::revision::Error| {
                invalid(format!("cannot find package: {error}"))
            })?;
        let credential = source.secret_ref.as_ref().filter(|secret| !secret.name.is_empty());
        let credential = credential.map(|secret| self.credentials.credential(namespace, &secret.name));
        let git = self.git.clone();
        let fetch = move || {
            if let Some(credential) = credential {
                return with_credential(&git, remote, credential, &revision, folder);
            }
            let found = git.unregistered().resolve(&remote, &revision, &folder, &Silent)?;
            let want = Want { commit: found.commit, folder };
            let mut contents = git.unregistered().packages(&remote, &[want], &Silent)?;
            let package = contents.pop().map(|content| content.package);
            Ok((package.unwrap_or_else(|| Package::new(Limits::DEFAULT)), found.commit))
        };
        let (package, commit) = blocking(fetch).await?.map_err(|error| {
            let shown = remote_error("", &error);
            Error { message: format!("cannot clone Git repository: {}", shown.message), ..shown }
        })?;
        let origin = Origin {
            repo: source.repo.clone(),
            directory: source.directory.clone(),
            reference: source.reference.clone(),
            commit: commit.to_string(),
        };
        Ok((package, origin))
    }
}

/// A folder of a repository that shows itself to a credential only. Its copy is kept apart from those for everybody.
fn with_credential(
    git: &Arc<packages::Repositories>,
    remote: RemoteUrl,
    credential: CredentialName,
    revision: &lanai_repository::Revision,
    folder: Folder,
) -> Result<(Package, CommitId), lanai_repository::Error> {
    let branch = "main".parse().expect("it is the name of a branch");
    let layout = packages::Layout { branch, directory: Folder::Root };
    let spec = packages::Spec { remote: remote.clone(), layout, credential: Some(credential), author: None };
    let repository = git.open(spec)?;
    let refs = repository.poll(&Silent)?;
    let commit = match revision {
        lanai_repository::Revision::Commit(commit) => *commit,
        lanai_repository::Revision::DefaultBranch | lanai_repository::Revision::Name(_) => {
            let name = revision.to_string();
            let inside = match &folder {
                Folder::Root => None,
                Folder::At(path) => Some(format!("{path}/{name}")),
            };
            let names = inside.into_iter().chain([name]);
            let candidates =
                names.flat_map(|name| [format!("refs/tags/{name}"), format!("refs/heads/{name}")]);
            let found =
                candidates.filter_map(|name| name.parse().ok()).find_map(|name: RefName| refs.commit(&name));
            found.ok_or_else(|| lanai_repository::Error::UnknownRevision {
                remote,
                revision: revision.clone(),
                near: Vec::new(),
            })?
        }
    };
    let content = repository.read_folder(&refs, &Want { commit, folder }, &Silent)?;
    Ok((content.package, commit))
}

/// Where a revision is, as locks show it.
pub fn origin(registered: &Registered, state: &State) -> Origin {
    let layout = &registered.spec.layout;
    let path = layout.path(&state.package);
    let (reference, commit) = match &state.life {
        Life::Draft(draft) => {
            let folder = match draft.stage {
                crate::state::Stage::Draft => "drafts",
                crate::state::Stage::Proposed => "proposed",
            };
            let commit =
                draft.pushed.filter(|_| draft.unpushed.is_empty()).map(|pushed| pushed.commit.to_string());
            (format!("{folder}/{path}/{}", state.workspace), commit.unwrap_or_default())
        }
        Life::Published(published) => {
            let name = &published.ref_name;
            let short = name.tag_name().or_else(|| name.branch_name()).unwrap_or(name.as_str());
            (short.to_owned(), published.commit.to_string())
        }
        Life::Deleted(_) => (String::new(), String::new()),
    };
    Origin { repo: registered.address(), directory: path, reference, commit }
}

/// Where a revision is, as its status shows it.
pub fn self_lock(registered: &Registered, state: &State) -> Value {
    let Origin { repo, directory, reference, commit } = origin(registered, state);
    let mut git = serde_json::json!({"repo": repo, "directory": directory, "ref": reference});
    if !commit.is_empty() {
        git["commit"] = commit.into();
    }
    serde_json::json!({"type": "git", "git": git})
}

/// The lifecycle that an object shows.
pub fn lifecycle(object: &Value) -> Result<Lifecycle, Error> {
    let raw = object["spec"]["lifecycle"].as_str().unwrap_or_default();
    raw.parse().map_err(|error| Error::internal(format!("a row has a bad lifecycle: {error}")))
}

/// Does something that waits, on a thread that may.
///
/// # Errors
/// When it panicked.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
    let span = tracing::Span::current();
    let done = tokio::task::spawn_blocking(move || span.in_scope(work)).await;
    done.map_err(|error| Error::internal(format!("work on a repository broke off: {error}")))
}

/// What a client is told about a remote that did not do what it should.
pub fn remote_error(name: &str, error: &lanai_repository::Error) -> Error {
    use lanai_repository::packages::Class;
    let reason = match Class::of(error) {
        Class::NotFound => Reason::NotFound,
        _ => Reason::Unavailable,
    };
    Error::new(reason, name, error.to_string())
}
