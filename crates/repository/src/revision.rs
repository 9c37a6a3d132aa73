//! What people write to say which state of a repository they mean.

use std::fmt;
use std::str::FromStr;

use lanai_types::CommitId;
use lanai_types::quote::Quoted;

/// Which state of a repository is meant, before anybody looked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Revision {
    /// The branch that the repository's `HEAD` names.
    DefaultBranch,
    /// A branch, a tag, a tag without the folder of its package in front, or a full name under `refs/`.
    Name(Name),
    /// A commit by its whole id.
    Commit(CommitId),
}

/// The name of a branch or tag, as people write it. It cannot be taken for an option, nor break a line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

/// Why a text names no revision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("revision {} is no name of a branch or tag, and no commit: {why}", Quoted(.raw))]
pub struct Error {
    /// The text.
    pub raw: String,
    /// What is wrong with it.
    pub why: &'static str,
}

impl Name {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Revision {
    type Err = Error;

    /// 40 hexadecimal digits are a commit, all else is a name. An empty text is refused.
    fn from_str(raw: &str) -> Result<Self, Error> {
        if let Ok(commit) = raw.parse() {
            return Ok(Self::Commit(commit));
        }
        let refuse = |why| Err(Error { raw: raw.to_owned(), why });
        if raw.starts_with('-') {
            return refuse("it begins with a dash");
        }
        let full = if raw.starts_with("refs/") { raw.to_owned() } else { format!("refs/tags/{raw}") };
        match full.parse::<lanai_types::RefName>() {
            Ok(_) => Ok(Self::Name(Name(raw.to_owned()))),
            Err(_) => refuse("git allows no such name"),
        }
    }
}

impl fmt::Display for Revision {
    /// What people would write; `HEAD` for the default branch.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DefaultBranch => f.write_str("HEAD"),
            Self::Name(name) => f.write_str(&name.0),
            Self::Commit(commit) => commit.fmt(f),
        }
    }
}
