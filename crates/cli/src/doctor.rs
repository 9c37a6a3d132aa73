//! `lanai doctor`: what is wrong with a set-up, and how to mend it.
//!
//! | module | what it is about |
//! |---|---|
//! | `report` | what was found, for people and programs |
//! | `programs` | other programs, and the way to the network |
//! | `cage` | what functions that are programs are kept from |
//! | `config` | the kubeconfig |
//! | `data` | the data directory of a server |

mod cage;
mod config;
mod data;
mod programs;
mod report;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::failure::Failure;
use crate::io::{Exit, Io};
use crate::pkg::local::absolute;
use report::{Check, Report};

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Packages to look at for changes that were interrupted [default: the current folder]
    #[arg(value_name = "PKG")]
    pub packages: Vec<PathBuf>,
    /// The data directory of a server [default: as for serve, if it is there]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// The kubeconfig [default: as kubectl finds it, else that of the data directory]
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// How to print what was found
    #[arg(short, long, value_enum, default_value_t = Format::Text)]
    pub output: Format,
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
    let data = crate::serve::data_dir(command.data_dir.clone(), io).ok();
    let mut report = Report::default();
    report.add(programs::all(io));
    report.add([cage::check(io)]);
    report.add(config::checks(command.kubeconfig.as_deref(), data.as_deref(), io));
    match (&data, &command.data_dir) {
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
