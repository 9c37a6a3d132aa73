//! The keys of maps: scalars only.

use serde::Serialize;
use serde::ser::{Impossible, Serializer};

use super::{Error, Meaning};

/// Takes the text of a key, and how it is to be understood.
pub(super) struct Key;

type Text = (String, Meaning);

fn refused<T>(what: &str) -> Result<T, Error> {
    Err(Error::new(format!("a map has {what} as a key, where only strings, integers and booleans may stand")))
}

macro_rules! by_text {
    ($($method:ident: $type:ty,)*) => {
        $(fn $method(self, value: $type) -> Result<Text, Error> {
            Ok((value.to_string(), Meaning::OfText))
        })*
    };
}

impl Serializer for Key {
    type Ok = Text;
    type Error = Error;
    type SerializeSeq = Impossible<Text, Error>;
    type SerializeTuple = Impossible<Text, Error>;
    type SerializeTupleStruct = Impossible<Text, Error>;
    type SerializeTupleVariant = Impossible<Text, Error>;
    type SerializeMap = Impossible<Text, Error>;
    type SerializeStruct = Impossible<Text, Error>;
    type SerializeStructVariant = Impossible<Text, Error>;

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

    fn serialize_f32(self, _value: f32) -> Result<Text, Error> {
        refused("a float")
    }

    fn serialize_f64(self, _value: f64) -> Result<Text, Error> {
        refused("a float")
    }

    fn serialize_char(self, value: char) -> Result<Text, Error> {
        Ok((value.into(), Meaning::String))
    }

    fn serialize_str(self, value: &str) -> Result<Text, Error> {
        Ok((value.into(), Meaning::String))
    }

    fn serialize_bytes(self, _value: &[u8]) -> Result<Text, Error> {
        refused("bytes")
    }

    fn serialize_none(self) -> Result<Text, Error> {
        refused("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Text, Error> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Text, Error> {
        refused("null")
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Text, Error> {
        refused("null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Text, Error> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<Text, Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<Text, Error> {
        refused("a map")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Error> {
        refused("a sequence")
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Error> {
        refused("a sequence")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Error> {
        refused("a sequence")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Error> {
        refused("a map")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Error> {
        refused("a map")
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Error> {
        refused("a map")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Error> {
        refused("a map")
    }
}
