//! What a program may see and take, and what of that could be held.

pub(crate) mod memory;
pub(crate) mod plan;
mod run;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lanai_types::ByteSize;
use serde::{Deserialize, Serialize};

pub use run::{Caged, Caging};

/// A cage for a program: what it sees of the machine, and how much it may take of it.
///
/// Inside, the program finds the [views](View) and what the system consists of, an empty folder of its own to work in, another
/// one in `/tmp`, and nothing else; no network; nobody's processes but its own; nobody's rights. When it ends, or its owner
/// lets go of it, or its owner dies, everything that it started dies, wherever it has hidden, and the folders are gone.
#[derive(Clone, Debug)]
pub struct Cage {
    /// The program that makes the cage: one that calls [`launch`](crate::launch) before it does anything else.
    pub launcher: PathBuf,
    /// What to do when the machine cannot hold all of it.
    pub policy: Policy,
    /// Which network the program reaches.
    pub network: Network,
    /// As whom it runs.
    pub user: User,
    /// What it sees beside the system.
    pub views: Vec<View>,
    /// How much it may take.
    pub limits: CageLimits,
    /// Where a folder for the program is made if it cannot get one that nobody else sees.
    pub temporary: PathBuf,
}

/// What to do when a machine cannot hold all that a cage promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// Nothing is started.
    Strict,
    /// The program is started, and [`Held`] says what was possible.
    BestEffort,
}

/// Which network a program reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Network {
    /// None at all.
    None,
    /// That of the machine.
    Host,
}

/// As whom a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum User {
    /// As nobody, when started by root; else as whoever started it, without any other right.
    Nobody,
    /// As whoever started it.
    Caller,
}

/// A file or folder that a program sees.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct View {
    /// Where it is on this machine; an absolute path.
    pub source: PathBuf,
    /// Where the program finds it; an absolute path.
    pub target: PathBuf,
    /// Whether it may change it.
    pub access: Access,
}

/// Whether a program may change what it sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// It may look.
    Read,
    /// It may change it.
    Write,
}

impl View {
    /// A file or folder that may be looked at where it is.
    pub fn of(path: impl Into<PathBuf>) -> Self {
        let source = path.into();
        Self { target: source.clone(), source, access: Access::Read }
    }
}

/// How much a caged program may take. All are inclusive. Time and output are in [`Limits`](crate::Limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CageLimits {
    /// The memory that it may have with all that it started, what is shared counted once. That is looked at many times a second;
    /// what one process has for data (heap, stacks, private maps) is held by the kernel as well. Address space that is
    /// only reserved does not count up to [`ADDRESS_SPACE`] more.
    pub max_memory: ByteSize,
    /// Processes and threads at a time, the program itself included.
    pub max_processes: u32,
    /// Descriptors that each of its processes may have open.
    pub max_open_files: u32,
    /// All that the program keeps in its folders. Where it has no private ones, each file that it writes.
    pub max_files: ByteSize,
    /// Time on a processor, for each of its processes: a net below the limit on time, which its owner holds.
    pub max_cpu: Duration,
}

/// Address space that a process may reserve beyond its memory. Runtimes such as Go's and Java's reserve much and use little.
pub const ADDRESS_SPACE: ByteSize = ByteSize::gib(8);

impl CageLimits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_memory: ByteSize::gib(1),
        max_processes: 256,
        max_open_files: 1024,
        max_files: ByteSize::mib(256),
        max_cpu: Duration::from_mins(30),
    };
}

impl Default for CageLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// What could be held of a cage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// How the program's processes are found when it is to end.
    pub tree: Tree,
    /// What it reaches of the network.
    pub network: NetworkHeld,
    /// What it sees of the files.
    pub files: FilesHeld,
    /// The version of Landlock that guards files, signals and, without a network of its own, connections.
    pub landlock: Option<u8>,
    /// Whose processes count against its limit.
    pub processes: ProcessesHeld,
    /// As whom it runs.
    pub user: UserHeld,
}

/// How the processes of a program are found when it is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tree {
    /// The kernel ends all of them with the first one.
    PidNamespace,
    /// Those that stayed in its process group.
    ProcessGroup,
}

/// What a program reaches of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NetworkHeld {
    /// Nothing.
    Cut,
    /// No connections over TCP; anything else.
    TcpCut,
    /// Everything.
    Open,
}

/// What a program sees of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilesHeld {
    /// A file system of its own, with the views in it.
    PrivateRoot,
    /// That of the machine, of which it can open the views only.
    Guarded,
    /// That of the machine.
    Open,
}

/// Whose processes count against the limit of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ProcessesHeld {
    /// Its own.
    Own,
    /// All processes of its user; those that were there before it are allowed for.
    OfUser,
    /// Nobody's: the kernel does not count those of root.
    NotCounted,
}

/// As whom a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum UserHeld {
    /// As nobody.
    Nobody,
    /// As whoever started it, without any other right.
    Caller,
}

/// Something that a cage promises and that could not be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// What leaves the process group lives on.
    Tree,
    /// Some or all of the network can be reached.
    Network,
    /// Files can be opened that nobody granted.
    Files,
    /// The number of processes is not bounded.
    Processes,
}

impl fmt::Display for Shortfall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tree => "processes that leave the group of the function cannot be ended with it",
            Self::Network => "the network cannot be cut off",
            Self::Files => "files of the machine cannot be hidden",
            Self::Processes => "the processes of the function cannot be counted",
        })
    }
}

impl Held {
    /// What was asked for and could not be held.
    pub fn shortfalls(&self, network: Network) -> Vec<Shortfall> {
        let cut = self.network == NetworkHeld::Cut || network == Network::Host;
        let all = [
            (self.tree == Tree::PidNamespace, Shortfall::Tree),
            (cut, Shortfall::Network),
            (self.files != FilesHeld::Open, Shortfall::Files),
            (self.processes != ProcessesHeld::NotCounted, Shortfall::Processes),
        ];
        all.into_iter().filter(|(held, _)| !held).map(|(_, shortfall)| shortfall).collect()
    }
}

/// What the system consists of, for programs: they find it in every cage.
pub(crate) const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix/store", "/gnu/store"];

/// Devices that are there in every cage.
pub(crate) const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Where a program begins that has a file system of its own.
pub(crate) const FOLDER: &str = "/function";

/// Whether everybody finds a path in every cage.
pub(crate) fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|folder| path.starts_with(folder))
}
