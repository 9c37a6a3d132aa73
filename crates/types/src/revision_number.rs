//! The number of a package's revision.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::resource_version::canonical_decimal;

/// `spec.revision` of a package revision.
///
/// | number | meaning |
/// |---|---|
/// | -1 | nobody numbered it: the placeholder that follows a branch, or a foreign tag |
/// | 0 | not published yet: Draft or Proposed |
/// | 1, 2, … | published, in this order |
///
/// On the wire it is an integer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "i64", into = "i64")]
pub struct RevisionNumber(i64);

/// A number that no revision can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "revision \"{number}\" does not exist: -1 is a placeholder or foreign, 0 a draft, 1 and above published"
)]
pub struct Error {
    /// The number.
    pub number: i64,
}

/// What a [`RevisionNumber`] says about its revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The placeholder of a branch, or a tag that somebody else made.
    Unnumbered,
    /// Draft or Proposed.
    Unpublished,
    /// Published under this number.
    Published,
}

impl RevisionNumber {
    /// The placeholder of a branch, or a foreign tag.
    pub const UNNUMBERED: Self = Self(-1);
    /// A draft, proposed or not.
    pub const UNPUBLISHED: Self = Self(0);
    /// What is published first.
    pub const FIRST: Self = Self(1);

    /// The number on the wire.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// What the number says.
    pub const fn meaning(self) -> Meaning {
        match self.0 {
            ..=-1 => Meaning::Unnumbered,
            0 => Meaning::Unpublished,
            1.. => Meaning::Published,
        }
    }

    /// True for 1 and above.
    pub const fn is_published(self) -> bool {
        matches!(self.meaning(), Meaning::Published)
    }

    /// The number for the next publication: one above the highest of those that are published, 1 for the first.
    ///
    /// Give all numbers of the package; the ones that are not published do not count. `None` when the numbers are
    /// used up.
    pub fn next_after(all: impl IntoIterator<Item = Self>) -> Option<Self> {
        let highest = all.into_iter().max().map_or(0, |number| number.0.max(0));
        highest.checked_add(1).map(Self)
    }

    /// The number that the last segment of a tag stands for: `v3` is 3. Everything else, `v0`, `v03` and `v1.2`
    /// included, is a foreign tag and therefore [`UNNUMBERED`](Self::UNNUMBERED).
    pub fn of_tag(last_segment: &str) -> Self {
        let digits = last_segment.strip_prefix('v').and_then(canonical_decimal);
        match digits.and_then(|number| i64::try_from(number).ok()) {
            Some(number) if number > 0 => Self(number),
            Some(_) | None => Self::UNNUMBERED,
        }
    }

    /// The last segment of the tag of a published revision, `v3`; `None` for the others, which have no tag of ours.
    pub fn tag(self) -> Option<String> {
        self.is_published().then(|| format!("v{}", self.0))
    }
}

impl TryFrom<i64> for RevisionNumber {
    type Error = Error;

    fn try_from(number: i64) -> Result<Self, Error> {
        if number < -1 { Err(Error { number }) } else { Ok(Self(number)) }
    }
}

impl From<RevisionNumber> for i64 {
    fn from(number: RevisionNumber) -> Self {
        number.0
    }
}

impl fmt::Display for RevisionNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
