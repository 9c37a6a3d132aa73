//! Reading nodes.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use crate::document::Document;
use crate::emit;
use crate::error::Position;
use crate::scalar::{self, Resolved, decode};
use crate::tree::{Fact, Kind, NOWHERE, NodeId, State, Style, TagHandle};

/// A node of a document, to be read. Copying it costs nothing.
#[derive(Clone, Copy)]
pub struct NodeRef<'a> {
    pub(crate) document: &'a Document,
    pub(crate) id: NodeId,
}

/// What `!!` stands for.
pub(crate) const CORE_TAGS: &str = "tag:yaml.org,2002:";

/// The text of a merge key.
const MERGE_KEY: &str = "<<";

/// How many aliases of aliases are followed before it must be a circle.
const MAX_HOPS: usize = 64;

impl<'a> NodeRef<'a> {
    pub(crate) fn new(document: &'a Document, id: NodeId) -> Self {
        Self { document, id }
    }

    fn node(self) -> &'a crate::tree::Node {
        self.document.tree.node(self.id)
    }

    /// What the node is. An alias is an alias here; see [`NodeRef::target`].
    pub fn kind(self) -> Kind {
        self.node().kind
    }

    /// How it is written.
    pub fn style(self) -> Style {
        self.node().style
    }

    /// The tag as written, such as `!!str` or `!Ref`; `None` where there is none.
    pub fn tag(self) -> Option<&'a str> {
        self.document.tree.properties(self.id)?.tag.as_deref()
    }

    /// The tag in full, handles replaced by their prefixes; `None` where there is none.
    pub fn full_tag(self) -> Option<String> {
        let tag = self.tag()?;
        if let Some(verbatim) = tag.strip_prefix("!<") {
            return Some(percent_decode(verbatim.trim_end_matches('>')));
        }
        let (handle, suffix) = tag.split_at(TagHandle::of(tag).len());
        let prefix = match (self.tag_prefix(handle), handle) {
            (Some(declared), _) => declared,
            (None, "!!") => CORE_TAGS,
            (None, _) => handle,
        };
        Some(format!("{prefix}{}", percent_decode(suffix)))
    }

    /// The tag so that it means the same in another document: with its own handle only where that needs no declaration.
    pub(crate) fn portable_tag(self) -> Option<String> {
        let tag = self.tag()?;
        let declared = !tag.starts_with("!<") && self.tag_prefix(TagHandle::of(tag)).is_some();
        if declared {
            self.full_tag().map(|full| format!("!<{}>", percent_encode(&full)))
        } else {
            Some(tag.to_owned())
        }
    }

    fn tag_prefix(self, handle: &str) -> Option<&'a str> {
        self.document.tree.tag_prefix(&self.document.source, handle)
    }

    /// The anchor's name.
    pub fn anchor(self) -> Option<&'a str> {
        self.document.tree.properties(self.id)?.anchor.as_deref()
    }

    /// Follows an alias to the node that it stands for; any other node is its own target. Circles end somewhere in
    /// the circle.
    #[must_use]
    pub fn target(self) -> NodeRef<'a> {
        let mut at = self;
        for _ in 0..MAX_HOPS {
            let target = at.node().last.get().filter(|_| at.kind() == Kind::Alias);
            let Some(target) = target else { return at };
            at = Self::new(self.document, target);
        }
        at
    }

    /// The text of a scalar, unquoted and unescaped; the name of an alias; empty for collections.
    pub fn value(self) -> Cow<'a, str> {
        let node = self.node();
        if node.text != NOWHERE {
            return Cow::Borrowed(&self.document.tree.texts[node.text as usize]);
        }
        let raw = node.span.of(&self.document.source);
        match (node.kind, node.style) {
            (Kind::Mapping | Kind::Sequence, _) => Cow::Borrowed(""),
            (Kind::Alias, _) => Cow::Borrowed(&raw[1..]),
            (Kind::Scalar, Style::SingleQuoted | Style::DoubleQuoted) if !node.is(Fact::Cooked) => {
                Cow::Borrowed(&raw[1..raw.len() - 1])
            }
            (Kind::Scalar, _) if !node.is(Fact::Cooked) => Cow::Borrowed(raw),
            (Kind::Scalar, Style::SingleQuoted) => decode::single_quoted(raw),
            (Kind::Scalar, Style::DoubleQuoted) => decode::double_quoted(raw).unwrap_or(Cow::Borrowed(raw)),
            (Kind::Scalar, Style::Literal | Style::Folded) => decode::block(raw, node.column as usize),
            (Kind::Scalar, _) => decode::plain(raw),
        }
    }

    /// What a scalar means: quoted text is a string, plain text what the YAML core schema says. Tags decide first.
    /// Collections are strings here, aliases what they stand for.
    pub fn resolved(self) -> Resolved {
        let node = self.target();
        if node.kind() != Kind::Scalar || node.node().is(Fact::String) {
            return Resolved::Str;
        }
        let plain = node.style() == Style::Plain;
        match node.full_tag().as_deref().map(|tag| tag.strip_prefix(CORE_TAGS).unwrap_or(tag)) {
            Some("str" | "!" | "binary" | "timestamp") => Resolved::Str,
            Some("null") => Resolved::Null,
            Some("int" | "float" | "bool") => scalar::resolve(&node.value()),
            Some(_) | None if plain => scalar::resolve(&node.value()),
            Some(_) | None => Resolved::Str,
        }
    }

    /// Whether the node is null: written as such, or left out.
    pub fn is_null(self) -> bool {
        self.target().kind() == Kind::Scalar && matches!(self.resolved(), Resolved::Null)
    }

    /// Whether the node is text that was set as a string, whatever it looks like.
    pub(crate) fn is_made_string(self) -> bool {
        self.node().is(Fact::String)
    }

    /// Whether the node is a scalar of which nothing is written.
    pub(crate) fn is_absent(self) -> bool {
        let node = self.node();
        node.kind == Kind::Scalar
            && node.state < State::Edited
            && node.span.is_empty()
            && node.properties == NOWHERE
    }

    /// The string, if the node is one (or an alias of one).
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        let node = self.target();
        (node.kind() == Kind::Scalar && node.resolved() == Resolved::Str).then(|| node.value())
    }

    /// Where the node's content stands in the stream that it was read from; new nodes have the place of the document.
    pub fn position(self) -> Position {
        Position::of(&self.document.source, self.offset())
    }

    /// Where the node's content begins in the source; new nodes have the place of the document.
    pub(crate) fn offset(self) -> usize {
        let node = self.node();
        let offset = if node.state == State::New { self.document.tree.span.start } else { node.span.start };
        offset as usize
    }

    /// The bytes of the node's content in the text that the whole stream was read from; `None` for new nodes.
    pub fn source_range(self) -> Option<std::ops::Range<usize>> {
        (self.node().state != State::New).then(|| self.node().span.range())
    }

    // ---- comments

    /// The comment above the node, without indentation, `#` included.
    pub fn head_comment(self) -> Option<String> {
        let comments = self.document.tree.comments(self.id)?;
        emit::comment_text(&self.document.source, comments.head.as_ref())
    }

    /// The comment on the node's line.
    pub fn line_comment(self) -> Option<String> {
        let comments = self.document.tree.comments(self.id)?;
        emit::comment_text(&self.document.source, comments.line.as_ref())
    }

    /// Whether the line comment stands before the node, as one behind the anchor of its parent does.
    pub(crate) fn line_comment_stands_before(self) -> bool {
        let line = self.document.tree.comments(self.id).and_then(|comments| comments.line.as_ref());
        line.is_some_and(|line| !line.span.is_empty() && line.span.start < self.node().span.start)
    }

    /// Whether the line comment of a key stands behind this value's colon, on its line.
    pub(crate) fn stands_before_line_of(self, key: NodeRef<'_>) -> bool {
        let line = self.document.tree.comments(key.id).and_then(|comments| comments.line.as_ref());
        line.is_some_and(|line| self.node().mark != NOWHERE && line.span.start > self.node().mark)
    }

    /// The comment below the node.
    pub fn foot_comment(self) -> Option<String> {
        let comments = self.document.tree.comments(self.id)?;
        emit::comment_text(&self.document.source, comments.foot.as_ref())
    }

    // ---- collections

    /// The collection or scalar that holds the node; for a value that is its mapping, not its key.
    pub fn parent(self) -> Option<NodeRef<'a>> {
        self.node().parent.get().map(|id| Self::new(self.document, id))
    }

    /// Whether the node is a key or a value of a mapping.
    pub(crate) fn is_in_mapping(self) -> bool {
        self.parent().is_some_and(|parent| parent.kind() == Kind::Mapping)
    }

    /// The key of a value of a mapping.
    pub(crate) fn key(self) -> Option<NodeRef<'a>> {
        let is_value = self.is_in_mapping() && !self.node().is(Fact::Key);
        let previous = self.node().previous.get().filter(|_| is_value);
        previous.map(|id| Self::new(self.document, id))
    }

    /// The items of a sequence; nothing for other nodes.
    pub fn items(self) -> impl Iterator<Item = NodeRef<'a>> {
        let node = self.target();
        let is_sequence = node.kind() == Kind::Sequence;
        let document = self.document;
        document.tree.children(node.id).filter(move |_| is_sequence).map(move |id| Self::new(document, id))
    }

    /// The pairs of a mapping as they are written, merge keys unmerged; nothing for other nodes.
    pub fn entries(self) -> impl Iterator<Item = (NodeRef<'a>, NodeRef<'a>)> {
        let node = self.target();
        let document = self.document;
        let first = if node.kind() == Kind::Mapping { node.node().first.get() } else { None };
        let mut next = first;
        std::iter::from_fn(move || {
            let key = next?;
            let value = document.tree.node(key).next.get()?;
            next = document.tree.node(value).next.get();
            Some((Self::new(document, key), Self::new(document, value)))
        })
    }

    /// How many items or pairs a collection has.
    pub fn len(self) -> usize {
        match self.target().kind() {
            Kind::Sequence => self.items().count(),
            Kind::Mapping => self.entries().count(),
            Kind::Scalar | Kind::Alias => 0,
        }
    }

    /// Whether it has no items or pairs.
    pub fn is_empty(self) -> bool {
        self.target().kind() == Kind::Alias || self.target().node().first.get().is_none()
    }

    /// The value of a key: the mapping's own, the first where it stands twice, else what its merge keys bring.
    pub fn get(self, key: &str) -> Option<NodeRef<'a>> {
        if let Some((_, value)) = self.own_entry(key) {
            return Some(value);
        }
        // Depth first, strongest first; a mapping that was looked through once has nothing more to say.
        let mut seen = HashSet::from([self.target().id]);
        let mut work = self.merged();
        work.reverse();
        while let Some(source) = work.pop() {
            if !seen.insert(source.id) {
                continue;
            }
            if let Some((_, value)) = source.own_entry(key) {
                return Some(value);
            }
            work.extend(source.merged().into_iter().rev());
        }
        None
    }

    /// Whether the node, a key, is the text `key`.
    pub(crate) fn is_key(self, key: &str) -> bool {
        let node = self.target();
        node.kind() == Kind::Scalar && node.value() == key
    }

    /// Whether the node, a key, is a merge key.
    pub(crate) fn is_merge(self) -> bool {
        self.kind() == Kind::Scalar && self.resolved() == Resolved::Merge
    }

    /// The mappings that merge keys (`<<`) bring in, the strongest first.
    pub fn merged(self) -> Vec<NodeRef<'a>> {
        let mut sources = Vec::new();
        if self.own_entry(MERGE_KEY).is_none() {
            return sources;
        }
        for (key, value) in self.entries() {
            if !key.is_merge() {
                continue;
            }
            let value = value.target();
            match value.kind() {
                Kind::Mapping => sources.push(value),
                Kind::Sequence => sources
                    .extend(value.items().map(NodeRef::target).filter(|item| item.kind() == Kind::Mapping)),
                Kind::Scalar | Kind::Alias => {}
            }
        }
        sources
    }

    /// Whether both are the same nodes with the same anchors and tags, however they are spelled and commented. Keys count
    /// in their order, also those that stand twice.
    pub fn means_the_same(self, other: NodeRef<'_>) -> bool {
        self.difference(other).is_none()
    }

    /// The first nodes, in the order of the text, by which the two do not [mean the same](Self::means_the_same).
    pub fn difference<'b>(self, other: NodeRef<'b>) -> Option<(NodeRef<'a>, NodeRef<'b>)> {
        let mut work = vec![(self, other)];
        while let Some((one, other)) = work.pop() {
            if !one.is_alike(other) {
                return Some((one, other));
            }
            if one.kind() != Kind::Alias {
                let from = work.len();
                work.extend(one.items().zip(other.items()));
                let pairs = one.entries().zip(other.entries());
                work.extend(pairs.flat_map(|(one, other)| [(one.0, other.0), (one.1, other.1)]));
                work[from..].reverse();
            }
        }
        None
    }

    /// Whether both are the same, apart from what is in them.
    fn is_alike(self, other: NodeRef<'_>) -> bool {
        if self.kind() != other.kind() || self.anchor() != other.anchor() {
            return false;
        }
        let same_value = match self.kind() {
            Kind::Scalar if self.is_null() => other.is_null(),
            Kind::Scalar => match (self.resolved(), other.resolved()) {
                (Resolved::Int(one), Resolved::Int(other)) => one == other,
                (Resolved::Float(one), Resolved::Float(other)) => one.to_bits() == other.to_bits(),
                (Resolved::Bool(one), Resolved::Bool(other)) => one == other,
                // The tag only says what it is without one.
                (Resolved::Merge, Resolved::Merge) => return true,
                // One is only what a reader may make of the other.
                (Resolved::Timestamp, Resolved::Str) | (Resolved::Str, Resolved::Timestamp) => {
                    self.value() == other.value()
                }
                (is, was) => is == was && self.value() == other.value(),
            },
            Kind::Alias => self.value() == other.value(),
            Kind::Mapping | Kind::Sequence => self.len() == other.len(),
        };
        same_value && self.full_tag() == other.full_tag()
    }
}

impl fmt::Debug for NodeRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind() {
            Kind::Scalar => write!(f, "{:?}", self.value()),
            Kind::Alias => write!(f, "*{}", self.value()),
            Kind::Sequence => f.debug_list().entries(self.items()).finish(),
            Kind::Mapping => f.debug_map().entries(self.entries()).finish(),
        }
    }
}

/// Writes what may not stand in a tag as percent escapes.
pub(crate) fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_;/?:@&=+$,.~*'()[]".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let digit = |half: u8| char::from(b"0123456789ABCDEF"[usize::from(half)]);
            out.extend(['%', digit(byte >> 4), digit(byte & 0xf)]);
        }
    }
    out
}

/// Replaces `%41` by `A` in a tag; what is not valid stays.
fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%')
            .then(|| text.get(at + 1..at + 3).filter(|hex| hex.bytes().all(|byte| byte.is_ascii_hexdigit())))
            .flatten()
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(code.unwrap_or(bytes[at]));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).unwrap_or_else(|_| text.into())
}
