//! Metadata and leases.

use std::fmt;
use std::time::Duration;

use lanai_types::{FencingNumber, Sha256Digest};

use crate::{Entry, Key, Moment, Subject, Trace};

/// Metadata and leases, wherever they are. What time it is, the caller says.
///
/// Each call happens as a whole or not at all, and in one order for all who share the records. Promises:
///
/// - of all who [`reserve`](Self::reserve) a key, one has it at a time, until it is released, or until its time is over and
///   somebody else asks;
/// - each grant has a higher number than all before it, also for keys that were forgotten meanwhile;
/// - [`commit`](Self::commit) takes a result only under the number of the newest grant of its key;
/// - there is one entry for each key.
pub trait Records: Send + Sync + fmt::Debug {
    /// The entry of a key, if it counts at that moment.
    fn find(&self, key: &Key, now: Moment) -> Result<Option<Entry>, Error>;

    /// Gets the lease of a key, or extends it for the owner that has it, who keeps its number.
    fn reserve(&self, claim: &Claim<'_>) -> Result<Reserved, Error>;

    /// Gives a lease back. One that was taken over, or is not there, is left alone.
    fn release(&self, key: &Key, number: FencingNumber) -> Result<(), Error>;

    /// Writes an entry in place of the one that is there, remembers the inputs, and ends the lease.
    fn commit(&self, entry: &Entry, number: FencingNumber, trace: &Trace) -> Result<Committed, Error>;

    /// An entry was asked for, by this subject. Moments may be rounded to a minute.
    fn used(&self, key: &Key, subject: &Subject, trace: &Trace, now: Moment) -> Result<(), Error>;

    /// Removes an entry, if it still names that blob; tells whether it did.
    fn forget(&self, key: &Key, blob: &Sha256Digest) -> Result<bool, Error>;

    /// The inputs of a subject when it was asked for last.
    fn last(&self, subject: &Subject) -> Result<Option<Trace>, Error>;

    /// Entries in the order of their keys, behind one of them.
    fn entries(&self, behind: Option<&Key>, limit: usize) -> Result<Vec<Entry>, Error>;

    /// How much there is.
    fn total(&self) -> Result<Total, Error>;

    /// Removes entries until what is left has at most `room` bytes: first those that do not count any more, then those that were
    /// not used for longest. Gives the blobs that nothing names any more.
    fn evict(&self, room: u64, now: Moment) -> Result<Vec<Sha256Digest>, Error>;

    /// Whether an entry names a blob.
    fn names(&self, blob: &Sha256Digest) -> Result<bool, Error>;

    /// What is wrong with the records themselves, as far as that can be seen.
    fn check(&self) -> Result<Vec<String>, Error>;
}

/// Somebody's wish to do a piece of work.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The work.
    pub key: &'a Key,
    /// Who asks; no two who ask at once have the same name.
    pub owner: &'a str,
    /// For how long.
    pub time: Duration,
    /// What time it is.
    pub now: Moment,
    /// An owner that is known to be dead: its lease counts as one that ran out.
    pub dead: Option<&'a str>,
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserved {
    /// Whoever asked has it.
    Granted(FencingNumber),
    /// Somebody else has it.
    Held {
        /// Who.
        owner: String,
        /// Until when, if nothing happens.
        until: Moment,
    },
    /// The work was done meanwhile.
    Done,
}

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It is kept.
    Stored,
    /// Somebody else has the lease, or had it later: it was refused.
    Stale,
}

/// How much there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Entries.
    pub entries: u64,
    /// The bytes of their results. What several have in common counts for each.
    pub bytes: u64,
}

/// Why records cannot be read or written. For whoever wants a result, that is a miss.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be used.
    #[error("the catalog in \"{path}\" cannot be used: {cause}")]
    Unusable {
        /// Where it is.
        path: String,
        /// Why.
        cause: String,
    },
    /// The file is not as it was written. It is put aside when it is opened next.
    #[error("the catalog in \"{path}\" is damaged: {cause}")]
    Damaged {
        /// Where it is.
        path: String,
        /// What was found.
        cause: String,
    },
}
