//! The server over a store in memory.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests, in helpers too")]

mod custom;
mod limits;
mod logs;
mod replay;
mod rows;
mod virtuals;
mod world;
