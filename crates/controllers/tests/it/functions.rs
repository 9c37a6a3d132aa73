//! Which functions are configured.

use kube::api::PropagationPolicy::Background;
use serde_json::{Value, json};

use crate::world::World;

fn config(namespace: &str, name: &str, image: &str) -> Value {
    json!({"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "FunctionConfig", "metadata": {"name": name, "namespace": namespace},
           "spec": {"image": image, "goExecutor": {"tags": ["v1"]}}})
}

fn tags(world: &World) -> Value {
    let taken = world.functions.lock().unwrap();
    json!(taken.iter().flatten().map(|object| &object["spec"]["goExecutor"]["tags"]).collect::<Vec<_>>())
}

fn error(found: Option<&kube::api::DynamicObject>) -> Option<&str> {
    found.and_then(|found| found.data["status"]["error"].as_str())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_runs_functions_follows_the_objects_of_one_namespace() {
    let world = World::new().await;
    world.create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "functions"}})).await;
    let first = config("functions", "first", "set-labels");
    world.create(&first).await;
    let observed = |generation: i64| {
        move |found: Option<&kube::api::DynamicObject>| {
            found.is_some_and(|found| found.data["status"]["apiServerObservedGeneration"] == generation)
        }
    };
    world.until(&first, observed(1)).await;
    assert_eq!(tags(&world), json!([["v1"]]), "it was taken over before it is said");
    world.patch(&first, &json!({"spec": {"goExecutor": {"tags": ["v2"]}}})).await;
    world.until(&first, observed(2)).await;
    assert_eq!(tags(&world), json!([["v2"]]));

    let second = config("functions", "second", "set-labels");
    world.create(&second).await;
    world.until(&second, |found| error(found).is_some_and(|why| why.contains("\"first\""))).await;
    let other = config("default", "other", "starlark");
    world.create(&other).await;
    let only = "only FunctionConfigs of the namespace \"functions\" are used";
    world.until(&other, |found| error(found) == Some(only)).await;
    assert_eq!(tags(&world), json!([["v2"]]), "neither counts");

    world.delete(&first, Background).await;
    world.until(&second, |found| error(found).is_none() && observed(1)(found)).await;
    assert_eq!(tags(&world), json!([["v1"]]));

    let broken = config("functions", "broken", "broken");
    world.create(&broken).await;
    world.until(&broken, |found| error(found) == Some("it is broken")).await;
}
