//! The launcher before it is inside.

use std::env;
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use nix::sched::CloneFlags;
use rustix::process::{Resource, Rlimit, Signal};
use rustix::thread::{CapabilitySet, CapabilitySets};

use super::{
    NOT_CAGED, NOT_STARTED, Trouble, become_nobody, close_inherited, confine, die_with_parent,
    enter_user_namespace, report,
};
use crate::cage::plan::{INNER, Plan, Report, Rung};
use crate::cage::{FilesHeld, Network, Tree, User};

/// Makes the cage, as far as that is possible from outside, and waits for what happens in it.
pub(super) fn run(plan: &Plan, program: &[OsString]) -> Result<ExitCode, Trouble> {
    stay_with(plan.parent)?;
    close_inherited().map_err(Trouble::in_step("close what was left open"))?;
    let no_core = Rlimit { current: Some(0), maximum: Some(0) };
    rustix::process::setrlimit(Resource::Core, no_core).map_err(Trouble::in_step("forbid core dumps"))?;
    let drops = plan.user == User::Nobody && rustix::process::geteuid().is_root();
    match plan.rung {
        Rung::UserNamespace => {
            if drops {
                become_nobody().map_err(Trouble::in_step("become nobody"))?;
            }
            let entered = enter_user_namespace(namespaces(plan.network)).and_then(|()| keep_capabilities());
            entered.map_err(Trouble::in_step("enter a user namespace"))?;
        }
        Rung::Root => {
            nix::sched::unshare(namespaces(plan.network))
                .map_err(Trouble::in_step("enter new namespaces"))?;
        }
        Rung::Bare => {
            if drops {
                become_nobody().map_err(Trouble::in_step("become nobody"))?;
            }
            stay_with(plan.parent)?;
            return bare(plan, program);
        }
    }
    stay_with(plan.parent)?;
    relay(plan, program)
}

/// Makes sure that this process does not outlive the one that started it.
fn stay_with(parent: i32) -> Result<(), Trouble> {
    die_with_parent().map_err(Trouble::in_step("be ended with lanai"))?;
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
    if now == Some(parent) {
        Ok(())
    } else {
        Err(Trouble::Cage("whoever started the launcher is gone".into()))
    }
}

/// The namespaces of a cage.
fn namespaces(network: Network) -> CloneFlags {
    let network = match network {
        Network::None => CloneFlags::CLONE_NEWNET,
        Network::Host => CloneFlags::empty(),
    };
    CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC | network
}

/// Lets the next program keep the rights over the new namespaces that it needs, although it is not root there: to mount, and to
/// give up rights.
fn keep_capabilities() -> io::Result<()> {
    let needed = [CapabilitySet::SYS_ADMIN, CapabilitySet::SETPCAP];
    let kept = needed.into_iter().collect();
    rustix::thread::set_capabilities(
        None,
        CapabilitySets { effective: kept, permitted: kept, inheritable: kept },
    )?;
    for capability in needed {
        rustix::thread::configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Starts the first process of the namespaces, and ends as the program in them ended.
fn relay(plan: &Plan, program: &[OsString]) -> Result<ExitCode, Trouble> {
    // The first process gets a pipe in place of its standard input, to say how the program ended; and a copy of that one, for
    // the program.
    let stdin = rustix::io::dup(io::stdin()).map_err(Trouble::in_step("pass on the standard input"))?;
    let plan = Plan { stdin: stdin.as_raw_fd(), ..plan.clone() };
    let text = serde_json::to_string(&plan).map_err(Trouble::in_step("write the plan"))?;
    let step = || Trouble::in_step("start the first process inside");
    let (mut verdict, writer) = io::pipe().map_err(Trouble::in_step("make a pipe"))?;
    let name = env::args_os().next().unwrap_or_default();
    let mut inner = {
        #[expect(clippy::disallowed_methods, reason = "this is the place where processes are started")]
        let mut command = Command::new("/proc/self/exe");
        command.arg0(name).arg(INNER).arg(text).args(program).stdin(writer);
        command.spawn().map_err(step())?
    };
    let mut said = String::new();
    // What cannot be read was not said by us: then the end of the process itself counts.
    let _ = verdict.read_to_string(&mut said);
    let ended = inner.wait().map_err(Trouble::in_step("wait for the first process inside"))?;
    Ok(end_as(verdict_of(&said).unwrap_or(ended)))
}

/// How the program ended, by the last line of what the first process said.
fn verdict_of(said: &str) -> Option<ExitStatus> {
    let (word, number) = said.lines().last()?.split_once(' ')?;
    let number: i32 = number.parse().ok()?;
    match word {
        "exit" => Some(ExitStatus::from_raw(number << 8)),
        "signal" => Some(ExitStatus::from_raw(number)),
        _ => None,
    }
}

/// Ends in the same way. A signal that does not end us becomes a code, as in shells.
fn end_as(status: ExitStatus) -> ExitCode {
    let code = |number: i32| ExitCode::from(u8::try_from(number).unwrap_or(NOT_CAGED));
    let Some(number) = status.signal() else { return code(status.code().unwrap_or_default()) };
    // Twice, because the first one may only remove the handler that Rust has for it.
    for signal in [Signal::from_named_raw(number); 2].into_iter().flatten() {
        let _ = rustix::process::kill_process(rustix::process::getpid(), signal);
    }
    code(128 + number)
}

/// Becomes the program, with limits and Landlock and nothing else.
fn bare(plan: &Plan, program: &[OsString]) -> Result<ExitCode, Trouble> {
    if let Some(view) = plan.views.iter().find(|view| view.source != view.target) {
        let (from, to) = (view.source.display(), view.target.display());
        let why = format!("\"{from}\" cannot be shown as \"{to}\" without a file system of its own");
        return Err(Trouble::Request(why));
    }
    let folder = plan.folder.as_deref().unwrap_or(Path::new("/"));
    env::set_current_dir(folder).map_err(Trouble::in_step("enter the folder of the function"))?;
    let held = confine::confine(plan, Tree::ProcessGroup, FilesHeld::Open)?;
    stay_with(plan.parent)?;
    let mut command = confine::command(program, plan)?;
    report(&Report::Starts { held, first: None }).map_err(Trouble::in_step("report"))?;
    let cause = command.exec();
    eprintln!("{}", confine::not_started(program, &cause));
    Ok(ExitCode::from(NOT_STARTED))
}
