//! What is written down about a result.

use std::time::{Duration, SystemTime};

use lanai_types::Sha256Digest;

use crate::{Key, Subject};

/// A moment, in milliseconds since 1970. Leases compare the moments of the processes of one machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(pub u64);

impl Moment {
    /// What the clock of the machine says.
    pub fn of_the_clock() -> Self {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// So much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)))
    }

    /// How long it is from an earlier moment to this one.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(self.0.saturating_sub(earlier.0))
    }
}

/// What is known about a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Of which work it is the result.
    pub key: Key,
    /// The digest of its content.
    pub blob: Sha256Digest,
    /// How many bytes it has.
    pub size: u64,
    /// Whether it is a result or a failure.
    pub outcome: Outcome,
    /// What it is about, for people.
    pub subject: Subject,
    /// When it was made.
    pub made: Moment,
    /// When it was asked for last, about.
    pub used: Moment,
}

/// Whether work succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It did; the result counts for ever.
    Success,
    /// It failed; that counts until then.
    Failure {
        /// When it is tried again.
        until: Moment,
    },
}

impl Outcome {
    /// Whether it still counts.
    pub fn counts_at(self, now: Moment) -> bool {
        match self {
            Self::Success => true,
            Self::Failure { until } => now < until,
        }
    }
}
