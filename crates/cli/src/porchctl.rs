//! What can be typed under the name `porchctl`, and how it answers.

use std::ffi::OsString;

use clap::error::{ContextKind, ErrorKind};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::client::Connection;
use crate::failure::Failure;
use crate::io::{Exit, Io};
use crate::persona::Persona;
use crate::repo::RepoCommand;
use crate::rpkg::{ApiVersion, RpkgCommand};
use crate::{repo, rpkg};

/// Looks after package repositories and package revisions, for scripts that were written for porchctl.
#[derive(Debug, Parser)]
#[command(name = "porchctl")]
struct Porchctl {
    #[command(flatten)]
    connection: Connection,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Manage package repositories
    #[command(visible_alias = "repository")]
    Repo {
        #[command(subcommand)]
        command: RepoCommand,
    },
    /// Manage packages
    Rpkg {
        #[command(flatten)]
        version: ApiVersion,
        #[command(subcommand)]
        command: RpkgCommand,
    },
    /// Print the version
    Version,
}

/// Runs one command as porchctl would.
pub(crate) fn run(arguments: Vec<OsString>, io: &mut Io<'_>) -> Exit {
    let parsed = tree().try_get_matches_from(arguments);
    let done = match parsed.and_then(|matches| Porchctl::from_arg_matches(&matches)) {
        Ok(Porchctl { connection, command: Command::Repo { command } }) => {
            repo::run(&command, &connection, Persona::Porchctl, io)
        }
        Ok(Porchctl { connection, command: Command::Rpkg { version, command } }) => {
            rpkg::run(&command, &connection, &version, Persona::Porchctl, io)
        }
        Ok(Porchctl { command: Command::Version, .. }) => version(io),
        Err(error) => return refused(&error, io),
    };
    match done {
        Ok(exit) => exit,
        Err(Failure::NobodyReads) => Exit::Success,
        Err(Failure::Told(message)) => {
            let _ = io.stderr.write_all(message.porchctl().as_bytes());
            Exit::Failure
        }
    }
}

/// The commands. There, `rpkg edit` is another name of `rpkg copy`.
fn tree() -> clap::Command {
    let tree = Porchctl::command().mut_subcommand("rpkg", |rpkg| {
        let rpkg = rpkg.mut_subcommand("edit", |edit| edit.name("edit-files").hide(true));
        rpkg.mut_subcommand("copy", |copy| copy.visible_alias("edit"))
    });
    as_in_go(tree)
}

/// Flags that are there or not can be given as `--all=true`, too.
fn as_in_go(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|flag| match flag.get_action() {
        ArgAction::SetTrue => flag
            .action(ArgAction::Set)
            .num_args(0..=1)
            .require_equals(true)
            .value_name("BOOL")
            .default_value("false")
            .default_missing_value("true")
            .value_parser(truth),
        _ => flag,
    });
    command.mut_subcommands(as_in_go)
}

/// Reads yes or no as Go does.
fn truth(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing \"{text}\": invalid syntax")),
    }
}

fn version(io: &mut Io<'_>) -> Result<Exit, Failure> {
    io.print(&format!("Version: {}\nGit commit: unknown\n", env!("CARGO_PKG_VERSION")))?;
    Ok(Exit::Success)
}

fn refused(error: &clap::Error, io: &mut Io<'_>) -> Exit {
    let text = error.render().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            let _ = io.print(&text);
            Exit::Success
        }
        // A group alone, or with a word that it does not know, says what there is.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand | ErrorKind::MissingSubcommand => {
            io.tell(&text);
            Exit::Success
        }
        ErrorKind::InvalidSubcommand if text.contains("Usage: porchctl r") => {
            io.tell(&text);
            Exit::Success
        }
        kind => {
            let (word, text) =
                match (kind, error.get(ContextKind::InvalidArg), error.get(ContextKind::InvalidSubcommand)) {
                    (ErrorKind::UnknownArgument, Some(flag), _) => ("Error", format!("unknown flag: {flag}")),
                    (_, _, Some(command)) => {
                        ("error", format!("unknown command \"{command}\" for \"porchctl\""))
                    }
                    _ => {
                        let first = text.lines().next().unwrap_or_default();
                        ("Error", first.strip_prefix("error: ").unwrap_or(first).to_owned())
                    }
                };
            let end = if word == "Error" { " " } else { "" };
            let _ = writeln!(io.stderr, "{word}: {text}{end}");
            Exit::Failure
        }
    }
}
