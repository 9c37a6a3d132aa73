//! Why there is no answer.

use std::time::Duration;

use lanai_krm::ResultItem;

use crate::Request;

/// Why a function gave no answer.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This evaluator does not know the function. The request comes back as it was, for the next one.
    #[error("function {:?} is not known here", .0.function.as_str())]
    NotFound(Box<Request>),
    /// The function ran and failed.
    #[error(transparent)]
    Failed(#[from] Box<Failed>),
    /// The function was not done in time, and was ended.
    #[error("function did not end within {limit:?}")]
    Timeout {
        /// How long it had.
        limit: Duration,
        /// What it had written to its standard error output.
        stderr: String,
    },
    /// Somebody called it off.
    #[error("function was called off")]
    Cancelled,
    /// The function may not run like this: a grant is missing, or the machine cannot keep a promise about it.
    #[error("{0}")]
    Refused(String),
    /// The function did not run, and that is not its fault.
    #[error("{0}")]
    Infrastructure(String),
}

/// A function that failed, and what it said.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{why}")]
pub struct Failed {
    /// In which way.
    pub why: Failing,
    /// The code it ended with; 1 where there is none.
    pub exit_code: i32,
    /// What it reported.
    pub results: Vec<ResultItem>,
    /// What it wrote to its standard error output.
    pub stderr: String,
}

/// In which way a function failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Failing {
    /// It ended with a code that is not 0.
    #[error("function ended with exit code {0}")]
    Exit(i32),
    /// It was ended by a signal that was not ours.
    #[error("function was ended by signal {0}")]
    Signal(i32),
    /// It is a module that did what cannot be done, such as dividing by zero.
    #[error("function trapped: {0}")]
    Trap(String),
    /// What it wrote cannot be read as a list of resources.
    #[error("what the function wrote is no list of resources: {0}")]
    Output(String),
    /// It wrote nothing at all, though there were resources. A mutator that keeps none of them says so in a list without items; of a
    /// validator nothing is expected.
    #[error("the function wrote nothing; one that keeps no resource writes a list without items")]
    Silent,
    /// It wanted more than it may have.
    #[error("function exceeded a limit: {0}")]
    Limit(String),
}

impl Error {
    /// What the function reported before it failed.
    pub fn results(&self) -> &[ResultItem] {
        match self {
            Self::Failed(failed) => &failed.results,
            Self::NotFound(_)
            | Self::Timeout { .. }
            | Self::Cancelled
            | Self::Refused(_)
            | Self::Infrastructure(_) => &[],
        }
    }

    /// What the function wrote to its standard error output.
    pub fn stderr(&self) -> &str {
        match self {
            Self::Failed(failed) => &failed.stderr,
            Self::Timeout { stderr, .. } => stderr,
            Self::NotFound(_) | Self::Cancelled | Self::Refused(_) | Self::Infrastructure(_) => "",
        }
    }
}
