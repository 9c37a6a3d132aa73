//! Packages in Git: finds revisions in remote and local repositories and reads folders out of them.
//!
//! The library prints nothing, asks nobody but the [`Person`] that it is given, and reads no environment: what it needs comes in
//! with [`Options`].

mod caller;
mod config;
mod credential;
mod error;
mod eviction;
mod fetcher;
mod link;
mod local;
mod mirror;
pub mod packages;
mod progress;
mod remotes;
mod resolve;
pub mod revision;
mod secret;
mod session;
mod tree;
pub mod url;

pub use caller::{Caller, Echo, Person, Whereabouts};
pub use error::Error;
pub use progress::{Cancel, Phase, Progress, Report, Silent};
pub use remotes::{Advertised, Content, Environment, Limits, Options, Remotes, Resolved, Want};
pub use revision::Revision;
pub use secret::{Credential, CredentialName, Credentials, Proof};
pub use url::RemoteUrl;
