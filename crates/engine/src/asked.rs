//! Repositories that are to be looked at before their time.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use lanai_types::{Namespace, RepositoryName};
use tokio::sync::Notify;

use crate::engine::Engine;

/// Which, and who waits for them.
#[derive(Default)]
pub(crate) struct Asked {
    which: Mutex<BTreeSet<(Namespace, RepositoryName)>>,
    told: Notify,
}

impl Engine {
    /// Something happened to a remote: it was pushed to, cannot be reached, or can be reached again. Those who ask for the same before
    /// somebody looks are one.
    pub fn ask_for_look(&self, namespace: &Namespace, repository: &RepositoryName) {
        let asked = &self.inner.asked;
        let mut which = asked.which.lock().unwrap_or_else(PoisonError::into_inner);
        which.insert((namespace.clone(), repository.clone()));
        asked.told.notify_one();
    }

    /// Waits until somebody asks. One waits at a time; whoever stops waiting misses nothing.
    pub async fn asked_for_look(&self) -> Vec<(Namespace, RepositoryName)> {
        let asked = &self.inner.asked;
        loop {
            let which = std::mem::take(&mut *asked.which.lock().unwrap_or_else(PoisonError::into_inner));
            if !which.is_empty() {
                return which.into_iter().collect();
            }
            asked.told.notified().await;
        }
    }

    /// A remote can be reached again: what waits for it waits no longer.
    pub fn nudge(&self, namespace: &Namespace, repository: &RepositoryName) {
        self.inner.outbox.nudge(namespace, repository);
    }
}
