//! How long a function may run.

use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// When a function has to be done at the latest, and a way to call it off earlier.
#[derive(Clone, Debug)]
pub struct Deadline {
    /// When it has to be done.
    pub at: Instant,
    /// How long it had when it began; for messages.
    pub limit: Duration,
    /// Whoever holds a clone can call the function off.
    pub cancel: CancellationToken,
}

impl Deadline {
    /// From now on, for that long. Nobody calls it off.
    pub fn after(limit: Duration) -> Self {
        // A limit beyond what the clock can say is no limit in any life time.
        let far = Duration::from_hours(24 * 365);
        Self { at: Instant::now() + limit.min(far), limit, cancel: CancellationToken::new() }
    }

    /// How long is left.
    pub fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }
}
