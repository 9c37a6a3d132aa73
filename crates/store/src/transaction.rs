//! Writes that belong together.

use std::fmt;

use bytes::Bytes;
use lanai_types::Sha256Digest;
use ring::digest::{SHA256, digest};

use crate::{Fence, Key, Object, Revision};

/// Conditions and writes that succeed together or not at all.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Transaction {
    /// What must hold, beyond what the writes expect.
    pub conditions: Vec<Condition>,
    /// What is written, in the order in which it gets revisions.
    pub writes: Vec<Write>,
    /// Content that the writes name and that may not be in the store yet. What is there already is not stored again.
    pub blobs: Vec<Blob>,
}

impl From<Write> for Transaction {
    fn from(write: Write) -> Self {
        Self { writes: vec![write], ..Self::default() }
    }
}

/// Something that must hold for a transaction to happen; it writes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// An object is there at this revision, or is not there.
    Presence {
        /// The object.
        key: Key,
        /// How it must be.
        expected: Presence,
    },
    /// Nobody took the lease since this number was given. That its time is over is no obstacle.
    Holds(Fence),
}

/// One conditional write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// Stores an object where none is.
    Create {
        /// Where.
        key: Key,
        /// What.
        object: Object,
    },
    /// Replaces an object that is at a revision.
    Update {
        /// Which.
        key: Key,
        /// The revision that the caller knows.
        expected: Revision,
        /// What replaces it.
        object: Object,
    },
    /// Removes an object that is at a revision.
    Delete {
        /// Which.
        key: Key,
        /// The revision that the caller knows.
        expected: Revision,
    },
}

impl Write {
    /// The object that is written.
    pub const fn key(&self) -> &Key {
        match self {
            Self::Create { key, .. } | Self::Update { key, .. } | Self::Delete { key, .. } => key,
        }
    }

    /// How the object must be for the write to happen.
    pub const fn expected(&self) -> Presence {
        match self {
            Self::Create { .. } => Presence::Absent,
            Self::Update { expected, .. } | Self::Delete { expected, .. } => Presence::At(*expected),
        }
    }

    /// What is there afterwards.
    pub const fn object(&self) -> Option<&Object> {
        match self {
            Self::Create { object, .. } | Self::Update { object, .. } => Some(object),
            Self::Delete { .. } => None,
        }
    }
}

/// Whether an object is there, and in which version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is not there.
    Absent,
    /// It is there, and this is the revision of its last write.
    At(Revision),
}

impl From<Option<Revision>> for Presence {
    fn from(revision: Option<Revision>) -> Self {
        revision.map_or(Self::Absent, Self::At)
    }
}

impl fmt::Display for Presence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str("absent"),
            Self::At(revision) => write!(f, "at revision {revision}"),
        }
    }
}

/// Content that is found by its digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    digest: Sha256Digest,
    content: Bytes,
}

impl Blob {
    /// Computes the digest of some content.
    pub fn new(content: impl Into<Bytes>) -> Self {
        let content = content.into();
        Self { digest: sha256(&content), content }
    }

    /// The digest of the content.
    pub const fn digest(&self) -> Sha256Digest {
        self.digest
    }

    /// The content.
    pub const fn content(&self) -> &Bytes {
        &self.content
    }
}

/// What a transaction did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committed {
    /// The revision of each write, in their order; consecutive, and at least one.
    pub revisions: Vec<Revision>,
}

impl Committed {
    /// The revision of the last write.
    pub(crate) fn last(self) -> Revision {
        self.revisions.last().copied().expect("a transaction has at least one write")
    }
}

pub(crate) fn sha256(content: &[u8]) -> Sha256Digest {
    let found = digest(&SHA256, content);
    Sha256Digest::from_bytes(found.as_ref().try_into().expect("SHA-256 has 32 bytes"))
}
