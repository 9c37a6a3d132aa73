//! Single scalars: from source text to value and back, without any knowledge of the document around them.
//!
//! | module | question it answers |
//! |---|---|
//! | [`mod@resolve`] | what does a plain scalar mean: null, bool, number, timestamp, merge key or string? |
//! | [`decode`] | which value does this piece of source text have? |
//! | [`mod@present`] | how is a value written so that it reads back exactly, in or near a given style? |
//! | [`mod@reference`] | how would the reference emitter write it, byte for byte? |
//!
//! All of it is pure, takes time linear in its input, and accepts any text without panicking.

pub mod decode;
pub mod present;
pub mod reference;
pub mod resolve;

mod chars;

pub use present::{Kind, Place, present};
pub use reference::{ReferencePlace, ReferenceTag, reference};
pub use resolve::{Resolved, resolve};

/// How a scalar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// Without quotes or indicator.
    Plain,
    /// `'text'`
    SingleQuoted,
    /// `"text"`, the only style that can hold every text.
    DoubleQuoted,
    /// `|` and lines that keep their breaks.
    Literal,
    /// `>` and lines that are joined when read.
    Folded,
}
