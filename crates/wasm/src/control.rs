//! How a module is ended from elsewhere.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wasmtime::{Engine, Trap};

/// How long until a module that was told to end is told again. It looks up at every loop and call, but one that is looking up at the very moment for the
/// sake of another module may miss it.
const AGAIN: Duration = Duration::from_millis(5);

/// Between a run and those who can end it. Clones are of the same run.
#[derive(Clone)]
pub(crate) struct Control {
    inner: Arc<Inner>,
}

struct Inner {
    engine: Engine,
    phase: Mutex<Phase>,
    changed: Condvar,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The module is being compiled.
    Compiling,
    Running,
    /// It is to end.
    Stopping,
    Ended,
}

impl Control {
    pub(crate) fn new(engine: Engine) -> Self {
        let inner = Inner { engine, phase: Mutex::new(Phase::Compiling), changed: Condvar::new() };
        Self { inner: Arc::new(inner) }
    }

    /// The module runs from now on. Not if it is to end already.
    pub(crate) fn begin(&self) -> Result<(), Trap> {
        let mut phase = self.phase();
        if *phase != Phase::Compiling {
            return Err(Trap::Interrupt);
        }
        *phase = Phase::Running;
        Ok(())
    }

    /// Whether the run may go on.
    pub(crate) fn check(&self) -> Result<(), Trap> {
        if *self.phase() == Phase::Running { Ok(()) } else { Err(Trap::Interrupt) }
    }

    /// Waits for that long, if the run may go on for so long.
    pub(crate) fn sleep(&self, time: Duration) -> Result<(), Trap> {
        let is_running = |phase: &mut Phase| *phase == Phase::Running;
        let waited = self.inner.changed.wait_timeout_while(self.phase(), time, is_running);
        let (phase, _) = waited.unwrap_or_else(PoisonError::into_inner);
        if *phase == Phase::Running { Ok(()) } else { Err(Trap::Interrupt) }
    }

    /// Nothing of the run is left.
    pub(crate) fn end(&self) {
        *self.phase() = Phase::Ended;
        self.inner.changed.notify_all();
    }

    /// Ends the run, and waits until it has ended; what is being compiled is not waited for, and does not run then.
    pub(crate) fn stop(&self) {
        let mut phase = self.phase();
        match *phase {
            Phase::Compiling => {
                *phase = Phase::Stopping;
                return;
            }
            Phase::Running => *phase = Phase::Stopping,
            Phase::Stopping | Phase::Ended => {}
        }
        self.inner.changed.notify_all();
        while *phase != Phase::Ended {
            // All modules of the engine look up then, and those that nobody ended go on.
            self.inner.engine.increment_epoch();
            let waited = self.inner.changed.wait_timeout(phase, AGAIN);
            phase = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.inner.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
