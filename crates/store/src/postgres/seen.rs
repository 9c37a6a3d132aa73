//! What this process was shown, and whether a server still has it.
//!
//! A server that took over from another one may lack the newest revisions, and may give their numbers to other writes before anybody looks. So
//! a number alone does not tell. Every batch of writes has a stamp by chance; a revision that is there with another stamp is another write.

use std::sync::{Mutex, PoisonError};

use ring::rand::{SecureRandom, SystemRandom};

use crate::{Error, Revision};

/// A revision that this process was shown, with the stamp of its write; none where history begins, as after a restore.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) revision: Revision,
    pub(crate) stamp: Option<i64>,
}

/// The newest of what this process was shown.
#[derive(Debug)]
pub(crate) struct Newest(Mutex<Seen>);

impl Newest {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Seen { revision: Revision::ZERO, stamp: None }))
    }

    pub(crate) fn get(&self) -> Seen {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what somebody was shown.
    pub(crate) fn raise(&self, seen: Seen) {
        let mut newest = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.revision > newest.revision {
            *newest = seen;
        }
    }
}

/// What a server has at a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum There {
    /// A version, with its stamp.
    Version(Option<i64>),
    Nothing,
}

/// What a server says of itself, and of a revision that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Testimony {
    pub(crate) head: Revision,
    pub(crate) horizon: Revision,
    pub(crate) there: There,
}

impl Testimony {
    /// True if the server has all that was seen of it. History below the horizon tells nothing, and misleads nobody.
    pub(crate) fn confirms(&self, seen: &Seen) -> bool {
        if seen.revision > self.head {
            return false;
        }
        if seen.revision <= self.horizon {
            return true;
        }
        match self.there {
            There::Nothing => false,
            There::Version(stamp) => seen.stamp.is_none() || stamp == seen.stamp,
        }
    }
}

/// A stamp for a batch of writes.
pub(crate) fn new_stamp() -> Result<i64, Error> {
    let mut bytes = [0; 8];
    let done = SystemRandom::new().fill(&mut bytes);
    done.map_err(|_| Error::Unavailable { cause: "the system gives no random numbers".into() })?;
    Ok(i64::from_be_bytes(bytes))
}

/// What is said to those who asked a server that lost something.
pub(crate) fn lost() -> Error {
    Error::Unavailable {
        cause: "the server has lost revisions that were seen here; it goes on behind them".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_alone_does_not_tell() {
        let rev = Revision::new;
        let seen = Seen { revision: rev(5), stamp: Some(7) };
        let check = |head, horizon, there, expected: bool| {
            let testimony = Testimony { head: rev(head), horizon: rev(horizon), there };
            assert_eq!(testimony.confirms(&seen), expected, "{testimony:?}");
        };
        check(5, 0, There::Version(Some(7)), true);
        check(9, 0, There::Version(Some(7)), true);
        check(4, 0, There::Nothing, false);
        check(9, 0, There::Version(Some(8)), false);
        check(9, 0, There::Version(None), false);
        check(9, 4, There::Nothing, false);
        check(9, 5, There::Nothing, true);
        check(9, 5, There::Version(Some(8)), true);
    }
}
