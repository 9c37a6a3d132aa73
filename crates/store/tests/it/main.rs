//! The tests of the store: one contract for all back ends, and what each back end promises beyond it.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on panics, also in a helper")]

mod contract;
mod judge;
mod postgres;
mod sqlite;
mod support;
