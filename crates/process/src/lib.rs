//! Starts other programs: the one place that does.
//!
//! A [`Command`] says everything about a program before it starts: its arguments, its whole environment, its limits.
//! Nothing is inherited but the network and the file system. A program ends when its owner lets go of it, together with
//! all that it started in its process group.
//!
//! A program that is not trusted runs in a [`Cage`]: see [`Command::run_caged`]. The cage is made by our own binary, which is started
//! as a [launcher](launch()) and becomes the program.

mod cage;
mod child;
mod command;
mod connection;
mod error;
mod launch;
mod run;
mod signals;

pub use cage::{
    ADDRESS_SPACE, Access, Cage, CageLimits, Caged, Caging, FilesHeld, Held, Network, NetworkHeld, Policy,
    ProcessesHeld, Shortfall, Tree, User, UserHeld, View,
};
pub use child::Killer;
pub use command::{Command, Limits};
pub use connection::{Connection, Input, Output};
pub use error::Error;
pub use launch::launch;
pub use run::{Finished, Status};
pub use signals::Signals;
