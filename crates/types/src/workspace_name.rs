//! Names of workspaces.

use std::str::FromStr;

use crate::{
    dns,
    text::{text_access, text_serde},
};

/// The short name of a revision within its package.
///
/// Who creates a revision gives a DNS-1123 label; that is what `TryFrom` and `FromStr` take. A revision that was found in
/// Git as a foreign tag `pkg/v1.2.3` has the workspace `v1.2.3`; [`imported`](Self::imported) takes those too, and so
/// does reading a stored value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkspaceName(String);

/// A text that is not the name of a workspace. `Display` is the text that the API gives for `spec.workspaceName`, after
/// the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problems}")]
pub struct Error {
    /// The text.
    pub raw: String,
    /// What is wrong with it.
    pub problems: dns::Problems,
}

impl WorkspaceName {
    /// Takes a name that was found in Git: a label, or a version `v1.2.3` with at most 63 characters.
    pub fn imported(raw: &str) -> Result<Self, Error> {
        if is_version(raw) && !raw.contains("..") && raw.len() <= dns::MAX_LABEL_BYTES {
            return Ok(Self(raw.to_owned()));
        }
        raw.parse()
    }

    /// Takes a name that the caller has checked by the rules of [`imported`](Self::imported).
    pub(crate) fn checked(raw: &str) -> Self {
        debug_assert!(Self::imported(raw).is_ok(), "{raw:?} was checked");
        Self(raw.to_owned())
    }
}

/// True for a `v`, then digits and dots, then a digit.
pub(crate) fn is_version(raw: &str) -> bool {
    raw.strip_prefix('v').is_some_and(|numbers| {
        numbers.ends_with(|c: char| c.is_ascii_digit())
            && numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    })
}

impl FromStr for WorkspaceName {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        dns::check_label(raw).map_err(|problems| Error { raw: raw.to_owned(), problems })?;
        Ok(Self(raw.to_owned()))
    }
}

impl TryFrom<&str> for WorkspaceName {
    type Error = Error;

    fn try_from(raw: &str) -> Result<Self, Error> {
        raw.parse()
    }
}

impl TryFrom<String> for WorkspaceName {
    type Error = Error;

    fn try_from(raw: String) -> Result<Self, Error> {
        raw.parse()
    }
}

text_access!(WorkspaceName);
text_serde!(WorkspaceName, WorkspaceName::imported);
