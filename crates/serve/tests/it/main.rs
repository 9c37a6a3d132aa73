//! The whole server, as clients see it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests, in helpers too")]

mod access;
mod apply;
mod documents;
mod kubectl;
mod listen;
mod requests;
mod world;
