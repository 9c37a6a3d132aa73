//! Calls of helm, one after the other.

use std::path::{Component, Path, PathBuf};

use lanai_evaluate::{Deadline, Error, Failed, Failing, Grants, Mount, MountAccess, Network, User};
use lanai_krm::ResultItem;
use lanai_krm::result::Severity;
use lanai_process::{Command, Limits};
use tempfile::TempDir;

use super::PROGRAM;
use crate::job::Watch;
use crate::{Caller, ExecLimits, ExecMode, answer};

/// What all calls have in common.
pub(super) struct Setup {
    /// Where helm is.
    pub program: PathBuf,
    /// Who asks.
    pub caller: Caller,
    /// What helm sees of the machine.
    pub mode: ExecMode,
    /// How much each call may take.
    pub limits: ExecLimits,
    /// What is granted.
    pub grants: Grants,
    /// When all has to be done.
    pub deadline: Deadline,
}

/// Calls that share a folder, which is removed in the end.
pub(super) struct Session<'s> {
    setup: &'s Setup,
    watch: &'s Watch,
    folder: TempDir,
    config_home: Option<PathBuf>,
    /// What helm said beside its answers.
    pub stderr: String,
}

/// A call.
pub(super) struct Call {
    /// What helm is to do: `template`, `pull`.
    pub verb: Vec<&'static str>,
    /// Options, as `--name=value`.
    pub options: Vec<String>,
    /// Arguments, which are never taken for options.
    pub arguments: Vec<String>,
    /// What helm reads from its standard input.
    pub input: String,
    /// Which network it needs.
    pub network: Network,
}

/// The function failed, for this reason.
pub(super) fn failed(message: &str, stderr: &str) -> Error {
    let result =
        ResultItem { message: message.to_owned(), severity: Some(Severity::Error), ..ResultItem::default() };
    let stderr = format!("{stderr}{message}\n");
    Error::Failed(Box::new(Failed { why: Failing::Exit(1), exit_code: 1, results: vec![result], stderr }))
}

impl<'s> Session<'s> {
    /// Makes the folder.
    ///
    /// # Errors
    /// When the machine does not let us.
    pub fn new(setup: &'s Setup, watch: &'s Watch, config_home: Option<&str>) -> Result<Self, Error> {
        let temporary = setup.caller.variable("TMPDIR").map_or_else(|| "/tmp".into(), PathBuf::from);
        let folder = tempfile::Builder::new().prefix("lanai-helm-").tempdir_in(temporary);
        let folder = folder
            .map_err(|cause| Error::Infrastructure(format!("cannot make a folder for helm: {cause}")))?;
        let mut session = Self { setup, watch, folder, config_home: None, stderr: String::new() };
        session.config_home = config_home.and_then(|home| session.locate(home)).filter(|home| home.is_dir());
        Ok(session)
    }

    /// A file or folder in the folder of the session.
    pub fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where a path leads to through the mounts; `None` when it is in none of them. Paths begin at the root, as in a
    /// container.
    pub fn locate(&self, path: &str) -> Option<PathBuf> {
        let path = plain(path);
        let mounts = self.setup.grants.mounts.iter();
        let holding = mounts.filter(|mount| path.starts_with(&mount.target));
        let mount = holding.max_by_key(|mount| mount.target.components().count())?;
        let rest = path.strip_prefix(&mount.target).ok()?;
        Some(self.setup.caller.folder.join(&mount.source).join(rest))
    }

    /// Fails unless the network is granted.
    ///
    /// # Errors
    /// A refusal that says what the network is needed for.
    pub fn need_network(&self, what: &str) -> Result<(), Error> {
        match self.setup.grants.network {
            Network::Host => Ok(()),
            Network::None => Err(Error::Refused(format!(
                "{what}, which needs the network; allow it with `--allow-network`"
            ))),
        }
    }

    /// Calls helm, and gives what it wrote.
    ///
    /// # Errors
    /// When it fails, cannot be started or exceeds a limit.
    pub fn call(&mut self, call: &Call) -> Result<String, Error> {
        let setup = self.setup;
        let mut command = Command::new(&setup.program);
        for word in &call.verb {
            command = command.argument(*word);
        }
        for word in call.options.iter().map(String::as_str).chain(["--"]) {
            command = command.argument(word);
        }
        for word in &call.arguments {
            command = command.argument(word);
        }
        let command = self.environment(command);
        let left = setup.deadline.left();
        let limits = Limits {
            max_time: left.min(setup.limits.max_time),
            max_output: setup.limits.max_output,
            max_messages: setup.limits.max_stderr,
        };
        let input = call.input.as_bytes();
        let done = match &setup.mode {
            ExecMode::AsKpt => command.run(input, &limits, |killer| self.watch.started(killer)),
            ExecMode::Caged(launcher) => {
                let grants = Grants { network: call.network, ..self.views() };
                let cage = launcher.cage(&setup.program, &setup.caller, &grants, &setup.limits);
                launcher.run(&command, &cage, input, &limits, self.watch)
            }
        };
        let finished = match done.map_err(answer::error) {
            Ok(finished) => finished,
            Err(Error::Timeout { stderr, .. }) => {
                let limit =
                    if left < setup.limits.max_time { setup.deadline.limit } else { setup.limits.max_time };
                return Err(Error::Timeout { limit, stderr: format!("{}{stderr}", self.stderr) });
            }
            Err(error) => return Err(error),
        };
        let verb = call.verb.join(" ");
        let said = finished.messages.trim();
        if !finished.status.is_success() {
            return Err(
                self.generator(&format!("unable to run: '{PROGRAM} {verb}': {}: {said}", finished.status))
            );
        }
        if !said.is_empty() {
            self.stderr.push_str(said);
            self.stderr.push('\n');
        }
        String::from_utf8(finished.output)
            .map_err(|_| self.generator(&format!("'{PROGRAM} {verb}' wrote something that is no text")))
    }

    /// The function failed while it made resources.
    pub fn generator(&self, why: &str) -> Error {
        failed(&format!("failed to run function: failed to run generator: {why}"), &self.stderr)
    }

    /// What helm sees: the mounts where they are, and the folder of the session.
    fn views(&self) -> Grants {
        let setup = self.setup;
        let mut mounts: Vec<Mount> = Vec::new();
        for mount in &setup.grants.mounts {
            let source = setup.caller.folder.join(&mount.source);
            mounts.push(Mount { target: source.clone(), source, access: MountAccess::ReadOnly });
        }
        let own = self.folder.path().to_path_buf();
        mounts.push(Mount { source: own.clone(), target: own, access: MountAccess::ReadWrite });
        // The folder is the caller's, and so are the files that are mounted.
        Grants { mounts, user: User::Caller, ..Grants::default() }
    }

    /// Helm keeps what it has to keep in the folder of the session, and finds there what it wrote.
    fn environment(&self, command: Command) -> Command {
        let config_home = self.config_home.clone().unwrap_or_else(|| self.at("config"));
        let granted = self.setup.grants.variables.iter().map(|variable| (&variable.name, &variable.value));
        command
            .variable("HOME", self.folder.path())
            .variable("HELM_CONFIG_HOME", config_home)
            .variable("HELM_CACHE_HOME", self.at("cache"))
            .variable("HELM_DATA_HOME", self.at("data"))
            .variable("HELM_REPOSITORY_CONFIG", self.at("repositories.yaml"))
            .variables(granted)
    }
}

/// A path from the root, without `.` and `..`.
fn plain(path: &str) -> PathBuf {
    let mut plain = PathBuf::from("/");
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => {
                plain.pop();
            }
            Component::RootDir | Component::CurDir | Component::Prefix(_) => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_begin_at_the_root_and_stay_below_it() {
        for (path, expected) in [
            ("tmp/charts", "/tmp/charts"),
            ("/tmp/./charts/", "/tmp/charts"),
            ("tmp/../../../etc", "/etc"),
            ("..", "/"),
            ("", "/"),
        ] {
            assert_eq!(plain(path), Path::new(expected), "{path}");
        }
    }
}
