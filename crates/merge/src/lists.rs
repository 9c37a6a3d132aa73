//! Lists that merge by key.

use std::collections::{HashMap, HashSet};

use lanai_yaml::path::Segment;
use lanai_yaml::{NodeMut, NodeRef};

use crate::compare::exact;
use crate::conflict::ConflictId;
use crate::error::Error;
use crate::fields::{Fields, Outcome, Slot, Triple, put};
use crate::keys::{Cursor, List, key_of};

type Key = Vec<(String, String)>;

/// Whether each item of a list has a key of its own.
pub(crate) fn is_keyed(node: NodeRef<'_>, list: &List) -> bool {
    let mut seen = HashSet::new();
    node.items().all(|item| key_of(item, list).is_some_and(|key| seen.insert(key)))
}

impl Fields<'_, '_> {
    /// Merges the items of a list: the local ones in their order, then upstream's new ones. Where local left the order
    /// alone, upstream's is taken.
    pub fn list(
        &mut self,
        local: &mut NodeMut<'_>,
        original: Option<NodeRef<'_>>,
        upstream: Option<NodeRef<'_>>,
        list: &List,
        cursor: Cursor<'_>,
    ) -> Result<(), Error> {
        let (originals, upstreams) = (items(original, list), items(upstream, list));
        let before = keys(Some(local.read()), list);
        let mut at = 0;
        for key in &before {
            let pair = [originals.get(key).copied(), upstreams.get(key).copied()];
            if self.item(local, Some(at), key, pair, (list, cursor))? {
                at += 1;
            }
        }
        let known: HashSet<&Key> = before.iter().collect();
        for key in keys(upstream, list) {
            if !known.contains(&key) {
                let pair = [originals.get(&key).copied(), upstreams.get(&key).copied()];
                self.item(local, None, &key, pair, (list, cursor))?;
            }
        }
        if before == keys(original, list) {
            let order = order(&keys(Some(local.read()), list), &keys(upstream, list));
            if !order.is_sorted() {
                let reordered = local.reorder(&order);
                self.did(reordered)?;
            }
        }
        Ok(())
    }

    /// Merges one item, which stands at an index or is not there; tells whether it is there afterwards.
    fn item(
        &mut self,
        parent: &mut NodeMut<'_>,
        at: Option<usize>,
        key: &Key,
        [original, upstream]: [Option<NodeRef<'_>>; 2],
        (list, cursor): (&List, Cursor<'_>),
    ) -> Result<bool, Error> {
        if exact(original, upstream) {
            return Ok(at.is_some());
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
        let local = at.and_then(|at| parent.read().at(at));
        let outcome = self.outcome(Triple { original, upstream, local }, Slot::Item, &List::Atomic)?;
        let there = match (outcome, at) {
            (Outcome::Keep | Outcome::List, at) => at.is_some(),
            (Outcome::Remove | Outcome::Mapping, None) => false,
            (Outcome::Remove, Some(at)) => {
                let removed = parent.remove_item(at);
                self.did(removed)?;
                false
            }
            (Outcome::Put { content, .. }, None) => {
                let pushed = parent.push(content);
                self.did(pushed)?;
                true
            }
            (Outcome::Put { content, style }, Some(at)) => {
                let put = parent.reborrow().at_mut(at).and_then(|mut node| put(&mut node, content, style));
                self.did(put)?;
                true
            }
            (Outcome::Mapping, Some(at)) => {
                let node = parent.reborrow().at_mut(at);
                let mut node = self.did(node)?;
                self.mapping(&mut node, original, upstream, cursor)?;
                true
            }
        };
        let place = at.or_else(|| parent.read().len().checked_sub(1)).filter(|_| there);
        if place
            .is_some_and(|at| parent.read().at(at).and_then(|item| key_of(item, list)).as_ref() != Some(key))
        {
            return Err(Error::OtherKey(ConflictId::new(self.id())));
        }
        debug_assert_eq!(depth, self.segments.len(), "each level takes its segments off again");
        self.trail.pop();
        if !scalar {
            self.segments.pop();
        }
        Ok(there)
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
