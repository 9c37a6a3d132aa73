//! Signals that ask this process to end.

use std::io;

use nix::sys::signal::{SigSet, Signal};

/// The signals that ask a process to end: from a terminal, from whoever started it, from the system. Programs that are started do
/// not inherit that they are caught.
#[derive(Debug)]
pub struct Signals(SigSet);

impl Signals {
    /// Catches them for this thread and those that it starts from now on.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn caught() -> io::Result<Self> {
        let all = Self::all();
        all.thread_block()?;
        Ok(Self(all))
    }

    /// Lets them end the process again.
    pub fn let_go() {
        // Fails only for sets that are none.
        let _ = Self::all().thread_unblock();
    }

    /// Waits until one comes, and says which.
    pub fn wait(&self) -> i32 {
        loop {
            if let Ok(signal) = self.0.wait() {
                return signal as i32;
            }
        }
    }

    fn all() -> SigSet {
        [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP].into_iter().collect()
    }
}
