//! Work on a thread of its own, which ends when nobody waits for it.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use lanai_evaluate::{Deadline, Error};
use lanai_process::Killer;
use tokio::sync::oneshot;

/// Given to the work, so that it can say how it is ended.
#[derive(Clone, Default)]
pub(crate) struct Watch(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    /// Nothing was started yet.
    #[default]
    Free,
    Started(Killer),
    CalledOff,
}

impl Watch {
    /// The work has started a program. If it was called off meanwhile, the program is killed at once.
    pub(crate) fn started(&self, killer: Killer) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            State::CalledOff => killer.kill(),
            State::Free | State::Started(_) => *state = State::Started(killer),
        }
    }

    fn call_off(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Started(killer) = std::mem::replace(&mut *state, State::CalledOff) {
            killer.kill();
        }
    }
}

/// Waits for the end of the thread when dropped, after ending what it waits for.
struct Owner {
    watch: Watch,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.watch.call_off();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Does work that starts a program and waits for its end.
///
/// When the deadline is called off, or the future is dropped, the program is killed; its end is waited for in both cases, which
/// is a matter of milliseconds. The deadline's time is the work's own business.
pub(crate) async fn run<T: Send + 'static>(
    deadline: &Deadline,
    work: impl FnOnce(&Watch) -> T + Send + 'static,
) -> Result<T, Error> {
    if deadline.cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    let watch = Watch::default();
    let (sender, mut answer) = oneshot::channel();
    let inner = watch.clone();
    let thread = thread::Builder::new().name("function".into()).spawn(move || {
        // Nobody listens when the future was dropped.
        let _ = sender.send(work(&inner));
    });
    let thread = thread.map_err(|cause| Error::Infrastructure(format!("cannot start a thread: {cause}")))?;
    let owner = Owner { watch, thread: Some(thread) };
    let done = tokio::select! {
        done = &mut answer => done,
        () = deadline.cancel.cancelled() => {
            owner.watch.call_off();
            let _ = answer.await;
            return Err(Error::Cancelled);
        }
    };
    done.map_err(|_| Error::Infrastructure("the thread that waited for the function is gone".into()))
}
