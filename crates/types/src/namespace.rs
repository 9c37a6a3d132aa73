//! Names of Kubernetes namespaces.

use std::str::FromStr;

use crate::{
    dns,
    quote::Quoted,
    text::{text_access, text_forms},
};

/// The name of a Kubernetes namespace: a DNS-1123 label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(String);

/// A text that is not the name of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("namespace {} invalid: {problems}", Quoted(.raw))]
pub struct Error {
    /// The text.
    pub raw: String,
    /// What is wrong with it.
    pub problems: dns::Problems,
}

impl FromStr for Namespace {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        dns::check_label(raw).map_err(|problems| Error { raw: raw.to_owned(), problems })?;
        Ok(Self(raw.to_owned()))
    }
}

text_access!(Namespace);
text_forms!(Namespace, Error);
