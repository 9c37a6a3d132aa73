//! How many pipelines run at the same time.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use lanai_evaluate::{Deadline, Error, Evaluator, Request, Response};
use lanai_runner::{Native, NativeScope, functions};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::world::{CONFIG_MAP, World, kptfile};

/// Runs functions of ours, each when it may.
struct Held {
    inner: Native,
    may: Arc<Semaphore>,
}

#[async_trait]
impl Evaluator for Held {
    async fn evaluate(&self, request: Request, deadline: &Deadline) -> Result<Response, Error> {
        tokio::select! {
            may = self.may.acquire() => may.expect("nobody closes it").forget(),
            () = deadline.cancel.cancelled() => return Err(Error::Cancelled),
        }
        self.inner.evaluate(request, deadline).await
    }
}

async fn until(world: &World, expected: (usize, usize)) {
    let started = Instant::now();
    while world.engine.renders() != expected {
        assert!(started.elapsed() < Duration::from_mins(1), "{:?}, not {expected:?}", world.engine.renders());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn so_many_pipelines_run_at_once_and_the_others_wait() {
    let may = Arc::new(Semaphore::new(0));
    let held = Held { inner: Native::new(functions(), NativeScope::Catalog), may: may.clone() };
    let world = World::running(Arc::new(held), NonZeroUsize::new(2).unwrap()).await;
    let world = Arc::new(world);
    let mut saves = Vec::new();
    for package in ["a", "b", "c", "d"] {
        world.create("blueprints", package, "v1", serde_json::Value::Null).await.unwrap();
    }
    for package in ["a", "b", "c", "d"] {
        let (world, name) = (world.clone(), format!("blueprints.{package}.v1"));
        let pipeline = "pipeline:\n  mutators:\n    - image: set-labels:latest\n      configMap: {a: b}\n";
        let files = json!({"Kptfile": kptfile(package, pipeline), "cm.yaml": CONFIG_MAP});
        let running = saves.len() + 1;
        saves.push(tokio::spawn({
            let world = world.clone();
            async move { world.save(&name, files).await }
        }));
        until(&world, (running.min(2), running.saturating_sub(2))).await;
    }
    // Who goes away while it waits makes room for nobody, and while it runs, for the next one.
    saves.pop().unwrap().abort();
    until(&world, (2, 1)).await;
    saves.remove(0).abort();
    until(&world, (2, 0)).await;
    may.add_permits(2);
    for save in saves {
        let answer = save.await.unwrap().unwrap();
        let text = answer["spec"]["resources"]["cm.yaml"].as_str().unwrap().to_owned();
        assert!(text.contains("a: b"), "{text}");
    }
    until(&world, (0, 0)).await;
    let before = world.resources("blueprints.a.v1").await;
    assert!(before["spec"]["resources"].get("cm.yaml").is_none(), "what was called off has left nothing");
}
