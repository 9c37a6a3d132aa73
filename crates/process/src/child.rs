//! A program that runs, and its end.

use std::io::{self, PipeReader};
use std::os::fd::OwnedFd;
use std::process::{ChildStderr, ChildStdin, ChildStdout, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};

use crate::command::Group;
use crate::run::wait_for;

/// How long the kernel is given to end what was killed. It takes milliseconds; a process that hangs in a broken device may take
/// for ever.
const AFTER_KILL: Duration = Duration::from_secs(5);

/// A program that runs. Dropping it kills its process group, if it has one of its own, and waits for its end.
pub(crate) struct Child {
    inner: std::process::Child,
    killer: Killer,
    waiter: Option<JoinHandle<()>>,
    /// Closed by the other side when the program has ended.
    pub(crate) ended: PipeReader,
    /// The first process of the program's namespace, if it has one.
    first: Option<OwnedFd>,
}

/// Ends a program from another thread. Does nothing once the program has ended.
#[derive(Clone, Debug)]
pub struct Killer {
    /// The leader of the group; gone before it is reaped, because its number can be given away after that.
    leader: Arc<Mutex<Option<Pid>>>,
    group: Group,
}

impl Killer {
    /// Kills the program and everything in its process group; one that shares ours, alone.
    pub fn kill(&self) {
        let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leader) = *leader {
            // Fails when all is dead already, which is what was wanted.
            let _ = match self.group {
                Group::Own => rustix::process::kill_process_group(leader, Signal::KILL),
                Group::Ours => rustix::process::kill_process(leader, Signal::KILL),
            };
        }
    }

    fn forget(&self) {
        *self.leader.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl Child {
    /// Takes a program that was just started in this process group.
    pub(crate) fn new(mut inner: std::process::Child, group: Group) -> io::Result<Self> {
        let pid = Pid::from_child(&inner);
        let watched = io::pipe().and_then(|(ended, signal)| {
            let waiter = thread::Builder::new().name(format!("wait-{pid}", pid = inner.id()));
            let waiter = waiter.spawn(move || {
                // Leaves the zombie: as long as it is there, nobody else gets its number.
                let wait = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
                while matches!(rustix::process::waitid(WaitId::Pid(pid), wait), Err(rustix::io::Errno::INTR))
                {
                }
                drop(signal);
            })?;
            Ok((ended, waiter))
        });
        match watched {
            Ok((ended, waiter)) => {
                let killer = Killer { leader: Arc::new(Mutex::new(Some(pid))), group };
                Ok(Self { inner, killer, waiter: Some(waiter), ended, first: None })
            }
            Err(cause) => {
                let _ = inner.kill();
                let _ = inner.wait();
                Err(cause)
            }
        }
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        self.inner.id()
    }

    pub(crate) fn killer(&self) -> Killer {
        self.killer.clone()
    }

    /// The pipes to the program, which do not block; they can be taken once.
    pub(crate) fn pipes(&mut self) -> io::Result<(ChildStdin, ChildStdout, ChildStderr)> {
        let pipes = (self.inner.stdin.take(), self.inner.stdout.take(), self.inner.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io::Error::other("the pipes were taken before"));
        };
        rustix::io::ioctl_fionbio(&stdin, true)?;
        rustix::io::ioctl_fionbio(&stdout, true)?;
        rustix::io::ioctl_fionbio(&stderr, true)?;
        Ok((stdin, stdout, stderr))
    }

    /// From now on the end of this process is waited for as well. When it is gone already, there is nothing to wait for.
    pub(crate) fn holds(&mut self, first: Pid) {
        self.first = rustix::process::pidfd_open(first, PidfdFlags::empty()).ok();
    }

    /// Waits for the end. What the program left running in its group stays, but not what is in its namespace.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        self.join();
        self.reap()
    }

    /// Waits for the end, and ends what the program left running in its group.
    pub(crate) fn wait_with_group(&mut self) -> io::Result<ExitStatus> {
        self.join();
        // The leader is a zombie now, so the number still is that of its group.
        self.killer.kill();
        self.reap()
    }

    fn join(&mut self) {
        if let Some(waiter) = self.waiter.take() {
            let _ = waiter.join();
        }
    }

    fn reap(&mut self) -> io::Result<ExitStatus> {
        self.killer.forget();
        let status = self.inner.wait()?;
        // A launcher that was killed may be dead before what is inside; the kernel is ending that by now.
        if let Some(first) = &self.first {
            wait_for(&mut [PollFd::new(first, PollFlags::IN)], AFTER_KILL)?;
        }
        Ok(status)
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.waiter.is_some() {
            self.killer.kill();
            let _ = self.wait();
        }
    }
}
