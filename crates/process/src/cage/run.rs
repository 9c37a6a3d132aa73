//! Running a program in a cage.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::{fs, io};

use rustix::process::{Gid, Uid};
use tempfile::TempDir;

use super::plan::{OUTER, Plan, Rung};
use super::{Cage, Held, Policy, User};
use crate::launch::NOBODY;
use crate::run::{self, Outcome};
use crate::{Command, Error, Finished, Killer, Limits};

/// A program that has ended, and what could be held of its cage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caged {
    /// How it ended.
    pub finished: Finished,
    /// What could be held.
    pub held: Held,
}

/// What is told while a program is caged.
#[derive(Clone, Debug)]
pub enum Caging {
    /// Something was started, which this ends.
    Started(Killer),
    /// The program has run, and this could be held.
    Held(Held),
}

impl Command {
    /// Runs the program to its end in a cage, with `input` as its standard input.
    ///
    /// The program has to be named by an absolute path. It begins in an empty folder, whatever [`folder`](Self::folder) says.
    /// `watch` gets a handle by which another thread can end it early, as in [`run`](Self::run); it may get several, of which the
    /// last counts. Once the program has run, `watch` also gets what could be held, whatever became of it. When this returns, nothing of the program runs any more, as far as [`Held::tree`] goes.
    ///
    /// # Errors
    /// As for [`run`](Self::run); and [`Error::Cage`] when what was asked for cannot be held.
    pub fn run_caged(
        &self,
        cage: &Cage,
        input: &[u8],
        limits: &Limits,
        mut watch: impl FnMut(Caging),
    ) -> Result<Caged, Error> {
        let mut causes = Vec::new();
        for rung in rungs(cage.policy) {
            let (plan, _folder) = plan(cage, rung).map_err(|cause| self.not_caged(&cause.to_string()))?;
            let text = serde_json::to_string(&plan).map_err(|cause| self.not_caged(&cause.to_string()))?;
            let launcher = self.in_launcher(&cage.launcher, OUTER, &text);
            let child =
                if becomes_nobody(cage.user) { launcher.start_for(NOBODY)? } else { launcher.start()? };
            watch(Caging::Started(child.killer()));
            let told = |held| watch(Caging::Held(held));
            match run::caged_to_the_end(child, &self.name(), input, limits, cage.limits.max_memory, told)? {
                Outcome::Ended(finished, held) => return Ok(Caged { finished, held }),
                Outcome::NotCaged(cause) => causes.push(cause),
                Outcome::Impossible(cause) => {
                    causes.push(cause);
                    break;
                }
            }
        }
        causes.dedup();
        Err(self.not_caged(&causes.join("; ")))
    }

    fn not_caged(&self, why: &str) -> Error {
        Error::Cage { program: self.name(), why: why.to_owned() }
    }
}

/// The ways that are worth a try.
fn rungs(policy: Policy) -> impl Iterator<Item = Rung> {
    let root = rustix::process::geteuid().is_root().then_some(Rung::Root);
    let bare = (policy == Policy::BestEffort).then_some(Rung::Bare);
    [root, Some(Rung::UserNamespace), bare].into_iter().flatten()
}

fn plan(cage: &Cage, rung: Rung) -> io::Result<(Plan, Option<TempDir>)> {
    let folder = match rung {
        Rung::UserNamespace | Rung::Root => None,
        Rung::Bare => Some(folder_for(cage.user, &cage.temporary)?),
    };
    let plan = Plan {
        parent: rustix::process::getpid().as_raw_nonzero().get(),
        rung,
        policy: cage.policy,
        network: cage.network,
        user: cage.user,
        views: cage.views.clone(),
        max_memory: cage.limits.max_memory.get(),
        max_processes: cage.limits.max_processes.into(),
        max_open_files: cage.limits.max_open_files.into(),
        max_files: cage.limits.max_files.get(),
        max_cpu_seconds: cage.limits.max_cpu.as_secs(),
        folder: folder.as_ref().map(|folder| folder.path().to_owned()),
        stdin: 0,
    };
    Ok((plan, folder))
}

fn becomes_nobody(user: User) -> bool {
    user == User::Nobody && rustix::process::geteuid().is_root()
}

/// A folder that the program may write to, removed when dropped.
fn folder_for(user: User, below: &Path) -> io::Result<TempDir> {
    let folder = tempfile::Builder::new().prefix("lanai-function-").tempdir_in(below)?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
    if becomes_nobody(user) {
        rustix::fs::chown(folder.path(), Some(Uid::from_raw(NOBODY)), Some(Gid::from_raw(NOBODY)))?;
    }
    Ok(folder)
}
