//! Values of resources, of scripts, and between them.

use lanai_yaml::{Content, Document, NodeRef};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Map, Number, Value as Json};
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::float::UnpackFloat;
use starlark::values::list::{AllocList, ListRef};
use starlark::values::structs::StructRef;
use starlark::values::tuple::TupleRef;
use starlark::values::{Heap, UnpackValue, Value};

/// The whole numbers that a float holds without loss.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Why a value of a script is none that a resource can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// It is of a type that resources do not have.
    #[error("a value of type {0} cannot stand in a resource")]
    Type(String),
    /// A key of a dict is no string.
    #[error("the keys of a resource are strings, this one is of type {0}")]
    Key(String),
    /// It is infinite or no number.
    #[error("{0} cannot stand in a resource")]
    Float(String),
    /// It needs more than 64 bits.
    #[error("the number {0} has more than 64 bits")]
    Int(String),
    /// Collections nest too deep, or a collection is a part of itself.
    #[error("lists and dicts are nested deeper than {0} levels (max_depth)")]
    Depth(usize),
    /// There is too much of it.
    #[error("the values take more than {0} bytes (max_output)")]
    Size(usize),
}

/// How much a script may hand over.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Lists and dicts in each other.
    pub max_depth: usize,
    /// Bytes.
    pub max_output: usize,
}

/// What a value takes, beside its text.
const VALUE: usize = 32;

/// What a node says.
///
/// # Errors
/// As [`NodeRef::deserialize`].
pub fn of_node(node: NodeRef<'_>) -> Result<Json, lanai_yaml::de::Error> {
    node.deserialize()
}

/// The same value for a script.
pub fn to_script<'v>(json: &Json, heap: Heap<'v>) -> Value<'v> {
    match json {
        Json::Null => Value::new_none(),
        Json::Bool(bool) => Value::new_bool(*bool),
        Json::Number(number) => number_to_script(number, heap),
        Json::String(text) => heap.alloc(text.as_str()),
        Json::Array(items) => heap.alloc(AllocList(items.iter().map(|item| to_script(item, heap)))),
        Json::Object(fields) => {
            heap.alloc(AllocDict(fields.iter().map(|(key, value)| (key.as_str(), to_script(value, heap)))))
        }
    }
}

fn number_to_script<'v>(number: &Number, heap: Heap<'v>) -> Value<'v> {
    let whole = number.as_i64().map(|int| heap.alloc(int)).or_else(|| Some(heap.alloc(number.as_u64()?)));
    whole.unwrap_or_else(|| heap.alloc(number.as_f64().unwrap_or(f64::NAN)))
}

/// What becomes of floats that are whole numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Floats {
    /// They are whole numbers.
    WholeWhereTheyAre,
    /// They stay floats.
    AsTheyAre,
}

/// Reads what a script made.
pub struct Reader {
    floats: Floats,
    room: Room,
    left: usize,
}

impl Reader {
    /// A reader of values that have so much room, together.
    pub fn new(floats: Floats, room: Room) -> Self {
        Self { floats, room, left: room.max_output }
    }

    /// What a script made. Tuples are lists, structs are mappings.
    ///
    /// # Errors
    /// When there is something in it that no resource can have, or too much.
    pub fn read(&mut self, value: Value<'_>) -> Result<Json, Unfit> {
        self.below(value, self.room.max_depth)
    }

    fn take(&mut self, bytes: usize) -> Result<(), Unfit> {
        self.left = self.left.checked_sub(bytes).ok_or(Unfit::Size(self.room.max_output))?;
        Ok(())
    }

    fn below(&mut self, value: Value<'_>, levels: usize) -> Result<Json, Unfit> {
        self.take(VALUE)?;
        if value.is_none() {
            return Ok(Json::Null);
        }
        if let Some(bool) = value.unpack_bool() {
            return Ok(Json::Bool(bool));
        }
        if let Some(text) = value.unpack_str() {
            self.take(text.len())?;
            return Ok(Json::String(text.to_owned()));
        }
        if let Some(number) = self.number(value)? {
            return Ok(Json::Number(number));
        }
        let Some(levels) = levels.checked_sub(1) else { return Err(Unfit::Depth(self.room.max_depth)) };
        if let Some(dict) = DictRef::from_value(value) {
            let fields = dict.iter().map(|(key, value)| {
                let key = key.unpack_str().ok_or_else(|| Unfit::Key(key.get_type().to_owned()))?;
                self.take(key.len())?;
                Ok((key.to_owned(), self.below(value, levels)?))
            });
            return fields.collect::<Result<Map<_, _>, _>>().map(Json::Object);
        }
        if let Some(fields) = StructRef::from_value(value) {
            let fields = fields.iter().map(|(key, value)| {
                self.take(key.as_str().len())?;
                Ok((key.as_str().to_owned(), self.below(value, levels)?))
            });
            return fields.collect::<Result<Map<_, _>, _>>().map(Json::Object);
        }
        let items = ListRef::from_value(value).map(ListRef::content);
        let items = items.or_else(|| TupleRef::from_value(value).map(TupleRef::content));
        let Some(items) = items else { return Err(Unfit::Type(value.get_type().to_owned())) };
        items.iter().map(|item| self.below(*item, levels)).collect::<Result<Vec<_>, _>>().map(Json::Array)
    }

    fn number(&self, value: Value<'_>) -> Result<Option<Number>, Unfit> {
        match value.get_type() {
            "int" => {
                let small = i64::unpack_value(value).ok().flatten().map(Number::from);
                let number = small.or_else(|| u64::unpack_value(value).ok().flatten().map(Number::from));
                number.map(Some).ok_or_else(|| Unfit::Int(value.to_str()))
            }
            "float" => {
                let float = UnpackFloat::unpack_value(value).ok().flatten().map_or(f64::NAN, |float| float.0);
                let number = match self.floats {
                    Floats::WholeWhereTheyAre => of_float(float),
                    Floats::AsTheyAre => Number::from_f64(float),
                };
                number.map(Some).ok_or_else(|| Unfit::Float(value.to_str()))
            }
            _ => Ok(None),
        }
    }
}

/// A number, whole where the float is.
#[allow(clippy::cast_possible_truncation, reason = "whole numbers of 53 bits fit")]
fn of_float(float: f64) -> Option<Number> {
    if float.fract() == 0.0 && float.abs() <= EXACT {
        return Some(Number::from(float as i64));
    }
    Number::from_f64(float)
}

/// The value with whole numbers for floats that are whole, so that it compares with what scripts make.
pub fn normal(json: Json) -> Json {
    match json {
        Json::Number(number) => {
            let float = number.as_f64().filter(|_| number.as_i64().is_none() && number.as_u64().is_none());
            Json::Number(float.and_then(of_float).unwrap_or(number))
        }
        Json::Array(items) => Json::Array(items.into_iter().map(normal).collect()),
        Json::Object(fields) => {
            Json::Object(fields.into_iter().map(|(key, value)| (key, normal(value))).collect())
        }
        Json::Null | Json::Bool(_) | Json::String(_) => json,
    }
}

/// The value as a document in block style.
///
/// # Errors
/// When it nests deeper than documents may.
pub fn document(json: &Json) -> Result<Document, lanai_yaml::ser::Error> {
    Document::from_serialize(&Plain(json))
}

/// The value as content in block style.
pub fn content(json: &Json) -> Content {
    match document(json) {
        Ok(document) => document.into(),
        Err(_) => Content::string(json.to_string()),
    }
}

/// A value that writes its numbers as numbers.
///
/// The engine asks `serde_json` for numbers of any precision, and with that `serde_json` writes a number as a structure of
/// its own to everybody but itself.
struct Plain<'a>(&'a Json);

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(bool) => serializer.serialize_bool(*bool),
            Json::String(text) => serializer.serialize_str(text),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(int), _) => serializer.serialize_i64(int),
                (None, Some(int)) => serializer.serialize_u64(int),
                (None, None) => serializer.serialize_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| list.serialize_element(&Plain(item)))?;
                list.end()
            }
            Json::Object(fields) => {
                let mut mapping = serializer.serialize_map(Some(fields.len()))?;
                fields.iter().try_for_each(|(key, value)| mapping.serialize_entry(key, &Plain(value)))?;
                mapping.end()
            }
        }
    }
}
