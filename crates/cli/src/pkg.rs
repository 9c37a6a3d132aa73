//! `lanai pkg`: packages in folders, and where they come from.
//!
//! | module | what it is about |
//! |---|---|
//! | `args` | what can be typed |
//! | `get`, `init`, `tree`, `cat`, `diff`, `update` | the commands |
//! | `address` | `REPO.git/FOLDER@VERSION` |
//! | `local` | the package on disk: opened, recovered, changed |
//! | `upstream` | the package in a repository |
//! | `kptfile` | what a Kptfile says about where its package comes from |
//! | `marks` | the marks by which a resource is known when it is merged later |
//! | `nested` | packages inside the package that have an upstream of their own |
//! | `conflicts`, `resolutions` | what both sides changed, shown and decided |
//! | `dirty` | files whose content is recorded nowhere |

mod address;
mod args;
mod cat;
mod conflicts;
mod diff;
mod dirty;
mod get;
mod init;
mod kptfile;
mod local;
mod marks;
mod nested;
mod resolutions;
mod tree;
mod update;
mod upstream;

use crate::failure::Failure;
use crate::io::{Exit, Io};

pub(crate) use args::Pkg;

/// Runs one of the commands.
pub(crate) fn run(command: &Pkg, io: &mut Io<'_>) -> Result<Exit, Failure> {
    match command {
        Pkg::Get(get) => get::run(get, io),
        Pkg::Init(init) => init::run(init, io),
        Pkg::Tree(tree) => tree::run(tree, io),
        Pkg::Cat(cat) => cat::run(cat, io),
        Pkg::Diff(diff) => diff::run(diff, io),
        Pkg::Update(update) => update::run(update, io),
    }
}
