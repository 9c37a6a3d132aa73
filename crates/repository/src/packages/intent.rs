//! What a push is about to do, what became of it, and why not.

use std::sync::Arc;
use std::time::Duration;

use lanai_types::{CommitId, RefName};

use super::operation::Conflict;
use super::push::Command;
use crate::{Error, RemoteUrl};

/// Where intents are kept between the moment before a push and its outcome.
///
/// What is begun and not ended when a process starts must be given to `Repository::recover`.
pub trait Journal: Send + Sync {
    /// Keeps the intent so that it survives the process, before anything is sent.
    ///
    /// # Errors
    /// A text for people; nothing is sent then.
    fn begin(&self, intent: &Intent) -> Result<(), String>;

    /// What became of it. For `Unknown` the intent must be kept.
    fn end(&self, intent: &Intent, outcome: Outcome);
}

/// Keeps nothing. Good for remotes whose pushes nobody repeats after a crash.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJournal;

impl Journal for NoJournal {
    fn begin(&self, _: &Intent) -> Result<(), String> {
        Ok(())
    }

    fn end(&self, _: &Intent, _: Outcome) {}
}

/// The exact commands of one push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Intent {
    /// The branch with what is published, which decides where there is no atomic push.
    pub main: RefName,
    /// What moves.
    pub commands: Vec<Command>,
    /// The commits that were made for it.
    pub commits: Vec<CommitId>,
    /// What the callers called their requests.
    pub labels: Vec<String>,
}

/// What became of an intent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The remote has it.
    Landed,
    /// The remote does not have it, and cannot get it any more.
    NotLanded,
    /// Nobody knows yet.
    Unknown,
}

/// Why a request was not carried out.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// Things are not as the caller believed.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// The remote does not want it, in its own words.
    #[error("\"{remote}\" refuses \"{name}\": {words}")]
    Refused {
        /// The remote.
        remote: RemoteUrl,
        /// The ref that it named, or else the first of the push.
        name: RefName,
        /// What it said.
        words: String,
    },
    /// Others were faster each time.
    #[error(
        "\"{remote}\" was changed by others during each of {attempts} attempts; the last time it said: {words}"
    )]
    Contended {
        /// The remote.
        remote: RemoteUrl,
        /// How often it was tried.
        attempts: usize,
        /// What it said.
        words: String,
    },
    /// The connection was lost during the push, and what became of it could not be found out.
    #[error("what became of a push is not known: {cause}")]
    Unknown {
        /// Why not.
        cause: Arc<Error>,
    },
    /// The journal could not keep the intent; nothing was sent.
    #[error("the push was not begun, because it could not be noted: {0}")]
    Journal(String),
    /// The remote could not be reached or read; nothing was changed.
    #[error(transparent)]
    Remote(Arc<Error>),
}

impl From<Error> for WriteError {
    fn from(error: Error) -> Self {
        Self::Remote(Arc::new(error))
    }
}

/// Bounds on pushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushLimits {
    /// How many requests go in one push.
    pub max_batch: usize,
    /// How long a pusher waits for those to come again who were answered last.
    pub max_gather: Duration,
    /// How often a push is tried that others got in the way of.
    pub max_attempts: usize,
    /// The longest first pause between two attempts; each further one may be twice as long.
    pub max_first_pause: Duration,
    /// How often a push is repeated whose answer was lost.
    pub max_repeats: usize,
}

impl PushLimits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_batch: 64,
        max_gather: Duration::from_millis(20),
        max_attempts: 40,
        max_first_pause: Duration::from_millis(20),
        max_repeats: 4,
    };
}
