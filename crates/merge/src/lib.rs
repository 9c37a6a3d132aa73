//! Three-way merge of packages: the result, and a list of the conflicts.
//!
//! [`three_way`] takes the package that both sides began with, what became of it upstream, and what became of it
//! locally. The result is the local package, edited: bytes that nobody changed stay. Nothing here reads a disk, and
//! nothing is remembered from one merge to the next.

mod comments;
mod compare;
mod conflict;
mod decide;
mod document;
mod error;
mod fields;
mod files;
mod identity;
mod judge;
mod keyring;
mod keys;
mod lists;
mod matching;
mod names;
mod options;
mod packages;
mod remarks;
mod resources;
mod shapes;
mod sheets;
mod strategy;
mod subpackages;
mod text;
mod unions;

pub use conflict::{Conflict, ConflictId, ConflictKind, Decider, Side, Subject};
pub use error::{Error, Misfit};
pub use options::{Options, Policy, Resolution, Strategy, Take};
pub use strategy::{Merged, three_way};
