//! Lists that merge by key.

use std::collections::{HashMap, HashSet};

use lanai_yaml::path::Segment;
use lanai_yaml::{NodeMut, NodeRef};

use crate::comments;
use crate::compare::exact;
use crate::conflict::ConflictId;
use crate::error::Error;
use crate::fields::{Fields, Outcome, Slot, There, Triple, put};
use crate::keys::{Cursor, List, key_of};

type Key = Vec<(String, String)>;

/// Whether each item of a list has a key of its own.
pub(crate) fn is_keyed(node: NodeRef<'_>, list: &List) -> bool {
    let mut seen = HashSet::new();
    node.items().all(|item| key_of(item, list).is_some_and(|key| seen.insert(key)))
}

impl Fields<'_, '_> {
    /// Merges the items of a list, of which `sides` has what was there before any edit: the local ones in their order, then
    /// upstream's new ones. Where local left the order alone, upstream's is taken.
    pub fn list(
        &mut self,
        node: &mut NodeMut<'_>,
        sides: Triple<'_>,
        list: &List,
        cursor: Cursor<'_>,
    ) -> Result<(), Error> {
        let (originals, upstreams) = (items(sides.original, list), items(sides.upstream, list));
        let locals: Vec<NodeRef<'_>> = sides.local.into_iter().flat_map(NodeRef::items).collect();
        let before = keys(sides.local, list);
        let mut now: Vec<Key> = Vec::with_capacity(before.len());
        for (key, item) in before.iter().zip(&locals) {
            let triple = Triple {
                original: originals.get(key).copied(),
                upstream: upstreams.get(key).copied(),
                local: Some(*item),
            };
            if self.item(node, now.len(), key, triple, (list, cursor))? == There::Yes {
                now.push(key.clone());
            }
        }
        let known: HashSet<&Key> = before.iter().collect();
        let theirs = keys(sides.upstream, list);
        for key in theirs.iter().filter(|key| !known.contains(key)) {
            let (original, upstream) = (originals.get(key).copied(), upstreams.get(key).copied());
            let triple = Triple { original, upstream, local: None };
            if self.item(node, now.len(), key, triple, (list, cursor))? == There::Yes {
                now.push(key.clone());
            }
        }
        if before == keys(sides.original, list) {
            let order = order(&now, &theirs);
            if !order.is_sorted() {
                let reordered = node.reorder(&order);
                self.did(reordered)?;
            }
        }
        Ok(())
    }

    /// Merges one item, which stands at an index, or comes there when local does not have it.
    fn item(
        &mut self,
        parent: &mut NodeMut<'_>,
        at: usize,
        key: &Key,
        triple: Triple<'_>,
        (list, cursor): (&List, Cursor<'_>),
    ) -> Result<There, Error> {
        let Triple { original, upstream, local } = triple;
        if exact(original, upstream) {
            return Ok(if local.is_some() { There::Yes } else { There::No });
        }
        let scalar = key.first().is_some_and(|(name, _)| name.is_empty());
        let parts = key.iter().map(|(name, value)| format!("{name}={value:?}")).collect::<Vec<_>>();
        self.trail.push(format!("[{}]", parts.join(",")));
        self.segments.extend(
            key.first()
                .filter(|_| !scalar)
                .map(|(name, value)| Segment::Match { key: name.clone(), value: value.clone() }),
        );
        let depth = self.segments.len();
        let outcome = self.outcome(triple, Slot::Item, &List::Atomic)?;
        let kept = matches!(outcome, Outcome::Keep | Outcome::Mapping);
        let there = self.apply_item(parent, at, triple, outcome, cursor)?;
        if there == There::Yes && self.judge.has_pins() {
            let name = parent.read().at(at).and_then(|item| key_of(item, list));
            if name.as_ref() != Some(key) {
                return Err(Error::OtherKey(ConflictId::new(self.id())));
            }
        }
        if let (There::Yes, Some(local), Some(upstream)) = (there, local, upstream) {
            let (was, had) = (original.map(comments::of_item).unwrap_or_default(), comments::of_item(local));
            let wanted = self.wanted_comments(was, comments::of_item(upstream), had.clone());
            if !kept || had != wanted {
                let item = parent.reborrow().at_mut(at);
                let mut item = self.did(item)?;
                self.set_item_comments(&mut item, &wanted)?;
            }
        }
        debug_assert_eq!(depth, self.segments.len(), "each level takes its segments off again");
        self.trail.pop();
        if !scalar {
            self.segments.pop();
        }
        Ok(there)
    }

    /// Does what was decided; tells whether the item is there afterwards.
    fn apply_item(
        &mut self,
        parent: &mut NodeMut<'_>,
        at: usize,
        triple: Triple<'_>,
        outcome: Outcome,
        cursor: Cursor<'_>,
    ) -> Result<There, Error> {
        let there = if triple.local.is_some() { There::Yes } else { There::No };
        Ok(match (outcome, there) {
            (Outcome::Keep | Outcome::List, there) => there,
            (Outcome::Remove | Outcome::Mapping, There::No) => There::No,
            (Outcome::Remove, There::Yes) => {
                let removed = parent.remove_item(at);
                self.did(removed)?;
                There::No
            }
            (Outcome::Put { content, .. }, There::No) => {
                let pushed = parent.push(content);
                self.did(pushed)?;
                There::Yes
            }
            (Outcome::Put { content, style }, There::Yes) => {
                let put = parent.reborrow().at_mut(at).and_then(|mut node| put(&mut node, content, style));
                self.did(put)?;
                There::Yes
            }
            (Outcome::Mapping, There::Yes) => {
                let node = parent.reborrow().at_mut(at);
                let mut node = self.did(node)?;
                self.mapping(&mut node, triple, cursor)?;
                There::Yes
            }
        })
    }
}

fn items<'a>(node: Option<NodeRef<'a>>, list: &List) -> HashMap<Key, NodeRef<'a>> {
    let items = node.into_iter().flat_map(NodeRef::items);
    items.filter_map(|item| Some((key_of(item, list)?, item))).collect()
}

fn keys(node: Option<NodeRef<'_>>, list: &List) -> Vec<Key> {
    node.into_iter().flat_map(NodeRef::items).filter_map(|item| key_of(item, list)).collect()
}

/// The order in which items with the keys `have` follow those in `wanted`; others come last.
fn order(have: &[Key], wanted: &[Key]) -> Vec<usize> {
    let places: HashMap<&Key, usize> = wanted.iter().enumerate().map(|(at, key)| (key, at)).collect();
    let mut order: Vec<usize> = (0..have.len()).collect();
    order.sort_by_key(|at| (places.get(&have[*at]).copied().unwrap_or(usize::MAX), *at));
    order
}
