//! The end of a server that is asked to end, and clients that do not read.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use lanai_apiserver::Limits;
use lanai_serve::Server;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::tls::Access;
use crate::world::options;

const PATIENCE: Duration = Duration::from_mins(2);
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const WRITERS: usize = 8;

type Sender = SendRequest<Full<Bytes>>;

async fn create(
    sender: &mut Sender,
    address: &str,
    name: &str,
    value: &str,
) -> Result<StatusCode, hyper::Error> {
    let object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": value}});
    let request =
        Request::post(format!("https://{address}{MAPS}")).header("content-type", "application/json");
    sender.ready().await?;
    let response = sender.send_request(request.body(object.to_string().into()).unwrap()).await?;
    let code = response.status();
    response.into_body().collect().await?;
    Ok(code)
}

/// Reads a watch to its end: all whole lines.
async fn lines(mut body: hyper::body::Incoming) -> Vec<Value> {
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        text.extend(frame.expect("it ends, and is not cut off").into_data().unwrap_or_default());
    }
    assert!(text.is_empty() || text.ends_with(b"\n"), "no event is cut in two");
    text.split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[test]
fn writes_are_finished_and_watches_end_cleanly() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let acknowledged = Arc::new(Mutex::new(BTreeSet::new()));
    runtime.block_on(async {
        let server = Server::start(options(folder.path(), Limits::DEFAULT)).await.unwrap();
        let stop = CancellationToken::new();
        let running = tokio::spawn(server.run(stop.clone()));
        let access = Access::read(&folder.path().join("kubeconfig"));
        let address = access.address.clone();
        let (mut listener, _) = access.connect::<Full<Bytes>>().await.unwrap();
        let uri = format!("https://{address}{MAPS}?watch=1&allowWatchBookmarks=true");
        listener.ready().await.unwrap();
        let response = listener.send_request(Request::get(uri).body(Full::default()).unwrap()).await.unwrap();
        let watching = tokio::spawn(lines(response.into_body()));
        let enough = Arc::new(Notify::new());
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let (mut sender, _) = access.connect::<Full<Bytes>>().await.unwrap();
            let (acknowledged, address, enough) = (acknowledged.clone(), address.clone(), enough.clone());
            writers.push(tokio::spawn(async move {
                for number in 0.. {
                    let name = format!("w{writer}-{number}");
                    match create(&mut sender, &address, &name, "x").await {
                        Ok(StatusCode::CREATED) => {
                            let mut acknowledged = acknowledged.lock().unwrap();
                            acknowledged.insert(name);
                            if acknowledged.len() == 50 {
                                enough.notify_one();
                            }
                        }
                        // Whoever comes too late is told so, by an answer or by the end of the connection.
                        Ok(code) => assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE),
                        Err(_) => return,
                    }
                }
            }));
        }
        tokio::time::timeout(PATIENCE, enough.notified()).await.expect("writes are acknowledged");
        stop.cancel();
        tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
        for writer in writers {
            writer.await.unwrap();
        }
        let events = watching.await.unwrap();
        let last = events.last().expect("a watch that ends tells how far it was");
        assert_eq!(last["type"], "BOOKMARK", "{last}");
    });
    // Another process, as it were, finds all that was acknowledged.
    runtime.block_on(async {
        let server = Server::start(options(folder.path(), Limits::DEFAULT)).await.unwrap();
        let maps: kube::Api<k8s_openapi::api::core::v1::ConfigMap> =
            kube::Api::default_namespaced(server.client("test"));
        let found = maps.list(&kube::api::ListParams::default()).await.unwrap();
        let found: BTreeSet<String> = found.items.into_iter().filter_map(|map| map.metadata.name).collect();
        let missing: Vec<String> = acknowledged.lock().unwrap().difference(&found).cloned().collect();
        assert_eq!(missing, Vec::<String>::new());
    });
}

/// Watchers that never read, and one who sends half a request, hold up nobody who writes; who reads at last has missed nothing.
#[test]
fn clients_that_do_not_read_hold_up_nobody() {
    const WRITES: usize = 200;
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let server = Server::start(options(folder.path(), Limits::DEFAULT)).await.unwrap();
        let stop = CancellationToken::new();
        let running = tokio::spawn(server.run(stop.clone()));
        let access = Access::read(&folder.path().join("kubeconfig"));
        let address = access.address.clone();
        let mut held = Vec::new();
        for _ in 0..10 {
            let (mut sender, _) = access.connect::<Full<Bytes>>().await.unwrap();
            let uri = format!("https://{address}{MAPS}?watch=1&resourceVersion=0&timeoutSeconds=600");
            sender.ready().await.unwrap();
            let response =
                sender.send_request(Request::get(uri).body(Full::default()).unwrap()).await.unwrap();
            assert_eq!(response.status(), StatusCode::OK);
            held.push((sender, response));
        }
        let (mut half, _) = access.connect::<http_body_util::StreamBody<Endless>>().await.unwrap();
        half.ready().await.unwrap();
        let request =
            Request::post(format!("https://{address}{MAPS}")).header("content-type", "application/json");
        let body = http_body_util::StreamBody::new(Endless);
        let never = tokio::spawn(half.send_request(request.body(body).unwrap()));
        // Much more than the windows of connections that nobody reads.
        let value = "x".repeat(20_000);
        let (mut writer, _) = access.connect::<Full<Bytes>>().await.unwrap();
        let writing = async {
            for number in 0..WRITES {
                let made = create(&mut writer, &address, &format!("m{number:03}"), &value).await.unwrap();
                assert_eq!(made, StatusCode::CREATED);
            }
        };
        tokio::time::timeout(PATIENCE, writing).await.expect("writers wait for nobody");
        let (_sender, response) = held.pop().unwrap();
        let mut body = response.into_body();
        let mut seen = Vec::new();
        let last = format!("\"m{:03}\"", WRITES - 1);
        let reading = async {
            let has = |seen: &[u8]| {
                seen.windows(last.len()).rev().take(64 * 1024).any(|part| part == last.as_bytes())
            };
            while !has(&seen) {
                seen.extend(body.frame().await.unwrap().unwrap().into_data().unwrap_or_default());
            }
        };
        tokio::time::timeout(PATIENCE, reading).await.expect("nothing is missing");
        let text = String::from_utf8_lossy(&seen);
        for number in 0..WRITES {
            assert!(text.contains(&format!("\"m{number:03}\"")), "m{number:03} was not told");
        }
        never.abort();
        drop(held);
        stop.cancel();
        tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
    });
}

/// A body of which nothing ever comes.
struct Endless;

impl futures_util::Stream for Endless {
    type Item = Result<http_body::Frame<Bytes>, std::convert::Infallible>;

    fn poll_next(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Self::Item>> {
        std::task::Poll::Pending
    }
}
