//! Dependents of what is deleted.

use kube::api::PropagationPolicy::{Background, Foreground, Orphan};
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};

use crate::world::{World, definition, held, map, namespace, owned_by, thing};

async fn world() -> World {
    let world = World::new().await;
    world.create(&definition("widgets", "Widget", "Namespaced")).await;
    world.create(&definition("plants", "Plant", "Cluster")).await;
    world
}

/// Makes a change and undoes it, to be sure that the collector has seen what was before.
async fn settle(world: &World) {
    let mark = map("default", "mark");
    let gone = map("default", "gone");
    let owner = world.create(&gone).await;
    world.create(&owned_by(mark.clone(), &[&owner])).await;
    world.delete(&gone, Background).await;
    world.until_gone(&mark).await;
}

fn owners(object: &DynamicObject) -> usize {
    object.metadata.owner_references.as_ref().map_or(0, Vec::len)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dependents_go_behind_their_owner_across_kinds() {
    let world = world().await;
    let pairs: [(Value, Value); 5] = [
        (map("default", "o1"), map("default", "d1")),
        (thing("Widget", Some("default"), "o2"), map("default", "d2")),
        (map("default", "o3"), thing("Package", Some("default"), "d3")),
        (thing("Package", Some("default"), "o4"), thing("Widget", Some("default"), "d4")),
        (thing("Plant", None, "o5"), map("default", "d5")),
    ];
    for (owner, dependent) in &pairs {
        let made = world.create(owner).await;
        world.create(&owned_by(dependent.clone(), &[&made])).await;
    }
    let (grand, child) = (map("default", "grand"), map("default", "d1"));
    let child = world.get(&child).await.unwrap();
    world.create(&owned_by(grand.clone(), &[&child])).await;
    for (owner, dependent) in &pairs {
        world.delete(owner, Background).await;
        world.until_gone(dependent).await;
    }
    world.until_gone(&grand).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_owner_is_enough_to_stay() {
    let world = world().await;
    let (first, second) = (map("default", "a"), map("default", "b"));
    let (made, other) = (world.create(&first).await, world.create(&second).await);
    let dependent = map("default", "d");
    world.create(&owned_by(dependent.clone(), &[&made, &other])).await;
    world.delete(&first, Background).await;
    world.until(&dependent, |found| found.is_some_and(|found| owners(found) == 1)).await;
    world.delete(&second, Background).await;
    world.until_gone(&dependent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_is_known_by_its_uid() {
    let world = world().await;
    let mut made = world.create(&map("default", "o")).await;
    made.metadata.uid = Some("11111111-1111-4111-8111-111111111111".into());
    let dependent = map("default", "d");
    world.create(&owned_by(dependent.clone(), &[&made])).await;
    world.until_gone(&dependent).await;
    assert!(world.get(&map("default", "o")).await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_cannot_be_asked_about_is_not_missing() {
    let world = world().await;
    let mut made = world.create(&map("default", "o")).await;
    made.types.as_mut().unwrap().kind = "Nothing".into();
    let of_nothing = map("default", "unknown");
    world.create(&owned_by(of_nothing.clone(), &[&made])).await;
    // An object in no namespace cannot belong to one in a namespace.
    made.types.as_mut().unwrap().kind = "ConfigMap".into();
    let plant = thing("Plant", None, "p");
    world.create(&owned_by(plant.clone(), &[&made])).await;
    settle(&world).await;
    assert!(world.get(&of_nothing).await.is_some() && world.get(&plant).await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_the_foreground_dependents_go_first() {
    let world = world().await;
    let owner = map("default", "o");
    let made = world.create(&owner).await;
    let child = thing("Widget", Some("default"), "c");
    let child_made = world.create(&owned_by(held(child.clone(), "x.org/hold"), &[&made])).await;
    let grand = thing("Package", Some("default"), "g");
    world.create(&owned_by(grand.clone(), &[&child_made])).await;
    settle(&world).await;
    world.delete(&owner, Foreground).await;
    world.until_gone(&grand).await;
    world.until(&child, |found| found.is_some_and(|found| found.metadata.deletion_timestamp.is_some())).await;
    assert!(world.get(&owner).await.is_some(), "it waits for its child");
    world.patch(&child, &json!({"metadata": {"finalizers": null}})).await;
    world.until_gone(&owner).await;
    assert!(world.get(&child).await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn orphans_stay() {
    let world = world().await;
    let owner = thing("Plant", None, "o");
    let made = world.create(&owner).await;
    let dependents =
        [map("default", "d"), thing("Widget", Some("default"), "d"), thing("Package", Some("default"), "d")];
    for dependent in &dependents {
        world.create(&owned_by(dependent.clone(), &[&made])).await;
    }
    world.delete(&owner, Orphan).await;
    world.until_gone(&owner).await;
    settle(&world).await;
    for dependent in &dependents {
        assert_eq!(owners(&world.get(dependent).await.unwrap()), 0, "{dependent}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_happened_while_nobody_looked_is_made_up_for() {
    let mut world = world().await;
    let names = ["background", "foreground", "orphan"];
    let dependent = |name: &str| map("default", &format!("d-{name}"));
    for name in names {
        let made = world.create(&map("default", name)).await;
        world.create(&owned_by(dependent(name), &[&made])).await;
    }
    world.stop().await;
    for (name, policy) in names.into_iter().zip([Background, Foreground, Orphan]) {
        world.delete(&map("default", name), policy).await;
    }
    world.start();
    world.until_gone(&dependent("background")).await;
    world.until_gone(&dependent("foreground")).await;
    world.until_gone(&map("default", "foreground")).await;
    world.until_gone(&map("default", "orphan")).await;
    settle(&world).await;
    assert!(world.get(&dependent("orphan")).await.is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_dependents_of_one_owner_go() {
    let world = world().await;
    let owner = map("default", "o");
    let made = world.create(&owner).await;
    for number in 0..200 {
        world.create(&owned_by(map("default", &format!("d{number}")), &[&made])).await;
    }
    world.create(&namespace("other")).await;
    world.create(&map("other", "d0")).await;
    world.delete(&owner, Background).await;
    for number in 0..200 {
        world.until_gone(&map("default", &format!("d{number}"))).await;
    }
    assert!(world.get(&map("other", "d0")).await.is_some());
    let again: DynamicObject = serde_json::from_value(owner.clone()).unwrap();
    world.api(&owner).create(&PostParams::default(), &again).await.unwrap();
}
