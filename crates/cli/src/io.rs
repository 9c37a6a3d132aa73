//! Where input comes from and output goes.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::failure::{Code, Failure};
use crate::stop::Stop;

/// All that a command sees of the world, but for the files that its arguments name.
pub struct Io<'a> {
    /// What the file name `-` reads.
    pub stdin: &'a mut dyn Read,
    /// Results.
    pub stdout: &'a mut dyn Write,
    /// Errors and notes.
    pub stderr: &'a mut dyn Write,
    /// Whether results may have colours.
    pub colour: Colour,
    /// The folder in which relative file names begin; an empty one is the current folder of the process.
    pub folder: PathBuf,
    /// The environment of the process: where caches and saved copies go, and what Git is told by it.
    pub environment: BTreeMap<OsString, OsString>,
    /// Who reads the errors and notes.
    pub audience: Audience,
    /// This program itself, as a file: it makes the cages in which functions run. Without it, programs are run as their caller
    /// could run them.
    pub program: Option<PathBuf>,
    /// By which another thread can end the command early.
    pub stop: Stop,
}

/// Who reads the errors and notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// Somebody who waits at a terminal, and wants to see that something is going on.
    Terminal,
    /// A file or a program, which does not.
    Record,
}

/// Whether a text may have colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// The escape sequences of terminals.
    Ansi,
    /// None.
    Plain,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked: 0.
    Success,
    /// It could not, or a check found something: 1.
    Failure,
    /// The arguments make no sense: 2.
    Usage,
    /// There are conflicts, and nobody said whose side wins: 3.
    Conflicts,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => ExitCode::SUCCESS,
            Exit::Failure => ExitCode::FAILURE,
            Exit::Usage => ExitCode::from(2),
            Exit::Conflicts => ExitCode::from(3),
        }
    }
}

impl Io<'_> {
    /// Writes a result, at once.
    pub(crate) fn print(&mut self, text: &str) -> Result<(), Failure> {
        self.print_bytes(text.as_bytes())
    }

    /// Writes a result that need not be text, at once.
    pub(crate) fn print_bytes(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.stdout.write_all(bytes).and_then(|()| self.stdout.flush());
        written.map_err(|error| match error.kind() {
            ErrorKind::BrokenPipe => Failure::NobodyReads,
            _ => Failure::of(Code::Machine, format!("cannot write to standard output: {error}")),
        })
    }

    /// Writes an error or a note, with a line break at its end.
    pub(crate) fn tell(&mut self, text: &str) {
        // Where nobody can be told, nobody can be told that either.
        let _ = writeln!(self.stderr, "{}", text.trim_end());
    }

    /// Writes a note as it is, at once.
    pub(crate) fn tell_exactly(&mut self, text: &str) {
        // Where nobody can be told, nobody can be told that either.
        let _ = self.stderr.write_all(text.as_bytes()).and_then(|()| self.stderr.flush());
    }
}
