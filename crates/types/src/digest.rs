//! Digests of content.

use std::{fmt, str::FromStr};

use crate::{hex, quote::Quoted, text::text_forms};

const PREFIX: &str = "sha256:";

/// The SHA-256 of some content: two contents with one digest are the same content.
///
/// Written as registries write it, `sha256:` and 64 lower-case hexadecimal digits; that is also the only form that is
/// read. This crate holds digests and does not compute them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest([u8; 32]);

/// Why a text is not a digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Another algorithm, or none.
    #[error("digest {} does not start with \"sha256:\"", Quoted(.0))]
    NotSha256(String),
    /// Not 64 lower-case hexadecimal digits.
    #[error("digest {} does not have 64 lower-case hexadecimal digits", Quoted(.0))]
    NotHex(String),
}

impl Sha256Digest {
    /// The digest that a hash function returned.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Reads the 64 digits without the `sha256:` in front.
    pub fn from_hex(digits: &str) -> Result<Self, Error> {
        hex::read(digits).map(Self).ok_or_else(|| Error::NotHex(digits.to_owned()))
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 digits without the `sha256:` in front, for file names and columns.
    pub fn to_hex(self) -> String {
        self.to_string().split_off(PREFIX.len())
    }
}

impl FromStr for Sha256Digest {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        let digits = raw.strip_prefix(PREFIX).ok_or_else(|| Error::NotSha256(raw.to_owned()))?;
        hex::read(digits).map(Self).ok_or_else(|| Error::NotHex(raw.to_owned()))
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        hex::write(&self.0, f)
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256Digest({self})")
    }
}

text_forms!(Sha256Digest, Error);
