//! Aliases whose anchors go.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

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
    /// Notes that aliases mean the new value of a node that has an anchor, or has one above it.
    pub(super) fn note_aliases(&mut self) {
        let tree = &self.document.tree;
        if !tree.has_aliases {
            return;
        }
        let above = std::iter::successors(Some(self.id), |id| tree.node(*id).parent.get());
        let is_noted = |id: &NodeId| {
            let noted = tree.notes.iter().filter_map(|note| match note {
                Note::AliasesFollow { anchor, .. } => Some(anchor.as_str()),
                Note::AliasExpanded { .. } | Note::AnchorGone { .. } | Note::MergedValueCopied { .. } => None,
            });
            noted.into_iter().any(|anchor| tree.anchor_of(*id) == Some(anchor))
        };
        let anchored: Vec<NodeId> = above.filter(|id| tree.is_aliased(*id) && !is_noted(id)).collect();
        if anchored.is_empty() {
            return;
        }
        let mut aliases: HashMap<NodeId, usize> = HashMap::new();
        for target in tree.subtree(tree.root).into_iter().filter_map(|id| tree.target_of(id)) {
            *aliases.entry(target).or_default() += 1;
        }
        let follow = anchored.into_iter().filter_map(|id| {
            let anchor = tree.anchor_of(id)?.to_owned();
            Some(Note::AliasesFollow { anchor, aliases: *aliases.get(&id)? })
        });
        let follow: Vec<Note> = follow.collect();
        self.tree().notes.extend(follow);
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
        if !self.has_aliased(id) {
            return Vec::new();
        }
        let inside: HashSet<NodeId> = self.subtree(id).into_iter().collect();
        let goes = |target: NodeId| inside.contains(&target) && (going == Going::Whole || target != id);
        let outside = self.subtree(self.root).into_iter().filter(|node| !inside.contains(node));
        outside.filter(|node| self.target_of(*node).is_some_and(goes)).collect()
    }

    /// Whether aliases name a node, or did before an edit.
    fn is_aliased(&self, id: NodeId) -> bool {
        let aliased = self.aliased.get_or_init(|| {
            let ids = (0..self.nodes.len()).map(NodeId::new);
            Arc::new(ids.filter_map(|id| self.target_of(id)).collect())
        });
        aliased.contains(&id)
    }

    /// Whether aliases name a node or something below it, or did before an edit.
    pub(super) fn has_aliased(&self, id: NodeId) -> bool {
        self.has_aliases && self.subtree(id).into_iter().any(|id| self.is_aliased(id))
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
