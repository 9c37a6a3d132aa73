//! Two things at the same time, one forced between two steps of the other.

use std::sync::Arc;

use lanai_engine::state::{Deletion, Life};
use lanai_engine::{OnlyHere, Reason, Route, rows};
use lanai_store::{Key, MemoryStore, Object, Store};
use serde_json::{Value, json};

use crate::gated::Gated;
use crate::outside::outsider_in;
use crate::world::{CONFIG_MAP, World, git, kptfile, until};

const REVISIONS: &str = "packagerevisions.porch.kpt.dev";

async fn gated(kind: &'static str) -> (Arc<Gated>, Arc<World>) {
    let gate = Arc::new(Gated::new(Arc::new(MemoryStore::default()), kind));
    let world = Arc::new(World::over(gate.clone()).await);
    (gate, world)
}

/// A published revision, and its name.
async fn published(world: &World) -> &'static str {
    world.create("blueprints", "web", "v1", Value::Null).await.expect("it is made");
    world.publish("blueprints.web.v1").await;
    world.settled("blueprints").await;
    "blueprints.web.v1"
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_made_in_a_repository_that_is_gone_meanwhile() {
    for is_gone in [false, true] {
        let (gate, world) = gated(REVISIONS).await;
        gate.arm();
        let making = tokio::spawn({
            let world = world.clone();
            async move { world.create("blueprints", "web", "v1", Value::Null).await }
        });
        gate.reached().await;
        // All that it needed was there, and it is about to be written.
        let key = Key::new(&rows::REPOSITORY, "shop", "blueprints").unwrap();
        let stored = world.store.get(&key).await.unwrap().unwrap();
        let mut object = rows::decode(&stored).unwrap();
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        let ending = Object::plain(object.to_string());
        world.store.update(key.clone(), stored.revision, ending).await.unwrap();
        let name = "blueprints".parse().unwrap();
        world.engine.unregister(&world.namespace, &name, OnlyHere::Keep).await.unwrap();
        if is_gone {
            let stored = world.store.get(&key).await.unwrap().unwrap();
            world.store.delete(key, stored.revision).await.unwrap();
        }
        gate.open();
        let refused = making.await.unwrap().unwrap_err();
        assert_eq!(refused.reason, Reason::NotFound, "{refused}");
        for kind in [REVISIONS, "states.engine.lanai", "packages.porch.kpt.dev"] {
            assert_eq!(world.rows(kind).await, 0, "{kind}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_outbox_wrote_of_a_mark_is_not_overwritten() {
    let marked = async |world: &World, name: &str| match world.state(name).await.unwrap().life {
        Life::Published(published) => published.marked,
        Life::Draft(_) | Life::Deleted(_) => unreachable!("it is published"),
    };
    let (gate, world) = gated(REVISIONS).await;
    let name = published(&world).await;
    let marks = || world.refs("blueprints").iter().filter(|one| one.contains("deletionProposed")).count();
    // The deletion is proposed, and rejected while the mark arrives; the other way round behind it.
    for (first, then, there) in [
        ("DeletionProposed", "Published", Deletion::Proposed),
        ("Published", "DeletionProposed", Deletion::Unproposed),
    ] {
        let route = |wanted: &str| if wanted == "Published" { Route::Approval } else { Route::Main };
        if first == "Published" {
            world.lifecycle(name, Route::Main, "DeletionProposed").await.unwrap();
            world.settled("blueprints").await;
        }
        world.away("blueprints");
        world.lifecycle(name, route(first), first).await.unwrap();
        gate.arm();
        let changing = tokio::spawn({
            let world = world.clone();
            async move { world.lifecycle(name, route(then), then).await }
        });
        gate.reached().await;
        world.back("blueprints");
        until("the mark before it arrives", async || marked(&world, name).await == there).await;
        gate.open();
        changing.await.unwrap().unwrap();
        world.settled("blueprints").await;
        assert_eq!(marks(), usize::from(then == "DeletionProposed"), "{then}");
        world.calm("blueprints").await;
        assert_eq!(world.get(name).await.unwrap()["spec"]["lifecycle"], then);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_publish_does_not_overwrite_what_is_not_pushed() {
    let world = World::new().await;
    let name = "blueprints.dns.v1";
    world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    world.settled("blueprints").await;
    let away = world.away("blueprints");
    world.save(name, json!({"ours.yaml": CONFIG_MAP})).await.unwrap();
    git(&away, &["tag", "dns/v1", "drafts/dns/v1"]);
    git(&away, &["update-ref", "-d", "refs/heads/drafts/dns/v1"]);
    world.back("blueprints");
    world.sync("blueprints").await;
    assert!(world.condition(name, "Diverged").await.is_some(), "{:?}", world.get(name).await);
    assert_eq!(world.resources(name).await["spec"]["resources"]["ours.yaml"], CONFIG_MAP);
    assert_eq!(world.sync("blueprints").await.changed, 0, "it is said once");
    world.lifecycle(name, Route::Main, "Proposed").await.unwrap();
    let refused = world.lifecycle(name, Route::Approval, "Published").await.unwrap_err();
    assert_eq!(refused.reason, Reason::Conflict);
    // Whoever deletes the draft takes what the others published.
    world.delete(name).await.unwrap();
    world.settled("blueprints").await;
    world.sync("blueprints").await;
    let theirs = world.get(name).await.unwrap();
    assert_eq!(
        (theirs["spec"]["lifecycle"].as_str(), theirs["spec"]["revision"].as_i64()),
        (Some("Published"), Some(1))
    );
    // The same with one that the remote never got.
    world.register("quiet", json!({"draftPush": "none"})).await;
    world.create("quiet", "dns", "v1", Value::Null).await.unwrap();
    let theirs = outsider_in(&world, "quiet", ("main", "main"), "dns/Kptfile", kptfile("dns", "").as_bytes());
    world.git("quiet", &["tag", "dns/v1", &theirs]);
    world.sync("quiet").await;
    assert!(world.condition("quiet.dns.v1", "Diverged").await.is_some());
    world.git("quiet", &["tag", "-d", "dns/v1"]);
    world.sync("quiet").await;
    assert!(world.condition("quiet.dns.v1", "Diverged").await.is_none(), "it goes on");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_whose_effects_cannot_be_written_is_not_forgotten() {
    let (gate, world) = gated(REVISIONS).await;
    let name = "blueprints.web.v1";
    world.create("blueprints", "web", "v1", Value::Null).await.unwrap();
    world.lifecycle(name, Route::Main, "Proposed").await.unwrap();
    world.settled("blueprints").await;
    gate.fail();
    let unknown = world.lifecycle(name, Route::Approval, "Published").await.unwrap_err();
    assert_eq!(unknown.reason, Reason::Unknown, "{unknown}");
    assert!(world.refs("blueprints").contains(&"tags/web/v1".to_owned()), "the remote has it");
    assert_eq!(world.rows("pushes.engine.lanai").await, 1, "the note of the push stays");
    let refused = world.save(name, json!({"cm.yaml": CONFIG_MAP})).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Conflict, "{refused}");
    gate.mend();
    let lifecycle = async || world.get(name).await.map(|object| object["spec"]["lifecycle"].clone());
    until("it is found out", async || lifecycle().await == Some(json!("Published"))).await;
    until("the note goes", async || world.rows("pushes.engine.lanai").await == 0).await;
    until("it takes changes", async || world.lifecycle(name, Route::Main, "DeletionProposed").await.is_ok())
        .await;
    assert_eq!(world.condition(name, "Publishing").await, None);
    world.settled("blueprints").await;
    gate.fail();
    let unknown = world.delete(name).await.unwrap_err();
    assert_eq!(unknown.reason, Reason::Unknown, "{unknown}");
    assert!(!world.refs("blueprints").contains(&"tags/web/v1".to_owned()), "the remote has done it");
    gate.mend();
    until("it is found out", async || world.get(name).await.is_none()).await;
    until("the note goes", async || world.rows("pushes.engine.lanai").await == 0).await;
    assert_eq!(world.rows("guards.engine.lanai").await, 1, "only that of new packages");
}

/// The remote has done it, and those who wait for it have not written it down: a look in between takes nothing over.
#[tokio::test(flavor = "multi_thread")]
async fn a_look_leaves_alone_what_is_on_its_way() {
    let (gate, world) = gated(REVISIONS).await;
    let name = published(&world).await;
    world.lifecycle(name, Route::Main, "DeletionProposed").await.unwrap();
    world.settled("blueprints").await;
    let before = world.get(name).await.unwrap();
    gate.arm();
    let deleting = tokio::spawn({
        let world = world.clone();
        async move { world.delete(name).await }
    });
    gate.reached().await;
    assert!(!world.refs("blueprints").contains(&"tags/web/v1".to_owned()), "the remote has done it");
    world.sync("blueprints").await;
    assert_eq!(world.get(name).await, Some(before));
    gate.open();
    deleting.await.unwrap().unwrap();
    assert_eq!(world.get(name).await, None);
    assert_eq!(world.rows("guards.engine.lanai").await, 1, "only that of new packages");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_that_finds_something_gone_ends_its_deletion() {
    let world = World::new().await;
    let name = published(&world).await;
    let key = rows::guard_key(&world.namespace, name);
    world.store.create(key.clone(), rows::being_deleted()).await.unwrap();
    world.git("blueprints", &["tag", "-d", "web/v1"]);
    world.sync("blueprints").await;
    assert!(world.get(name).await.is_none());
    assert_eq!(world.store.get(&key).await.unwrap(), None, "nobody deletes it any more");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_no_push_holds_up_nothing() {
    let mut world = World::new().await;
    let bad = Key::new(&rows::PUSH, "shop", "bad").unwrap();
    world.store.create(bad, Object::plain("no push")).await.unwrap();
    world.restart().await;
    let name = published(&world).await;
    assert_eq!(world.get(name).await.unwrap()["spec"]["revision"], 1);
    assert_eq!(world.rows("pushes.engine.lanai").await, 1, "somebody may want to look at it");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_made_anew_knows_what_was_on_its_way_of_the_one_before() {
    let inner: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let gate = Arc::new(Gated::new(inner.clone(), "states.engine.lanai"));
    let world = World::over(gate.clone()).await;
    let name = "blueprints.web.v1";
    world.away("blueprints");
    world.create("blueprints", "web", "v1", Value::Null).await.unwrap();
    gate.arm();
    world.back("blueprints");
    // The remote has it, and it is about to be written down. It is deleted and made anew meanwhile, and the process dies.
    gate.reached().await;
    world.delete(name).await.unwrap();
    let init = json!({"type": "init", "init": {"description": "another one"}});
    world.create("blueprints", "web", "v1", init).await.unwrap();
    let world = world.reopened(inner).await;
    world.calm("blueprints").await;
    assert_eq!(world.condition(name, "Diverged").await, None, "nobody else changed it");
    let file = world.git("blueprints", &["show", "drafts/web/v1:web/Kptfile"]);
    assert!(file.contains("another one"), "{file}");
    world.publish(name).await;
    world.calm("blueprints").await;
    assert_eq!(world.refs("blueprints"), ["heads/main", "tags/web/v1"]);
}
