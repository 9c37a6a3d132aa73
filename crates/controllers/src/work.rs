//! What is to be done, and when again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tokio::time::Instant;

/// How long work that failed waits at first; twice as long each further time.
pub const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The longest that work that fails again and again waits.
pub const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// When a key is looked at again without a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Not before something changes.
    Done,
    /// After this time, or when something changes before.
    After(Duration),
}

/// How work on a key ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// Well.
    Well(Next),
    /// It failed, and is tried again.
    Failed,
}

/// Keys, each of which is worked on at most once at a time. A value: time comes in as an argument.
#[derive(Debug)]
pub struct Work<K> {
    due: BTreeSet<(Instant, K)>,
    when: BTreeMap<K, Instant>,
    running: BTreeSet<K>,
    again: BTreeSet<K>,
    failures: BTreeMap<K, u32>,
}

impl<K> Default for Work<K> {
    fn default() -> Self {
        Self {
            due: BTreeSet::new(),
            when: BTreeMap::new(),
            running: BTreeSet::new(),
            again: BTreeSet::new(),
            failures: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone> Work<K> {
    /// Something changed: the key is due now, or as soon as the work on it that is under way has ended.
    pub fn push(&mut self, key: K, now: Instant) {
        if self.running.contains(&key) {
            self.again.insert(key);
        } else {
            self.schedule(key, now);
        }
    }

    /// The key that waited longest of those that are due; it is under way from here on.
    pub fn take(&mut self, now: Instant) -> Option<K> {
        let (at, key) = self.due.first().cloned()?;
        if at > now {
            return None;
        }
        self.due.pop_first();
        self.when.remove(&key);
        self.running.insert(key.clone());
        Some(key)
    }

    /// Work on a key ended.
    pub fn end(&mut self, key: K, ended: Ended, now: Instant) {
        self.running.remove(&key);
        let has_changed = self.again.remove(&key);
        match ended {
            Ended::Well(_) if has_changed => {
                self.failures.remove(&key);
                self.schedule(key, now);
            }
            Ended::Well(next) => {
                self.failures.remove(&key);
                if let Next::After(wait) = next {
                    self.schedule(key, now + wait);
                }
            }
            // What fails waits also when it has changed: a loop of changes and failures must not run hot.
            Ended::Failed => {
                let failures = self.failures.entry(key.clone()).or_default();
                let wait = FIRST_WAIT.saturating_mul(2_u32.saturating_pow(*failures)).min(LONGEST_WAIT);
                *failures = failures.saturating_add(1);
                self.schedule(key, now + wait);
            }
        }
    }

    /// When the next key is due.
    pub fn next(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    fn schedule(&mut self, key: K, at: Instant) {
        if let Some(before) = self.when.get(&key).copied() {
            if before <= at {
                return;
            }
            self.due.remove(&(before, key.clone()));
        }
        self.when.insert(key.clone(), at);
        self.due.insert((at, key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_worked_on_once_at_a_time() {
        let now = Instant::now();
        let mut work = Work::default();
        work.push("a", now);
        work.push("a", now);
        work.push("b", now + Duration::from_millis(1));
        assert_eq!(work.take(now), Some("a"));
        assert_eq!(work.take(now), None, "a is under way, and b is not due");
        work.push("a", now);
        assert_eq!(work.take(now), None);
        work.end("a", Ended::Well(Next::Done), now);
        assert_eq!(work.take(now), Some("a"), "it changed while it was under way");
        work.end("a", Ended::Well(Next::Done), now);
        assert_eq!(work.next(), Some(now + Duration::from_millis(1)));
    }

    #[test]
    fn failures_wait_longer_each_time_and_not_forever() {
        let mut now = Instant::now();
        let mut work = Work::default();
        work.push("a", now);
        let mut waits = Vec::new();
        for _ in 0..12 {
            assert_eq!(work.take(now), Some("a"));
            work.push("a", now);
            work.end("a", Ended::Failed, now);
            let next = work.next().unwrap();
            waits.push(next - now);
            now = next;
        }
        assert_eq!(waits[..3], [FIRST_WAIT, FIRST_WAIT * 2, FIRST_WAIT * 4]);
        assert_eq!(waits.last(), Some(&LONGEST_WAIT));
        assert_eq!(work.take(now), Some("a"));
        work.end("a", Ended::Well(Next::Done), now);
        assert_eq!(work.next(), None);
        work.push("a", now);
        work.take(now);
        work.end("a", Ended::Failed, now);
        assert_eq!(work.next(), Some(now + FIRST_WAIT), "failures before a success are forgotten");
    }

    #[test]
    fn a_change_does_not_wait_for_a_later_look() {
        let now = Instant::now();
        let mut work = Work::default();
        work.push("a", now);
        work.take(now);
        work.end("a", Ended::Well(Next::After(Duration::from_mins(5))), now);
        assert_eq!(work.take(now), None);
        work.push("a", now);
        assert_eq!(work.take(now), Some("a"));
        work.end("a", Ended::Well(Next::Done), now);
        assert_eq!(work.next(), None, "the later look was the same key");
    }
}
