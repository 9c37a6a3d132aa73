//! Styles and comments.

use std::sync::Arc;

use super::proof::KeptComments;
use super::{CommentPlace, Error, NodeMut};
use crate::content::Content;
use crate::emit;
use crate::extent::Extents;
use crate::scalar::Resolved;
use crate::syntax;
use crate::syntax::token::{Cover, Span};
use crate::tree::{Comments, Fact, Kind, NOWHERE, NodeId, State, Style};

/// Why the line comment of such a collection has no place.
const NO_LINE: &str = "a block collection that is no value of a key has no line of its own";

impl NodeMut<'_> {
    /// Asks for another style. A string takes it where its text allows, other scalars keep theirs; an empty collection or one that is new takes
    /// it, too; a collection that stands in the source is written anew.
    ///
    /// # Errors
    /// [`Error::WrongKind`] when a collection style is asked of a scalar, or the other way round.
    pub fn set_style(&mut self, style: Style) -> Result<(), Error> {
        self.proved(KeptComments::Stay, |node| node.change_style(style))
    }

    /// [`NodeMut::set_style`], as a part of an edit.
    pub(super) fn change_style(&mut self, style: Style) -> Result<(), Error> {
        let of_collection = matches!(style, Style::Block | Style::Flow);
        let found = self.read().kind();
        let fits = match found {
            Kind::Mapping | Kind::Sequence => of_collection,
            Kind::Scalar => !of_collection,
            Kind::Alias => false,
        };
        if !fits {
            let needed = if of_collection { Kind::Mapping } else { Kind::Scalar };
            return Err(Error::WrongKind { needed, found });
        }
        if self.read().style() == style {
            return Ok(());
        }
        if of_collection {
            return self.set_collection_style(style);
        }
        self.set_scalar_style(style);
        Ok(())
    }

    fn set_collection_style(&mut self, style: Style) -> Result<(), Error> {
        let id = self.id;
        if self.read().is_empty() || self.is_inside_flow() && style == Style::Block {
            return Ok(());
        }
        let tree = &self.document.tree;
        let below = tree.subtree(id);
        let named = |id: &NodeId| {
            *id != self.id && tree.properties(*id).is_some_and(|properties| properties.anchor.is_some())
        };
        let collection_key =
            |id: &NodeId| tree.node(*id).is(Fact::Key) && tree.node(*id).kind != Kind::Scalar;
        if below.iter().any(collection_key) && below.iter().any(|id| tree.comments(*id).is_some()) {
            return Err(Error::NoPlaceForComment("it has keys that are collections"));
        }
        if below.iter().any(|id| tree.node(*id).kind == Kind::Alias || named(id)) {
            return Err(Error::HasAnchors);
        }
        let commented = |below: &NodeId| {
            let texts = [CommentPlace::Head, CommentPlace::Line, CommentPlace::Foot]
                .map(|place| emit::comment_text(&self.document.source, tree.comment(*below, place)));
            *below != id && texts.iter().any(Option::is_some)
        };
        if style == Style::Flow && below.iter().any(commented) {
            return Err(Error::NoPlaceForComment("brackets have none for the comments inside of it"));
        }
        let line = emit::comment_text(&self.document.source, tree.comment(id, CommentPlace::Line));
        if style == Style::Block && line.is_some() && !self.read().is_in_mapping() {
            return Err(Error::NoPlaceForComment(NO_LINE));
        }
        let extents = Extents::new(&self.document.source, tree);
        let keeps = tree.keeps_properties(id, &self.document.source, None);
        let place = if keeps { extents.content_place(id) } else { extents.place(id) };
        let content = Content::detached(self.read(), Some(place))?;
        if tree.node(id).state != State::New {
            let comments = syntax::comments_within(&self.document.source, tree.span, place);
            let copied = below.iter().filter(|below| **below != id).filter_map(|id| tree.comments(*id));
            let homes = Cover::new(copied.flat_map(Comments::spans).collect());
            if !comments.iter().all(|comment| homes.holds(*comment)) {
                return Err(Error::NoPlaceForComment(
                    "a comment inside of it belongs to none of its entries",
                ));
            }
        }
        self.replace(&content)?;
        self.tree().node_mut(id).style = style;
        Ok(())
    }

    fn set_scalar_style(&mut self, style: Style) {
        if self.read().resolved() != Resolved::Str {
            // In quotes a number would become a string.
            return;
        }
        let text = self.read().value().into_owned();
        let id = self.id;
        let tree = self.tree();
        let text = tree.add_text(&text);
        let node = tree.node_mut(id);
        (node.text, node.style) = (text, style);
        node.facts.put(Fact::String, true);
        tree.touch(id);
    }

    /// Sets one of the node's comments; an empty text removes it. For the entry of a mapping, head and foot belong to
    /// the key, see [`NodeMut::set_key_comment`].
    ///
    /// # Errors
    /// [`Error::NotAComment`] when a line does not begin with `#`.
    pub fn set_comment(&mut self, place: CommentPlace, text: &str) -> Result<(), Error> {
        self.proved(KeptComments::MayGo, |node| node.put_comment(place, text))
    }

    /// [`NodeMut::set_comment`], as a part of an edit.
    pub(super) fn put_comment(&mut self, place: CommentPlace, text: &str) -> Result<(), Error> {
        check_text(text)?;
        self.check_comment_place(place)?;
        self.write_comment(place, text);
        Ok(())
    }

    /// Sets a comment that can stand there.
    pub(super) fn write_comment(&mut self, place: CommentPlace, text: &str) {
        let source = Arc::clone(&self.document.source);
        let above: Vec<NodeId> =
            std::iter::successors(self.read().parent(), |node| node.parent()).map(|node| node.id).collect();
        let tree = self.tree();
        for collection in above {
            tree.hand_up_comment(collection, &source);
        }
        let id = if place == CommentPlace::Line { self.owner_of_line() } else { self.id };
        let tree = self.tree();
        if place == CommentPlace::Line {
            if tree.is_left_out(id) {
                tree.claim_comment(id, &source);
            }
            tree.drop_other_parts(id, &source);
        }
        let text = if place == CommentPlace::Line {
            text.lines().collect::<Vec<_>>().join(" ")
        } else {
            text.trim_end().to_owned()
        };
        tree.set_comment(id, place, &text);
        tree.touch_comment(id);
    }

    /// Puts a comment that was set on the line of the root above it, where the root became a block, which has no such line.
    /// It stays on the line of a `---` that the root stood beside.
    pub(super) fn lift_line_comment(&mut self) {
        let node = self.read();
        let has_line = node.parent().is_some() || node.style() != Style::Block || node.is_empty();
        let tree = &self.document.tree;
        let set = tree.comment(self.id, CommentPlace::Line).filter(|line| !has_line && line.span.is_empty());
        let Some(line) = emit::comment_text(&self.document.source, set) else { return };
        let head = node.head_comment().map_or(line.clone(), |head| format!("{head}\n{line}"));
        if self.check_comment_place(CommentPlace::Head).is_err() {
            return;
        }
        let id = self.id;
        self.tree().set_comment(id, CommentPlace::Line, "");
        self.tree().set_comment(id, CommentPlace::Head, &head);
    }

    pub(super) fn is_inside_flow(&self) -> bool {
        std::iter::successors(self.read().parent(), |node| node.parent())
            .any(|node| node.style() == Style::Flow)
    }

    /// The node whose line comment stands on the line of this one: itself, or the key of a value that has none.
    fn owner_of_line(&self) -> NodeId {
        let node = self.read();
        let tree = &self.document.tree;
        let Some(key) = node.key().filter(|_| !tree.has_or_gets_line_comment(self.id)) else {
            return self.id;
        };
        // The line of a block collection is that of its key.
        let is_below = node.style() == Style::Block && !node.is_empty();
        let is_beside = tree.has_line_comment(key.id) && node.stands_before_line_of(key);
        if is_below || is_beside { key.id } else { self.id }
    }

    pub(super) fn check_comment_place(&self, place: CommentPlace) -> Result<(), Error> {
        let node = self.read();
        if self.is_inside_flow() {
            return Err(Error::NoPlaceForComment("it is inside of a flow collection"));
        }
        let is_value = node.is_in_mapping();
        let raw = self.document.tree.node(self.id);
        let no_colon = is_value && !raw.is(Fact::Key) && raw.mark == NOWHERE && raw.state < State::Edited;
        if place == CommentPlace::Line && no_colon {
            return Err(Error::NoPlaceForComment("it is the value of a key without a colon"));
        }
        let has_no_line = node.style() == Style::Block && !node.is_empty() && !is_value;
        if place == CommentPlace::Line && has_no_line {
            return Err(Error::NoPlaceForComment(NO_LINE));
        }
        let range = node.source_range().unwrap_or_default();
        let extents = Extents::new(&self.document.source, &self.document.tree);
        let shares_line = node.parent().is_none() && !extents.begins_line(Span::new(range.start, 0).start);
        if place == CommentPlace::Head && shares_line {
            return Err(Error::NoPlaceForComment("it shares its line with the marker of the document"));
        }
        let root_is_text = node.parent().is_none() && matches!(node.style(), Style::Literal | Style::Folded);
        if place == CommentPlace::Foot && root_is_text {
            return Err(Error::NoPlaceForComment("it would be read as text of the block scalar"));
        }
        Ok(())
    }

    /// Sets a comment of the key of a pair, where head and foot comments of a pair belong.
    ///
    /// # Errors
    /// [`Error::NoSuchKey`], [`Error::WrongKind`], [`Error::NotAComment`].
    pub fn set_key_comment(&mut self, key: &str, place: CommentPlace, text: &str) -> Result<(), Error> {
        self.need(Kind::Mapping)?;
        if self.read().own_entry(key).is_none() {
            return Err(Error::NoSuchKey(key.into()));
        }
        check_text(text)?;
        if self.read().target().style() == Style::Flow || self.is_inside_flow() {
            return Err(Error::NoPlaceForComment("it is inside of a flow collection"));
        }
        self.proved(KeptComments::MayGo, |mapping| {
            mapping.expand()?;
            let Some((name, value)) = mapping.read().own_entry(key) else {
                return Err(Error::NoSuchKey(key.into()));
            };
            // What shares the key's line is commented behind it.
            let below = value.style() == Style::Block && !value.is_empty();
            let beside = !below || mapping.document.tree.has_or_gets_line_comment(value.id);
            let id = if place == CommentPlace::Line && beside { value.id } else { name.id };
            NodeMut { document: mapping.document, id }.put_comment(place, text)
        })
    }
}

/// Refuses lines that are no comment, and characters that no text may hold.
fn check_text(text: &str) -> Result<(), Error> {
    let breaks = ['\r', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}', '\u{fffe}', '\u{ffff}'];
    if let Some(line) =
        text.lines().find(|line| !line.is_empty() && !line.starts_with('#') || line.contains(breaks))
    {
        return Err(Error::NotAComment(line.into()));
    }
    match text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        Some(bad) => Err(Error::NotAComment(bad.escape_default().to_string())),
        None => Ok(()),
    }
}
