//! Fixtures and oracles that the tests of all crates share.
//!
//! Other crates name this one in `dev-dependencies` only; nothing of it is in the product.

#[cfg(feature = "functions")]
pub mod functions;
pub mod history;
mod manifests;
pub mod objects;
mod oracle;
mod places;
pub mod podman;
pub mod revisions;
mod skip;
pub mod sshd;

pub use manifests::manifests;
pub use oracle::oracle;
pub use places::{corpus, workspace_root};
pub use skip::{SKIP_LOG, skip};
