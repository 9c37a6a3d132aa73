//! What it means to run a function, whoever runs it.
//!
//! An [`Evaluator`] takes a [`Request`] (which function, on what, with which [`Grants`]) and a [`Deadline`], and answers with a
//! [`Response`] or an [`Error`]. Evaluators stand in a chain: the one that does not know a function hands the request back as
//! [`Error::NotFound`], and the next one is asked. No other error falls through, so that a function that failed in one place is
//! never run again in another.

mod deadline;
mod error;
mod identity;
mod memory;
mod outlook;
pub mod record;
mod request;
pub mod wire;

use async_trait::async_trait;

pub use deadline::Deadline;
pub use error::{Error, Failed, Failing};
pub use identity::Identity;
pub use memory::{InputDigest, Memory, Permit, Recall, Step};
pub use outlook::Outlook;
pub use request::{FunctionRef, Grants, Mount, MountAccess, Network, Request, Response, User, Variable};

/// Runs functions.
///
/// Promises of every evaluator: the deadline holds, plus the second that it takes to end a program; when `evaluate` returns, or
/// its future is dropped, nothing of the function runs any more; what the function did not get a grant for, it cannot do, or the
/// request is refused; nothing is retried.
#[async_trait]
pub trait Evaluator: Send + Sync {
    /// Runs a function on a list of resources.
    ///
    /// # Errors
    /// [`Error::NotFound`] when this evaluator does not know the function; the request in it is as it came. For the others see
    /// [`Error`].
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error>;

    /// Whether running the function again on the same list costs next to nothing and gives the same. Then nobody has to keep a
    /// list for the case that the function fails on it.
    fn is_repeatable(&self, function: &FunctionRef) -> bool {
        let _ = function;
        false
    }

    /// Says what can be known about a function without running anything, so that a pipeline with one that nobody knows is refused
    /// as a whole. Whoever cannot tell says that it runs.
    fn foresee(&self, function: &FunctionRef, grants: &Grants) -> Outlook {
        let _ = (function, grants);
        Outlook::Runs
    }

    /// Says which program would run, by its digest, and whether its answers may be kept. Names are resolved for that, so it may take as
    /// long as that takes. Whoever cannot tell keeps nothing.
    async fn identify(&self, function: &FunctionRef, grants: &Grants) -> Identity {
        match self.foresee(function, grants) {
            Outlook::Unknown => Identity::Unknown,
            Outlook::Runs | Outlook::Cannot(_) => {
                Identity::Volatile("whether it always answers alike is not known".to_owned())
            }
        }
    }

    /// What this evaluator remembers, if it does. Whoever runs several functions in a row asks it for all of them at once.
    fn memory(&self) -> Option<&dyn Memory> {
        None
    }
}
