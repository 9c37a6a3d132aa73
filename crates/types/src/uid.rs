//! Uids of API objects.

use std::{fmt, str::FromStr};

use uuid::Uuid;

use crate::{Namespace, ObjectName, PackageObjectName, quote::Quoted, text::text_forms};

/// Porch's UUID namespace for package revisions.
const PACKAGE_REVISIONS: Uuid = Uuid::from_u128(0xaac7_1d91_5c67_456f_8fd2_902e_f6da_820e);

/// `metadata.uid` of an object.
///
/// Written and read as 36 characters, lower-case hexadecimal digits in five groups.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uid(Uuid);

/// A text that is not a uid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("uid {} is not a UUID in its lower-case form with hyphens", Quoted(.raw))]
pub struct Error {
    /// The text.
    pub raw: String,
}

impl Uid {
    /// The uid of the package revision of this name in this namespace.
    ///
    /// It depends on nothing else: the same on every server, after a restart, and after deleting and creating again.
    /// Clients of Porch rely on exactly these values.
    pub fn of_package_revision(namespace: &Namespace, name: &ObjectName) -> Self {
        let key = format!("packagerevision:porch.kpt.dev/v1alpha1/{namespace}/{name}");
        Self(Uuid::new_v5(&PACKAGE_REVISIONS, key.as_bytes()))
    }

    /// The uid of the package of this name in this namespace; likewise.
    pub fn of_package(namespace: &Namespace, name: &PackageObjectName) -> Self {
        let key = format!("package:porch.kpt.dev/v1alpha1/{namespace}/{name}");
        Self(Uuid::new_v5(&PACKAGE_REVISIONS, key.as_bytes()))
    }

    /// A uid that was made elsewhere.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// The 16 bytes.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }
}

impl FromStr for Uid {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        let uid = Uuid::parse_str(raw).ok().map(Self);
        uid.filter(|uid| uid.to_string() == raw).ok_or_else(|| Error { raw: raw.to_owned() })
    }
}

impl fmt::Display for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for Uid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uid({self})")
    }
}

text_forms!(Uid, Error);
