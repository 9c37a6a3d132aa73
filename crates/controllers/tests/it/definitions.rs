//! Definitions of custom resources.

use kube::api::PropagationPolicy::Background;
use kube::api::{DynamicObject, PostParams};
use serde_json::json;

use crate::world::{World, definition, held, thing};

fn is(found: Option<&DynamicObject>, condition: &str, status: &str) -> bool {
    let conditions = found.and_then(|found| found.data["status"]["conditions"].as_array().cloned());
    conditions.unwrap_or_default().iter().any(|one| one["type"] == condition && one["status"] == status)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_goes_when_its_objects_are_gone() {
    let world = World::new().await;
    let widgets = definition("widgets", "Widget", "Namespaced");
    world.create(&widgets).await;
    let (free, bound) = (thing("Widget", Some("default"), "free"), thing("Widget", Some("default"), "bound"));
    world.create(&free).await;
    world.create(&held(bound.clone(), "x.org/hold")).await;
    world.delete(&widgets, Background).await;
    world.until_gone(&free).await;
    let says = |found: Option<&DynamicObject>| {
        is(found, "Terminating", "True")
            && found.is_some_and(|found| {
                found.data["status"].to_string().contains("1 objects wait for finalizers: x.org/hold in 1")
            })
    };
    world.until(&widgets, says).await;
    let late = serde_json::from_value(thing("Widget", Some("default"), "late")).unwrap();
    let refused = world.api(&free).create(&PostParams::default(), &late).await.unwrap_err();
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 405), "{refused}");
    world.patch(&bound, &json!({"metadata": {"finalizers": null}})).await;
    world.until_gone(&widgets).await;
    world.create(&widgets).await;
    assert!(world.get(&free).await.is_none() && world.get(&bound).await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_becomes_free_is_given_to_who_waits_for_it() {
    let world = World::new().await;
    let (first, second) =
        (definition("widgets", "Widget", "Namespaced"), definition("things", "Widget", "Namespaced"));
    world.create(&first).await;
    let refused = world.create(&second).await;
    assert!(is(Some(&refused), "NamesAccepted", "False"), "{refused:?}");
    world.until(&second, |found| is(found, "NamesAccepted", "False")).await;
    world.delete(&first, Background).await;
    world.until_gone(&first).await;
    world
        .until(&second, |found| is(found, "NamesAccepted", "True") && is(found, "Established", "True"))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_that_want_a_name_at_the_same_moment_one_gets_it() {
    let world = World::new().await;
    for round in 0..8 {
        let kind = format!("Kind{round}");
        let both = [
            definition(&format!("as{round}"), &kind, "Cluster"),
            definition(&format!("bs{round}"), &kind, "Cluster"),
        ];
        let (one, other) = tokio::join!(world.create(&both[0]), world.create(&both[1]));
        let accepted = [one, other].iter().filter(|made| is(Some(made), "NamesAccepted", "True")).count();
        assert_eq!(accepted, 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_definition_of_what_comes_with_the_server_takes_nothing_with_it() {
    let world = World::new().await;
    let package = thing("Package", Some("default"), "p");
    world.create(&package).await;
    let packages = definition("packages", "Package", "Namespaced");
    world.create(&packages).await;
    world.delete(&packages, Background).await;
    world.until_gone(&packages).await;
    assert!(world.get(&package).await.is_some());
}
