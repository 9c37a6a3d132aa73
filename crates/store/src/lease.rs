//! Leases: who may launch a piece of work.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use lanai_types::FencingNumber;

use crate::check::check_name;
use crate::error::Invalid;

/// The name of what is leased.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseName(String);

impl LeaseName {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LeaseName {
    type Err = Invalid;

    fn from_str(raw: &str) -> Result<Self, Invalid> {
        check_name("lease", raw)?;
        Ok(Self(raw.to_owned()))
    }
}

impl fmt::Display for LeaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A moment as the caller's clock has it, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// Leases that ended before this moment are forgotten.
    pub(crate) fn forgotten(self) -> Self {
        let millis = u64::try_from(FORGOTTEN_AFTER.as_millis()).unwrap_or(u64::MAX);
        Self(self.0.saturating_sub(millis))
    }

    /// The moment that is so much later.
    pub(crate) fn after(self, time: Duration) -> Self {
        let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        // Databases count with a sign.
        Self(self.0.saturating_add(millis).min(i64::MAX as u64))
    }
}

/// A lease whose time has been over for so long is forgotten when somebody acquires one.
pub const FORGOTTEN_AFTER: Duration = Duration::from_hours(24);

/// Somebody's wish to have a lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The lease.
    pub lease: LeaseName,
    /// Who wants it: 1 to 512 bytes without control characters.
    pub holder: String,
    /// What time it is for the one who asks.
    pub now: Moment,
    /// For how long.
    pub time: Duration,
}

/// A lease that somebody has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// What a transaction shows.
    pub fence: Fence,
    /// Who has it.
    pub holder: String,
    /// When others may take it.
    pub until: Moment,
}

/// A lease, and the number under which it was given. Numbers of one store only grow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fence {
    /// The lease.
    pub lease: LeaseName,
    /// The number.
    pub number: FencingNumber,
}
