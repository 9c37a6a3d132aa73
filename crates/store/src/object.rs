//! What is stored under a key.

use std::collections::BTreeSet;

use bytes::Bytes;
use lanai_types::Sha256Digest;

use crate::{Attributes, Key, Revision};

/// What a caller stores.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Object {
    /// Opaque bytes.
    pub value: Bytes,
    /// By what it is found. Never sealed.
    pub attributes: Attributes,
    /// The blobs that the value names. They are kept as long as this object is, or can be asked for.
    pub blobs: BTreeSet<Sha256Digest>,
    /// Whether the value is encrypted where it is kept.
    pub protection: Protection,
}

impl Object {
    /// An object that is only a value.
    pub fn plain(value: impl Into<Bytes>) -> Self {
        Self { value: value.into(), ..Self::default() }
    }

    /// An object whose value is encrypted where it is kept.
    pub fn sealed(value: impl Into<Bytes>) -> Self {
        Self { protection: Protection::Sealed, ..Self::plain(value) }
    }
}

/// How a value is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protection {
    /// As it is.
    #[default]
    Plain,
    /// Encrypted, and bound to its key. The memory back end keeps nothing at rest, and encrypts nothing.
    Sealed,
}

/// An object with its place in history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its key.
    pub key: Key,
    /// The revision that created it; stays with it through updates.
    pub created: Revision,
    /// The revision of its last write.
    pub revision: Revision,
    /// The object itself.
    pub object: Object,
}
