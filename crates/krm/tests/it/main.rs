//! The integration tests of the KRM crate.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod adopt;
mod corpus;
mod digest;
mod heal;
mod ignore;
mod kptfile;
mod package;
mod resource_list;
mod resources;
mod select;
