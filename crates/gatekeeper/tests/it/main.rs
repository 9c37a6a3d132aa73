//! The integration tests of the function `gatekeeper`.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod fixtures;
mod hostile;
