//! Names of Repository objects.

use std::str::FromStr;

use crate::{
    dns,
    text::{text_access, text_forms},
};

/// The name of a Repository object: a DNS-1123 label, so that it has no dot and can stand first in an
/// [`ObjectName`](crate::ObjectName).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RepositoryName(String);

/// A text that is not the name of a repository. `Display` is Porch's text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("repository name {raw} invalid: {problems}")]
pub struct Error {
    /// The text.
    pub raw: String,
    /// What is wrong with it.
    pub problems: dns::Problems,
}

impl RepositoryName {
    /// Takes a name that the caller has checked.
    pub(crate) fn checked(raw: &str) -> Self {
        debug_assert!(dns::check_label(raw).is_ok(), "{raw:?} was checked");
        Self(raw.to_owned())
    }
}

impl FromStr for RepositoryName {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        dns::check_label(raw).map_err(|problems| Error { raw: raw.to_owned(), problems })?;
        Ok(Self(raw.to_owned()))
    }
}

text_access!(RepositoryName);
text_forms!(RepositoryName, Error);
