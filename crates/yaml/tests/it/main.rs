//! The integration tests of the YAML crate.

mod differential;
mod edit;
mod events;
mod limits;
mod oracle;
mod reference;
mod serde;
mod suite;
