//! What is shared by those who use it at the same time, and forgotten some time after nobody does.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// How many are kept that nobody uses any more.
pub(crate) const MAX_IDLE: usize = 128;

/// Shared values by their keys: those in use, and at the most [`MAX_IDLE`] others.
pub(crate) struct InUse<K, V>(Mutex<All<K, V>>);

struct All<K, V> {
    values: HashMap<K, Arc<V>>,
    /// How many there may be until somebody looks which are idle.
    most: usize,
}

impl<K, V> Default for InUse<K, V> {
    fn default() -> Self {
        Self(Mutex::new(All { values: HashMap::new(), most: MAX_IDLE }))
    }
}

impl<K: Hash + Eq, V> InUse<K, V> {
    /// The value of a key, made where there is none.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub(crate) fn get<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(value) = all.values.get(&key) {
            return Ok(Arc::clone(value));
        }
        if all.values.len() >= all.most {
            all.values.retain(|_, value| Arc::strong_count(value) > 1);
            all.most = all.values.len() + MAX_IDLE;
        }
        let value = Arc::new(make()?);
        all.values.insert(key, Arc::clone(&value));
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_uses_is_forgotten_and_what_somebody_uses_never() {
        let all = InUse::<usize, usize>::default();
        let make = |value: usize| move || Ok::<_, ()>(value);
        let len = || all.0.lock().unwrap().values.len();
        let used: Vec<_> = (0..MAX_IDLE / 2).map(|key| all.get(key, make(key)).unwrap()).collect();
        for key in MAX_IDLE / 2..MAX_IDLE {
            all.get(key, make(key)).unwrap();
        }
        assert_eq!(len(), MAX_IDLE, "there is room for all of them");
        all.get(MAX_IDLE, make(MAX_IDLE)).unwrap();
        assert_eq!(len(), MAX_IDLE / 2 + 1, "those that nobody uses are gone");
        for key in MAX_IDLE..100 * MAX_IDLE {
            all.get(key, make(key)).unwrap();
        }
        assert!(len() <= used.len() + MAX_IDLE, "{}", len());
        for (key, value) in used.iter().enumerate() {
            assert!(Arc::ptr_eq(value, &all.get(key, make(0)).unwrap()), "{key} is in use");
        }
        assert_eq!(all.get(1_000_000, || Err("no")).unwrap_err(), "no");
    }
}
