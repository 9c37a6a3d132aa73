//! Lists that merge by key.

use std::collections::{HashMap, HashSet};

use lanai_yaml::path::Segment;
use lanai_yaml::{NodeMut, NodeRef};

use crate::comments::{self, Comments, Noted};
use crate::compare::{exact, same};
use crate::conflict::{ConflictId, ConflictKind};
use crate::error::Error;
use crate::fields::{Fields, Outcome, Slot, There, Triple, put};
use crate::judge::{Rule, Values};
use crate::keyring::{Key, Keyring};
use crate::keys::{Cursor, KeyPart, List, key_of};
use crate::names::{Aspect, aspect};
use crate::options::Take;

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
        let ring = Keyring::new(list, [sides.original, sides.upstream, sides.local]);
        let (originals, upstreams) = (ring.items(sides.original), ring.items(sides.upstream));
        let locals: Vec<NodeRef<'_>> = sides.local.into_iter().flat_map(NodeRef::items).collect();
        let before = ring.keys(sides.local);
        let mut now: Vec<Key> = Vec::with_capacity(before.len());
        // Items go when the new ones are there: the comments of the last one would wait for the next in an empty list.
        let mut gone: Vec<usize> = Vec::new();
        for (at, (key, item)) in before.iter().zip(&locals).enumerate() {
            let triple = Triple {
                original: originals.get(key).copied(),
                upstream: upstreams.get(key).copied(),
                local: Some(*item),
            };
            match self.item(node, at, key, triple, &ring, cursor)? {
                There::Yes => now.push(key.clone()),
                There::No => gone.push(at),
            }
        }
        let known: HashSet<&Key> = before.iter().collect();
        let theirs = ring.keys(sides.upstream);
        for key in theirs.iter().filter(|key| !known.contains(key)) {
            let (original, upstream) = (originals.get(key).copied(), upstreams.get(key).copied());
            let triple = Triple { original, upstream, local: None };
            if self.item(node, now.len() + gone.len(), key, triple, &ring, cursor)? == There::Yes {
                now.push(key.clone());
            }
        }
        for at in gone.into_iter().rev() {
            let removed = node.remove_item(at);
            self.did(removed)?;
        }
        let order = self.order([&ring.keys(sides.original), &theirs, &before], &now)?;
        if !order.is_sorted() {
            let reordered = node.reorder(&order);
            self.did(reordered)?;
        }
        Ok(())
    }

    /// The order of the merged items, by their places in `now`. Of the items that all sides have, the order that one side
    /// changed is taken; items of local's own keep their places. Records a conflict where both changed it.
    fn order(&mut self, sides: [&[Key]; 3], now: &[Key]) -> Result<Vec<usize>, Error> {
        let [was, theirs, before] = sides;
        let on_all: HashSet<&Key> = {
            let (was, theirs): (HashSet<_>, HashSet<_>) = (was.iter().collect(), theirs.iter().collect());
            before.iter().filter(|key| was.contains(key) && theirs.contains(key)).collect()
        };
        let shared =
            |keys: &[Key]| keys.iter().filter(|key| on_all.contains(key)).cloned().collect::<Vec<_>>();
        let [was_shared, theirs_shared, ours_shared] = [shared(was), shared(theirs), shared(before)];
        let id = aspect(&self.id(), Aspect::Order);
        let pinned = self.judge.pinned(&id).cloned();
        let apart = theirs_shared != was_shared && ours_shared != was_shared && theirs_shared != ours_shared;
        let take = if apart {
            let [original, upstream, local] =
                [&was_shared, &theirs_shared, &ours_shared].map(|keys| Some(shown(keys)));
            let case =
                self.case_of(id.clone(), ConflictKind::OrdersDiffer, Values { original, upstream, local });
            self.judge.decide(case, Rule::Policy)
        } else if let Some(take) = pinned {
            take
        } else if before == was {
            // New items stand where upstream has them.
            return Ok(order(now, theirs));
        } else if ours_shared == was_shared {
            Take::Upstream
        } else {
            Take::Local
        };
        Ok(match take {
            Take::Upstream => slots(now, &theirs_shared),
            Take::Original => slots(now, &was_shared),
            Take::Local => (0..now.len()).collect(),
            Take::Value(_) => return Err(Error::OtherKey(ConflictId::new(id))),
        })
    }

    /// Merges one item, which stands at an index, or comes there when local does not have it.
    fn item(
        &mut self,
        parent: &mut NodeMut<'_>,
        at: usize,
        key: &Key,
        triple: Triple<'_>,
        ring: &Keyring<'_>,
        cursor: Cursor<'_>,
    ) -> Result<There, Error> {
        let Triple { original, upstream, local } = triple;
        if exact(original, upstream) {
            return Ok(if local.is_some() { There::Yes } else { There::No });
        }
        let scalar = key.first().is_some_and(|part| part.name.is_empty());
        let parts = key.iter().map(|KeyPart { name, value }| format!("{name}={value:?}")).collect::<Vec<_>>();
        self.trail.push(format!("[{}]", parts.join(",")));
        let outside = self.segments.len();
        let names = key.iter().filter(|_| !scalar);
        let segment = |part: &KeyPart| Segment::Match { key: part.name.clone(), value: part.value.clone() };
        self.segments.extend(names.map(segment));
        let depth = self.segments.len();
        let outcome = self.outcome(triple, Slot::Item, cursor.here())?;
        let kept = matches!(outcome, Outcome::Keep | Outcome::Mapping | Outcome::Remains);
        let there = self.apply_item(parent, at, triple, outcome, cursor)?;
        if there == There::Yes && self.judge.has_pins() {
            let name = parent.read().at(at).and_then(|item| ring.key(item));
            if name.as_ref() != Some(key) {
                return Err(Error::OtherKey(ConflictId::new(self.id())));
            }
        }
        if let (There::Yes, Some(local), Some(upstream)) = (there, local, upstream) {
            let noted = Noted {
                original: original.map(comments::of_item).unwrap_or_default(),
                upstream: comments::of_item(upstream),
                local: comments::of_item(local),
            };
            let wanted = self.wanted_comments(&noted);
            if !kept || noted.local != wanted {
                let item = parent.reborrow().at_mut(at);
                let mut item = self.did(item)?;
                self.set_item_comments(&mut item, &wanted, &noted)?;
            }
        }
        if let (There::Yes, Some(local), None, Some(original)) = (there, local, upstream, original)
            && self.pinned() == Some(&Take::Original)
        {
            let item = parent.reborrow().at_mut(at);
            let mut item = self.did(item)?;
            let noted = Noted {
                original: comments::of_item(original),
                upstream: Comments::default(),
                local: comments::of_item(local),
            };
            self.set_item_comments(&mut item, &noted.original, &noted)?;
        }
        debug_assert_eq!(depth, self.segments.len(), "each level takes its segments off again");
        self.trail.pop();
        self.segments.truncate(outside);
        Ok(there)
    }

    /// Does what was decided; tells whether the item is there afterwards. One that is not is removed by the caller.
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
            (Outcome::Remove, _) | (Outcome::Mapping | Outcome::Remains, There::No) => There::No,
            (Outcome::Put { content, .. }, There::No) => {
                let pushed = parent.push(content);
                self.did(pushed)?;
                self.note_pushed(triple.upstream, parent.read().at(at))?;
                There::Yes
            }
            (Outcome::Put { content, style }, There::Yes) => {
                let put = parent.reborrow().at_mut(at).and_then(|mut node| put(&mut node, content, style));
                self.did(put)?;
                self.note_put(triple.upstream, parent.read().at(at))?;
                There::Yes
            }
            (Outcome::Mapping | Outcome::Remains, There::Yes) => {
                let node = parent.reborrow().at_mut(at);
                let mut node = self.did(node)?;
                self.mapping(&mut node, triple, cursor)?;
                There::Yes
            }
        })
    }
}

impl Fields<'_, '_> {
    /// Tells of comments at and in a new item of upstream's that could not come with it.
    fn note_pushed(&mut self, upstream: Option<NodeRef<'_>>, now: Option<NodeRef<'_>>) -> Result<(), Error> {
        if let (Some(upstream), Some(now)) = (upstream, now)
            && same(Some(upstream), Some(now))
        {
            self.note_lost(&comments::of_item(upstream), &comments::of_item(now))?;
            self.note_lost_inside(upstream, now)?;
        }
        Ok(())
    }
}

/// Keys as a conflict shows them.
fn shown(keys: &[Key]) -> String {
    let parts = |key: &Key| key.iter().map(|part| part.value.as_str()).collect::<Vec<_>>().join("/");
    format!("[{}]", keys.iter().map(parts).collect::<Vec<_>>().join(", "))
}

/// The order in which the `wanted` items of those that there are follow each other, on the places that they have; all
/// others stay where they are.
fn slots(have: &[Key], wanted: &[Key]) -> Vec<usize> {
    let places: HashMap<&Key, usize> = have.iter().enumerate().map(|(at, key)| (key, at)).collect();
    let mut next = wanted.iter().filter_map(|key| places.get(key).copied());
    let moved: HashSet<&Key> = wanted.iter().collect();
    let place = |(at, key): (usize, &Key)| if moved.contains(key) { next.next().unwrap_or(at) } else { at };
    have.iter().enumerate().map(place).collect()
}

/// The order in which items with the keys `have` follow those in `wanted`; others come last.
fn order(have: &[Key], wanted: &[Key]) -> Vec<usize> {
    let places: HashMap<&Key, usize> = wanted.iter().enumerate().map(|(at, key)| (key, at)).collect();
    let mut order: Vec<usize> = (0..have.len()).collect();
    order.sort_by_key(|at| (places.get(&have[*at]).copied().unwrap_or(usize::MAX), *at));
    order
}
