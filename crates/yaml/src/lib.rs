//! Lossless YAML documents: parse, edit, emit.
//!
//! [`Stream::parse`] reads, [`Document`] and [`NodeRef`] look, `Display` writes. A document that was not edited is
//! written byte for byte as it was read; an edit touches only the entry that it is about.

mod content;
pub mod de;
mod document;
pub mod edit;
mod emit;
mod error;
mod excerpt;
mod extent;
mod layout;
mod node;
pub mod path;
mod reference;
mod scalar;
pub mod ser;
mod syntax;
mod tree;

pub use content::{Content, CopyError};
pub use document::{Document, DuplicateKey, Stream};
pub use edit::{CommentPlace, NodeMut};
pub use error::{Cause, Error, Position};
pub use node::NodeRef;
pub use path::Path;
pub use reference::{
    SequenceIndent, detect_sequence_indent, encode_document, format_document, format_stream,
};
pub use scalar::Resolved;
pub use tree::{Kind, Note, Style};
