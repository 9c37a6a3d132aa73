//! What the server does not take on.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, StreamBody};
use lanai_apiserver::{ApiServer, Body, Identity, Limits};
use serde_json::Value;
use tower::Service;

use crate::world::World;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn user(name: &str) -> Identity {
    Identity::known(name, ["system:masters".to_owned()])
}

/// A request whose body never ends.
async fn endless(api: ApiServer, name: &'static str) -> Response<Body> {
    let body = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let request = Request::post(MAPS).body(body).unwrap();
    api.acting_as(user(name)).call(request).await.unwrap()
}

async fn get(api: &ApiServer, name: &str, path: &str) -> Response<Body> {
    let request = Request::get(path).body(Empty::<Bytes>::new()).unwrap();
    api.acting_as(user(name)).call(request).await.unwrap()
}

async fn status(response: Response<Body>) -> (u16, Option<String>, Value) {
    let retry = response.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, retry, serde_json::from_slice(&bytes).unwrap_or(Value::Null))
}

async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn so_many_requests_are_worked_on_at_once() {
    let limits = Limits { max_requests: 3, max_requests_per_user: 2, ..Limits::DEFAULT };
    let world = World::with(limits, |_, _| None).await;
    let api = &world.api;
    let first = tokio::spawn(endless(api.clone(), "bob"));
    settle().await;
    assert_eq!(get(api, "bob", MAPS).await.status(), 200, "the second fits");
    let second = tokio::spawn(endless(api.clone(), "bob"));
    settle().await;
    let (code, retry, body) = status(get(api, "bob", MAPS).await).await;
    assert_eq!(
        (code, retry.as_deref(), body["reason"].as_str()),
        (429, Some("1"), Some("TooManyRequests")),
        "{body}"
    );
    assert_eq!(body["details"]["retryAfterSeconds"], 1);
    assert_eq!(get(api, "ann", MAPS).await.status(), 200, "the third of all fits");
    let third = tokio::spawn(endless(api.clone(), "ann"));
    settle().await;
    assert_eq!(get(api, "eve", MAPS).await.status(), 429, "one more of all does not");
    assert_eq!(get(api, "eve", "/healthz").await.status(), 200, "health is always told");
    for one in [first, second, third] {
        one.abort();
        let _ = one.await;
    }
    assert_eq!(get(api, "bob", MAPS).await.status(), 200, "who goes makes room");
}

#[tokio::test]
async fn so_many_watches_are_open_at_once() {
    let limits = Limits { max_watches: 3, max_watches_per_user: 2, ..Limits::DEFAULT };
    let world = World::with(limits, |_, _| None).await;
    let (api, watch) = (&world.api, format!("{MAPS}?watch=true"));
    let first = get(api, "bob", &watch).await;
    let second = get(api, "bob", &watch).await;
    assert_eq!((first.status().as_u16(), second.status().as_u16()), (200, 200));
    let (code, retry, body) = status(get(api, "bob", &watch).await).await;
    assert_eq!(
        (code, retry.as_deref(), body["reason"].as_str()),
        (429, Some("1"), Some("TooManyRequests")),
        "{body}"
    );
    let third = get(api, "ann", &watch).await;
    assert_eq!(third.status(), 200);
    assert_eq!(get(api, "eve", &watch).await.status(), 429);
    assert_eq!(get(api, "eve", MAPS).await.status(), 200, "watches and requests have counts of their own");
    drop(first);
    assert_eq!(get(api, "bob", &watch).await.status(), 200, "a watch that nobody reads any more makes room");
}

#[tokio::test]
async fn bodies_and_watches_end_in_time() {
    let limits = Limits {
        request_time: Duration::from_millis(80),
        watch_time: Duration::from_millis(80),
        ..Limits::DEFAULT
    };
    let world = World::with(limits, |_, _| None).await;
    let (code, _, body) = status(endless(world.api.clone(), "bob").await).await;
    assert_eq!((code, body["reason"].as_str()), (504, Some("Timeout")), "{body}");
    let watch = get(&world.api, "bob", &format!("{MAPS}?watch=true&timeoutSeconds=3600")).await;
    let ended = tokio::time::timeout(Duration::from_secs(10), watch.into_body().collect()).await;
    assert!(ended.is_ok(), "no client keeps a watch open for longer");
}
