//! Spans of requests for a collector: OTLP over HTTP, in JSON.
//!
//! A request is never held up by them. Spans wait in a queue of [`MAX_WAITING`]; what does not fit, and what a collector does not take, is dropped and
//! counted.

use std::fmt::{self, Write as _};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use lanai_apiserver::{Chance, Clock, Measure};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// The most spans that wait for the collector.
pub const MAX_WAITING: usize = 4_096;
/// The most spans in one message.
pub const MAX_BATCH: usize = 512;
/// How long a message waits for further spans.
const GATHERING: Duration = Duration::from_secs(1);
/// How long a collector has to take a message.
const MAX_SENDING: Duration = Duration::from_secs(5);

/// Where a collector listens, as `http://HOST[:PORT][/PATH]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    authority: String,
    address: String,
    path: String,
}

/// Why a text names no collector.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// It is no such address.
    #[error("\"{0}\" is no address of a collector: it looks like http://HOST:4318")]
    NoAddress(String),
    /// It wants TLS.
    #[error("\"{0}\": collectors are spoken to without TLS only")]
    Tls(String),
}

impl FromStr for Collector {
    type Err = Error;

    fn from_str(raw: &str) -> Result<Self, Error> {
        let bad = || Error::NoAddress(raw.to_owned());
        let uri: http::Uri = raw.parse().map_err(|_| bad())?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(Error::Tls(raw.to_owned())),
            Some(_) | None => return Err(bad()),
        }
        let authority = uri.authority().filter(|authority| !authority.host().is_empty()).ok_or_else(bad)?;
        if authority.as_str().contains('@') || uri.query().is_some() {
            return Err(bad());
        }
        let port = authority.port_u16().unwrap_or(4318);
        let address = format!("{}:{port}", authority.host());
        let path = format!("{}/v1/traces", uri.path().trim_end_matches('/'));
        Ok(Self { authority: authority.to_string(), address, path })
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

/// Takes the spans of requests. Clones are the same.
#[derive(Clone)]
pub(crate) struct Traces {
    waiting: mpsc::Sender<Value>,
    dropped: Arc<AtomicU64>,
    clock: Clock,
    chance: Chance,
}

/// What brings spans to the collector.
pub(crate) struct Export {
    collector: Collector,
    waiting: mpsc::Receiver<Value>,
    dropped: Arc<AtomicU64>,
}

/// A span that is not over.
pub(crate) struct Begun {
    context: Context,
    span: String,
    began: Timestamp,
    method: Method,
    path: String,
}

/// Which trace a span is part of.
#[derive(Debug, PartialEq, Eq)]
struct Context {
    trace: String,
    parent: String,
}

/// Both ends.
pub(crate) fn channel(collector: Collector, clock: Clock, chance: Chance) -> (Traces, Export) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING);
    let dropped = Arc::new(AtomicU64::new(0));
    let export = Export { collector, waiting: receiver, dropped: Arc::clone(&dropped) };
    (Traces { waiting: sender, dropped, clock, chance }, export)
}

impl Traces {
    /// A request begins; none where its caller says that its trace is not kept.
    pub(crate) fn begin<B>(&self, request: &Request<B>) -> Option<Begun> {
        let context = match context(request.headers()) {
            Named::Kept(context) => context,
            Named::NotKept => return None,
            Named::Nothing => Context { trace: self.id::<16>(), parent: String::new() },
        };
        Some(Begun {
            context,
            span: self.id::<8>(),
            began: (self.clock)(),
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
        })
    }

    /// Its answer begins.
    pub(crate) fn end(&self, begun: Begun, code: StatusCode) {
        let span = begun.ended((self.clock)(), code);
        if self.waiting.try_send(span).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many spans nobody took, for `/metrics`.
    pub(crate) fn measure(&self) -> Measure {
        let dropped = Arc::clone(&self.dropped);
        Arc::new(move || {
            let count = dropped.load(Ordering::Relaxed);
            format!("# TYPE lanai_spans_dropped_total counter\nlanai_spans_dropped_total {count}\n")
        })
    }

    fn id<const N: usize>(&self) -> String {
        let mut bytes = [0; N];
        (self.chance)(&mut bytes);
        hex(&bytes)
    }
}

impl Begun {
    fn ended(self, now: Timestamp, code: StatusCode) -> Value {
        let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
        let mut span = json!({
            "traceId": self.context.trace,
            "spanId": self.span,
            "name": self.method.as_str(),
            // A server.
            "kind": 2,
            "startTimeUnixNano": nanos(self.began),
            "endTimeUnixNano": nanos(now),
            "attributes": [
                text("http.request.method", self.method.as_str()),
                text("url.path", &self.path),
                {"key": "http.response.status_code", "value": {"intValue": code.as_u16().to_string()}},
            ],
            // What the client did wrong is no error of a server.
            "status": if code.is_server_error() { json!({"code": 2}) } else { json!({}) },
        });
        if !self.context.parent.is_empty() {
            span["parentSpanId"] = json!(self.context.parent);
        }
        span
    }
}

impl Export {
    /// Brings spans to the collector until the token, and then those that still wait.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut was_taken = true;
        loop {
            let mut batch = Vec::new();
            tokio::select! {
                biased;
                () = stop.cancelled() => self.waiting.close(),
                count = self.waiting.recv_many(&mut batch, MAX_BATCH) => if count == 0 { return },
            }
            self.gather(&mut batch, &stop).await;
            if batch.is_empty() {
                return;
            }
            let count = batch.len();
            let sent = tokio::time::timeout(MAX_SENDING, send(&self.collector, batch)).await;
            let sent = sent.unwrap_or_else(|_| Err("it took too long".to_owned()));
            if let Err(error) = &sent {
                self.dropped.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
                // Said once for as long as it lasts.
                if was_taken {
                    tracing::warn!(collector = %self.collector, %error, "spans of requests are not taken");
                }
            }
            was_taken = sent.is_ok();
        }
    }

    /// Fills a message with what comes soon.
    async fn gather(&mut self, batch: &mut Vec<Value>, stop: &CancellationToken) {
        let full = async {
            while batch.len() < MAX_BATCH {
                let room = MAX_BATCH - batch.len();
                if self.waiting.recv_many(batch, room).await == 0 {
                    return;
                }
            }
        };
        tokio::select! {
            () = full => {}
            () = tokio::time::sleep(GATHERING), if !stop.is_cancelled() => {}
        }
    }
}

async fn send(collector: &Collector, spans: Vec<Value>) -> Result<(), String> {
    let said = |error: &dyn fmt::Display| error.to_string();
    let stream = TcpStream::connect(&collector.address).await.map_err(|error| said(&error))?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| said(&error))?;
    let request = Request::post(&collector.path)
        .header(HOST, &collector.authority)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(message(&spans).to_string())))
        .map_err(|error| said(&error))?;
    let exchange = async {
        let response = sender.send_request(request).await.map_err(|error| said(&error))?;
        let status = response.status();
        let _ = response.into_body().collect().await;
        if status.is_success() { Ok(()) } else { Err(format!("it answers {status}")) }
    };
    tokio::pin!(connection);
    tokio::select! {
        answer = exchange => answer,
        ended = &mut connection => Err(ended.map_or_else(|error| said(&error), |()| "it hung up".to_owned())),
    }
}

fn message(spans: &[Value]) -> Value {
    let name = json!({"key": "service.name", "value": {"stringValue": "lanai"}});
    json!({"resourceSpans": [{
        "resource": {"attributes": [name]},
        "scopeSpans": [{"scope": {"name": "lanai-serve"}, "spans": spans}],
    }]})
}

/// What a caller says about its trace.
#[derive(Debug, PartialEq, Eq)]
enum Named {
    Kept(Context),
    NotKept,
    Nothing,
}

/// Reads `traceparent`. What cannot be read is as nothing.
fn context(headers: &HeaderMap) -> Named {
    let Some(text) = headers.get("traceparent").and_then(|value| value.to_str().ok()) else {
        return Named::Nothing;
    };
    let mut parts = text.split('-');
    let mut part = |length: usize| {
        let is_hex = |text: &&str| {
            text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        parts.next().filter(is_hex)
    };
    let (Some(version), Some(trace), Some(parent), Some(flags)) = (part(2), part(32), part(16), part(2))
    else {
        return Named::Nothing;
    };
    let is_zero = |text: &str| text.bytes().all(|byte| byte == b'0');
    if version == "ff" || is_zero(trace) || is_zero(parent) {
        return Named::Nothing;
    }
    match u8::from_str_radix(flags, 16) {
        Ok(flags) if flags & 1 == 1 => {
            Named::Kept(Context { trace: trace.to_owned(), parent: parent.to_owned() })
        }
        Ok(_) => Named::NotKept,
        Err(_) => Named::Nothing,
    }
}

fn nanos(time: Timestamp) -> String {
    time.as_nanosecond().to_string()
}

fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use http_body_util::Empty;

    use super::*;

    #[test]
    fn collectors_have_addresses() {
        for (text, address, path) in [
            ("http://a:4318", "a:4318", "/v1/traces"),
            ("http://a", "a:4318", "/v1/traces"),
            ("http://[::1]:9/otel/", "[::1]:9", "/otel/v1/traces"),
        ] {
            let found: Collector = text.parse().unwrap();
            assert_eq!((found.address.as_str(), found.path.as_str()), (address, path), "{text}");
        }
        assert_eq!("https://a:4318".parse::<Collector>(), Err(Error::Tls("https://a:4318".into())));
        for text in ["", "a:4318", "grpc://a:1", "http://u:p@a", "http://a?x=y", "http://"] {
            assert!(matches!(text.parse::<Collector>(), Err(Error::NoAddress(_))), "{text}");
        }
    }

    #[test]
    fn callers_name_their_traces() {
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let parent = "b7ad6b7169203331";
        let said = |text: &str| {
            let headers = HeaderMap::from_iter([(
                http::HeaderName::from_static("traceparent"),
                http::HeaderValue::from_str(text).unwrap(),
            )]);
            context(&headers)
        };
        let kept = Named::Kept(Context { trace: trace.into(), parent: parent.into() });
        assert_eq!(said(&format!("00-{trace}-{parent}-01")), kept);
        assert_eq!(said(&format!("01-{trace}-{parent}-03-more")), kept);
        assert_eq!(said(&format!("00-{trace}-{parent}-00")), Named::NotKept);
        for text in [
            "",
            "00",
            &format!("ff-{trace}-{parent}-01"),
            &format!("00-{}-{parent}-01", "0".repeat(32)),
            "00-x-y-01",
        ] {
            assert_eq!(said(text), Named::Nothing, "{text}");
        }
        assert_eq!(context(&HeaderMap::new()), Named::Nothing);
    }

    #[test]
    fn no_more_waits_than_there_is_room_for() {
        let collector = "http://127.0.0.1:1".parse().unwrap();
        let (traces, export) =
            channel(collector, Arc::new(|| Timestamp::UNIX_EPOCH), Arc::new(|bytes| bytes.fill(7)));
        let request = Request::get("/a?token=x").body(Empty::<Bytes>::new()).unwrap();
        for _ in 0..MAX_WAITING + 3 {
            traces.end(traces.begin(&request).unwrap(), StatusCode::OK);
        }
        assert_eq!(export.waiting.len(), MAX_WAITING);
        assert!((traces.measure())().contains("lanai_spans_dropped_total 3\n"));
    }
}
