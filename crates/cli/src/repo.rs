//! `lanai repo`: repositories that a server looks after.
//!
//! | module | what it is about |
//! |---|---|
//! | `args` | what can be typed |
//! | `register` | `reg` and `unreg` |
//! | `sync` | `sync` |

mod args;
mod register;
mod sync;

use crate::client::{Client, Connection, Resource};
use crate::failure::Failure;
use crate::io::{Exit, Io};
use crate::listing::Listing;
use crate::persona::Persona;

pub(crate) use args::{Repo, RepoCommand};

/// The kind of object that a repository is.
pub(crate) const REPOSITORIES: Resource = Resource {
    group: "config.porch.kpt.dev",
    version: "v1alpha1",
    plural: "repositories",
    singular: "repository",
    kind: "Repository",
};

/// Runs one of the commands.
pub(crate) fn run(
    command: &RepoCommand,
    connection: &Connection,
    persona: Persona,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    // What was begun is told before the process ends.
    let _busy = io.stop.busy();
    let client = &Client::new(connection, persona, io)?;
    match command {
        RepoCommand::Get(get) => {
            let (names, print) = (get.names.as_slice(), &get.print);
            Listing { resource: REPOSITORIES, names, print, fields: Vec::new(), persona }.run(client, io)
        }
        RepoCommand::Reg(register) => register::register(register, client, persona, io),
        RepoCommand::Unreg(unregister) => register::unregister(unregister, client, persona, io),
        RepoCommand::Sync(sync) => sync::run(sync, client, jiff::Timestamp::now(), io),
    }
}
