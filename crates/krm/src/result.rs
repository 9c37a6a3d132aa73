//! What functions report.
//!
//! [`ResultItem::from_value`] understands the older shapes that functions still print; what is written is the current one.

use std::collections::BTreeMap;
use std::fmt;

use lanai_yaml::{Kind, NodeRef};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::resource::{ResourceId, describe, split_api_version};

/// One thing that a function reports.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "Map<String, Value>", rename_all = "camelCase")]
pub struct ResultItem {
    /// What it says.
    pub message: String,
    /// How bad it is. Where it is missing, printers show it as information.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// The resource that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_ref: Option<ResourceRef>,
    /// The field that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<Field>,
    /// The file that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<File>,
    /// Whatever the function wants to add.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Fields that we do not know, as they were read.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// How bad a result is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Severity {
    /// Something is wrong.
    Error,
    /// Something may be wrong.
    Warning,
    /// Nothing is wrong.
    Info,
    /// A word that the specification does not know.
    Other(String),
}

/// The resource that a result is about. What the result does not say is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceRef {
    /// Group and version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The kind.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Fields that we do not know, as they were read.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// The field that a result is about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Field {
    /// Where the field is, in the function's notation.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// What the field is, of any type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current_value: Option<Value>,
    /// What the function would set it to, of any type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proposed_value: Option<Value>,
    /// Fields that we do not know, as they were read.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// The file that a result is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct File {
    /// The path, relative to the package.
    pub path: String,
    /// The place in the file, from 0.
    #[serde(skip_serializing_if = "is_zero")]
    pub index: usize,
    /// Fields that we do not know, as they were read.
    #[serde(flatten)]
    pub others: Map<String, Value>,
}

/// Why results could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The results are neither a list nor an older wrapper of one.
    #[error("line {line}: results are a list, this is {found}")]
    NotAList {
        /// The line.
        line: usize,
        /// What is there, in words.
        found: &'static str,
    },
    /// An entry is no mapping.
    #[error("line {line}: a result is a mapping, this is {found}")]
    NotAMapping {
        /// The line.
        line: usize,
        /// What is there, in words.
        found: &'static str,
    },
    /// An entry cannot be read at all.
    #[error("line {line}: {cause}")]
    Unreadable {
        /// The line.
        line: usize,
        /// What the reader says.
        cause: String,
    },
}

/// Reads the results of a function: a list, or the older mapping with `items`. Null is no results.
///
/// # Errors
/// When it is neither, or an entry is no mapping.
pub fn read(node: NodeRef<'_>) -> Result<Vec<ResultItem>, Error> {
    let node = node.target();
    let list = match node.kind() {
        Kind::Mapping => match node.get("items") {
            Some(items) => items.target(),
            None => return Ok(Vec::new()),
        },
        Kind::Scalar | Kind::Sequence | Kind::Alias => node,
    };
    if list.is_null() {
        return Ok(Vec::new());
    }
    if list.kind() != Kind::Sequence {
        return Err(Error::NotAList { line: list.position().line, found: describe(list) });
    }
    list.items().map(read_one).collect()
}

fn read_one(item: NodeRef<'_>) -> Result<ResultItem, Error> {
    if item.target().kind() != Kind::Mapping {
        return Err(Error::NotAMapping { line: item.position().line, found: describe(item) });
    }
    item.deserialize()
        .map(ResultItem::from_value)
        .map_err(|error| Error::Unreadable { line: item.position().line, cause: error.to_string() })
}

impl ResultItem {
    /// Reads a result in the current shape or an older one; never fails, because a strange report is better than none.
    ///
    /// Older: name and namespace of the resource below `metadata`, and `suggestedValue` for the proposed value. Scalars of
    /// any type count as text where text is expected; a field of an unexpected shape is kept among the others.
    pub fn from_value(mut fields: Map<String, Value>) -> Self {
        Self {
            message: take_text(&mut fields, "message").unwrap_or_default(),
            severity: take_text(&mut fields, "severity").filter(|text| !text.is_empty()).map(Severity::from),
            resource_ref: take_map(&mut fields, "resourceRef").map(resource_ref),
            field: take_map(&mut fields, "field").map(field),
            file: take_map(&mut fields, "file").map(file),
            tags: take_map(&mut fields, "tags").map(texts).unwrap_or_default(),
            others: fields,
        }
    }
}

impl From<Map<String, Value>> for ResultItem {
    fn from(fields: Map<String, Value>) -> Self {
        Self::from_value(fields)
    }
}

fn resource_ref(mut fields: Map<String, Value>) -> ResourceRef {
    let mut metadata = take_map(&mut fields, "metadata").unwrap_or_default();
    let mut named = |key| take_text(&mut fields, key).or_else(|| take_text(&mut metadata, key));
    ResourceRef {
        api_version: named("apiVersion").unwrap_or_default(),
        kind: named("kind").unwrap_or_default(),
        name: named("name").unwrap_or_default(),
        namespace: named("namespace").unwrap_or_default(),
        others: fields,
    }
}

fn field(mut fields: Map<String, Value>) -> Field {
    let mut value = |key| fields.shift_remove(key).filter(|value| !value.is_null());
    let current_value = value("currentValue");
    let proposed_value = value("proposedValue").or_else(|| value("suggestedValue"));
    let path = take_text(&mut fields, "path").unwrap_or_default();
    Field { path, current_value, proposed_value, others: fields }
}

fn file(mut fields: Map<String, Value>) -> File {
    let index = take_text(&mut fields, "index").and_then(|index| index.parse().ok());
    let path = take_text(&mut fields, "path").unwrap_or_default();
    File { path, index: index.unwrap_or_default(), others: fields }
}

fn texts(fields: Map<String, Value>) -> BTreeMap<String, String> {
    fields.into_iter().map(|(key, value)| (key, plain(&value).unwrap_or_else(|| value.to_string()))).collect()
}

/// Takes a scalar out as text; what is none stays.
fn take_text(fields: &mut Map<String, Value>, key: &str) -> Option<String> {
    let text = plain(fields.get(key)?)?;
    fields.shift_remove(key);
    Some(text)
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => Some(String::new()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Takes a mapping out; null is none, and what else is none stays.
fn take_map(fields: &mut Map<String, Value>, key: &str) -> Option<Map<String, Value>> {
    if !matches!(fields.get(key)?, Value::Object(_) | Value::Null) {
        return None;
    }
    match fields.shift_remove(key) {
        Some(Value::Object(map)) => Some(map),
        _ => None,
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(index: &usize) -> bool {
    *index == 0
}

impl From<&ResourceRef> for ResourceId {
    fn from(of: &ResourceRef) -> Self {
        let (group, version) = split_api_version(&of.api_version);
        Self {
            group: group.into(),
            version: version.into(),
            kind: of.kind.clone(),
            namespace: of.namespace.clone(),
            name: of.name.clone(),
        }
    }
}

impl From<&ResourceId> for ResourceRef {
    fn from(id: &ResourceId) -> Self {
        Self {
            api_version: id.api_version(),
            kind: id.kind.clone(),
            name: id.name.clone(),
            namespace: id.namespace.clone(),
            others: Map::new(),
        }
    }
}

impl Severity {
    /// The word.
    pub fn as_str(&self) -> &str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
            Severity::Other(word) => word,
        }
    }
}

impl From<String> for Severity {
    fn from(word: String) -> Self {
        match word.as_str() {
            "error" => Severity::Error,
            "warning" => Severity::Warning,
            "info" => Severity::Info,
            _ => Severity::Other(word),
        }
    }
}

impl From<Severity> for String {
    fn from(severity: Severity) -> Self {
        severity.as_str().into()
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
