//! The v2 document as protobuf: the part of the messages that clients of Kubernetes read.

use prost::Message;
use serde_json::Value;

/// The media type of the document as protobuf.
pub const MEDIA_TYPE: &str = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

/// The v2 document as protobuf.
pub fn v2_protobuf(document: &Value) -> Vec<u8> {
    Document::of(document).encode_to_vec()
}

#[derive(Clone, PartialEq, Message)]
struct Document {
    #[prost(string, tag = "1")]
    swagger: String,
    #[prost(message, optional, tag = "2")]
    info: Option<Info>,
    #[prost(message, optional, tag = "8")]
    paths: Option<Paths>,
    #[prost(message, optional, tag = "9")]
    definitions: Option<Named>,
}

#[derive(Clone, PartialEq, Message)]
struct Info {
    #[prost(string, tag = "1")]
    title: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, Message)]
struct Paths {
    #[prost(message, repeated, tag = "2")]
    path: Vec<NamedPath>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedPath {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<PathItem>,
}

#[derive(Clone, PartialEq, Message)]
struct PathItem {
    #[prost(message, optional, tag = "2")]
    get: Option<Operation>,
    #[prost(message, optional, tag = "3")]
    put: Option<Operation>,
    #[prost(message, optional, tag = "4")]
    post: Option<Operation>,
    #[prost(message, optional, tag = "5")]
    delete: Option<Operation>,
    #[prost(message, optional, tag = "8")]
    patch: Option<Operation>,
}

#[derive(Clone, PartialEq, Message)]
struct Operation {
    #[prost(string, tag = "3")]
    description: String,
    #[prost(message, repeated, tag = "8")]
    parameters: Vec<ParametersItem>,
    #[prost(message, repeated, tag = "13")]
    extensions: Vec<NamedAny>,
}

#[derive(Clone, PartialEq, Message)]
struct ParametersItem {
    #[prost(message, optional, tag = "1")]
    parameter: Option<Parameter>,
}

#[derive(Clone, PartialEq, Message)]
struct Parameter {
    #[prost(message, optional, tag = "2")]
    non_body: Option<NonBodyParameter>,
}

#[derive(Clone, PartialEq, Message)]
struct NonBodyParameter {
    #[prost(message, optional, tag = "3")]
    query: Option<QueryParameter>,
}

#[derive(Clone, PartialEq, Message)]
struct QueryParameter {
    #[prost(string, tag = "2")]
    place: String,
    #[prost(string, tag = "4")]
    name: String,
    #[prost(string, tag = "6")]
    kind: String,
}

/// Schemas under names: definitions, and the properties of an object.
#[derive(Clone, PartialEq, Message)]
struct Named {
    #[prost(message, repeated, tag = "1")]
    schemas: Vec<NamedSchema>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedSchema {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct Schema {
    #[prost(string, tag = "1")]
    reference: String,
    #[prost(string, tag = "2")]
    format: String,
    #[prost(string, tag = "4")]
    description: String,
    #[prost(string, repeated, tag = "19")]
    required: Vec<String>,
    #[prost(message, optional, tag = "21")]
    additional: Option<Box<Additional>>,
    #[prost(message, optional, tag = "22")]
    kind: Option<TypeItem>,
    #[prost(message, optional, tag = "23")]
    items: Option<Items>,
    #[prost(message, optional, tag = "25")]
    properties: Option<Named>,
    #[prost(message, repeated, tag = "31")]
    extensions: Vec<NamedAny>,
}

#[derive(Clone, PartialEq, Message)]
struct Additional {
    #[prost(message, optional, tag = "1")]
    schema: Option<Box<Schema>>,
}

#[derive(Clone, PartialEq, Message)]
struct TypeItem {
    #[prost(string, repeated, tag = "1")]
    value: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
struct Items {
    #[prost(message, repeated, tag = "1")]
    schema: Vec<Schema>,
}

#[derive(Clone, PartialEq, Message)]
struct NamedAny {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    value: Option<Any>,
}

/// A value as YAML, of which JSON is a part.
#[derive(Clone, PartialEq, Message)]
struct Any {
    #[prost(string, tag = "2")]
    yaml: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn extensions(value: &Value) -> Vec<NamedAny> {
    let all = value.as_object().into_iter().flatten().filter(|(name, _)| name.starts_with("x-"));
    all.map(|(name, value)| NamedAny { name: name.clone(), value: Some(Any { yaml: format!("{value}\n") }) })
        .collect()
}

impl Document {
    fn of(document: &Value) -> Self {
        let paths = document["paths"].as_object().into_iter().flatten();
        Self {
            swagger: text(&document["swagger"]),
            info: Some(Info {
                title: text(&document["info"]["title"]),
                version: text(&document["info"]["version"]),
            }),
            paths: Some(Paths {
                path: paths
                    .map(|(name, item)| NamedPath { name: name.clone(), value: Some(PathItem::of(item)) })
                    .collect(),
            }),
            definitions: Some(Named::of(&document["definitions"])),
        }
    }
}

impl PathItem {
    fn of(item: &Value) -> Self {
        let operation = |name: &str| item.get(name).map(Operation::of);
        Self {
            get: operation("get"),
            put: operation("put"),
            post: operation("post"),
            delete: operation("delete"),
            patch: operation("patch"),
        }
    }
}

impl Operation {
    fn of(operation: &Value) -> Self {
        let parameters = operation["parameters"].as_array().into_iter().flatten().map(|parameter| {
            let query = QueryParameter {
                place: text(&parameter["in"]),
                name: text(&parameter["name"]),
                kind: text(&parameter["type"]),
            };
            let non_body = Some(NonBodyParameter { query: Some(query) });
            ParametersItem { parameter: Some(Parameter { non_body }) }
        });
        Self {
            description: text(&operation["description"]),
            parameters: parameters.collect(),
            extensions: extensions(operation),
        }
    }
}

impl Named {
    fn of(schemas: &Value) -> Self {
        let schemas = schemas.as_object().into_iter().flatten();
        let named = |(name, schema): (&String, &Value)| NamedSchema {
            name: name.clone(),
            value: Some(Schema::of(schema)),
        };
        Self { schemas: schemas.map(named).collect() }
    }
}

impl Schema {
    fn of(schema: &Value) -> Self {
        let required = schema["required"].as_array().into_iter().flatten().map(text);
        let kind = schema["type"].as_str().map(|kind| TypeItem { value: vec![kind.to_owned()] });
        let additional = schema.get("additionalProperties").filter(|values| values.is_object());
        Self {
            reference: text(&schema["$ref"]),
            format: text(&schema["format"]),
            description: text(&schema["description"]),
            required: required.collect(),
            additional: additional
                .map(|values| Box::new(Additional { schema: Some(Box::new(Self::of(values))) })),
            kind,
            items: schema.get("items").map(|items| Items { schema: vec![Self::of(items)] }),
            properties: schema.get("properties").map(Named::of),
            extensions: extensions(schema),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_can_be_read_again() {
        let kinds: Vec<_> = crate::kinds::all().iter().map(AsRef::as_ref).collect();
        let document = super::super::v2(&kinds);
        let read = Document::decode(v2_protobuf(&document).as_slice()).unwrap();
        assert_eq!(read, Document::of(&document));
        assert_eq!(read.swagger, "2.0");
        let definitions = read.definitions.unwrap().schemas;
        assert_eq!(definitions.len(), document["definitions"].as_object().unwrap().len());
        let repository =
            definitions.iter().find(|one| one.name == "dev.kpt.porch.config.v1alpha1.Repository").unwrap();
        let tagged = &repository.value.as_ref().unwrap().extensions;
        assert!(tagged.iter().any(|one| one.name == "x-kubernetes-group-version-kind"), "{tagged:?}");
    }
}
