//! What stands before nodes: directives, anchors and tags; and aliases, which stand for nodes.

use super::Builder;
use crate::error::Cause;
use crate::syntax::Fail;
use crate::syntax::token::{Flags, Span, Token, TokenKind};
use crate::tree::{Kind, Link, Properties, Style, TagHandle};

impl<'a> Builder<'a> {
    /// The directives and the marker that a document begins with.
    pub(super) fn prologue(&mut self) -> Result<(), Fail> {
        let mut version_seen = false;
        let mut handles = Vec::new();
        while self.peek().kind == TokenKind::Directive {
            let token = self.take();
            let words: Vec<&str> = token.span.of(self.source).split_ascii_whitespace().collect();
            match words.as_slice() {
                ["%YAML", version] if !version_seen && is_version(version) => version_seen = true,
                ["%YAML", ..] => {
                    return Err(Fail::syntax(
                        token.span.start as usize,
                        "a %YAML directive names a version 1 of YAML, once, as in \"%YAML 1.2\"",
                    ));
                }
                ["%TAG", handle, prefix] => {
                    let text = token.span.of(self.source);
                    let blanks = text["%TAG".len()..].len() - text["%TAG".len()..].trim_ascii_start().len();
                    let first = token.span.start as usize + "%TAG".len() + blanks;
                    let last = token.span.start as usize + text.trim_ascii_end().len();
                    handles.push(TagHandle {
                        handle: Span::new(first, first + handle.len()),
                        prefix: Span::new(last - prefix.len(), last),
                    });
                }
                ["%TAG", ..] => {
                    return Err(Fail::syntax(
                        token.span.start as usize,
                        "a %TAG directive names a handle and a prefix",
                    ));
                }
                _ => {}
            }
        }
        self.tree.tag_handles = self.sorted(handles)?;
        let directives = self.at > 0;
        if self.peek().kind == TokenKind::DocumentStart {
            self.tree.start_mark = self.take().span.start;
        } else if directives {
            return Err(
                self.unexpected("a directive must be followed by a document that begins with \"---\"")
            );
        }
        Ok(())
    }

    /// The tag handles in an order in which one is found quickly. None may be declared twice.
    fn sorted(&self, mut handles: Vec<TagHandle>) -> Result<Vec<TagHandle>, Fail> {
        // Stable: of two equal ones the second is to blame.
        handles.sort_by_key(|tag| tag.handle.of(self.source));
        let twice =
            handles.windows(2).filter(|two| two[0].handle.of(self.source) == two[1].handle.of(self.source));
        match twice.map(|two| two[1].handle.start).min() {
            Some(at) => Err(Fail::syntax(at as usize, "this tag handle is declared twice")),
            None => Ok(handles),
        }
    }

    pub(super) fn alias(&mut self, token: Token, parent: Link, mark: u32) -> Result<(), Fail> {
        self.take();
        let name = &token.span.of(self.source)[1..];
        let Some(anchored) = self.anchors.get(name) else {
            return Err(Fail {
                offset: token.span.start as usize,
                cause: Cause::UnknownAnchor(name.into()),
                hint: None,
            });
        };
        let (target, expanded) = (anchored.node, anchored.expanded.unwrap_or(1));
        let id = self.push_node(Kind::Alias, Style::Plain, token.span.start, parent, mark)?;
        let node = self.tree.node_mut(id);
        node.span = token.span;
        node.last = target.into();
        self.comment_node(id);
        self.tree.has_aliases = true;
        self.count(expanded, token.span.start)
    }

    /// Anchor and tag before a node, in either order.
    pub(super) fn properties(&mut self) -> Result<(Option<Properties>, Option<&'a str>), Fail> {
        let mut found: Option<Properties> = None;
        let mut anchor = None;
        loop {
            let token = self.peek();
            if !matches!(token.kind, TokenKind::Anchor | TokenKind::Tag) {
                return Ok((found, anchor));
            }
            if self.flags().has(Flags::MAPPING) || found.is_some() && self.flags().has(Flags::KEY) {
                return Ok((found, anchor));
            }
            self.take();
            let text = token.span.of(self.source);
            let properties =
                found.get_or_insert_with(|| Properties { span: token.span, ..Properties::default() });
            properties.span.end = token.span.end;
            let slot = if token.kind == TokenKind::Anchor {
                anchor = Some(&text[1..]);
                (&mut properties.anchor, &text[1..])
            } else {
                (&mut properties.tag, text)
            };
            if slot.0.is_some() {
                return Err(Fail::syntax(
                    token.span.start as usize,
                    "a node can have one anchor and one tag",
                ));
            }
            *slot.0 = Some(slot.1.into());
            if token.kind == TokenKind::Tag {
                self.check_tag(text, token.span.start)?;
            }
        }
    }

    /// Refuses a tag whose handle was not declared.
    fn check_tag(&self, text: &str, offset: u32) -> Result<(), Fail> {
        let handle = TagHandle::of(text);
        let needs_none = text.starts_with("!<") || matches!(handle, "!" | "!!");
        if needs_none || self.tree.tag_prefix(self.source, handle).is_some() {
            return Ok(());
        }
        Err(Fail::syntax(offset as usize, format!("the tag handle \"{handle}\" is not declared"))
            .hint("declare it with %TAG before \"---\""))
    }

    /// Counts what the alias at `offset` stands for. The total only grows, so that nothing is missed by closing collections.
    fn count(&mut self, expanded: usize, offset: u32) -> Result<(), Fail> {
        if let Some(open) = self.stack.last_mut() {
            open.expanded = open.expanded.saturating_add(expanded);
        }
        self.aliased = self.aliased.saturating_add(expanded);
        let limit = self.budget.limits.max_expanded_nodes;
        if self.aliased.saturating_add(self.tree.nodes.len()) > limit {
            return Err(Fail::limit(offset as usize, "max_expanded_nodes", limit));
        }
        Ok(())
    }
}

/// YAML 1, of any minor version.
fn is_version(text: &str) -> bool {
    let minor = text.strip_prefix("1.").unwrap_or("");
    !minor.is_empty() && minor.bytes().all(|byte| byte.is_ascii_digit())
}
