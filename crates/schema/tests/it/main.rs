//! The integration tests of the schemas.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod corpus;
mod docs;
mod fixtures;
mod hostile;
mod limits;
mod quirks;
