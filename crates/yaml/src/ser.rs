//! From values to documents.

pub(crate) mod base64;
mod collection;
mod key;

use std::fmt::{self, Display};

use serde::Serialize;
use serde::ser::Serializer;

use crate::de::MAX_DEPTH;
use crate::de::trail;
use crate::document::Document;
use crate::syntax::token::Span;
use crate::tree::{Fact, Kind, NodeId, Properties, Style, Tree};
use collection::Collection;

/// A value that no document can hold.
///
/// `Display` gives the path, where there is one, and the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub message: String,
    /// The keys and indexes that lead to the value, as in `spec.containers[0].image`; empty for the outermost.
    pub path: String,
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.as_str() {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

impl std::error::Error for Error {}

impl serde::ser::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        Self { message: message.to_string(), path: String::new() }
    }
}

impl Error {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), path: String::new() }
    }

    fn under_key(mut self, key: &str) -> Self {
        trail::put_key(&mut self.path, key);
        self
    }

    fn under_index(mut self, index: usize) -> Self {
        trail::put_index(&mut self.path, index);
        self
    }
}

impl Document {
    /// Makes a document of a value.
    ///
    /// Collections are in block style, empty ones in flow style (`[]`, `{}`); entries keep the order in which the value
    /// names them. Strings stay strings whatever they look like, those of several lines are written as literals where
    /// possible. Bytes become base64 behind the tag `!!binary`. A variant with content becomes a mapping with one key.
    ///
    /// # Errors
    /// For map keys that are not strings, integers, booleans, characters or unit variants; for keys that a map names
    /// twice; for collections nested deeper than [`MAX_DEPTH`]; and for whatever the value itself refuses.
    pub fn from_serialize<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        let mut tree = Tree::bare(Span::default());
        tree.root = value.serialize(Writer { tree: &mut tree, depth: 0 })?;
        Ok(Self::of_tree(tree))
    }
}

/// Adds the nodes of a value to a tree, not yet attached to anything.
struct Writer<'t> {
    tree: &'t mut Tree,
    /// How many collections are around the value.
    depth: usize,
}

impl<'t> Writer<'t> {
    /// A number, a boolean or a null.
    fn plain(self, text: &str) -> NodeId {
        add_scalar(self.tree, Style::Plain, text, Meaning::OfText)
    }

    fn text(self, text: &str) -> NodeId {
        let style = if text.contains('\n') { Style::Literal } else { Style::Plain };
        add_scalar(self.tree, style, text, Meaning::String)
    }

    fn open(self, kind: Kind) -> Result<Collection<'t>, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::new(format!("the value is nested deeper than {MAX_DEPTH} levels")));
        }
        let id = self.tree.add(kind, Style::Block);
        Ok(Collection::new(self.tree, id, self.depth + 1))
    }

    /// Opens the content of a variant, as the one value of a mapping.
    fn open_variant(self, variant: &'static str, kind: Kind) -> Result<Collection<'t>, Error> {
        let mut outer = self.open(Kind::Mapping)?;
        outer.add_name(variant)?;
        outer.nest(variant, kind)
    }
}

/// How the text of a new scalar is to be understood.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// As the text says.
    OfText,
    /// As a string, whatever it looks like.
    String,
}

fn add_scalar(tree: &mut Tree, style: Style, text: &str, meaning: Meaning) -> NodeId {
    let id = tree.add(Kind::Scalar, style);
    let text = tree.add_text(text);
    let node = tree.node_mut(id);
    node.text = text;
    node.facts.put(Fact::String, meaning == Meaning::String);
    id
}

/// The text of a float, which reads back as the same float, and as a float where it is a whole number.
fn float_text(value: f64, shortest: &str) -> String {
    if value.is_nan() {
        ".nan".into()
    } else if value.is_infinite() {
        if value > 0.0 { ".inf" } else { "-.inf" }.into()
    } else {
        shortest.into()
    }
}

macro_rules! by_text {
    ($($method:ident: $type:ty,)*) => {
        $(fn $method(self, value: $type) -> Result<NodeId, Error> {
            Ok(self.plain(&value.to_string()))
        })*
    };
}

impl<'t> Serializer for Writer<'t> {
    type Ok = NodeId;
    type Error = Error;
    type SerializeSeq = Collection<'t>;
    type SerializeTuple = Collection<'t>;
    type SerializeTupleStruct = Collection<'t>;
    type SerializeTupleVariant = Collection<'t>;
    type SerializeMap = Collection<'t>;
    type SerializeStruct = Collection<'t>;
    type SerializeStructVariant = Collection<'t>;

    by_text! {
        serialize_bool: bool,
        serialize_i8: i8,
        serialize_i16: i16,
        serialize_i32: i32,
        serialize_i64: i64,
        serialize_i128: i128,
        serialize_u8: u8,
        serialize_u16: u16,
        serialize_u32: u32,
        serialize_u64: u64,
        serialize_u128: u128,
    }

    fn serialize_f32(self, value: f32) -> Result<NodeId, Error> {
        Ok(self.plain(&float_text(value.into(), &format!("{value:?}"))))
    }

    fn serialize_f64(self, value: f64) -> Result<NodeId, Error> {
        Ok(self.plain(&float_text(value, &format!("{value:?}"))))
    }

    fn serialize_char(self, value: char) -> Result<NodeId, Error> {
        Ok(self.text(value.encode_utf8(&mut [0; 4])))
    }

    fn serialize_str(self, value: &str) -> Result<NodeId, Error> {
        Ok(self.text(value))
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<NodeId, Error> {
        let id = add_scalar(self.tree, Style::Plain, &base64::encode(value), Meaning::String);
        self.tree.set_properties(id, Properties { tag: Some("!!binary".into()), ..Properties::default() });
        Ok(id)
    }

    fn serialize_none(self) -> Result<NodeId, Error> {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<NodeId, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<NodeId, Error> {
        Ok(self.plain("null"))
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<NodeId, Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<NodeId, Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<NodeId, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<NodeId, Error> {
        let mut outer = self.open(Kind::Mapping)?;
        outer.add_name(variant)?;
        outer.add_value(value)?;
        Ok(outer.finish())
    }

    fn serialize_seq(self, _len: Option<usize>) -> Result<Collection<'t>, Error> {
        self.open(Kind::Sequence)
    }

    fn serialize_tuple(self, _len: usize) -> Result<Collection<'t>, Error> {
        self.open(Kind::Sequence)
    }

    fn serialize_tuple_struct(self, _: &'static str, _len: usize) -> Result<Collection<'t>, Error> {
        self.open(Kind::Sequence)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Collection<'t>, Error> {
        self.open_variant(variant, Kind::Sequence)
    }

    fn serialize_map(self, _len: Option<usize>) -> Result<Collection<'t>, Error> {
        self.open(Kind::Mapping)
    }

    fn serialize_struct(self, name: &'static str, _len: usize) -> Result<Collection<'t>, Error> {
        if name == collection::NUMBER {
            return Ok(Collection::number(self.tree, self.depth));
        }
        self.open(Kind::Mapping)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _len: usize,
    ) -> Result<Collection<'t>, Error> {
        self.open_variant(variant, Kind::Mapping)
    }
}
