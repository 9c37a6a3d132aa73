//! One request and its answer.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use lanai_types::quote::Quoted;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use super::answer::{Refusal, Trouble};
use super::flags::Connection;
use super::patience::{self, Manner, Shown, Wait};
use super::target::{Identity, NAMESPACE, Target, Trust};
use crate::failure::{Code, Failure};
use crate::io::Io;
use crate::persona::Persona;

/// How long a connection may take.
const MAX_CONNECT: Duration = Duration::from_secs(30);
/// The largest answer that is read.
const MAX_ANSWER: u64 = 1 << 30;
/// The longest line of a watch.
const MAX_LINE: u64 = 64 << 20;
/// How many events of a watch wait to be shown; the server waits when there are more.
const MAX_EVENTS: usize = 64;
/// How often it is looked whether a watch is to end.
const PAUSE: Duration = Duration::from_millis(100);
/// From how many bytes on the server is asked first whether it takes them.
const LARGE: usize = 1 << 20;
/// From this level on, requests are told.
const VERBOSE: u8 = 6;

/// A kind of object on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub group: &'static str,
    pub version: &'static str,
    pub plural: &'static str,
    pub singular: &'static str,
    pub kind: &'static str,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
    Put,
    Patch(Patch),
    Delete,
}

/// How a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patch {
    Merge,
}

/// The form of the answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Accept {
    #[default]
    Object,
    Table,
}

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    accept: Accept,
    body: Option<Value>,
    /// What is going on, for people who wait.
    doing: String,
}

/// A server and a user, ready for requests.
pub(crate) struct Client {
    agent: Agent,
    base: String,
    headers: Vec<(&'static str, String)>,
    /// The namespace that was asked for.
    pub namespace: String,
    manner: Manner,
    verbosity: u8,
    /// How long it was waited for answers so far.
    waited: Cell<Duration>,
}

/// What came back.
struct Exchanged {
    /// The time of whoever answered.
    date: Option<Timestamp>,
    body: Vec<u8>,
}

/// What a server says of itself.
pub(crate) struct Probed {
    pub object: Value,
    /// Its time, in whole seconds.
    pub date: Option<Timestamp>,
}

/// Events as they come.
pub(crate) struct Watching {
    lines: Receiver<Result<String, String>>,
    /// What is waited for.
    doing: String,
    manner: Manner,
}

impl Resource {
    /// The group with a point before it, as names of kinds have it.
    pub fn qualified(self) -> String {
        if self.group.is_empty() { self.plural.to_owned() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// Group and version, as objects have it.
    pub fn api_version(self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The path of all in a namespace, or in all namespaces.
    pub fn all(self, namespace: Option<&str>) -> String {
        let root = if self.group.is_empty() { "/api" } else { "/apis" };
        let version = self.api_version();
        match namespace {
            Some(namespace) => format!("{root}/{version}/namespaces/{}/{}", segment(namespace), self.plural),
            None => format!("{root}/{version}/{}", self.plural),
        }
    }

    /// The path of one.
    pub fn one(self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.all(Some(namespace)), segment(name))
    }
}

/// What a part of a path may have as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

impl Request {
    pub fn new(method: Method, path: impl Into<String>, doing: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            query: Vec::new(),
            accept: Accept::Object,
            body: None,
            doing: doing.into(),
        }
    }

    pub fn get(path: impl Into<String>, doing: impl Into<String>) -> Self {
        Self::new(Method::Get, path, doing)
    }

    #[must_use]
    pub fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    #[must_use]
    pub fn body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    #[must_use]
    pub fn accept(mut self, accept: Accept) -> Self {
        self.accept = accept;
        self
    }

    fn url(&self, base: &str) -> String {
        let mut url = format!("{base}{}", self.path);
        let pairs: Vec<String> =
            self.query.iter().map(|(name, value)| format!("{name}={}", segment(value))).collect();
        if !pairs.is_empty() {
            url.push('?');
            url += &pairs.join("&");
        }
        url
    }
}

impl Client {
    /// Finds out whom to ask, and makes all ready. Nothing is sent.
    ///
    /// # Errors
    /// When nobody says where the server is, or what is said makes no sense.
    pub fn new(flags: &Connection, persona: Persona, io: &Io<'_>) -> Result<Self, Failure> {
        let target = Target::find(flags, io)?;
        let agent = agent(&target)?;
        let mut headers = Vec::new();
        headers.extend(target.authorization.map(|value| ("Authorization", value)));
        headers.extend(target.acting.user.map(|value| ("Impersonate-User", value)));
        headers.extend(target.acting.groups.into_iter().map(|value| ("Impersonate-Group", value)));
        headers.extend(target.acting.uid.map(|value| ("Impersonate-Uid", value)));
        let manner = if persona == Persona::Porchctl { Manner::Quiet } else { Manner::Telling };
        Ok(Self {
            agent,
            base: target.server,
            headers,
            namespace: target.namespace,
            manner,
            verbosity: flags.verbosity,
            waited: Cell::new(Duration::ZERO),
        })
    }

    /// The address of the server.
    pub fn server(&self) -> &str {
        &self.base
    }

    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// When the server says no or cannot be reached, or somebody wants the command to end.
    pub fn send(&self, request: &Request, io: &mut Io<'_>) -> Result<Value, Trouble> {
        let exchanged = self.exchange(request, io)?;
        self.json(&exchanged.body)
    }

    fn exchange(&self, request: &Request, io: &mut Io<'_>) -> Result<Exchanged, Trouble> {
        let url = request.url(&self.base);
        if self.verbosity >= VERBOSE {
            io.tell(&format!("{} {url}", name(request.method)));
        }
        let prepared = self.prepare(request, &url)?;
        let (agent, base) = (self.agent.clone(), self.base.clone());
        let is_write = request.method != Method::Get;
        let size = prepared.body().as_ref().map_or(0, Vec::len);
        let answer = self.patiently(&request.doing, is_write, io, move || {
            let response = run(&agent, prepared).map_err(|error| broken(&base, &error, size))?;
            let code = response.status().as_u16();
            let warnings: Vec<String> = response
                .headers()
                .get_all("warning")
                .iter()
                .filter_map(|text| warning(text.to_str().ok()?))
                .collect();
            let date = response.headers().get("date").and_then(|text| text.to_str().ok());
            let date =
                date.and_then(|text| jiff::fmt::rfc2822::parse(text).ok()).map(|date| date.timestamp());
            let body = response.into_body().into_with_config().limit(MAX_ANSWER).read_to_vec();
            let body = body.map_err(|error| unreachable_server(&base, &error))?;
            Ok((code, warnings, Exchanged { date, body }))
        })?;
        let (code, warnings, exchanged) = answer?;
        for warning in warnings {
            io.tell(&format!("Warning: {warning}"));
        }
        if !(200..300).contains(&code) {
            let mut refusal = Refusal::of(code, &exchanged.body);
            if refusal.is_too_large() {
                let sent = format!("{} has {}: ", request.doing, megabytes(size));
                refusal.message.insert_str(0, &sent);
            }
            let is_elsewhere = self.namespace != NAMESPACE && request.path.contains("/namespaces/");
            if refusal.is_missing() && is_elsewhere && self.manner == Manner::Telling {
                refusal.message = format!("{} in namespace \"{}\"", refusal.message, self.namespace);
            }
            return Err(Trouble::Refused(refusal));
        }
        Ok(exchanged)
    }

    fn json(&self, body: &[u8]) -> Result<Value, Trouble> {
        serde_json::from_slice(body).map_err(|error| {
            Trouble::Unreachable(format!("{} answered something that is no JSON: {error}", self.base))
        })
    }

    /// Sends a request for something that is no object of the API, and looks at the clock of whoever answers.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub fn probe(&self, path: &str, io: &mut Io<'_>) -> Result<Probed, Trouble> {
        let request = Request::get(path, format!("asking {}", self.base));
        let exchanged = self.exchange(&request, io)?;
        Ok(Probed { date: exchanged.date, object: self.json(&exchanged.body)? })
    }

    /// Begins a watch.
    ///
    /// # Errors
    /// As for [`send`](Self::send).
    pub fn watch(&self, request: &Request, io: &mut Io<'_>) -> Result<Watching, Trouble> {
        let url = request.url(&self.base);
        if self.verbosity >= VERBOSE {
            io.tell(&format!("GET {url}"));
        }
        let prepared = self.prepare(request, &url)?;
        let (agent, base) = (self.agent.clone(), self.base.clone());
        let response = self.patiently(&request.doing, false, io, move || {
            run(&agent, prepared).map_err(|error| unreachable_server(&base, &error))
        })??;
        let code = response.status().as_u16();
        if !(200..300).contains(&code) {
            let body = response.into_body().into_with_config().limit(MAX_ANSWER).read_to_vec();
            return Err(Trouble::Refused(Refusal::of(code, &body.unwrap_or_default())));
        }
        let body = BufReader::new(response.into_body().into_with_config().limit(u64::MAX).reader());
        let (sender, lines) = mpsc::sync_channel(MAX_EVENTS);
        let reader = thread::Builder::new().name("lanai-watch".into());
        // It ends with the connection, or when nobody listens any more.
        let started = reader.spawn(move || read_lines(body, &sender));
        started.map_err(|error| Trouble::Unreachable(format!("cannot start a thread: {error}")))?;
        Ok(Watching { lines, doing: request.doing.clone(), manner: self.manner })
    }

    /// Waits for an answer, and remembers for how long.
    fn patiently<T: Send + 'static>(
        &self,
        doing: &str,
        is_write: bool,
        io: &mut Io<'_>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Trouble> {
        let since = Instant::now();
        let what = Wait { doing, manner: self.manner, is_write, before: self.waited.get() };
        let answer = patience::wait(&what, io, work);
        self.waited.set(self.waited.get().saturating_add(since.elapsed()));
        answer
    }

    fn prepare(&self, request: &Request, url: &str) -> Result<http::Request<Option<Vec<u8>>>, Trouble> {
        // The address of nothing is that of all.
        if request.path.ends_with('/') || request.path.contains("//") {
            return Err(Trouble::Refused(Refusal {
                code: 400,
                reason: "BadRequest".into(),
                message: format!("{}: a name is empty; nothing was asked", request.doing.trim_end()),
                causes: Vec::new(),
            }));
        }
        let mut builder = http::Request::builder().method(name(request.method)).uri(url);
        builder = builder.header(
            "Accept",
            match request.accept {
                Accept::Object => "application/json",
                Accept::Table => "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
            },
        );
        for (name, value) in &self.headers {
            builder = builder.header(*name, value);
        }
        let body = match &request.body {
            Some(body) => {
                let kind = match request.method {
                    Method::Patch(Patch::Merge) => "application/merge-patch+json",
                    Method::Get | Method::Post | Method::Put | Method::Delete => "application/json",
                };
                builder = builder.header("Content-Type", kind);
                let body = body.to_string().into_bytes();
                if body.len() >= LARGE {
                    builder = builder.header("Expect", "100-continue");
                }
                Some(body)
            }
            None => None,
        };
        builder
            .body(body)
            .map_err(|error| Trouble::Unreachable(format!("{} cannot be asked: {error}", Quoted(&self.base))))
    }
}

impl Watching {
    /// The next event; none when the server ended the watch.
    ///
    /// # Errors
    /// When the connection is lost, or somebody wants the command to end.
    pub fn next(&self, io: &Io<'_>) -> Result<Option<Value>, Trouble> {
        loop {
            if let Some(answer) = self.look(io) {
                return answer;
            }
        }
    }

    /// The same for a command that does nothing but wait for it: it is shown what for, and for how long.
    ///
    /// # Errors
    /// As for [`next`](Self::next).
    pub fn wait(&self, since: Instant, io: &mut Io<'_>) -> Result<Option<Value>, Trouble> {
        let mut shown = Shown::Nothing;
        loop {
            if let Some(answer) = self.look(io) {
                shown.clear(io);
                return answer;
            }
            if self.manner == Manner::Telling {
                shown.show(&self.doing, since.elapsed(), Duration::ZERO, io);
            }
        }
    }

    /// What came within a moment.
    fn look(&self, io: &Io<'_>) -> Option<Result<Option<Value>, Trouble>> {
        match self.lines.recv_timeout(PAUSE) {
            Ok(Ok(line)) => {
                let event = serde_json::from_str(&line);
                Some(event.map(Some).map_err(|error| {
                    Trouble::Unreachable(format!("the watch brought something that is no JSON: {error}"))
                }))
            }
            Ok(Err(why)) => Some(Err(Trouble::Unreachable(format!("the watch ended: {why}")))),
            Err(RecvTimeoutError::Disconnected) => Some(Ok(None)),
            Err(RecvTimeoutError::Timeout) => io.stop.is_asked().then_some(Err(Trouble::Stopped)),
        }
    }
}

fn read_lines(mut body: impl BufRead, sender: &mpsc::SyncSender<Result<String, String>>) {
    loop {
        let mut line = String::new();
        match body.by_ref().take(MAX_LINE).read_line(&mut line) {
            Ok(0) => return,
            Ok(_) if line.trim().is_empty() => {}
            Ok(_) => {
                if sender.send(Ok(line)).is_err() {
                    return;
                }
            }
            Err(error) => {
                let _ = sender.send(Err(error.to_string()));
                return;
            }
        }
    }
}

fn run(
    agent: &Agent,
    request: http::Request<Option<Vec<u8>>>,
) -> Result<http::Response<ureq::Body>, ureq::Error> {
    let (parts, body) = request.into_parts();
    match body {
        Some(body) => agent.run(http::Request::from_parts(parts, body)),
        None => agent.run(http::Request::from_parts(parts, ())),
    }
}

fn name(method: Method) -> &'static str {
    match method {
        Method::Get => "GET",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Patch(_) => "PATCH",
        Method::Delete => "DELETE",
    }
}

/// The text of a warning: `299 - "text"`.
fn warning(header: &str) -> Option<String> {
    let text = header.strip_prefix("299 ")?.split_once('"')?.1;
    let text = text.strip_suffix('"').unwrap_or(text);
    Some(text.replace("\\\"", "\"").replace("\\\\", "\\"))
}

/// Why a body was not sent to the end. Servers that are not asked first end the connection where it is too much for them.
fn broken(base: &str, error: &ureq::Error, size: usize) -> Trouble {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
    match error {
        ureq::Error::Io(cause)
            if size >= LARGE && matches!(cause.kind(), BrokenPipe | ConnectionReset | ConnectionAborted) =>
        {
            Trouble::Refused(Refusal {
                code: 413,
                reason: "RequestEntityTooLarge".into(),
                message: format!(
                    "{base} ended the connection while {} were sent to it: that is more than it takes",
                    megabytes(size)
                ),
                causes: Vec::new(),
            })
        }
        _ => unreachable_server(base, error),
    }
}

/// So many bytes, for people.
fn megabytes(bytes: usize) -> String {
    let tenths = bytes.saturating_mul(10).div_ceil(1 << 20);
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

fn unreachable_server(base: &str, error: &ureq::Error) -> Trouble {
    let why = match error {
        ureq::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "nobody listens there".to_owned(),
            _ => error.to_string(),
        },
        ureq::Error::HostNotFound => "there is no such host".to_owned(),
        ureq::Error::Timeout(_) => "it took too long".to_owned(),
        other => other.to_string(),
    };
    Trouble::Unreachable(format!("cannot reach {base}: {why}"))
}

fn agent(target: &Target) -> Result<Agent, Failure> {
    let mut builder = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("lanai/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(MAX_CONNECT))
        .timeout_resolve(Some(MAX_CONNECT))
        .timeout_global(target.timeout);
    let proxy = match &target.proxy {
        Some(url) => {
            let proxy = ureq::Proxy::new(url);
            Some(proxy.map_err(|error| {
                Failure::of(Code::NoServer, format!("the proxy {} cannot be used: {error}", Quoted(url)))
            })?)
        }
        None => None,
    };
    builder = builder.proxy(proxy);
    builder = builder.tls_config(tls(target)?);
    Ok(builder.build().new_agent())
}

fn tls(target: &Target) -> Result<TlsConfig, Failure> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut builder = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    let is_plain = !target.server.starts_with("https:");
    let roots = match &target.authority {
        _ if is_plain || target.trust == Trust::Blind => Vec::new(),
        Some(pem) => certificates(pem, "the certificate of the authority")?,
        // Reading them takes some milliseconds.
        None => {
            let found = rustls_native_certs::load_native_certs();
            found.certs.iter().map(|found| Certificate::from_der(found).to_owned()).collect()
        }
    };
    builder = builder.root_certs(RootCerts::Specific(Arc::new(roots)));
    builder = builder.disable_verification(target.trust == Trust::Blind);
    if let Some(Identity { certificate, key }) = &target.identity {
        let chain = certificates(certificate, "the certificate to show")?;
        let key = PrivateKey::from_pem(key).map_err(|error| {
            Failure::of(Code::NoServer, format!("the key of the certificate cannot be read: {error}"))
        })?;
        builder = builder.client_cert(Some(ClientCert::new_with_certs(&chain, key)));
    }
    Ok(builder.build())
}

fn certificates(pem: &[u8], what: &str) -> Result<Vec<Certificate<'static>>, Failure> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        let item =
            item.map_err(|error| Failure::of(Code::NoServer, format!("{what} cannot be read: {error}")))?;
        if let PemItem::Certificate(certificate) = item {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err(Failure::of(Code::NoServer, format!("{what} is no certificate in PEM")));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_hold_what_names_may_have() {
        let resource =
            Resource { group: "g", version: "v1", plural: "things", singular: "thing", kind: "Thing" };
        assert_eq!(resource.one("a b", "c/d"), "/apis/g/v1/namespaces/a%20b/things/c%2Fd");
        assert_eq!(resource.all(None), "/apis/g/v1/things");
        let request = Request::get(resource.all(None), "").query("fieldSelector", "a=b,c=d");
        assert_eq!(request.url("http://h"), "http://h/apis/g/v1/things?fieldSelector=a%3Db%2Cc%3Dd");
    }

    #[test]
    fn warnings_are_read() {
        assert_eq!(warning("299 - \"unknown field \\\"x\\\"\"").as_deref(), Some("unknown field \"x\""));
        assert_eq!(warning("199 - \"no\""), None);
    }
}
