//! Programs as functions.

use std::path::PathBuf;

use async_trait::async_trait;
use lanai_evaluate::{Deadline, Error, Evaluator, FunctionRef, Grants, Outlook, Request, Response, wire};
use lanai_krm::ResourceList;
use lanai_process::Command;
use lanai_types::quote::Quoted;

use crate::caged::{self, Launcher, Way, with_environment};
use crate::{Caller, ExecLimits, words};

/// Runs programs of this machine: the list goes to their standard input, and comes back from their standard output.
///
/// Knows [`FunctionRef::Exec`] and no images. The command line is split as kpt splits it, and the program is found as kpt finds
/// it, by the caller's `PATH` and folder. A program that cannot be found or started is [`Error::Infrastructure`]. Results that
/// the list brings along are not sent.
#[derive(Clone, Debug)]
pub struct Exec {
    /// Who asks.
    pub caller: Caller,
    /// What the program sees of the machine.
    pub mode: ExecMode,
    /// How much it may take.
    pub limits: ExecLimits,
}

/// What a program sees of the machine.
#[derive(Clone, Debug)]
pub enum ExecMode {
    /// What its caller sees: its environment, folder, files and network. Of the limits, those on time, output and messages
    /// hold. When it is ended, its process group is.
    AsKpt,
    /// `PATH`, `HOME` and `LANG`, its own folder and the system's, an empty folder to work in; no network; and what is granted.
    /// When it ends or is ended, all that it started is.
    Caged(Launcher),
}

#[async_trait]
impl Evaluator for Exec {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        let FunctionRef::Exec(line) = &request.function else {
            return Err(Error::NotFound(Box::new(request)));
        };
        let cannot = |cause: String| Error::Infrastructure(not_run(line, &cause));
        let (words, program) = self.find(line).map_err(cannot)?;
        let mut command = Command::new(&program);
        for word in &words[1..] {
            command = command.argument(word);
        }
        let grants = &request.grants;
        let (command, way) = match &self.mode {
            ExecMode::AsKpt => {
                if let Some(mount) = grants.mounts.iter().find(|mount| mount.source != mount.target) {
                    let (from, to) = (mount.source.display(), mount.target.display());
                    let why =
                        format!("\"{from}\" cannot be shown as \"{to}\" to a program that is not caged");
                    return Err(Error::Refused(why));
                }
                let variables = self.caller.environment.iter().map(|(name, value)| (name, value));
                let granted = grants.variables.iter().map(|variable| (&variable.name, &variable.value));
                (command.variables(variables).variables(granted).folder(&self.caller.folder), Way::Free)
            }
            ExecMode::Caged(launcher) => {
                let cage = launcher.cage(&program, &self.caller, grants, &self.limits);
                let command = with_environment(command, &self.caller, grants);
                (command, Way::Caged(Box::new(cage), launcher.clone()))
            }
        };
        let list = ResourceList { results: Vec::new(), ..request.list };
        let sent = wire::send(&list).map_err(|cause| cannot(cause.to_string()))?;
        caged::run(command, way, sent, &self.limits, deadline).await
    }

    fn foresee(&self, function: &FunctionRef, _: &Grants) -> Outlook {
        match function {
            FunctionRef::Image(_) => Outlook::Unknown,
            FunctionRef::Exec(line) => match self.find(line) {
                Ok(_) => Outlook::Runs,
                Err(cause) => Outlook::Cannot(not_run(line, &cause)),
            },
        }
    }
}

impl Exec {
    /// The words of a command line, and the program that the first one names.
    fn find(&self, line: &str) -> Result<(Vec<String>, PathBuf), String> {
        let words = words::split(line).map_err(|cause| cause.to_string())?;
        let program = self.caller.find(&words[0]).map_err(|cause| cause.to_string())?;
        Ok((words, program))
    }
}

fn not_run(line: &str, cause: &str) -> String {
    format!("cannot run {}: {cause}", Quoted(line))
}
