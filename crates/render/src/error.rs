//! Why a render ended.

use std::fmt;

use lanai_evaluate::FunctionRef;
use lanai_krm::ResourceList;
use lanai_krm::kptfile::{self, Invalid};
use lanai_krm::package::{self, Folder};

use crate::ahead::Unrunnable;
use crate::check::{NotAResource, PathProblem};
use crate::config::ConfigError;
use crate::image::ImageError;
use crate::when;

/// Why there was nothing to render: the root package cannot be opened. Nothing is to be written then.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The root Kptfile cannot be read.
    #[error("{0}")]
    Kptfile(#[from] kptfile::Error),
    /// The pipeline of the root package cannot be. `Display` gives kpt's text.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Why a render failed.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The package in which it failed.
    pub package: Folder,
    /// What went wrong.
    pub cause: Cause,
    /// What the condition of the root Kptfile says about it: the cause with the packages that lead there, in kpt's words.
    pub message: String,
}

/// What went wrong.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// A function failed or could not run.
    #[error(transparent)]
    Function(#[from] Box<FunctionFailure>),
    /// Functions cannot run, and none did.
    #[error(transparent)]
    Unrunnable(Unrunnable),
    /// A Kptfile below the root cannot be read.
    #[error("{0}")]
    Kptfile(#[from] kptfile::Error),
    /// A pipeline below the root cannot be.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// What configures a function is not among the resources of the package.
    #[error(transparent)]
    Config(ConfigError),
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] package::Error),
    /// Something in the package is no resource.
    #[error("input resource list must contain only KRM resources: {0}")]
    Input(NotAResource),
    /// What was rendered cannot be written.
    #[error("failed to save resources: {0}")]
    Write(package::Error),
    /// The Kptfile cannot tell about the render.
    #[error("the status cannot be written to the Kptfile: {0}")]
    Status(String),
    /// `RenderLimits::max_depth`.
    #[error("packages are nested deeper than the {limit} levels that are allowed")]
    TooDeep {
        /// What is allowed.
        limit: usize,
    },
    /// `RenderLimits::max_items`.
    #[error("there are {found} resources, more than the {limit} that are allowed")]
    TooManyItems {
        /// How many there are.
        found: usize,
        /// What is allowed.
        limit: usize,
    },
}

/// A function that failed or could not run.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{why}")]
pub struct FunctionFailure {
    /// The function.
    pub function: FunctionRef,
    /// Where it stands: `pipeline.mutators[0]`.
    pub field: String,
    /// What went wrong.
    pub why: Why,
    /// What the function got, if it was called: whoever gives it the same again sees the same.
    pub input: Option<Box<ResourceList>>,
}

/// What went wrong with a function.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// It did not give an answer.
    #[error(transparent)]
    Evaluation(#[from] lanai_evaluate::Error),
    /// Programs may not be run.
    #[error("must run with `--allow-exec` option to allow running function binaries")]
    ExecRefused,
    /// It cannot be said which image is meant.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// It cannot be configured.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its condition cannot be decided.
    #[error(transparent)]
    When(#[from] when::Error),
    /// What it got is no list of resources.
    #[error("input resource list must contain only KRM resources: {0}")]
    Input(NotAResource),
    /// What it gave back is no list of resources.
    #[error("output resource list must contain only KRM resources: {0}")]
    Output(NotAResource),
    /// It put a resource where none can be.
    #[error(transparent)]
    Place(#[from] PathProblem),
}

impl fmt::Display for Failure {
    /// What went wrong, without the package.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl std::error::Error for Failure {}
