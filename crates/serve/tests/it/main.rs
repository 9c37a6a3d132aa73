//! The whole server, as clients see it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests, in helpers too")]

mod access;
mod apply;
mod clients;
mod delegated;
mod documents;
mod ending;
#[path = "../../../repository/tests/it/server.rs"]
#[allow(dead_code, reason = "the tests of repositories ask for more of it")]
mod git_server;
mod identities;
mod killed;
mod kube_rs;
mod kubectl;
mod listen;
mod load;
mod packages;
mod process;
mod renewal;
mod requests;
mod tls;
mod traces;
mod world;
