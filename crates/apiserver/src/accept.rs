//! In which form an answer is wanted.

use http::HeaderMap;
use http::header::ACCEPT;

use crate::status::{Reason, Status};

/// How an answer is written, and what it shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accept {
    /// How it is written.
    pub format: Format,
    /// What it shows.
    pub shape: Shape,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// The protobuf form of the `OpenAPI` document; nothing else has one.
    OpenApiProtobuf,
    /// JSON that says in its type that it is all of discovery.
    Discovery,
    /// Text for people.
    Text,
}

/// What an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// The objects.
    Objects,
    /// A table for people.
    Table,
    /// Their metadata.
    Metadata,
    /// All groups with their resources, in discovery.
    Discovery,
}

impl Format {
    /// The media type.
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Yaml => "application/yaml",
            // Asked for with an `@`, which readers of media types refuse in an answer.
            Self::OpenApiProtobuf => "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
            Self::Discovery => "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            Self::Text => "text/plain; charset=utf-8",
        }
    }
}

impl Accept {
    /// Plain JSON.
    pub const JSON: Self = Self { format: Format::Json, shape: Shape::Objects };

    /// The first form that a client takes and the server has.
    ///
    /// # Errors
    /// 406 when there is none.
    pub fn of(headers: &HeaderMap) -> Result<Self, Status> {
        let mut values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).peekable();
        if values.peek().is_none() {
            return Ok(Self::JSON);
        }
        let mut terms: Vec<Term> =
            values.flat_map(|value| value.split(',')).filter_map(Term::parse).collect();
        terms.sort_by(|a, b| b.quality.total_cmp(&a.quality));
        terms.iter().find_map(Term::accept).ok_or_else(|| {
            let known = "application/json, application/yaml";
            let mut status = Status::new(
                Reason::NotAcceptable,
                format!("only the following media types are accepted: {known}"),
            );
            status.details.get_or_insert_default();
            status
        })
    }
}

struct Term<'a> {
    media: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f32,
}

impl<'a> Term<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().filter(|media| !media.is_empty())?;
        let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        let quality =
            parameters.iter().find(|(name, _)| *name == "q").and_then(|(_, value)| value.parse().ok());
        Some(Self { media, parameters, quality: quality.unwrap_or(1.0) })
    }

    fn get(&self, name: &str) -> &str {
        self.parameters.iter().find(|(found, _)| *found == name).map_or("", |(_, value)| value)
    }

    fn accept(&self) -> Option<Accept> {
        let format = match self.media {
            "application/json" | "*/*" | "application/*" => Format::Json,
            "application/yaml" => Format::Yaml,
            media if media == Format::OpenApiProtobuf.media_type() => Format::OpenApiProtobuf,
            lanai_api::openapi::MEDIA_TYPE => Format::OpenApiProtobuf,
            _ => return None,
        };
        let shape = match (self.get("as"), self.get("g"), self.get("v")) {
            ("", _, _) => Shape::Objects,
            ("Table", "meta.k8s.io", "v1") => Shape::Table,
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => Shape::Metadata,
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Shape::Discovery,
            _ => return None,
        };
        Some(Accept { format, shape })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn of(text: &'static str) -> Option<Accept> {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(text))]);
        Accept::of(&headers).ok()
    }

    #[test]
    fn what_kubectl_asks_for() {
        let check = |text, format, shape| assert_eq!(of(text), Some(Accept { format, shape }), "{text}");
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        check(table, Format::Json, Shape::Table);
        check("application/vnd.kubernetes.protobuf,application/json", Format::Json, Shape::Objects);
        check(
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
            Format::Json,
            Shape::Metadata,
        );
        check("application/yaml", Format::Yaml, Shape::Objects);
        check("application/yaml;q=0.1, */*", Format::Json, Shape::Objects);
        check(
            "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json",
            Format::Json,
            Shape::Discovery,
        );
        check(
            "application/json;as=APIGroupDiscoveryList;v=v2beta1;g=apidiscovery.k8s.io,application/json",
            Format::Json,
            Shape::Objects,
        );
        assert_eq!(of("text/html"), None);
        assert_eq!(Accept::of(&HeaderMap::new()), Ok(Accept::JSON));
    }
}
