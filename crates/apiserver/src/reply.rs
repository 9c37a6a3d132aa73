//! Answers on their way to HTTP.

use bytes::Bytes;
use futures_util::stream::BoxStream;
use http::{HeaderName, HeaderValue, StatusCode};

use crate::accept::Format;

/// What a verb answers.
pub(crate) struct Reply {
    pub code: StatusCode,
    pub format: Format,
    pub body: ReplyBody,
    /// For the `Warning` header.
    pub warnings: Vec<String>,
    /// Headers beside those that all answers have; they count more than those.
    pub extra: Vec<(HeaderName, HeaderValue)>,
    /// The object that was made, for who writes down what was done.
    pub made: Option<String>,
}

pub(crate) enum ReplyBody {
    Whole(Vec<u8>),
    /// The same bytes for many.
    Shared(Bytes),
    Stream(BoxStream<'static, Bytes>),
    Text(&'static str),
}

impl Reply {
    pub fn whole(code: StatusCode, format: Format, body: Vec<u8>) -> Self {
        // Only one document has a form in protobuf.
        let format = if format == Format::OpenApiProtobuf { Format::Json } else { format };
        Self {
            code,
            format,
            body: ReplyBody::Whole(body),
            warnings: Vec::new(),
            extra: Vec::new(),
            made: None,
        }
    }

    pub fn value(code: StatusCode, format: Format, value: &serde_json::Value) -> Self {
        let format = if format == Format::OpenApiProtobuf { Format::Json } else { format };
        Self::whole(code, format, crate::view::written(value, format))
    }

    /// Bytes that are not in a form that clients ask for.
    pub fn raw(format: Format, body: ReplyBody) -> Self {
        Self { code: StatusCode::OK, format, body, warnings: Vec::new(), extra: Vec::new(), made: None }
    }

    pub fn warn(mut self, warnings: Vec<String>) -> Self {
        self.warnings = warnings;
        self
    }
}
