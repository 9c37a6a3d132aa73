//! Lossless YAML documents: parse, edit, emit.
//!
//! [`Stream::parse`] reads, [`Document`] and [`NodeRef`] look, `Display` writes. A document that was not edited is
//! written byte for byte as it was read; an edit touches only the entry that it is about.

mod document;
mod emit;
mod error;
mod node;
mod scalar;
mod syntax;
mod tree;

pub use document::{Document, DuplicateKey, Stream};
pub use error::{Cause, Error, Position};
pub use node::NodeRef;
pub use scalar::Resolved;
pub use tree::{Kind, Style};
