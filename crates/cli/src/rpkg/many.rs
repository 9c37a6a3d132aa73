//! One thing after another: what fails does not stop the rest.

use super::server::Server;
use crate::client::{Refusal, Trouble};
use crate::failure::{Code, Failure};
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
    Text(Code, String),
    /// The server said no.
    Refused(Box<Refusal>),
    /// Somebody wants the command to end.
    Stopped,
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Stopped => Self::Stopped,
            Trouble::Refused(refusal) => Self::Refused(Box::new(refusal)),
            Trouble::Unreachable(_) => Self::Text(trouble.code(), trouble.to_string()),
        }
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        match problem {
            Problem::Text(code, text) => Self::of(code, text),
            Problem::Refused(refusal) => Trouble::Refused(*refusal).into(),
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
    if names.is_empty() && server.persona != Persona::Porchctl {
        return Err(Failure::of(Code::Usage, "PACKAGE_REVISION is a required positional argument")
            .hint("\"lanai rpkg get\" lists the revisions"));
    }
    let mut failed = Vec::new();
    let mut code = Code::Several;
    let mut first = None;
    for (at, name) in names.iter().enumerate() {
        if io.stop.is_asked() {
            return Err(stopped(names, at, io));
        }
        match work(name, io) {
            Ok(Said::Result(line)) => io.print(&format!("{line}\n"))?,
            Ok(Said::Note(line)) => io.tell(&line),
            Err(Problem::Stopped) => return Err(stopped(names, at, io)),
            Err(problem @ (Problem::Text(..) | Problem::Refused(_))) => {
                let (why, text) = told(problem, server.persona, io);
                io.tell(&format!("{name} failed ({text})"));
                // Several that failed for one reason have one page to read.
                code = if failed.is_empty() || code == why { why } else { Code::Several };
                first.get_or_insert_with(|| name.clone());
                failed.push(text);
            }
        }
    }
    match (failed.len(), server.persona) {
        (0, _) => Ok(Exit::Success),
        (_, Persona::Porchctl) => Err(Failure::of(code, format!("errors:\n  {}", failed.join("\n  ")))),
        (number, _) => {
            let text = match (number, names.len()) {
                (1, 1) => "nothing was done".to_owned(),
                (number, all) => format!("{number} of {all} failed"),
            };
            let failure = Failure::of(code, text);
            Err(match (code, first) {
                (Code::FunctionFailed, Some(name)) => failure.hint(format!(
                    "to run its pipeline here: lanai rpkg pull {name} FOLDER, then lanai fn render FOLDER --diff"
                )),
                _ => failure,
            })
        }
    }
}

/// Why one failed. What functions said about it is told at once.
fn told(problem: Problem, persona: Persona, io: &mut Io<'_>) -> (Code, String) {
    match problem {
        Problem::Text(code, text) => (code, text),
        Problem::Refused(refusal) => {
            if persona != Persona::Porchctl {
                refusal.tell_causes(io);
            }
            (refusal.cause(), refusal.to_string())
        }
        Problem::Stopped => (Code::Interrupted, Trouble::Stopped.to_string()),
    }
}

/// Says how far it is.
fn stopped(names: &[String], at: usize, io: &mut Io<'_>) -> Failure {
    let rest = names[at..].join(", ");
    io.tell(&format!("stopped: {at} of {} were gone through; left are {rest}", names.len()));
    Trouble::Stopped.into()
}
