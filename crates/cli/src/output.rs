//! How objects are printed: `-o yaml|json|name|wide|jsonpath=…|custom-columns=…`.

mod template;

use std::ffi::OsStr;

use clap::builder::{PossibleValue, TypedValueParser};
use lanai_api::JsonPath;
use lanai_yaml::Document;
use serde_json::{Value, json};

use crate::client::Resource;
use crate::failure::{Code, Failure};
use crate::table;
use template::Template;

/// How objects are printed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Output {
    /// In the columns that the server names.
    Table(Width),
    Yaml,
    Json,
    Name,
    Columns(Vec<Column>),
    Template(Template),
}

/// Which columns of a table there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Usual,
    Wide,
}

/// A column that somebody asked for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    name: String,
    path: JsonPath,
}

/// Reads the argument of `-o`, and knows for shells what it can be.
#[derive(Clone, Debug)]
pub(crate) struct Formats;

impl TypedValueParser for Formats {
    type Value = Output;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<Output, clap::Error> {
        let parse: fn(&str) -> Result<Output, String> = Output::parse;
        parse.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = ["yaml", "json", "name", "wide", "jsonpath=", "custom-columns="];
        Some(Box::new(names.into_iter().map(PossibleValue::new)))
    }
}

const FORMATS: &str = "custom-columns, json, jsonpath, name, wide, yaml";

impl Output {
    /// Reads the argument of `-o`.
    ///
    /// # Errors
    /// When there is no such format.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, argument) = text.split_once('=').unwrap_or((text, ""));
        match (name, argument) {
            ("", "") => Ok(Self::Table(Width::Usual)),
            ("wide", "") => Ok(Self::Table(Width::Wide)),
            ("yaml", "") => Ok(Self::Yaml),
            ("json", "") => Ok(Self::Json),
            ("name", "") => Ok(Self::Name),
            ("custom-columns", "") => {
                Err("custom-columns format specified but no custom columns given".into())
            }
            ("custom-columns", list) => columns(list).map(Self::Columns),
            ("jsonpath", "") => Err("template format specified but no template given".into()),
            ("jsonpath", text) => Template::parse(text).map(Self::Template),
            _ => Err(format!(
                "unable to match a printer suitable for the output format \"{text}\", allowed formats are: {FORMATS}"
            )),
        }
    }

    /// Whether the server makes the columns.
    pub fn is_table(&self) -> bool {
        matches!(self, Self::Table(_))
    }

    /// The text of objects. `single` where exactly one was asked for by its name.
    ///
    /// # Errors
    /// When an object has no form in that format.
    pub fn text(&self, resource: Resource, objects: &[Value], single: Single) -> Result<String, Failure> {
        let one = || match (objects, single) {
            ([object], Single::Yes) => object.clone(),
            _ => {
                json!({"apiVersion": "v1", "kind": "List", "items": objects, "metadata": {"resourceVersion": ""}})
            }
        };
        match self {
            Self::Yaml => yaml(&one()),
            Self::Json => Ok(json(&one()) + "\n"),
            Self::Name | Self::Table(_) => {
                let names: Vec<String> = objects.iter().map(|object| name(resource, object) + "\n").collect();
                Ok(names.concat())
            }
            Self::Columns(columns) => {
                let header: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
                let row = |object: &Value| columns.iter().map(|column| cell(&column.path, object)).collect();
                Ok(table::text(&header, objects.iter().map(row).collect()))
            }
            Self::Template(template) => Ok(template.fill(&one())),
        }
    }
}

/// Whether one object was asked for by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Single {
    Yes,
    No,
}

/// The name of an object with its kind, as kubectl takes it back.
pub(crate) fn name(resource: Resource, object: &Value) -> String {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    format!("{}.{}/{name}", resource.singular, resource.group)
}

/// An object in YAML.
///
/// # Errors
/// When it has no form in YAML.
pub(crate) fn yaml(object: &Value) -> Result<String, Failure> {
    let document = Document::from_serialize(object);
    document
        .map(|text| text.to_string())
        .map_err(|error| Failure::of(Code::Other, format!("cannot print it: {error}")))
}

/// An object in JSON, as kubectl indents it.
pub(crate) fn json(object: &Value) -> String {
    use serde::Serialize;
    let mut bytes = Vec::new();
    let format = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    let mut writer = serde_json::Serializer::with_formatter(&mut bytes, format);
    // Writing a value to memory does not fail.
    let _ = object.serialize(&mut writer);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn columns(list: &str) -> Result<Vec<Column>, String> {
    let column = |part: &str| {
        let (name, path) =
            part.split_once(':').filter(|(name, path)| !name.is_empty() && !path.is_empty()).ok_or_else(
                || format!("unexpected custom-columns spec: {part}, expected <header>:<json-path-expr>"),
            )?;
        let path = JsonPath::parse(path).map_err(|error| error.to_string())?;
        Ok(Column { name: name.to_owned(), path })
    };
    list.split(',').map(column).collect()
}

fn cell(path: &JsonPath, object: &Value) -> String {
    let found = path.find(object);
    if found.is_empty() {
        return "<none>".into();
    }
    let text = |value: &&Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "<nil>".into(),
        other => other.to_string(),
    };
    found.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESOURCE: Resource =
        Resource { group: "g", version: "v1", plural: "things", singular: "thing", kind: "Thing" };

    fn check(format: &str, expected: &str) {
        let objects = [json!({"metadata": {"name": "a"}, "n": 1}), json!({"metadata": {"name": "b"}})];
        let text = Output::parse(format).unwrap().text(RESOURCE, &objects, Single::No).unwrap();
        assert_eq!(text, expected, "{format}");
    }

    #[test]
    fn objects_are_printed_as_asked() {
        check("name", "thing.g/a\nthing.g/b\n");
        check("custom-columns=N:.metadata.name,X:.n", "N     X\na     1\nb     <none>\n");
        check("jsonpath={.items[*].metadata.name}", "a b");
        check("jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{end}", "a\nb\n");
    }

    #[test]
    fn what_is_no_format_is_refused() {
        for wrong in [
            "xml",
            "yaml=x",
            "jsonpath",
            "jsonpath={.a",
            "custom-columns",
            "custom-columns=a",
            "custom-columns=:",
        ] {
            assert!(Output::parse(wrong).is_err(), "{wrong}");
        }
    }
}
