//! The clock of the store.

use std::{fmt, str::FromStr};

use crate::{quote::Quoted, text::text_forms};

/// The number that the store's one counter gave to a write.
///
/// Every object carries the number of its last write as `metadata.resourceVersion`. Numbers of one store are ordered:
/// the greater one was written later, whichever objects they belong to. On the wire it is a decimal string without
/// sign or leading zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceVersion(u64);

/// A text that no store ever wrote as a resource version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("resource version {} is not a decimal number below 2^64 without sign or leading zeros", Quoted(.raw))]
pub struct Error {
    /// The text.
    pub raw: String,
}

impl ResourceVersion {
    /// Before the first write. In a list or watch request it means "whatever you have".
    pub const ZERO: Self = Self(0);

    /// The version of this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The version of the write after this one; `None` when the counter is used up.
    #[must_use]
    pub const fn next(self) -> Option<Self> {
        match self.0.checked_add(1) {
            Some(number) => Some(Self(number)),
            None => None,
        }
    }
}

impl FromStr for ResourceVersion {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        canonical_decimal(raw).map(Self).ok_or_else(|| Error { raw: raw.to_owned() })
    }
}

impl fmt::Display for ResourceVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

text_forms!(ResourceVersion, Error);

/// Reads a number in the one way in which it is written, so that equal numbers have equal texts.
pub(crate) fn canonical_decimal(raw: &str) -> Option<u64> {
    let is_canonical = raw == "0" || !raw.starts_with(['0', '+']);
    if is_canonical { raw.parse().ok() } else { None }
}
