//! The resources of a tree of packages while pipelines run over them.

use std::collections::BTreeMap;

use lanai_krm::Resource;
use lanai_krm::package::Folder;

use crate::tree::Order;

/// The resources of all packages that were entered.
pub(crate) struct Held {
    by: By,
    len: usize,
}

enum By {
    /// Depth first: what each package has that was entered and did not run yet, the outer before the inner. What a package
    /// had when it had run belongs to the one around it, behind what that one has already.
    Open(Vec<Vec<Resource>>),
    /// Breadth first: what belongs to each package. The folders are in the order of the list that functions get: a package's
    /// own resources, then those of each package in it.
    Owned(BTreeMap<Folder, Vec<Resource>>),
}

impl Held {
    pub fn new(order: Order) -> Self {
        let by = match order {
            Order::DepthFirst => By::Open(Vec::new()),
            Order::BreadthFirst => By::Owned(BTreeMap::new()),
        };
        Self { by, len: 0 }
    }

    /// A package is entered, with its own resources.
    pub fn enter(&mut self, folder: &Folder, own: Vec<Resource>) {
        self.len += own.len();
        match &mut self.by {
            By::Open(open) => open.push(own),
            By::Owned(owned) => drop(owned.insert(folder.clone(), own)),
        }
    }

    /// Takes out what the functions of a package see: its resources and those of the packages in it.
    pub fn take(&mut self, folder: &Folder) -> Vec<Resource> {
        let items = match &mut self.by {
            By::Open(open) => open.pop().unwrap_or_default(),
            By::Owned(owned) => take_below(owned, folder),
        };
        self.len -= items.len();
        items
    }

    /// Gives back what was taken out.
    pub fn give(&mut self, items: Vec<Resource>) {
        self.len += items.len();
        match &mut self.by {
            By::Open(open) => match open.last_mut() {
                Some(outer) => outer.extend(items),
                None => open.push(items),
            },
            By::Owned(owned) => {
                for item in items {
                    let folder = item.origin().map_or(Folder::Root, |origin| origin.package.clone());
                    owned.entry(folder).or_default().push(item);
                }
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// All of them, in order.
    pub fn into_items(self) -> Vec<Resource> {
        match self.by {
            By::Open(open) => open.into_iter().flatten().collect(),
            By::Owned(owned) => owned.into_values().flatten().collect(),
        }
    }
}

fn take_below(owned: &mut BTreeMap<Folder, Vec<Resource>>, folder: &Folder) -> Vec<Resource> {
    let is_below = |other: &Folder| match other {
        Folder::Root => *folder == Folder::Root,
        Folder::At(path) => other == folder || folder.holds(path),
    };
    // What is below a folder stands right behind it.
    let range = owned.range(folder.clone()..).map(|(other, _)| other);
    let folders: Vec<Folder> = range.take_while(|other| is_below(other)).cloned().collect();
    folders.iter().filter_map(|folder| owned.remove(folder)).flatten().collect()
}
