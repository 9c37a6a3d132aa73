//! Objects of Kubernetes's own kinds in protobuf, as clients send them: read into the values that JSON would have given.

mod table;
mod wire;

use lanai_openapi::format::base64_text;
use serde_json::{Map, Value};

use table::{Field, Many, Shape, Table, Zero, table};
use wire::{Piece, Pieces};

/// The media type.
pub const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";
/// How deep messages may stand in each other.
pub const MAX_DEPTH: usize = 100;
/// How many values one object may have.
pub const MAX_VALUES: usize = 1 << 20;

/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Why a body cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It does not begin as such bodies do.
    #[error("provided data does not appear to be a protobuf message, expected prefix \"k8s\\x00\"")]
    Prefix,
    /// Nothing is known of the kind.
    #[error("no kind \"{kind}\" is known in protobuf for version \"{api_version}\"")]
    Kind {
        /// The version.
        api_version: String,
        /// The kind.
        kind: String,
    },
    /// It is not protobuf, or not of these fields.
    #[error("proto: {0}")]
    Damaged(&'static str),
    /// Deeper than [`MAX_DEPTH`].
    #[error("proto: messages stand in each other deeper than {MAX_DEPTH}")]
    TooDeep,
    /// More than [`MAX_VALUES`].
    #[error("proto: an object has more than {MAX_VALUES} values")]
    TooMany,
}

/// Reads an object with its `apiVersion` and `kind`. Fields that nobody knows are passed over, as protobuf has it.
///
/// # Errors
/// When it is no protobuf, of a kind that is not known, or beyond [`MAX_DEPTH`] or [`MAX_VALUES`].
pub fn read(body: &[u8]) -> Result<Value, Error> {
    let body = body.strip_prefix(MAGIC).ok_or(Error::Prefix)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for piece in Pieces::of(body) {
        match piece? {
            (1, Piece::Bytes(meta)) => {
                for piece in Pieces::of(meta) {
                    match piece? {
                        (1, Piece::Bytes(bytes)) => api_version = text(bytes)?,
                        (2, Piece::Bytes(bytes)) => kind = text(bytes)?,
                        _ => {}
                    }
                }
            }
            (2, Piece::Bytes(bytes)) => raw = bytes,
            (3, Piece::Bytes(encoding)) if !encoding.is_empty() => {
                return Err(Error::Damaged("the object is encoded once more"));
            }
            _ => {}
        }
    }
    let table = table();
    let message = table.kind(&api_version, &kind);
    let message =
        message.ok_or_else(|| Error::Kind { api_version: api_version.clone(), kind: kind.clone() })?;
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Reader { table, values: 0 }.message(raw, message, &mut object, 0)?;
    Ok(Value::Object(object))
}

fn text(bytes: &[u8]) -> Result<String, Error> {
    std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| Error::Damaged("a text is not UTF-8"))
}

struct Reader {
    table: &'static Table,
    values: usize,
}

impl Reader {
    /// Reads a message into an object; what is there already is merged with it.
    fn message(
        &mut self,
        bytes: &[u8],
        message: usize,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Error> {
        if depth > MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        let table = self.table;
        for piece in Pieces::of(bytes) {
            let (number, piece) = piece?;
            let Some(field) = table.message(message).field(number) else { continue };
            self.count()?;
            match field.many {
                Many::One => self.single(field, &piece, object, depth)?,
                Many::List => {
                    let item = self.value(field.shape, &piece, None, depth)?;
                    let list = object.entry(field.name).or_insert_with(|| Value::Array(Vec::new()));
                    list.as_array_mut().expect("the field is a list in the table").push(item);
                }
                Many::Map => {
                    let (key, value) = self.entry(field.shape, &piece, depth)?;
                    let map = object.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
                    map.as_object_mut().expect("the field is a map in the table").insert(key, value);
                }
            }
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), Error> {
        self.values += 1;
        if self.values > MAX_VALUES { Err(Error::TooMany) } else { Ok(()) }
    }

    fn single(
        &mut self,
        field: &Field,
        piece: &Piece<'_>,
        object: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), Error> {
        let old = match field.shape {
            Shape::Message(_) => object.shift_remove(field.name),
            _ => None,
        };
        let value = self.value(field.shape, piece, old, depth)?;
        let is_zero = match &value {
            Value::Bool(flag) => !flag,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(text) => text.is_empty(),
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        };
        if is_zero && field.zero == Zero::Dropped {
            object.shift_remove(field.name);
        } else {
            object.insert(field.name.to_owned(), value);
        }
        Ok(())
    }

    fn entry(&mut self, shape: Shape, piece: &Piece<'_>, depth: usize) -> Result<(String, Value), Error> {
        let (mut key, mut value) = (String::new(), None);
        for piece in Pieces::of(piece.bytes()?) {
            match piece? {
                (1, Piece::Bytes(bytes)) => key = text(bytes)?,
                (2, piece) => value = Some(self.value(shape, &piece, None, depth)?),
                _ => {}
            }
        }
        let value = match value {
            Some(value) => value,
            None => self.value(shape, &Piece::Bytes(&[]), None, depth)?,
        };
        Ok((key, value))
    }

    fn value(
        &mut self,
        shape: Shape,
        piece: &Piece<'_>,
        old: Option<Value>,
        depth: usize,
    ) -> Result<Value, Error> {
        Ok(match shape {
            Shape::Text => text(piece.bytes()?)?.into(),
            Shape::Bytes => base64_text(piece.bytes()?).into(),
            Shape::Boolean => (piece.number()? != 0).into(),
            // Numbers below zero are written as if they were very large.
            Shape::Integer => piece.number()?.cast_signed().into(),
            Shape::Number => number(piece.double()?),
            Shape::Time => time(piece.bytes()?, Precision::Seconds)?,
            Shape::MicroTime => time(piece.bytes()?, Precision::Micros)?,
            Shape::Json => json(piece.bytes()?)?,
            Shape::Texts => {
                let mut texts = Vec::new();
                for piece in Pieces::of(piece.bytes()?) {
                    if let (1, Piece::Bytes(bytes)) = piece? {
                        self.count()?;
                        texts.push(Value::from(text(bytes)?));
                    }
                }
                texts.into()
            }
            Shape::SchemaOrList | Shape::SchemaOrBoolean | Shape::SchemaOrTexts => {
                self.schema_or(shape, piece.bytes()?, depth)?
            }
            Shape::Message(message) => {
                let mut object = match old {
                    Some(Value::Object(object)) => object,
                    Some(_) | None => Map::new(),
                };
                self.message(piece.bytes()?, message, &mut object, depth + 1)?;
                Value::Object(object)
            }
        })
    }

    /// A schema, or what stands in its place.
    fn schema_or(&mut self, shape: Shape, bytes: &[u8], depth: usize) -> Result<Value, Error> {
        let of_schema = Shape::Message(self.table.schema);
        let (mut schema, mut list, mut allows) = (None, Vec::new(), false);
        for piece in Pieces::of(bytes) {
            let (number, piece) = piece?;
            self.count()?;
            match (shape, number) {
                (Shape::SchemaOrBoolean, 1) => allows = piece.number()? != 0,
                (Shape::SchemaOrBoolean, 2) | (Shape::SchemaOrList | Shape::SchemaOrTexts, 1) => {
                    schema = Some(self.value(of_schema, &piece, schema, depth)?);
                }
                (Shape::SchemaOrList, 2) => list.push(self.value(of_schema, &piece, None, depth)?),
                (Shape::SchemaOrTexts, 2) => list.push(text(piece.bytes()?)?.into()),
                _ => {}
            }
        }
        Ok(match (schema, shape) {
            (Some(schema), _) => schema,
            (None, Shape::SchemaOrBoolean) => allows.into(),
            (None, _) => list.into(),
        })
    }
}

/// A number as JSON writes it: one without a fraction has no point.
fn number(found: f64) -> Value {
    /// Above this, not every integer has a number of its own.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if found.fract() == 0.0 && found.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "it is an integer of less than 54 bits")]
        return Value::from(found as i64);
    }
    serde_json::Number::from_f64(found).map_or(Value::Null, Value::Number)
}

#[derive(Clone, Copy)]
enum Precision {
    Seconds,
    Micros,
}

/// A time; nothing is no time.
fn time(bytes: &[u8], precision: Precision) -> Result<Value, Error> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    for piece in Pieces::of(bytes) {
        match piece? {
            (1, piece @ Piece::Number(_)) => seconds = piece.number()?.cast_signed(),
            (2, piece @ Piece::Number(_)) => nanos = piece.number()?.cast_signed(),
            _ => {}
        }
    }
    let out_of_range = Error::Damaged("a time is out of range");
    let nanos = i32::try_from(nanos).map_err(|_| out_of_range.clone())?;
    let at = jiff::Timestamp::new(seconds, nanos).map_err(|_| out_of_range)?;
    Ok(match precision {
        Precision::Seconds => crate::time::text(at).into(),
        Precision::Micros => format!("{at:.6}").into(),
    })
}

/// JSON as bytes; nothing is null.
fn json(bytes: &[u8]) -> Result<Value, Error> {
    let mut raw = &[][..];
    for piece in Pieces::of(bytes) {
        if let (1, Piece::Bytes(bytes)) = piece? {
            raw = bytes;
        }
    }
    if raw.is_empty() {
        return Ok(Value::Null);
    }
    let read = crate::decode::json(raw).map_err(|_| Error::Damaged("JSON in a message cannot be read"))?;
    Ok(read.value)
}
