//! How far a store goes ahead that may have given out numbers which it does not know of.

use ring::rand::{SecureRandom, SystemRandom};

use crate::Error;

/// How far a restored store is ahead of what it was made from, at least: more than anything can have written since.
pub const RESTORE_JUMP: u64 = 1_000_000_000_000;

/// How much farther it is by chance, below this. One backup may be restored twice, and each of the two stores gives out numbers of its own:
/// that two of them, with a million writes each, share a number happens once in five million times. Some thousand restores in a row stay below 2^53.
pub const RESTORE_SPREAD: u64 = 10_000_000_000_000;

/// How far one restore goes ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Jump(u64);

impl Jump {
    /// A jump that no other restore makes, but for very rare chance.
    pub fn by_chance() -> Result<Self, Error> {
        chance().map(Self::of)
    }

    /// The jump of a number that was drawn.
    pub const fn of(chance: u64) -> Self {
        Self(RESTORE_JUMP + chance % RESTORE_SPREAD)
    }

    /// The number that is so far ahead of another one; an error if numbers are used up.
    pub fn ahead_of(self, number: u64) -> Result<u64, Error> {
        let ahead = number.checked_add(self.0).filter(|ahead| i64::try_from(*ahead).is_ok());
        ahead.ok_or_else(|| Error::Unavailable { cause: "the revisions are used up".into() })
    }
}

/// A number by chance.
pub(crate) fn chance() -> Result<u64, Error> {
    let mut bytes = [0; 8];
    let done = SystemRandom::new().fill(&mut bytes);
    done.map_err(|_| Error::Unavailable { cause: "the system gives no random numbers".into() })?;
    Ok(u64::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jump_is_long_and_differs() {
        assert_eq!(Jump::of(0).ahead_of(7), Ok(7 + RESTORE_JUMP));
        assert_eq!(Jump::of(RESTORE_SPREAD - 1).ahead_of(0), Ok(RESTORE_JUMP + RESTORE_SPREAD - 1));
        assert_eq!(Jump::of(RESTORE_SPREAD).ahead_of(0), Ok(RESTORE_JUMP));
        assert_ne!(Jump::by_chance(), Jump::by_chance());
    }

    #[test]
    fn numbers_end_where_databases_count_no_further() {
        let last = i64::MAX as u64 - RESTORE_JUMP;
        assert_eq!(Jump::of(0).ahead_of(last), Ok(i64::MAX as u64));
        assert!(Jump::of(1).ahead_of(last).is_err());
        assert!(Jump::of(0).ahead_of(u64::MAX).is_err());
    }
}
