//! How many requests are worked on at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::status::Status;

/// Counts what is under way, in all and per user.
#[derive(Debug, Clone)]
pub(crate) struct Gate {
    counts: Arc<Mutex<Counts>>,
    max: usize,
    max_per_user: usize,
    what: &'static str,
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    users: HashMap<String, usize>,
}

/// One that is under way, until this is dropped.
#[derive(Debug)]
pub(crate) struct Pass {
    gate: Gate,
    user: String,
}

impl Gate {
    pub fn new(what: &'static str, max: usize, max_per_user: usize) -> Self {
        Self { counts: Arc::default(), max, max_per_user, what }
    }

    /// Lets one more in, or says that it is too many.
    pub fn enter(&self, user: &str) -> Result<Pass, Status> {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.all >= self.max {
            let message = format!(
                "too many {}: {} are open, and at most {} are taken",
                self.what, counts.all, self.max
            );
            return Err(Status::too_many(message));
        }
        let own = counts.users.get(user).copied().unwrap_or_default();
        if own >= self.max_per_user {
            let max = self.max_per_user;
            let message = format!(
                "too many {} of user \"{user}\": {own} are open, and at most {max} are taken",
                self.what
            );
            return Err(Status::too_many(message));
        }
        counts.all += 1;
        counts.users.insert(user.to_owned(), own + 1);
        Ok(Pass { gate: self.clone(), user: user.to_owned() })
    }

    /// How many are under way.
    pub fn open(&self) -> usize {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).all
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut counts = self.gate.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all -= 1;
        match counts.users.get_mut(&self.user) {
            Some(own) if *own > 1 => *own -= 1,
            Some(_) => {
                counts.users.remove(&self.user);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_one_fits_and_one_more_does_not() {
        let gate = Gate::new("requests", 3, 2);
        let first = gate.enter("a").unwrap();
        let _second = gate.enter("a").unwrap();
        assert!(gate.enter("a").unwrap_err().message.contains("of user \"a\""));
        let third = gate.enter("b").unwrap();
        assert_eq!(gate.enter("c").unwrap_err().code.as_u16(), 429);
        drop(third);
        drop(first);
        assert_eq!(gate.open(), 1);
        assert!(gate.enter("a").is_ok());
    }
}
