//! What is worth another attempt, and when.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::pusher::wait;
use crate::{Cancel, Error};

/// What kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// There is no connection: no such host, nobody listens, or it was lost.
    Host,
    /// The remote does not accept who we are.
    Authentication,
    /// What the remote shows of itself cannot be trusted.
    Tls,
    /// It was silent for too long.
    Timeout,
    /// It asks us to come back later.
    RateLimit,
    /// It has a trouble of its own.
    Server,
    /// There is no such repository, branch or commit.
    NotFound,
    /// It will not be otherwise the next time.
    Permanent,
}

/// How often and how patiently something is tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackOff {
    /// How many times after the first.
    pub retries: u32,
    /// The longest first pause; each further one may be twice as long.
    pub first: Duration,
    /// How long to leave a remote alone when all attempts failed, before the next poll.
    pub rest: Duration,
}

impl Class {
    /// What a failure is.
    pub fn of(error: &Error) -> Self {
        match error {
            Error::Unreachable { .. } => Self::Host,
            Error::Credentials { .. } => Self::Authentication,
            Error::Tls { .. } | Error::HostKey { .. } => Self::Tls,
            Error::Timeout { .. } => Self::Timeout,
            Error::RateLimited { .. } => Self::RateLimit,
            Error::Unavailable { .. } => Self::Server,
            Error::UnknownRevision { .. }
            | Error::UnknownCommit { .. }
            | Error::NoDefaultBranch { .. }
            | Error::NoFolder { .. }
            | Error::NotARepository { .. } => Self::NotFound,
            Error::Protocol { .. }
            | Error::Unsupported { .. }
            | Error::Damaged { .. }
            | Error::Package { .. }
            | Error::FileName { .. }
            | Error::TooMuch { .. }
            | Error::File { .. }
            | Error::Cancelled => Self::Permanent,
        }
    }

    /// How it is tried again. Only what may pass by itself is.
    pub const fn back_off(self) -> BackOff {
        let (retries, first, rest) = match self {
            Self::Host => (2, 200, 30),
            Self::Timeout => (1, 500, 60),
            Self::RateLimit => (2, 1_000, 120),
            Self::Server => (3, 200, 30),
            Self::Authentication => (0, 0, 60),
            Self::Tls => (0, 0, 300),
            Self::NotFound => (0, 0, 120),
            Self::Permanent => (0, 0, 600),
        };
        BackOff { retries, first: Duration::from_millis(first), rest: Duration::from_secs(rest) }
    }
}

/// Chance, from a seed that comes from outside.
#[derive(Debug)]
pub(crate) struct Chance(AtomicU64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// A time that is not longer than this one, and not shorter than half of it.
    pub(crate) fn below(&self, longest: Duration) -> Duration {
        let mut mixed = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let share = u32::try_from((mixed >> 33) % 1000).unwrap_or(0);
        longest / 2 + longest / 2 * share / 1000
    }
}

/// Pauses, unless somebody asks to stop.
pub(crate) fn pause(cancel: &Cancel, time: Duration) {
    wait(cancel, time);
}

/// Tries something until it works, fails for good, or has failed too often.
pub(crate) fn patiently<T>(
    cancel: &Cancel,
    chance: &Chance,
    mut action: impl FnMut() -> Result<T, Error>,
) -> Result<T, Error> {
    let mut attempt = 0;
    loop {
        let error = match action() {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let back_off = Class::of(&error).back_off();
        if attempt >= back_off.retries || cancel.is_cancelled() {
            return Err(error);
        }
        let asked = match &error {
            Error::RateLimited { retry_after, .. } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        if asked > MAX_ASKED {
            return Err(error);
        }
        pause(cancel, chance.below(back_off.first * (1 << attempt)).max(asked));
        attempt += 1;
    }
}

/// Who asks us to stay away for longer is left alone, and the caller is told.
const MAX_ASKED: Duration = Duration::from_secs(10);
