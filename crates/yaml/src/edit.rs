//! Editing: changes to the tree, with the place in the source that each one is about.
//!
//! Nothing is written here. An edit marks nodes: *edited* ones keep the range of the source that they replace, *new*
//! ones have none, and removed ones leave a cut. `emit` turns the marks into splices.

mod anchors;
mod beside;
mod by_path;
mod entries;
mod marks;
mod proof;
mod style;
mod value;

use std::sync::Arc;

use crate::content::{Content, CopyError};
use crate::document::Document;
use crate::node::NodeRef;
use crate::tree::{Kind, NOWHERE, NodeId, Note, Tree};
use proof::KeptComments;

pub use proof::Harm;

/// Why an edit was refused. The document means what it meant before; aliases on the way may have been expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The node is not what the edit needs.
    #[error("{} is needed here, but this is {}", name(*.needed), name(*.found))]
    WrongKind {
        /// What the edit needs.
        needed: Kind,
        /// What is there.
        found: Kind,
    },
    /// The index is beyond the end of the list.
    #[error("index {index} is beyond the end of the list, which has {len} items")]
    OutOfRange {
        /// The index that was asked for.
        index: usize,
        /// How many items there are.
        len: usize,
    },
    /// The mapping has the key already.
    #[error("the mapping has a key \"{0}\" already")]
    KeyExists(String),
    /// The mapping does not have the key.
    #[error("the mapping has no key \"{0}\"")]
    NoSuchKey(String),
    /// The content cannot be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// The document would nest deeper than it could be read again.
    #[error("the document would have more than {limit} collections in each other")]
    TooDeep {
        /// `YamlLimits::max_depth`.
        limit: usize,
    },
    /// The comment has a line that does not begin with `#`.
    #[error("each line of a comment begins with \"#\", this one does not: \"{0}\"")]
    NotAComment(String),
    /// An alias would no longer follow the anchor that it names.
    #[error("the alias \"*{0}\" would no longer stand behind its anchor")]
    AliasBeforeAnchor(String),
    /// The content has anchors or aliases, which would change their meaning.
    #[error("there are anchors or aliases in it, which would not survive that")]
    HasAnchors,
    /// A comment cannot stand there.
    #[error("a comment cannot stand there: {0}")]
    NoPlaceForComment(&'static str),
    /// The order does not name each entry exactly once.
    #[error("the new order does not name each of the {len} entries once")]
    NotAPermutation {
        /// How many entries there are.
        len: usize,
    },
    /// The document is written in a way that leaves no place for the edit.
    #[error("the text around it leaves no place for this: {0}")]
    Unwritable(#[from] Harm),
    /// The path leads nowhere.
    #[error("{0}")]
    NotFound(String),
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::Scalar => "a scalar",
        Kind::Mapping => "a mapping",
        Kind::Sequence => "a list",
        Kind::Alias => "an alias",
    }
}

/// Which comment of a node is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentPlace {
    /// Above the node.
    Head,
    /// On its line.
    Line,
    /// Below it.
    Foot,
}

/// A node of a document, to be edited. Dropping it keeps what was done.
pub struct NodeMut<'a> {
    document: &'a mut Document,
    id: NodeId,
}

impl Document {
    /// The outermost node, to edit it.
    pub fn root_mut(&mut self) -> NodeMut<'_> {
        let id = self.tree.root;
        NodeMut { document: self, id }
    }

    /// What editing had to do that nobody asked for, such as expanding an alias.
    pub fn notes(&self) -> &[Note] {
        &self.tree.notes
    }
}

impl<'a> NodeMut<'a> {
    /// The node, to be read.
    pub fn read(&self) -> NodeRef<'_> {
        NodeRef::new(self.document, self.id)
    }

    /// Borrows it again, for a shorter time.
    pub fn reborrow(&mut self) -> NodeMut<'_> {
        NodeMut { document: self.document, id: self.id }
    }

    /// The value of a key, to edit it. An alias on the way is expanded, a value that a merge key brings in is copied
    /// into the mapping; both are noted in [`Document::notes`].
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no mapping, [`Error::NoSuchKey`].
    pub fn get_mut(mut self, key: &str) -> Result<NodeMut<'a>, Error> {
        self.need(Kind::Mapping)?;
        if self.read().kind() == Kind::Alias && self.read().get(key).is_some() {
            self.proved(KeptComments::Stay, Self::expand)?;
        }
        if let Some(id) = self.read().own_entry(key).map(|(_, value)| value.id) {
            return Ok(NodeMut { document: self.document, id });
        }
        // Not its own: a merge key brings it in.
        let Some(merged) = self.read().get(key) else { return Err(Error::NoSuchKey(key.into())) };
        let content = Content::detached(merged, None)?;
        let id =
            self.proved(KeptComments::Stay, |node| node.insert_entry(key, &content, entries::Spot::Last))?;
        // What is said beside the value is about the place that it comes from.
        self.tree().node_mut(id).comments = NOWHERE;
        self.tree().notes.push(Note::MergedValueCopied { key: key.into() });
        Ok(NodeMut { document: self.document, id })
    }

    /// An item of a list, to edit it. An alias on the way is expanded.
    ///
    /// # Errors
    /// [`Error::WrongKind`] for what is no list, [`Error::OutOfRange`].
    pub fn at_mut(mut self, index: usize) -> Result<NodeMut<'a>, Error> {
        self.need(Kind::Sequence)?;
        if self.read().kind() == Kind::Alias && self.read().at(index).is_some() {
            self.proved(KeptComments::Stay, Self::expand)?;
        }
        match self.read().at(index).map(|item| item.id) {
            Some(id) => Ok(NodeMut { document: self.document, id }),
            None => Err(Error::OutOfRange { index, len: self.read().len() }),
        }
    }

    fn tree(&mut self) -> &mut Tree {
        Arc::make_mut(&mut self.document.tree)
    }

    /// Fails unless the node, or what it is an alias of, is of that kind.
    fn need(&self, needed: Kind) -> Result<(), Error> {
        let found = self.read().target().kind();
        if found == needed { Ok(()) } else { Err(Error::WrongKind { needed, found }) }
    }

    /// Replaces an alias by a copy of what it stands for, and notes it.
    fn expand(&mut self) -> Result<(), Error> {
        if self.read().kind() == Kind::Alias {
            let anchor = self.read().value().into_owned();
            self.expand_alias()?;
            self.tree().notes.push(Note::AliasExpanded { anchor });
        }
        Ok(())
    }

    fn expand_alias(&mut self) -> Result<(), Error> {
        let content = Content::detached(self.read().target(), None)?;
        self.replace(&content)
    }
}
