//! What waits for a remote gets there.

use std::sync::Arc;

use lanai_engine::state::{Life, Stage};
use lanai_engine::{OutboxReport, Reason, Route, outbox, rows};
use lanai_store::{MemoryStore, Transaction, Write};
use serde_json::{Value, json};

use crate::outside::outsider_in;
use crate::world::{World, git, kptfile, until};
use crate::wrapped::Wrapped;

async fn report(world: &World, repository: &str) -> OutboxReport {
    let name = repository.parse().expect("a name");
    world.engine.outbox(&world.namespace, &name).await.expect("the store answers")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_that_is_not_there_for_a_moment_gets_what_waits() {
    let world = World::new().await;
    let (folder, away) = (world.home.path().join("near.git"), world.home.path().join("away.git"));
    std::fs::create_dir(&folder).unwrap();
    git(&folder, &["init", "--quiet", "--bare", "--initial-branch=main"]);
    world.register_at("near", &format!("file://{}", folder.display()), json!({})).await;
    std::fs::rename(&folder, &away).unwrap();
    world.create("near", "dns", "v1", Value::Null).await.unwrap();
    until("it is said that it cannot be pushed", async || report(&world, "near").await.failure.is_some())
        .await;
    assert_eq!(report(&world, "near").await.pending, 1);
    // Whoever waits for the remote is not told that something else is not there.
    let proposed = world.lifecycle("near.dns.v1", Route::Main, "Proposed").await.unwrap();
    assert_eq!(proposed["spec"]["lifecycle"], "Proposed");
    let refused = world.lifecycle("near.dns.v1", Route::Approval, "Published").await.unwrap_err();
    assert_eq!(refused.reason, Reason::Unavailable, "{refused}");
    std::fs::rename(&away, &folder).unwrap();
    world.settled("near").await;
    assert!(git(&folder, &["for-each-ref"]).contains("refs/heads/proposed/dns/v1"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_at_a_remote_sends_what_waits_for_it() {
    let world = World::new().await;
    world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    world.settled("blueprints").await;
    // Something waits, and nobody was told.
    let key = rows::state_key(&world.namespace, &"blueprints.dns.v1".parse().unwrap());
    let stored = world.store.get(&key).await.unwrap().unwrap();
    let mut state = rows::decode_state(&stored).unwrap().value;
    let Life::Draft(draft) = &mut state.life else { unreachable!("it is a draft") };
    draft.stage = Stage::Proposed;
    let write = Write::Update { key, expected: stored.revision, object: state.to_object() };
    world.store.commit(write.into()).await.unwrap();
    assert_eq!(report(&world, "blueprints").await.pending, 1);
    world.sync("blueprints").await;
    world.settled("blueprints").await;
    assert!(world.refs("blueprints").contains(&"heads/proposed/dns/v1".to_owned()));
}

fn pushes(written: &[Transaction]) -> usize {
    let is_push =
        |write: &&Write| matches!(write, Write::Create { key, .. } if key.kind() == "pushes.engine.lanai");
    written.iter().flat_map(|transaction| &transaction.writes).filter(is_push).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn much_content_goes_in_parts_and_no_commit_is_lost() {
    let recorder = Arc::new(Wrapped::recording(Arc::new(MemoryStore::default())));
    let world = World::over(recorder.clone()).await;
    let third = usize::try_from(outbox::MAX_PART.get() / 3).unwrap();
    world.away("blueprints");
    world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    for letter in ["a", "b", "c", "d"] {
        world.save("blueprints.dns.v1", json!({"big.txt": letter.repeat(third)})).await.unwrap();
    }
    world.lifecycle("blueprints.dns.v1", Route::Main, "Proposed").await.unwrap();
    recorder.take();
    world.back("blueprints");
    world.settled("blueprints").await;
    // The small one with two of the others, and the rest, which moves it.
    assert_eq!(pushes(&recorder.take()), 2);
    let log = world.git("blueprints", &["log", "--format=%s", "main..proposed/dns/v1"]);
    assert_eq!(log.lines().count(), 5, "{log}");
    assert!(!world.refs("blueprints").contains(&"heads/drafts/dns/v1".to_owned()));
    assert_eq!(world.sync("blueprints").await.changed, 0);
    // The same while it is published.
    world.lifecycle("blueprints.dns.v1", Route::Approval, "Published").await.unwrap();
    world.away("blueprints");
    world.create("blueprints", "web", "v1", Value::Null).await.unwrap();
    for letter in ["a", "b", "c", "d"] {
        world.save("blueprints.web.v1", json!({"big.txt": letter.repeat(third)})).await.unwrap();
    }
    world.lifecycle("blueprints.web.v1", Route::Main, "Proposed").await.unwrap();
    world.back("blueprints");
    world.lifecycle("blueprints.web.v1", Route::Approval, "Published").await.unwrap();
    let log = world.git("blueprints", &["log", "--format=%s", "web/v1"]);
    assert_eq!(log.lines().filter(|line| *line == "Rendering package").count(), 8, "{log}");
    world.calm("blueprints").await;
    assert_eq!(world.refs("blueprints"), ["heads/main", "tags/dns/v1", "tags/web/v1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_writes_no_more_bytes_at_once_than_it_may() {
    let recorder = Arc::new(Wrapped::recording(Arc::new(MemoryStore::default())));
    let world = World::over(recorder.clone()).await;
    let most = lanai_engine::sync::MAX_BATCH.get();
    let each = usize::try_from(most * 2 / 5).unwrap();
    // Four drafts of one package, and two of others.
    let drafts = [("big", "a"), ("big", "b"), ("big", "c"), ("big", "d"), ("web", "e"), ("dns", "f")];
    for (package, workspace) in drafts {
        let branch = format!("drafts/{package}/{workspace}");
        let data = format!("{package}/data.txt");
        let file = format!("{package}/Kptfile");
        let text = kptfile(package, "");
        outsider_in(&world, "blueprints", ("main", &branch), &file, text.as_bytes());
        outsider_in(&world, "blueprints", (&branch, &branch), &data, workspace.repeat(each).as_bytes());
    }
    recorder.take();
    let report = world.sync("blueprints").await;
    assert!(report.changed >= 2 * drafts.len(), "{report:?}");
    for (package, workspace) in drafts {
        let files = world.resources(&format!("blueprints.{package}.{workspace}")).await;
        assert_eq!(files["spec"]["resources"]["data.txt"].as_str().map(str::len), Some(each));
    }
    let size =
        |written: &Transaction| written.blobs.iter().map(|blob| blob.content().len() as u64).sum::<u64>();
    let sizes: Vec<u64> = recorder.take().iter().map(size).collect();
    assert!(sizes.iter().all(|size| *size < most + 2 * each as u64), "{sizes:?}");
    assert_eq!(world.sync("blueprints").await.changed, 0);
}
