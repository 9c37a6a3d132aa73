//! One thing after another: what fails does not stop the rest.

use super::server::Server;
use crate::client::Trouble;
use crate::failure::Failure;
use crate::io::{Exit, Io};
use crate::persona::Persona;

/// What is said about one that went well.
pub(super) enum Said {
    Result(String),
    /// It was so before.
    Note(String),
}

/// Why one went wrong.
#[derive(Debug)]
pub(super) enum Problem {
    Text(String),
    /// Somebody wants the command to end.
    Stopped,
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Stopped => Self::Stopped,
            Trouble::Refused(_) | Trouble::Unreachable(_) => Self::Text(trouble.to_string()),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Text(text) => Self::new(text),
            Problem::Stopped => Trouble::Stopped.into(),
        }
    }
}

/// Does something with each name, and says of each what became of it.
///
/// # Errors
/// When one or more failed, after all were tried; and when the command is to end, after it was said how far it is.
pub(super) fn each(
    names: &[String],
    server: &Server,
    io: &mut Io<'_>,
    mut work: impl FnMut(&str, &mut Io<'_>) -> Result<Said, Problem>,
) -> Result<Exit, Failure> {
    let mut failed = Vec::new();
    for (at, name) in names.iter().enumerate() {
        if io.stop.is_asked() {
            return Err(stopped(names, at, io));
        }
        match work(name, io) {
            Ok(Said::Result(line)) => io.print(&format!("{line}\n"))?,
            Ok(Said::Note(line)) => io.tell(&line),
            Err(Problem::Stopped) => return Err(stopped(names, at, io)),
            Err(Problem::Text(why)) => {
                io.tell(&format!("{name} failed ({why})"));
                failed.push(why);
            }
        }
    }
    match (failed.len(), server.persona) {
        (0, _) => Ok(Exit::Success),
        (_, Persona::Porchctl) => Err(Failure::new(format!("errors:\n  {}", failed.join("\n  ")))),
        (1, _) if names.len() == 1 => Err(Failure::new("nothing was done")),
        (number, _) => Err(Failure::new(format!("{number} of {} failed", names.len()))),
    }
}

/// Says how far it is.
fn stopped(names: &[String], at: usize, io: &mut Io<'_>) -> Failure {
    let rest = names[at..].join(", ");
    io.tell(&format!("stopped: {at} of {} were gone through; left are {rest}", names.len()));
    Trouble::Stopped.into()
}
