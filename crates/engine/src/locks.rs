//! Who waits for whom.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex as Fair, OwnedMutexGuard};

/// How long somebody who lost is told that another request was there.
const RECENT: Duration = Duration::from_secs(5);
/// How many writes are remembered for that.
const MAX_RECENT: usize = 10_000;

/// Locks by name, given in the order in which they were asked for.
#[derive(Default)]
pub struct Locks {
    held: Mutex<HashMap<String, Weak<Fair<()>>>>,
}

/// Holds a lock until it is dropped.
pub struct Held {
    _guard: OwnedMutexGuard<()>,
}

impl Locks {
    /// Waits until nobody else has the lock of this name.
    pub async fn lock(&self, name: &str) -> Held {
        let lock = self.of(name);
        Held { _guard: lock.lock_owned().await }
    }

    fn of(&self, name: &str) -> Arc<Fair<()>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = held.get(name).and_then(Weak::upgrade) {
            return lock;
        }
        // What nobody holds or waits for is forgotten, from time to time.
        if held.len().is_power_of_two() {
            held.retain(|_, lock| lock.strong_count() > 0);
        }
        let lock = Arc::new(Fair::new(()));
        held.insert(name.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

/// What was written a moment ago.
#[derive(Default)]
pub struct Recent {
    written: Mutex<HashMap<String, Instant>>,
}

impl Recent {
    /// Something was written.
    pub fn note(&self, name: &str, now: Instant) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.len() >= MAX_RECENT {
            written.retain(|_, at| now.duration_since(*at) < RECENT);
        }
        if written.len() < MAX_RECENT {
            written.insert(name.to_owned(), now);
        }
    }

    /// Whether that is a moment ago.
    pub fn is_recent(&self, name: &str, now: Instant) -> bool {
        let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.get(name).is_some_and(|at| now.duration_since(*at) < RECENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn locks_are_given_in_order_and_forgotten() {
        let locks = Arc::new(Locks::default());
        let order = Arc::new(Mutex::new(Vec::new()));
        let first = locks.lock("a").await;
        let mut waiting = Vec::new();
        for number in 0..8 {
            let (locks, order) = (locks.clone(), order.clone());
            waiting.push(tokio::spawn(async move {
                let _held = locks.lock("a").await;
                order.lock().unwrap().push(number);
            }));
            tokio::task::yield_now().await;
        }
        let _other = locks.lock("b").await;
        drop(first);
        for one in waiting {
            one.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), (0..8).collect::<Vec<_>>());
        for number in 0..100 {
            drop(locks.lock(&number.to_string()).await);
        }
        assert!(locks.held.lock().unwrap().len() < 70, "what nobody holds is forgotten");
    }

    #[test]
    fn a_moment_ago_is_five_seconds() {
        let (recent, now) = (Recent::default(), Instant::now());
        recent.note("a", now);
        assert!(recent.is_recent("a", now + Duration::from_millis(4_999)));
        assert!(!recent.is_recent("a", now + RECENT));
        assert!(!recent.is_recent("b", now));
    }
}
