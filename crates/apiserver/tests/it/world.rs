//! A server without sockets and without a disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use lanai_api::kinds;
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
            authentication: Authentication::default(),
            limits: Limits::DEFAULT,
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
        let request = Request::builder().method(method).uri(path).header("content-type", media);
        let request = request.body(Full::<Bytes>::from(body)).unwrap();
        let response = self.api.acting_as(Identity::server("test")).call(request).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
    }
}
