//! The integration tests of the merge crate.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod docs;
mod fields;
mod files;
mod kpt;
mod kptfile;
mod lists;
mod packages;
mod properties;
mod remarks;
mod resolutions;
mod strategies;
mod support;
mod unions;
