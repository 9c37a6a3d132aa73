//! Conflicts, as data.

use std::fmt;

use lanai_krm::ResourceId;
use lanai_types::SafePath;
use lanai_yaml::Path;

/// A place where both sides changed the same, and what was done about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// What a [`crate::Resolution`] names it by.
    pub id: ConflictId,
    /// The file: the local one, else upstream's.
    pub path: SafePath,
    /// What in the file it is about.
    pub subject: Subject,
    /// The field; the root where the resource or file as a whole is meant. An item of a list has a segment for each of its
    /// keys.
    pub field: Path,
    /// What happened.
    pub kind: ConflictKind,
    /// The value that both began with: as YAML; of a file, its text, or for a binary one its size and the id that Git has
    /// for it; of a package, its files with these ids. `None` where there is none.
    pub original: Option<String>,
    /// Upstream's value.
    pub upstream: Option<String>,
    /// The local value.
    pub local: Option<String>,
    /// Whose value the result has.
    pub chosen: Side,
    /// Who chose.
    pub decided_by: Decider,
}

/// The name of a conflict: file, resource and field, and an aspect where it is not about the value.
///
/// Merging the same original and upstream again gives the same names, whatever the local values are. One name depends on
/// the local package: that of a resource as a whole which local keeps in another file has that file in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConflictId(String);

/// What a conflict is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A resource, or a field of it.
    Resource(ResourceId),
    /// A file that is no resource file, or a document that is no resource.
    File,
    /// A package inside the package.
    Subpackage,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConflictKind {
    /// Both changed a value, to different ones.
    BothChanged,
    /// Upstream removed what local changed.
    RemovedUpstreamChangedLocally,
    /// Local removed what upstream changed.
    RemovedLocallyChangedUpstream,
    /// Both added it, with different values.
    AddedOnBoth,
    /// A mapping, a list and a scalar do not merge, nor do a file and a folder.
    KindsDiffer,
    /// Both changed the same lines of a text, or the same binary file.
    FileChanged,
    /// Both changed a comment, or one side changed comments inside of a list that the other side replaced. The values
    /// are the comments, or the lists.
    CommentsDiffer,
    /// Both made the file another kind of file: one that can be run, one that cannot, or a symbolic link. The values are
    /// `regular`, `executable` and `symlink`.
    ModesDiffer,
    /// Both put a resource into another file, or added it, not in the same one; or upstream put it into a file where local
    /// has another of that name. The values are the paths.
    MovedApart,
    /// Both put the items of a list that merges by key into another order. The values are lists of keys.
    OrdersDiffer,
}

/// Whose value it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// What both began with.
    Original,
    /// Upstream's.
    Upstream,
    /// The local one.
    Local,
    /// A value that a resolution brought.
    Value,
}

/// Who chose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Decider {
    /// The policy, or the rule that nothing changed is deleted as a whole.
    Policy,
    /// A resolution.
    Resolution,
}

impl ConflictId {
    /// The name of a conflict.
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConflictId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ConflictKind {
    /// One word for it, for tables and documents.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BothChanged => "BothChanged",
            Self::RemovedUpstreamChangedLocally => "RemovedUpstreamChangedLocally",
            Self::RemovedLocallyChangedUpstream => "RemovedLocallyChangedUpstream",
            Self::AddedOnBoth => "AddedOnBoth",
            Self::KindsDiffer => "KindsDiffer",
            Self::FileChanged => "FileChanged",
            Self::CommentsDiffer => "CommentsDiffer",
            Self::ModesDiffer => "ModesDiffer",
            Self::MovedApart => "MovedApart",
            Self::OrdersDiffer => "OrdersDiffer",
        }
    }
}

impl fmt::Display for ConflictKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Original => "original",
            Self::Upstream => "upstream",
            Self::Local => "local",
            Self::Value => "value",
        })
    }
}
