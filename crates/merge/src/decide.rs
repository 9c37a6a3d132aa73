//! What becomes of one node: the table of `docs/upgrades.md`.

use std::collections::HashSet;

use lanai_yaml::path::Segment;
use lanai_yaml::{Content, Document, Kind, NodeRef, Style};

use crate::compare::{exact, same, same_comments_inside};
use crate::conflict::{ConflictId, ConflictKind};
use crate::error::Error;
use crate::fields::{Fields, Outcome, Own, Slot, Triple, both, is_fields, is_kind, text_of};
use crate::judge::{Rule, Values};
use crate::keys::List;
use crate::options::Take;

/// How deep fields are merged one by one; what is deeper merges as a whole.
const MAX_DEPTH: usize = 100;

/// What becomes of a node when no resolution is about it.
enum Natural {
    Keep,
    Upstream,
    Mapping,
    List,
    /// A mapping that upstream removed, and in which local has keys of its own. These stay where upstream wins.
    Remains,
    Conflict(ConflictKind, Rule),
}

impl Fields<'_, '_> {
    /// Decides about one node; records a conflict where there is one.
    pub fn outcome(&mut self, triple: Triple<'_>, slot: Slot, list: &List) -> Result<Outcome, Error> {
        if exact(triple.original, triple.upstream) {
            return Ok(Outcome::Keep);
        }
        let natural = self.natural(triple, slot, list);
        let pinned = if self.judge.has_pins() { self.judge.pinned(&self.id()) } else { None };
        let mut decide = |kind, rule| {
            let values = Values {
                original: triple.original.map(text_of),
                upstream: triple.upstream.map(text_of),
                local: triple.local.map(text_of),
            };
            let case = self.case_of(self.id(), kind, values);
            self.judge.decide(case, rule)
        };
        let take = match (natural, pinned) {
            (Natural::Conflict(kind, rule), _) => decide(kind, rule),
            (Natural::Remains, _) => {
                match (decide(ConflictKind::RemovedUpstreamChangedLocally, Rule::Policy), pinned) {
                    (Take::Upstream, None) => return Ok(Outcome::Mapping),
                    (take, _) => take,
                }
            }
            (_, Some(take)) => take.clone(),
            (Natural::Keep, None) => Take::Local,
            (Natural::Upstream, None) => Take::Upstream,
            (Natural::Mapping, None) => return Ok(Outcome::Mapping),
            (Natural::List, None) => return Ok(Outcome::List),
        };
        let of = |node: Option<NodeRef<'_>>| match node {
            Some(node) if exact(Some(node), triple.local) => Outcome::Keep,
            Some(node) => Outcome::Put { content: Content::from(node), style: style(triple, node) },
            None if triple.local.is_none() => Outcome::Keep,
            None => Outcome::Remove,
        };
        Ok(match take {
            Take::Local => Outcome::Keep,
            Take::Upstream => of(triple.upstream),
            Take::Original => of(triple.original),
            Take::Value(text) => {
                let bad =
                    |cause| Error::BadValue { conflict: ConflictId::new(self.id()), cause: Box::new(cause) };
                let value = Document::parse(text).map_err(bad)?;
                if exact(Some(value.root()), triple.local) {
                    return Ok(Outcome::Keep);
                }
                Outcome::Put { content: Content::from(value), style: None }
            }
        })
    }

    fn natural(&self, triple: Triple<'_>, slot: Slot, list: &List) -> Natural {
        let Triple { original, upstream, local } = triple;
        let shallow = self.segments.len() < MAX_DEPTH && !self.is_one_value();
        if shallow && both(upstream, local, is_fields) {
            return Natural::Mapping;
        }
        if shallow && *list != List::Atomic && both(upstream, local, |node| is_kind(node, Kind::Sequence)) {
            let sides = [original, upstream, local].into_iter().flatten();
            let keyed = sides.filter(|node| is_kind(*node, Kind::Sequence));
            if keyed.into_iter().all(|node| crate::lists::is_keyed(node, list)) {
                return Natural::List;
            }
        }
        // What upstream removed as a whole, and a resolution wants a part of.
        let parts = slot == Slot::Field && upstream.is_none() && shallow && both(original, local, is_fields);
        if parts && self.judge.has_pins() && self.judge.has_pins_below(&self.id()) {
            return Natural::Mapping;
        }
        if same(original, upstream) || same(original, local) || same(upstream, local) {
            return one_changed(triple);
        }
        if parts {
            let adds = local.is_some_and(|local| has_own_keys(original, local));
            return if adds { Natural::Remains } else { Natural::Mapping };
        }
        let kinds = |node: Option<NodeRef<'_>>| node.map(|node| node.target().kind());
        let kind = match (original, upstream, local) {
            (_, None, _) => ConflictKind::RemovedUpstreamChangedLocally,
            (_, _, None) => ConflictKind::RemovedLocallyChangedUpstream,
            _ if kinds(upstream) != kinds(local) => ConflictKind::KindsDiffer,
            (None, _, _) => ConflictKind::AddedOnBoth,
            (Some(_), _, _) => ConflictKind::BothChanged,
        };
        Natural::Conflict(kind, Rule::Policy)
    }

    /// Whether the field is one value, though it is a mapping.
    fn is_one_value(&self) -> bool {
        let is_source = |segment: &Segment| matches!(segment, Segment::Key(name) if ["upstream", "upstreamLock"].contains(&&**name));
        let nested = match self.scope.own {
            Own::Nothing | Own::Kptfile => false,
            Own::NestedKptfile | Own::Reference => true,
        };
        nested && matches!(&self.segments[..], [only] if is_source(only))
    }
}

/// Decides about a value that at most one side changed. Comments inside of a list that is one value are a part of it: where
/// one side replaced the list, comments that the other side changed in it are lost, and that is a conflict.
fn one_changed(Triple { original, upstream, local }: Triple<'_>) -> Natural {
    let changed = |side: Option<NodeRef<'_>>| match (original, side) {
        (Some(original), Some(side)) => {
            same(Some(original), Some(side)) && !same_comments_inside(original, side)
        }
        (Some(_) | None, None) | (None, Some(_)) => false,
    };
    let conflict = |rule| Natural::Conflict(ConflictKind::CommentsDiffer, rule);
    let both_differ = inside_differs(upstream, local);
    match (same(original, upstream), same(original, local)) {
        (true, true) if exact(original, local) => Natural::Upstream,
        (true, true) => match (changed(upstream), changed(local)) {
            (true, false) => Natural::Upstream,
            (true, true) if both_differ => conflict(Rule::Policy),
            (true | false, true) | (false, false) => Natural::Keep,
        },
        (true, false) if changed(upstream) && local.is_some() => conflict(Rule::Local),
        (false, true) if changed(local) && upstream.is_some() => conflict(Rule::Upstream),
        (false, true) => Natural::Upstream,
        (false, false) if both_differ => conflict(Rule::Policy),
        (true | false, false) => Natural::Keep,
    }
}

/// Whether a mapping has keys that were not there before.
fn has_own_keys(original: Option<NodeRef<'_>>, local: NodeRef<'_>) -> bool {
    let known: HashSet<_> =
        original.into_iter().flat_map(NodeRef::entries).map(|(key, _)| key.target().value()).collect();
    local.entries().any(|(key, _)| !known.contains(&key.target().value()))
}

fn inside_differs(left: Option<NodeRef<'_>>, right: Option<NodeRef<'_>>) -> bool {
    left.zip(right).is_some_and(|(left, right)| !same_comments_inside(left, right))
}

/// The style of a scalar that replaces one whose style local left alone.
fn style(triple: Triple<'_>, node: NodeRef<'_>) -> Option<Style> {
    let scalar =
        |node: Option<NodeRef<'_>>| node.filter(|node| node.kind() == Kind::Scalar).map(NodeRef::style);
    let (original, local) = (scalar(triple.original)?, scalar(triple.local)?);
    scalar(Some(node.target())).filter(|_| original == local && node.tag().is_none())
}
