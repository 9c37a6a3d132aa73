//! How to merge.

use std::fmt;
use std::str::FromStr;

use lanai_krm::ignore::Dialect;
use lanai_types::quote::Quoted;

use crate::conflict::ConflictId;
use crate::error::Error;

/// How to merge: what is merged, who wins, and what was decided already.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What is merged and what is replaced.
    pub strategy: Strategy,
    /// Who wins where both sides changed the same.
    pub policy: Policy,
    /// What was decided for single conflicts. Two for one conflict must say the same.
    pub resolutions: Vec<Resolution>,
    /// How a `.krmignore` is read; what it ignores is no resource file.
    pub ignore_dialect: Dialect,
}

/// What is merged and what is replaced. The Kptfile of the package is merged by every strategy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// Resources by their fields, text by lines, other files as a whole.
    #[default]
    ResourceMerge,
    /// Upstream's files, provided that local ones are as they were.
    FastForward,
    /// Upstream's files, whatever local ones are.
    ForceDeleteReplace,
    /// Upstream's files over the local ones; files that only local has stay.
    CopyMerge,
}

/// Who wins where both sides changed the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Upstream's value.
    #[default]
    UpstreamWins,
    /// The local value.
    LocalWins,
    /// Nobody: a merge with a conflict that no resolution decides is [`Error::Conflicts`].
    Fail,
}

/// What was decided for one conflict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The conflict.
    pub conflict: ConflictId,
    /// The value to take.
    pub take: Take,
}

/// A value to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Take {
    /// Upstream's; nothing, where upstream has none.
    Upstream,
    /// The local one; nothing, where local has none.
    Local,
    /// The one that both began with; nothing, where there was none.
    Original,
    /// Another: YAML for a field or a resource, the text for another file.
    Value(String),
}

impl Strategy {
    /// The name that a Kptfile has for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ResourceMerge => "resource-merge",
            Self::FastForward => "fast-forward",
            Self::ForceDeleteReplace => "force-delete-replace",
            Self::CopyMerge => "copy-merge",
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that no strategy has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "there is no strategy {}; there are resource-merge, fast-forward, force-delete-replace and copy-merge",
    Quoted(.0)
)]
pub struct UnknownStrategy(pub String);

impl FromStr for Strategy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let all = [Self::ResourceMerge, Self::FastForward, Self::ForceDeleteReplace, Self::CopyMerge];
        let found = all.into_iter().find(|strategy| strategy.as_str() == name);
        found.ok_or_else(|| Error::UnknownStrategy(UnknownStrategy(name.into())))
    }
}
