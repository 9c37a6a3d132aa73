//! A process that dies between any two steps: the next one finishes or undoes what was begun.
//!
//! A process is an engine in a runtime of its own. It dies when the store is asked for a write that it will not live to see, or whose answer it will not
//! see: from then on nothing of it moves, and the runtime is thrown away.
//!
//! The same once more with a look at the remote forced before each write, so between every two steps: what it finds must be what the step
//! goes on to write, and never undo or double it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use lanai_engine::{Engine, OnlyHere, Route, rows};
use lanai_store::{Committed, Error, Key, MemoryStore, Object, Store, Transaction};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::world::{CONFIG_MAP, World};
use crate::wrapped::{Between, Wrapped};

/// When a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    /// Before a write.
    Before,
    /// Behind it, before anybody knows.
    Behind,
}

/// A process that will die, as the store sees it.
struct Mortal {
    /// How many writes it lives to see.
    left: AtomicUsize,
    death: Death,
    is_dead: AtomicBool,
    looks: Looks,
}

/// Who looks at the remote between the steps.
enum Looks {
    /// Nobody.
    Never,
    /// The engine itself, before each write that is not part of looking.
    Between { engine: std::sync::OnceLock<Engine>, is_looking: AtomicBool, done: AtomicUsize },
}

/// Whether somebody looks at the remote between the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    Nothing,
    Looks,
}

impl Mortal {
    async fn die(&self) -> ! {
        self.is_dead.store(true, Ordering::SeqCst);
        std::future::pending().await
    }

    /// Looks at the remote to the end.
    async fn look(&self) {
        let Looks::Between { engine, is_looking, done } = &self.looks else { return };
        let Some(engine) = engine.get() else { return };
        if is_looking.swap(true, Ordering::SeqCst) {
            return;
        }
        let (namespace, repository) =
            ("shop".parse().expect("a name"), "blueprints".parse().expect("a name"));
        let looked = engine.sync(&namespace, &repository);
        // The look may be one that waits for a look: then it is that one that goes on.
        let looked = tokio::time::timeout(Duration::from_secs(5), looked).await;
        match looked {
            Ok(Ok(_)) => _ = done.fetch_add(1, Ordering::SeqCst),
            Ok(Err(error)) => assert_eq!(error.reason, lanai_engine::Reason::Overtaken, "{error}"),
            Err(_) => {}
        }
        is_looking.store(false, Ordering::SeqCst);
    }
}

#[async_trait]
impl Between for Mortal {
    async fn read(&self) {
        if self.is_dead.load(Ordering::SeqCst) {
            self.die().await;
        }
    }

    async fn commit(&self, store: &dyn Store, transaction: Transaction) -> Result<Committed, Error> {
        if !self.is_dead.load(Ordering::SeqCst) {
            self.look().await;
        }
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match (left, self.death) {
            (Ok(left), _) if left > 0 && !self.is_dead.load(Ordering::SeqCst) => {
                store.commit(transaction).await
            }
            (_, Death::Behind) if !self.is_dead.load(Ordering::SeqCst) => {
                let _ = store.commit(transaction).await;
                self.die().await
            }
            _ => self.die().await,
        }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads")
}

/// A life of packages; each step from one on is done by a process that may die.
#[derive(Debug, Clone, Copy)]
struct Life {
    push: &'static str,
    steps: &'static [&'static str],
    from: usize,
}

const WHOLE: Life = Life {
    push: "async",
    steps: &["create", "save", "propose", "publish", "mark", "delete", "vanish"],
    from: 0,
};
/// Steps back, copies, other ways to push, and the end of a repository.
const OTHERS: [Life; 7] = [
    Life { push: "async", steps: &["create", "save", "propose", "reject"], from: 3 },
    Life { push: "async", steps: &["create", "save", "propose", "publish", "mark", "unmark"], from: 5 },
    Life { push: "async", steps: &["create", "save", "propose", "publish", "edit", "clone"], from: 4 },
    Life {
        push: "async",
        steps: &[
            "create",
            "save",
            "propose",
            "publish",
            "clone",
            "publish-clone",
            "edit",
            "publish-edit",
            "upgrade",
        ],
        from: 8,
    },
    Life { push: "sync", steps: &["create", "save", "propose", "publish"], from: 0 },
    Life { push: "none", steps: &["create", "save", "propose", "publish"], from: 0 },
    Life { push: "async", steps: &["create", "save", "propose", "publish", "edit", "unregister"], from: 5 },
];

const NAME: &str = "blueprints.dns.one";
const EDITED: &str = "blueprints.dns.two";
const CLONED: &str = "blueprints.web.one";
const UPGRADED: &str = "blueprints.web.two";
const SHORT: &str = "blueprints.web.short";

async fn step(world: &World, name: &str) -> Result<(), lanai_engine::Error> {
    match name {
        "create" => world.create("blueprints", "dns", "one", Value::Null).await.map(drop),
        "save" => world.save(NAME, json!({"cm.yaml": CONFIG_MAP})).await.map(drop),
        "propose" => world.lifecycle(NAME, Route::Main, "Proposed").await.map(drop),
        "reject" => world.lifecycle(NAME, Route::Approval, "Draft").await.map(drop),
        "publish" | "unmark" => world.lifecycle(NAME, Route::Approval, "Published").await.map(drop),
        "mark" => world.lifecycle(NAME, Route::Main, "DeletionProposed").await.map(drop),
        "delete" => world.delete(NAME).await,
        "edit" => {
            let task = json!({"type": "edit", "edit": {"sourceRef": {"name": NAME}}});
            world.create("blueprints", "dns", "two", task).await.map(drop)
        }
        "clone" => {
            let task = json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": NAME}}}});
            world.create("blueprints", "web", "one", task).await.map(drop)
        }
        "publish-clone" => {
            world.publish(CLONED).await;
            Ok(())
        }
        "publish-edit" => {
            world.save(EDITED, json!({"cm.yaml": CONFIG_MAP.replace("\"2\"", "\"3\"")})).await?;
            world.publish(EDITED).await;
            Ok(())
        }
        "upgrade" => {
            let task = json!({"type": "upgrade", "upgrade": {
                "oldUpstreamRef": {"name": NAME}, "newUpstreamRef": {"name": EDITED},
                "localPackageRevisionRef": {"name": CLONED},
            }});
            world.create("blueprints", "web", "two", task).await.map(drop)
        }
        "unregister" => unregister(world).await,
        // A draft that is deleted while it is on its way to the remote.
        _ => {
            if world.get(SHORT).await.is_none() {
                world.create("blueprints", "web", "short", Value::Null).await?;
            }
            world.delete(SHORT).await
        }
    }
}

/// The Repository is deleted, as its controller does it.
async fn unregister(world: &World) -> Result<(), lanai_engine::Error> {
    let key = Key::new(&rows::REPOSITORY, "shop", "blueprints").expect("a key");
    let Some(stored) = world.store.get(&key).await? else { return Ok(()) };
    let mut object = rows::decode(&stored)?;
    if !object["metadata"]["deletionTimestamp"].is_string() {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        world.store.update(key.clone(), stored.revision, Object::plain(object.to_string())).await?;
    }
    let name = "blueprints".parse().expect("a name");
    world.engine.unregister(&world.namespace, &name, OnlyHere::Keep).await?;
    let stored = world.store.get(&key).await?.expect("it is there until now");
    world.store.delete(key, stored.revision).await?;
    Ok(())
}

async fn is_registered(world: &World) -> bool {
    world.rows(rows::REPOSITORIES).await > 0
}

/// Waits until all is known and pushed.
async fn calm(world: &World) {
    if is_registered(world).await {
        world.calm("blueprints").await;
    }
}

/// Whether a step is done, as clients see it.
async fn is_done(world: &World, name: &str) -> bool {
    let object = world.get(NAME).await;
    let lifecycle =
        object.as_ref().and_then(|object| object["spec"]["lifecycle"].as_str()).unwrap_or_default();
    let replicas = async |name: &str| {
        let files = world.resources(name).await["spec"]["resources"].clone();
        files["cm.yaml"].as_str().unwrap_or_default().to_owned()
    };
    match name {
        "create" => object.is_some(),
        "save" => world.resources(NAME).await["spec"]["resources"].get("cm.yaml").is_some(),
        "propose" => lifecycle == "Proposed",
        "reject" => lifecycle == "Draft",
        "publish" | "unmark" => lifecycle == "Published",
        "mark" => lifecycle == "DeletionProposed",
        "delete" => object.is_none(),
        "edit" => world.get(EDITED).await.is_some() && replicas(EDITED).await == CONFIG_MAP,
        "clone" => world.get(CLONED).await.is_some() && replicas(CLONED).await.contains("replicas: \"2\""),
        "upgrade" => {
            world.get(UPGRADED).await.is_some() && replicas(UPGRADED).await.contains("replicas: \"3\"")
        }
        "unregister" => !is_registered(world).await,
        _ => world.get(SHORT).await.is_none(),
    }
}

/// The refs behind a life in which nobody dies.
fn undisturbed(life: Life) -> Vec<String> {
    runtime().block_on(async {
        let store = Arc::new(MemoryStore::default());
        let world = World::over_with(store, json!({"draftPush": life.push})).await;
        for name in life.steps {
            step(&world, name).await.expect("it works");
            world.settled("blueprints").await;
        }
        calm(&world).await;
        world.refs("blueprints")
    })
}

/// What is published is what was saved, once.
async fn check_published(world: &World, case: &str) {
    let object = world.get("blueprints.dns.one").await.expect("it is there");
    assert_eq!(object["spec"]["revision"], 1, "{case}");
    assert_eq!(object["metadata"]["labels"]["kpt.dev/latest-revision"], "true", "{case}");
    assert_eq!(world.refs("blueprints").iter().filter(|name| name.starts_with("tags/")).count(), 1, "{case}");
    assert_eq!(world.git("blueprints", &["show", "main:dns/cm.yaml"]), CONFIG_MAP.trim(), "{case}");
}

/// Everything up to a step is done; the step itself by a process that dies; the next process goes on from what it finds.
fn check(life: Life, at: usize, writes: usize, death: Death, between: Meanwhile, refs: &[String]) -> bool {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let before = runtime();
    let world = before.block_on(async {
        let world = World::over_with(store.clone(), json!({"draftPush": life.push})).await;
        for name in &life.steps[..at] {
            step(&world, name).await.expect("it works");
        }
        world.settled("blueprints").await;
        world.engine.stop().await;
        world
    });
    drop(before);
    let name = life.steps[at];
    let mortal = Mortal {
        left: AtomicUsize::new(writes),
        death,
        is_dead: AtomicBool::new(false),
        looks: match between {
            Meanwhile::Nothing => Looks::Never,
            Meanwhile::Looks => Looks::Between {
                engine: std::sync::OnceLock::new(),
                is_looking: AtomicBool::new(false),
                done: AtomicUsize::new(0),
            },
        },
    };
    let mortal = Arc::new(Wrapped { inner: store.clone(), between: mortal });
    let dying = runtime();
    let (world, answered) = dying.block_on(async {
        let world = world.reopened(mortal.clone()).await;
        if let Looks::Between { engine, .. } = &mortal.looks {
            let _ = engine.set(world.engine.clone());
        }
        let answered = tokio::select! {
            answer = step(&world, name) => Some(answer.is_ok()),
            () = async { while !mortal.is_dead.load(Ordering::SeqCst) { tokio::time::sleep(Duration::from_millis(1)).await } } => None,
        };
        if answered.is_some() {
            // It lived to answer; what follows the answer may still die.
            let wait = tokio::time::timeout(Duration::from_secs(20), world.settled("blueprints"));
            let dead = async { while !mortal.is_dead.load(Ordering::SeqCst) { tokio::time::sleep(Duration::from_millis(1)).await } };
            tokio::select! { _ = wait => {}, () = dead => {} }
        }
        (world, answered)
    });
    let has_died = mortal.is_dead.load(Ordering::SeqCst);
    if let Looks::Between { done, .. } = &mortal.looks {
        let done = done.load(Ordering::SeqCst);
        // A look of another part of the same process may stand in the way of some.
        assert!(done * 2 > writes, "{done} looks between {writes} writes of {name}");
    }
    dying.shutdown_background();
    let after = runtime();
    after.block_on(async {
        let case = format!("{name}, {}, {writes} writes, {death:?}, {between:?}", life.push);
        println!("{case}");
        let world = world.reopened(store.clone()).await;
        if answered == Some(true) && life.push == "sync" {
            let there = world.refs("blueprints");
            let is_there = there.iter().any(|one| one.contains("dns/one") || one.starts_with("tags/dns/"));
            assert!(is_there, "{case}: it was answered and the remote lacks it: {there:?}");
        }
        calm(&world).await;
        if answered == Some(true) {
            assert!(is_done(&world, name).await, "{case}: it was answered and is lost");
        }
        for name in &life.steps[at..] {
            if !is_done(&world, name).await {
                step(&world, name).await.unwrap_or_else(|error| unreachable!("{case}: {name}: {error}"));
            }
            if *name == "publish" {
                check_published(&world, &case).await;
            }
        }
        calm(&world).await;
        if is_registered(&world).await {
            assert_eq!(
                world.sync("blueprints").await.changed,
                0,
                "{case}: the store and the remote say the same"
            );
        } else {
            for kind in [rows::REVISIONS, rows::PACKAGES, "states.engine.lanai", "numbers.engine.lanai"] {
                assert_eq!(world.rows(kind).await, 0, "{case}: {kind} are left behind");
            }
        }
        assert_eq!(world.refs("blueprints"), refs, "{case}: as if nobody had died");
        assert_eq!(world.git("blueprints", &["fsck", "--strict", "--no-dangling"]), "", "{case}");
        assert_eq!(world.rows("pushes.engine.lanai").await, 0, "{case}: no note of a push is left");
    });
    has_died
}

fn check_all(life: Life, between: Meanwhile) {
    let refs = undisturbed(life);
    for at in life.from..life.steps.len() {
        for death in [Death::Before, Death::Behind] {
            let mut writes = 0;
            // As long as it dies, there is one more write to live to see.
            while check(life, at, writes, death, between, &refs) {
                writes += 1;
                assert!(writes < 60, "a step has an end");
            }
        }
    }
}

#[test]
fn no_step_is_lost_or_half_made_wherever_a_process_dies() {
    check_all(WHOLE, Meanwhile::Nothing);
}

#[test]
fn nor_when_somebody_looks_at_the_remote_between_every_two_steps() {
    check_all(WHOLE, Meanwhile::Looks);
}

#[test]
fn nor_is_a_step_back_a_copy_another_way_to_push_or_the_end_of_a_repository() {
    for life in OTHERS {
        check_all(life, Meanwhile::Nothing);
    }
}

#[test]
fn nor_one_of_these_when_somebody_looks_at_the_remote_between_every_two_steps() {
    for life in OTHERS {
        check_all(life, Meanwhile::Looks);
    }
}

/// A push of which nobody knows what became of it, and a remote that cannot be asked: it is said on the revision, which refuses changes, until it is known.
#[test]
fn what_is_in_doubt_after_a_restart_says_so() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let before = runtime();
    let world = before.block_on(async {
        let world = World::over(store.clone()).await;
        step(&world, "create").await.expect("it works");
        world.settled("blueprints").await;
        world.engine.stop().await;
        world
    });
    drop(before);
    // It dies behind the note of the push of a new version.
    let mortal = Mortal {
        left: AtomicUsize::new(2),
        death: Death::Before,
        is_dead: AtomicBool::new(false),
        looks: Looks::Never,
    };
    let mortal = Arc::new(Wrapped { inner: store.clone(), between: mortal });
    let dying = runtime();
    let world = dying.block_on(async {
        let world = world.reopened(mortal.clone()).await;
        step(&world, "save").await.expect("it is answered before it is pushed");
        while !mortal.is_dead.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        world
    });
    dying.shutdown_background();
    let (folder, away) = (world.folder("blueprints"), world.home.path().join("away.git"));
    std::fs::rename(&folder, &away).expect("it is moved");
    runtime().block_on(async {
        let world = world.reopened(store.clone()).await;
        assert_eq!(world.rows("pushes.engine.lanai").await, 1, "there is a note of a push");
        let publishing = async || {
            let object = world.get(NAME).await.expect("it is there");
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.into_iter().find(|one| one["type"] == "Publishing")
        };
        let started = std::time::Instant::now();
        while publishing().await.is_none() {
            assert!(started.elapsed() < Duration::from_mins(1), "it never says so");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(publishing().await.expect("a condition")["status"], "Unknown");
        let refused = world.lifecycle(NAME, Route::Main, "Proposed").await.expect_err("nobody knows");
        assert_eq!(refused.reason, lanai_engine::Reason::Conflict);
        std::fs::rename(&away, &folder).expect("it is moved back");
        world.calm("blueprints").await;
        assert_eq!(publishing().await, None, "it is known");
        world.lifecycle(NAME, Route::Main, "Proposed").await.expect("it takes changes again");
        world.calm("blueprints").await;
        assert!(world.git("blueprints", &["show", "proposed/dns/one:dns/cm.yaml"]).contains("replicas"));
    });
}
