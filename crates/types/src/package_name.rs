//! Names of packages.

use std::str::FromStr;

use crate::{
    SafePath, dns,
    quote::Quoted,
    text::{text_access, text_serde},
};

/// The name of a package in its repository: the folders above it and its own name, `platform/network/dns`.
///
/// Every segment is a DNS-1123 label, without slashes the folders above make one label together, and there is no slash
/// at either end. Who creates a package gives a name whose *whole* makes one label without its slashes, at most 63
/// characters; that is what `TryFrom` and `FromStr` take. Longer names that were found in Git come in through
/// [`imported`](Self::imported), and so does reading a stored value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageName(String);

/// Why a text is not the name of a package. `Display` is the text that the API gives for `spec.packageName`, after the
/// value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// As a whole it breaks the rule for paths.
    #[error("{problems}")]
    Path {
        /// The text.
        raw: String,
        /// What is wrong with it.
        problems: dns::Problems,
    },
    /// The whole is fine, and one of its segments is not.
    #[error("segment {}: {problems}", Quoted(segment))]
    Segment {
        /// The text.
        raw: String,
        /// The first bad segment.
        segment: String,
        /// What is wrong with it.
        problems: dns::Problems,
    },
}

impl PackageName {
    /// Takes a name that was found in Git, where the folders and the package's own name may have 63 characters each.
    pub fn imported(raw: &str) -> Result<Self, Error> {
        let name = without_outer_slashes(raw);
        let (path, leaf) = split(name);
        // A name that still begins with a slash has an empty path, which is checked like any other.
        if name.contains('/') {
            check_path(raw, path)?;
        }
        check_segments(raw, path)?;
        dns::check_label(leaf).map_err(|problems| Error::Path { raw: raw.to_owned(), problems })?;
        Ok(Self(name.to_owned()))
    }

    /// Puts together parts that the caller has checked by the rules of [`imported`](Self::imported).
    pub(crate) fn checked(path: &str, leaf: &str) -> Self {
        let name = if path.is_empty() { leaf.to_owned() } else { format!("{path}/{leaf}") };
        debug_assert!(
            Self::imported(&name).as_ref().map(Self::as_str) == Ok(name.as_str()),
            "{name:?} was checked"
        );
        Self(name)
    }

    /// The folders above the package, separated by slashes; empty for a package at the top.
    pub fn path(&self) -> &str {
        split(&self.0).0
    }

    /// The package's own name, the last segment.
    pub fn leaf(&self) -> &str {
        split(&self.0).1
    }

    /// The segments from the top down; there is at least one.
    pub fn segments(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The folder of the package, below the directory of its repository.
    pub fn folder(&self) -> SafePath {
        self.0.parse().expect("a few labels between slashes keep every rule and limit of safe paths")
    }

    /// True when this package lies in a folder below the other one.
    pub fn is_inside(&self, other: &Self) -> bool {
        self.0.strip_prefix(other.as_str()).is_some_and(|rest| rest.starts_with('/'))
    }
}

impl FromStr for PackageName {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        check_path(raw, raw)?;
        let name = without_outer_slashes(raw);
        check_segments(raw, name)?;
        Ok(Self(name.to_owned()))
    }
}

impl TryFrom<&str> for PackageName {
    type Error = Error;

    fn try_from(raw: &str) -> Result<Self, Error> {
        raw.parse()
    }
}

impl TryFrom<String> for PackageName {
    type Error = Error;

    fn try_from(raw: String) -> Result<Self, Error> {
        raw.parse()
    }
}

text_access!(PackageName);
text_serde!(PackageName, PackageName::imported);

fn without_outer_slashes(raw: &str) -> &str {
    let raw = raw.strip_prefix('/').unwrap_or(raw);
    raw.strip_suffix('/').unwrap_or(raw)
}

fn split(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

fn check_path(raw: &str, path: &str) -> Result<(), Error> {
    dns::check_path(path).map_err(|problems| Error::Path { raw: raw.to_owned(), problems })
}

fn check_segments(raw: &str, path: &str) -> Result<(), Error> {
    for segment in path.split('/').filter(|_| !path.is_empty()) {
        dns::check_label(segment).map_err(|problems| Error::Segment {
            raw: raw.to_owned(),
            segment: segment.to_owned(),
            problems,
        })?;
    }
    Ok(())
}
