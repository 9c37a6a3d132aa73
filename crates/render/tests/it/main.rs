//! Renders of small packages, with functions that are written down in the pipelines.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod ahead;
mod check;
mod config;
mod eval;
mod failure;
mod functions;
mod image;
mod limits;
mod order;
mod places;
mod records;
mod rendering;
mod selection;
mod status;
mod when;
