//! The fields of a document, merged into the local one.

use std::collections::{HashMap, HashSet};

use lanai_krm::merge_mark::UPSTREAM_IDENTIFIER;
use lanai_types::SafePath;
use lanai_yaml::path::Segment;
use lanai_yaml::{Content, Document, Kind, NodeMut, NodeRef, Style, edit};

use crate::comments::{self, Comments, Noted, PLACES};
use crate::compare::{exact, same};
use crate::conflict::{Side, Subject};
use crate::error::Error;
use crate::judge::Judge;
use crate::keys::{Cursor, Known};
use crate::options::Take;

/// What a document is called, and which of its fields are local's alone.
pub(crate) struct Scope {
    /// What the names of its conflicts begin with.
    pub id: String,
    pub path: SafePath,
    /// The place of the local document in its file.
    pub page: usize,
    pub subject: Subject,
    pub own: Own,
}

/// The fields that are not taken from upstream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// None but the mark of a merge.
    Nothing,
    /// Those of the Kptfile of the package itself: name, upstream and upstream lock.
    Kptfile,
    /// Those of the Kptfile of a package inside: its name. Where it comes from is one value, and so is its lock.
    NestedKptfile,
    /// Those of the Kptfile of a package inside whose content is not merged: its name and its lock.
    Reference,
}

/// A node on each side.
#[derive(Clone, Copy)]
pub(crate) struct Triple<'a> {
    pub original: Option<NodeRef<'a>>,
    pub upstream: Option<NodeRef<'a>>,
    pub local: Option<NodeRef<'a>>,
}

/// An entry of a mapping on each side.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'a> {
    original: Option<Pair<'a>>,
    upstream: Option<Pair<'a>>,
    local: Option<Pair<'a>>,
}

impl<'a> Entry<'a> {
    fn values(self) -> Triple<'a> {
        let value = |pair: Option<Pair<'a>>| pair.map(|(_, value)| value);
        Triple { original: value(self.original), upstream: value(self.upstream), local: value(self.local) }
    }

    fn noted(self) -> Noted {
        Noted {
            original: comments::of_entry(self.original),
            upstream: comments::of_entry(self.upstream),
            local: comments::of_entry(self.local),
        }
    }
}

/// Whether a node is there after it was merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum There {
    Yes,
    No,
}

/// Where a node stands.
#[derive(Clone, Copy)]
pub(crate) enum Slot<'a> {
    Root,
    /// In a mapping.
    Field(Entry<'a>),
    /// In a list.
    Item,
}

impl Slot<'_> {
    pub fn is_field(self) -> bool {
        match self {
            Self::Field(_) => true,
            Self::Root | Self::Item => false,
        }
    }

    /// The comments around a side's node.
    pub fn comments(self, side: Side, node: Option<NodeRef<'_>>) -> Comments {
        match (self, side) {
            (Self::Root, _) | (Self::Field(_), Side::Value) => Comments::default(),
            (Self::Field(entry), Side::Original) => comments::of_entry(entry.original),
            (Self::Field(entry), Side::Upstream) => comments::of_entry(entry.upstream),
            (Self::Field(entry), Side::Local) => comments::of_entry(entry.local),
            (Self::Item, _) => node.map(comments::of_item).unwrap_or_default(),
        }
    }
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
    /// As that, where a conflict about the mapping is recorded already.
    Remains,
    List,
}

/// Where a new key comes in a mapping: behind the key that is before it upstream; first where there is none, last where
/// local does not have it.
#[derive(Clone, Copy)]
struct Place<'a> {
    before: Option<&'a str>,
}

impl Place<'_> {
    fn put(self, mapping: &mut NodeMut<'_>, key: &str, content: Content) -> Result<(), edit::Error> {
        match self.before {
            None => mapping.insert_at(0, key, content),
            Some(before) => mapping.insert_behind(before, key, content),
        }
    }
}

/// A merge of one document.
pub(crate) struct Fields<'a, 'o> {
    pub judge: &'a mut Judge<'o>,
    pub scope: &'a Scope,
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
        // What local had is read from a copy: looking a key up while the document is edited would cost each time.
        let before = local.clone();
        let triple = Triple { original, upstream, local: Some(before.root()) };
        let mut done = self.root(local, triple, cursor);
        if let Err(Error::Edit { line, .. }) = &mut done {
            *line = before.root().position().line;
        }
        done
    }

    fn root(&mut self, local: &mut Document, triple: Triple<'_>, cursor: Cursor<'_>) -> Result<(), Error> {
        match self.outcome(triple, Slot::Root, cursor.here())? {
            Outcome::Keep | Outcome::List => Ok(()),
            Outcome::Remove => self.did(local.root_mut().set(Content::null())),
            Outcome::Put { content, style } => {
                let set = put(&mut local.root_mut(), content, style);
                self.did(set)
            }
            Outcome::Mapping | Outcome::Remains => self.mapping(&mut local.root_mut(), triple, cursor),
        }
    }

    /// Merges the entries of a mapping, of which `sides` has what was there before any edit: upstream's in their order, then
    /// those that upstream removed.
    pub fn mapping(
        &mut self,
        node: &mut NodeMut<'_>,
        sides: Triple<'_>,
        cursor: Cursor<'_>,
    ) -> Result<(), Error> {
        let (originals, locals) = (entries(sides.original), entries(sides.local));
        let entry = |key: &str, upstream| Entry {
            original: originals.get(key).copied(),
            upstream,
            local: locals.get(key).copied(),
        };
        let settled = self.settle_members(node, sides, cursor)?;
        let mut before: Option<String> = None;
        let mut seen = HashSet::new();
        for (name, value) in sides.upstream.into_iter().flat_map(NodeRef::entries) {
            let key = name.target().value().into_owned();
            if !settled.contains(&key.as_str()) {
                let place = Place { before: before.as_deref() };
                self.entry(node, &key, entry(&key, Some((name, value))), place, cursor)?;
            }
            seen.insert(key.clone());
            before = Some(key);
        }
        let known = sides.original.into_iter().filter(|node| is_fields(*node)).flat_map(NodeRef::entries);
        for (name, _) in known {
            let key = name.target().value().into_owned();
            if !seen.contains(&key) && !settled.contains(&key.as_str()) {
                let place = Place { before: before.as_deref() };
                self.entry(node, &key, entry(&key, None), place, cursor)?;
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        parent: &mut NodeMut<'_>,
        key: &str,
        entry: Entry<'_>,
        place: Place<'_>,
        cursor: Cursor<'_>,
    ) -> Result<(), Error> {
        let Entry { original, upstream, local } = entry;
        let unchanged = exact(original.map(|(_, value)| value), upstream.map(|(_, value)| value));
        if unchanged && comments::of_entry(original) == comments::of_entry(upstream) {
            return Ok(());
        }
        self.segments.push(Segment::Key(key.into()));
        self.trail.push(trail_of(key));
        if !self.is_own(local) {
            let known = cursor.field(key);
            // An alias means what the merge has made of its anchor by now.
            let is_alias = local.is_some_and(|(_, value)| value.kind() == Kind::Alias);
            let now = if is_alias { parent.read().own_entry(key) } else { local };
            let sides = Entry { local: now, ..entry }.values();
            let done = is_alias && upstream.is_some() && same(sides.upstream, sides.local);
            let outcome = if done { Outcome::Keep } else { self.outcome(sides, Slot::Field(entry), known)? };
            let kept = matches!(outcome, Outcome::Keep);
            let there = self.apply(parent, key, entry, outcome, place, known)?;
            if there == There::Yes {
                let noted = entry.noted();
                // Where one side has none, they come with the value.
                let restored =
                    (upstream.is_none() || local.is_none()) && self.pinned() == Some(&Take::Original);
                let wanted = match (upstream, local) {
                    _ if restored => noted.original.clone(),
                    (Some(_), Some(_)) => self.wanted_comments(&noted),
                    (None, Some(_)) => noted.local.clone(),
                    (_, None) => noted.upstream.clone(),
                };
                if !kept && upstream.is_some() || local.is_none() || noted.local != wanted {
                    self.set_entry_comments(parent, key, &wanted, &noted)?;
                }
            }
        }
        self.trail.pop();
        self.segments.pop();
        Ok(())
    }

    /// Does what was decided; tells whether the entry is there afterwards.
    fn apply(
        &mut self,
        parent: &mut NodeMut<'_>,
        key: &str,
        entry: Entry<'_>,
        outcome: Outcome,
        place: Place<'_>,
        known: Known<'_>,
    ) -> Result<There, Error> {
        let recorded = self.judge.recorded();
        let is_recorded = matches!(outcome, Outcome::Remains);
        match outcome {
            Outcome::Keep => Ok(if entry.local.is_some() { There::Yes } else { There::No }),
            Outcome::Remove => {
                let removed = parent.remove(key);
                self.did(removed)?;
                Ok(There::No)
            }
            Outcome::Put { content, style } => {
                let put = if entry.local.is_some() {
                    parent.reborrow().get_mut(key).and_then(|mut node| put(&mut node, content, style))
                } else {
                    place.put(parent, key, content)
                };
                self.did(put)?;
                self.note_put(entry.values().upstream, parent.read().get(key))?;
                Ok(There::Yes)
            }
            Outcome::Mapping | Outcome::Remains => {
                let node = parent.reborrow().get_mut(key);
                let mut node = self.did(node)?;
                self.mapping(&mut node, entry.values(), known.below)?;
                if is_recorded {
                    // What is about the mapping is about all in it.
                    self.judge.forget_since(recorded);
                }
                // What upstream removed, and local had nothing of its own in, leaves no stub.
                if entry.upstream.is_some() || !node.read().is_empty() {
                    return Ok(There::Yes);
                }
                let removed = parent.remove(key);
                self.did(removed)?;
                Ok(There::No)
            }
            Outcome::List => {
                let node = parent.reborrow().get_mut(key);
                let mut node = self.did(node)?;
                self.list(&mut node, entry.values(), known.list, known.below)?;
                Ok(There::Yes)
            }
        }
    }

    /// Tells of comments inside of upstream's value that could not come with it, if it is there now.
    pub fn note_put(&mut self, upstream: Option<NodeRef<'_>>, now: Option<NodeRef<'_>>) -> Result<(), Error> {
        if let (Some(upstream), Some(now)) = (upstream, now)
            && same(Some(upstream), Some(now))
        {
            self.note_lost_inside(upstream, now)?;
        }
        Ok(())
    }

    /// Says in which file an edit was refused.
    pub fn did<T>(&self, result: Result<T, edit::Error>) -> Result<T, Error> {
        // The line is said where the document is known: to count it costs.
        result.map_err(|cause| Error::Edit { path: self.scope.path.clone(), line: 1, cause })
    }

    /// Whether the field is local's alone; some are only where local has them.
    fn is_own(&self, local: Option<Pair<'_>>) -> bool {
        let segments = &self.segments[..];
        let is = |path: &[&str]| {
            let key =
                |(segment, key): (&Segment, &&str)| matches!(segment, Segment::Key(name) if **name == **key);
            segments.len() == path.len() && segments.iter().zip(path).all(key)
        };
        let kptfile = match self.scope.own {
            Own::Nothing => false,
            Own::Kptfile => is(&["upstream"]) || is(&["upstreamLock"]) || is(&["metadata", "name"]),
            Own::NestedKptfile => is(&["metadata", "name"]),
            Own::Reference => is(&["upstreamLock"]) || is(&["metadata", "name"]),
        };
        kptfile || local.is_some() && is(&["metadata", "annotations", UPSTREAM_IDENTIFIER])
    }

    /// What a resolution calls the node that is merged now.
    pub fn id(&self) -> String {
        let trail = self.trail.concat();
        if trail.is_empty() {
            return self.scope.id.clone();
        }
        format!("{}#{}", self.scope.id, trail.strip_prefix('.').unwrap_or(&trail))
    }
}

/// A key and its value.
pub(crate) type Pair<'a> = (NodeRef<'a>, NodeRef<'a>);

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

pub(crate) fn both(
    left: Option<NodeRef<'_>>,
    right: Option<NodeRef<'_>>,
    is: impl Fn(NodeRef<'_>) -> bool,
) -> bool {
    left.is_some_and(&is) && right.is_some_and(&is)
}

pub(crate) fn is_kind(node: NodeRef<'_>, kind: Kind) -> bool {
    node.target().kind() == kind
}

/// Whether the node is a mapping whose keys are texts that differ.
pub(crate) fn is_fields(node: NodeRef<'_>) -> bool {
    let mut seen = HashSet::new();
    is_kind(node, Kind::Mapping)
        && node.entries().all(|(key, _)| is_kind(key, Kind::Scalar) && seen.insert(key.target().value()))
}

fn entries(node: Option<NodeRef<'_>>) -> HashMap<String, Pair<'_>> {
    let pairs = node.into_iter().filter(|node| is_fields(*node)).flat_map(NodeRef::entries);
    pairs.map(|(key, value)| (key.target().value().into_owned(), (key, value))).collect()
}

pub(crate) fn trail_of(key: &str) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    if plain { format!(".{key}") } else { format!("[{key:?}]") }
}
