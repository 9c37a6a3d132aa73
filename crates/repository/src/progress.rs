//! How far a transfer is, and how to stop it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Who wants to know how far it is. All methods have a default: [`Silent`] wants to know nothing.
pub trait Progress: Sync {
    /// Called often, not always from the thread that called us; should return at once.
    fn report(&self, report: Report) {
        let _ = report;
    }

    /// The handle by which the work can be stopped; asked at the start.
    fn cancel(&self) -> Cancel {
        Cancel::default()
    }
}

/// A moment of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// What is being done.
    pub phase: Phase,
    /// How many objects or files are done.
    pub done: u64,
    /// How many there will be, when that is known.
    pub total: Option<u64>,
    /// How many bytes came in this phase.
    pub bytes: u64,
}

impl Report {
    pub(crate) fn start(phase: Phase) -> Self {
        Self { phase, done: 0, total: None, bytes: 0 }
    }
}

/// The phases, in order. A call may skip some, and begin again where something has to be done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Another process works on the same repository.
    Waiting,
    /// Opening the connection.
    Connecting,
    /// Asking for the refs.
    Listing,
    /// Objects are coming.
    Receiving,
    /// Files are read.
    Reading,
}

/// Wants to know nothing and never stops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Progress for Silent {}

/// Stops work that runs elsewhere. Clones stop the same work.
#[derive(Clone, Default)]
pub struct Cancel(Arc<Inner>);

#[derive(Default)]
struct Inner {
    requested: AtomicBool,
    hooks: Mutex<Hooks>,
}

#[derive(Default)]
struct Hooks {
    next: u64,
    waiting: BTreeMap<u64, Box<dyn FnOnce() + Send>>,
}

/// Keeps a hook in place until it is dropped.
pub(crate) struct HookGuard {
    cancel: Cancel,
    number: u64,
}

impl Cancel {
    /// Asks the work to stop, which it does soon, with an error that says so. Waits for nobody.
    pub fn cancel(&self) {
        self.0.requested.store(true, Ordering::SeqCst);
        let hooks = std::mem::take(&mut self.hooks().waiting);
        for hook in hooks.into_values() {
            hook();
        }
    }

    /// Whether somebody asked.
    pub fn is_cancelled(&self) -> bool {
        self.0.requested.load(Ordering::SeqCst)
    }

    pub(crate) fn flag(&self) -> &AtomicBool {
        &self.0.requested
    }

    /// Calls the hook when somebody asks, at once if somebody has.
    pub(crate) fn on_cancel(&self, hook: impl FnOnce() + Send + 'static) -> HookGuard {
        let mut hooks = self.hooks();
        let number = hooks.next;
        hooks.next += 1;
        if self.is_cancelled() {
            drop(hooks);
            hook();
        } else {
            hooks.waiting.insert(number, Box::new(hook));
        }
        HookGuard { cancel: self.clone(), number }
    }

    fn hooks(&self) -> std::sync::MutexGuard<'_, Hooks> {
        self.0.hooks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cancel({})", self.is_cancelled())
    }
}

impl Drop for HookGuard {
    fn drop(&mut self) {
        self.cancel.hooks().waiting.remove(&self.number);
    }
}
