//! Which functions are configured.

use kube::api::PropagationPolicy::Background;
use serde_json::{Value, json};

use crate::world::World;

fn config(name: &str, image: &str) -> Value {
    json!({"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "FunctionConfig", "metadata": {"name": name, "namespace": "default"},
           "spec": {"image": image, "goExecutor": {"tags": ["v1"]}}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_index_follows_the_objects() {
    let world = World::new().await;
    let first = config("first", "set-labels");
    world.create(&first).await;
    let observed = |generation: i64| {
        move |found: Option<&kube::api::DynamicObject>| {
            found.is_some_and(|found| found.data["status"]["apiServerObservedGeneration"] == generation)
        }
    };
    world.until(&first, observed(1)).await;
    assert_eq!(world.functions.find("default", "set-labels").unwrap()["goExecutor"]["tags"], json!(["v1"]));
    world.patch(&first, &json!({"spec": {"goExecutor": {"tags": ["v2"]}}})).await;
    world.until(&first, observed(2)).await;
    assert_eq!(world.functions.find("default", "set-labels").unwrap()["goExecutor"]["tags"], json!(["v2"]));
    let second = config("second", "set-labels");
    world.create(&second).await;
    world.until(&second, |found| found.is_some_and(|found| found.data["status"]["error"].is_string())).await;
    world.delete(&first, Background).await;
    world
        .until(&second, |found| {
            found.is_some_and(|found| found.data["status"].get("error").is_none() && observed(1)(Some(found)))
        })
        .await;
    assert_eq!(world.functions.find("default", "set-labels").unwrap()["goExecutor"]["tags"], json!(["v1"]));
}
