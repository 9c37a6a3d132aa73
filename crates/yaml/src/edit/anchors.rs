//! Aliases whose anchors go.

use std::collections::{HashMap, HashSet};

use super::{Error, NodeMut};
use crate::tree::{Kind, NodeId, Tree};

impl NodeMut<'_> {
    /// Expands all aliases of a node and of what is below it, except those in it, before it goes.
    pub(super) fn release(&mut self, id: NodeId) -> Result<(), Error> {
        self.release_all(id, Going::Whole)
    }

    /// The same for what is below a node that stays.
    pub(super) fn release_below(&mut self, id: NodeId) -> Result<(), Error> {
        self.release_all(id, Going::Content)
    }

    fn release_all(&mut self, id: NodeId, going: Going) -> Result<(), Error> {
        if !self.document.tree.has_aliases {
            return Ok(());
        }
        for alias in self.document.tree.aliases_of(id, going) {
            NodeMut { document: self.document, id: alias }.expand()?;
        }
        Ok(())
    }
}

/// What goes away.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Going {
    Whole,
    Content,
}

impl Tree {
    /// The aliases outside of a node that name it or something below it.
    fn aliases_of(&self, id: NodeId, going: Going) -> Vec<NodeId> {
        let inside: HashSet<NodeId> = self.subtree(id).into_iter().collect();
        let goes = |target: NodeId| inside.contains(&target) && (going == Going::Whole || target != id);
        let outside = self.subtree(self.root).into_iter().filter(|node| !inside.contains(node));
        outside.filter(|node| self.target_of(*node).is_some_and(goes)).collect()
    }

    /// The name of an alias that stands before the anchor that it names, if there is one.
    pub(super) fn alias_before_anchor(&self) -> Option<String> {
        if !self.has_aliases {
            return None;
        }
        let order = self.subtree(self.root);
        let places: HashMap<NodeId, usize> = order.iter().enumerate().map(|(at, id)| (*id, at)).collect();
        let early =
            |id: &&NodeId| self.target_of(**id).is_some_and(|target| places.get(&target) > places.get(*id));
        let target = order.iter().find(early).and_then(|id| self.target_of(*id))?;
        self.properties(target).and_then(|properties| properties.anchor.as_deref()).map(ToOwned::to_owned)
    }

    /// What an alias stands for.
    fn target_of(&self, id: NodeId) -> Option<NodeId> {
        if self.node(id).kind == Kind::Alias { self.node(id).last.get() } else { None }
    }

    /// A node and all below it, in the order of the document.
    pub(super) fn subtree(&self, id: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let mut work = vec![id];
        while let Some(id) = work.pop() {
            found.push(id);
            if self.node(id).kind != Kind::Alias {
                let first = work.len();
                work.extend(self.children(id));
                work[first..].reverse();
            }
        }
        found
    }
}
