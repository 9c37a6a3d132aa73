//! `lanai rpkg`: package revisions on a server.
//!
//! | module | what it is about |
//! |---|---|
//! | `args` | what can be typed |
//! | `get`, `create`, `lifecycle`, `pull`, `push`, `upgrade`, `upgrade_all`, `diff`, `log`, `blame`, `edit` | the commands |
//! | `ancestry` | where revisions come from |
//! | `discover` | what could be upgraded |
//! | `server` | revisions and their files, asked for and changed |
//! | `files` | the files of a revision, here |
//! | `many` | one thing after another |

mod ancestry;
mod args;
mod blame;
mod create;
mod diff;
mod discover;
mod edit;
mod files;
mod get;
mod lifecycle;
mod log;
mod many;
mod pull;
mod push;
mod server;
mod upgrade;
mod upgrade_all;

use crate::client::{Client, Connection};
use crate::failure::Failure;
use crate::io::{Exit, Io};
use crate::persona::Persona;

pub(crate) use args::{ApiVersion, Rpkg, RpkgCommand};
pub(crate) use server::{REVISIONS, Rehearsal};
use server::{Server, Version};

/// Runs one of the commands.
pub(crate) fn run(
    command: &RpkgCommand,
    connection: &Connection,
    version: &ApiVersion,
    persona: Persona,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    // What was begun is told before the process ends.
    let _busy = io.stop.busy();
    let version = Version::of(version.api_version.as_deref(), io)?;
    let server = &Server { client: Client::new(connection, persona, io)?, version, persona };
    match command {
        RpkgCommand::Get(get) => get::run(get, server, io),
        RpkgCommand::Init(init) => create::init(init, server, io),
        RpkgCommand::Clone(clone) => create::clone(clone, server, io),
        RpkgCommand::Copy(copy) => create::copy(copy, server, io),
        RpkgCommand::Propose(many) => lifecycle::propose(many, server, io),
        RpkgCommand::Approve(many) => lifecycle::approve(many, server, io),
        RpkgCommand::Reject(many) => lifecycle::reject(many, server, io),
        RpkgCommand::ProposeDelete(many) => lifecycle::propose_delete(many, server, io),
        RpkgCommand::Del(many) => lifecycle::delete(many, server, io),
        RpkgCommand::Pull(pull) => pull::run(pull, server, io),
        RpkgCommand::Push(push) => push::run(push, server, io),
        RpkgCommand::Edit(edit) => edit::run(edit, server, io),
        RpkgCommand::Upgrade(upgrade) => upgrade::run(upgrade, server, io),
        RpkgCommand::Diff(diff) => diff::run(diff, server, io),
        RpkgCommand::Log(log) => log::run(log, server, io),
        RpkgCommand::Blame(blame) => blame::run(blame, server, io),
    }
}
