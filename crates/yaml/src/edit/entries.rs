//! Adding, removing, renaming and reordering the entries of collections.

use std::sync::Arc;

use super::proof::KeptComments;
use super::{Error, NodeMut};
use crate::content::Content;
use crate::extent::Extents;
use crate::tree::{Entry, Fact, Kind, Link, NodeId, State, Style};

/// Where an item is added.
#[derive(Clone, Copy)]
enum Place {
    Last,
    Before(usize),
}

/// Where a pair is added.
#[derive(Clone, Copy)]
pub(super) enum Spot<'a> {
    Last,
    Before(usize),
    /// Behind the pair with that key, or behind all when there is none.
    Behind(&'a str),
}

impl NodeMut<'_> {
    /// Sets the value of a key, which is added behind the last one when the mapping does not have it.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no mapping (an absent value becomes one), [`Error::Copy`].
    pub fn insert(&mut self, key: &str, content: impl Into<Content>) -> Result<(), Error> {
        let content = content.into();
        self.proved(KeptComments::MayGo, |mapping| {
            mapping.check_fits(&content)?;
            mapping.become_collection(Kind::Mapping)?;
            match mapping.read().own_entry(key).map(|(_, value)| value.id) {
                Some(id) => NodeMut { document: mapping.document, id }.set_value(&content),
                None => mapping.insert_entry(key, &content, Spot::Last).map(|_| ()),
            }
        })
    }

    /// Adds a pair before the one at `index`, or behind all when there are fewer.
    ///
    /// # Errors
    /// [`Error::KeyExists`], [`Error::WrongKind`], [`Error::Copy`].
    pub fn insert_at(&mut self, index: usize, key: &str, content: impl Into<Content>) -> Result<(), Error> {
        self.insert_new(Spot::Before(index), key, &content.into())
    }

    /// Adds a pair behind the one with the key `other`, or behind all when the mapping does not have it. Of a wide mapping
    /// this walks over nothing, which [`Self::insert_at`] does.
    ///
    /// # Errors
    /// [`Error::KeyExists`], [`Error::WrongKind`], [`Error::Copy`].
    pub fn insert_behind(
        &mut self,
        other: &str,
        key: &str,
        content: impl Into<Content>,
    ) -> Result<(), Error> {
        self.insert_new(Spot::Behind(other), key, &content.into())
    }

    fn insert_new(&mut self, spot: Spot<'_>, key: &str, content: &Content) -> Result<(), Error> {
        self.proved(KeptComments::Stay, |mapping| {
            mapping.check_fits(content)?;
            mapping.become_collection(Kind::Mapping)?;
            if mapping.read().own_entry(key).is_some() {
                return Err(Error::KeyExists(key.into()));
            }
            mapping.insert_entry(key, content, spot).map(|_| ())
        })
    }

    pub(super) fn insert_entry(
        &mut self,
        key: &str,
        content: &Content,
        spot: Spot<'_>,
    ) -> Result<NodeId, Error> {
        let id = self.id;
        let tree = &self.document.tree;
        let last = tree.node(id).last.get();
        let before = match spot {
            Spot::Before(0) => None,
            Spot::Before(index) => tree.children(id).nth(index.saturating_mul(2) - 1).or(last),
            Spot::Behind(other) => self.read().own_entry(other).map(|(_, value)| value.id).or(last),
            Spot::Last => last,
        };
        let values = self.read().entries().map(|(_, value)| value);
        let style = content.style_beside(values);
        let name = Content::string(key);
        let key_style = name.style_beside(self.read().entries().map(|(key, _)| key));
        let value = self.graft_below(content)?;
        let tree = self.tree();
        tree.node_mut(value).style = style;
        let name = name.graft(tree)?;
        tree.node_mut(name).style = key_style;
        let table = tree.tables.take(id);
        tree.link(id, before, name);
        tree.link(id, Some(name), value);
        tree.tables.put(id, table.map(|table| table.with_key(key, name)));
        tree.node_mut(name).facts.put(Fact::Key, true);
        tree.reshape(id);
        self.lift_line_comment();
        self.note_aliases();
        Ok(value)
    }

    /// Removes the first pair with that key, with its comments; tells whether there was one. Aliases of what is removed
    /// are expanded, see [`crate::Document::notes`].
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no mapping, [`Error::Copy`].
    pub fn remove(&mut self, key: &str) -> Result<bool, Error> {
        self.need(Kind::Mapping)?;
        if self.read().own_entry(key).is_none() {
            return Ok(false);
        }
        self.proved(KeptComments::MayGo, |mapping| {
            mapping.expand()?;
            let Some((first, last)) = mapping.read().own_entry(key) else { return Ok(false) };
            let (id, first, last) = (mapping.id, first.id, last.id);
            let table = mapping.tree().tables.take(id);
            mapping.cut(first, last)?;
            mapping.tree().tables.put(id, table.map(|table| table.without_key(key)));
            Ok(true)
        })
    }

    /// Gives a key another name; its value, its place and its comments stay.
    ///
    /// # Errors
    /// [`Error::NoSuchKey`], [`Error::KeyExists`], [`Error::WrongKind`].
    pub fn rename(&mut self, key: &str, to: &str) -> Result<(), Error> {
        self.need(Kind::Mapping)?;
        if key != to && self.read().own_entry(to).is_some() {
            return Err(Error::KeyExists(to.into()));
        }
        if self.read().own_entry(key).is_none() {
            return Err(Error::NoSuchKey(key.into()));
        }
        self.proved(KeptComments::Stay, |mapping| {
            mapping.expand()?;
            let Some(name) = mapping.read().own_entry(key).map(|(key, _)| key.id) else {
                return Err(Error::NoSuchKey(key.into()));
            };
            let id = mapping.id;
            let table = mapping.tree().tables.take(id);
            NodeMut { document: mapping.document, id: name }.set_value(&Content::string(to))?;
            let table = table.map(|table| table.without_key(key).with_key(to, name));
            mapping.tree().tables.put(id, table);
            Ok(())
        })
    }

    /// Adds an item behind the last one.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no list (an absent value becomes one), [`Error::Copy`].
    pub fn push(&mut self, content: impl Into<Content>) -> Result<(), Error> {
        let content = content.into();
        self.proved(KeptComments::Stay, |list| {
            list.check_fits(&content)?;
            list.become_collection(Kind::Sequence)?;
            list.add_item(Place::Last, &content)
        })
    }

    /// Adds an item before the one at `index`; at the end when `index` is the length.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::WrongKind`], [`Error::Copy`].
    pub fn insert_item(&mut self, index: usize, content: impl Into<Content>) -> Result<(), Error> {
        let content = content.into();
        self.proved(KeptComments::Stay, |list| {
            if !list.read().is_null() {
                list.need(Kind::Sequence)?;
            }
            if index.checked_sub(1).is_some_and(|before| list.read().at(before).is_none()) {
                return Err(Error::OutOfRange { index, len: list.read().len() });
            }
            list.check_fits(&content)?;
            list.become_collection(Kind::Sequence)?;
            list.add_item(Place::Before(index), &content)
        })
    }

    fn add_item(&mut self, place: Place, content: &Content) -> Result<(), Error> {
        let style = content.style_beside(self.read().items());
        let id = self.id;
        let before = match place {
            Place::Last => self.document.tree.node(id).last.get(),
            Place::Before(index) => {
                index.checked_sub(1).and_then(|before| self.read().at(before)).map(|item| item.id)
            }
        };
        let item = self.graft_below(content)?;
        let tree = self.tree();
        tree.node_mut(item).style = style;
        let table = tree.tables.take(id);
        tree.link(id, before, item);
        let index = match place {
            Place::Last => usize::MAX,
            Place::Before(index) => index,
        };
        let table = table.map(|table| table.with_item(index, item));
        tree.tables.put(id, table);
        tree.reshape(id);
        self.lift_line_comment();
        self.note_aliases();
        Ok(())
    }

    /// Removes an item with its comments; tells whether there was one. Aliases of what is removed are expanded, see
    /// [`crate::Document::notes`].
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no list, [`Error::Copy`].
    pub fn remove_item(&mut self, index: usize) -> Result<bool, Error> {
        self.need(Kind::Sequence)?;
        if self.read().at(index).is_none() {
            return Ok(false);
        }
        self.proved(KeptComments::MayGo, |list| {
            list.expand()?;
            let Some(item) = list.read().at(index).map(|item| item.id) else { return Ok(false) };
            let id = list.id;
            let table = list.tree().tables.take(id);
            list.cut(item, item)?;
            list.tree().tables.put(id, table.map(|table| table.without_item(index)));
            Ok(true)
        })
    }

    /// Puts the entries into another order: `order[i]` is the index of the entry that comes to place `i`. Each entry
    /// takes its comments along. Block scalars that keep all line breaks (`|+`) are quoted, since elsewhere they would
    /// take up blank lines that are not theirs.
    ///
    /// # Errors
    /// [`Error::NotAPermutation`], [`Error::WrongKind`] for scalars, [`Error::AliasBeforeAnchor`].
    pub fn reorder(&mut self, order: &[usize]) -> Result<(), Error> {
        let width = match self.read().target().kind() {
            Kind::Mapping => 2,
            Kind::Sequence => 1,
            found @ (Kind::Scalar | Kind::Alias) => {
                return Err(Error::WrongKind { needed: Kind::Sequence, found });
            }
        };
        let len = self.read().len();
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if sorted.len() != len || sorted.iter().enumerate().any(|(at, index)| at != *index) {
            return Err(Error::NotAPermutation { len });
        }
        if order.is_sorted() {
            return Ok(());
        }
        self.proved(KeptComments::Stay, |collection| collection.reorder_entries(order, width))
    }

    fn reorder_entries(&mut self, order: &[usize], width: usize) -> Result<(), Error> {
        self.expand()?;
        let id = self.id;
        let before: Vec<NodeId> = self.tree().children(id).collect();
        let after: Vec<NodeId> =
            order.iter().flat_map(|index| &before[index * width..(index + 1) * width]).copied().collect();
        self.set_children(&after);
        if let Some(alias) = self.document.tree.alias_before_anchor() {
            self.set_children(&before);
            return Err(Error::AliasBeforeAnchor(alias));
        }
        for child in before {
            self.quote_keeping_scalar(child)?;
        }
        self.tree().reshape(id);
        Ok(())
    }

    fn set_children(&mut self, children: &[NodeId]) {
        let id = self.id;
        let tree = self.tree();
        tree.tables.take(id);
        tree.node_mut(id).first = Link::NONE;
        tree.node_mut(id).last = Link::NONE;
        for child in children {
            tree.node_mut(*child).next = Link::NONE;
            tree.append(id, *child);
        }
    }

    /// Quotes the block scalar that an entry ends with, if it keeps all its line breaks.
    fn quote_keeping_scalar(&mut self, entry: NodeId) -> Result<(), Error> {
        let tree = &self.document.tree;
        let mut id = entry;
        while let (Style::Block, Some(last)) = (tree.node(id).style, tree.node(id).last.get()) {
            id = last;
        }
        let node = tree.node(id);
        let is_block = matches!(node.style, Style::Literal | Style::Folded) && node.state < State::Edited;
        let header = if is_block { node.span.of(&self.document.source) } else { "" };
        let keeps = header.split(['\n', '\r', '#']).next().is_some_and(|header| header.contains('+'));
        if keeps { NodeMut { document: self.document, id }.change_style(Style::DoubleQuoted) } else { Ok(()) }
    }

    /// Takes an entry out of the collection: an item, or a key and its value.
    fn cut(&mut self, first: NodeId, last: NodeId) -> Result<(), Error> {
        self.release(first)?;
        self.release(last)?;
        let id = self.id;
        let source = Arc::clone(&self.document.source);
        let tree = self.tree();
        tree.hand_up_comment(id, &source);
        tree.claim_comments(last, &source);
        tree.hand_down_comments(first, last, &source);
        let whole = tree.node(id).state < State::Edited;
        let in_source = tree.node(first).state != State::New;
        // Asked only where it matters: what is written anew as a whole may have many children that are all new.
        let left = whole && tree.has_source_beside(first, last);
        tree.unlink(id, first);
        if last != first {
            tree.unlink(id, last);
        }
        if in_source && whole {
            tree.cuts.entry(id).or_default().push(Entry { first, last });
        }
        if whole && !left && tree.node(id).style == Style::Block {
            // Nothing of what was read is left to hold on to: the collection is written anew.
            tree.node_mut(id).facts.put(Fact::Reshaped, true);
            let place = Extents::new(&source, tree).emptied_place(id, first, last);
            tree.rewrite(id, place);
        } else {
            tree.reshape(id);
        }
        self.note_aliases();
        Ok(())
    }
}
