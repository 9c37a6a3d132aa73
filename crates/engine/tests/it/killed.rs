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
use bytes::Bytes;
use lanai_engine::{Engine, Route};
use lanai_store::{
    Claim, Committed, Error, Fence, Filter, Key, Lease, ListRequest, MemoryStore, Page, Revision, Store,
    Stored, Transaction, Watch, WatchRequest,
};
use lanai_types::Sha256Digest;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::world::{CONFIG_MAP, World};

/// When a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Death {
    /// Before a write.
    Before,
    /// Behind it, before anybody knows.
    Behind,
}

/// A store as a process sees it that will die.
struct Mortal {
    inner: Arc<dyn Store>,
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
enum Between {
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
impl Store for Mortal {
    async fn current(&self) -> Result<Revision, Error> {
        self.inner.current().await
    }

    async fn get(&self, key: &Key) -> Result<Option<Stored>, Error> {
        if self.is_dead.load(Ordering::SeqCst) {
            self.die().await;
        }
        self.inner.get(key).await
    }

    async fn list(&self, request: &ListRequest) -> Result<Page, Error> {
        self.inner.list(request).await
    }

    async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        self.inner.count(filter).await
    }

    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        if !self.is_dead.load(Ordering::SeqCst) {
            self.look().await;
        }
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        match (left, self.death) {
            (Ok(left), _) if left > 0 && !self.is_dead.load(Ordering::SeqCst) => {
                self.inner.commit(transaction).await
            }
            (_, Death::Behind) if !self.is_dead.load(Ordering::SeqCst) => {
                let _ = self.inner.commit(transaction).await;
                self.die().await
            }
            _ => self.die().await,
        }
    }

    async fn watch(&self, request: WatchRequest) -> Result<Watch, Error> {
        self.inner.watch(request).await
    }

    async fn blob(&self, digest: &Sha256Digest) -> Result<Option<Bytes>, Error> {
        self.inner.blob(digest).await
    }

    async fn compact(&self, up_to: Revision) -> Result<Revision, Error> {
        self.inner.compact(up_to).await
    }

    async fn acquire(&self, claim: Claim) -> Result<Lease, Error> {
        self.inner.acquire(claim).await
    }

    async fn renew(&self, fence: &Fence, claim: Claim) -> Result<Lease, Error> {
        self.inner.renew(fence, claim).await
    }

    async fn release(&self, fence: &Fence) -> Result<(), Error> {
        self.inner.release(fence).await
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("threads")
}

/// The steps of a life; each is done by a process that may die.
const STEPS: [&str; 7] = ["create", "save", "propose", "publish", "mark", "delete", "vanish"];

const NAME: &str = "blueprints.dns.one";
const SHORT: &str = "blueprints.web.two";

async fn step(world: &World, name: &str) -> Result<(), lanai_engine::Error> {
    match name {
        "create" => world.create("blueprints", "dns", "one", Value::Null).await.map(|_| ()),
        "save" => world.save(NAME, json!({"cm.yaml": CONFIG_MAP})).await.map(|_| ()),
        "propose" => world.lifecycle(NAME, Route::Main, "Proposed").await.map(|_| ()),
        "publish" => world.lifecycle(NAME, Route::Approval, "Published").await.map(|_| ()),
        "mark" => world.lifecycle(NAME, Route::Main, "DeletionProposed").await.map(|_| ()),
        "delete" => world.delete(NAME).await,
        // A draft that is deleted while it is on its way to the remote.
        _ => {
            if world.get(SHORT).await.is_none() {
                world.create("blueprints", "web", "two", Value::Null).await?;
            }
            world.delete(SHORT).await
        }
    }
}

/// Whether a step is done, as clients see it.
async fn is_done(world: &World, name: &str) -> bool {
    let object = world.get("blueprints.dns.one").await;
    let lifecycle =
        object.as_ref().and_then(|object| object["spec"]["lifecycle"].as_str()).unwrap_or_default();
    match name {
        "create" => object.is_some(),
        "save" => world.resources("blueprints.dns.one").await["spec"]["resources"].get("cm.yaml").is_some(),
        "propose" => lifecycle == "Proposed",
        "publish" => lifecycle == "Published",
        "mark" => lifecycle == "DeletionProposed",
        "delete" => object.is_none(),
        _ => world.get(SHORT).await.is_none(),
    }
}

/// Everything up to a step is done; the step itself by a process that dies; the next process goes on from what it finds.
fn check(at: usize, writes: usize, death: Death, between: Between) -> bool {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let before = runtime();
    let world = before.block_on(async {
        let world = World::over(store.clone()).await;
        for name in &STEPS[..at] {
            step(&world, name).await.expect("it works");
        }
        world.settled("blueprints").await;
        world.engine.stop().await;
        world
    });
    drop(before);
    let name = STEPS[at];
    let mortal = Arc::new(Mortal {
        inner: store.clone(),
        left: AtomicUsize::new(writes),
        death,
        is_dead: AtomicBool::new(false),
        looks: match between {
            Between::Nothing => Looks::Never,
            Between::Looks => Looks::Between {
                engine: std::sync::OnceLock::new(),
                is_looking: AtomicBool::new(false),
                done: AtomicUsize::new(0),
            },
        },
    });
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
        let case = format!("{name}, {writes} writes, {death:?}, {between:?}");
        println!("{case}");
        let world = world.reopened(store.clone()).await;
        world.calm("blueprints").await;
        if answered == Some(true) {
            assert!(is_done(&world, name).await, "{case}: it was answered and is lost");
        }
        for name in &STEPS[at..] {
            if !is_done(&world, name).await {
                step(&world, name).await.unwrap_or_else(|error| unreachable!("{case}: {name}: {error}"));
            }
            if *name == "publish" {
                let object = world.get("blueprints.dns.one").await.expect("it is there");
                assert_eq!(object["spec"]["revision"], 1, "{case}");
                assert_eq!(object["metadata"]["labels"]["kpt.dev/latest-revision"], "true", "{case}");
                assert_eq!(
                    world.refs("blueprints").iter().filter(|name| name.starts_with("tags/")).count(),
                    1,
                    "{case}"
                );
                assert_eq!(
                    world.git("blueprints", &["show", "main:dns/cm.yaml"]),
                    CONFIG_MAP.trim(),
                    "{case}"
                );
            }
        }
        world.calm("blueprints").await;
        assert_eq!(
            world.sync("blueprints").await.changed,
            0,
            "{case}: the store and the remote say the same"
        );
        assert_eq!(world.refs("blueprints"), ["heads/main"], "{case}: nothing is left behind");
        assert_eq!(world.git("blueprints", &["fsck", "--strict", "--no-dangling"]), "", "{case}");
        assert_eq!(world.rows("pushes.engine.lanai").await, 0, "{case}: no note of a push is left");
    });
    has_died
}

fn check_all(between: Between) {
    for at in 0..STEPS.len() {
        for death in [Death::Before, Death::Behind] {
            let mut writes = 0;
            // As long as it dies, there is one more write to live to see.
            while check(at, writes, death, between) {
                writes += 1;
                assert!(writes < 60, "a step has an end");
            }
        }
    }
}

#[test]
fn no_step_is_lost_or_half_made_wherever_a_process_dies() {
    check_all(Between::Nothing);
}

#[test]
fn nor_when_somebody_looks_at_the_remote_between_every_two_steps() {
    check_all(Between::Looks);
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
    let mortal = Arc::new(Mortal {
        inner: store.clone(),
        left: AtomicUsize::new(2),
        death: Death::Before,
        is_dead: AtomicBool::new(false),
        looks: Looks::Never,
    });
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
