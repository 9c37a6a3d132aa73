//! Pushes on their way: written down before they are sent, so that a kill loses none.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use lanai_repository::packages::{Command, Intent, Journal, Outcome};
use lanai_store::{Attributes, Filter, Key, Object, Prefix, Store, Write};
use lanai_types::{CommitId, GitObjectId, RefName};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;

use crate::doubt::Doubt;
use crate::error::Error;
use crate::rows;

/// The rows of pushes.
pub(crate) struct Pushes {
    store: Arc<dyn Store>,
    runtime: Handle,
    doubt: Arc<Doubt>,
    open: Mutex<Open>,
}

/// Pushes that have landed, and whose effects are being written.
#[derive(Default)]
struct Open {
    /// By label, the row.
    rows: HashMap<String, Key>,
    /// How many labels of a row are left.
    left: HashMap<Key, usize>,
}

/// A push as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Kept {
    pub(crate) main: RefName,
    pub(crate) commands: Vec<KeptCommand>,
    pub(crate) commits: Vec<CommitId>,
    pub(crate) labels: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptCommand {
    name: RefName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    old: Option<GitObjectId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    new: Option<GitObjectId>,
}

impl From<&Intent> for Kept {
    fn from(intent: &Intent) -> Self {
        let command = |command: &Command| KeptCommand {
            name: command.name.clone(),
            old: command.old,
            new: command.new,
        };
        Self {
            main: intent.main.clone(),
            commands: intent.commands.iter().map(command).collect(),
            commits: intent.commits.clone(),
            labels: intent.labels.clone(),
        }
    }
}

impl From<Kept> for Intent {
    fn from(kept: Kept) -> Self {
        let command =
            |command: KeptCommand| Command { name: command.name, old: command.old, new: command.new };
        Self {
            main: kept.main,
            commands: kept.commands.into_iter().map(command).collect(),
            commits: kept.commits,
            labels: kept.labels,
        }
    }
}

/// What a row of a push is called: it depends on what is pushed, so that the same push has one row.
fn key(intent: &Intent) -> Result<Key, String> {
    let text = serde_json::to_vec(&Kept::from(intent)).map_err(|error| error.to_string())?;
    let name = lanai_store::Blob::new(text).digest().to_string();
    let namespace =
        intent.labels.first().and_then(|label| label.split_once('/')).map_or("", |(namespace, _)| namespace);
    Key::new(&rows::PUSH, namespace, &name.replace(':', "-")).map_err(|error| error.to_string())
}

impl Pushes {
    pub(crate) fn new(store: Arc<dyn Store>, runtime: Handle, doubt: Arc<Doubt>) -> Self {
        Self { store, runtime, doubt, open: Mutex::default() }
    }

    /// The effects of a push are written for one of those that it is about. With the last one its row goes.
    pub(crate) async fn settled(&self, label: &str) {
        let gone = {
            let mut open = self.open();
            let Some(key) = open.rows.remove(label) else { return };
            let left = open.left.get_mut(&key).map(|left| {
                *left = left.saturating_sub(1);
                *left
            });
            if left != Some(0) {
                return;
            }
            open.left.remove(&key);
            key
        };
        self.remove(&gone).await;
    }

    /// The labels of pushes that were begun, and whose effects are not written yet.
    pub(crate) fn on_their_way(&self) -> HashSet<String> {
        self.open().rows.keys().cloned().collect()
    }

    /// The effects of a push could not be written: its row stays, for whoever finds out what became of it.
    pub(crate) fn unsettled(&self, label: &str) {
        let mut open = self.open();
        if let Some(key) = open.rows.remove(label) {
            // Those who come later for the same row leave it.
            open.left.remove(&key);
        }
    }

    /// Removes the row of a push. One that stays is looked at after the next start, which does no harm.
    pub(crate) async fn remove(&self, key: &Key) {
        let removed = async {
            if let Some(stored) = self.store.get(key).await? {
                self.store.delete(key.clone(), stored.revision).await?;
            }
            Ok::<_, lanai_store::Error>(())
        };
        if let Err(error) = removed.await {
            tracing::warn!(%error, %key, "the note of a push that is done was not removed");
        }
    }

    /// The pushes that were not settled, and of nobody that is on its way.
    pub(crate) async fn left_behind(&self) -> Result<Vec<(Key, Intent)>, Error> {
        let filter = Filter::under(Prefix::kind(&rows::PUSH));
        let mut found = Vec::new();
        for stored in rows::list(self.store.as_ref(), filter).await? {
            if self.open().left.contains_key(&stored.key) {
                continue;
            }
            match serde_json::from_slice::<Kept>(&stored.object.value) {
                Ok(kept) => found.push((stored.key.clone(), kept.into())),
                // It holds up nothing but itself; a look at the remote finds what it was about.
                Err(error) => {
                    tracing::error!(key = %stored.key, %error, "a row is no push, and is passed over");
                }
            }
        }
        Ok(found)
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for Pushes {
    fn begin(&self, intent: &Intent) -> Result<(), String> {
        let key = key(intent)?;
        let value = serde_json::to_vec(&Kept::from(intent)).map_err(|error| error.to_string())?;
        let object = Object { value: value.into(), attributes: Attributes::default(), ..Object::default() };
        {
            let mut open = self.open();
            open.left.insert(key.clone(), intent.labels.len());
            for label in &intent.labels {
                open.rows.insert(label.clone(), key.clone());
            }
        }
        let written = self.runtime.block_on(async {
            match self.store.get(&key).await? {
                // The same push again.
                Some(_) => Ok(()),
                None => {
                    self.store.commit(Write::Create { key: key.clone(), object }.into()).await.map(|_| ())
                }
            }
        });
        written.map_err(|error: lanai_store::Error| {
            self.forget(&key, intent);
            error.to_string()
        })
    }

    fn end(&self, intent: &Intent, outcome: Outcome) {
        let Ok(key) = key(intent) else { return };
        match outcome {
            // Those who wait write the effects, and the last one removes the row.
            Outcome::Landed => {}
            Outcome::NotLanded => {
                self.forget(&key, intent);
                self.runtime.block_on(self.remove(&key));
            }
            Outcome::Unknown => {
                self.doubt.add(intent.labels.iter().cloned());
                self.forget(&key, intent);
            }
        }
    }
}

impl Pushes {
    fn forget(&self, key: &Key, intent: &Intent) {
        let mut open = self.open();
        open.left.remove(key);
        for label in &intent.labels {
            if open.rows.get(label) == Some(key) {
                open.rows.remove(label);
            }
        }
    }
}
