//! What can be wrong with a Kptfile.

use std::fmt;

use lanai_types::quote::Quoted;

/// Why there is no Kptfile to work with.
///
/// `Display` says it in short. [`Error::report`] gives the text that kpt prints, which scripts match on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is none.
    #[error("there is no Kptfile")]
    NotFound,
    /// It has a version that nobody supports any more.
    #[error("the Kptfile has the old version \"{version}\"")]
    OldVersion {
        /// `v1alpha1` or `v1alpha2`.
        version: &'static str,
    },
    /// It is a resource of another type.
    #[error("the Kptfile is of an unknown type: {kind} of {api_version}")]
    UnknownType {
        /// Group and version.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// It cannot be read.
    #[error("the Kptfile cannot be read: {0}")]
    Unreadable(Unreadable),
}

/// Why a Kptfile cannot be read. `Display` gives the decoder's text.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unreadable {
    /// There is nothing in it.
    Empty,
    /// It says nothing of what it is: neither type nor metadata.
    NoMetadata,
    /// It is not YAML.
    Syntax(lanai_yaml::Error),
    /// There are fields that it may not have, or that are not what they must be; all of them.
    Fields(Vec<Problem>),
}

/// Something that is wrong in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong.
    pub wrong: Wrong,
}

/// What can be wrong in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// A field that does not exist.
    UnknownField {
        /// The field.
        field: String,
        /// The type that it stands in.
        parent: String,
    },
    /// A key that the mapping has already.
    DuplicateKey {
        /// The key.
        key: String,
        /// The line where it stands first.
        first: usize,
    },
    /// A node of the wrong kind.
    Shape {
        /// Its tag and, of a scalar, its text.
        found: String,
        /// The type that is expected.
        expected: String,
    },
}

impl Error {
    /// The text that kpt prints. `package` is the directory of the package; `image_prefix` is the registry path that short
    /// image names stand for.
    pub fn report(&self, package: &str, image_prefix: &str) -> String {
        let package = Quoted(package);
        match self {
            Error::NotFound => format!("Error: No Kptfile found at {package}."),
            Error::OldVersion { version } => {
                let advice = if *version == "v1alpha1" {
                    "Please update the package to the latest format by following \
                     https://kpt.dev/installation/migration."
                        .to_owned()
                } else {
                    format!(
                        "Please run \"kpt fn eval <PKG_PATH> -i {image_prefix}/fix:latest --include-meta-resources\" to \
                         upgrade the package and retry."
                    )
                };
                format!(
                    "Error: Kptfile at {package} has an old version (\"{version}\") of the Kptfile schema.\n{advice}"
                )
            }
            Error::UnknownType { api_version, kind } => {
                let (group, version) = crate::resource::split_api_version(api_version);
                format!(
                    "Error: Kptfile at {package} has an unknown resource type (\"{group}/{version}, Kind={kind}\")."
                )
            }
            Error::Unreadable(details) => {
                format!("Error: Kptfile at {package} can't be read.\n\nDetails:\n{details}")
            }
        }
    }
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unreadable::Empty => f.write_str("EOF"),
            Unreadable::NoMetadata => f.write_str("missing Resource metadata"),
            Unreadable::Syntax(error) => write!(f, "yaml: line {}: {}", error.position.line, error.cause),
            Unreadable::Fields(problems) => {
                f.write_str("yaml: unmarshal errors:")?;
                problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.wrong {
            Wrong::UnknownField { field, parent } => write!(f, "field {field} not found in type {parent}"),
            Wrong::DuplicateKey { key, first } => {
                write!(f, "mapping key {} already defined at line {first}", Quoted(key))
            }
            Wrong::Shape { found, expected } => write!(f, "cannot unmarshal {found} into {expected}"),
        }
    }
}
