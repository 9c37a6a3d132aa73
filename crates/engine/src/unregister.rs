//! Letting go of repositories. The remote is left alone.

use std::sync::Arc;

use lanai_store::{Key, Stored, Transaction, Write};
use lanai_types::{Namespace, RepositoryName};

use crate::engine::{Engine, is_overtaken};
use crate::error::{Error, Reason, Subject};
use crate::fetch::{blocking, remote_error};
use crate::rows;
use crate::state::{self, Life, State};

/// How many rows go in one transaction.
const MAX_WRITES: usize = 500;

/// What becomes of drafts that exist only here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnlyHere {
    /// They hold it up.
    Keep,
    /// They are given up.
    GiveUp,
}

impl Engine {
    /// Whether a repository can be reached, and its branch is there.
    ///
    /// # Errors
    /// Why not.
    pub async fn check(&self, namespace: &Namespace, repository: &RepositoryName) -> Result<(), Error> {
        let (registered, _) = self.inner.repositories.any(namespace, repository.as_str()).await?;
        let (git, branch) = (registered.git.clone(), registered.spec.layout.branch.clone());
        let shown = branch.to_string();
        let found = blocking(move || crate::sync::check(&git, &branch)).await?;
        let found =
            found.map_err(|error| remote_error(repository.as_str(), &error).of(Subject::Repository))?;
        if found.is_none() && !registered.create_branch {
            let why = format!("branch \"{shown}\" doesn't exist: reference not found");
            return Err(Error::new(Reason::Conflict, repository.as_str(), why).of(Subject::Repository));
        }
        Ok(())
    }

    /// Forgets a repository: what waits for the remote is pushed, then all rows go, with an event each. The remote stays as it is.
    ///
    /// # Errors
    /// 409 while there are drafts that exist only here, unless they are given up.
    pub async fn unregister(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
        only_here: OnlyHere,
    ) -> Result<(), Error> {
        if only_here == OnlyHere::Keep {
            let flushed = self.flush(namespace, repository).await;
            let left = self.only_here(namespace, repository).await?;
            if !left.is_empty() {
                let why = match flushed {
                    Err(error) => format!(
                        "{} package revision(s) exist only here, the first is \"{}\"; they cannot be pushed: {error}",
                        left.len(),
                        left[0]
                    ),
                    Ok(()) => format!(
                        "{} package revision(s) exist only here, the first is \"{}\"; publish or delete them, or give them up",
                        left.len(),
                        left[0]
                    ),
                };
                return Err(Error::new(Reason::Conflict, repository.as_str(), why).of(Subject::Repository));
            }
        }
        let _one = self.inner.talks.lock(&format!("sync {namespace}/{repository}")).await;
        self.remove_rows(namespace, repository).await?;
        self.inner.repositories.forget(namespace, repository);
        Ok(())
    }

    /// Forgets all repositories of a namespace that is being emptied.
    ///
    /// # Errors
    /// As [`unregister`](Self::unregister).
    pub async fn unregister_namespace(&self, namespace: &Namespace) -> Result<(), Error> {
        let prefix = lanai_store::Prefix::namespace(&rows::STATE, namespace.as_str())?;
        let states = rows::list(self.inner.store.as_ref(), lanai_store::Filter::under(prefix)).await?;
        let mut repositories: Vec<RepositoryName> = states
            .iter()
            .filter_map(|stored| Some(rows::decode_state(stored).ok()?.value.repository))
            .collect();
        repositories.sort();
        repositories.dedup();
        for repository in repositories {
            self.unregister(namespace, &repository, OnlyHere::Keep).await?;
        }
        Ok(())
    }

    /// The drafts of a repository that the remote does not have.
    async fn only_here(
        &self,
        namespace: &Namespace,
        repository: &RepositoryName,
    ) -> Result<Vec<String>, Error> {
        let states = rows::states_of(self.inner.store.as_ref(), namespace, repository).await?;
        let is_only_here = |state: &State| match &state.life {
            Life::Draft(draft) => !draft.unpushed.is_empty(),
            Life::Published(_) | Life::Deleted(_) => false,
        };
        let mut names = Vec::new();
        for stored in states {
            if is_only_here(&rows::decode_state(&stored)?.value) {
                names.push(stored.key.name().to_owned());
            }
        }
        Ok(names)
    }

    async fn remove_rows(&self, namespace: &Namespace, repository: &RepositoryName) -> Result<(), Error> {
        let store = self.inner.store.as_ref();
        loop {
            let mut all: Vec<Arc<Stored>> = Vec::new();
            let fields = [("spec.repository", repository.as_str())];
            all.extend(rows::list(store, rows::with_fields(&rows::REVISION, namespace, &fields)?).await?);
            let fields = [(state::REPOSITORY, repository.as_str())];
            for kind in [&rows::STATE, &rows::PACKAGE, &rows::NUMBER] {
                all.extend(rows::list(store, rows::with_fields(kind, namespace, &fields)?).await?);
            }
            let guard: Key = rows::guard_key(namespace, &format!("packages.{repository}"));
            all.extend(store.get(&guard).await?.map(Arc::new));
            if all.is_empty() {
                return Ok(());
            }
            for part in all.chunks(MAX_WRITES) {
                let writes = part
                    .iter()
                    .map(|stored| Write::Delete { key: stored.key.clone(), expected: stored.revision })
                    .collect();
                let transaction = Transaction { conditions: Vec::new(), writes, blobs: Vec::new() };
                match crate::engine::commit(store, transaction, 0).await {
                    Ok(_) => {}
                    // Somebody wrote meanwhile: it begins again with what is there now.
                    Err(error) if is_overtaken(&error) => break,
                    Err(error) => return Err(error),
                }
            }
        }
    }
}
