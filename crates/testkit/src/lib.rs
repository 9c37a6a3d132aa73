//! Fixtures and oracles that the tests of all crates share.
//!
//! Other crates name this one in `dev-dependencies` only; nothing of it is in the product.

#[cfg(feature = "functions")]
pub mod functions;
pub mod history;
mod in_time;
mod manifests;
mod module;
pub mod objects;
mod oracle;
mod places;
pub mod podman;
pub mod revisions;
mod skip;
pub mod sshd;

pub use in_time::{in_time, in_time_of};
pub use manifests::manifests;
pub use module::MODULE;
pub use oracle::oracle;
pub use places::{corpus, workspace_root};
pub use skip::{SKIP_LOG, skip};
