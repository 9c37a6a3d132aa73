//! Ending early, cleanly.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use lanai_folder::Lock;
use tokio_util::sync::CancellationToken;

/// How long a command that is asked to end may take for what it must not leave half done.
pub const MAX_ENDING: Duration = Duration::from_secs(10);

/// A way to end a command early, from another thread. Clones are the same.
///
/// The command notes what it must not leave behind; [`Stop::now`] waits until nothing is half done, and cleans up.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    cancel: CancellationToken,
    /// The command did what it was for until it was asked to end.
    is_well: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// How many things are under way that must not be left half done.
    busy: usize,
    /// What the command has locked.
    locked: Vec<Weak<Lock>>,
    /// What is to be said when the command ends now.
    parting: Option<String>,
}

/// Something is under way that must not be left half done, until this is dropped.
#[derive(Debug)]
pub(crate) struct Busy(Stop);

/// Nothing is half done, until this is dropped.
#[derive(Debug)]
pub(crate) struct Idle(Stop);

/// What is to be said when the command ends early, until this is dropped.
#[derive(Debug)]
pub(crate) struct Parting(Stop);

/// A lock that is taken away when the command is asked to end.
#[derive(Debug)]
pub(crate) struct Held {
    lock: Option<Arc<Lock>>,
    stop: Stop,
}

impl Stop {
    /// Asks the command to end, waits until nothing is half done, but no longer than [`MAX_ENDING`], and takes away its locks.
    /// The process should end right after that, and say what comes back, if anything does.
    pub fn now(&self) -> Option<String> {
        self.shared.cancel.cancel();
        let wait = self.shared.changed.wait_timeout_while(self.state(), MAX_ENDING, |state| state.busy > 0);
        let (mut state, _) = wait.unwrap_or_else(PoisonError::into_inner);
        state.locked.iter().filter_map(Weak::upgrade).for_each(|lock| lock.release());
        let parting = state.parting.take();
        // Nothing new begins: whoever wants to note something waits here for the end of the process.
        std::mem::forget(state);
        parting
    }

    /// Whether the command did what it was for, and only that it was asked to end has ended it.
    pub fn is_well(&self) -> bool {
        self.shared.is_well.load(Ordering::SeqCst)
    }

    /// The command did what it was for.
    pub(crate) fn ended_well(&self) {
        self.shared.is_well.store(true, Ordering::SeqCst);
    }

    /// Whether the command was asked to end.
    pub fn is_asked(&self) -> bool {
        self.shared.cancel.is_cancelled()
    }

    /// What functions at work listen to.
    pub(crate) fn token(&self) -> CancellationToken {
        self.shared.cancel.clone()
    }

    /// Something begins that must not be left half done.
    pub(crate) fn busy(&self) -> Busy {
        self.state().busy += 1;
        Busy(self.clone())
    }

    /// While somebody is asked, nothing is half done: the process need not wait for the answer.
    pub(crate) fn idle(&self) -> Idle {
        self.state().busy -= 1;
        self.shared.changed.notify_all();
        Idle(self.clone())
    }

    /// What is to be said when the command ends early.
    pub(crate) fn parting(&self, text: impl Into<String>) -> Parting {
        self.state().parting = Some(text.into());
        Parting(self.clone())
    }

    /// Holds a lock for the command.
    pub(crate) fn hold(&self, lock: Lock) -> Held {
        let lock = Arc::new(lock);
        let mut state = self.state();
        state.locked.retain(|lock| lock.strong_count() > 0);
        state.locked.push(Arc::downgrade(&lock));
        Held { lock: Some(lock), stop: self.clone() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.state().busy -= 1;
        self.0.shared.changed.notify_all();
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.0.state().busy += 1;
    }
}

impl Drop for Parting {
    fn drop(&mut self) {
        let mut state = self.0.state();
        // Once somebody wants the command to end, it holds what it was about to say.
        if !self.0.is_asked() {
            state.parting = None;
        }
    }
}

impl Held {
    pub fn lock(&self) -> Option<&Lock> {
        self.lock.as_deref()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _busy = self.stop.busy();
        self.lock = None;
    }
}
