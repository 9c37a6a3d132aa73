//! The fields of a document, merged into the local one.

use std::collections::{HashMap, HashSet};

use lanai_types::SafePath;
use lanai_yaml::path::Segment;
use lanai_yaml::{CommentPlace, Content, Document, Kind, NodeMut, NodeRef, Style, edit};

use crate::compare::{exact, same};
use crate::conflict::{ConflictId, ConflictKind, Subject};
use crate::error::Error;
use crate::judge::{Case, Judge, Values};
use crate::keys::{Cursor, List};
use crate::options::Take;

/// How deep fields are merged one by one; what is deeper merges as a whole.
const MAX_DEPTH: usize = 100;

/// What a document is called, and which of its fields are local's alone.
pub(crate) struct Scope {
    /// What the names of its conflicts begin with.
    pub id: String,
    pub path: SafePath,
    pub subject: Subject,
    pub own: Own,
}

/// The fields that are not taken from upstream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// None.
    Nothing,
    /// Those of a Kptfile: name, upstream and upstream lock.
    Kptfile,
}

/// A node on each side.
#[derive(Clone, Copy)]
pub(crate) struct Triple<'a> {
    pub original: Option<NodeRef<'a>>,
    pub upstream: Option<NodeRef<'a>>,
    pub local: Option<NodeRef<'a>>,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slot {
    Field,
    Item,
}

/// What becomes of the local node.
pub(crate) enum Outcome {
    Keep,
    Remove,
    Put {
        content: Content,
        style: Option<Style>,
    },
    /// The keys are merged one by one; of a mapping that upstream removed, what is only local's stays.
    Mapping,
    List,
}

enum Natural {
    Keep,
    Upstream,
    Mapping,
    List,
    Conflict(ConflictKind),
}

/// A merge of one document.
pub(crate) struct Fields<'a, 'o> {
    judge: &'a mut Judge<'o>,
    scope: &'a Scope,
    pub segments: Vec<Segment>,
    /// The segments as the names of conflicts spell them.
    pub trail: Vec<String>,
}

impl<'a, 'o> Fields<'a, 'o> {
    pub fn new(judge: &'a mut Judge<'o>, scope: &'a Scope) -> Self {
        Self { judge, scope, segments: Vec::new(), trail: Vec::new() }
    }

    /// Merges upstream's changes into the local document.
    ///
    /// # Errors
    /// A resolution that cannot be read, and edits that are refused; the document may be half edited then.
    pub fn document(
        mut self,
        original: Option<&Document>,
        upstream: &Document,
        local: &mut Document,
        cursor: Cursor<'_>,
    ) -> Result<(), Error> {
        let (original, upstream) = (original.map(Document::root), Some(upstream.root()));
        let triple = Triple { original, upstream, local: Some(local.root()) };
        match self.outcome(triple, Slot::Field, &List::Atomic)? {
            Outcome::Keep | Outcome::List => Ok(()),
            Outcome::Remove => self.did(local.root_mut().set(Content::null())),
            Outcome::Put { content, style } => {
                let set = put(&mut local.root_mut(), content, style);
                self.did(set)
            }
            Outcome::Mapping => self.mapping(&mut local.root_mut(), original, upstream, cursor),
        }
    }

    /// Decides about one node; records a conflict where there is one.
    pub fn outcome(&mut self, triple: Triple<'_>, slot: Slot, list: &List) -> Result<Outcome, Error> {
        if exact(triple.original, triple.upstream) {
            return Ok(Outcome::Keep);
        }
        let natural = self.natural(triple, slot, list);
        let id = self.id();
        let take = match natural {
            Natural::Conflict(kind) => {
                let case = self.case(id.clone(), kind, triple);
                self.judge.by_policy(case)
            }
            natural => match (self.judge.pinned(&id), natural) {
                (Some(take), _) => take.clone(),
                (None, Natural::Keep | Natural::Conflict(_)) => Take::Local,
                (None, Natural::Upstream) => Take::Upstream,
                (None, Natural::Mapping) => return Ok(Outcome::Mapping),
                (None, Natural::List) => return Ok(Outcome::List),
            },
        };
        let of = |node: Option<NodeRef<'_>>| match node {
            Some(node) => Outcome::Put { content: Content::from(node), style: style(triple, node) },
            None => Outcome::Remove,
        };
        Ok(match take {
            Take::Local => Outcome::Keep,
            Take::Upstream => of(triple.upstream),
            Take::Original => of(triple.original),
            Take::Value(text) => {
                let bad = |cause| Error::BadValue {
                    conflict: ConflictId::new(id.as_str()),
                    cause: Box::new(cause),
                };
                Outcome::Put { content: Content::parse(&text).map_err(bad)?, style: None }
            }
        })
    }

    fn natural(&self, triple: Triple<'_>, slot: Slot, list: &List) -> Natural {
        let Triple { original, upstream, local } = triple;
        let shallow = self.segments.len() < MAX_DEPTH;
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
        if same(original, upstream) || same(upstream, local) {
            return if exact(original, local) { Natural::Upstream } else { Natural::Keep };
        }
        if same(original, local) {
            return Natural::Upstream;
        }
        if slot == Slot::Field && upstream.is_none() && shallow && both(original, local, is_fields) {
            return Natural::Mapping;
        }
        let kinds = |node: Option<NodeRef<'_>>| node.map(|node| node.target().kind());
        Natural::Conflict(match (original, upstream, local) {
            (_, None, _) => ConflictKind::RemovedUpstreamChangedLocally,
            (_, _, None) => ConflictKind::RemovedLocallyChangedUpstream,
            _ if kinds(upstream) != kinds(local) => ConflictKind::KindsDiffer,
            (None, _, _) => ConflictKind::AddedOnBoth,
            (Some(_), _, _) => ConflictKind::BothChanged,
        })
    }

    /// Merges the entries of a mapping: upstream's in their order, then those that upstream removed.
    pub fn mapping(
        &mut self,
        local: &mut NodeMut<'_>,
        original: Option<NodeRef<'_>>,
        upstream: Option<NodeRef<'_>>,
        cursor: Cursor<'_>,
    ) -> Result<(), Error> {
        let originals = entries(original);
        let mut before = None;
        let mut seen = HashSet::new();
        for (name, value) in upstream.into_iter().flat_map(NodeRef::entries) {
            let key = name.target().value().into_owned();
            let pair = Some((name, value));
            self.entry(local, &key, [originals.get(&key).copied(), pair], before.as_deref(), cursor)?;
            seen.insert(key.clone());
            before = Some(key);
        }
        for (name, _) in original.into_iter().filter(|node| is_fields(*node)).flat_map(NodeRef::entries) {
            let key = name.target().value().into_owned();
            if !seen.contains(&key) {
                self.entry(local, &key, [originals.get(&key).copied(), None], None, cursor)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        parent: &mut NodeMut<'_>,
        key: &str,
        [original, upstream]: [Option<Pair<'_>>; 2],
        before: Option<&str>,
        cursor: Cursor<'_>,
    ) -> Result<(), Error> {
        let unchanged = exact(original.map(|(_, value)| value), upstream.map(|(_, value)| value));
        if unchanged && comments(original) == comments(upstream) {
            return Ok(());
        }
        self.segments.push(Segment::Key(key.into()));
        self.trail.push(trail_of(key));
        if !self.is_own() {
            let (list, below) = cursor.field(key);
            let local = parent.read().own_entry(key);
            let had = comments(local);
            let triple = Triple {
                original: original.map(|pair| pair.1),
                upstream: upstream.map(|pair| pair.1),
                local: local.map(|pair| pair.1),
            };
            let outcome = self.outcome(triple, Slot::Field, list)?;
            self.apply(parent, key, [original, upstream], outcome, before, (list, below))?;
            let wanted = wanted(comments(original), comments(upstream), had);
            let set = if upstream.is_some() { set_comments(parent, key, &wanted) } else { Ok(()) };
            self.did(set)?;
        }
        self.trail.pop();
        self.segments.pop();
        Ok(())
    }

    fn apply(
        &mut self,
        parent: &mut NodeMut<'_>,
        key: &str,
        [original, upstream]: [Option<Pair<'_>>; 2],
        outcome: Outcome,
        before: Option<&str>,
        (list, below): (&List, Cursor<'_>),
    ) -> Result<(), Error> {
        let (original, upstream) = (original.map(|o| o.1), upstream.map(|u| u.1));
        match outcome {
            Outcome::Keep => Ok(()),
            Outcome::Remove => {
                let removed = parent.remove(key).map(|_| ());
                self.did(removed)
            }
            Outcome::Put { content, style } => {
                let put = if parent.read().own_entry(key).is_some() {
                    parent.reborrow().get_mut(key).and_then(|mut node| put(&mut node, content, style))
                } else {
                    let place = place_behind(parent.read(), before);
                    parent.insert_at(place, key, content)
                };
                self.did(put)
            }
            Outcome::Mapping => {
                let node = parent.reborrow().get_mut(key);
                let mut node = self.did(node)?;
                self.mapping(&mut node, original, upstream, below)?;
                // What upstream removed, and local had nothing of its own in, leaves no stub.
                if upstream.is_none() && node.read().is_empty() {
                    let removed = parent.remove(key).map(|_| ());
                    self.did(removed)?;
                }
                Ok(())
            }
            Outcome::List => {
                let node = parent.reborrow().get_mut(key);
                let mut node = self.did(node)?;
                self.list(&mut node, original, upstream, list, below)
            }
        }
    }

    /// Says in which file an edit was refused.
    pub fn did<T>(&self, result: Result<T, edit::Error>) -> Result<T, Error> {
        result.map_err(|cause| Error::Edit { path: self.scope.path.clone(), cause })
    }

    fn is_own(&self) -> bool {
        let keys: Vec<&str> = self.trail.iter().map(String::as_str).collect();
        self.scope.own == Own::Kptfile
            && matches!(keys[..], [".upstream" | ".upstreamLock"] | [".metadata", ".name"])
    }

    /// What a resolution calls the node that is merged now.
    pub fn id(&self) -> String {
        let trail = self.trail.concat();
        if trail.is_empty() {
            return self.scope.id.clone();
        }
        format!("{}#{}", self.scope.id, trail.strip_prefix('.').unwrap_or(&trail))
    }

    fn case(&self, id: String, kind: ConflictKind, triple: Triple<'_>) -> Case {
        Case {
            id,
            path: self.scope.path.clone(),
            subject: self.scope.subject.clone(),
            field: self.segments.iter().cloned().collect(),
            kind,
            values: Values {
                original: triple.original.map(text_of),
                upstream: triple.upstream.map(text_of),
                local: triple.local.map(text_of),
            },
        }
    }
}

type Pair<'a> = (NodeRef<'a>, NodeRef<'a>);

/// Sets a node; its style follows where one is given.
pub(crate) fn put(node: &mut NodeMut<'_>, content: Content, style: Option<Style>) -> Result<(), edit::Error> {
    node.set(content)?;
    match style {
        Some(style) if node.read().style() != style => node.set_style(style),
        Some(_) | None => Ok(()),
    }
}

/// A node as YAML text, without the comments that stand around it.
pub(crate) fn text_of(node: NodeRef<'_>) -> String {
    let mut document = Document::parse("").expect("an empty text is a document");
    let mut root = document.root_mut();
    let set = root.set(Content::from(node));
    let bare = PLACES.into_iter().try_for_each(|place| root.set_comment(place, ""));
    match set.and(bare) {
        Ok(()) | Err(edit::Error::NoPlaceForComment(_)) => document.to_string().trim_end().to_owned(),
        Err(_) => format!("{node:?}"),
    }
}

/// The style of a scalar that replaces one whose style local left alone.
fn style(triple: Triple<'_>, node: NodeRef<'_>) -> Option<Style> {
    let scalar =
        |node: Option<NodeRef<'_>>| node.filter(|node| node.kind() == Kind::Scalar).map(NodeRef::style);
    let (original, local) = (scalar(triple.original)?, scalar(triple.local)?);
    scalar(Some(node.target())).filter(|_| original == local && node.tag().is_none())
}

fn both(left: Option<NodeRef<'_>>, right: Option<NodeRef<'_>>, is: impl Fn(NodeRef<'_>) -> bool) -> bool {
    left.is_some_and(&is) && right.is_some_and(&is)
}

fn is_kind(node: NodeRef<'_>, kind: Kind) -> bool {
    node.target().kind() == kind
}

/// Whether the node is a mapping whose keys are texts that differ.
fn is_fields(node: NodeRef<'_>) -> bool {
    let mut seen = HashSet::new();
    is_kind(node, Kind::Mapping)
        && node.entries().all(|(key, _)| is_kind(key, Kind::Scalar) && seen.insert(key.target().value()))
}

fn entries(node: Option<NodeRef<'_>>) -> HashMap<String, Pair<'_>> {
    let pairs = node.into_iter().filter(|node| is_fields(*node)).flat_map(NodeRef::entries);
    pairs.map(|(key, value)| (key.target().value().into_owned(), (key, value))).collect()
}

/// The place behind a key; the first where there is none, the last where the key is not there.
fn place_behind(mapping: NodeRef<'_>, before: Option<&str>) -> usize {
    let Some(before) = before else { return 0 };
    let at = mapping.entries().position(|(key, _)| key.target().value() == before);
    at.map_or(usize::MAX, |at| at + 1)
}

fn trail_of(key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    if plain { format!(".{key}") } else { format!("[{key:?}]") }
}

type Comments = [Option<String>; 3];

const PLACES: [CommentPlace; 3] = [CommentPlace::Head, CommentPlace::Line, CommentPlace::Foot];

fn comments(pair: Option<Pair<'_>>) -> Comments {
    let Some((key, value)) = pair else { return Comments::default() };
    [key.head_comment(), value.line_comment().or_else(|| key.line_comment()), key.foot_comment()]
}

/// Each comment by itself: upstream's where only upstream changed it, else local's.
fn wanted(original: Comments, upstream: Comments, local: Comments) -> Comments {
    let mut all = original.into_iter().zip(upstream).zip(local);
    let mut next = || {
        let ((original, upstream), local) = all.next()?;
        if original == local { upstream } else { local }
    };
    [next(), next(), next()]
}

/// Gives an entry its comments. Where none can stand, it goes without.
fn set_comments(parent: &mut NodeMut<'_>, key: &str, wanted: &Comments) -> Result<(), edit::Error> {
    for (at, place) in PLACES.into_iter().enumerate() {
        let has = parent.read().own_entry(key);
        if has.is_none() || comments(has)[at] == wanted[at] {
            continue;
        }
        match parent.set_key_comment(key, place, wanted[at].as_deref().unwrap_or_default()) {
            Ok(()) | Err(edit::Error::NoPlaceForComment(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
