//! kube-rs over TLS: a reflector, a controller with a finalizer, server-side apply.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::reflector::{self, ObjectRef};
use kube::runtime::wait::await_condition;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::tls::Access;
use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(30);

fn with_client<F: Future<Output = ()>>(test: impl FnOnce(Client) -> F) {
    let world = World::new();
    let access = Access::read(&world.kubeconfig());
    world.runtime.block_on(async {
        let client = access.client().await.unwrap();
        tokio::time::timeout(PATIENCE, test(client)).await.expect("it ends in time");
    });
}

fn map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"a": value}})).unwrap()
}

#[test]
fn a_reflector_has_what_the_server_has() {
    with_client(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        for number in 0..20 {
            maps.create(&PostParams::default(), &map(&format!("m{number}"), "1")).await.unwrap();
        }
        for config in [watcher::Config::default().page_size(7), watcher::Config::default().streaming_lists()]
        {
            let (store, writer) = reflector::store();
            let stream = reflector::reflector(writer, watcher(maps.clone(), config))
                .default_backoff()
                .touched_objects();
            let following = tokio::spawn(stream.for_each(|event| async move { drop(event.unwrap()) }));
            store.wait_until_ready().await.unwrap();
            assert!(store.get(&ObjectRef::new("m7").within("default")).is_some());
            let patch = Patch::Merge(json!({"data": {"a": "2"}}));
            maps.patch("m7", &PatchParams::default(), &patch).await.unwrap();
            maps.delete("m8", &DeleteParams::default()).await.unwrap();
            let has_both = || {
                let changed =
                    store.get(&ObjectRef::new("m7").within("default")).and_then(|map| map.data.clone());
                changed.is_some_and(|data| data["a"] == "2")
                    && store.get(&ObjectRef::new("m8").within("default")).is_none()
            };
            while !has_both() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            let mut there: Vec<(String, String)> = Vec::new();
            for item in maps.list(&ListParams::default()).await.unwrap().items {
                there.push((item.name_any(), item.resource_version().unwrap()));
            }
            let mut kept: Vec<(String, String)> =
                store.state().iter().map(|map| (map.name_any(), map.resource_version().unwrap())).collect();
            there.sort();
            kept.sort();
            assert_eq!(there, kept);
            following.abort();
            maps.create(&PostParams::default(), &map("m8", "1")).await.unwrap();
            maps.patch("m7", &PatchParams::default(), &Patch::Merge(json!({"data": {"a": "1"}})))
                .await
                .unwrap();
        }
    });
}

struct Copies {
    client: Client,
}

/// Keeps a secret beside each map that is labelled, and takes it away with it.
async fn keep(
    map: Arc<ConfigMap>,
    context: Arc<Copies>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let maps: Api<ConfigMap> = Api::default_namespaced(context.client.clone());
    let secrets: Api<Secret> = Api::default_namespaced(context.client.clone());
    finalizer(&maps, "copies.shop.example/secret", map, |event| async move {
        match event {
            Event::Apply(map) => {
                let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": map.name_any()}, "stringData": map.data});
                secrets.patch(&map.name_any(), &PatchParams::apply("copies").force(), &Patch::Apply(secret)).await?;
            }
            Event::Cleanup(map) => {
                secrets.delete(&map.name_any(), &DeleteParams::default()).await?;
            }
        }
        Ok(Action::await_change())
    })
    .await
}

#[test]
fn a_controller_keeps_and_cleans_up() {
    with_client(|client| async move {
        let stop = CancellationToken::new();
        let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
        let secrets: Api<Secret> = Api::default_namespaced(client.clone());
        let ended = stop.clone();
        let controller = Controller::new(maps.clone(), watcher::Config::default().labels("copy=yes"))
            .owns(secrets.clone(), watcher::Config::default())
            .graceful_shutdown_on(async move { ended.cancelled().await })
            .run(keep, |_, _, _| Action::requeue(Duration::from_millis(50)), Arc::new(Copies { client }))
            .for_each(|done| async move {
                if let Err(error) = done {
                    println!("{error}");
                }
            });
        let running = tokio::spawn(controller);
        let mut labelled = map("c", "1");
        labelled.metadata.labels = Some([("copy".to_owned(), "yes".to_owned())].into());
        maps.create(&PostParams::default(), &labelled).await.unwrap();
        maps.create(&PostParams::default(), &map("other", "1")).await.unwrap();
        await_condition(secrets.clone(), "c", |found: Option<&Secret>| found.is_some()).await.unwrap();
        maps.patch("c", &PatchParams::default(), &Patch::Merge(json!({"data": {"a": "2"}}))).await.unwrap();
        let has_two = |found: Option<&Secret>| {
            found.and_then(|found| found.data.as_ref()).is_some_and(|data| data["a"].0 == b"2")
        };
        await_condition(secrets.clone(), "c", has_two).await.unwrap();
        maps.delete("c", &DeleteParams::default()).await.unwrap();
        await_condition(maps.clone(), "c", |found: Option<&ConfigMap>| found.is_none()).await.unwrap();
        assert!(
            secrets.get_opt("c").await.unwrap().is_none()
                && secrets.get_opt("other").await.unwrap().is_none()
        );
        stop.cancel();
        running.await.unwrap();
    });
}

#[test]
fn fields_have_owners() {
    with_client(|client| async move {
        let maps: Api<ConfigMap> = Api::default_namespaced(client);
        let apply = |manager: &str, data: serde_json::Value, force: bool| {
            let params = PatchParams { force, ..PatchParams::apply(manager) };
            let object =
                json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
            let maps = maps.clone();
            async move { maps.patch("c", &params, &Patch::Apply(object)).await }
        };
        apply("ann", json!({"a": "1", "b": "1"}), false).await.unwrap();
        let refused = apply("bob", json!({"a": "2"}), false).await.unwrap_err();
        assert!(
            matches!(&refused, kube::Error::Api(status) if status.code == 409 && status.reason == "Conflict"),
            "{refused}"
        );
        apply("bob", json!({"a": "2"}), true).await.unwrap();
        let left = apply("ann", json!({"b": "1"}), false).await.unwrap();
        assert_eq!(
            left.data.unwrap(),
            [("a".to_owned(), "2".to_owned()), ("b".to_owned(), "1".to_owned())].into()
        );
        let left = apply("ann", json!({}), false).await.unwrap();
        assert_eq!(
            left.data.unwrap().into_keys().collect::<Vec<_>>(),
            ["a"],
            "what nobody owns any more is gone"
        );
    });
}
