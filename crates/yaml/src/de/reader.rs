//! The decoder itself: a node, where it stands, and how deep.

use std::borrow::Cow;
use std::vec;

use serde::de::value::CowStrDeserializer;
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, EnumAccess, Error as _, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};

use super::MAX_DEPTH;
use super::error::Error;
use super::mapping::{self, Pair};
use crate::document::Document;
use crate::node::NodeRef;
use crate::scalar::{self, Resolved};
use crate::ser::base64;
use crate::tree::{Children, Kind};

/// A node to be decoded.
#[derive(Clone, Copy)]
pub(super) struct Reader<'de> {
    node: NodeRef<'de>,
    role: Role,
    /// How many collections are around it, aliases followed.
    depth: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// A value, an item, or the outermost node.
    Value,
    /// The key of a mapping.
    Key,
}

/// The node that an alias stands for; any other node is itself. Fails for an alias that is part of what it stands for.
///
/// An anchor stands before its aliases, so that every circle in a text has such an alias.
pub(super) fn follow(node: NodeRef<'_>) -> Result<NodeRef<'_>, Error> {
    if node.kind() != Kind::Alias {
        return Ok(node);
    }
    let target = node.target();
    let mut around = std::iter::successors(Some(node), |node| node.parent());
    if target.kind() == Kind::Alias || around.any(|outer| outer.id == target.id) {
        return Err(Error::at(node, format!("the alias {:?} is part of what it stands for", node.value())));
    }
    Ok(target)
}

/// What a scalar means, its tag included. Fails when it is not what the tag says.
fn meaning(node: NodeRef<'_>) -> Result<Resolved, Error> {
    const CORE: &str = "tag:yaml.org,2002:";
    let Some(tag) = node.full_tag() else { return Ok(node.resolved()) };
    let Some(tag) = tag.strip_prefix(CORE) else { return Ok(node.resolved()) };
    let meant = match tag {
        "str" | "binary" | "timestamp" => return Ok(Resolved::Str),
        "null" | "bool" | "int" | "float" => scalar::resolve(&node.value()),
        _ => return Ok(node.resolved()),
    };
    match (tag, meant) {
        ("null", Resolved::Null)
        | ("bool", Resolved::Bool(_))
        | ("int", Resolved::Int(_))
        | ("float", Resolved::Float(_)) => Ok(meant),
        #[allow(clippy::cast_precision_loss, reason = "the tag asks for the nearest float")]
        ("float", Resolved::Int(value)) => Ok(Resolved::Float(value as f64)),
        _ => Err(Error::at(node, format!("{:?} is not what its tag !!{tag} says", node.value()))),
    }
}

fn visit_text<'de, V: Visitor<'de>>(text: Cow<'de, str>, visitor: V) -> Result<V::Value, Error> {
    match text {
        Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
        Cow::Owned(text) => visitor.visit_string(text),
    }
}

fn visit_scalar<'de, V: Visitor<'de>>(
    node: NodeRef<'de>,
    meaning: Resolved,
    visitor: V,
) -> Result<V::Value, Error> {
    match meaning {
        Resolved::Null => visitor.visit_unit(),
        Resolved::Bool(value) => visitor.visit_bool(value),
        Resolved::Int(value) => match (u64::try_from(value), i64::try_from(value)) {
            (Ok(value), _) => visitor.visit_u64(value),
            (_, Ok(value)) => visitor.visit_i64(value),
            _ => visitor.visit_i128(value),
        },
        Resolved::Float(value) => visitor.visit_f64(value),
        Resolved::Str | Resolved::Timestamp | Resolved::Merge => visit_text(node.value(), visitor),
    }
}

impl<'de> Reader<'de> {
    pub fn new(node: NodeRef<'de>) -> Self {
        Self { node, role: Role::Value, depth: 0 }
    }

    /// Makes a value of whatever the node is.
    fn any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let node = follow(self.node)?;
        let made = match node.kind() {
            Kind::Mapping => self.map(node, visitor),
            Kind::Sequence => self.seq(node, visitor),
            Kind::Scalar | Kind::Alias => visit_scalar(node, meaning(node)?, visitor),
        };
        made.map_err(|error| error.or_at(node))
    }

    fn map<V: Visitor<'de>>(self, node: NodeRef<'de>, visitor: V) -> Result<V::Value, Error> {
        let depth = self.deeper(node)?;
        let pairs = mapping::pairs(node)?;
        let count = pairs.len();
        let mut pairs = Pairs { left: pairs.into_iter(), open: None, depth };
        let value = visitor.visit_map(&mut pairs)?;
        match pairs.left.len() {
            0 => Ok(value),
            left => Err(too_long(count, left)),
        }
    }

    fn seq<V: Visitor<'de>>(self, node: NodeRef<'de>, visitor: V) -> Result<V::Value, Error> {
        let document = node.document;
        let mut items = Items {
            document,
            children: document.tree.children(node.id),
            index: 0,
            depth: self.deeper(node)?,
        };
        let value = visitor.visit_seq(&mut items)?;
        match items.children.count() {
            0 => Ok(value),
            left => Err(too_long(items.index + left, left)),
        }
    }

    fn deeper(self, node: NodeRef<'de>) -> Result<usize, Error> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::at(
                node,
                format!("the document is nested deeper than {MAX_DEPTH} levels here"),
            ));
        }
        Ok(self.depth + 1)
    }

    /// Makes a value of a number or a boolean; a key may have it in quotes.
    fn number<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let node = follow(self.node)?;
        if self.role == Role::Key && node.kind() == Kind::Scalar && meaning(node)? == Resolved::Str {
            let value = scalar::resolve(&node.value());
            return visit_scalar(node, value, visitor).map_err(|error| error.or_at(node));
        }
        self.any(visitor)
    }

    /// The whole text of an integer that is too long for 64 bits.
    fn long_integer(self) -> Result<Option<(NodeRef<'de>, Cow<'de, str>)>, Error> {
        let node = follow(self.node)?;
        if node.kind() != Kind::Scalar
            || node.tag().is_some()
            || !matches!(node.resolved(), Resolved::Float(_))
        {
            return Ok(None);
        }
        let text = node.value();
        let digits = text.trim_start_matches(['-', '+']);
        // A leading zero makes an octal number, or with digits above 7 a float.
        let long = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
        Ok(long.then_some((node, text)))
    }

    /// Makes a value of a string; a key may be any scalar but null.
    fn text<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.key_text()? {
            Some((node, text)) => visit_text(text, visitor).map_err(|error| error.or_at(node)),
            None => self.any(visitor),
        }
    }

    /// The text of a key that is a scalar, but not null.
    fn key_text(self) -> Result<Option<(NodeRef<'de>, Cow<'de, str>)>, Error> {
        let node = follow(self.node)?;
        let text = self.role == Role::Key && node.kind() == Kind::Scalar && meaning(node)? != Resolved::Null;
        Ok(text.then(|| (node, node.value())))
    }

    fn bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let node = follow(self.node)?;
        if node.kind() != Kind::Scalar
            || !matches!(meaning(node)?, Resolved::Str | Resolved::Timestamp | Resolved::Merge)
        {
            return self.any(visitor);
        }
        let text = node.value();
        let made = if node.full_tag().as_deref() == Some("tag:yaml.org,2002:binary") {
            let bytes = base64::decode(&text)
                .ok_or_else(|| Error::at(node, "the text behind !!binary is not base64"))?;
            visitor.visit_byte_buf(bytes)
        } else {
            match text {
                Cow::Borrowed(text) => visitor.visit_borrowed_bytes(text.as_bytes()),
                Cow::Owned(text) => visitor.visit_byte_buf(text.into_bytes()),
            }
        };
        made.map_err(|error: Error| error.or_at(node))
    }

    fn variant<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let node = follow(self.node)?;
        let made = match node.kind() {
            Kind::Mapping => {
                let depth = self.deeper(node)?;
                match mapping::pairs(node)?.as_slice() {
                    [pair] => visitor.visit_enum(Variant { pair: *pair, depth }),
                    pairs => Err(Error::invalid_length(pairs.len(), &"a mapping with one key, the variant")),
                }
            }
            Kind::Scalar if self.names_a_variant(meaning(node)?) => {
                visitor.visit_enum(CowStrDeserializer::new(node.value()))
            }
            Kind::Sequence | Kind::Scalar | Kind::Alias => self.any(visitor),
        };
        made.map_err(|error| error.or_at(node))
    }

    fn names_a_variant(self, meaning: Resolved) -> bool {
        match meaning {
            Resolved::Str | Resolved::Timestamp | Resolved::Merge => true,
            Resolved::Bool(_) | Resolved::Int(_) | Resolved::Float(_) => self.role == Role::Key,
            Resolved::Null => false,
        }
    }
}

fn too_long(count: usize, left: usize) -> Error {
    Error::invalid_length(count, &format!("{} entries", count - left).as_str())
}

macro_rules! by {
    ($function:ident: $($method:ident($($name:ident: $type:ty),*),)*) => {
        $(fn $method<V: Visitor<'de>>(self, $($name: $type,)* visitor: V) -> Result<V::Value, Error> {
            self.$function(visitor)
        })*
    };
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Error;

    by! { any:
        deserialize_any(),
        deserialize_unit(),
        deserialize_unit_struct(_name: &'static str),
        deserialize_seq(),
        deserialize_tuple(_len: usize),
        deserialize_tuple_struct(_name: &'static str, _len: usize),
        deserialize_map(),
    }

    by! { number:
        deserialize_bool(),
        deserialize_i8(),
        deserialize_i16(),
        deserialize_i32(),
        deserialize_i64(),
        deserialize_u8(),
        deserialize_u16(),
        deserialize_u32(),
        deserialize_u64(),
        deserialize_f32(),
        deserialize_f64(),
    }

    by! { text:
        deserialize_char(),
        deserialize_str(),
        deserialize_string(),
        deserialize_identifier(),
    }

    by! { bytes:
        deserialize_bytes(),
        deserialize_byte_buf(),
    }

    by! { variant:
        deserialize_enum(_name: &'static str, _variants: &'static [&'static str]),
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.long_integer()?.and_then(|(node, text)| Some((node, text.parse().ok()?))) {
            Some((node, value)) => visitor.visit_i128(value).map_err(|error: Error| error.or_at(node)),
            None => self.number(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.long_integer()?.and_then(|(node, text)| Some((node, text.parse().ok()?))) {
            Some((node, value)) => visitor.visit_u128(value).map_err(|error: Error| error.or_at(node)),
            None => self.number(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let node = follow(self.node)?;
        let null = node.kind() == Kind::Scalar && meaning(node)? == Resolved::Null;
        let made = if null { visitor.visit_none() } else { visitor.visit_some(self) };
        made.map_err(|error| error.or_at(node))
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self).map_err(|error: Error| error.or_at(self.node))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        let node = follow(self.node)?;
        match node.kind() {
            Kind::Sequence => Err(Error::invalid_type(Unexpected::Seq, &visitor).or_at(node)),
            Kind::Mapping | Kind::Scalar | Kind::Alias => self.any(visitor),
        }
    }

    /// Looks at nothing.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }
}

/// The items of a sequence that are still to be read.
struct Items<'de> {
    document: &'de Document,
    children: Children<'de>,
    index: usize,
    depth: usize,
}

impl<'de> SeqAccess<'de> for &mut Items<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(id) = self.children.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        let reader = Reader { node: NodeRef::new(self.document, id), role: Role::Value, depth: self.depth };
        seed.deserialize(reader).map(Some).map_err(|error| error.or_at(reader.node).under_index(index))
    }
}

/// The pairs of a mapping that are still to be read.
struct Pairs<'de> {
    left: vec::IntoIter<Pair<'de>>,
    /// The pair whose key was read.
    open: Option<Pair<'de>>,
    depth: usize,
}

impl<'de> MapAccess<'de> for &mut Pairs<'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.open = self.left.next();
        let Some((key, _)) = self.open else { return Ok(None) };
        let reader = Reader { node: key, role: Role::Key, depth: self.depth };
        seed.deserialize(reader).map(Some).map_err(|error| error.or_at(key))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (key, value) =
            self.open.take().ok_or_else(|| Error::custom("a value is asked for before its key"))?;
        let reader = Reader { node: value, role: Role::Value, depth: self.depth };
        seed.deserialize(reader).map_err(|error| error.or_at(value).under_key(key))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// A mapping with one key, taken for a variant with content.
struct Variant<'de> {
    pair: Pair<'de>,
    depth: usize,
}

impl<'de> Variant<'de> {
    /// Reads the content.
    fn content<T>(self, read: impl FnOnce(Reader<'de>) -> Result<T, Error>) -> Result<T, Error> {
        let (key, value) = self.pair;
        read(Reader { node: value, role: Role::Value, depth: self.depth })
            .map_err(|error| error.or_at(value).under_key(key))
    }
}

impl<'de> EnumAccess<'de> for Variant<'de> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        let (key, _) = self.pair;
        let name = seed.deserialize(Reader { node: key, role: Role::Key, depth: self.depth });
        name.map(|name| (name, self)).map_err(|error| error.or_at(key))
    }
}

impl<'de> VariantAccess<'de> for Variant<'de> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        self.content(<()>::deserialize)
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Error> {
        self.content(|reader| seed.deserialize(reader))
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, Error> {
        self.content(|reader| reader.deserialize_tuple(len, visitor))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.content(|reader| reader.deserialize_struct("", fields, visitor))
    }
}
