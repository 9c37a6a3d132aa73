//! Why a merge was refused.

use lanai_krm::package;
use lanai_types::SafePath;
use lanai_types::quote::Quoted;
use lanai_yaml::edit;

use crate::conflict::{Conflict, ConflictId, Side};
use crate::options::UnknownStrategy;

/// Why a merge was refused.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// [`crate::Policy::Fail`], and there are conflicts that no resolution decides.
    #[error("{} conflicts are not resolved, the first is {}", .0.len(), first(.0))]
    Conflicts(Vec<Conflict>),
    /// A file has the same resource twice.
    #[error(
        "{side} has {resource} twice in file {}: on line {first_line} and on line {second_line}",
        Quoted(.path.as_str())
    )]
    Duplicate {
        /// Whose file it is.
        side: Side,
        /// The resource, by what identifies it in a merge.
        resource: String,
        /// The file.
        path: SafePath,
        /// Where the first one begins.
        first_line: usize,
        /// Where the second one begins.
        second_line: usize,
    },
    /// A fast-forward, but local files have changed.
    #[error("local files have been modified: {}; use another strategy", list(.0))]
    LocallyModified(Vec<SafePath>),
    /// A resolution has a value that is not YAML.
    #[error("the value for conflict {} cannot be read: {cause}", Quoted(.conflict.as_str()))]
    BadValue {
        /// The conflict.
        conflict: ConflictId,
        /// What is wrong with the value.
        cause: Box<lanai_yaml::Error>,
    },
    /// A resolution has a value that its conflict cannot take.
    #[error("conflict {} cannot be resolved so: {why}", Quoted(.conflict.as_str()))]
    Unfit {
        /// The conflict.
        conflict: ConflictId,
        /// Why not.
        why: Misfit,
    },
    /// Two resolutions for one conflict say different things.
    #[error("there are two resolutions for conflict {}, and they differ; keep one of them", Quoted(.0.as_str()))]
    TwoResolutions(ConflictId),
    /// A resolution has a value for a list item or a resource that would be another one.
    #[error("the value for conflict {} is another list item or resource: what names it must stay", Quoted(.0.as_str()))]
    OtherKey(ConflictId),
    /// A resolution puts a resource into a file that has one of its name, or that is none of resources.
    #[error("conflict {} cannot be resolved so: the file has a resource of that name, or cannot hold one", Quoted(.0.as_str()))]
    PlaceTaken(ConflictId),
    /// A document cannot be edited so, in a file that may not merge as text.
    #[error("file {}, line {line}: {cause}", Quoted(.path.as_str()))]
    Edit {
        /// The file.
        path: SafePath,
        /// Where the document begins, in the file of the side that has it: local's, else upstream's.
        line: usize,
        /// Why.
        cause: edit::Error,
    },
    /// Documents that cannot stand together in a file that may not merge as text: a Kptfile, or one with resolutions about
    /// its fields.
    #[error("file {} cannot hold the merged documents together", Quoted(.0.as_str()))]
    Composition(SafePath),
    /// The result is no package: too large.
    #[error(transparent)]
    Package(#[from] package::Error),
    /// There is no such strategy.
    #[error(transparent)]
    UnknownStrategy(#[from] UnknownStrategy),
}

/// Why a conflict cannot take a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// It is about a mode, and no mode is called so.
    #[error("a mode is regular, executable or symlink")]
    Mode,
    /// It is about a comment on a line, and there are more lines.
    #[error("the comment on a line is one line")]
    Lines,
    /// It is about fields that exclude each other, and has others or none.
    #[error("a mapping is needed with the one field that is to be there, of those that exclude each other")]
    Variant,
    /// It is about a comment that cannot stand where it would have to.
    #[error("no such comment can stand there, so that only local's side can be taken")]
    NoPlace,
    /// It is about a package inside the package.
    #[error("a package inside the package is upstream's, local's or the original one")]
    Package,
}

fn first(conflicts: &[Conflict]) -> String {
    conflicts.first().map_or_else(String::new, |conflict| Quoted(conflict.id.as_str()).to_string())
}

fn list(paths: &[SafePath]) -> String {
    paths.iter().map(SafePath::as_str).collect::<Vec<_>>().join(", ")
}
