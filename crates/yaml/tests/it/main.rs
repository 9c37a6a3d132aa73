//! The integration tests of the YAML crate.

mod edit;
mod events;
mod oracle;
mod reference;
mod serde;
mod suite;
