//! What goes over the wire and comes back.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod wire;
