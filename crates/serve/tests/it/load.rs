//! Many at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{StreamExt, iter};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use lanai_apiserver::Identity;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use crate::tls::Access;
use crate::world::World;

const WATCHERS: usize = 1_000;
const WRITERS: usize = 50;
/// Watches on one connection.
const TOGETHER: usize = 40;
const PAGE: u32 = 100;
const PATIENCE: Duration = Duration::from_mins(5);
/// The name of the last object.
const END: &str = "the-end";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn is_soak() -> bool {
    std::env::var_os("LANAI_SOAK").is_some()
}

fn map(name: &str, number: usize) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some([("number".to_owned(), number.to_string())].into()),
        ..ConfigMap::default()
    }
}

/// What a watcher heard: the versions in their order.
struct Heard {
    versions: Vec<u64>,
}

/// Every watcher hears of every write, once and in order.
#[test]
fn a_thousand_watchers_and_fifty_writers_without_a_gap() {
    let world = World::new();
    let access = Access::read(&world.kubeconfig());
    world.runtime.block_on(async {
        let client = access.client().await.unwrap();
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let begin = settled(&maps).await;
        let mut watchers = Vec::new();
        let ready = Arc::new(Semaphore::new(0));
        for _ in 0..WATCHERS / TOGETHER {
            let (sender, _) = access.connect::<Full<Bytes>>().await.unwrap();
            for _ in 0..TOGETHER {
                let (sender, address) = (sender.clone(), access.address.clone());
                let ready = ready.clone();
                watchers.push(tokio::spawn(async move { watch(sender, &address, begin, &ready).await }));
            }
        }
        let _ = ready.acquire_many(u32::try_from(WATCHERS).unwrap()).await.unwrap();
        let started = Instant::now();
        let most = if is_soak() { Duration::from_secs(30) } else { Duration::from_secs(2) };
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let client = access.client().await.unwrap();
            writers.push(tokio::spawn(write(client, writer, started + most)));
        }
        let mut written = BTreeSet::new();
        for writer in writers {
            written.extend(writer.await.unwrap());
        }
        // The last write, which all wait for.
        let last = maps.create(&PostParams::default(), &map(END, 0)).await.unwrap();
        let last: u64 = last.metadata.resource_version.unwrap().parse().unwrap();
        written.insert(last);
        let expected: Vec<u64> = written.into_iter().collect();
        for watcher in watchers {
            let heard = tokio::time::timeout(PATIENCE, watcher).await.expect("all hear the end").unwrap();
            assert!(heard.versions == expected, "{} of {} events", heard.versions.len(), expected.len());
        }
        println!("{} writes, {} events, {:?}", expected.len(), expected.len() * WATCHERS, started.elapsed());
        assert!(expected.len() > WRITERS);
    });
}

/// The version behind which nothing but the test writes: what new namespaces get is there.
async fn settled(maps: &Api<ConfigMap>) -> u64 {
    kube::runtime::wait::await_condition(maps.clone(), "kube-root-ca.crt", |found: Option<&ConfigMap>| {
        found.is_some()
    })
    .await
    .unwrap();
    maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap().parse().unwrap()
}

async fn write(client: Client, writer: usize, until: Instant) -> Vec<u64> {
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    let name = format!("w{writer}");
    let version = |map: ConfigMap| map.metadata.resource_version.unwrap().parse().unwrap();
    let mut versions = vec![version(maps.create(&PostParams::default(), &map(&name, 0)).await.unwrap())];
    let mut number = 0;
    while Instant::now() < until {
        number += 1;
        let patch = Patch::Merge(json!({"data": {"number": number.to_string()}}));
        versions.push(version(maps.patch(&name, &PatchParams::default(), &patch).await.unwrap()));
        // A thousand hear of each: about a hundred writes a second are enough for two processors.
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    versions
}

async fn watch(mut sender: SendRequest<Full<Bytes>>, address: &str, begin: u64, ready: &Semaphore) -> Heard {
    let uri = format!("https://{address}{MAPS}?watch=1&resourceVersion={begin}");
    let request = Request::get(uri).body(Full::default()).unwrap();
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    ready.add_permits(1);
    let mut body = response.into_body();
    let (mut heard, mut rest) = (Heard { versions: Vec::new() }, Vec::new());
    while let Some(frame) = body.frame().await {
        rest.extend_from_slice(&frame.unwrap().into_data().unwrap_or_default());
        while let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = rest.drain(..=at).collect();
            heard.versions.push(version(&line));
            if line.windows(END.len()).any(|part| part == END.as_bytes()) {
                return heard;
            }
        }
    }
    heard
}

/// The version in an event, without reading the rest.
fn version(line: &[u8]) -> u64 {
    let text = std::str::from_utf8(line).unwrap();
    assert!(!text.starts_with("{\"type\":\"ERROR\""), "{text}");
    let (_, rest) = text.split_once("\"resourceVersion\":\"").unwrap();
    rest.split('"').next().unwrap().parse().unwrap()
}

/// How many objects are listed in pages; a soak takes the time for more.
fn objects() -> usize {
    if is_soak() { 10_000 } else { 2_000 }
}

/// Pages of one list are one moment, whatever happens between them.
#[test]
fn many_objects_in_pages_while_they_change() {
    let world = World::new();
    world.runtime.block_on(async {
        let client = Client::new(world.api.acting_as(Identity::server("test")), "default");
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        settled(&maps).await;
        let name = |number: usize| format!("p{number:05}");
        let mut made = iter(0..objects())
            .map(|number| {
                let maps = maps.clone();
                async move { maps.create(&PostParams::default(), &map(&name(number), 0)).await.unwrap() }
            })
            .buffer_unordered(64);
        while made.next().await.is_some() {}
        drop(made);
        let (teller, mut changes) = watch::channel(0);
        let changing = tokio::spawn(change(maps.clone(), teller));
        let mut params = ListParams::default().limit(PAGE);
        let (mut seen, mut moment) = (BTreeMap::new(), None);
        let mut pages = 0;
        loop {
            let page = maps.list(&params).await.unwrap();
            pages += 1;
            let version = page.metadata.resource_version.clone().unwrap();
            assert_eq!(*moment.get_or_insert(version.clone()), version, "all pages are of one moment");
            for item in page.items {
                let own: u64 = item.metadata.resource_version.unwrap().parse().unwrap();
                assert!(own <= version.parse().unwrap(), "nothing newer than the list is in it");
                assert!(
                    seen.insert(item.metadata.name.unwrap(), item.data).is_none(),
                    "nothing is there twice"
                );
            }
            // Something happens between any two pages.
            changes.changed().await.unwrap();
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = ListParams::default().limit(PAGE).continue_token(&token),
                None => break,
            }
        }
        drop(changes);
        changing.await.unwrap();
        assert!(pages > 15, "{pages} pages");
        // The same moment in one piece is the same.
        let at = ListParams::default().at(&moment.unwrap()).matching(kube::api::VersionMatch::Exact);
        let whole: BTreeMap<_, _> = maps
            .list(&at)
            .await
            .unwrap()
            .items
            .into_iter()
            .map(|item| (item.metadata.name.unwrap(), item.data))
            .collect();
        assert!(seen == whole, "{} in pages, {} at once", seen.len(), whole.len());
    });
}

/// Changes three objects again and again, and says so, as long as somebody listens.
async fn change(maps: Api<ConfigMap>, teller: watch::Sender<usize>) {
    for number in 0.. {
        let name = format!("p{:05}", number * 7_919 % objects());
        let _ = maps.delete(&name, &DeleteParams::default()).await;
        let _ = maps.create(&PostParams::default(), &map(&format!("q{number:05}"), number)).await;
        let name = format!("p{:05}", number * 104_729 % objects());
        let patch: Patch<Value> = Patch::Merge(json!({"data": {"number": "9"}}));
        let _ = maps.patch(&name, &PatchParams::default(), &patch).await;
        if teller.send(number).is_err() {
            break;
        }
    }
}
