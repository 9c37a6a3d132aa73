//! Bounds on what is stored and kept.

use lanai_types::ByteSize;

/// How much a store takes and keeps. Every limit is inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The value of one object.
    pub max_value: ByteSize,
    /// The names and values of the labels and fields of one object, together.
    pub max_attributes: ByteSize,
    /// The name and the value of one label or field, together. With the longest key it still fits into an index of PostgreSQL.
    pub max_attribute: ByteSize,
    /// Blobs that one object names.
    pub max_blobs: usize,
    /// One blob.
    pub max_blob: ByteSize,
    /// Writes in one transaction.
    pub max_writes: usize,
    /// Conditions of one transaction, beyond what its writes expect.
    pub max_conditions: usize,
    /// Values, attributes and new blobs of one transaction, together.
    pub max_transaction: ByteSize,
    /// Revisions that are kept behind the head. A store compacts by itself when there are an eighth more.
    pub max_history: u64,
    /// Records that are kept in memory for watchers.
    pub max_window: usize,
    /// The values of the records that are kept in memory for watchers, together.
    pub max_window_bytes: ByteSize,
    /// What is kept in memory of objects that are listed, by stores that read them from a file.
    pub max_versions: ByteSize,
}

impl Limits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_value: ByteSize::mib(8),
        max_attributes: ByteSize::kib(256),
        max_attribute: ByteSize::kib(1),
        max_blobs: 100_000,
        max_blob: ByteSize::mib(256),
        max_writes: 1_000,
        max_conditions: 1_000,
        max_transaction: ByteSize::mib(512),
        max_history: 100_000,
        max_window: 8_192,
        max_window_bytes: ByteSize::mib(8),
        max_versions: ByteSize::mib(16),
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
