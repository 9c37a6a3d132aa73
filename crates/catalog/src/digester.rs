//! Computing digests.

use std::fmt;

use lanai_types::Sha256Digest;
use ring::digest::{Context, SHA256, digest};

/// Takes content in pieces and computes its SHA-256.
#[derive(Clone)]
pub struct Digester(Context);

impl Digester {
    /// Nothing was taken yet.
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Takes a piece. Where pieces end does not count.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Takes a piece and where it ends: two lists of pieces are equal only when their pieces are.
    pub fn part(&mut self, bytes: &[u8]) {
        self.0.update(&(bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    /// The digest of all that was taken.
    pub fn finish(self) -> Sha256Digest {
        from(&self.0.finish())
    }
}

impl Default for Digester {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Digester {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digester")
    }
}

/// Texts can be written into it, so that they need not be in memory as a whole.
impl fmt::Write for Digester {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.update(text.as_bytes());
        Ok(())
    }
}

/// The digest of some content.
pub fn digest_of(content: &[u8]) -> Sha256Digest {
    from(&digest(&SHA256, content))
}

fn from(digest: &ring::digest::Digest) -> Sha256Digest {
    Sha256Digest::from_bytes(digest.as_ref().try_into().expect("SHA-256 has 32 bytes"))
}
