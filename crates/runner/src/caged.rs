//! Programs in cages: what evaluators that start programs have in common.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use lanai_evaluate::wire::Sent;
use lanai_evaluate::{Deadline, Error, Grants, MountAccess, Response};
use lanai_process::{
    Access, Cage, CageLimits, Caging, Command, Finished, Held, Limits, Network, Policy, Shortfall, User, View,
};

use crate::{Caller, ExecLimits, answer, job};

/// The variables of its caller that a caged program has, beside those that are granted.
const VARIABLES: &[&str] = &["PATH", "HOME", "LANG"];
/// Folders in which many people put things: what a program finds beside itself there is not its own.
const SHARED: &[&str] = &["/", "/tmp", "/var/tmp", "/home", "/root", "/opt", "/srv", "/run", "/var"];

/// Makes cages. Clones share what they learn.
#[derive(Clone, Debug)]
pub struct Launcher {
    program: PathBuf,
    policy: Policy,
    shortfalls: Arc<Mutex<Vec<Shortfall>>>,
}

impl Launcher {
    /// By this program, which calls [`lanai_process::launch`] first: our own binary.
    pub fn new(program: impl Into<PathBuf>, policy: Policy) -> Self {
        Self { program: program.into(), policy, shortfalls: Arc::default() }
    }

    /// The program that makes cages.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// What could not be held about the programs that ran so far, each once. Always empty when the policy is strict: those
    /// programs did not run.
    pub fn shortfalls(&self) -> Vec<Shortfall> {
        self.shortfalls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs a program in a cage, and learns what could be held, whatever becomes of the program.
    pub(crate) fn run(
        &self,
        command: &Command,
        cage: &Cage,
        input: &[u8],
        limits: &Limits,
        watch: &job::Watch,
    ) -> Result<Finished, lanai_process::Error> {
        let caged = command.run_caged(cage, input, limits, |caging| match caging {
            Caging::Started(killer) => watch.started(killer),
            Caging::Held(held) => self.learn(held, cage.network),
        });
        caged.map(|caged| caged.finished)
    }

    fn learn(&self, held: Held, network: Network) {
        let mut known = self.shortfalls.lock().unwrap_or_else(PoisonError::into_inner);
        for shortfall in held.shortfalls(network) {
            if !known.contains(&shortfall) {
                known.push(shortfall);
            }
        }
    }

    /// A cage with what is granted, for a program of that path.
    pub(crate) fn cage(&self, program: &Path, caller: &Caller, grants: &Grants, limits: &ExecLimits) -> Cage {
        let mut views = own_views(program, caller);
        views.extend(grants.mounts.iter().map(|mount| View {
            source: caller.folder.join(&mount.source),
            target: mount.target.clone(),
            access: match mount.access {
                MountAccess::ReadOnly => Access::Read,
                MountAccess::ReadWrite => Access::Write,
            },
        }));
        Cage {
            launcher: self.program.clone(),
            policy: self.policy,
            network: match grants.network {
                lanai_evaluate::Network::None => Network::None,
                lanai_evaluate::Network::Host => Network::Host,
            },
            user: match grants.user {
                lanai_evaluate::User::Nobody => User::Nobody,
                lanai_evaluate::User::Caller => User::Caller,
            },
            views,
            limits: CageLimits {
                max_memory: limits.max_memory,
                max_processes: limits.max_processes,
                max_open_files: limits.max_open_files,
                max_files: limits.max_files,
                max_cpu: most_cpu(limits, thread::available_parallelism().map_or(1, NonZero::get)),
            },
            temporary: caller.variable("TMPDIR").map_or_else(|| "/tmp".into(), PathBuf::from),
        }
    }
}

/// The time on processors that one process can need before its time is over, and a second more: its owner is to be the one who ends
/// it. So many processors may work for it at once.
fn most_cpu(limits: &ExecLimits, processors: usize) -> Duration {
    let at_once = u32::try_from(processors).unwrap_or(u32::MAX).min(limits.max_processes).max(1);
    limits.max_time.saturating_mul(at_once).saturating_add(Duration::from_secs(1))
}

/// What a program sees of itself: its folder, or only its file where the folder is not its own; by its name, and where links
/// lead to.
fn own_views(program: &Path, caller: &Caller) -> Vec<View> {
    let home = caller.variable("HOME").map(Path::new);
    let own = |program: &Path| {
        let folder = program.parent().unwrap_or(program);
        let holds_home = home.is_some_and(|home| home.starts_with(folder));
        let is_shared = holds_home || SHARED.iter().any(|shared| folder == Path::new(shared));
        View::of(if is_shared { program } else { folder })
    };
    let mut views = vec![own(program)];
    if let Ok(real) = program.canonicalize()
        && real != program
    {
        views.push(own(&real));
    }
    views
}

/// The environment of a caged program.
pub(crate) fn with_environment(command: Command, caller: &Caller, grants: &Grants) -> Command {
    let inherited = VARIABLES.iter().filter_map(|name| Some((*name, caller.variable(name)?)));
    let granted = grants.variables.iter().map(|variable| (&variable.name, &variable.value));
    command.variables(inherited).variables(granted)
}

/// How a program runs.
#[derive(Clone, Debug)]
pub(crate) enum Way {
    Free,
    Caged(Box<Cage>, Launcher),
}

/// Runs a program on what is sent to it.
pub(crate) async fn run(
    command: Command,
    way: Way,
    sent: Sent,
    limits: &ExecLimits,
    deadline: &Deadline,
) -> Result<Response, Error> {
    let left = deadline.left();
    let (max_time, named) =
        if left < limits.max_time { (left, deadline.limit) } else { (limits.max_time, limits.max_time) };
    let limits = Limits { max_time, max_output: limits.max_output, max_messages: limits.max_stderr };
    let answer = job::run(deadline, move |watch| {
        let input = sent.text().as_bytes();
        let finished = match way {
            Way::Free => command.run(input, &limits, |killer| watch.started(killer)),
            Way::Caged(cage, launcher) => launcher.run(&command, &cage, input, &limits, watch),
        };
        answer::of(finished.map_err(answer::error)?, &sent)
    });
    match answer.await? {
        Err(Error::Timeout { stderr, .. }) => Err(Error::Timeout { limit: named, stderr }),
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_ends_a_program_before_its_processors_do() {
        let check = |seconds: f64, max_processes, processors, expected: u64| {
            let max_time = Duration::from_secs_f64(seconds);
            let limits = ExecLimits { max_time, max_processes, ..ExecLimits::DEFAULT };
            // The kernel counts whole seconds.
            let most = most_cpu(&limits, processors).as_secs();
            assert_eq!(most, expected);
        };
        check(300.0, 256, 64, 300 * 64 + 1);
        check(10.0, 3, 64, 31);
        check(1.5, 256, 1, 2);
        check(0.0, 256, 0, 1);
    }
}
