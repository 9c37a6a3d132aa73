//! The ways to run a function.
//!
//! | evaluator | what it runs |
//! |---|---|
//! | [`Native`] | the functions that come with the binary |
//! | [`Configured`] | what `FunctionConfig` objects assign to functions of ours and to programs |
//! | [`Exec`] | programs of this machine |
//! | [`Modules`] | WASM modules |
//! | [`Container`] | images, by podman, docker or nerdctl |
//! | [`Helm`] | `render-helm-chart`, by calling `helm` |
//! | [`Caching`] | what another evaluator runs, unless it is known what comes out |
//! | [`Chain`] | whatever the first of several evaluators knows |

mod answer;
mod caching;
mod caged;
mod caller;
mod chain;
mod configured;
mod container;
mod exec;
pub mod function_config;
mod functions;
mod helm;
mod job;
mod limits;
mod modules;
mod native;
mod words;

pub use caching::{Caching, Explained, Explanation};
pub use caged::Launcher;
pub use caller::{Caller, without_detours};
pub use chain::Chain;
pub use configured::{Configured, Programs, load_function_configs};
pub use container::{Container, ContainerEngine, ContainerOptions, EngineKind, Pull, UnknownEngine};
pub use exec::{Exec, ExecMode};
pub use functions::functions;
pub use helm::{Helm, about_helm};
pub use lanai_process::{Policy, Shortfall};
pub use lanai_wasm::{Wasm, WasmLimits};
pub use limits::ExecLimits;
pub use modules::Modules;
pub use native::{Native, NativeScope};
pub use words::split as split_words;
