//! What is to be started.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdin, ChildStdout, Stdio};
use std::time::Duration;

use lanai_types::ByteSize;
use rustix::process::Uid;

use crate::cage::plan::VARIABLE;
use crate::child::Child;
use crate::connection::Connection;
use crate::run::{self, Finished, Status};
use crate::{Error, Killer};

/// A program and everything that it is given.
///
/// The environment is empty until variables are put in. A name without a slash is looked up in the `PATH` among them.
#[derive(Clone, Debug)]
pub struct Command {
    program: Program,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    folder: Option<PathBuf>,
    group: Group,
}

/// The process group of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// Its own: it ends with all that it started, and cannot read a terminal.
    Own,
    /// That of this process: it may ask the person at the terminal, and ends alone.
    Ours,
}

#[derive(Clone, Debug)]
enum Program {
    Named(OsString),
    /// A line that somebody wrote for a shell.
    ShellLine(OsString),
}

/// Bounds on a program. All are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it may run; in a [`Connection`], how long it may be silent while somebody waits for it.
    pub max_time: Duration,
    /// What it may write to its standard output. A [`Connection`] has no such bound; its reader has.
    pub max_output: ByteSize,
    /// How much is kept of what it writes to its standard error output. What comes after that is thrown away.
    pub max_messages: ByteSize,
}

impl Limits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_time: Duration::from_mins(1),
        max_output: ByteSize::mib(16),
        max_messages: ByteSize::kib(64),
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Group {
    /// Its number, for a program that is to be started. Where a terminal is, only the group of the one who reads it may do so.
    fn id(self) -> i32 {
        match self {
            Self::Own => 0,
            Self::Ours => rustix::process::getpgrp().as_raw_nonzero().get(),
        }
    }
}

impl Command {
    /// A program by its name or path. No shell is involved.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self::of(Program::Named(program.into()))
    }

    /// A line for `sh`, for settings that are defined to be one (as Git's `core.sshCommand` is). Arguments are passed
    /// beside the line, so the shell never reads them.
    pub fn shell(line: impl Into<OsString>) -> Self {
        Self::of(Program::ShellLine(line.into()))
    }

    fn of(program: Program) -> Self {
        Self { program, arguments: Vec::new(), environment: Vec::new(), folder: None, group: Group::Own }
    }

    /// Adds an argument.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Sets a variable of the environment; the last one of a name counts.
    #[must_use]
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// Sets variables of the environment.
    #[must_use]
    pub fn variables<N: AsRef<OsStr>, V: AsRef<OsStr>>(
        mut self,
        variables: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        let variables = variables.into_iter();
        self.environment
            .extend(variables.map(|(name, value)| (name.as_ref().to_owned(), value.as_ref().to_owned())));
        self
    }

    /// The folder to start in; the current one where none is named.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// Lets the program ask the person at the terminal of this process, where there is one. When it is ended, what it started itself
    /// is not ended with it.
    #[must_use]
    pub fn at_terminal(mut self) -> Self {
        self.group = Group::Ours;
        self
    }

    /// The name of the program, for messages: of a shell line, the line.
    pub fn name(&self) -> String {
        let (Program::Named(name) | Program::ShellLine(name)) = &self.program;
        name.to_string_lossy().into_owned()
    }

    /// Runs the program to its end, with `input` as its standard input.
    ///
    /// `watch` gets a handle by which another thread can end it early; the program then counts as killed.
    ///
    /// # Errors
    /// When it cannot be started or exceeds a limit; it is dead then. A program that fails is no error here: see
    /// [`Finished::status`].
    pub fn run(&self, input: &[u8], limits: &Limits, watch: impl FnOnce(Killer)) -> Result<Finished, Error> {
        let child = self.start()?;
        watch(child.killer());
        run::to_the_end(child, &self.name(), input, limits)
    }

    /// Runs the program to its end where this process is: with its standard input and outputs, and its terminal. For editors, which
    /// people leave when they like.
    ///
    /// # Errors
    /// When it cannot be started, or not be waited for.
    pub fn attend(&self) -> Result<Status, Error> {
        let mut command = self.as_child();
        command.stdin(Stdio::inherit()).stdout(Stdio::inherit()).stderr(Stdio::inherit());
        command.process_group(Group::Ours.id());
        command.status().map(Status::of).map_err(|cause| self.not_started(cause))
    }

    /// Starts the program and talks to it over its standard input and output.
    pub fn connect(&self, limits: &Limits) -> Result<Connection, Error> {
        Connection::new(self.start()?, self.name(), *limits)
    }

    /// The program that is really started, and its arguments.
    fn invocation(&self) -> (OsString, Vec<OsString>) {
        let line = match &self.program {
            Program::Named(name) => return (name.clone(), self.arguments.clone()),
            Program::ShellLine(line) => line,
        };
        let mut script = line.clone();
        if !self.arguments.is_empty() {
            script.push(" \"$@\"");
        }
        let mut arguments = vec!["-c".into(), script, line.clone()];
        arguments.extend(self.arguments.iter().cloned());
        ("sh".into(), arguments)
    }

    /// The same, started by a launcher. The arguments are those of a launcher: a word, a plan, the program, its arguments.
    pub(crate) fn in_launcher(&self, launcher: &Path, word: &str, plan: &str) -> Self {
        let (program, own) = self.invocation();
        let mut arguments = vec![OsString::from(word), plan.into(), program];
        arguments.extend(own);
        Self {
            program: Program::Named(launcher.into()),
            arguments,
            environment: self
                .environment
                .iter()
                .map(|(name, value)| (disguised(name), value.clone()))
                .collect(),
            folder: Some("/".into()),
            group: self.group,
        }
    }

    pub(crate) fn start(&self) -> Result<Child, Error> {
        let started = self.as_child().spawn().and_then(|child| Child::new(child, self.group));
        started.map_err(|cause| self.not_started(cause))
    }

    /// Starts the program with pipes that are those of a user, who can open them by name, as shells do with `/dev/stderr`. They
    /// are that before anything runs.
    pub(crate) fn start_for(&self, user: u32) -> Result<Child, Error> {
        let started = || {
            let (stdin, our_stdin) = io::pipe()?;
            let (our_stdout, stdout) = io::pipe()?;
            let (our_stderr, stderr) = io::pipe()?;
            let user = Some(Uid::from_raw(user));
            rustix::fs::fchown(&stdin, user, None)?;
            rustix::fs::fchown(&stdout, user, None)?;
            rustix::fs::fchown(&stderr, user, None)?;
            let mut child = self.as_child().stdin(stdin).stdout(stdout).stderr(stderr).spawn()?;
            child.stdin = Some(ChildStdin::from(OwnedFd::from(our_stdin)));
            child.stdout = Some(ChildStdout::from(OwnedFd::from(our_stdout)));
            child.stderr = Some(ChildStderr::from(OwnedFd::from(our_stderr)));
            Child::new(child, self.group)
        };
        started().map_err(|cause| self.not_started(cause))
    }

    #[allow(clippy::disallowed_methods, reason = "this is the place where processes are started")]
    fn as_child(&self) -> std::process::Command {
        let (program, arguments) = self.invocation();
        let mut command = std::process::Command::new(program);
        command.args(arguments).env_clear();
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(self.group.id());
        command
    }

    fn not_started(&self, cause: io::Error) -> Error {
        let program = match &self.program {
            Program::Named(name) => name.to_string_lossy().into_owned(),
            Program::ShellLine(_) => "sh".to_owned(),
        };
        let folder_is_there = self.folder.as_ref().is_none_or(|folder| folder.is_dir());
        if cause.kind() == io::ErrorKind::NotFound && folder_is_there {
            return Error::NotFound { program };
        }
        Error::Start { program, cause }
    }
}

/// The name of a variable on its way through a launcher.
fn disguised(name: &OsStr) -> OsString {
    let mut disguised = OsString::from(VARIABLE);
    disguised.push(name);
    disguised
}
