//! The server: a service from requests to responses.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use lanai_api::Verb;
use lanai_store::Store;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use crate::accept::Accept;
use crate::audit::{Audit, Line};
use crate::authenticate::{Authentication, Connection};
use crate::authorize::{Delegate, authorize};
use crate::core::{Call, Chance, Clock, Core};
use crate::decode;
use crate::encode::{self, Body};
use crate::follower::{Define, Follower};
use crate::gate::{Gate, Pass};
use crate::identity::Identity;
use crate::impersonate;
use crate::limits::Limits;
use crate::metrics::{Label, Metrics};
use crate::path::{self, Target};
use crate::policy::What;
use crate::query::{Query, WriteOptions, Written};
use crate::registry::{Backing, Registry};
use crate::reply::{Reply, ReplyBody};
use crate::route;
use crate::status::{Reason, Status};
use crate::verbs::{delete, patch};

/// What a server is made of.
pub struct Options {
    /// Where everything is.
    pub store: Arc<dyn Store>,
    /// The kinds that are always served.
    pub registry: Registry,
    /// How a definition becomes a kind.
    pub define: Define,
    /// How clients show who they are, beside certificates.
    pub authentication: Authentication,
    /// Who decides who may do what, if it is not the rules of the store.
    pub delegate: Option<Arc<dyn Delegate>>,
    /// What it takes on.
    pub limits: Limits,
    /// Where lines about writes go.
    pub audit: Arc<dyn Audit>,
    /// What time it is.
    pub clock: Clock,
    /// Where names and uids come from.
    pub chance: Chance,
}

/// What another part of the process counts, in the text form of Prometheus: whole lines.
pub type Measure = Arc<dyn Fn() -> String + Send + Sync>;

/// The API as a service. Clones are the same server.
///
/// A request has a [`Connection`] in its extensions, or an [`Identity`] if the caller is in this process and vouches for it.
#[derive(Clone)]
pub struct ApiServer {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub core: Arc<Core>,
    pub authentication: Authentication,
    pub requests: Gate,
    pub watches: Gate,
    pub metrics: Metrics,
    pub measures: std::sync::Mutex<Vec<Measure>>,
    audit: Arc<dyn Audit>,
    writes: TaskTracker,
    follower: std::sync::Mutex<Option<JoinHandle<()>>>,
}

impl ApiServer {
    /// Begins to serve.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn start(options: Options) -> Result<Self, Status> {
        let ending = CancellationToken::new();
        let Options { store, registry, define, authentication, delegate, limits, audit, clock, chance } =
            options;
        let (follower, task) = Follower::start(store.clone(), registry, define, ending.clone()).await?;
        let core = Core { store, follower, delegate, clock, chance, limits, ending };
        let inner = Inner {
            core: Arc::new(core),
            authentication,
            requests: Gate::new("requests", limits.max_requests, limits.max_requests_per_user),
            watches: Gate::new("watches", limits.max_watches, limits.max_watches_per_user),
            metrics: Metrics::default(),
            measures: std::sync::Mutex::default(),
            audit,
            writes: TaskTracker::new(),
            follower: std::sync::Mutex::new(Some(task)),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Ends watches, and waits until writes that were begun are done.
    pub async fn end(&self) {
        self.inner.core.ending.cancel();
        self.inner.writes.close();
        self.inner.writes.wait().await;
        let task = self.inner.follower.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(task) = task {
            let _ = task.await;
        }
    }

    /// From now on, `/metrics` has this as well.
    pub fn measure(&self, more: Measure) {
        self.inner.measures.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(more);
    }

    /// A service for a part of this process, which acts as somebody.
    pub fn acting_as(&self, identity: Identity) -> Acting {
        Acting { server: self.clone(), identity }
    }

    /// Answers a request. Failures are answers as well.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let mut seen = Seen::default();
        let answer = answer(&self.inner, &parts, body, &mut seen).await;
        let (code, reason) = match &answer {
            Ok(reply) => (reply.code, None),
            Err(status) => (status.code, Some(status.reason.to_string())),
        };
        if let Some(label) = seen.label(code.as_u16()) {
            self.inner.metrics.record(label, started.elapsed());
        }
        if let Some(mut line) = seen.line {
            if line.name.is_empty() {
                line.name = subject(&answer, &seen.resource).unwrap_or_default();
            }
            let time = (self.inner.core.clock)();
            self.inner.audit.record(&Line { time, code: code.as_u16(), reason, ..line });
        }
        encode::response(&parts.headers, &parts.method, answer)
    }
}

/// The object that an answer is about, where the path does not name it.
fn subject(answer: &Result<Reply, Status>, resource: &str) -> Option<String> {
    match answer {
        Ok(reply) => reply.made.clone(),
        Err(status) => {
            // A refusal can be about something else, as the user that somebody wants to act as; what is not valid is told by its kind.
            let details = status.details.as_ref()?;
            let is_same = details.kind == resource || status.reason == Reason::Invalid;
            is_same.then(|| details.name.clone())
        }
    }
}

/// What is learnt of a request on the way.
#[derive(Default)]
struct Seen {
    verb: &'static str,
    resource: String,
    line: Option<Line>,
}

impl Seen {
    fn label(&self, code: u16) -> Option<Label> {
        (!self.verb.is_empty()).then(|| Label { verb: self.verb, resource: self.resource.clone(), code })
    }
}

async fn answer<B>(inner: &Arc<Inner>, parts: &Parts, body: B, seen: &mut Seen) -> Result<Reply, Status>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let core = &inner.core;
    let raw_path = parts.uri.path();
    if route::is_public(raw_path) {
        return route::fixed(
            inner,
            &parts.method,
            &Target::Other(raw_path.to_owned()),
            &Query::default(),
            &parts.headers,
        );
    }
    let sender = authenticated(inner, parts).await?;
    let target = path::parse(raw_path)?;
    let query = Query::parse(parts.uri.query().unwrap_or_default());
    let ask = route::ask(&parts.method, &target, raw_path, &query)?;
    let Target::Objects(path) = target else {
        let (identity, _) = impersonate::effective(core, &parts.headers, sender).await?;
        let _pass = inner.requests.enter(&identity.user)?;
        authorize(core, &identity, &ask).await?;
        return route::fixed(inner, &parts.method, &target, &query, &parts.headers);
    };
    let verb = route::verb(&parts.method, &path, &query)?;
    seen.verb = verb.as_str();
    seen.resource.clone_from(&path.resource);
    let agent = agent(&parts.headers);
    if is_write(verb) {
        seen.line = Some(line(parts, &sender, &agent, verb, &ask.what, &query));
    }
    let (identity, by) = impersonate::effective(core, &parts.headers, sender).await?;
    if let Some(line) = &mut seen.line {
        line.user.clone_from(&identity.user);
        line.impersonated_by = by;
    }
    let gate = if verb == Verb::Watch { &inner.watches } else { &inner.requests };
    let pass = gate.enter(&identity.user)?;
    authorize(core, &identity, &ask).await?;
    let kind = route::kind(core, &path).await?;
    let body =
        tokio::time::timeout(core.limits.request_time, collect(body, core.limits.max_body.get())).await;
    let body =
        body.map_err(|_| Status::new(Reason::Timeout, "the body of the request did not arrive in time"))??;
    let accept = Accept::of(&parts.headers)?;
    let content_type =
        parts.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let content_type = content_type.to_owned();
    let options = match written(verb, &content_type) {
        Some(written) => WriteOptions::of(&query, written)?,
        None => WriteOptions::NONE,
    };
    let now = (core.clock)();
    let is_virtual = matches!(kind.backing, Backing::Virtual(_));
    let call = Call { identity, path, kind, query, options, agent, accept, content_type, body, now };
    if let (Verb::Delete | Verb::DeleteCollection, Some(line)) = (verb, &mut seen.line) {
        line.dry_run = delete::is_rehearsal(&call);
    }
    if verb == Verb::Watch {
        return Ok(held(route::objects(inner, verb, &call).await?, pass));
    }
    let work = {
        let inner = inner.clone();
        async move {
            let _pass = pass;
            tokio::time::timeout(inner.core.limits.request_time, route::objects(&inner, verb, &call)).await
        }
    };
    // A write that was begun is finished, whether or not somebody still waits for the answer. Who keeps a virtual kind says for itself from
    // when on that is so.
    let done = if is_write(verb) && !is_virtual {
        inner.writes.spawn(work).await.map_err(Status::internal)?
    } else {
        work.await
    };
    done.unwrap_or_else(|_| Err(Status::new(Reason::Timeout, "the request took too long")))
}

const fn is_write(verb: Verb) -> bool {
    match verb {
        Verb::Create | Verb::Delete | Verb::DeleteCollection | Verb::Patch | Verb::Update => true,
        Verb::Get | Verb::List | Verb::Watch => false,
    }
}

/// Which options a request takes. Those of deletions stand in their bodies as well, and are read there.
fn written(verb: Verb, content_type: &str) -> Option<Written> {
    match verb {
        Verb::Create => Some(Written::Create),
        Verb::Update => Some(Written::Update),
        Verb::Patch if decode::media(content_type) == patch::APPLY => Some(Written::Apply),
        Verb::Patch => Some(Written::Patch),
        Verb::Delete | Verb::DeleteCollection | Verb::Get | Verb::List | Verb::Watch => None,
    }
}

async fn authenticated(inner: &Inner, parts: &Parts) -> Result<Identity, Status> {
    if let Some(identity) = parts.extensions.get::<Vouched>() {
        return Ok(identity.0.clone());
    }
    let peer = parts.extensions.get::<Connection>().and_then(|connection| connection.peer.as_ref());
    let core = &inner.core;
    let found = inner.authentication.of(&parts.headers, peer, core.store.as_ref(), (core.clock)()).await?;
    found.ok_or_else(Status::unauthorized)
}

async fn collect<B>(body: B, limit: u64) -> Result<Bytes, Status>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    // Who says beforehand that it is too much is told before it is sent.
    if body.size_hint().lower() > limit {
        return Err(Status::too_large(limit));
    }
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    match Limited::new(body, most).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(Status::too_large(limit)),
        Err(error) => Err(Status::bad_request(format!("the body of the request cannot be read: {error}"))),
    }
}

/// Counts a watch for as long as somebody reads it.
fn held(reply: Reply, pass: Pass) -> Reply {
    use futures_util::StreamExt;
    let body = match reply.body {
        ReplyBody::Stream(stream) => ReplyBody::Stream(
            stream
                .map(move |bytes| {
                    let _ = &pass;
                    bytes
                })
                .boxed(),
        ),
        other @ (ReplyBody::Whole(_) | ReplyBody::Shared(_) | ReplyBody::Text(_)) => other,
    };
    Reply { body, ..reply }
}

/// The name of the program: what stands before the first slash.
fn agent(headers: &HeaderMap) -> String {
    let text = headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let name = text.split('/').next().unwrap_or_default();
    let name: String = name.chars().filter(|c| !c.is_control()).take(crate::query::MAX_MANAGER).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

fn line(parts: &Parts, sender: &Identity, agent: &str, verb: Verb, what: &What, query: &Query) -> Line {
    let remote = parts.extensions.get::<Connection>().and_then(|connection| connection.remote);
    let (resource, namespace, name) = match what {
        What::Path(path) => (path.clone(), String::new(), String::new()),
        What::Resource { group, resource, subresource, namespace, name } => {
            let group = if group.is_empty() { String::new() } else { format!(".{group}") };
            let side = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
            (format!("{resource}{group}{side}"), namespace.clone(), name.clone())
        }
    };
    Line {
        time: jiff::Timestamp::UNIX_EPOCH,
        user: sender.user.clone(),
        impersonated_by: None,
        source: remote.map(|remote| remote.to_string()),
        agent: agent.to_owned(),
        verb: verb.as_str(),
        resource,
        namespace,
        name,
        dry_run: query.get("dryRun").is_some(),
        code: 0,
        reason: None,
    }
}

/// The caller is in this process, and is this.
#[derive(Clone)]
struct Vouched(Identity);

/// The server as somebody in this process sees it. Made by [`ApiServer::acting_as`].
#[derive(Clone)]
pub struct Acting {
    server: ApiServer,
    identity: Identity,
}

type Answering = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

impl<B> Service<Request<B>> for Acting
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        request.extensions_mut().insert(Vouched(self.identity.clone()));
        let server = self.server.clone();
        Box::pin(async move { Ok(server.handle(request).await) })
    }
}

/// True for requests that only read.
pub(crate) fn is_head(method: &Method) -> bool {
    *method == Method::HEAD
}
