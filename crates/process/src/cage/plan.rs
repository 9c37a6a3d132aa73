//! What lanai tells its launcher, and what it hears from it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{Held, Network, Policy, User, View};

/// The word that makes our own binary a launcher. The plan is the argument behind it, then the program and its arguments.
pub(crate) const OUTER: &str = "launch-caged";
/// The same for the first process inside.
pub(crate) const INNER: &str = "launch-caged-inner";

/// What stands in front of the names of the program's variables while a launcher has them: some of them, such as `LD_PRELOAD`, would
/// mean something to the launcher, which may still be root.
pub(crate) const VARIABLE: &str = "LANAI_CAGED_";

/// All that a launcher has to know.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Who started the launcher: it dies with it.
    pub parent: i32,
    pub rung: Rung,
    pub policy: Policy,
    pub network: Network,
    pub user: User,
    pub views: Vec<View>,
    pub max_memory: u64,
    pub max_processes: u64,
    pub max_open_files: u64,
    pub max_files: u64,
    pub max_cpu_seconds: u64,
    /// The folder to work in, where there is no private file system.
    pub folder: Option<PathBuf>,
    /// Under which number the first process inside finds the program's standard input.
    pub stdin: i32,
}

/// The ways to make a cage, best first. Each is tried in a process of its own, because what is done cannot be undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Rung {
    /// Namespaces by the rights of root, which are given up inside; and a user namespace inside, if there can be one.
    Root,
    /// Everything inside a user namespace, which needs no rights.
    UserNamespace,
    /// Limits and Landlock only.
    Bare,
}

/// What a launcher says before the program starts: the first line of its standard output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The program starts now.
    Starts {
        /// What is held.
        held: Held,
        /// The first process of the namespace, by our numbers. When it is gone, all others are.
        first: Option<i32>,
    },
    /// The cage could not be made on this rung. Nothing was started.
    Failed(String),
    /// What was asked for cannot be in any cage. Nothing was started.
    Impossible(String),
}

/// What stands in front of the report.
pub(crate) const REPORT_MARK: &str = "lanai-cage ";
/// No report is longer.
pub(crate) const MAX_REPORT: u64 = 16 * 1024;
