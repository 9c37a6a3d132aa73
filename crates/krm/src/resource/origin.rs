//! Where a resource comes from.

use lanai_types::SafePath;

use crate::package::Folder;

/// Where a resource comes from, and its number in a list. It travels beside the text of the resource, so that functions that run
/// in this process need no annotations for it; on the wire it becomes annotations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The package that it belongs to.
    pub package: Folder,
    /// Its file, as seen from that package.
    pub path: SafePath,
    /// Its place in the file, from 0; new resources may have none yet.
    pub index: Option<usize>,
    /// Its number in the list that a function gets. What comes back with a number is the resource that had it; what comes back
    /// without is new.
    pub serial: Option<usize>,
}
