//! What goes into an evaluator and what comes out.

use std::fmt;
use std::path::PathBuf;

use lanai_krm::ResourceList;

/// A function to be run, and on what.
#[derive(Clone, Debug)]
pub struct Request {
    /// Which function.
    pub function: FunctionRef,
    /// The resources and the function's configuration.
    pub list: ResourceList,
    /// What the function may do beyond reading its input and writing its output.
    pub grants: Grants,
}

/// Which function is meant.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FunctionRef {
    /// The name of an image, with its registry and tag.
    Image(String),
    /// A command line.
    Exec(String),
}

impl FunctionRef {
    /// As people wrote it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Image(name) | Self::Exec(name) => name,
        }
    }
}

impl fmt::Display for FunctionRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a function may do beyond reading its input and writing its output. The default is nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    /// Which network it reaches.
    pub network: Network,
    /// Variables of its environment.
    pub variables: Vec<Variable>,
    /// Files and folders that it sees.
    pub mounts: Vec<Mount>,
    /// Programs of this machine that may be started for it, by name. This is for functions that call a certain program, such as
    /// `helm`; those that are programs themselves need no such grant.
    pub programs: Vec<String>,
    /// As whom it runs.
    pub user: User,
}

/// Which network a function reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Network {
    /// None at all.
    #[default]
    None,
    /// That of the machine.
    Host,
}

/// As whom a function runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum User {
    /// As nobody, where that is possible.
    #[default]
    Nobody,
    /// As whoever asks for it.
    Caller,
}

/// A variable of the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A file or folder that a function sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Where it is on this machine.
    pub source: PathBuf,
    /// Where the function finds it.
    pub target: PathBuf,
    /// Whether it may change it.
    pub access: MountAccess,
}

/// Whether a function may change what it sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MountAccess {
    /// It may look.
    #[default]
    ReadOnly,
    /// It may change it.
    ReadWrite,
}

/// What a function answered that did not fail.
#[derive(Clone, Debug, Default)]
pub struct Response {
    /// The resources as the function left them. Its results are those that the function reported, and no others.
    pub list: ResourceList,
    /// What it wrote to its standard error output.
    pub stderr: String,
    /// Which evaluator gave the answer.
    pub evaluator: &'static str,
    /// Always 0: whoever ends with another one failed. It is there because records of a run show it.
    pub exit_code: i32,
}
