//! The integration tests of the functions.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod catalog;
mod cross;
mod docs;
mod fixtures;
mod hostile;
