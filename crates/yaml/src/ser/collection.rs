//! Sequences and mappings while their entries arrive.

use std::collections::HashSet;

use serde::Serialize;
use serde::ser::{
    SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant,
};

use super::key::Key;
use super::{Error, Meaning, Writer, add_scalar};
use crate::tree::{Kind, NodeId, Style, Tree};

/// The field, and the structure, that `serde_json` makes of a number when some crate asks it for numbers of any precision.
pub(super) const NUMBER: &str = "$serde_json::private::Number";

/// An open collection.
pub(super) struct Collection<'t> {
    tree: &'t mut Tree,
    id: NodeId,
    /// The node that the whole value is: the collection, or the mapping of the variant that it is the content of.
    value: NodeId,
    /// How many collections are around an entry.
    depth: usize,
    /// How many items a sequence has.
    items: usize,
    /// The keys that a mapping has.
    keys: HashSet<Box<str>>,
    /// The key whose value comes next, or came last.
    key: String,
    /// The name of the variant that the collection is the content of.
    variant: Option<&'static str>,
}

impl<'t> Collection<'t> {
    pub fn new(tree: &'t mut Tree, id: NodeId, depth: usize) -> Self {
        Self { tree, id, value: id, depth, items: 0, keys: HashSet::new(), key: String::new(), variant: None }
    }

    /// A number that comes as a structure with its text as the only field.
    pub fn number(tree: &'t mut Tree, depth: usize) -> Self {
        let id = add_scalar(tree, Style::Plain, "", Meaning::OfText);
        Self::new(tree, id, depth)
    }

    /// Opens a collection as the value of the key that was added last; this one gets no more entries.
    pub fn nest(self, variant: &'static str, kind: Kind) -> Result<Self, Error> {
        let outer = self.id;
        let inner = Writer { tree: self.tree, depth: self.depth }
            .open(kind)
            .map_err(|error| error.under_key(variant))?;
        inner.tree.append(outer, inner.id);
        Ok(Self { value: outer, variant: Some(variant), ..inner })
    }

    pub fn add_name(&mut self, name: &'static str) -> Result<(), Error> {
        self.add_key(name.into(), Meaning::String)
    }

    fn add_key(&mut self, text: String, meaning: Meaning) -> Result<(), Error> {
        if !self.keys.insert(text.as_str().into()) {
            return Err(self.place(Error::new(format!("the map names the key {text:?} twice"))));
        }
        let key = add_scalar(self.tree, Style::Plain, &text, meaning);
        self.tree.append(self.id, key);
        self.key = text;
        Ok(())
    }

    pub fn add_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let added = value.serialize(Writer { tree: self.tree, depth: self.depth });
        let id = added.map_err(|error| self.place(error.under_key(&self.key)))?;
        self.tree.append(self.id, id);
        Ok(())
    }

    fn add_item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        let added = value.serialize(Writer { tree: self.tree, depth: self.depth });
        let id = added.map_err(|error| self.place(error.under_index(self.items)))?;
        self.tree.append(self.id, id);
        self.items += 1;
        Ok(())
    }

    /// Sets the text of a number.
    fn set_number<T: Serialize + ?Sized>(&mut self, text: &T) -> Result<(), Error> {
        let (text, _) = text.serialize(Key)?;
        let text = self.tree.add_text(&text);
        self.tree.node_mut(self.id).text = text;
        Ok(())
    }

    fn place(&self, error: Error) -> Error {
        match self.variant {
            Some(variant) => error.under_key(variant),
            None => error,
        }
    }

    pub fn finish(self) -> NodeId {
        let node = self.tree.node(self.id);
        if node.kind != Kind::Scalar && node.first.get().is_none() {
            self.tree.node_mut(self.id).style = Style::Flow;
        }
        self.value
    }
}

macro_rules! sequence {
    ($($trait:ident::$method:ident,)*) => {
        $(impl $trait for Collection<'_> {
            type Ok = NodeId;
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.add_item(value)
            }

            fn end(self) -> Result<NodeId, Error> {
                Ok(self.finish())
            }
        })*
    };
}

sequence! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

macro_rules! fields {
    ($($trait:ident,)*) => {
        $(impl $trait for Collection<'_> {
            type Ok = NodeId;
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Result<(), Error> {
                if self.tree.node(self.id).kind == Kind::Scalar {
                    return self.set_number(value);
                }
                self.add_name(name)?;
                self.add_value(value)
            }

            fn end(self) -> Result<NodeId, Error> {
                Ok(self.finish())
            }
        })*
    };
}

fields! {
    SerializeStruct,
    SerializeStructVariant,
}

impl SerializeMap for Collection<'_> {
    type Ok = NodeId;
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        let (text, meaning) = key.serialize(Key).map_err(|error| self.place(error))?;
        self.add_key(text, meaning)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.add_value(value)
    }

    fn end(self) -> Result<NodeId, Error> {
        Ok(self.finish())
    }
}
