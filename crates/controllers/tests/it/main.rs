//! Controllers beside a whole API server, without sockets and disks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "these are tests, in helpers too")]

mod definitions;
mod functions;
mod garbage;
mod namespaces;
mod world;
