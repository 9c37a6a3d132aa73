//! A server without sockets and without a disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use lanai_api::kinds;
use lanai_apiserver::tokens::TokenKey;
use lanai_apiserver::{
    ApiServer, Authentication, Backing, Identity, Limits, Options, Registered, Registry, define,
};
use lanai_store::{MemoryStore, Store};
use serde_json::{Value, json};
use tower::Service;

/// A server over a store that both sides of a test can look into.
pub struct World {
    pub api: ApiServer,
}

impl World {
    /// Serves all kinds; those that `backing` answers for are virtual.
    pub async fn new(backing: impl Fn(&str, Arc<dyn Store>) -> Option<Backing>) -> Self {
        Self::with(Limits::DEFAULT, backing).await
    }

    /// The same, with limits.
    pub async fn with(limits: Limits, backing: impl Fn(&str, Arc<dyn Store>) -> Option<Backing>) -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(lanai_store::Limits::default()));
        let mut registry = Registry::default();
        for info in kinds::all() {
            let is_review = info.names.kind.ends_with("Review");
            let usual = if is_review { Backing::Answered } else { Backing::Stored };
            let backing = backing(&info.names.kind, store.clone()).unwrap_or(usual);
            registry.insert(Registered::new(info.clone(), backing).unwrap());
        }
        let count = AtomicU64::new(1);
        let chance = move |bytes: &mut [u8]| {
            for (at, byte) in bytes.iter_mut().enumerate() {
                let next = count.fetch_add(1, Ordering::Relaxed);
                *byte = next.wrapping_mul(31).wrapping_add(at as u64).to_le_bytes()[0];
            }
        };
        let options = Options {
            store,
            registry,
            define,
            authentication: Authentication {
                tokens: Some(Arc::new(
                    TokenKey::from_pkcs8(&TokenKey::generate().unwrap(), "https://kubernetes.default.svc")
                        .unwrap(),
                )),
                ..Authentication::default()
            },
            delegate: None,
            limits,
            audit: Arc::new(lanai_apiserver::audit::ToLog),
            clock: Arc::new(jiff::Timestamp::now),
            chance: Arc::new(chance),
        };
        let world = Self { api: ApiServer::start(options).await.unwrap() };
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
        let (code, answer) = world.send("POST", "/api/v1/namespaces", "application/json", &namespace).await;
        assert_eq!(code, 201, "{answer}");
        world
    }

    /// Sends a request as somebody who may do everything.
    pub async fn send(&self, method: &str, path: &str, media: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.ask(method, path, &[("content-type".to_owned(), media.to_owned())], body).await;
        (answer.code, answer.body)
    }

    /// The same, with headers.
    pub async fn ask(&self, method: &str, path: &str, headers: &[(String, String)], body: String) -> Answer {
        let request = Request::builder().method(method).uri(path);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
        let request = request.body(Full::<Bytes>::from(body)).unwrap();
        let admin = Identity::known("admin", ["system:masters".to_owned()]);
        let response = self.api.acting_as(admin).call(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.unwrap().to_bytes();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        Answer { code: parts.status.as_u16(), headers: parts.headers, body, text }
    }
}

/// An answer, read to its end.
pub struct Answer {
    pub code: u16,
    pub headers: http::HeaderMap,
    pub body: Value,
    pub text: String,
}
