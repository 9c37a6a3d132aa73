//! The list of resources that functions read and write.

mod cut;
mod read;
mod write;

use std::fmt;

use lanai_yaml::Content;

use crate::resource::{self, Resource};
use crate::result::{self, ResultItem};

/// The `apiVersion` that is written.
pub const API_VERSION: &str = "config.kubernetes.io/v1";
/// The kind of a list on the wire.
pub const KIND: &str = "ResourceList";

/// What goes into a function and what comes out of it.
///
/// Each item is a resource of its own, with the text, quoting and comments that it has in the list, moved to the left
/// margin. `Display` writes the wire format: `apiVersion`, `kind`, `items`, `functionConfig`, `results`, then what we do not
/// know. Items are written as they are, two columns to the right; the comments that stand above an item's content come to
/// stand above its dash, without the blank lines between them.
#[derive(Clone, Debug, Default)]
pub struct ResourceList {
    /// The resources.
    pub items: Vec<Resource>,
    /// What configures the function.
    pub function_config: Option<Resource>,
    /// What the function reports.
    pub results: Vec<ResultItem>,
    /// Fields that we do not know, in order.
    pub others: Vec<(String, Content)>,
}

/// Why a text is not a list of resources.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text is not YAML.
    #[error(transparent)]
    Yaml(#[from] lanai_yaml::Error),
    /// The document, or one of its resources, is no mapping.
    #[error(transparent)]
    Resource(#[from] resource::Error),
    /// The document is a resource of another type.
    #[error(
        "a ResourceList of config.kubernetes.io/v1 or a List of v1 is expected, this is {kind:?} of {api_version:?}"
    )]
    WrongType {
        /// Its `apiVersion`.
        api_version: String,
        /// Its kind.
        kind: String,
    },
    /// `items` is no list.
    #[error("line {line}: items are a list, this is {found}")]
    ItemsNotAList {
        /// The line.
        line: usize,
        /// What is there, in words.
        found: &'static str,
    },
    /// The results cannot be read.
    #[error(transparent)]
    Results(#[from] result::Error),
    /// A resource is too large once the aliases in it are expanded.
    #[error("line {line}: {cause}")]
    TooLarge {
        /// The line.
        line: usize,
        /// What the editor says.
        cause: lanai_yaml::edit::Error,
    },
}

impl fmt::Display for ResourceList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&write::text(self))
    }
}
