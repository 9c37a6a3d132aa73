//! What can be wrong with a node for a type.

use std::fmt::{self, Display};

use serde::de::{Expected, Unexpected};

use super::trail;
use crate::error::Position;
use crate::node::NodeRef;
use crate::tree::State;

/// A node that is not what the type wants.
///
/// `Display` gives one line: `spec.replicas: line 4, column 13: invalid type: string "x", expected u32`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub message: String,
    /// Where it stands; `None` when it was never read from a text.
    pub position: Option<Position>,
    /// The keys and indexes that lead to it from the node that was decoded, as in `spec.containers[0].image`; empty for
    /// that node itself.
    pub path: String,
}

/// How much of a string an error repeats, in characters.
const QUOTED_CHARS: usize = 100;

impl Error {
    pub(super) fn at(node: NodeRef<'_>, message: impl Into<String>) -> Self {
        Self { message: message.into(), position: position(node), path: String::new() }
    }

    /// Gives the error a place if it has none.
    pub(super) fn or_at(mut self, node: NodeRef<'_>) -> Self {
        self.position = self.position.or_else(|| position(node));
        self
    }

    pub(super) fn under_key(mut self, key: NodeRef<'_>) -> Self {
        trail::put_key(&mut self.path, &key.target().value());
        self
    }

    pub(super) fn under_index(mut self, index: usize) -> Self {
        trail::put_index(&mut self.path, index);
        self
    }

    fn unlike(what: &str, found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let message = match found {
            Unexpected::Unit => format!("{what}: null, expected {expected}"),
            Unexpected::Str(text) => match text.char_indices().nth(QUOTED_CHARS) {
                Some((end, _)) => format!("{what}: string {:?}…, expected {expected}", &text[..end]),
                None => format!("{what}: {found}, expected {expected}"),
            },
            _ => format!("{what}: {found}, expected {expected}"),
        };
        Self { message, position: None, path: String::new() }
    }
}

/// Where a node stands; nowhere if it is new.
pub(super) fn position(node: NodeRef<'_>) -> Option<Position> {
    (node.document.tree.node(node.id).state != State::New).then(|| node.position())
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        if let Some(position) = self.position {
            write!(f, "{position}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), position: None, path: String::new() }
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::unlike("invalid type", found, expected)
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::unlike("invalid value", found, expected)
    }
}
