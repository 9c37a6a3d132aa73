//! New content for a document, and how it gets into a tree.

use std::borrow::Cow;
use std::collections::HashSet;

use lanai_types::YamlLimits;

use crate::document::Document;
use crate::edit::CommentPlace;
use crate::emit;
use crate::error;
use crate::node::NodeRef;
use crate::scalar;
use crate::syntax;
use crate::syntax::token::Span;
use crate::tree::{Comment, Comments, Fact, Kind, NodeId, Properties, Style, Tree};

/// What a node is set to: a scalar, or a copy of a node of any document.
///
/// A copy keeps comments, quoting, spelling and flow style; indentation follows its new neighbours. Aliases in it are
/// expanded and anchors dropped, since neither means the same elsewhere.
#[derive(Clone, Debug)]
pub struct Content(Inner);

#[derive(Clone, Debug)]
enum Inner {
    Scalar { text: String, string: bool, style: Style },
    Copy { document: Document, id: NodeId, spelling: Spelling },
}

/// What becomes of plain text that is a string, but that some reader would take for something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Spelling {
    /// It is quoted.
    Safe,
    /// It stays as its author spelled it.
    AsWritten,
}

/// Why a node cannot be copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CopyError {
    /// It is too large once its aliases are expanded.
    #[error("the content has more than {limit} nodes once its aliases are expanded")]
    TooLarge {
        /// `YamlLimits::max_expanded_nodes`.
        limit: usize,
    },
    /// It contains itself.
    #[error("the alias \"*{0}\" stands inside of what it names, so that it cannot be expanded")]
    Circle(String),
}

impl Content {
    /// A string, quoted where it must be.
    pub fn string(text: impl Into<String>) -> Self {
        Self(Inner::Scalar { text: text.into(), string: true, style: Style::Plain })
    }

    /// A null.
    pub fn null() -> Self {
        Self::other("null")
    }

    /// An empty mapping.
    pub fn mapping() -> Self {
        Self::empty(Kind::Mapping)
    }

    /// An empty list.
    pub fn sequence() -> Self {
        Self::empty(Kind::Sequence)
    }

    /// Reads a piece of YAML: `3` is a number, `"3"` a string, `{a: 1}` a mapping.
    ///
    /// # Errors
    /// As [`Document::parse`].
    pub fn parse(text: &str) -> Result<Self, error::Error> {
        Document::parse(text).map(Self::from)
    }

    fn other(text: impl Into<String>) -> Self {
        Self(Inner::Scalar { text: text.into(), string: false, style: Style::Plain })
    }

    fn empty(kind: Kind) -> Self {
        let mut tree = Tree::bare(Span::default());
        tree.root = tree.add(kind, Style::Block);
        Self::from(Document::of_tree(tree))
    }

    /// A copy of a node that does not hold on to its document, so that the document can be edited without being copied
    /// first.
    pub(crate) fn detached(node: NodeRef<'_>, comments: Option<Span>) -> Result<Self, CopyError> {
        let mut tree = Tree::bare(Span::default());
        tree.root = copy(node, comments, &mut tree)?;
        let id = tree.root;
        let document = Document::of_tree(tree);
        Ok(Self(Inner::Copy { document, id, spelling: Spelling::AsWritten }))
    }

    /// The node that is copied; `None` for a scalar that was given as a value.
    pub(crate) fn node(&self) -> Option<NodeRef<'_>> {
        match &self.0 {
            Inner::Copy { document, id, .. } => Some(NodeRef::new(document, *id)),
            Inner::Scalar { .. } => None,
        }
    }

    /// The scalar that this content is, if it is one: its text, whether it must stay a string, and the style that it
    /// asks for.
    pub(crate) fn scalar(&self) -> Option<Scalar<'_>> {
        match &self.0 {
            Inner::Scalar { text, string, style } => {
                Some(Scalar { text: text.into(), string: *string, style: *style, spelling: Spelling::Safe })
            }
            Inner::Copy { spelling, .. } => {
                let node = self.node()?.target();
                let spelling = if node.is_made_string() { Spelling::Safe } else { *spelling };
                let (string, style) = (is_string(node), node.style());
                let untagged = node.kind() == Kind::Scalar && node.tag().is_none();
                untagged.then(|| Scalar { text: node.value(), string, style, spelling })
            }
        }
    }

    /// The style that the content gets beside others: a string is quoted as they are, when all of them that are
    /// strings are quoted alike without need.
    pub(crate) fn style_beside<'a>(&self, others: impl Iterator<Item = NodeRef<'a>>) -> Style {
        let Some(scalar) = self.scalar() else {
            return self.node().map_or(Style::Block, |node| node.target().style());
        };
        if !scalar.string || scalar.style != Style::Plain {
            return scalar.style;
        }
        let mut habit = None;
        for other in others.take(NEIGHBOURS).filter(|other| other.kind() == Kind::Scalar && is_string(*other))
        {
            let style = other.style();
            let quoted = matches!(style, Style::SingleQuoted | Style::DoubleQuoted);
            if quoted && needs_quotes(&other.value()) {
                continue;
            }
            if !quoted || habit.is_some_and(|habit| habit != style) {
                return Style::Plain;
            }
            habit = Some(style);
        }
        habit.unwrap_or(Style::Plain)
    }

    /// Copies the content into `tree` as a new node without a parent.
    pub(crate) fn graft(&self, tree: &mut Tree) -> Result<NodeId, CopyError> {
        match &self.0 {
            Inner::Scalar { text, string, style } => {
                let id = tree.add(Kind::Scalar, *style);
                let text = tree.add_text(text);
                let node = tree.node_mut(id);
                node.text = text;
                node.facts.put(Fact::String, *string);
                Ok(id)
            }
            Inner::Copy { document, id, spelling } => {
                let node = NodeRef::new(document, *id);
                let copied = copy(node, None, tree)?;
                if *spelling == Spelling::Safe && self.scalar().is_some_and(|scalar| scalar.string) {
                    tree.node_mut(copied).facts.put(Fact::String, true);
                }
                Ok(copied)
            }
        }
    }
}

/// A scalar in [`Content`].
pub(crate) struct Scalar<'a> {
    pub text: Cow<'a, str>,
    pub string: bool,
    pub style: Style,
    pub spelling: Spelling,
}

/// How many neighbours are asked how they are quoted.
const NEIGHBOURS: usize = 32;

fn needs_quotes(text: &str) -> bool {
    let place = scalar::Place { indent: 0, step: 2, flow: true, key: false };
    scalar::present(text, scalar::Kind::String, scalar::Style::Plain, &place) != text
}

fn is_string(node: NodeRef<'_>) -> bool {
    node.resolved() == crate::scalar::Resolved::Str
}

/// Copies a node and all below it, aliases expanded.
fn copy(from: NodeRef<'_>, comments: Option<Span>, tree: &mut Tree) -> Result<NodeId, CopyError> {
    check_circle(from)?;
    let limit = YamlLimits::default().max_expanded_nodes;
    let before = tree.nodes.len();
    let root = copy_one(from, comments, tree);
    let mut work = vec![(from.target(), root)];
    while let Some((from, to)) = work.pop() {
        for child in children(from) {
            if tree.nodes.len() - before >= limit {
                tree.nodes.truncate(before);
                return Err(CopyError::TooLarge { limit });
            }
            let id = copy_one(child, comments, tree);
            tree.append(to, id);
            work.push((child.target(), id));
        }
    }
    Ok(root)
}

fn children(node: NodeRef<'_>) -> Vec<NodeRef<'_>> {
    match node.kind() {
        Kind::Mapping => node.entries().flat_map(|(key, value)| [key, value]).collect(),
        Kind::Sequence => node.items().collect(),
        Kind::Scalar | Kind::Alias => Vec::new(),
    }
}

/// Fails for a node that contains an alias of something that contains the alias. Looks at each node once.
fn check_circle(from: NodeRef<'_>) -> Result<(), CopyError> {
    enum Step<'a> {
        Enter(NodeRef<'a>),
        Leave(NodeId),
    }
    if !from.document.tree.has_aliases {
        return Ok(());
    }
    let mut open = HashSet::new();
    let mut done = HashSet::new();
    let mut work = vec![Step::Enter(from)];
    while let Some(step) = work.pop() {
        match step {
            Step::Leave(id) => {
                open.remove(&id);
                done.insert(id);
            }
            Step::Enter(node) => {
                let target = node.target();
                if target.kind() == Kind::Alias || open.contains(&target.id) {
                    return Err(CopyError::Circle(node.value().into_owned()));
                }
                if !done.contains(&target.id) && open.insert(target.id) {
                    work.push(Step::Leave(target.id));
                    work.extend(children(target).into_iter().map(Step::Enter));
                }
            }
        }
    }
    Ok(())
}

/// A comment of a node to copy, if it stands inside of a span or is new.
fn comment_of(from: NodeRef<'_>, place: CommentPlace, within: Option<Span>) -> Option<Comment> {
    let comment = from.document.tree.comment(from.id, place)?;
    let span = comment.span;
    let inside =
        within.is_none_or(|within| span.is_empty() || within.start <= span.start && span.end <= within.end);
    // Of a comment in pieces, only what stands next to the node moves with it.
    let text = match within {
        Some(_) if !comment.changed && !span.is_empty() => {
            Some(syntax::comment_text(&from.document.source, span))
        }
        _ => emit::comment_text(&from.document.source, Some(comment)),
    };
    let text = text.filter(|_| inside)?;
    Some(Comment { text: Some(text.into()), ..Comment::default() })
}

fn copy_one(from: NodeRef<'_>, within: Option<Span>, tree: &mut Tree) -> NodeId {
    let node = from.target();
    let id = tree.add(node.kind(), node.style());
    if node.kind() == Kind::Scalar {
        let text = tree.add_text(&node.value());
        tree.node_mut(id).text = text;
        // Plain text stays as it is spelled, `yes` too.
        let quoted = node.style() != Style::Plain && node.tag().is_none();
        tree.node_mut(id).facts.put(Fact::String, quoted || node.is_made_string());
    }
    if let Some(tag) = node.portable_tag() {
        tree.set_properties(id, Properties { anchor: None, tag: Some(tag.into()), span: Span::default() });
    }
    let comments = Comments {
        head: comment_of(from, CommentPlace::Head, within),
        // One behind an anchor counts as a comment of what follows, and a block collection has no line of its own:
        // neither moves.
        line: comment_of(from, CommentPlace::Line, within)
            .filter(|_| !from.line_comment_stands_before() && node.style() != Style::Block),
        foot: comment_of(from, CommentPlace::Foot, within),
    };
    if comments != Comments::default() {
        *tree.comments_mut(id) = comments;
    }
    id
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::string(text)
    }
}

impl From<bool> for Content {
    fn from(value: bool) -> Self {
        Self::other(value.to_string())
    }
}

impl From<i64> for Content {
    fn from(value: i64) -> Self {
        Self::other(value.to_string())
    }
}

impl From<f64> for Content {
    /// Spelled so that it reads back as the same float.
    fn from(value: f64) -> Self {
        let text = match value {
            _ if value.is_nan() => ".nan".into(),
            _ if value == f64::INFINITY => ".inf".into(),
            _ if value == f64::NEG_INFINITY => "-.inf".into(),
            _ => format!("{value:?}"),
        };
        Self::other(text)
    }
}

impl From<NodeRef<'_>> for Content {
    fn from(node: NodeRef<'_>) -> Self {
        Self(Inner::Copy { document: node.document.clone(), id: node.id, spelling: Spelling::AsWritten })
    }
}

impl From<Document> for Content {
    fn from(document: Document) -> Self {
        let id = document.tree.root;
        Self(Inner::Copy { document, id, spelling: Spelling::Safe })
    }
}
