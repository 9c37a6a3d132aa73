//! Ids of objects in Git.

use std::{fmt, str::FromStr};

use crate::{hex, quote::Quoted, text::text_forms};

/// The id of any object in a Git repository: 40 hexadecimal digits where the repository uses SHA-1, 64 where it uses
/// SHA-256.
///
/// Only the full lower-case form is read. Abbreviations and names are for people; resolving them is the repository's
/// work.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GitObjectId(Hash);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Hash {
    Sha1([u8; 20]),
    Sha256([u8; 32]),
}

/// A text that is not the full id of a Git object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not a git object id: it takes 40 (or, with SHA-256, 64) lower-case hexadecimal digits", Quoted(.raw))]
pub struct Error {
    /// The text.
    pub raw: String,
}

impl GitObjectId {
    /// The id in a repository that uses SHA-1.
    pub const fn from_sha1(bytes: [u8; 20]) -> Self {
        Self(Hash::Sha1(bytes))
    }

    /// The id in a repository that uses SHA-256.
    pub const fn from_sha256(bytes: [u8; 32]) -> Self {
        Self(Hash::Sha256(bytes))
    }

    /// The bytes, 20 or 32 of them.
    pub const fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Hash::Sha1(bytes) => bytes,
            Hash::Sha256(bytes) => bytes,
        }
    }

    /// True for the id of zeros, by which Git's protocol says "no object": a ref that does not exist yet or any more.
    pub fn is_null(&self) -> bool {
        self.as_bytes().iter().all(|byte| *byte == 0)
    }

    /// The first seven digits, for people.
    pub fn short(&self) -> String {
        let mut digits = self.to_string();
        digits.truncate(7);
        digits
    }
}

impl FromStr for GitObjectId {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        let sha1 = hex::read(raw).map(Hash::Sha1);
        let hash = sha1.or_else(|| hex::read(raw).map(Hash::Sha256));
        hash.map(Self).ok_or_else(|| Error { raw: raw.to_owned() })
    }
}

impl fmt::Display for GitObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hex::write(self.as_bytes(), f)
    }
}

impl fmt::Debug for GitObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GitObjectId({self})")
    }
}

text_forms!(GitObjectId, Error);

macro_rules! id_of {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $type(GitObjectId);

        impl $type {
            /// States that the object of this id is of this kind; the caller has looked.
            pub const fn new(id: GitObjectId) -> Self {
                Self(id)
            }

            /// The id without its kind.
            pub const fn object_id(&self) -> GitObjectId {
                self.0
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(raw: &str) -> Result<Self, Error> {
                raw.parse().map(Self)
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($type), "({})"), self.0)
            }
        }

        text_forms!($type, Error);
    };
}

id_of! {
    /// The id of a commit.
    CommitId
}
id_of! {
    /// The id of a tree, which is a folder at one point in time.
    TreeId
}
id_of! {
    /// The id of a blob, which is the content of a file.
    BlobId
}
