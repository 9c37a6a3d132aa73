//! Columns of tables, and what stands in their cells.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::age;
use crate::jsonpath::{self, JsonPath};

/// A column of a table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// What its cells hold.
    pub kind: CellType,
    /// How the cells are to be read, such as `name` or `date-time`; may be empty.
    pub format: String,
    /// What it means.
    pub description: String,
    /// 0 for columns that are always shown; others are for `-o wide`.
    pub priority: i32,
    /// Where the cells come from.
    pub source: Source,
}

/// What cells hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellType {
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// Text.
    Text,
    /// True or false.
    Boolean,
    /// How long a time is past.
    Date,
}

impl CellType {
    /// By the name that definitions use.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "integer" => Self::Integer,
            "number" => Self::Number,
            "string" => Self::Text,
            "boolean" => Self::Boolean,
            "date" => Self::Date,
            _ => return None,
        })
    }

    /// As tables and definitions write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Text => "string",
            Self::Boolean => "boolean",
            Self::Date => "date",
        }
    }
}

/// Where a cell comes from.
#[derive(Clone, Debug)]
pub enum Source {
    /// The name of the object.
    Name,
    /// A path.
    Path(JsonPath),
    /// A function of some fields of the object and of the time.
    Computed {
        /// The function.
        of: Cell,
        /// The fields that it looks at.
        reads: &'static [&'static [&'static str]],
    },
}

/// What stands in the cell of an object at a time.
pub type Cell = fn(&Value, Timestamp) -> Value;

impl Column {
    /// The column as `columnDefinitions` of a `Table` has it.
    pub fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind.as_str(),
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }

    /// What stands in the cell of an object; `now` is for ages. Null where there is nothing to show.
    pub fn cell(&self, object: &Value, now: Timestamp) -> Value {
        match &self.source {
            Source::Name => object["metadata"]["name"].clone(),
            Source::Computed { of, .. } => of(object, now),
            Source::Path(path) => self.shown(&path.find(object), now),
        }
    }

    /// What stands in a cell whose path led to some values.
    pub(crate) fn shown(&self, found: &[&Value], now: Timestamp) -> Value {
        match (self.kind, found.first()) {
            (_, None) => Value::Null,
            (CellType::Text, Some(_)) => jsonpath::print(found).into(),
            (kind, Some(first)) => converted(kind, first, now),
        }
    }
}

/// A value as its column wants it; null where it is something else.
fn converted(kind: CellType, value: &Value, now: Timestamp) -> Value {
    match (kind, value) {
        (CellType::Integer, Value::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => whole.into(),
            #[expect(clippy::cast_possible_truncation, reason = "as the server does")]
            (None, Some(part)) => (part as i64).into(),
            (None, None) => Value::Null,
        },
        (CellType::Number, Value::Number(_)) | (CellType::Boolean, Value::Bool(_)) | (CellType::Text, _) => {
            value.clone()
        }
        (CellType::Date, Value::String(text)) => match text.parse::<Timestamp>() {
            Ok(time) => age::since(time, now).into(),
            Err(_) => "<invalid>".into(),
        },
        (CellType::Integer | CellType::Number | CellType::Boolean | CellType::Date, _) => Value::Null,
    }
}
