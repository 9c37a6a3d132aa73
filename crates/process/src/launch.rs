//! The launcher: our own binary, started again to make a cage around itself and then to start a program in it.
//!
//! `outer` runs first: it gives up rights, enters new namespaces and starts `inner`, which is the first process in them. `inner`
//! builds the file system (`root`), gives up what is left (`confine`), says what is held, starts the program and waits for its
//! end. On machines without namespaces, `outer` confines itself and becomes the program.

mod confine;
mod inner;
mod outer;
mod root;

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::os::fd::RawFd;
use std::process::ExitCode;

use nix::sched::CloneFlags;
use rustix::process::{DumpableBehavior, Gid, Signal, Uid};

use crate::cage::plan::{INNER, OUTER, Plan, REPORT_MARK, Report};

/// The user and the group that have no rights, by their traditional number.
pub(crate) const NOBODY: u32 = 65_534;

/// What a launcher ends with when there is no cage.
const NOT_CAGED: u8 = 125;
/// What a launcher ends with when the cage is there but the program cannot be started in it, as shells do.
const NOT_STARTED: u8 = 127;

/// Does the work of a launcher, if that is what the arguments ask for, and says what to end with.
///
/// A binary that is named as a [`Cage::launcher`](crate::Cage::launcher) has to call this first, with the arguments that it was
/// started with, while it has one thread. For all other arguments this does nothing.
pub fn launch(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut arguments = arguments.into_iter().skip(1);
    let word = arguments.next()?;
    let stage = if word == OUTER {
        outer::run
    } else if word == INNER {
        inner::run
    } else {
        return None;
    };
    let plan = arguments.next().unwrap_or_default();
    let plan =
        serde_json::from_slice::<Plan>(plan.as_encoded_bytes()).map_err(Trouble::in_step("read the plan"));
    let program: Vec<_> = arguments.collect();
    let done = plan.and_then(|plan| stage(&plan, &program));
    Some(done.unwrap_or_else(|trouble| {
        // Whoever should read this may be gone.
        let _ = report(&match trouble {
            Trouble::Cage(why) => Report::Failed(why),
            Trouble::Request(why) => Report::Impossible(why),
        });
        ExitCode::from(NOT_CAGED)
    }))
}

/// Why nothing was started.
#[derive(Debug)]
enum Trouble {
    /// There is no cage.
    Cage(String),
    /// What was asked for cannot be in any cage.
    Request(String),
}

impl Trouble {
    /// For `map_err`: what could not be done.
    fn in_step<E: std::fmt::Display>(step: &str) -> impl FnOnce(E) -> Self + '_ {
        move |cause| Self::Cage(format!("cannot {step}: {cause}"))
    }
}

fn report(report: &Report) -> io::Result<()> {
    let mut line = format!("{REPORT_MARK}{}", serde_json::to_string(report).map_err(io::Error::other)?);
    line.push('\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(line.as_bytes())?;
    stdout.flush()
}

/// Gives up being root for good.
fn become_nobody() -> io::Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(group, group, group)?;
    rustix::thread::set_thread_res_uid(user, user, user)?;
    // A change of user hides what is in /proc about this process, which is needed for what comes next.
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable)?)
}

/// Closes what our caller left open for everybody: all but the usual three.
///
/// What we have opened ourselves is closed by the kernel when the program starts.
fn close_inherited() -> io::Result<()> {
    let numbers = fs::read_dir("/proc/self/fd")?.flatten();
    let numbers: Vec<RawFd> = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{number}")).unwrap_or_default();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
        // Those that are gone by now were our own.
        if flags.is_some_and(|flags| flags & CLOSE_ON_EXEC == 0) {
            nix::unistd::close(number)?;
        }
    }
    Ok(())
}

/// `O_CLOEXEC`, as `/proc` shows it.
const CLOSE_ON_EXEC: u32 = 0o2_000_000;

/// Makes a new user namespace in which we are who we are outside.
fn enter_user_namespace(more: CloneFlags) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    nix::sched::unshare(CloneFlags::CLONE_NEWUSER | more)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Asks the kernel to kill this process when its parent dies. A change of user forgets that.
fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}
