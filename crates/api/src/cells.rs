//! The cells of objects in a table, made from the texts of the objects.

use std::io::Write;

use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::age;
use crate::column::{CellType, Column, Source};
use crate::leaves::Leaves;

/// How the cells of some columns are made.
#[derive(Clone, Debug)]
pub struct Cells<'c> {
    leaves: Leaves,
    plans: Vec<Plan<'c>>,
}

#[derive(Clone, Debug)]
enum Plan<'c> {
    /// A field as it is.
    Field { number: usize },
    /// A field as its column wants it. It has no other steps, so that it is one value or none.
    Typed { column: &'c Column, kind: CellType, number: usize },
    /// What a column makes of some fields.
    Made { column: &'c Column, reads: Vec<(Vec<&'c str>, usize)> },
}

impl<'c> Cells<'c> {
    /// The cells of these columns.
    pub fn of(columns: &'c [Column]) -> Self {
        let mut leaves = Leaves::default();
        let plans = columns.iter().map(|column| Plan::of(column, &mut leaves)).collect();
        Self { leaves, plans }
    }

    /// Writes the cells of an object as a list; `now` is for ages.
    ///
    /// # Errors
    /// When the text is no JSON.
    pub fn write(&self, json: &str, now: Timestamp, out: &mut Vec<u8>) -> serde_json::Result<()> {
        let found = self.leaves.find(json)?;
        for (at, plan) in self.plans.iter().enumerate() {
            out.push(if at == 0 { b'[' } else { b',' });
            plan.write(&found, now, out)?;
        }
        out.extend_from_slice(if self.plans.is_empty() { b"[]" } else { b"]" });
        Ok(())
    }
}

impl<'c> Plan<'c> {
    fn of(column: &'c Column, leaves: &mut Leaves) -> Self {
        match &column.source {
            Source::Name => Self::Field { number: leaves.add(["metadata", "name"]) },
            Source::Path(path) if path.is_fields_only() => {
                Self::Typed { column, kind: column.kind, number: leaves.add(path.leading_fields()) }
            }
            Source::Path(path) => {
                let fields: Vec<&str> = path.leading_fields().collect();
                let number = leaves.add(fields.iter().copied());
                Self::Made { column, reads: vec![(fields, number)] }
            }
            Source::Computed { reads, .. } => {
                let mut read = |path: &&'c [&'static str]| (path.to_vec(), leaves.add(path.iter().copied()));
                let mut reads: Vec<_> = reads.iter().map(&mut read).collect();
                // What stands further up comes first, and with it what is below.
                reads.sort_by_key(|(path, _)| path.len());
                Self::Made { column, reads }
            }
        }
    }

    fn write(&self, found: &[Option<&str>], now: Timestamp, out: &mut Vec<u8>) -> serde_json::Result<()> {
        match self {
            Self::Field { number } => out.extend_from_slice(found[*number].unwrap_or("null").as_bytes()),
            Self::Typed { column, kind, number } => match found[*number] {
                None => out.extend_from_slice(b"null"),
                Some(text) => return write_typed(column, *kind, text, now, out),
            },
            Self::Made { column, reads } => {
                let mut object = Value::Null;
                for (path, number) in reads {
                    if let Some(text) = found[*number] {
                        put(&mut object, path, serde_json::from_str(text)?);
                    }
                }
                return serde_json::to_writer(out, &column.cell(&object, now));
            }
        }
        Ok(())
    }
}

/// Most cells are what stands in the object; what is not is read as a value.
fn write_typed(
    column: &Column,
    kind: CellType,
    text: &str,
    now: Timestamp,
    out: &mut Vec<u8>,
) -> serde_json::Result<()> {
    let is_as_it_is = match kind {
        CellType::Text => text.starts_with('"'),
        CellType::Integer => text.len() < 18 && text.bytes().all(|byte| byte.is_ascii_digit()),
        CellType::Boolean => matches!(text, "true" | "false"),
        CellType::Number | CellType::Date => false,
    };
    if is_as_it_is {
        out.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    let time = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    if let (CellType::Date, Some(Ok(time))) = (kind, time.map(str::parse::<Timestamp>)) {
        // Writing into memory does not fail, and ages are letters and digits.
        let _ = write!(out, "\"{}\"", age::since(time, now));
        return Ok(());
    }
    let value: Value = serde_json::from_str(text)?;
    serde_json::to_writer(out, &column.shown(&[&value], now))
}

fn put(object: &mut Value, path: &[&str], value: Value) {
    let mut at = object;
    for field in path {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        at = &mut at[*field];
    }
    // It may have come with what stands further up.
    if at.is_null() {
        *at = value;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::jsonpath::JsonPath;

    fn column(path: &str, kind: CellType) -> Column {
        let source = Source::Path(JsonPath::parse(path).unwrap());
        Column {
            name: "N".into(),
            kind,
            format: String::new(),
            description: String::new(),
            priority: 0,
            source,
        }
    }

    fn counted(object: &Value, _: Timestamp) -> Value {
        json!(object["l"].as_array().map_or(0, Vec::len) + object["o"]["p"].as_str().map_or(0, str::len))
    }

    /// Each way to write a cell gives what reading the whole object gives.
    #[test]
    fn cells_are_those_of_the_object() {
        let object = json!({
            "metadata": {"name": "n\"1", "t": "2026-11-18T10:00:00Z"},
            "s": "a\nb", "i": 7, "neg": -7, "big": 123_456_789_012_345_678_901_u128, "f": 2.5, "b": true, "null": null,
            "l": [1, {"x": "y"}], "o": {"p": "q", "r": [{"k": "a", "v": 1}, {"k": "b", "v": 2}]},
        });
        let kinds = [CellType::Text, CellType::Integer, CellType::Number, CellType::Boolean, CellType::Date];
        let paths = [
            ".s",
            ".i",
            ".neg",
            ".big",
            ".f",
            ".b",
            ".null",
            ".l",
            ".o",
            ".o.p",
            ".o.r",
            ".none",
            ".s.none",
            ".metadata.t",
            ".o.r[?(@.k==\"b\")].v",
            ".l[0]",
            ".l[*]",
            ".metadata.name",
        ];
        let mut columns: Vec<Column> =
            paths.iter().flat_map(|path| kinds.map(|kind| column(path, kind))).collect();
        columns.push(Column { source: Source::Name, ..column(".s", CellType::Text) });
        let reads: &'static [&'static [&'static str]] = &[&["l"], &["o", "p"], &["o"], &["none", "x"]];
        columns.push(Column {
            source: Source::Computed { of: counted, reads },
            ..column(".s", CellType::Integer)
        });
        let whole: &'static [&'static [&'static str]] = &[&["l"], &[]];
        columns.push(Column {
            source: Source::Computed { of: counted, reads: whole },
            ..column(".s", CellType::Integer)
        });
        let now: Timestamp = "2026-11-18T10:05:00Z".parse().unwrap();
        let mut out = Vec::new();
        Cells::of(&columns).write(&object.to_string(), now, &mut out).unwrap();
        let cells: Vec<Value> = serde_json::from_slice(&out).unwrap();
        for (at, (cell, column)) in cells.iter().zip(&columns).enumerate() {
            assert_eq!(*cell, column.cell(&object, now), "{at}: {:?} {:?}", column.source, column.kind);
        }
        assert_eq!(cells.len(), columns.len());
    }

    #[test]
    fn no_columns_are_an_empty_list() {
        let mut out = Vec::new();
        Cells::of(&[]).write("{}", Timestamp::UNIX_EPOCH, &mut out).unwrap();
        assert_eq!(out, b"[]");
    }
}
