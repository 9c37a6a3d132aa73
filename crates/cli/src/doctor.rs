//! `lanai doctor`: what is wrong with a set-up, and how to mend it.
//!
//! | module | what it is about |
//! |---|---|
//! | `report` | what was found, for people and programs |
//! | `programs` | other programs, and the way to the network |
//! | `cage` | what functions that are programs are kept from |
//! | `config` | the kubeconfig |
//! | `data` | the data directory of a server |
//! | `server` | whether the server answers, and what we may do there |
//! | `functions` | functions that packages name and nothing runs |

mod cage;
mod config;
mod data;
mod functions;
mod programs;
mod report;
mod server;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::client::Connection;
use crate::failure::Failure;
use crate::io::{Exit, Io};
use crate::pkg::local::absolute;
use report::{Check, Report, State};
use server::Place;

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Packages to look at for changes that were interrupted [default: the current folder]
    #[arg(value_name = "PKG")]
    pub packages: Vec<PathBuf>,
    /// Do not ask the server
    #[arg(long)]
    pub offline: bool,
    /// How to print what was found
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
    #[command(flatten)]
    pub connection: Connection,
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line for each check
    Text,
    /// One object
    Json,
}

/// Looks at everything, and changes nothing. Fails only where there is a problem; warnings are none.
pub(crate) fn run(command: &Doctor, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let connection = &command.connection;
    let data = crate::serve::data_dir(connection.data_dir.clone(), io).ok();
    let mut report = Report::default();
    report.add(programs::all(io));
    report.add([cage::check(io)]);
    let config = config::checks(connection, data.as_deref(), io);
    let place = config.place;
    let is_broken = config.check.state == State::Problem;
    report.add([config.check]);
    match (&data, &connection.data_dir) {
        (Some(folder), Some(_)) => report.add(data::checks(folder)),
        (Some(folder), None) if folder.is_dir() => report.add(data::checks(folder)),
        (Some(folder), None) => {
            let found = format!("there is none at {}; a server makes it when it starts", folder.display());
            report.add([Check::ok("data directory", found)]);
        }
        (None, _) => report.add([Check::problem(
            "data directory",
            "there is no place for it: HOME is not set",
            "set HOME or LANAI_DATA_DIR, or name one with --data-dir FOLDER",
        )]),
    }
    // Without a kubeconfig that can be read, nobody can be asked.
    if !command.offline && !is_broken {
        ask(connection, place, &mut report, io);
    }
    let here = [PathBuf::new()];
    let packages = if command.packages.is_empty() { here.as_slice() } else { &command.packages };
    for package in packages {
        report.add(interrupted(&absolute(package, io)?));
    }
    let text = match command.output {
        Format::Text => report.to_string(),
        Format::Json => format!("{:#}\n", report.to_json()),
    };
    io.print(&text)?;
    Ok(if report.problems() > 0 { Exit::Failure } else { Exit::Success })
}

/// Asks the server.
fn ask(connection: &Connection, place: Place, report: &mut Report, io: &mut Io<'_>) {
    let (checks, server) = server::reach(connection, place, jiff::Timestamp::now, io);
    report.add(checks);
    let Some(server) = server else { return };
    report.add(server::rights(&server, io));
    report.add(server::repositories(&server, io));
    report.add(functions::checks(&server, io));
}

/// A change of a package that was begun and not finished.
fn interrupted(package: &std::path::Path) -> Option<Check> {
    let state = package.join(lanai_folder::STATE_FOLDER);
    state.exists().then(|| {
        let found = format!("a change of {} was interrupted, or is under way", package.display());
        Check::warning(
            "interrupted changes",
            found,
            "the next lanai pkg or lanai fn command on it finishes or undoes it",
        )
    })
}
