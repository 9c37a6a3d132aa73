//! Aliases whose anchors go.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Error, NodeMut};
use crate::tree::{Kind, NodeId, Note, Tree};

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
        let mut released: BTreeMap<String, usize> = BTreeMap::new();
        for alias in self.document.tree.aliases_of(id, going) {
            let mut alias = NodeMut { document: self.document, id: alias };
            *released.entry(alias.read().value().into_owned()).or_default() += 1;
            alias.expand_alias()?;
        }
        let notes = released.into_iter().map(|(anchor, aliases)| Note::AnchorGone { anchor, aliases });
        if self.document.tree.has_aliases {
            self.tree().notes.extend(notes);
        }
        Ok(())
    }
}

impl NodeMut<'_> {
    /// Notes that aliases mean the new value of a node that has an anchor.
    pub(super) fn note_aliases(&mut self) {
        let tree = &self.document.tree;
        let Some(anchor) = tree.anchor_of(self.id).filter(|_| tree.has_aliases) else { return };
        let names_it = |id: &NodeId| tree.target_of(*id) == Some(self.id);
        let aliases = tree.subtree(tree.root).iter().filter(|id| names_it(id)).count();
        let note = Note::AliasesFollow { anchor: anchor.to_owned(), aliases };
        if aliases > 0 {
            self.tree().notes.push(note);
        }
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

    /// The name of an alias that does not follow the anchor that it means, or follows another of the same name.
    pub(super) fn alias_before_anchor(&self) -> Option<String> {
        if !self.has_aliases {
            return None;
        }
        let mut anchors: HashMap<&str, NodeId> = HashMap::new();
        for id in self.subtree(self.root) {
            if let Some(target) = self.target_of(id) {
                let name = self.anchor_of(target)?;
                if anchors.get(name) != Some(&target) {
                    return Some(name.to_owned());
                }
            } else if let Some(name) = self.anchor_of(id) {
                anchors.insert(name, id);
            }
        }
        None
    }

    fn anchor_of(&self, id: NodeId) -> Option<&str> {
        self.properties(id)?.anchor.as_deref()
    }

    /// What an alias stands for.
    fn target_of(&self, id: NodeId) -> Option<NodeId> {
        if self.node(id).kind == Kind::Alias { self.node(id).last.get() } else { None }
    }

    /// A node and all below it, in the order of the document.
    pub(crate) fn subtree(&self, id: NodeId) -> Vec<NodeId> {
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
