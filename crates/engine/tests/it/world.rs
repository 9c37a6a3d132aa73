//! A namespace with repositories of our own, and an engine.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use lanai_engine::state::State;
use lanai_engine::{Answer, Caller, DryRun, Engine, Error, Options, Readiness, Route, Runtime, rows};
use lanai_evaluate::Evaluator;
use lanai_repository::Environment;
use lanai_repository::packages::Settings;
use lanai_runner::{Native, NativeScope, functions};
use lanai_store::{Key, MemoryStore, Object, Store};
use lanai_types::{Namespace, ObjectName};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct World {
    pub(crate) home: TempDir,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) engine: Engine,
    pub(crate) namespace: Namespace,
}

pub(crate) const CONFIG_MAP: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  # how many\n  replicas: \"2\"\n";

async fn engine(home: &Path, store: Arc<dyn Store>) -> Engine {
    let native = Native::new(functions(), NativeScope::Catalog);
    engine_of(home, store, Arc::new(native), lanai_engine::rendering::MAX_RENDERS).await
}

async fn engine_of(
    home: &Path,
    store: Arc<dyn Store>,
    evaluator: Arc<dyn Evaluator>,
    max_renders: NonZeroUsize,
) -> Engine {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let git = lanai_repository::Options {
        cache: home.join("cache"),
        home: None,
        environment: Environment::from([("PATH".into(), path)]),
        limits: lanai_repository::Limits::DEFAULT,
        package_limits: lanai_types::Limits::DEFAULT,
    };
    let runtime = Runtime {
        evaluator,
        tags: Arc::new(()),
        image_prefix: "ghcr.io/kptdev/krm-functions-catalog".to_owned(),
        max_function_time: Duration::from_secs(20),
    };
    let options = Options {
        store,
        git,
        settings: Settings::new(home.join("own"), 7),
        runtimes: Arc::new(runtime),
        max_renders,
        readiness: Readiness::Enforced,
        clock: Arc::new(jiff::Timestamp::now),
    };
    Engine::start(options).await.expect("the engine starts")
}

impl World {
    /// With a repository `blueprints`, and one for deployments `fleet`.
    pub(crate) async fn new() -> Self {
        let world = Self::over(Arc::new(MemoryStore::default())).await;
        world.register("fleet", json!({"deployment": true})).await;
        world
    }

    /// With a repository `blueprints`, over a store.
    pub(crate) async fn over(store: Arc<dyn Store>) -> Self {
        Self::over_with(store, json!({})).await
    }

    /// The same with more in its spec.
    pub(crate) async fn over_with(store: Arc<dyn Store>, more: Value) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let engine = engine(home.path(), store.clone()).await;
        let world = Self { home, store, engine, namespace: "shop".parse().expect("a namespace") };
        world.register("blueprints", more).await;
        world
    }

    /// The same with another one who runs functions, so many pipelines at a time.
    pub(crate) async fn running(evaluator: Arc<dyn Evaluator>, max_renders: NonZeroUsize) -> Self {
        let (home, store) =
            (tempfile::tempdir().expect("a folder"), Arc::new(MemoryStore::default()) as Arc<dyn Store>);
        let engine = engine_of(home.path(), store.clone(), evaluator, max_renders).await;
        let world = Self { home, store, engine, namespace: "shop".parse().expect("a namespace") };
        world.register("blueprints", json!({})).await;
        world
    }

    /// Another process over the same folders, as it sees the store.
    pub(crate) async fn reopened(self, store: Arc<dyn Store>) -> Self {
        let Self { home, engine: before, namespace, .. } = self;
        // What is left of the one before is in another runtime, if there is still one.
        drop(before);
        let engine = engine(home.path(), store.clone()).await;
        Self { home, store, engine, namespace }
    }

    /// Waits until all is known and nothing is left to be pushed.
    pub(crate) async fn calm(&self, repository: &str) {
        let started = std::time::Instant::now();
        while self.rows("pushes.engine.lanai").await > 0 {
            assert!(started.elapsed() < Duration::from_mins(1), "pushes stay open");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        // A look at the remote finds what was not written down.
        while let Err(error) = self.engine.sync(&self.namespace, &repository.parse().expect("a name")).await {
            assert!(started.elapsed() < Duration::from_mins(1), "{error}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.settled(repository).await;
    }

    /// How many rows of a kind there are.
    pub(crate) async fn rows(&self, kind: &str) -> u64 {
        let kind = lanai_store::Kind::new(kind).expect("a kind");
        let filter = lanai_store::Filter::under(lanai_store::Prefix::kind(&kind));
        self.store.count(&filter).await.expect("the store answers")
    }

    pub(crate) async fn register(&self, name: &str, more: Value) {
        let branch = "main".parse().expect("a branch");
        let url = self.engine.git().create(&name.parse().expect("a name"), &branch).expect("it is made");
        self.register_at(name, &url.to_string(), more).await;
    }

    /// A repository that somebody else made.
    pub(crate) async fn register_at(&self, name: &str, url: &str, more: Value) {
        let mut object = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"type": "git", "git": {"repo": url, "branch": "main", "createBranch": true}},
        });
        for (key, value) in more.as_object().expect("an object") {
            match key.as_str() {
                "draftPush" => object["spec"]["git"][key] = value.clone(),
                _ => object["spec"][key] = value.clone(),
            }
        }
        let key = Key::new(&rows::REPOSITORY, "shop", name).expect("a key");
        self.store.create(key, Object::plain(object.to_string())).await.expect("it is stored");
        self.sync(name).await;
    }

    pub(crate) async fn sync(&self, repository: &str) -> lanai_engine::SyncReport {
        self.engine
            .sync(&self.namespace, &repository.parse().expect("a name"))
            .await
            .expect("it is looked at")
    }

    /// Another process over the same store and folders.
    pub(crate) async fn restart(&mut self) {
        self.engine.stop().await;
        self.engine = engine(self.home.path(), self.store.clone()).await;
    }

    pub(crate) async fn create(
        &self,
        repository: &str,
        package: &str,
        workspace: &str,
        task: Value,
    ) -> Result<Value, Error> {
        let mut object = json!({
            "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {"namespace": "shop"},
            "spec": {"repository": repository, "packageName": package, "workspaceName": workspace},
        });
        if !task.is_null() {
            object["spec"]["tasks"] = json!([task]);
        }
        self.create_object(object).await
    }

    pub(crate) async fn create_object(&self, object: Value) -> Result<Value, Error> {
        self.engine.create(&caller(), &self.namespace, object).await.map(|answer| answer.object)
    }

    pub(crate) async fn get(&self, name: &str) -> Option<Value> {
        let name: ObjectName = name.parse().expect("a name");
        let stored =
            self.store.get(&rows::revision_key(&self.namespace, &name)).await.expect("the store answers");
        stored.map(|stored| rows::decode(&stored).expect("an object"))
    }

    /// What the engine remembers of a revision.
    pub(crate) async fn state(&self, name: &str) -> Option<State> {
        let key = rows::state_key(&self.namespace, &name.parse().expect("a name"));
        let stored = self.store.get(&key).await.expect("the store answers");
        stored.map(|stored| rows::decode_state(&stored).expect("a state").value)
    }

    /// A condition of a revision.
    pub(crate) async fn condition(&self, name: &str, kind: &str) -> Option<Value> {
        let object = self.get(name).await.expect("it is there");
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|one| one["type"] == kind)
    }

    /// Moves the folder of a repository away, or back.
    pub(crate) fn away(&self, repository: &str) -> PathBuf {
        let away = self.home.path().join(format!("{repository}.away"));
        std::fs::rename(self.folder(repository), &away).expect("it is moved");
        away
    }

    pub(crate) fn back(&self, repository: &str) {
        let away = self.home.path().join(format!("{repository}.away"));
        std::fs::rename(away, self.folder(repository)).expect("it is moved back");
    }

    pub(crate) async fn resources(&self, name: &str) -> Value {
        let object = self.get(name).await.expect("it is there");
        self.engine.resources(&self.namespace, &object).await.expect("its content")
    }

    /// Changes files of a draft; null removes one.
    pub(crate) async fn save(&self, name: &str, files: Value) -> Result<Value, Error> {
        let old = self.resources(name).await;
        let mut new = old.clone();
        for (path, text) in files.as_object().expect("an object") {
            let resources = new["spec"]["resources"].as_object_mut().expect("an object");
            match text {
                Value::Null => _ = resources.shift_remove(path),
                text => _ = resources.insert(path.clone(), text.clone()),
            }
        }
        let name = name.parse().expect("a name");
        self.engine.save(&caller(), &self.namespace, &name, &old, &new).await.map(|answer| answer.object)
    }

    pub(crate) async fn update(
        &self,
        name: &str,
        route: Route,
        change: impl FnOnce(&mut Value),
    ) -> Result<Answer, Error> {
        let old = self.get(name).await.expect("it is there");
        let mut new = old.clone();
        change(&mut new);
        let name = name.parse().expect("a name");
        self.engine.update(&caller(), &self.namespace, &name, route, &old, new).await
    }

    pub(crate) async fn lifecycle(&self, name: &str, route: Route, lifecycle: &str) -> Result<Value, Error> {
        let changed = self.update(name, route, |object| object["spec"]["lifecycle"] = json!(lifecycle)).await;
        changed.map(|answer| answer.object)
    }

    pub(crate) async fn publish(&self, name: &str) -> Value {
        self.lifecycle(name, Route::Main, "Proposed").await.expect("it is proposed");
        self.lifecycle(name, Route::Approval, "Published").await.expect("it is published")
    }

    pub(crate) async fn delete(&self, name: &str) -> Result<(), Error> {
        let object = self.get(name).await.expect("it is there");
        let version = object["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
        self.engine.delete(&caller(), &self.namespace, &name.parse().expect("a name"), &version).await
    }

    /// Waits until nothing is left to be pushed.
    pub(crate) async fn settled(&self, repository: &str) {
        let name = repository.parse().expect("a name");
        let started = std::time::Instant::now();
        loop {
            let report = self.engine.outbox(&self.namespace, &name).await.expect("the store answers");
            if report.pending == 0 {
                return;
            }
            assert!(started.elapsed() < Duration::from_mins(1), "{report:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) fn folder(&self, repository: &str) -> PathBuf {
        self.home.path().join("own").join(format!("{repository}.git"))
    }

    pub(crate) fn git(&self, repository: &str, arguments: &[&str]) -> String {
        git(&self.folder(repository), arguments)
    }

    pub(crate) fn refs(&self, repository: &str) -> Vec<String> {
        let refs = self.git(repository, &["for-each-ref", "--format=%(refname)"]);
        refs.lines().map(|name| name.trim_start_matches("refs/").to_owned()).collect()
    }
}

/// Waits until something is so.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let started = std::time::Instant::now();
    while !is_so().await {
        assert!(started.elapsed() < Duration::from_mins(1), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn caller() -> Caller {
    Caller { user: "ann".to_owned(), dry_run: DryRun::No }
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    #[allow(clippy::disallowed_methods, reason = "the judge is git itself")]
    let output = Command::new("git")
        .current_dir(folder)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "Eve")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "eve@example.com")))
        .stdin(Stdio::null())
        .output()
        .expect("git starts");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A pipeline with one function.
pub(crate) fn kptfile(name: &str, pipeline: &str) -> String {
    format!("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: {name}\n{pipeline}")
}
