//! Rules that hold also when two things happen at the same time.

use std::sync::Arc;

use lanai_engine::{Reason, Route, rows};
use lanai_store::{MemoryStore, Store};
use serde_json::{Value, json};

use crate::gated::Gated;
use crate::outside::outsider;
use crate::world::{CONFIG_MAP, World, caller};

fn clone_of(name: &str) -> Value {
    json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": name}}}})
}

async fn published(world: &World, package: &str) -> String {
    let name = format!("blueprints.{package}.v1");
    world.create("blueprints", package, "v1", Value::Null).await.expect("it is made");
    world.publish(&name).await;
    world.settled("blueprints").await;
    name
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_made_from_what_is_being_deleted() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let gate = Arc::new(Gated::new(inner, "pushes.engine.lanai"));
    let world = Arc::new(World::over(gate.clone()).await);
    let name = published(&world, "web").await;
    world.lifecycle(&name, Route::Main, "DeletionProposed").await.unwrap();
    world.settled("blueprints").await;
    // The deletion has looked who came from it, and is about to ask the remote.
    gate.arm();
    let deleting = {
        let (world, name) = (world.clone(), name.clone());
        tokio::spawn(async move { world.delete(&name).await })
    };
    gate.reached().await;
    let refused = world.create("blueprints", "copy", "v1", clone_of(&name)).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Conflict, "{refused}");
    assert!(refused.message.contains("it is being deleted"), "{refused}");
    assert!(world.get("blueprints.copy.v1").await.is_none());
    gate.open();
    deleting.await.unwrap().unwrap();
    let refused = world.create("blueprints", "copy", "v1", clone_of(&name)).await.unwrap_err();
    assert_eq!(refused.reason, Reason::NotFound, "{refused}");
    assert_eq!(world.rows("guards.engine.lanai").await, 1, "only that of new packages");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_the_remote_refuses_leaves_no_trace() {
    let world = World::new().await;
    let name = published(&world, "web").await;
    world.lifecycle(&name, Route::Main, "DeletionProposed").await.unwrap();
    world.settled("blueprints").await;
    // Somebody moves the tag, so that it is not the one that is to be deleted.
    let other = outsider(&world, "main", "other/readme.txt", "x");
    world.git("blueprints", &["tag", "-f", "web/v1", &other]);
    world.delete(&name).await.unwrap_err();
    world.create("blueprints", "copy", "v1", clone_of(&name)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_that_died_before_their_push_are_over() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let mut world = World::over(inner).await;
    let name = published(&world, "web").await;
    let key = rows::guard_key(&world.namespace, &name);
    world.store.create(key, rows::being_deleted()).await.unwrap();
    let refused = world.create("blueprints", "copy", "v1", clone_of(&name)).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Conflict);
    world.restart().await;
    world.create("blueprints", "copy", "v1", clone_of(&name)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_may_be_deleted_begins_to_be() {
    let world = World::new().await;
    let name = published(&world, "web").await;
    let end = |object: &mut Value| {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    };
    let refused = world.update(&name, Route::Main, end).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Forbidden);
    assert!(refused.message.contains("must be proposed for deletion"), "{refused}");
    world.create("fleet", "web", "a", clone_of(&name)).await.unwrap();
    world.lifecycle(&name, Route::Main, "DeletionProposed").await.unwrap();
    let refused = world.update(&name, Route::Main, end).await.unwrap_err();
    assert!(refused.message.contains("it is referenced as upstream by: fleet.web.a"), "{refused}");
    world.delete("fleet.web.a").await.unwrap();
    let ending = world.update(&name, Route::Main, end).await.unwrap();
    assert_eq!(ending.object["metadata"]["deletionTimestamp"], "2026-01-01T00:00:00Z");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_diverged_says_so_until_it_is_over() {
    let world = World::new().await;
    world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    world.settled("blueprints").await;
    // Both change it: the remote first, and here before anybody looked.
    let theirs = outsider(&world, "drafts/dns/v1", "dns/theirs.yaml", CONFIG_MAP);
    world.save("blueprints.dns.v1", json!({"ours.yaml": CONFIG_MAP})).await.unwrap();
    let diverged = |object: &Value| {
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|one| one["type"] == "Diverged")
    };
    let started = std::time::Instant::now();
    while diverged(&world.get("blueprints.dns.v1").await.unwrap()).is_none() {
        assert!(started.elapsed() < std::time::Duration::from_mins(1), "it never says so");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    // Neither a change of the object, which sends its conditions back, nor new content makes it forget.
    world
        .update("blueprints.dns.v1", Route::Main, |object| object["metadata"]["labels"] = json!({"a": "b"}))
        .await
        .unwrap();
    world
        .save("blueprints.dns.v1", json!({"more.yaml": CONFIG_MAP.replace("settings", "more")}))
        .await
        .unwrap();
    let object = world.get("blueprints.dns.v1").await.unwrap();
    let condition = diverged(&object).expect("it still says so");
    assert!(condition["message"].as_str().unwrap().contains(&theirs), "{condition}");
    let files = world.resources("blueprints.dns.v1").await["spec"]["resources"].clone();
    assert!(!files["Kptfile"].as_str().unwrap().contains("Diverged"), "{files}");
    world.lifecycle("blueprints.dns.v1", Route::Main, "Proposed").await.unwrap();
    for dry_run in [lanai_engine::DryRun::Yes, lanai_engine::DryRun::No] {
        let old = world.get("blueprints.dns.v1").await.unwrap();
        let mut new = old.clone();
        new["spec"]["lifecycle"] = json!("Published");
        let name = "blueprints.dns.v1".parse().unwrap();
        let asked = lanai_engine::Caller { dry_run, ..caller() };
        let refused = world.engine.update(&asked, &world.namespace, &name, Route::Approval, &old, new).await;
        assert_eq!(refused.unwrap_err().reason, Reason::Conflict, "{dry_run:?}");
    }
    // The branch of the others goes, and this one goes on.
    world.git("blueprints", &["update-ref", "-d", "refs/heads/drafts/dns/v1"]);
    world.sync("blueprints").await;
    assert!(diverged(&world.get("blueprints.dns.v1").await.unwrap()).is_none());
    world.lifecycle("blueprints.dns.v1", Route::Approval, "Published").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn generations_count_what_is_wanted_and_rehearsals_say_what_would_be() {
    let world = World::new().await;
    let generation = |object: &Value| object["metadata"]["generation"].as_i64().unwrap();
    let made = world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    assert_eq!(generation(&made), 1);
    world.save("blueprints.dns.v1", json!({"cm.yaml": CONFIG_MAP})).await.unwrap();
    assert_eq!(generation(&world.get("blueprints.dns.v1").await.unwrap()), 1, "its spec is the same");
    let files = world.resources("blueprints.dns.v1").await["spec"]["resources"].clone();
    let labelled =
        files["Kptfile"].as_str().unwrap().replace("metadata:\n", "metadata:\n  labels:\n    a: b\n");
    world.save("blueprints.dns.v1", json!({"Kptfile": labelled})).await.unwrap();
    let saved = world.get("blueprints.dns.v1").await.unwrap();
    assert_eq!(saved["spec"]["packageMetadata"]["labels"]["a"], "b");
    assert_eq!(generation(&saved), 2, "its spec says it now");
    world.lifecycle("blueprints.dns.v1", Route::Main, "Proposed").await.unwrap();
    let old = world.get("blueprints.dns.v1").await.unwrap();
    let mut new = old.clone();
    new["spec"]["lifecycle"] = json!("Published");
    let rehearsal = lanai_engine::Caller { dry_run: lanai_engine::DryRun::Yes, ..caller() };
    let name = "blueprints.dns.v1".parse().unwrap();
    let rehearsed =
        world.engine.update(&rehearsal, &world.namespace, &name, Route::Approval, &old, new).await;
    let rehearsed = rehearsed.unwrap().object;
    assert_eq!(rehearsed["spec"]["revision"], 1);
    assert_eq!(rehearsed["metadata"]["labels"]["kpt.dev/latest-revision"], "true");
    assert_eq!(world.get("blueprints.dns.v1").await.unwrap(), old, "it was a rehearsal");
    // Others publish it: what a look finds counts as well.
    world.settled("blueprints").await;
    let before = generation(&old);
    world.git("blueprints", &["tag", "dns/v1", "proposed/dns/v1"]);
    world.git("blueprints", &["update-ref", "-d", "refs/heads/proposed/dns/v1"]);
    world.sync("blueprints").await;
    let now = world.get("blueprints.dns.v1").await.unwrap();
    assert_eq!((now["spec"]["lifecycle"].as_str(), generation(&now)), (Some("Published"), before + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn content_of_no_revision_is_collected_and_that_of_drafts_never() {
    let world = World::new().await;
    let digests = |state: &lanai_engine::state::State| {
        let draft = state.draft().expect("a draft").clone();
        draft.unpushed.iter().map(|one| one.content).chain([draft.content]).collect::<Vec<_>>()
    };
    let state = async |name: &str| {
        let key = rows::state_key(&world.namespace, &name.parse().unwrap());
        rows::decode_state(&world.store.get(&key).await.unwrap().unwrap()).unwrap().value
    };
    world.register("quiet", json!({"draftPush": "none"})).await;
    let mut gone = Vec::new();
    // One that is deleted, one that fails, one whose versions all reached the remote.
    world.create("blueprints", "gone", "v1", Value::Null).await.unwrap();
    gone.extend(digests(&state("blueprints.gone.v1").await));
    world.delete("blueprints.gone.v1").await.unwrap();
    world.create("blueprints", "kept", "v1", Value::Null).await.unwrap();
    gone.extend(digests(&state("blueprints.kept.v1").await));
    let bad =
        json!({"Kptfile": crate::world::kptfile("kept", "pipeline:\n  mutators:\n  - image: no-such:v1\n")});
    world.save("blueprints.kept.v1", bad).await.unwrap_err();
    world.save("blueprints.kept.v1", json!({"cm.yaml": CONFIG_MAP})).await.unwrap();
    // One that the remote never gets, with all its versions.
    world.create("quiet", "mine", "v1", Value::Null).await.unwrap();
    for number in 0..3 {
        let text = CONFIG_MAP.replace("\"2\"", &format!("\"{number}\""));
        world.save("quiet.mine.v1", json!({"cm.yaml": text})).await.unwrap();
    }
    world.settled("blueprints").await;
    let mut kept = digests(&state("blueprints.kept.v1").await);
    kept.extend(digests(&state("quiet.mine.v1").await));
    assert_eq!(kept.len(), 1 + 5, "one version, and four with the newest one twice");
    world.store.compact(world.store.current().await.unwrap()).await.unwrap();
    for digest in gone {
        assert!(world.store.blob(&digest).await.unwrap().is_none(), "{digest} belongs to nothing");
    }
    for digest in kept {
        assert!(world.store.blob(&digest).await.unwrap().is_some(), "{digest} belongs to a draft");
    }
    assert_eq!(world.publish("quiet.mine.v1").await["spec"]["revision"], 1);
    let log = world.git("quiet", &["log", "--format=%s", "main"]);
    assert_eq!(log.lines().filter(|line| *line == "Rendering package").count(), 3, "{log}");
}
