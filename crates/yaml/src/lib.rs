//! Lossless YAML documents: parse, edit, emit.
//!
//! [`Stream::parse`] reads, [`Document`] and [`NodeRef`] look, `Display` writes. A document that was not edited is
//! written byte for byte as it was read; an edit touches only the entry that it is about.
//!
//! ```
//! use lanai_yaml::{Content, Document, Path};
//!
//! let mut document = Document::parse("spec: # what we want\n  replicas:   2 # for now\n  ports: [80]\n")?;
//! document.set(&"spec.replicas".parse::<Path>()?, 3)?;
//! document.root_mut().get_mut("spec")?.get_mut("ports")?.push(443)?;
//! document.set(&"spec.template.metadata.name".parse()?, "yes")?;
//! assert_eq!(
//!     document.to_string(),
//!     "spec: # what we want\n  replicas:   3 # for now\n  ports: [80, 443]\n  template:\n    metadata:\n      name: \"yes\"\n"
//! );
//!
//! let replicas: u32 = document.root().find(&"spec.replicas".parse()?)?.deserialize()?;
//! assert_eq!(replicas, 3);
//!
//! // A node, a value of serde, or plain text can be put anywhere.
//! document.set(&"spec.env".parse()?, Content::parse("- {name: A, value: b} # kept\n")?)?;
//! assert!(document.to_string().ends_with("  env:\n  - {name: A, value: b} # kept\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod content;
pub mod de;
mod document;
pub mod edit;
mod emit;
mod error;
mod excerpt;
mod extent;
mod layout;
mod lookup;
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
