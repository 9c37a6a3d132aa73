//! Starts other programs: the one place that does.
//!
//! A [`Command`] says everything about a program before it starts: its arguments, its whole environment, its limits.
//! Nothing is inherited but the network and the file system. A program ends when its owner lets go of it, together with
//! all that it started in its process group.

mod child;
mod command;
mod connection;
mod error;
mod run;

pub use child::Killer;
pub use command::{Command, Limits};
pub use connection::{Connection, Input, Output};
pub use error::Error;
pub use run::{Finished, Status};
