//! What differs between two packages.

use lanai_types::SafePath;

use super::Package;

/// The paths by which two packages differ, each list in Git's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// Files that only the new package has.
    pub added: Vec<SafePath>,
    /// Files that only the old package has.
    pub removed: Vec<SafePath>,
    /// Files whose content or mode is another one.
    pub changed: Vec<SafePath>,
}

impl Diff {
    /// Whether there is no difference.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

impl Package {
    /// What has to be done to this package to get the other one.
    pub fn diff(&self, new: &Self) -> Diff {
        let mut diff = Diff::default();
        for (path, file) in self.iter() {
            match new.get(path) {
                None => diff.removed.push(path.clone()),
                Some(other) if other != file => diff.changed.push(path.clone()),
                Some(_) => {}
            }
        }
        let added = new.iter().filter(|(path, _)| self.get(path).is_none());
        diff.added = added.map(|(path, _)| path.clone()).collect();
        diff
    }
}
