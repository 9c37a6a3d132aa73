//! From nodes to values.
//!
//! A [`NodeRef`] is a serde `Deserializer`, so that any part of a document can become any type. Aliases are followed and
//! merge keys merged, types are those of the text ([`NodeRef::resolved`]): a number is no string, and a string is no number.

mod error;
mod mapping;
mod reader;
pub(crate) mod trail;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Visitor};

use crate::node::NodeRef;
use reader::Reader;

pub use error::Error;

/// How many collections may stand inside of each other, aliases followed, when a node becomes a value.
///
/// Below what a document itself may have, because decoding needs the stack: this much fits into the 2 MiB of a spawned
/// thread.
pub const MAX_DEPTH: usize = 128;

impl<'de> NodeRef<'de> {
    /// Makes a value of the node and all that is below it. Strings that need no decoding are borrowed from the document.
    ///
    /// - Aliases stand for their targets. The mappings that a merge key (`<<`) names add the keys that are not there yet,
    ///   the first of them before the others.
    /// - Timestamps are strings. Text behind `!!binary` is decoded where bytes are asked for.
    /// - Keys become strings as they are written, numbers and booleans included; a quoted key becomes a number or a boolean
    ///   where one is asked for.
    /// - A unit variant is a string; one with content is a mapping with one key. A struct is a mapping.
    ///
    /// # Errors
    /// With path and place, when the node is not what the type wants; when a key stands twice in one mapping; when a scalar
    /// is not what its tag says; when a merge key has no mapping; when an alias stands for something that it is a part of;
    /// and beyond [`MAX_DEPTH`]. What the type does not look at is not checked.
    pub fn deserialize<T: Deserialize<'de>>(self) -> Result<T, Error> {
        T::deserialize(self)
    }

    /// As [`NodeRef::deserialize`], with a seed.
    ///
    /// # Errors
    /// As [`NodeRef::deserialize`].
    pub fn deserialize_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        seed.deserialize(self)
    }
}

macro_rules! by_reader {
    ($($method:ident($($name:ident: $type:ty),*),)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Error> {
            Reader::new(self).$method($($name,)* visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for NodeRef<'de> {
    type Error = Error;

    by_reader! {
        deserialize_any(),
        deserialize_bool(),
        deserialize_i8(),
        deserialize_i16(),
        deserialize_i32(),
        deserialize_i64(),
        deserialize_i128(),
        deserialize_u8(),
        deserialize_u16(),
        deserialize_u32(),
        deserialize_u64(),
        deserialize_u128(),
        deserialize_f32(),
        deserialize_f64(),
        deserialize_char(),
        deserialize_str(),
        deserialize_string(),
        deserialize_bytes(),
        deserialize_byte_buf(),
        deserialize_option(),
        deserialize_unit(),
        deserialize_unit_struct(name: &'static str),
        deserialize_newtype_struct(name: &'static str),
        deserialize_seq(),
        deserialize_tuple(len: usize),
        deserialize_tuple_struct(name: &'static str, len: usize),
        deserialize_map(),
        deserialize_struct(name: &'static str, fields: &'static [&'static str]),
        deserialize_enum(name: &'static str, variants: &'static [&'static str]),
        deserialize_identifier(),
        deserialize_ignored_any(),
    }
}
