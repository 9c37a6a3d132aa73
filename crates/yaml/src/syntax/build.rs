//! From tokens to nodes.
//!
//! An explicit stack of open collections, one step for each token; nothing recurses, so that depth costs no stack.

mod comments;
mod properties;

use std::collections::HashMap;

use lanai_types::YamlLimits;

use super::Fail;
use super::attach::Queue;
use super::token::{Flags, Span, Token, TokenKind};
use crate::tree::{Fact, Kind, Link, NOWHERE, NodeId, Properties, State, Style, Tree};

/// What the document may use.
pub(crate) struct Budget<'a> {
    /// How many nodes the stream has left.
    pub nodes: usize,
    pub limits: &'a YamlLimits,
}

/// An open collection, and what it expects next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    BlockItem,
    IndentlessItem,
    BlockKey,
    BlockValue,
    FlowFirstItem,
    FlowItem,
    FlowFirstKey,
    FlowKey,
    FlowValue,
    /// The one pair of a mapping without braces, inside of a flow sequence.
    PairValue,
    PairEnd,
}

struct Open {
    node: NodeId,
    expect: Expect,
    /// Nodes in it after aliases are expanded.
    expanded: usize,
}

/// Where a node may stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Anything may begin here.
    Block,
    /// A block sequence may stand at its parent's column, too.
    BlockOrIndentless,
    /// No block collection may begin here.
    Inline,
}

struct Builder<'a> {
    source: &'a str,
    tokens: &'a [Token],
    at: usize,
    /// The token whose block mapping or sequence was opened already.
    entered: usize,
    tree: Tree,
    stack: Vec<Open>,
    anchors: HashMap<&'a str, Anchored>,
    budget: &'a Budget<'a>,
    /// Nodes that aliases stand for.
    aliased: usize,
    /// The comments, where there are any.
    queue: Option<Queue>,
    /// How many head comments stand before the dash of the item that is read.
    stem: usize,
}

struct Anchored {
    node: NodeId,
    /// Nodes below it after expansion; unknown while it is open.
    expanded: Option<usize>,
}

/// Builds the tree of one document from its tokens.
pub(crate) fn build(
    source: &str,
    span: Span,
    tokens: &[Token],
    comments: &[Span],
    budget: &Budget<'_>,
) -> Result<Tree, Fail> {
    let marker =
        tokens.iter().find(|token| token.kind == TokenKind::DocumentStart).map(|token| token.span.start);
    let queue = (!comments.is_empty()).then(|| Queue::collect(source, span, marker, tokens, comments));
    let tree = Tree { nodes: Vec::with_capacity(tokens.len().min(budget.nodes)), ..Tree::bare(span) };
    let builder = Builder {
        source,
        tokens,
        at: 0,
        entered: usize::MAX,
        tree,
        stack: Vec::new(),
        anchors: HashMap::new(),
        budget,
        aliased: 0,
        queue,
        stem: 0,
    };
    builder.run()
}

impl<'a> Builder<'a> {
    fn run(mut self) -> Result<Tree, Fail> {
        self.prologue()?;
        self.document_head();
        let start = match self.tree.start_mark {
            NOWHERE => self.peek().span.start,
            mark => mark + 3,
        };
        if self.ends_document() {
            self.scalar_at(start, Link::NONE, NOWHERE)?;
        } else {
            self.node(Place::Block, Link::NONE, NOWHERE)?;
        }
        while let Some(open) = self.stack.last() {
            let (node, expect) = (open.node, open.expect);
            self.step(node, expect)?;
        }
        if !self.ends_document() {
            return Err(self
                .unexpected("the document is complete before this")
                .hint("check the indentation, or quote the text"));
        }
        let last = self.take();
        if last.kind == TokenKind::DocumentEnd {
            self.tree.end_mark = last.span.start;
        }
        self.document_foot();
        self.tree.nodes.shrink_to_fit();
        Ok(self.tree)
    }

    // ---- open collections

    fn step(&mut self, node: NodeId, expect: Expect) -> Result<(), Fail> {
        match expect {
            Expect::BlockItem | Expect::IndentlessItem => self.block_item(node, expect),
            Expect::BlockKey => self.block_key(node),
            Expect::BlockValue => {
                self.expect(Expect::BlockKey);
                self.value(node, Place::BlockOrIndentless)
            }
            Expect::FlowFirstItem | Expect::FlowItem => self.flow_item(node, expect),
            Expect::FlowFirstKey | Expect::FlowKey => self.flow_key(node, expect),
            Expect::FlowValue => {
                self.expect(Expect::FlowKey);
                self.value(node, Place::Inline)
            }
            Expect::PairValue => {
                self.expect(Expect::PairEnd);
                self.value(node, Place::Inline)
            }
            Expect::PairEnd => {
                self.close(None);
                Ok(())
            }
        }
    }

    fn block_item(&mut self, node: NodeId, expect: Expect) -> Result<(), Fail> {
        let token = self.peek();
        if token.kind == TokenKind::BlockEntry && !self.flags().has(Flags::SEQUENCE) {
            let mark = self.take().span;
            if self.ends_block_node() {
                return self.scalar_at(mark.end, node.into(), mark.start);
            }
            self.stem = self.queue.as_ref().map_or(0, |queue| queue.waiting.head.len());
            return self.node(Place::Block, node.into(), mark.start);
        }
        if expect != Expect::IndentlessItem {
            if token.kind != TokenKind::BlockEnd {
                return Err(self
                    .unexpected("a list item, or less indentation, is expected here")
                    .hint("begin each item with \"- \" in the same column"));
            }
            self.take();
        }
        self.close(None);
        Ok(())
    }

    fn block_key(&mut self, node: NodeId) -> Result<(), Fail> {
        let token = self.peek();
        let flags = self.flags();
        if token.kind == TokenKind::BlockEnd {
            self.take();
            self.comment_end(node);
            self.close(None);
            return Ok(());
        }
        if flags.has(Flags::MAPPING) {
            return Err(self.unexpected("this key is indented deeper than the keys before it"));
        }
        self.expect(Expect::BlockValue);
        if token.kind == TokenKind::ExplicitKey {
            let mark = self.take().span;
            if self.ends_block_node() {
                return self.scalar_at(mark.end, node.into(), mark.start);
            }
            return self.node(Place::BlockOrIndentless, node.into(), mark.start);
        }
        if token.kind == TokenKind::Value {
            return self.scalar_at(token.span.start, node.into(), NOWHERE);
        }
        if flags.has(Flags::KEY) {
            return self.node(Place::Inline, node.into(), NOWHERE);
        }
        Err(self
            .unexpected("a key with a colon, or less indentation, is expected here")
            .hint("check the indentation; text that goes over lines must be indented deeper than its key"))
    }

    /// The value of the key that was read last, empty if there is no colon.
    fn value(&mut self, node: NodeId, place: Place) -> Result<(), Fail> {
        if self.peek().kind != TokenKind::Value || self.flags().has(Flags::MAPPING) {
            let end = self.tree.node(node).last.get().map_or(0, |key| self.tree.node(key).span.end);
            return self.scalar_at(end, node.into(), NOWHERE);
        }
        let mark = self.take().span;
        let ends = match place {
            Place::Inline => self.ends_flow_node(),
            Place::Block | Place::BlockOrIndentless => self.ends_block_node(),
        };
        if ends {
            return self.scalar_at(mark.end, node.into(), mark.start);
        }
        self.node(place, node.into(), mark.start)
    }

    /// Takes the comma before an entry that is not the first, and the end of the collection; tells whether it ended.
    fn flow_separator(&mut self, expect: Expect, end: TokenKind) -> Result<bool, Fail> {
        if !matches!(expect, Expect::FlowFirstItem | Expect::FlowFirstKey) {
            if self.peek().kind == TokenKind::FlowEntry {
                self.take();
            } else if self.peek().kind != end {
                return Err(self.unexpected("a comma or the closing bracket is expected here"));
            }
        }
        if self.peek().kind == end {
            let span = self.take().span;
            if let Some(open) = self.stack.last() {
                self.comment_end(open.node);
            }
            self.close(Some(span.end));
            return Ok(true);
        }
        Ok(false)
    }

    fn flow_item(&mut self, node: NodeId, expect: Expect) -> Result<(), Fail> {
        if self.flow_separator(expect, TokenKind::FlowSequenceEnd)? {
            return Ok(());
        }
        self.expect(Expect::FlowItem);
        let token = self.peek();
        let implicit = self.flags().has(Flags::KEY);
        if !implicit && !matches!(token.kind, TokenKind::ExplicitKey | TokenKind::Value) {
            return self.node(Place::Inline, node.into(), NOWHERE);
        }
        let pair = self.push_node(Kind::Mapping, Style::Flow, token.span.start, node.into(), NOWHERE)?;
        self.open(pair, Expect::PairValue);
        self.flow_key_node(pair, token)
    }

    fn flow_key(&mut self, node: NodeId, expect: Expect) -> Result<(), Fail> {
        if self.flow_separator(expect, TokenKind::FlowMappingEnd)? {
            return Ok(());
        }
        self.expect(Expect::FlowValue);
        let token = self.peek();
        self.flow_key_node(node, token)
    }

    fn flow_key_node(&mut self, node: NodeId, token: Token) -> Result<(), Fail> {
        if token.kind == TokenKind::ExplicitKey {
            self.take();
            if self.ends_flow_node() {
                return self.scalar_at(token.span.end, node.into(), token.span.start);
            }
            return self.node(Place::Inline, node.into(), token.span.start);
        }
        if token.kind == TokenKind::Value {
            return self.scalar_at(token.span.start, node.into(), NOWHERE);
        }
        self.node(Place::Inline, node.into(), NOWHERE)
    }

    // ---- nodes

    /// Reads properties, then a scalar or alias, or opens a collection.
    fn node(&mut self, place: Place, parent: Link, mark: u32) -> Result<(), Fail> {
        let stem = std::mem::take(&mut self.stem);
        let (properties, anchor) = self.properties()?;
        let stem = if properties.is_some() { 0 } else { stem };
        let token = self.peek();
        let flags = self.flags();
        let start = token.span.start;
        if flags.has(Flags::MAPPING) {
            if place == Place::Inline {
                return Err(self.unexpected("a block mapping cannot begin here"));
            }
            let id = self.push_node(Kind::Mapping, Style::Block, start, parent, mark)?;
            self.tree.node_mut(id).column = token.column;
            self.entered = self.at;
            self.comment_stem(id, stem);
            self.open(id, Expect::BlockKey);
            self.finish_node(id, properties, anchor, None);
            return Ok(());
        }
        // The key flag of a key that has properties is on the first of them.
        let left_out = flags.has(Flags::KEY) || self.ends_block_node() || self.ends_flow_node();
        if left_out && let Some(properties) = &properties {
            let end = properties.span.end;
            let id = self.push_node(Kind::Scalar, Style::Plain, end, parent, mark)?;
            self.finish_node(id, Some(properties.clone()), anchor, Some(1));
            return Ok(());
        }
        match token.kind {
            TokenKind::Plain
            | TokenKind::SingleQuoted
            | TokenKind::DoubleQuoted
            | TokenKind::Literal
            | TokenKind::Folded => {
                self.take();
                let id = self.push_node(Kind::Scalar, scalar_style(token.kind), start, parent, mark)?;
                let node = self.tree.node_mut(id);
                node.span = token.span;
                node.facts.put(Fact::Cooked, flags.has(Flags::COOKED));
                node.column = token.column;
                self.comment_node(id);
                self.finish_node(id, properties, anchor, Some(1));
                Ok(())
            }
            TokenKind::Alias => {
                if let Some(properties) = properties {
                    return Err(Fail::syntax(
                        properties.span.start as usize,
                        "an alias cannot have an anchor or a tag",
                    ));
                }
                self.alias(token, parent, mark)
            }
            TokenKind::FlowSequenceStart | TokenKind::FlowMappingStart => {
                self.take();
                let (kind, expect) = if token.kind == TokenKind::FlowSequenceStart {
                    (Kind::Sequence, Expect::FlowFirstItem)
                } else {
                    (Kind::Mapping, Expect::FlowFirstKey)
                };
                let id = self.push_node(kind, Style::Flow, start, parent, mark)?;
                self.comment_node(id);
                self.open(id, expect);
                self.finish_node(id, properties, anchor, None);
                Ok(())
            }
            TokenKind::BlockEntry
                if place != Place::Inline
                    && (flags.has(Flags::SEQUENCE) || place == Place::BlockOrIndentless) =>
            {
                let id = self.push_node(Kind::Sequence, Style::Block, start, parent, mark)?;
                let indentless = !flags.has(Flags::SEQUENCE);
                let column = parent.get().map_or(0, |parent| self.tree.node(parent).column);
                self.tree.node_mut(id).column = if indentless { column } else { token.column };
                self.entered = self.at;
                if !indentless {
                    self.comment_stem(id, stem);
                }
                self.open(id, if indentless { Expect::IndentlessItem } else { Expect::BlockItem });
                self.finish_node(id, properties, anchor, None);
                Ok(())
            }
            TokenKind::Directive
            | TokenKind::DocumentStart
            | TokenKind::DocumentEnd
            | TokenKind::BlockEntry
            | TokenKind::ExplicitKey
            | TokenKind::Value
            | TokenKind::BlockEnd
            | TokenKind::FlowSequenceEnd
            | TokenKind::FlowMappingEnd
            | TokenKind::FlowEntry
            | TokenKind::Anchor
            | TokenKind::Tag
            | TokenKind::StreamEnd => Err(self.unexpected("content is expected here")),
        }
    }

    fn push_node(
        &mut self,
        kind: Kind,
        style: Style,
        start: u32,
        parent: Link,
        mark: u32,
    ) -> Result<NodeId, Fail> {
        if self.tree.nodes.len() >= self.budget.nodes {
            return Err(Fail::limit(start as usize, "max_nodes", self.budget.limits.max_nodes));
        }
        let id = self.tree.add(kind, style);
        let node = self.tree.node_mut(id);
        (node.state, node.span, node.mark) = (State::Clean, Span { start, end: start }, mark);
        if let Some(parent) = parent.get() {
            self.tree.append(parent, id);
        }
        Ok(id)
    }

    /// Gives the node its properties; counts it when it is complete (`expanded`).
    #[allow(clippy::cast_possible_truncation, reason = "there are fewer properties than nodes")]
    fn finish_node(
        &mut self,
        id: NodeId,
        properties: Option<Properties>,
        anchor: Option<&'a str>,
        expanded: Option<usize>,
    ) {
        if let Some(properties) = properties {
            self.tree.node_mut(id).properties = self.tree.properties.len() as u32;
            self.tree.properties.push(properties);
        }
        if let Some(name) = anchor {
            self.anchors.insert(name, Anchored { node: id, expanded });
        }
        if let (Some(expanded), Some(open)) = (expanded, self.stack.last_mut()) {
            open.expanded = open.expanded.saturating_add(expanded);
        }
    }

    fn scalar_at(&mut self, offset: u32, parent: Link, mark: u32) -> Result<(), Fail> {
        let id = self.push_node(Kind::Scalar, Style::Plain, offset, parent, mark)?;
        self.finish_node(id, None, None, Some(1));
        Ok(())
    }

    // ---- the stack

    fn open(&mut self, node: NodeId, expect: Expect) {
        self.stack.push(Open { node, expect, expanded: 1 });
    }

    fn expect(&mut self, expect: Expect) {
        if let Some(open) = self.stack.last_mut() {
            open.expect = expect;
        }
    }

    /// Closes the innermost collection. Block collections end with their last child.
    fn close(&mut self, end: Option<u32>) {
        let Some(open) = self.stack.pop() else { return };
        let last = self.tree.node(open.node).last.get();
        let end = end.unwrap_or_else(|| {
            last.map_or(self.tree.node(open.node).span.start, |last| {
                let last = self.tree.node(last);
                if last.mark == NOWHERE { last.span.end } else { last.span.end.max(last.mark + 1) }
            })
        });
        self.tree.node_mut(open.node).span.end = end;
        if let Some(outer) = self.stack.last_mut() {
            outer.expanded = outer.expanded.saturating_add(open.expanded);
        }
        let anchor = self.tree.properties(open.node).and_then(|properties| properties.anchor.as_deref());
        let anchored = anchor.and_then(|name| self.anchors.get_mut(name));
        if let Some(anchored) = anchored.filter(|anchored| anchored.node == open.node) {
            anchored.expanded = Some(open.expanded);
        }
    }

    // ---- tokens

    fn peek(&self) -> Token {
        self.tokens.get(self.at).copied().unwrap_or(Token {
            kind: TokenKind::StreamEnd,
            flags: Flags::default(),
            span: Span { start: self.tree.span.end, end: self.tree.span.end },
            column: 0,
        })
    }

    /// The flags of the next token, without the collection that was opened for it already.
    fn flags(&self) -> Flags {
        let flags = self.peek().flags;
        if self.entered == self.at { flags.without_start() } else { flags }
    }

    fn take(&mut self) -> Token {
        let token = self.peek();
        if let Some(queue) = &mut self.queue {
            queue.reach(&token);
        }
        self.at += 1;
        token
    }

    fn ends_document(&self) -> bool {
        matches!(self.peek().kind, TokenKind::StreamEnd | TokenKind::DocumentEnd)
    }

    /// Whether a node that is expected in a block collection is left out.
    fn ends_block_node(&self) -> bool {
        let flags = self.flags();
        match self.peek().kind {
            TokenKind::BlockEnd | TokenKind::StreamEnd | TokenKind::DocumentEnd => true,
            TokenKind::ExplicitKey | TokenKind::Value => !flags.has(Flags::MAPPING),
            TokenKind::BlockEntry => !flags.has(Flags::SEQUENCE) && !self.may_be_indentless(),
            TokenKind::Directive
            | TokenKind::DocumentStart
            | TokenKind::FlowSequenceStart
            | TokenKind::FlowSequenceEnd
            | TokenKind::FlowMappingStart
            | TokenKind::FlowMappingEnd
            | TokenKind::FlowEntry
            | TokenKind::Anchor
            | TokenKind::Alias
            | TokenKind::Tag
            | TokenKind::Plain
            | TokenKind::SingleQuoted
            | TokenKind::DoubleQuoted
            | TokenKind::Literal
            | TokenKind::Folded => flags.has(Flags::KEY) && !flags.has(Flags::MAPPING),
        }
    }

    /// Whether a dash here would begin a sequence at its parent's column: only behind the key of a block mapping.
    fn may_be_indentless(&self) -> bool {
        self.stack.last().is_some_and(|open| matches!(open.expect, Expect::BlockKey | Expect::BlockValue))
    }

    fn ends_flow_node(&self) -> bool {
        matches!(
            self.peek().kind,
            TokenKind::FlowEntry | TokenKind::FlowSequenceEnd | TokenKind::FlowMappingEnd | TokenKind::Value
        ) && !self.flags().has(Flags::MAPPING)
    }

    fn unexpected(&self, message: &'static str) -> Fail {
        Fail::syntax(self.peek().span.start as usize, message)
    }
}

/// The style of a scalar; what is none counts as plain.
fn scalar_style(kind: TokenKind) -> Style {
    match kind {
        TokenKind::SingleQuoted => Style::SingleQuoted,
        TokenKind::DoubleQuoted => Style::DoubleQuoted,
        TokenKind::Literal => Style::Literal,
        TokenKind::Folded => Style::Folded,
        TokenKind::Plain
        | TokenKind::Directive
        | TokenKind::DocumentStart
        | TokenKind::DocumentEnd
        | TokenKind::BlockEntry
        | TokenKind::ExplicitKey
        | TokenKind::Value
        | TokenKind::BlockEnd
        | TokenKind::FlowSequenceStart
        | TokenKind::FlowSequenceEnd
        | TokenKind::FlowMappingStart
        | TokenKind::FlowMappingEnd
        | TokenKind::FlowEntry
        | TokenKind::Anchor
        | TokenKind::Alias
        | TokenKind::Tag
        | TokenKind::StreamEnd => Style::Plain,
    }
}
