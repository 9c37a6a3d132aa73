//! What can go wrong, for callers that decide by it.

use lanai_types::{ByteSize, FencingNumber, Sha256Digest};

use crate::lease::{LeaseName, Moment};
use crate::{Key, Presence, Revision};

/// Why a call had no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An object is not as a write or a condition expects it. Nothing was written.
    #[error("\"{key}\" was expected {expected}, and is {found}")]
    Conflict {
        /// The object.
        key: Key,
        /// What the caller expected.
        expected: Presence,
        /// What is there.
        found: Presence,
    },
    /// The fencing number that was shown is not the newest of its lease. Nothing was written.
    #[error("the lease \"{lease}\" was given to somebody else after number {shown}{}", newest_text(*.newest))]
    Fenced {
        /// The lease.
        lease: LeaseName,
        /// The number that was shown.
        shown: FencingNumber,
        /// The number of whoever has the lease now; none if nobody has.
        newest: Option<FencingNumber>,
    },
    /// Somebody else has the lease.
    #[error("the lease \"{lease}\" is held by \"{holder}\"")]
    Held {
        /// The lease.
        lease: LeaseName,
        /// Who has it.
        holder: String,
        /// Until when, if it is not renewed.
        until: Moment,
    },
    /// History below the horizon was asked for. List again, and watch from the list's revision.
    #[error("revision {asked} is too old: history is kept from revision {horizon} on")]
    Expired {
        /// The revision that was asked for.
        asked: Revision,
        /// The oldest that can be asked for.
        horizon: Revision,
    },
    /// A revision was asked for that this store has not given to anything.
    #[error("revision {asked} is not there yet: the newest is {current}")]
    TooNew {
        /// The revision that was asked for.
        asked: Revision,
        /// The newest.
        current: Revision,
    },
    /// A write names blobs that are neither in the store nor in the transaction. Send them along. Nothing was written.
    #[error("{} named and not there, the first is {}", blobs_text(.digests.len()), first(.digests))]
    BlobsMissing {
        /// The blobs; at least one.
        digests: Vec<Sha256Digest>,
    },
    /// The request breaks a rule or a limit. Nothing was written.
    #[error("{0}")]
    Invalid(#[from] Invalid),
    /// There was no room. Nothing was written; when there is room again, the same call works.
    #[error("no room for the store: {cause}")]
    Full {
        /// The words of what noticed it.
        cause: String,
    },
    /// The write may or may not have happened.
    #[error("it is not known whether this was written: {cause}")]
    Unknown {
        /// What happened.
        cause: String,
    },
    /// What is stored is not what was written. Nothing was changed because of it.
    #[error("the store is damaged: {what}")]
    Damaged {
        /// The place and the finding.
        what: String,
    },
    /// A sealed value cannot be opened with the keys that are there.
    #[error("\"{key}\" is sealed, and cannot be opened: {cause}")]
    Sealed {
        /// The object.
        key: Key,
        /// Why.
        cause: String,
    },
    /// The store cannot be asked now. Nothing was written.
    #[error("the store cannot be asked: {cause}")]
    Unavailable {
        /// Why.
        cause: String,
    },
}

/// A request that no store takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// A transaction without writes.
    #[error("a transaction needs at least one write")]
    Empty,
    /// More writes than one transaction may have.
    #[error("a transaction of {found} writes is too large: at most {limit} are taken")]
    TooManyWrites {
        /// The number of writes.
        found: usize,
        /// The limit `max_writes`.
        limit: usize,
    },
    /// More conditions than one transaction may have.
    #[error("a transaction with {found} conditions is too large: at most {limit} are taken")]
    TooManyConditions {
        /// The number of conditions.
        found: usize,
        /// The limit `max_conditions`.
        limit: usize,
    },
    /// Two writes to one object in one transaction.
    #[error("\"{key}\" is written twice in one transaction")]
    WrittenTwice {
        /// The object.
        key: Key,
    },
    /// A value above its limit.
    #[error("\"{key}\" has {found}, and at most {limit} are taken")]
    ValueTooLarge {
        /// The object.
        key: Key,
        /// The size of its value.
        found: ByteSize,
        /// The limit `max_value`.
        limit: ByteSize,
    },
    /// Labels and fields above their limit.
    #[error("the labels and fields of \"{key}\" have {found}, and at most {limit} are taken")]
    AttributesTooLarge {
        /// The object.
        key: Key,
        /// Their size.
        found: ByteSize,
        /// The limit `max_attributes`.
        limit: ByteSize,
    },
    /// A label or field with a character that some databases do not take.
    #[error("a label or field of \"{key}\" has a NUL character")]
    AttributeWithNul {
        /// The object.
        key: Key,
    },
    /// One label or field above its limit.
    #[error("a label or field of \"{key}\" has {found}, and at most {limit} are taken")]
    AttributeTooLarge {
        /// The object.
        key: Key,
        /// The size of its name and value.
        found: ByteSize,
        /// The limit `max_attribute`.
        limit: ByteSize,
    },
    /// A selector with a character that some databases do not take, and that no label or field has.
    #[error("a selector has a NUL character")]
    SelectorWithNul,
    /// More blobs than one object may name.
    #[error("\"{key}\" names {found} blobs, and at most {limit} are taken")]
    TooManyBlobs {
        /// The object.
        key: Key,
        /// The number of blobs.
        found: usize,
        /// The limit `max_blobs`.
        limit: usize,
    },
    /// A blob above its limit.
    #[error("the blob {digest} has {found}, and at most {limit} are taken")]
    BlobTooLarge {
        /// The blob.
        digest: Sha256Digest,
        /// Its size.
        found: ByteSize,
        /// The limit `max_blob`.
        limit: ByteSize,
    },
    /// Everything in a transaction together is above its limit.
    #[error("a transaction of {found} is too large: at most {limit} are taken")]
    TransactionTooLarge {
        /// The size of values, attributes and blobs together.
        found: ByteSize,
        /// The limit `max_transaction`.
        limit: ByteSize,
    },
    /// A blob that no write of its transaction names; it would be swept at once.
    #[error("the blob {digest} is named by no write of its transaction")]
    BlobUnnamed {
        /// The blob.
        digest: Sha256Digest,
    },
    /// A lease that is to be renewed with the number of another one.
    #[error("the number that is shown is that of the lease \"{shown}\", and not of \"{claimed}\"")]
    OtherLease {
        /// The lease of the number.
        shown: LeaseName,
        /// The lease that is to be renewed.
        claimed: LeaseName,
    },
    /// A text that is no name.
    #[error("{what} \"{raw}\" {problem}")]
    Name {
        /// What it should name.
        what: &'static str,
        /// The text.
        raw: String,
        /// What is wrong with it.
        problem: &'static str,
    },
}

/// An error with all that caused it, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

fn newest_text(newest: Option<FencingNumber>) -> String {
    newest.map_or_else(|| ", or given back".into(), |newest| format!(": the newest is {newest}"))
}

fn blobs_text(number: usize) -> String {
    if number == 1 { "one blob is".into() } else { format!("{number} blobs are") }
}

fn first(digests: &[Sha256Digest]) -> String {
    digests.first().map(ToString::to_string).unwrap_or_default()
}
