//! Namespaces are furnished, and emptied.

use kube::api::PostParams;
use kube::api::PropagationPolicy::Background;
use serde_json::json;

use crate::world::{World, definition, held, map, namespace, thing};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_namespace_has_its_account_and_certificate() {
    let world = World::new().await;
    world.create(&namespace("a")).await;
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "a"}});
    let root = map("a", "kube-root-ca.crt");
    world.until(&account, |found| found.is_some()).await;
    let is_right = |found: Option<&kube::api::DynamicObject>| {
        found.is_some_and(|found| found.data["data"] == json!({"ca.crt": "the authority"}))
    };
    world.until(&root, is_right).await;
    world.delete(&account, Background).await;
    world.until(&account, |found| found.is_some()).await;
    world.delete(&root, Background).await;
    world.until(&root, is_right).await;
    world.patch(&root, &json!({"data": {"ca.crt": "another", "more": "x"}})).await;
    world.until(&root, is_right).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_goes_with_all_that_is_in_it() {
    let world = World::new().await;
    world.create(&definition("widgets", "Widget", "Namespaced")).await;
    world.create(&namespace("a")).await;
    world.create(&namespace("b")).await;
    for name in 0..20 {
        world.create(&map("a", &format!("m{name}"))).await;
    }
    world.create(&thing("Widget", Some("a"), "w")).await;
    world.create(&thing("Package", Some("a"), "p")).await;
    world.create(&map("b", "m")).await;
    world.delete(&namespace("a"), Background).await;
    world.until_gone(&namespace("a")).await;
    for object in [map("a", "m0"), thing("Widget", Some("a"), "w"), thing("Package", Some("a"), "p")] {
        assert!(world.get(&object).await.is_none(), "{object}");
    }
    assert!(world.get(&map("b", "m")).await.is_some());
    assert_eq!(*world.remote.unregistered.lock().unwrap(), ["a"]);
    assert!(world.remote.deleted.lock().unwrap().is_empty(), "what packages stand for was not deleted");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_namespace_waits_for_finalizers_and_says_so() {
    let world = World::new().await;
    world.create(&namespace("a")).await;
    let object = map("a", "m");
    world.create(&held(object.clone(), "x.org/hold")).await;
    world.delete(&namespace("a"), Background).await;
    world
        .until(&namespace("a"), |found| {
            let conditions =
                found.map(|found| found.data["status"]["conditions"].to_string()).unwrap_or_default();
            conditions.contains("configmaps has 1 resource instances")
                && conditions.contains("x.org/hold in 1")
        })
        .await;
    let late = serde_json::from_value(map("a", "n")).unwrap();
    let refused = world.api(&map("a", "n")).create(&PostParams::default(), &late).await.unwrap_err();
    assert!(refused.to_string().contains("being terminated"), "{refused}");
    world.patch(&object, &json!({"metadata": {"finalizers": null}})).await;
    world.until_gone(&namespace("a")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_begun_is_finished_after_a_start() {
    let mut world = World::new().await;
    world.create(&namespace("a")).await;
    world.create(&map("a", "m")).await;
    world.stop().await;
    world.delete(&namespace("a"), Background).await;
    world.create(&namespace("b")).await;
    assert!(world.get(&map("a", "m")).await.is_some(), "nobody empties it");
    world.start();
    world.until_gone(&namespace("a")).await;
    world.until(&map("b", "kube-root-ca.crt"), |found| found.is_some()).await;
}
