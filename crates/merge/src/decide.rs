//! What becomes of one node: the table of `docs/upgrades.md`.

use std::collections::{BTreeSet, HashSet};

use lanai_yaml::path::Segment;
use lanai_yaml::{Content, Document, Kind, NodeRef, Style};

use crate::comments;
use crate::compare::{exact, same, same_comments_inside};
use crate::conflict::{ConflictId, ConflictKind, Side};
use crate::error::Error;
use crate::fields::{Fields, Outcome, Own, Slot, Triple, both, is_fields, is_kind, text_of};
use crate::judge::{Rule, Values};
use crate::keys::{Known, List};
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

impl<'o> Fields<'_, 'o> {
    /// Decides about one node; records a conflict where there is one.
    pub fn outcome(
        &mut self,
        triple: Triple<'_>,
        slot: Slot<'_>,
        known: Known<'_>,
    ) -> Result<Outcome, Error> {
        // What is gone here may have got another comment upstream.
        if triple.local.is_some() && exact(triple.original, triple.upstream) {
            return Ok(Outcome::Keep);
        }
        let natural = self.natural(triple, slot, known);
        let pinned = self.pinned();
        let mut decide = |kind, rule| {
            let values = values(triple, slot);
            let case = self.case_of(self.id(), kind, values);
            self.judge.decide(case, rule)
        };
        let take = match (natural, pinned) {
            (Natural::Conflict(kind, rule), _) => decide(kind, rule),
            (Natural::Remains, _) => {
                match (decide(ConflictKind::RemovedUpstreamChangedLocally, Rule::Policy), pinned) {
                    (Take::Upstream, None) => return Ok(Outcome::Remains),
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

    /// What a resolution says about the node that is merged now.
    pub fn pinned(&self) -> Option<&'o Take> {
        if self.judge.has_pins() { self.judge.pinned(&self.id()) } else { None }
    }

    fn natural(&self, triple: Triple<'_>, slot: Slot<'_>, known: Known<'_>) -> Natural {
        let Triple { original, upstream, local } = triple;
        let list = known.list;
        let shallow = self.segments.len() < MAX_DEPTH && !self.is_one_value();
        if shallow && both(upstream, local, is_fields) && !mixes_variants(triple, known) {
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
        let is_open = shallow && slot.is_field() && !known.below.has_variants();
        let parts = is_open && upstream.is_none() && both(original, local, is_fields);
        if parts && self.judge.has_pins() && self.judge.has_pins_below(&self.id()) {
            return Natural::Mapping;
        }
        if same(original, upstream) || same(original, local) || same(upstream, local) {
            return removed_but_noted(triple, slot).unwrap_or_else(|| one_changed(triple));
        }
        if parts {
            let adds = local.is_some_and(|local| has_own_keys(original, local))
                || comments::differ(
                    &slot.comments(Side::Original, original),
                    &slot.comments(Side::Local, local),
                );
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

/// Whether merging key by key could give a mapping the keys of two variants, of which it can have one.
fn mixes_variants(triple: Triple<'_>, known: Known<'_>) -> bool {
    let keys = |node: Option<NodeRef<'_>>| -> BTreeSet<String> {
        let entries = node.into_iter().flat_map(NodeRef::entries);
        entries.map(|(key, _)| key.target().value().into_owned()).collect()
    };
    known.below.has_variants() && keys(triple.upstream) != keys(triple.local)
}

/// A value that one side removed and the other side gave another comment, at it or in it: that is a change.
fn removed_but_noted(triple: Triple<'_>, slot: Slot<'_>) -> Option<Natural> {
    let original = triple.original?;
    let (side, other, kind) = match (triple.upstream, triple.local) {
        (None, Some(local)) => (Side::Local, local, ConflictKind::RemovedUpstreamChangedLocally),
        (Some(upstream), None) => (Side::Upstream, upstream, ConflictKind::RemovedLocallyChangedUpstream),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let is_noted = || {
        let before = slot.comments(Side::Original, Some(original));
        comments::differ(&before, &slot.comments(side, Some(other))) || !same_comments_inside(original, other)
    };
    let noted = same(Some(original), Some(other)) && is_noted();
    noted.then_some(Natural::Conflict(kind, Rule::Policy))
}

/// What a conflict shows; with the comments around where they are what was changed.
fn values(triple: Triple<'_>, slot: Slot<'_>) -> Values {
    let Triple { original, upstream, local } = triple;
    let shown = Values {
        original: original.map(text_of),
        upstream: upstream.map(text_of),
        local: local.map(text_of),
    };
    let one_is_gone = shown.upstream.is_none() || shown.local.is_none();
    if !one_is_gone || shown.original != shown.upstream && shown.original != shown.local {
        return shown;
    }
    let noted = |side, node: Option<NodeRef<'_>>, text: Option<String>| {
        text.map(|text| comments::around(&text, &slot.comments(side, node)))
    };
    Values {
        original: noted(Side::Original, original, shown.original),
        upstream: noted(Side::Upstream, upstream, shown.upstream),
        local: noted(Side::Local, local, shown.local),
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
