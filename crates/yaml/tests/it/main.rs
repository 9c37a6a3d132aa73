//! The integration tests of the YAML crate.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod differential;
mod edit;
mod events;
mod limits;
mod oracle;
mod properties;
mod reference;
mod regressions;
mod serde;
mod suite;
mod wide;
