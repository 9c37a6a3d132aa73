//! Looking after a catalog.

use std::fmt;

use lanai_types::Sha256Digest;

use crate::blobs::{Damage, ORPHANED};
use crate::records::{Error, Total};
use crate::{Catalog, Entry, Key};

/// How many entries are read at a time.
const PAGE: usize = 500;

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Entries.
    pub entries: u64,
    /// Contents that nothing names any more.
    pub blobs: u64,
}

/// What a look at everything found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Entries whose content is there and is what was written.
    pub whole: u64,
    /// What is not right. Entries among it were removed: they are made anew when somebody asks.
    pub findings: Vec<Finding>,
    /// Contents that nothing names.
    pub orphans: u64,
}

/// Something that is not right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The content of an entry.
    Content {
        /// The entry.
        key: Key,
        /// What is wrong.
        damage: Damage,
    },
    /// The file of the records. It is put aside when it is opened next.
    Records(String),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Content { key, damage } => write!(f, "{key}: {damage}"),
            Self::Records(what) => write!(f, "the records: {what}"),
        }
    }
}

impl Catalog {
    /// All entries, in the order of their keys.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub async fn entries(&self) -> Result<Vec<Entry>, Error> {
        let mut all: Vec<Entry> = Vec::new();
        loop {
            let behind = all.last().map(|entry| entry.key);
            let page = self.with_records(move |records, _| records.entries(behind.as_ref(), PAGE)).await?;
            let is_last = page.len() < PAGE;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// How much there is.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub async fn total(&self) -> Result<Total, Error> {
        self.with_records(|records, _| records.total()).await
    }

    /// The content of an entry.
    ///
    /// # Errors
    /// When it is not there or not what was written.
    pub async fn content(&self, entry: &Entry) -> Result<bytes::Bytes, Damage> {
        self.inner().blobs.get(&entry.blob).await
    }

    /// Removes what does not count any more, then what was not used for longest until at most `room` bytes are left, and all contents that
    /// nothing names for an hour.
    ///
    /// # Errors
    /// When the records cannot be changed, or the contents cannot be listed.
    pub async fn prune(&self, room: u64) -> Result<Pruned, Error> {
        let before = self.total().await?;
        let mut blobs = self.evict(room).await;
        let after = self.total().await?;
        for orphan in self.orphans().await? {
            self.inner().blobs.remove(&orphan).await;
            blobs += 1;
        }
        Ok(Pruned { entries: before.entries.saturating_sub(after.entries), blobs })
    }

    /// Reads everything, and removes entries whose contents are not what was written.
    ///
    /// # Errors
    /// When the records cannot be read.
    pub async fn verify(&self) -> Result<Verified, Error> {
        let wrong = self.with_records(|records, _| records.check()).await?;
        let mut verified =
            Verified { findings: wrong.into_iter().map(Finding::Records).collect(), ..Verified::default() };
        for entry in self.entries().await? {
            match self.content(&entry).await {
                Ok(_) => verified.whole += 1,
                Err(damage) => {
                    let key = entry.key;
                    self.with_records(move |records, _| records.forget(&key, &entry.blob)).await?;
                    verified.findings.push(Finding::Content { key, damage });
                }
            }
        }
        verified.orphans = self.orphans().await?.len() as u64;
        Ok(verified)
    }

    /// Removes entries until so many bytes are left. Gives the number of contents that went with them.
    pub(crate) async fn evict(&self, room: u64) -> u64 {
        let blobs = match self.with_records(move |records, now| records.evict(room, now)).await {
            Ok(blobs) => blobs,
            Err(error) => {
                tracing::warn!(%error, "nothing can be evicted");
                return 0;
            }
        };
        for blob in &blobs {
            self.inner().blobs.remove(blob).await;
        }
        blobs.len() as u64
    }

    /// Contents that nothing names.
    async fn orphans(&self) -> Result<Vec<Sha256Digest>, Error> {
        let unusable = |cause| Error::Unusable { path: "blobs".to_owned(), cause };
        let now = (self.inner().options.clock)();
        let mut found = self.inner().blobs.all().await.map_err(unusable)?;
        found.retain(|blob| now.since(blob.written) >= ORPHANED);
        self.with_records(move |records, _| {
            let mut orphans = Vec::new();
            for blob in found {
                if !records.names(&blob.digest)? {
                    tracing::debug!(digest = %blob.digest, size = blob.size, "nothing names this content");
                    orphans.push(blob.digest);
                }
            }
            Ok(orphans)
        })
        .await
    }
}
