//! Notifications of pushes: who runs a Git server tells that something changed, and it is looked at now instead of at the next poll.
//!
//! `POST /webhooks/<namespace>/<repository>`. Whoever knows the secret of the Repository may ask; nothing of a body is read before that is certain. All
//! who do not know it hear the same, whether or not there is such a Repository.

mod proof;

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use lanai_apiserver::Body;
use lanai_engine::overlap::Place;
use lanai_engine::{Engine, rows};
use lanai_store::{Filter, Key, ListRequest, Prefix, Store};
use lanai_types::{Namespace, RepositoryName};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Where notifications go.
pub const PATH: &str = "/webhooks/";
/// The annotation of a Repository that names the Secret, in its namespace.
pub const SECRET: &str = "lanai.dev/webhook-secret";
/// The key in that Secret.
pub const SECRET_KEY: &str = "secret";
/// The most bytes of a notification.
pub const MAX_BODY: usize = 5 * 1024 * 1024;
/// How long a notification may take to arrive.
pub const BODY_TIME: Duration = Duration::from_secs(10);
/// How many notifications are read at the same time.
pub const MAX_AT_ONCE: usize = 16;

/// Takes notifications.
pub(crate) struct Webhooks {
    store: Arc<dyn Store>,
    engine: Engine,
    room: Semaphore,
    /// What is compared with where there is no secret, so that it takes as long.
    decoy: [u8; 32],
}

/// What is answered.
struct Answer {
    code: StatusCode,
    body: Value,
}

fn said(code: StatusCode, message: &str) -> Answer {
    Answer { code, body: json!({"message": message}) }
}

/// What everybody hears who does not know the secret.
fn unknown() -> Answer {
    said(StatusCode::UNAUTHORIZED, "no Repository with this signature")
}

impl Webhooks {
    pub(crate) fn new(store: Arc<dyn Store>, engine: Engine, decoy: [u8; 32]) -> Self {
        Self { store, engine, room: Semaphore::new(MAX_AT_ONCE), decoy }
    }

    /// Answers a request whose path begins with [`PATH`].
    pub(crate) async fn answer<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let (parts, body) = request.into_parts();
        let answer = self.take(&parts.method, parts.uri.path(), &parts.headers, body).await;
        let Answer { code, body } = answer.unwrap_or_else(|refused| refused);
        let mut response = Response::new(Full::new(Bytes::from(body.to_string())).boxed_unsync());
        *response.status_mut() = code;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if code == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }

    async fn take<B>(
        &self,
        method: &Method,
        path: &str,
        headers: &HeaderMap,
        body: B,
    ) -> Result<Answer, Answer>
    where
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        if method != Method::POST {
            return Err(said(StatusCode::METHOD_NOT_ALLOWED, "notifications are posted"));
        }
        let _room = self.room.try_acquire().map_err(|_| {
            said(StatusCode::TOO_MANY_REQUESTS, "too many notifications at the same time; try again")
        })?;
        let body = read(body).await?;
        let found = self.repository(path).await;
        let secret = found.as_ref().map_or(&self.decoy[..], |found| &found.secret[..]);
        let is_signed = proof::is_signed(headers, &body, secret);
        let found = found.filter(|_| is_signed).ok_or_else(unknown)?;
        self.tell(&found, headers, &body).await
    }

    /// The Repository of a path, if it has a secret.
    async fn repository(&self, path: &str) -> Option<Found> {
        let (namespace, name) = path.strip_prefix(PATH)?.trim_end_matches('/').split_once('/')?;
        let (namespace, _) = (namespace.parse::<Namespace>().ok()?, name.parse::<RepositoryName>().ok()?);
        let object = self.read(&rows::REPOSITORY, &namespace, name).await?;
        let secret = object["metadata"]["annotations"][SECRET].as_str()?;
        let secret = self.read(&rows::SECRET, &namespace, secret).await?;
        let secret = STANDARD.decode(secret["data"][SECRET_KEY].as_str()?).ok()?;
        let place = Place::of(&object)?;
        (!secret.is_empty()).then_some(Found { namespace, place, secret })
    }

    async fn read(&self, kind: &lanai_store::Kind, namespace: &Namespace, name: &str) -> Option<Value> {
        let key = Key::new(kind, namespace.as_str(), name).ok()?;
        let stored = self.store.get(&key).await.ok()??;
        serde_json::from_slice(&stored.object.value).ok()
    }

    /// Asks for a look at all Repositories of the namespace that are on this remote and that the push is about.
    async fn tell(&self, found: &Found, headers: &HeaderMap, body: &[u8]) -> Result<Answer, Answer> {
        if proof::event(headers) == Some("ping") {
            return Ok(Answer { code: StatusCode::OK, body: json!({"repositories": []}) });
        }
        let refused = || {
            said(StatusCode::BAD_REQUEST, "the body is no JSON object; choose application/json as its type")
        };
        let payload: Value = serde_json::from_slice(body).map_err(|_| refused())?;
        if !payload.is_object() {
            return Err(refused());
        }
        let unavailable = |error: lanai_store::Error| {
            tracing::warn!(%error, "a notification was not taken");
            said(StatusCode::SERVICE_UNAVAILABLE, "the store cannot be read now; try again")
        };
        let prefix = Prefix::namespace(&rows::REPOSITORY, found.namespace.as_str());
        let prefix = prefix.map_err(|error| unavailable(error.into()))?;
        let listed = self.store.list(&ListRequest::all(Filter::under(prefix))).await.map_err(unavailable)?;
        let mut names = Vec::new();
        for stored in listed.items {
            let Ok(object) = serde_json::from_slice::<Value>(&stored.object.value) else { continue };
            let is_meant = Place::of(&object)
                .is_some_and(|place| place.is_beside(&found.place) && is_about(&payload, place.branch()));
            let name = stored.key.name().parse::<RepositoryName>();
            if let (true, Ok(name)) = (is_meant, name) {
                self.engine.ask_for_look(&found.namespace, &name);
                names.push(name.to_string());
            }
        }
        tracing::info!(namespace = %found.namespace, repositories = names.join(" "), "a push was notified");
        Ok(Answer { code: StatusCode::ACCEPTED, body: json!({"repositories": names}) })
    }
}

/// A Repository that takes notifications.
struct Found {
    namespace: Namespace,
    place: Place,
    secret: Vec<u8>,
}

/// Whether a push can have changed package revisions: it is about tags, about the branch, about drafts, or does not say.
fn is_about(payload: &Value, branch: &str) -> bool {
    let Some(name) = payload["ref"].as_str() else { return true };
    let kind = payload["ref_type"].as_str().unwrap_or_default();
    if name.starts_with("refs/tags/") || kind == "tag" {
        return true;
    }
    let short = name.strip_prefix("refs/heads/").unwrap_or(name);
    short == branch || ["drafts/", "proposed/", "deletionProposed/"].iter().any(|of| short.starts_with(of))
}

/// A body, inside of its limits.
async fn read<B>(body: B) -> Result<Bytes, Answer>
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    match tokio::time::timeout(BODY_TIME, Limited::new(body, MAX_BODY).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let text = format!("a notification has {MAX_BODY} bytes at most");
            Err(said(StatusCode::PAYLOAD_TOO_LARGE, &text))
        }
        Ok(Err(_)) => Err(said(StatusCode::BAD_REQUEST, "the body of the request broke off")),
        Err(_) => Err(said(StatusCode::REQUEST_TIMEOUT, "the body of the request did not arrive in time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pushes_to_other_branches_are_left_alone() {
        for (payload, expected) in [
            (json!({"ref": "refs/heads/main"}), true),
            (json!({"ref": "refs/heads/feature"}), false),
            (json!({"ref": "refs/heads/drafts/web/v1"}), true),
            (json!({"ref": "refs/heads/deletionProposed/web/v1"}), true),
            (json!({"ref": "refs/tags/web/v1"}), true),
            (json!({"ref": "web/v1", "ref_type": "tag"}), true),
            (json!({"ref": "feature", "ref_type": "branch"}), false),
            (json!({"something": "else"}), true),
        ] {
            assert_eq!(is_about(&payload, "main"), expected, "{payload}");
        }
    }
}
