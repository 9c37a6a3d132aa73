//! `lanai pkg`: packages in folders, and where they come from.
//!
//! | module | what it is about |
//! |---|---|
//! | `args` | what can be typed |
//! | `get`, `init`, `tree`, `cat`, `diff`, `update` | the commands |
//! | `address` | `REPO.git/FOLDER@VERSION` |
//! | `local` | the package on disk: opened, recovered, changed |
//! | `upstream` | the package in a repository |
//! | `versions` | what both sides of an update began with, and what upstream has now |
//! | `kptfile` | what a Kptfile says about where its package comes from |
//! | `nested` | packages inside the package that have an upstream of their own |
//! | `patch` | files that differ, for people and patch programs |
//! | `conflicts`, `resolutions` | what both sides changed, shown and decided |
//! | `dirty` | files whose content is recorded nowhere |
//! | `ignored` | where kpt reads a `.krmignore` otherwise |
//! | `watch` | how far it is, on terminals |

mod address;
mod args;
mod cat;
mod conflicts;
mod diff;
mod dirty;
mod get;
mod handed;
pub(crate) mod ignored;
mod init;
mod kptfile;
pub(crate) mod local;
mod nested;
pub(crate) mod patch;
mod resolutions;
mod tree;
mod update;
mod upstream;
mod versions;
mod watch;

use lanai_krm::ignore::Dialect;

use crate::failure::Failure;
use crate::io::{Exit, Io};

pub(crate) use args::{Format, Pkg, PolicyName};
pub(crate) use conflicts::{Entry, Files, Report, Update};
pub(crate) use resolutions::Resolutions;

/// Runs one of the commands. The dialect is that of `.krmignore`.
pub(crate) fn run(command: &Pkg, dialect: Dialect, io: &mut Io<'_>) -> Result<Exit, Failure> {
    match command {
        Pkg::Get(get) => get::run(get, dialect, io),
        Pkg::Init(init) => init::run(init, io),
        Pkg::Tree(tree) => tree::run(tree, dialect, io),
        Pkg::Cat(cat) => cat::run(cat, io),
        Pkg::Diff(diff) => diff::run(diff, dialect, io),
        Pkg::Update(update) => update::run(update, dialect, io),
    }
}
