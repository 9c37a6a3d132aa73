//! The first process inside: when it ends, the kernel ends all others.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::process::{ExitCode, Stdio};
use std::{fs, io};

use rustix::process::{DumpableBehavior, Pid, PidfdFlags, PidfdGetfdFlags, WaitOptions};

use super::{NOT_STARTED, Trouble, close_inherited, confine, die_with_parent, report, root};
use crate::cage::plan::{Plan, Report};
use crate::cage::{FilesHeld, Tree};

/// Finishes the cage, starts the program in it and waits for its end.
pub(super) fn run(plan: &Plan, program: &[OsString]) -> Result<ExitCode, Trouble> {
    stay_with_launcher()?;
    let first = fs::read_link("/proc/self").map_err(Trouble::in_step("find out our own number"))?;
    let first = first.to_str().and_then(|number| number.parse().ok());
    let stdin = inherited(plan.stdin).map_err(Trouble::in_step("find the standard input"))?;
    close_inherited().map_err(Trouble::in_step("close what was left open"))?;
    limit_segments(plan.max_memory);
    root::make(plan)?;
    let held = confine::confine(plan, Tree::PidNamespace, FilesHeld::PrivateRoot)?;
    stay_with_launcher()?;
    let mut command = confine::command(program, plan)?;
    // The program runs as the same user and must not meddle with this process.
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(Trouble::in_step("guard the first process"))?;
    report(&Report::Starts { held, first }).map_err(Trouble::in_step("report"))?;
    let started = command.stdin(Stdio::from(stdin)).spawn();
    match started {
        Ok(child) => Ok(reap(Pid::from_child(&child))),
        Err(cause) => {
            eprintln!("{}", confine::not_started(program, &cause));
            say(&format!("exit {NOT_STARTED}"));
            Ok(ExitCode::from(NOT_STARTED))
        }
    }
}

/// Limits the segments of System V in this namespace, which nobody need have attached. Only root can; what they hold is gone with the
/// namespace in any case.
fn limit_segments(max_memory: u64) {
    let pages = max_memory / rustix::param::page_size() as u64;
    let _ = fs::write("/proc/sys/kernel/shmall", pages.to_string());
}

/// Asks to be killed with the launcher, and then makes sure that it was not dead before.
fn stay_with_launcher() -> Result<(), Trouble> {
    die_with_parent().map_err(Trouble::in_step("be ended with the launcher"))?;
    let alive = rustix::io::write(io::stdin(), b"alive\n");
    alive.map(|_| ()).map_err(Trouble::in_step("reach the launcher"))
}

/// A descriptor that was left open for us, by its number.
fn inherited(number: i32) -> io::Result<OwnedFd> {
    let me = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty())?;
    Ok(rustix::process::pidfd_getfd(me, number, PidfdGetfdFlags::empty())?)
}

/// Waits for all that end in here, until the program does.
fn reap(program: Pid) -> ExitCode {
    loop {
        let status = match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid == program => status,
            Ok(_) | Err(rustix::io::Errno::INTR) => continue,
            // The program is a child until it was waited for.
            Err(_) => return ExitCode::FAILURE,
        };
        if let Some(code) = status.exit_status() {
            say(&format!("exit {code}"));
            return ExitCode::SUCCESS;
        }
        if let Some(signal) = status.terminating_signal() {
            say(&format!("signal {signal}"));
            return ExitCode::SUCCESS;
        }
    }
}

/// Tells the launcher how the program ended.
fn say(verdict: &str) {
    // When the launcher is gone, this process is being killed.
    let _ = rustix::io::write(io::stdin(), format!("{verdict}\n").as_bytes());
}
