//! Contents by their digest.

use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use lanai_types::Sha256Digest;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};

use crate::digester::digest_of;
use crate::{Error, Moment};

/// Contents by their digest, in an object store.
#[derive(Clone, Debug)]
pub struct Blobs(Arc<dyn ObjectStore>);

/// What is wrong with a blob.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It is not there.
    #[error("its content is missing")]
    Missing,
    /// It is not what was written.
    #[error("its content is not what was written")]
    Changed,
    /// It cannot be read.
    #[error("its content cannot be read: {0}")]
    Unreadable(String),
}

/// A blob that is there, whether somebody names it or not.
pub(crate) struct Found {
    pub digest: Sha256Digest,
    pub size: u64,
    pub written: Moment,
}

/// Where blobs are in the store.
const PREFIX: &str = "sha256";

impl Blobs {
    /// In a folder, which is made.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn in_folder(folder: &FilePath) -> Result<Self, Error> {
        let unusable = |cause: String| Error::Unusable { path: folder.display().to_string(), cause };
        std::fs::create_dir_all(folder).map_err(|cause| unusable(cause.to_string()))?;
        let store = LocalFileSystem::new_with_prefix(folder).map_err(|cause| unusable(cause.to_string()))?;
        Ok(Self(Arc::new(store)))
    }

    /// In any object store.
    pub fn new(store: Arc<dyn ObjectStore>) -> Self {
        Self(store)
    }

    /// The content with that digest: what comes has it.
    pub async fn get(&self, digest: &Sha256Digest) -> Result<Bytes, Damage> {
        let unreadable = |error: object_store::Error| match error {
            object_store::Error::NotFound { .. } => Damage::Missing,
            error => Damage::Unreadable(error.to_string()),
        };
        let found = self.0.get(&path(digest)).await.map_err(unreadable)?;
        let content = found.bytes().await.map_err(unreadable)?;
        if digest_of(&content) == *digest { Ok(content) } else { Err(Damage::Changed) }
    }

    /// Writes content under its digest, whole or not at all. What is there is replaced, for it may be damaged.
    ///
    /// # Errors
    /// What the store says.
    pub async fn put(&self, content: Bytes) -> Result<Sha256Digest, String> {
        let digest = digest_of(&content);
        self.0.put(&path(&digest), content.into()).await.map_err(|error| error.to_string())?;
        Ok(digest)
    }

    /// Removes content. What is not there is gone.
    pub(crate) async fn remove(&self, digest: &Sha256Digest) {
        let removed = self.0.delete(&path(digest)).await;
        if let Err(error) = removed
            && !matches!(error, object_store::Error::NotFound { .. })
        {
            tracing::warn!(%digest, %error, "a blob cannot be removed");
        }
    }

    /// All that is there.
    pub(crate) async fn all(&self) -> Result<Vec<Found>, String> {
        let mut found = Vec::new();
        let mut list = self.0.list(Some(&Path::from(PREFIX)));
        while let Some(meta) = list.next().await {
            match meta {
                Ok(meta) => found.extend(read(&meta)),
                // Somebody else removed it meanwhile.
                Err(object_store::Error::NotFound { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Ok(found)
    }
}

fn path(digest: &Sha256Digest) -> Path {
    let digits = digest.to_hex();
    Path::from_iter([PREFIX, &digits[..2], &digits[2..]])
}

fn read(meta: &ObjectMeta) -> Option<Found> {
    let digits: String = meta.location.parts().skip(1).map(|part| part.as_ref().to_owned()).collect();
    let digest = Sha256Digest::from_hex(&digits).ok()?;
    let written = u64::try_from(meta.last_modified.timestamp_millis()).unwrap_or_default();
    Some(Found { digest, size: meta.size, written: Moment(written) })
}

/// How old a blob is that nothing names when it is an orphan for sure: whoever wrote it would have named it.
pub(crate) const ORPHANED: Duration = Duration::from_hours(1);
