//! The tree of one document: an arena of small nodes that point into the source.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use crate::lookup::Tables;
use crate::syntax::token::Span;

/// The index of a node in its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(u32);

impl NodeId {
    #[allow(
        clippy::cast_possible_truncation,
        reason = "`YamlLimits::max_nodes` and the source's length keep it below u32::MAX"
    )]
    pub fn new(index: usize) -> Self {
        Self(index as u32)
    }

    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A [`NodeId`] that may be absent, in four bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link(u32);

impl Link {
    pub const NONE: Link = Link(u32::MAX);

    pub fn get(self) -> Option<NodeId> {
        (self != Self::NONE).then_some(NodeId(self.0))
    }
}

impl From<NodeId> for Link {
    fn from(id: NodeId) -> Self {
        Self(id.0)
    }
}

impl From<Option<NodeId>> for Link {
    fn from(id: Option<NodeId>) -> Self {
        id.map_or(Self::NONE, Into::into)
    }
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Text; numbers, booleans and nulls included.
    Scalar,
    /// Pairs of keys and values.
    Mapping,
    /// A list.
    Sequence,
    /// A reference to an anchor.
    Alias,
}

/// How a node is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// A scalar without quotes, possibly empty.
    Plain,
    /// A scalar in `'single quotes'`.
    SingleQuoted,
    /// A scalar in `"double quotes"`.
    DoubleQuoted,
    /// A scalar in `|` style.
    Literal,
    /// A scalar in `>` style.
    Folded,
    /// A collection by indentation.
    Block,
    /// A collection in brackets.
    Flow,
}

/// No position: for marks that do not exist.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// A node. Mapping children alternate: key, value, key, value.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub kind: Kind,
    pub style: Style,
    pub facts: Facts,
    pub state: State,
    /// Block collections: the column of the entries, also of those that are all removed; [`NOWHERE`] for what was
    /// replaced. Block scalars: the indentation of the content.
    pub column: u32,
    /// The content, without properties; empty for an empty scalar.
    pub span: Span,
    /// What introduces the node: the colon before a value, the dash before an item, the `?` before an explicit key.
    pub mark: u32,
    pub parent: Link,
    pub previous: Link,
    pub next: Link,
    pub first: Link,
    pub last: Link,
    /// Index into `Tree::properties`, or [`NOWHERE`].
    pub properties: u32,
    /// Index into `Tree::comments`, or [`NOWHERE`].
    pub comments: u32,
    /// Index into `Tree::texts` of a value that is not in the source, or [`NOWHERE`].
    pub text: u32,
}

// A document has many of them.
const _: () = assert!(size_of::<Node>() == 52, "a node takes 52 bytes");

/// Something that is true of a node or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// A scalar whose value is not its bytes as they stand.
    Cooked = 1,
    /// The text is a string even where it looks like something else.
    String = 2,
    /// A key of a mapping.
    Key = 4,
    /// Children were added, removed or moved.
    Reshaped = 8,
}

/// What is true of a node, in one byte: there is one of these for each node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts(u8);

impl Facts {
    pub fn has(self, fact: Fact) -> bool {
        self.0 & fact as u8 != 0
    }

    /// Says whether something is true.
    pub fn put(&mut self, fact: Fact, holds: bool) {
        self.0 = if holds { self.0 | fact as u8 } else { self.0 & !(fact as u8) };
    }
}

impl Node {
    pub fn is(&self, fact: Fact) -> bool {
        self.facts.has(fact)
    }
}

/// What happened to a node since it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// Nothing, here and below.
    Clean,
    /// Something below it was edited.
    Below,
    /// It was edited itself; its place in the source is known.
    Edited,
    /// It has no place in the source.
    New,
}

/// Anchor and tag of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Properties {
    /// The anchor's name.
    pub anchor: Option<Box<str>>,
    /// The tag as written, `!` included.
    pub tag: Option<Box<str>>,
    /// Where both stand; empty when they are new.
    pub span: Span,
}

/// One comment: a range of the source from its first `#` to the end of its last line, or new text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comment {
    /// Where it stands; empty when it is new.
    pub span: Span,
    /// Its text when that is not simply what stands in the source; an empty text removes it.
    pub text: Option<Box<str>>,
    /// It was set by an edit.
    pub changed: bool,
}

/// The comments of a node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Comments {
    pub head: Option<Comment>,
    pub line: Option<Comment>,
    pub foot: Option<Comment>,
}

impl Comments {
    /// Where the comments stand in the source.
    pub fn spans(&self) -> impl Iterator<Item = Span> {
        [&self.head, &self.line, &self.foot].into_iter().flatten().map(|comment| comment.span)
    }
}

/// An entry of a collection: an item twice, or a key and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub first: NodeId,
    pub last: NodeId,
}

impl Entry {
    /// Its nodes: the item, or the key and the value.
    pub fn nodes(self) -> impl Iterator<Item = NodeId> {
        [Some(self.first), Some(self.last).filter(|last| *last != self.first)].into_iter().flatten()
    }
}

/// Something that an edit did beyond what was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Note {
    /// The alias was replaced by a copy of what it stood for, because something below it was written.
    AliasExpanded {
        /// The name of the anchor.
        anchor: String,
    },
    /// What an anchor names was set to something else, which its aliases mean now, too.
    AliasesFollow {
        /// The name of the anchor.
        anchor: String,
        /// How many aliases name it.
        aliases: usize,
    },
    /// Something that an anchor names was removed or replaced, so that its aliases were replaced by copies.
    AnchorGone {
        /// The name of the anchor.
        anchor: String,
        /// How many aliases named it.
        aliases: usize,
    },
    /// A value that a merge key brings in was copied into the mapping, because something below it was written.
    MergedValueCopied {
        /// The key.
        key: String,
    },
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Note::AliasExpanded { anchor } => {
                write!(f, "the alias \"*{anchor}\" was expanded where it stood, to edit below it")
            }
            Note::AliasesFollow { anchor, aliases } => {
                let aliases = if *aliases == 1 {
                    "its alias means".into()
                } else {
                    format!("its {aliases} aliases mean")
                };
                write!(
                    f,
                    "what was edited is named by the anchor \"&{anchor}\"; {aliases} the new value, too"
                )
            }
            Note::AnchorGone { anchor, aliases } => {
                let plural = if *aliases == 1 { "its alias was" } else { "its aliases were" };
                write!(f, "the anchor \"&{anchor}\" is gone; {plural} replaced by what it named")
            }
            Note::MergedValueCopied { key } => {
                write!(
                    f,
                    "\"{key}\" came from a merge key; the mapping has its own now, and what was merged stays as it is"
                )
            }
        }
    }
}

/// A `%TAG` directive: where its two words stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TagHandle {
    pub handle: Span,
    pub prefix: Span,
}

impl TagHandle {
    /// The handle of a tag that is written with one: `!`, `!!` or `!name!`.
    pub fn of(tag: &str) -> &str {
        let end = tag[1..].find('!').map_or(1, |at| at + 2);
        &tag[..end]
    }
}

/// One document.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub nodes: Vec<Node>,
    pub properties: Vec<Properties>,
    pub comments: Vec<Comments>,
    pub texts: Vec<Box<str>>,
    pub root: NodeId,
    /// All bytes of the document, markers and trailing trivia included.
    pub span: Span,
    /// Where `---` stands, or [`NOWHERE`].
    pub start_mark: u32,
    /// Where `...` stands, or [`NOWHERE`].
    pub end_mark: u32,
    /// Sorted by handle.
    pub tag_handles: Vec<TagHandle>,
    /// Comments of the document itself: the head before the first node, the foot behind the last.
    pub own: Comments,
    /// Comments before the `---` that the document begins with.
    pub preface: Option<Comment>,
    /// The entries that were removed from collections that stand in the source, by the collection. Their nodes stay in
    /// the arena, without a parent.
    pub cuts: HashMap<NodeId, Vec<Entry>>,
    /// The comments of the source that edits replaced or removed: whatever is edited later, they are not written again.
    pub gone: Vec<Span>,
    /// What editing had to do that nobody asked for.
    pub notes: Vec<Note>,
    /// Where the entries of wide collections are.
    pub tables: Tables,
    /// Aliases exist, so that look-ups must follow them.
    pub has_aliases: bool,
    /// What aliases named when it was first asked for. Edits make no aliases: what is not in it has none.
    pub aliased: OnceLock<Arc<HashSet<NodeId>>>,
    /// It uses more than the plain part of YAML, so that edits are proved.
    pub delicate: bool,
}

impl Tree {
    /// The prefix that a `%TAG` directive of the document declares for a handle.
    pub fn tag_prefix<'a>(&self, source: &'a str, handle: &str) -> Option<&'a str> {
        let found = self.tag_handles.binary_search_by(|known| known.handle.of(source).cmp(handle)).ok()?;
        Some(self.tag_handles[found].prefix.of(source))
    }

    /// A document without content over a text that holds nothing but comments.
    pub fn empty(span: Span) -> Self {
        let mut tree = Self::bare(span);
        let id = tree.add(Kind::Scalar, Style::Plain);
        let node = tree.node_mut(id);
        (node.state, node.span) = (State::Clean, Span { start: span.end, end: span.end });
        tree
    }

    /// A tree without nodes.
    pub fn bare(span: Span) -> Self {
        Self {
            nodes: Vec::new(),
            properties: Vec::new(),
            comments: Vec::new(),
            texts: Vec::new(),
            root: NodeId::new(0),
            span,
            start_mark: NOWHERE,
            end_mark: NOWHERE,
            tag_handles: Vec::new(),
            own: Comments::default(),
            preface: None,
            cuts: HashMap::new(),
            gone: Vec::new(),
            notes: Vec::new(),
            tables: Tables::default(),
            has_aliases: false,
            aliased: OnceLock::new(),
            delicate: false,
        }
    }

    /// Adds a new node without content, parent or place.
    pub fn add(&mut self, kind: Kind, style: Style) -> NodeId {
        let id = NodeId::new(self.nodes.len());
        self.nodes.push(Node {
            kind,
            style,
            facts: Facts::default(),
            state: State::New,
            column: 0,
            span: Span::default(),
            mark: NOWHERE,
            parent: Link::NONE,
            previous: Link::NONE,
            next: Link::NONE,
            first: Link::NONE,
            last: Link::NONE,
            properties: NOWHERE,
            comments: NOWHERE,
            text: NOWHERE,
        });
        id
    }

    #[allow(clippy::cast_possible_truncation, reason = "there are fewer properties than nodes")]
    pub fn set_properties(&mut self, id: NodeId, properties: Properties) {
        self.node_mut(id).properties = self.properties.len() as u32;
        self.properties.push(properties);
    }

    /// Whether anything was edited.
    pub fn is_edited(&self) -> bool {
        self.node(self.root).state != State::Clean
    }

    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    pub fn properties(&self, id: NodeId) -> Option<&Properties> {
        self.properties.get(self.node(id).properties as usize)
    }

    pub fn comments(&self, id: NodeId) -> Option<&Comments> {
        self.comments.get(self.node(id).comments as usize)
    }

    /// The comments of a node, to change them.
    #[allow(clippy::cast_possible_truncation, reason = "there are at most two comment records for each node")]
    pub fn comments_mut(&mut self, id: NodeId) -> &mut Comments {
        let at = self.node(id).comments;
        if at == NOWHERE {
            self.node_mut(id).comments = self.comments.len() as u32;
            self.comments.push(Comments::default());
        }
        let at = self.node(id).comments;
        &mut self.comments[at as usize]
    }

    /// Takes the foot comment of a node away.
    pub fn take_foot(&mut self, id: NodeId) -> Option<Comment> {
        let at = self.node(id).comments as usize;
        self.comments.get_mut(at)?.foot.take()
    }

    #[allow(clippy::cast_possible_truncation, reason = "each text costs memory, and nodes are limited")]
    pub fn add_text(&mut self, text: &str) -> u32 {
        self.texts.push(text.into());
        (self.texts.len() - 1) as u32
    }

    /// The children of a node: items of a sequence, keys and values of a mapping in turn.
    pub fn children(&self, id: NodeId) -> Children<'_> {
        Children { tree: self, next: self.node(id).first }
    }

    /// Puts `child` behind the last child of `parent`.
    pub fn append(&mut self, parent: NodeId, child: NodeId) {
        let before = self.node(parent).last.get();
        let key = self.node(parent).kind == Kind::Mapping
            && before.is_none_or(|before| !self.node(before).is(Fact::Key));
        self.node_mut(child).facts.put(Fact::Key, key);
        self.node_mut(child).parent = parent.into();
        self.node_mut(child).previous = before.into();
        match before {
            Some(last) => self.node_mut(last).next = child.into(),
            None => self.node_mut(parent).first = child.into(),
        }
        self.node_mut(parent).last = child.into();
    }

    /// Where the node begins in the source, properties included.
    pub fn start(&self, id: NodeId) -> u32 {
        let node = self.node(id);
        match self.properties(id) {
            Some(properties) if !properties.span.is_empty() => properties.span.start.min(node.span.start),
            _ => node.span.start,
        }
    }
}

/// Iterates over the children of a node.
pub(crate) struct Children<'a> {
    tree: &'a Tree,
    next: Link,
}

impl Iterator for Children<'_> {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let id = self.next.get()?;
        self.next = self.tree.node(id).next;
        Some(id)
    }
}
