//! How many functions run at once, and who is next.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// Bounds on calls. All are inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GateLimits {
    /// Calls that run at once.
    pub max_running: usize,
    /// Calls that wait, of all images together.
    pub max_waiting: usize,
    /// Calls that wait, of one image.
    pub max_waiting_per_image: usize,
}

impl GateLimits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self { max_running: 16, max_waiting: 1_024, max_waiting_per_image: 256 };
}

impl Default for GateLimits {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Lets so many calls run at once, and the others wait in one queue for each image. The queues are served in turn, so that an image with
/// many calls holds nobody up. A call that finds its queue full is told so at once.
#[derive(Debug)]
pub struct Gate {
    limits: GateLimits,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    waiting: usize,
    queues: HashMap<String, VecDeque<oneshot::Sender<Pass>>>,
    /// The images that have a queue, the next one first.
    turns: VecDeque<String>,
}

/// The right to run. Dropping it lets the next one in.
#[derive(Debug)]
pub struct Pass(Arc<Gate>);

/// Too many wait already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many calls wait already: {waiting} of {limit}")]
pub struct Full {
    /// How many wait.
    pub waiting: usize,
    /// How many may.
    pub limit: usize,
}

impl Gate {
    /// A gate with these limits.
    pub fn new(limits: GateLimits) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// How many calls run, and how many wait.
    pub fn load(&self) -> (usize, usize) {
        let state = self.state();
        (state.running, state.waiting)
    }

    /// Waits for the turn of a call. Whoever does not want to wait any longer drops the future.
    ///
    /// # Errors
    /// When too many wait already.
    pub async fn enter(self: &Arc<Self>, image: &str) -> Result<Pass, Full> {
        let turn = {
            let mut state = self.state();
            if state.running < self.limits.max_running {
                state.running += 1;
                return Ok(Pass(Arc::clone(self)));
            }
            // Those who went away do not count.
            state.sweep(image);
            let (all, own) = (state.waiting, state.queues.get(image).map_or(0, VecDeque::len));
            if own >= self.limits.max_waiting_per_image {
                return Err(Full { waiting: own, limit: self.limits.max_waiting_per_image });
            }
            if all >= self.limits.max_waiting {
                return Err(Full { waiting: all, limit: self.limits.max_waiting });
            }
            let (sender, turn) = oneshot::channel();
            state.waiting += 1;
            if !state.queues.contains_key(image) {
                state.turns.push_back(image.to_owned());
            }
            state.queues.entry(image.to_owned()).or_default().push_back(sender);
            turn
        };
        turn.await.map_err(|_| Full { waiting: self.limits.max_waiting, limit: self.limits.max_waiting })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One has ended: the next one gets its place.
    fn leave(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state();
                let next = state.next();
                if next.is_none() {
                    state.running -= 1;
                }
                next
            };
            let Some(next) = next else { return };
            // Who went away meanwhile gives the pass back; it must not be dropped as one, or the place would be given twice.
            match next.send(Pass(Arc::clone(self))) {
                Ok(()) => return,
                Err(pass) => std::mem::forget(pass),
            }
        }
    }
}

impl State {
    fn next(&mut self) -> Option<oneshot::Sender<Pass>> {
        let image = self.turns.pop_front()?;
        let queue = self.queues.get_mut(&image)?;
        let next = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(&image);
        } else {
            self.turns.push_back(image);
        }
        self.waiting -= usize::from(next.is_some());
        next
    }

    fn sweep(&mut self, image: &str) {
        let Some(queue) = self.queues.get_mut(image) else { return };
        let before = queue.len();
        queue.retain(|waiting| !waiting.is_closed());
        self.waiting -= before - queue.len();
        if queue.is_empty() {
            self.queues.remove(image);
            self.turns.retain(|turn| turn != image);
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.0.leave();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn gate(max_running: usize, max_waiting: usize, max_waiting_per_image: usize) -> Arc<Gate> {
        Gate::new(GateLimits { max_running, max_waiting, max_waiting_per_image })
    }

    #[tokio::test]
    async fn images_take_turns() {
        let gate = gate(1, 10, 10);
        let first = gate.enter("a").await.unwrap();
        let mut waiting: Vec<_> =
            ["a", "a", "a", "b", "c"].into_iter().map(|image| (image, Box::pin(gate.enter(image)))).collect();
        for (_, turn) in &mut waiting {
            assert!(turn.now_or_never().is_none());
        }
        assert_eq!(gate.load(), (1, 5));
        drop(first);
        let mut order = Vec::new();
        while !waiting.is_empty() {
            let ready = waiting.iter_mut().position(|(image, turn)| {
                let pass = turn.now_or_never();
                if pass.is_some() {
                    order.push(*image);
                }
                pass.is_some()
            });
            drop(waiting.remove(ready.unwrap()));
        }
        assert_eq!(order, ["a", "b", "c", "a", "a"]);
        assert_eq!(gate.load(), (0, 0));
    }

    #[tokio::test]
    async fn a_full_queue_says_so_on_its_edge() {
        let gate = gate(1, 3, 2);
        let _first = gate.enter("a").await.unwrap();
        let mut waiting: Vec<_> =
            ["a", "a", "b"].into_iter().map(|image| Box::pin(gate.enter(image))).collect();
        for turn in &mut waiting {
            assert!(turn.now_or_never().is_none());
        }
        assert_eq!(gate.enter("a").await.unwrap_err(), Full { waiting: 2, limit: 2 });
        assert_eq!(gate.enter("c").await.unwrap_err(), Full { waiting: 3, limit: 3 });
        // Who goes away makes room.
        drop(waiting.remove(0));
        assert!(Box::pin(gate.enter("a")).now_or_never().is_none());
    }

    #[tokio::test]
    async fn a_place_is_not_lost_with_somebody_who_went_away() {
        let gate = gate(1, 10, 10);
        let first = gate.enter("a").await.unwrap();
        let mut gone = Box::pin(gate.enter("a"));
        let mut next = Box::pin(gate.enter("b"));
        assert!((&mut gone).now_or_never().is_none() && (&mut next).now_or_never().is_none());
        drop(gone);
        drop(first);
        let pass = next.await.unwrap();
        assert_eq!(gate.load(), (1, 0));
        drop(pass);
        assert_eq!(gate.load(), (0, 0));
    }
}
