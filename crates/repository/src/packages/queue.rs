//! The requests that wait for a remote's pusher, and their answers.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::intent::{PushLimits, WriteError};
use super::layout::Layout;
use super::operation::{Done, Request};
use super::person::Person;
use crate::{Cancel, CredentialName, Error, RemoteUrl};

/// What is asked of the pusher.
pub(crate) struct Item {
    pub(crate) layout: Layout,
    pub(crate) author: Person,
    pub(crate) credential: Option<CredentialName>,
    pub(crate) request: Request,
}

/// What became of a request.
pub(crate) type Answer = Result<Done, WriteError>;

/// The requests that wait, and whether somebody works on them.
#[derive(Default)]
pub(crate) struct Queue(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// An answer came, the right to push is free, or somebody wants to leave.
    changed: Condvar,
    /// A request came.
    arrived: Condvar,
}

#[derive(Default)]
struct State {
    next: u64,
    waiting: VecDeque<(u64, Arc<Item>)>,
    answers: BTreeMap<u64, Answer>,
    is_busy: bool,
    last: Last,
}

/// The last batch: those who were in it are likely to come again.
#[derive(Clone, Copy, Default)]
struct Last {
    len: usize,
    took: Duration,
}

/// An item with the place of its answer.
pub(crate) struct Job {
    pub(crate) number: u64,
    pub(crate) item: Arc<Item>,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a request out of the queue that nobody waits for any more.
struct Leaving<'a> {
    shared: &'a Shared,
    number: u64,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.waiting.retain(|(number, _)| *number != self.number);
        state.answers.remove(&self.number);
        // Somebody else may be the first now.
        self.shared.changed.notify_all();
    }
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state()
    }

    /// How many requests wait.
    pub(crate) fn len(&self) -> usize {
        self.state().waiting.len()
    }

    /// Hands in a request and waits for its answer. Whoever finds nobody at work calls `push` for all that wait. Who is
    /// called off leaves, unless the request is being pushed: then it is carried out.
    pub(crate) fn run(
        &self,
        item: Item,
        cancel: &Cancel,
        remote: &RemoteUrl,
        limits: &PushLimits,
        push: impl Fn(Vec<Job>) + Sync,
    ) -> Answer {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        let item = Arc::new(item);
        state.waiting.push_back((number, Arc::clone(&item)));
        self.0.arrived.notify_all();
        drop(state);
        let _leaving = Leaving { shared: &self.0, number };
        let shared = Arc::clone(&self.0);
        let _hook = cancel.on_cancel(move || {
            // With the lock, so that nobody misses it who is about to wait.
            let _state = shared.state();
            shared.changed.notify_all();
        });
        let mut state = self.state();
        loop {
            if let Some(answer) = state.answers.remove(&number) {
                return answer;
            }
            if cancel.is_cancelled() && state.waiting.iter().any(|(waiting, _)| *waiting == number) {
                return Err(Error::Cancelled.into());
            }
            // Only who has the same credential can push it.
            let is_first =
                state.waiting.front().is_some_and(|(_, first)| first.credential == item.credential);
            if state.is_busy || !is_first {
                state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.is_busy = true;
            state = self.gather(state, limits);
            let jobs = take(&mut state.waiting, limits.max_batch);
            drop(state);
            let taken = jobs.iter().map(|job| job.number).collect();
            let busy = Busy { shared: &self.0, taken, since: Instant::now(), remote };
            // What a push takes for a moment (all refs of the remote) is then taken in one place, not once in each thread
            // of the callers: allocators keep a pool for each thread, and hand on that of a thread that ended.
            std::thread::scope(|scope| scope.spawn(|| push(jobs)).join())
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            drop(busy);
            state = self.state();
        }
    }

    /// Waits a moment for those who just got an answer and may ask again: otherwise half of the clients would always
    /// be under way while the other half waits. Nobody waits who was alone before.
    fn gather<'a>(&'a self, state: MutexGuard<'a, State>, limits: &PushLimits) -> MutexGuard<'a, State> {
        let Last { len, took } = state.last;
        let longest = limits.max_gather.min(took / 8);
        let waited = self.0.arrived.wait_timeout_while(state, longest, |state| state.waiting.len() < len);
        waited.unwrap_or_else(PoisonError::into_inner).0
    }

    pub(crate) fn answer(&self, number: u64, answer: Answer) {
        self.state().answers.insert(number, answer);
        self.0.changed.notify_all();
    }
}

/// The first requests that can be pushed together: with one credential, to one branch.
fn take(waiting: &mut VecDeque<(u64, Arc<Item>)>, most: usize) -> Vec<Job> {
    let mut jobs: Vec<Job> = Vec::new();
    let mut rest = VecDeque::new();
    for (number, item) in waiting.drain(..) {
        let is_alike = |job: &Job| {
            job.item.credential == item.credential && job.item.layout.branch == item.layout.branch
        };
        if jobs.len() < most && jobs.first().is_none_or(is_alike) {
            jobs.push(Job { number, item });
        } else {
            rest.push_back((number, item));
        }
    }
    *waiting = rest;
    jobs
}

/// Gives back the right to push, also when the work panics; then those whose requests were taken hear of it.
struct Busy<'a> {
    shared: &'a Shared,
    taken: Vec<u64>,
    since: Instant,
    remote: &'a RemoteUrl,
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        for number in &self.taken {
            state.answers.entry(*number).or_insert_with(|| {
                let cause = "the push ended without an answer".to_owned();
                let cause = Error::Protocol { remote: self.remote.clone(), cause };
                Err(WriteError::Unknown { cause: Arc::new(cause) })
            });
        }
        state.is_busy = false;
        state.last = Last { len: self.taken.len() + state.waiting.len(), took: self.since.elapsed() };
        self.shared.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::super::operation::Operation;
    use super::*;

    fn item(branch: &str, credential: &str) -> Arc<Item> {
        let layout = Layout { branch: branch.parse().unwrap(), directory: lanai_krm::package::Folder::Root };
        let request = Request {
            what: Operation::CreateBranch,
            user: Person::user("ann"),
            time: 0,
            label: String::new(),
        };
        let credential = Some(CredentialName(credential.to_owned()));
        Arc::new(Item { layout, author: Person::user("ann"), credential, request })
    }

    #[test]
    fn what_goes_together_has_one_branch_and_one_credential() {
        let mut waiting: VecDeque<_> =
            [("main", "a"), ("other", "a"), ("main", "b"), ("main", "a"), ("main", "a"), ("other", "a")]
                .into_iter()
                .zip(0..)
                .map(|((branch, credential), number)| (number, item(branch, credential)))
                .collect();
        let mut batches = Vec::new();
        while !waiting.is_empty() {
            batches.push(take(&mut waiting, 2).iter().map(|job| job.number).collect::<Vec<_>>());
        }
        assert_eq!(batches, [vec![0, 3], vec![1, 5], vec![2], vec![4]]);
    }
}
