//! Answers: objects, lists, tables and events in the form that was asked for.

use std::sync::Arc;

use jiff::Timestamp;
use lanai_api::{Cells, Column, Version};
use lanai_store::{Revision, Stored};
use serde_json::{Map, Value, json};

use crate::accept::{Accept, Format, Shape};
use crate::query::Query;
use crate::registry::Registered;
use crate::row;
use crate::status::Status;

/// How the objects of one request are shown.
#[derive(Debug, Clone)]
pub struct View {
    /// The form.
    pub accept: Accept,
    /// Their kind.
    pub kind: Arc<Registered>,
    /// In which version.
    pub version: String,
    /// What tables have beside their cells.
    pub include: Include,
    /// For ages.
    pub now: Timestamp,
}

/// What tables have beside their cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    Nothing,
    /// The metadata of the object.
    Metadata,
    /// The object.
    Object,
}

impl Include {
    /// Reads `includeObject`.
    pub fn of(query: &Query) -> Result<Self, Status> {
        match query.get("includeObject") {
            None | Some("Metadata") => Ok(Self::Metadata),
            Some("None") => Ok(Self::Nothing),
            Some("Object") => Ok(Self::Object),
            Some(other) => Err(Status::bad_request(format!(
                "includeObject \"{other}\" is none of None, Metadata, Object"
            ))),
        }
    }
}

/// An object on its way out.
#[derive(Debug, Clone)]
pub enum Item {
    /// A row, as of a revision.
    Row(Arc<Stored>, Revision),
    /// An object that is not stored so, in the storage version.
    Value(Value),
}

impl Item {
    /// The name of the object.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Row(stored, _) => stored.key.name(),
            Self::Value(value) => crate::meta::name(value),
        }
    }

    fn into_value(self) -> Result<Value, Status> {
        match self {
            Self::Row(stored, revision) => row::decode_at(&stored, revision),
            Self::Value(value) => Ok(value),
        }
    }
}

/// What a list is beside its items.
#[derive(Debug, Clone)]
pub struct ListMeta {
    /// As of when.
    pub revision: Revision,
    /// Where it goes on.
    pub go_on: Option<String>,
}

impl View {
    fn api_version(&self) -> String {
        self.kind.info.api_version(&self.version)
    }

    fn version(&self) -> Result<&Version, Status> {
        self.kind.info.version(&self.version).ok_or_else(Status::no_such_path)
    }

    /// One object.
    pub fn one(&self, item: Item) -> Result<Vec<u8>, Status> {
        match (self.accept.shape, self.accept.format, &item) {
            (
                Shape::Objects | Shape::Discovery,
                Format::Json | Format::OpenApiProtobuf | Format::Discovery | Format::Text,
                Item::Row(stored, revision),
            ) => {
                let mut out = Vec::new();
                self.row(stored, *revision, &self.api_version(), &mut out)?;
                Ok(out)
            }
            _ => Ok(self.written(&self.shaped(item, Headings::Shown)?)),
        }
    }

    /// A list.
    pub fn list(&self, meta: &ListMeta, items: Vec<Item>) -> Result<Vec<u8>, Status> {
        let metadata = list_metadata(meta);
        match (self.accept.shape, self.accept.format) {
            (
                Shape::Objects | Shape::Discovery,
                Format::Json | Format::OpenApiProtobuf | Format::Discovery | Format::Text,
            ) => self.concatenated(&metadata, items),
            (Shape::Objects | Shape::Discovery, Format::Yaml) => {
                let items =
                    items.into_iter().map(|item| self.converted(item)).collect::<Result<Vec<_>, _>>()?;
                let kind = &self.kind.info.names.list_kind;
                Ok(self.written(&json!({"apiVersion": self.api_version(), "kind": kind, "metadata": metadata, "items": items})))
            }
            (Shape::Metadata, _) => {
                let items = items.into_iter().map(partial).collect::<Result<Vec<_>, _>>()?;
                let list = json!({"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items});
                Ok(self.written(&list))
            }
            (Shape::Table, Format::Yaml) => {
                Ok(self.written(&self.table(&metadata, items, Headings::Shown)?))
            }
            (Shape::Table, Format::Json | Format::OpenApiProtobuf | Format::Discovery | Format::Text) => {
                self.spliced_table(&metadata, items)
            }
        }
    }

    /// One line of a watch.
    pub fn frame(&self, event: &str, item: Item, headings: Headings) -> Result<Vec<u8>, Status> {
        let mut line = format!("{{\"type\":\"{event}\",\"object\":").into_bytes();
        match (self.accept.shape, &item) {
            (Shape::Objects | Shape::Discovery, Item::Row(stored, revision)) => {
                self.row(stored, *revision, &self.api_version(), &mut line)?;
            }
            _ => line.extend(self.shaped(item, headings)?.to_string().into_bytes()),
        }
        line.extend_from_slice(b"}\n");
        Ok(line)
    }

    /// A bookmark of a watch.
    pub fn bookmark(&self, revision: Revision, annotations: Option<Value>) -> Vec<u8> {
        let mut metadata = json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
        if let Some(annotations) = annotations {
            metadata["annotations"] = annotations;
        }
        let object = match self.accept.shape {
            Shape::Objects | Shape::Discovery => {
                json!({"kind": self.kind.info.names.kind, "apiVersion": self.api_version(), "metadata": metadata})
            }
            Shape::Metadata => {
                json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata})
            }
            Shape::Table => {
                let object = json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": metadata});
                json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": revision.to_string()},
                       "columnDefinitions": null, "rows": [{"cells": [], "object": object}]})
            }
        };
        format!("{{\"type\":\"BOOKMARK\",\"object\":{object}}}\n").into_bytes()
    }

    fn concatenated(&self, metadata: &Value, items: Vec<Item>) -> Result<Vec<u8>, Status> {
        let api_version = self.api_version();
        let kind = &self.kind.info.names.list_kind;
        let mut out = format!(
            "{{\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\",\"metadata\":{metadata},\"items\":["
        )
        .into_bytes();
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            match item {
                Item::Row(stored, revision) => self.row(&stored, revision, &api_version, &mut out)?,
                other @ Item::Value(_) => out.extend(self.converted(other)?.to_string().into_bytes()),
            }
        }
        out.extend_from_slice(b"]}\n");
        Ok(out)
    }

    /// Writes a row in the version that was asked for: its own bytes where they are right already.
    fn row(
        &self,
        stored: &Arc<Stored>,
        revision: Revision,
        api_version: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), Status> {
        if self.kind.is_as_stored(stored, &self.version) {
            return row::splice(stored, revision, api_version, out);
        }
        out.extend(self.converted(Item::Row(stored.clone(), revision))?.to_string().into_bytes());
        Ok(())
    }

    /// The object in the version that was asked for.
    pub fn converted(&self, item: Item) -> Result<Value, Status> {
        Ok(self.kind.presented(item.into_value()?, &self.version))
    }

    fn shaped(&self, item: Item, headings: Headings) -> Result<Value, Status> {
        match self.accept.shape {
            Shape::Objects | Shape::Discovery => self.converted(item),
            Shape::Metadata => partial(item),
            Shape::Table => {
                let value = item.into_value()?;
                let revision = value["metadata"]["resourceVersion"].clone();
                self.table(&json!({"resourceVersion": revision}), vec![Item::Value(value)], headings)
            }
        }
    }

    fn table(&self, metadata: &Value, items: Vec<Item>, headings: Headings) -> Result<Value, Status> {
        let columns = &self.version()?.columns;
        let definitions = match headings {
            Headings::Shown => columns.iter().map(Column::definition).collect(),
            Headings::Left => Value::Null,
        };
        let rows =
            items.into_iter().map(|item| self.table_row(columns, item)).collect::<Result<Vec<_>, _>>()?;
        Ok(json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
                  "columnDefinitions": definitions, "rows": rows}))
    }

    fn table_row(&self, columns: &[Column], item: Item) -> Result<Value, Status> {
        let value = self.converted(item)?;
        let mut row = json!({"cells": self.cells(columns, &value)});
        match self.include {
            Include::Nothing => {}
            Include::Metadata => row["object"] = partial_of(&value),
            Include::Object => row["object"] = value,
        }
        Ok(row)
    }

    fn cells(&self, columns: &[Column], value: &Value) -> Vec<Value> {
        columns.iter().map(|column| column.cell(value, self.now)).collect()
    }

    /// A table as text. Of rows that are as they are asked for, nothing is read but what the cells are made of.
    fn spliced_table(&self, metadata: &Value, items: Vec<Item>) -> Result<Vec<u8>, Status> {
        let columns = &self.version()?.columns;
        let cells = Cells::of(columns);
        let definitions: Value = columns.iter().map(Column::definition).collect();
        let mut out = format!(
            "{{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{metadata},\"columnDefinitions\":{definitions},\"rows\":["
        )
        .into_bytes();
        for (at, item) in items.into_iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            match item {
                Item::Row(stored, revision)
                    if self.include != Include::Object && self.kind.is_as_stored(&stored, &self.version) =>
                {
                    self.splice_row(&cells, &stored, revision, &mut out)?;
                }
                other => out.extend(self.table_row(columns, other)?.to_string().into_bytes()),
            }
        }
        out.extend_from_slice(b"]}\n");
        Ok(out)
    }

    fn splice_row(
        &self,
        cells: &Cells<'_>,
        stored: &Stored,
        revision: Revision,
        out: &mut Vec<u8>,
    ) -> Result<(), Status> {
        out.extend_from_slice(b"{\"cells\":");
        let written = row::text(stored).and_then(|text| cells.write(text, self.now, out));
        written.map_err(|error| row::damaged(stored, &error))?;
        if self.include == Include::Metadata {
            out.extend_from_slice(b",\"object\":{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
            row::splice_metadata(stored, revision, out)?;
            out.push(b'}');
        }
        out.push(b'}');
        Ok(())
    }

    fn written(&self, value: &Value) -> Vec<u8> {
        written(value, self.accept.format)
    }
}

/// Whether a table says what its columns are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Headings {
    /// It does.
    Shown,
    /// It does not: an earlier one did.
    Left,
}

fn partial(item: Item) -> Result<Value, Status> {
    Ok(partial_of(&item.into_value()?))
}

fn partial_of(object: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"]})
}

fn list_metadata(meta: &ListMeta) -> Value {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".into(), json!(meta.revision.to_string()));
    if let Some(token) = &meta.go_on {
        metadata.insert("continue".into(), json!(token));
    }
    Value::Object(metadata)
}

/// A value as text.
pub fn written(value: &Value, format: Format) -> Vec<u8> {
    if format == Format::Yaml
        && let Ok(document) = lanai_yaml::Document::from_serialize(value)
    {
        return document.to_string().into_bytes();
    }
    let mut text = value.to_string().into_bytes();
    text.push(b'\n');
    text
}
