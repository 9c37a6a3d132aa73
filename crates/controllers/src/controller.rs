//! What a controller is, and what it is given.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use kube::Client;

use crate::hub::Change;
use crate::kind::Kinds;
use crate::work::Next;

/// What all controllers are given.
#[derive(Clone)]
pub struct Context {
    /// The API.
    pub client: Client,
    /// Which kinds there are.
    pub kinds: Arc<Kinds>,
    /// What time it is.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// Why work on a key did not succeed. It is tried again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API.
    #[error(transparent)]
    Api(#[from] kube::Error),
    /// A request that cannot be made.
    #[error("a request cannot be made: {0}")]
    Request(#[from] http::Error),
    /// It was done in part.
    #[error("{0}")]
    Unfinished(String),
}

/// A loop that keeps something as objects ask for it.
#[async_trait]
pub trait Controller: Send + Sync + 'static {
    /// What is worked on, one at a time.
    type Key: Ord + Clone + Debug + Send + Sync + 'static;

    /// For logs.
    const NAME: &'static str;

    /// How many keys are worked on at the same time.
    const AT_ONCE: usize = 4;

    /// What is to be looked at because of a change. Every change comes here, in order for each object; it must not wait.
    fn see(&self, change: &Change<'_>) -> Vec<Self::Key>;

    /// Waits until something that is no object asks for keys to be looked at. It is dropped and called again, and must lose nothing by that.
    async fn asked(&self) -> Vec<Self::Key> {
        std::future::pending().await
    }

    /// Makes a key as it should be, from what the API says now.
    ///
    /// # Errors
    /// When it could not; it is tried again, later each time.
    async fn reconcile(&self, context: &Context, key: &Self::Key) -> Result<Next, Error>;
}

/// The code of an answer that was no success.
pub(crate) fn code(error: &kube::Error) -> Option<u16> {
    match error {
        kube::Error::Api(status) => Some(status.code),
        _ => None,
    }
}

/// An answer, where "it is not there" is one.
pub(crate) fn found<T>(answer: kube::Result<T>) -> kube::Result<Option<T>> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) if code(&error) == Some(404) => Ok(None),
        Err(error) => Err(error),
    }
}
