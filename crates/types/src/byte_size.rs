//! Amounts of bytes.

use std::{fmt, str::FromStr};

use crate::{quote::Quoted, text::text_forms};

/// An exact number of bytes.
///
/// Shown in the largest unit that needs no fraction: `10 MiB`, `1536 KiB`, `1025 B`. Read as a whole number, an
/// optional blank and an optional unit of `B`, `KiB`, `MiB`, `GiB`, `TiB`, which may leave out its `B` as quantities of Kubernetes do;
/// no unit means bytes. Nothing is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSize(u64);

/// Largest first.
const UNITS: [(&str, u64); 5] =
    [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// Why a text is not an amount of bytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No whole number at the start.
    #[error("size {} is not a whole number with an optional unit, such as \"10 MiB\"", Quoted(.0))]
    NotANumber(String),
    /// A number, and then something that is no unit.
    #[error("size {} has no unit of B, KiB, MiB, GiB, TiB", Quoted(.0))]
    UnknownUnit(String),
    /// 2^64 bytes or more.
    #[error("size {} is too large: it does not fit into 64 bits", Quoted(.0))]
    TooLarge(String),
}

impl ByteSize {
    /// So many bytes.
    pub const fn bytes(number: u64) -> Self {
        Self(number)
    }

    /// So many units of 2^10 bytes.
    pub const fn kib(number: u32) -> Self {
        Self((number as u64) << 10)
    }

    /// So many units of 2^20 bytes.
    pub const fn mib(number: u32) -> Self {
        Self((number as u64) << 20)
    }

    /// So many units of 2^30 bytes.
    pub const fn gib(number: u32) -> Self {
        Self((number as u64) << 30)
    }

    /// The number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// True for an amount that this limit lets through: as much as the limit, or less.
    pub const fn admits(self, amount: usize) -> bool {
        amount as u64 <= self.0
    }
}

impl FromStr for ByteSize {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        let end = raw.find(|c: char| !c.is_ascii_digit()).unwrap_or(raw.len());
        let (digits, rest) = raw.split_at(end);
        if digits.is_empty() {
            return Err(Error::NotANumber(raw.to_owned()));
        }
        let unit = rest.strip_prefix(' ').unwrap_or(rest);
        let factor = match UNITS.iter().find(|(name, _)| is_unit(name, unit)) {
            Some((_, factor)) => *factor,
            None if rest.is_empty() => 1,
            None => return Err(Error::UnknownUnit(raw.to_owned())),
        };
        let number: Option<u64> = digits.parse().ok();
        let bytes = number.and_then(|number| number.checked_mul(factor));
        bytes.map(Self).ok_or_else(|| Error::TooLarge(raw.to_owned()))
    }
}

/// Whether a text is a unit: `MiB`, or `Mi`.
fn is_unit(name: &str, text: &str) -> bool {
    name == text || name.strip_suffix('B').is_some_and(|short| !short.is_empty() && short == text)
}

impl fmt::Display for ByteSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = UNITS.iter().find(|(_, factor)| self.0 != 0 && self.0.is_multiple_of(*factor));
        let (unit, factor) = exact.copied().unwrap_or(("B", 1));
        write!(f, "{} {unit}", self.0 / factor)
    }
}

text_forms!(ByteSize, Error);
