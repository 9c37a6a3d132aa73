//! The integration tests of the YAML crate.

mod events;
mod oracle;
mod suite;
