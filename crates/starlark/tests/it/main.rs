//! The integration tests of the function `starlark`.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod fixtures;
mod hostile;
