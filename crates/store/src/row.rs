//! Objects as rows of a table.

use std::sync::RwLock;
use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use lanai_types::Sha256Digest;

use crate::error::chain;
use crate::seal::{KeyId, Keyring};
use crate::{Attributes, Error, Filter, Key, Object, Protection, Revision, Stored};

/// The parts of a version, as the tables have them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) created: u64,
    pub(crate) revision: u64,
    /// JSON; none without attributes.
    pub(crate) attributes: Option<String>,
    /// Digests, 32 bytes each; none without blobs.
    pub(crate) blobs: Option<Vec<u8>>,
    /// The key that sealed the value.
    pub(crate) sealed: Option<u32>,
    /// Over all other parts.
    pub(crate) checksum: u32,
    pub(crate) value: Vec<u8>,
}

/// The keys, shared by all who read and write.
pub(crate) type SharedKeyring = Arc<RwLock<Keyring>>;

impl Row {
    /// Prepares an object for a table: seals what is to be sealed.
    pub(crate) fn of(stored: &Stored, keys: &SharedKeyring) -> Result<Self, Error> {
        let (sealed, value) = match stored.object.protection {
            Protection::Plain => (None, stored.object.value.to_vec()),
            Protection::Sealed => {
                let keys = keys.read().unwrap_or_else(PoisonError::into_inner);
                let value = keys
                    .seal(&stored.key, &stored.object.value)
                    .map_err(|error| unsealable(&stored.key, &error))?;
                (Some(keys.newest().0), value)
            }
        };
        let attributes = stored.object.attributes.text().map(str::to_owned);
        let blobs = &stored.object.blobs;
        let blobs = (!blobs.is_empty()).then(|| blobs.iter().flat_map(|digest| *digest.as_bytes()).collect());
        let mut row = Self {
            key: stored.key.as_str().to_owned(),
            created: stored.created.get(),
            revision: stored.revision.get(),
            attributes,
            blobs,
            sealed,
            checksum: 0,
            value,
        };
        row.checksum = row.sum();
        Ok(row)
    }

    /// The object of a row, checked and opened.
    pub(crate) fn into_stored(self, keys: &SharedKeyring) -> Result<Stored, Error> {
        let damaged = |what: &str| Error::Damaged {
            what: format!("\"{}\" at revision {}: {what}", self.key, self.revision),
        };
        if self.checksum != self.sum() {
            return Err(damaged("the checksum is another"));
        }
        let key: Key = self.key.parse().map_err(|_| damaged("this is no key"))?;
        let attributes =
            Attributes::of_text(self.attributes).ok_or_else(|| damaged("these are no attributes"))?;
        let blobs = self
            .blobs
            .as_deref()
            .map_or(Some(Vec::new()), digests)
            .ok_or_else(|| damaged("these are no digests"))?;
        let (protection, value) = match self.sealed {
            None => (Protection::Plain, self.value),
            Some(id) => (Protection::Sealed, open_sealed(keys, KeyId(id), &key, &self.value)?),
        };
        let object =
            Object { value: Bytes::from(value), attributes, blobs: blobs.into_iter().collect(), protection };
        Ok(Stored {
            key,
            created: Revision::new(self.created),
            revision: Revision::new(self.revision),
            object,
        })
    }

    /// The same version, sealed with the newest key.
    pub(crate) fn sealed_anew(mut self, keys: &SharedKeyring) -> Result<Self, Error> {
        let Some(id) = self.sealed else { return Ok(self) };
        let what = format!("\"{}\" at revision {}: this is no key", self.key, self.revision);
        let key: Key = self.key.parse().map_err(|_| Error::Damaged { what })?;
        let value = open_sealed(keys, KeyId(id), &key, &self.value)?;
        let keys = keys.read().unwrap_or_else(PoisonError::into_inner);
        self.value = keys.seal(&key, &value).map_err(|error| unsealable(&key, &error))?;
        self.sealed = Some(keys.newest().0);
        self.checksum = self.sum();
        Ok(self)
    }

    /// The same version under another revision. What is damaged stays so.
    pub(crate) fn renumbered(mut self, revision: u64) -> Self {
        let is_whole = self.is_whole();
        self.revision = revision;
        self.checksum = if is_whole { self.sum() } else { !self.sum() };
        self
    }

    /// True if all parts are as they were written.
    pub(crate) fn is_whole(&self) -> bool {
        self.checksum == self.sum()
    }

    fn sum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        let numbers =
            [self.created, self.revision, self.sealed.map_or(u64::MAX, u64::from), self.key.len() as u64];
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
        hasher.update(self.key.as_bytes());
        for part in [self.attributes.as_deref().map(str::as_bytes), self.blobs.as_deref(), Some(&self.value)]
        {
            hasher.update(&part.map_or(u64::MAX, |part| part.len() as u64).to_le_bytes());
            hasher.update(part.unwrap_or_default());
        }
        hasher.finalize()
    }
}

/// True if none of these versions is for somebody with this filter, as far as they say so themselves: what is sealed need not be opened for that.
pub(crate) fn is_for_others<'r>(rows: impl IntoIterator<Item = &'r Row>, filter: &Filter) -> bool {
    rows.into_iter().all(|row| {
        let is_for_it = |key: &Key| {
            let attributes = Attributes::of_text(row.attributes.clone());
            filter.prefix.admits(key) && attributes.is_none_or(|found| filter.selector.admits(&found))
        };
        // What is damaged may be for anybody.
        row.key.parse().is_ok_and(|key| !is_for_it(&key)) && row.is_whole()
    })
}

/// The digests that a row holds.
pub(crate) fn digests(bytes: &[u8]) -> Option<Vec<Sha256Digest>> {
    let chunks = bytes.chunks_exact(32);
    if !chunks.remainder().is_empty() {
        return None;
    }
    Some(
        chunks
            .map(|chunk| Sha256Digest::from_bytes(chunk.try_into().expect("chunks have 32 bytes")))
            .collect(),
    )
}

/// Opens a value; reads the key file again if another process may have added the key.
fn open_sealed(keys: &SharedKeyring, id: KeyId, key: &Key, value: &[u8]) -> Result<Vec<u8>, Error> {
    let first = keys.read().unwrap_or_else(PoisonError::into_inner).open(id, key, value);
    let opened = match first {
        Err(crate::seal::Error::Missing { .. }) => {
            let mut keys = keys.write().unwrap_or_else(PoisonError::into_inner);
            keys.reload().and_then(|()| keys.open(id, key, value))
        }
        other => other,
    };
    opened.map_err(|error| unsealable(key, &error))
}

/// Why a value of an object cannot be sealed or opened.
pub(crate) fn unsealable(key: &Key, error: &crate::seal::Error) -> Error {
    Error::Sealed { key: key.clone(), cause: chain(error) }
}
