//! Repositories that are registered, and how they are reached.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use lanai_krm::package::Folder;
use lanai_repository::packages::{self, Layout, Person};
use lanai_repository::{CredentialName, RemoteUrl};
use lanai_store::{Condition, Key, Presence, Revision, Store};
use lanai_types::{Namespace, RepositoryName};
use serde::Deserialize;
use serde_json::Value;

use crate::error::{Error, Reason, Subject};
use crate::rows;
use crate::state::DraftPush;

/// A repository that is registered.
pub struct Registered {
    /// The namespace of the object.
    pub namespace: Namespace,
    /// Its name.
    pub name: RepositoryName,
    /// Whether packages in it are for deployment.
    pub deployment: bool,
    /// When the remote gets drafts.
    pub draft_push: DraftPush,
    /// Whether the branch is made where it is missing.
    pub create_branch: bool,
    /// What it was opened with.
    pub spec: packages::Spec,
    /// The way to it.
    pub git: Arc<packages::Repository>,
}

impl Registered {
    /// What a lock shows as its address: as it was written, without secrets.
    pub fn address(&self) -> String {
        self.spec.remote.to_string()
    }

    /// The workspace of placeholders.
    pub fn placeholder(&self) -> String {
        self.spec.layout.branch.as_str().replace('/', "-")
    }
}

/// All that are in use.
pub struct Opened {
    store: Arc<dyn Store>,
    git: Arc<packages::Repositories>,
    open: Mutex<HashMap<Key, (Revision, Arc<Registered>)>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct ObjectSpec {
    #[serde(rename = "type")]
    kind: String,
    deployment: bool,
    git: Option<GitSpec>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct GitSpec {
    repo: String,
    branch: String,
    create_branch: bool,
    directory: String,
    secret_ref: Option<crate::object::Reference>,
    author: Option<String>,
    email: Option<String>,
    draft_push: Option<DraftPush>,
}

impl Opened {
    pub(crate) fn new(store: Arc<dyn Store>, git: Arc<packages::Repositories>) -> Self {
        Self { store, git, open: Mutex::default() }
    }

    /// The repository of this name, as its object has it now.
    ///
    /// # Errors
    /// When there is none, it is on its way out, or its object does not say where it is.
    pub async fn find(&self, namespace: &Namespace, name: &str) -> Result<Arc<Registered>, Error> {
        let (registered, object) = self.any(namespace, name).await?;
        if object["metadata"]["deletionTimestamp"].is_string() {
            return Err(not_found(name));
        }
        Ok(registered)
    }

    /// The same, also when it is on its way out.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub async fn any(&self, namespace: &Namespace, name: &str) -> Result<(Arc<Registered>, Value), Error> {
        let parsed: RepositoryName = name.parse().map_err(|_| not_found(name))?;
        let key = Key::new(&rows::REPOSITORY, namespace.as_str(), name)?;
        let stored = self.store.get(&key).await?.ok_or_else(|| not_found(name))?;
        let object = rows::decode(&stored)?;
        if let Some((revision, known)) = self.open().get(&key)
            && *revision == stored.revision
        {
            return Ok((known.clone(), object));
        }
        let wanted = describe(namespace, &parsed, &object)?;
        let mut open = self.open();
        let kept = open.get(&key).map(|(_, known)| known.clone());
        // What was learnt of a repository is kept as long as it is reached in the same way.
        let git = match kept.filter(|known| known.spec == wanted.spec) {
            Some(known) => known.git.clone(),
            None => Arc::new(self.git.open(wanted.spec.clone()).map_err(|error| {
                Error::new(Reason::Unavailable, name, error.to_string()).of(Subject::Repository)
            })?),
        };
        let registered = Arc::new(Registered {
            namespace: namespace.clone(),
            name: parsed,
            deployment: wanted.deployment,
            draft_push: wanted.draft_push,
            create_branch: wanted.create_branch,
            spec: wanted.spec,
            git,
        });
        open.insert(key, (stored.revision, registered.clone()));
        Ok((registered, object))
    }

    /// Whether there is an object of this name, on its way out or not.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn is_there(&self, namespace: &Namespace, name: &RepositoryName) -> Result<bool, Error> {
        let key = Key::new(&rows::REPOSITORY, namespace.as_str(), name.as_str())?;
        Ok(self.store.get(&key).await?.is_some())
    }

    /// What must hold of a repository for something to be made in it: it is as it is now, and not on its way out.
    ///
    /// # Errors
    /// When there is none, or it is on its way out.
    pub async fn holds(&self, namespace: &Namespace, name: &RepositoryName) -> Result<Condition, Error> {
        let key = Key::new(&rows::REPOSITORY, namespace.as_str(), name.as_str())?;
        let stored = self.store.get(&key).await?.ok_or_else(|| not_found(name.as_str()))?;
        if rows::decode(&stored)?["metadata"]["deletionTimestamp"].is_string() {
            return Err(not_found(name.as_str()));
        }
        Ok(Condition::Presence { key, expected: Presence::At(stored.revision) })
    }

    /// Forgets a repository that is gone.
    pub fn forget(&self, namespace: &Namespace, name: &RepositoryName) {
        if let Ok(key) = Key::new(&rows::REPOSITORY, namespace.as_str(), name.as_str()) {
            self.open().remove(&key);
        }
    }

    /// The way to repositories that nobody registered.
    pub fn git(&self) -> &Arc<packages::Repositories> {
        &self.git
    }

    fn open(&self) -> std::sync::MutexGuard<'_, HashMap<Key, (Revision, Arc<Registered>)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// There is no such repository.
pub fn not_found(name: &str) -> Error {
    Error::not_found(name).of(Subject::Repository)
}

struct Wanted {
    deployment: bool,
    draft_push: DraftPush,
    create_branch: bool,
    spec: packages::Spec,
}

/// What the object of a repository asks for.
fn describe(namespace: &Namespace, name: &RepositoryName, object: &Value) -> Result<Wanted, Error> {
    let wrong = |why: String| Error::new(Reason::Invalid, name.as_str(), why).of(Subject::Repository);
    let spec: ObjectSpec =
        serde_json::from_value(object["spec"].clone()).map_err(|error| wrong(error.to_string()))?;
    let git = match (spec.kind.as_str(), spec.git) {
        ("git", Some(git)) => git,
        ("git", None) => return Err(wrong("spec.git: Required value".to_owned())),
        ("oci", _) => return Err(wrong("repositories of type \"oci\" are not supported yet".to_owned())),
        (other, _) => return Err(wrong(format!("repository type \"{other}\" not supported"))),
    };
    let remote: RemoteUrl =
        git.repo.parse().map_err(|error| wrong(format!("spec.git.repo cannot be used: {error}")))?;
    let branch = if git.branch.is_empty() { "main" } else { &git.branch };
    let branch = branch.parse().map_err(|error| wrong(format!("spec.git.branch cannot be used: {error}")))?;
    let directory = match git.directory.trim_matches('/') {
        "" => Folder::Root,
        path => Folder::At(
            path.parse().map_err(|error| wrong(format!("spec.git.directory cannot be used: {error}")))?,
        ),
    };
    let credential = git.secret_ref.filter(|secret| !secret.name.is_empty());
    let credential = credential.map(|secret| CredentialName(format!("{namespace}/{}", secret.name)));
    let author = Person::of_repository(git.author.as_deref(), git.email.as_deref());
    Ok(Wanted {
        deployment: spec.deployment,
        draft_push: git.draft_push.unwrap_or_default(),
        create_branch: git.create_branch,
        spec: packages::Spec { remote, layout: Layout { branch, directory }, credential, author },
    })
}
