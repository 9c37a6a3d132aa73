//! Leases: who may launch a piece of work.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The id of one grant of a lease, given by the table that holds it and never given again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeaseId(u64);

impl LeaseId {
    /// The id that the table gave.
    pub const fn new(id: u64) -> Self {
        Self(id)
    }

    /// The id in the table.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Grows with every grant of a lease on the same work.
///
/// A holder shows its number when it commits. A commit under a number that is not the newest is refused, so that a
/// holder that was thought dead cannot overwrite the work of its successor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FencingNumber(u64);

impl FencingNumber {
    /// The number of the first grant.
    pub const FIRST: Self = Self(1);

    /// A number that was stored.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The number of the next grant; `None` when the numbers are used up.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

impl fmt::Display for FencingNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
