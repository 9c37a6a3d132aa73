//! The program that makes containers.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use lanai_process::{Command, Finished, Limits};
use lanai_types::ByteSize;

use crate::Caller;

/// How long the engine may take for what is a matter of milliseconds.
pub(super) const MAX_STEP: Duration = Duration::from_secs(30);

/// Which engine it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EngineKind {
    /// podman.
    Podman,
    /// docker.
    Docker,
    /// nerdctl.
    Nerdctl,
}

impl EngineKind {
    /// All of them, in the order in which they are looked for.
    pub const ALL: [Self; 3] = [Self::Podman, Self::Docker, Self::Nerdctl];

    /// The name of its program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
            Self::Nerdctl => "nerdctl",
        }
    }
}

/// A name that no engine has. The text is kpt's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unsupported runtime: {name:?} the runtime must be one of [docker podman nerdctl]")]
pub struct UnknownEngine {
    name: String,
}

impl std::str::FromStr for EngineKind {
    type Err = UnknownEngine;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| UnknownEngine { name: name.to_owned() })
    }
}

/// The program that makes containers, as somebody calls it: it has the environment of its caller.
#[derive(Clone, Debug)]
pub struct ContainerEngine {
    kind: EngineKind,
    program: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

impl fmt::Display for ContainerEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())
    }
}

impl ContainerEngine {
    /// The first of these engines that is there, by the `PATH` of its caller. Whether it works, it says when it is needed.
    pub fn find(kinds: &[EngineKind], caller: &Caller) -> Option<Self> {
        kinds.iter().find_map(|kind| {
            let program = caller.find(kind.name()).ok()?;
            Some(Self { kind: *kind, program, environment: caller.environment.clone() })
        })
    }

    /// Which one it is.
    pub fn kind(&self) -> EngineKind {
        self.kind
    }

    /// Whether the caller has a variable.
    pub(super) fn has_variable(&self, name: &str) -> bool {
        self.environment.iter().any(|(own, _)| own == name)
    }

    /// A command of the engine.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let command = Command::new(&self.program).folder("/");
        let command = command.variables(self.environment.iter().map(|(name, value)| (name, value)));
        words.iter().fold(command, |command, word| command.argument(*word))
    }

    /// Removes a container, whatever it does; the answer comes when it is gone. One that is not there is no error.
    pub(super) fn remove(&self, name: &str) -> Result<(), String> {
        let words: &[&str] = match self.kind {
            EngineKind::Podman => &["rm", "--force", "--time", "0", "--volumes", "--ignore", name],
            EngineKind::Docker | EngineKind::Nerdctl => &["rm", "--force", "--volumes", name],
        };
        let finished = self.ask(words)?;
        let is_gone = || finished.messages.to_lowercase().contains("no such container");
        if finished.status.is_success() || is_gone() { Ok(()) } else { Err(said(&finished)) }
    }

    /// Runs a short command to its end. Nobody can end it early.
    pub(super) fn ask(&self, words: &[&str]) -> Result<Finished, String> {
        self.command(words).run(&[], &step(MAX_STEP), |_| {}).map_err(|cause| cause.to_string())
    }
}

/// Bounds on a command whose output is of ours.
pub(super) fn step(max_time: Duration) -> Limits {
    Limits { max_time, max_output: ByteSize::mib(16), max_messages: ByteSize::kib(64) }
}

/// What a command of the engine said when it failed: its last words, without the word that all errors begin with.
pub(super) fn said(finished: &Finished) -> String {
    let words = finished.messages.trim();
    if words.is_empty() {
        return format!("it ended with {}", finished.status);
    }
    words.strip_prefix("Error: ").unwrap_or(words).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_have_names() {
        for kind in EngineKind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        let error = "crio".parse::<EngineKind>().unwrap_err();
        let text = "unsupported runtime: \"crio\" the runtime must be one of [docker podman nerdctl]";
        assert_eq!(error.to_string(), text);
    }
}
