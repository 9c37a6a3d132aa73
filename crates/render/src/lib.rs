//! Runs the pipelines of a tree of packages, in order.
//!
//! [`render`] takes a package as a value and gives one back; the only thing around it that it talks to is the
//! [`Evaluator`](lanai_evaluate::Evaluator) that runs the functions. Nothing is written anywhere: what should be, is in
//! [`Rendered`].
//!
//! | module | what it knows |
//! |---|---|
//! | `tree` | which packages there are, and in which order their pipelines run |
//! | `hydrate`, `held` | going through the tree, and the resources on the way |
//! | `pipeline` | running the functions of one package on its resources |
//! | `config`, `image`, `when` | what configures a function, which image is meant, whether it runs |
//! | `ahead` | which functions cannot run, before any does |
//! | `remember` | steps that an evaluator remembers, and what goes into them |
//! | `check` | what may go into a function and come out of it |
//! | `record`, `message`, `status` | what is written down about a run, and how it gets into the Kptfile |
//! | `attribution` | the annotation by which some resources tell that they were rendered |
//! | `eval` | one function on a whole tree, without pipelines |

mod ahead;
mod attribution;
mod check;
mod config;
mod error;
mod eval;
mod held;
mod hydrate;
mod image;
mod message;
mod options;
mod pipeline;
mod record;
mod remember;
mod render;
mod status;
mod tree;
mod watch;
mod when;

pub use ahead::{Obstacle, Unrunnable, UnrunnableFunction};
pub use check::{Misplaced, NotAResource, PathProblem};
pub use config::{ConfigError, config_map};
pub use error::{Cause, Error, Failure, FunctionFailure, Why};
pub use eval::{Evaluated, EvaluatedItems, Step, eval, eval_items};
pub use image::{ImageError, Tags, resolve};
pub use options::{ExecPolicy, Options, RenderLimits, StatusPolicy};
pub use record::{FunctionResult, Input, Inputs, ResultList, Settings};
pub use render::{Outcome, Rendered, render};
pub use watch::{Event, Running, Watch};
