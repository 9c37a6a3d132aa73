//! From answers to HTTP.

use std::convert::Infallible;
use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use futures_util::StreamExt;
use http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, RETRY_AFTER, VARY, WARNING,
    WWW_AUTHENTICATE,
};
use http::{HeaderMap, Method, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};

use crate::accept::{Accept, Format};
use crate::reply::{Reply, ReplyBody};
use crate::server::is_head;
use crate::status::Status;

/// The body of a response.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Answers below this size are not worth compressing.
const MIN_GZIP: usize = 128 * 1024;

/// The response of an answer.
pub(crate) fn response(
    headers: &HeaderMap,
    method: &Method,
    answer: Result<Reply, Status>,
) -> Response<Body> {
    let (reply, retry_after) = match answer {
        Ok(reply) => (reply, None),
        Err(status) => {
            let format = Accept::of(headers).map_or(Format::Json, |accept| accept.format);
            let retry_after = status.details.as_ref().and_then(|details| details.retry_after);
            (Reply::value(status.code, format, &status.to_value()), retry_after)
        }
    };
    let Reply { code, format, body, warnings, extra, made: _ } = reply;
    let mut response = match body {
        ReplyBody::Text(text) => Response::new(whole(Bytes::from_static(text.as_bytes()))),
        ReplyBody::Whole(bytes) => compressed(headers, bytes.into()),
        ReplyBody::Shared(bytes) => compressed(headers, bytes),
        ReplyBody::Stream(stream) => {
            let frames = stream.map(|bytes| Ok::<_, Infallible>(Frame::data(bytes)));
            Response::new(StreamBody::new(frames).boxed_unsync())
        }
    };
    *response.status_mut() = code;
    let out = response.headers_mut();
    out.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    out.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    for warning in warnings {
        let text = warning.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            out.append(WARNING, value);
        }
    }
    if let Some(seconds) = retry_after {
        out.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    if code == StatusCode::UNAUTHORIZED {
        out.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"lanai\""));
    }
    for (name, value) in extra {
        out.insert(name, value);
    }
    if is_head(method) {
        *response.body_mut() = whole(Bytes::new());
    }
    response
}

fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).boxed_unsync()
}

fn compressed(headers: &HeaderMap, bytes: Bytes) -> Response<Body> {
    let wanted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let takes_gzip = wanted
        .flat_map(|value| value.split(','))
        .any(|one| one.split(';').next().map(str::trim) == Some("gzip"));
    if !takes_gzip || bytes.len() < MIN_GZIP {
        return Response::new(whole(bytes));
    }
    let mut encoder = GzEncoder::new(Vec::with_capacity(bytes.len() / 8), Compression::fast());
    let Ok(zipped) = encoder.write_all(&bytes).and_then(|()| encoder.finish()) else {
        return Response::new(whole(bytes));
    };
    let mut response = Response::new(whole(zipped.into()));
    response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    response.headers_mut().insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}
