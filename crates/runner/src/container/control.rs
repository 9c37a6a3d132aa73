//! What a call is busy with, and how that is ended from elsewhere.

use std::sync::{Arc, Mutex, PoisonError};

use lanai_evaluate::Error;
use lanai_process::{Command, Finished, Killer, Limits};

use super::engine::ContainerEngine;

/// Ends what a call is busy with. Clones are of the same call.
#[derive(Clone, Default)]
pub(super) struct Control(Arc<Mutex<Phase>>);

#[derive(Default)]
enum Phase {
    /// Nothing runs.
    #[default]
    Idle,
    /// A command of the engine by which nothing of the function runs yet.
    Step(Killer),
    /// The container; the command only talks to it.
    Container { engine: ContainerEngine, name: String, killer: Killer },
    /// It was ended: nothing more is started.
    Stopped,
}

impl Phase {
    fn end(self) {
        match self {
            Self::Idle | Self::Stopped => {}
            Self::Step(killer) => killer.kill(),
            Self::Container { engine, name, killer } => {
                // The thread of the call removes it as well, and tells when that fails.
                let _ = engine.remove(&name);
                killer.kill();
            }
        }
    }
}

impl Control {
    /// Ends it, and returns when nothing of the function runs any more.
    ///
    /// A container is removed before the command that talks to it is killed: engines lock a container while they start it, so that
    /// it is either not there or there as a whole when it is removed.
    pub(super) fn stop(&self) {
        let was = std::mem::replace(&mut *self.lock(), Phase::Stopped);
        was.end();
    }

    pub(super) fn is_stopped(&self) -> bool {
        matches!(*self.lock(), Phase::Stopped)
    }

    /// Runs a command of the engine to its end.
    ///
    /// # Errors
    /// The outer one when the call was ended; the inner one when the command could not be run.
    pub(super) fn run(
        &self,
        command: &Command,
        input: &[u8],
        limits: &Limits,
    ) -> Result<Result<Finished, lanai_process::Error>, Error> {
        if self.is_stopped() {
            return Err(Error::Cancelled);
        }
        let finished = command.run(input, limits, |killer| self.enter(Phase::Step(killer)));
        self.leave();
        if self.is_stopped() { Err(Error::Cancelled) } else { Ok(finished) }
    }

    /// Runs the command that starts a container and talks to it.
    ///
    /// # Errors
    /// When the command could not be run. One that was ended early tells what it has.
    pub(super) fn attend(
        &self,
        command: &Command,
        input: &[u8],
        limits: &Limits,
        engine: &ContainerEngine,
        name: &str,
    ) -> Result<Finished, lanai_process::Error> {
        let (engine, name) = (engine.clone(), name.to_owned());
        let phase = |killer| Phase::Container { engine, name, killer };
        let finished = command.run(input, limits, |killer| self.enter(phase(killer)));
        self.leave();
        finished
    }

    fn enter(&self, phase: Phase) {
        let mut now = self.lock();
        if matches!(*now, Phase::Stopped) {
            // It was ended while this was started.
            drop(now);
            phase.end();
        } else {
            *now = phase;
        }
    }

    fn leave(&self) {
        let mut now = self.lock();
        if !matches!(*now, Phase::Stopped) {
            *now = Phase::Idle;
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Phase> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
