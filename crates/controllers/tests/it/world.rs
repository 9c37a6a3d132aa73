//! A server in memory, with its controllers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, Patch, PatchParams, PostParams, PropagationPolicy,
};
use kube::runtime::wait::await_condition;
use kube::{Api, Client};
use lanai_apiserver::{
    ApiServer, Authentication, Backing, Identity, Limits, Registered, Registry, Status, Virtual,
    VirtualWrite, Written,
};
use lanai_controllers::function_config::FunctionConfigs;
use lanai_controllers::{Kind, Options};
use lanai_store::{MemoryStore, Store, Write};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Nothing here takes longer on a machine that works.
const PATIENCE: Duration = Duration::from_secs(20);

pub struct World {
    pub client: Client,
    pub remote: Arc<Remote>,
    /// The functions that were taken over last.
    pub functions: Arc<Mutex<Option<Vec<Value>>>>,
    options: Arc<dyn Fn() -> Options + Send + Sync>,
    stop: CancellationToken,
    running: tokio::task::JoinHandle<()>,
}

/// What packages stand for in these tests: a virtual kind whose objects are elsewhere as well.
pub struct Remote {
    store: Arc<dyn Store>,
    /// What was deleted elsewhere.
    pub deleted: Mutex<Vec<String>>,
    /// Namespaces that were unregistered.
    pub unregistered: Mutex<Vec<String>>,
}

#[async_trait]
impl Virtual for Remote {
    async fn create(&self, write: VirtualWrite, object: Value) -> Result<Written, Status> {
        self.write(&write, object).await.map(Written::from)
    }

    async fn update(&self, write: VirtualWrite, _: Value, new: Value) -> Result<Written, Status> {
        self.write(&write, new).await.map(Written::from)
    }

    async fn delete(&self, write: VirtualWrite, _: Value) -> Result<(), Status> {
        self.remove(&write.key).await?;
        self.deleted.lock().unwrap().push(write.key.name().to_owned());
        Ok(())
    }

    async fn unregister(&self, namespace: &str) -> Result<(), Status> {
        let filter = lanai_store::Filter::under(lanai_store::Prefix::kind(&rows()));
        for stored in self.store.list(&lanai_store::ListRequest::all(filter)).await?.items {
            if stored.key.namespace() == namespace {
                self.remove(&stored.key).await?;
            }
        }
        self.unregistered.lock().unwrap().push(namespace.to_owned());
        Ok(())
    }
}

fn rows() -> lanai_store::Kind {
    lanai_store::Kind::new("packages.shop.example").unwrap()
}

impl Remote {
    async fn write(&self, write: &VirtualWrite, object: Value) -> Result<Value, Status> {
        let row = lanai_apiserver::row::encode(object.clone(), &[].into(), lanai_store::Protection::Plain);
        let key = write.key.clone();
        let write = match self.store.get(&key).await? {
            Some(old) => Write::Update { key, expected: old.revision, object: row },
            None => Write::Create { key, object: row },
        };
        let revision = self.store.commit(write.into()).await?.revisions[0];
        let mut object = object;
        object["metadata"]["resourceVersion"] = json!(revision.to_string());
        Ok(object)
    }

    async fn remove(&self, key: &lanai_store::Key) -> Result<(), Status> {
        let Some(old) = self.store.get(key).await? else { return Ok(()) };
        self.store.commit(Write::Delete { key: key.clone(), expected: old.revision }.into()).await?;
        Ok(())
    }
}

/// A definition of a kind, as users write it.
pub fn definition(plural: &str, kind: &str, scope: &str) -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.shop.example")},
        "spec": {"group": "shop.example", "scope": scope, "names": {"plural": plural, "kind": kind},
                 "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

impl World {
    pub async fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(lanai_store::Limits::default()));
        let remote = Arc::new(Remote {
            store: store.clone(),
            deleted: Mutex::default(),
            unregistered: Mutex::default(),
        });
        let mut registry = Registry::default();
        for info in lanai_api::kinds::all() {
            let is_kept = info.allows(lanai_api::Verb::Get);
            let backing = if is_kept { Backing::Stored } else { Backing::Answered };
            registry.insert(Registered::new(info.clone(), backing).unwrap());
        }
        let package = lanai_api::crd::kind(&definition("packages", "Package", "Namespaced")).unwrap();
        registry.insert(Registered::new(Arc::new(package), Backing::Virtual(remote.clone())).unwrap());
        let kinds: Vec<Kind> = registry
            .all()
            .filter_map(|kind| {
                let backing = match kind.backing {
                    Backing::Virtual(_) => lanai_controllers::Backing::Virtual,
                    Backing::Stored | Backing::Answered => lanai_controllers::Backing::Stored,
                };
                Kind::of(&kind.info, backing)
            })
            .collect();
        let counter = AtomicU64::new(1);
        let api = ApiServer::start(lanai_apiserver::Options {
            store,
            registry,
            define: lanai_apiserver::define,
            authentication: Authentication::default(),
            delegate: None,
            limits: Limits::DEFAULT,
            audit: Arc::new(lanai_apiserver::audit::ToLog),
            clock: Arc::new(jiff::Timestamp::now),
            chance: Arc::new(move |bytes| {
                let number = counter.fetch_add(1, Ordering::Relaxed).to_be_bytes();
                bytes.iter_mut().zip(number.iter().rev().cycle()).for_each(|(byte, from)| *byte = *from);
            }),
        })
        .await
        .unwrap();
        let client = Client::new(api.acting_as(Identity::server("test")), "default");
        let functions: Arc<Mutex<Option<Vec<Value>>>> = Arc::default();
        let configs = {
            let functions = functions.clone();
            let assign = Arc::new(move |objects: &[Value]| {
                *functions.lock().unwrap() = Some(objects.to_vec());
                let broken = objects.iter().filter(|object| object["spec"]["image"] == "broken");
                let name = |object: &Value| object["metadata"]["name"].as_str().unwrap().to_owned();
                broken.map(|object| (name(object), "it is broken".to_owned())).collect()
            });
            FunctionConfigs { namespace: "functions".to_owned(), assign }
        };
        let options = {
            let (client, configs) = (client.clone(), configs.clone());
            Arc::new(move || Options {
                client: client.clone(),
                kinds: kinds.clone(),
                authority: "the authority".into(),
                engine: None,
                functions: Some(configs.clone()),
                clock: Arc::new(jiff::Timestamp::now),
            })
        };
        let (stop, running) = begin(options());
        let world = Self { client, remote, functions, options, stop, running };
        world
            .create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}}))
            .await;
        world
    }

    /// Ends the controllers; the server stays.
    pub async fn stop(&mut self) {
        self.stop.cancel();
        (&mut self.running).await.unwrap();
    }

    /// Begins with controllers that know nothing.
    pub fn start(&mut self) {
        (self.stop, self.running) = begin((self.options)());
    }

    pub fn api(&self, of: &Value) -> Api<DynamicObject> {
        let (version, kind) = (of["apiVersion"].as_str().unwrap(), of["kind"].as_str().unwrap());
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let gvk = kube::api::GroupVersionKind::gvk(group, version, kind);
        let resource = ApiResource::from_gvk(&gvk);
        match of["metadata"]["namespace"].as_str() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        }
    }

    pub async fn create(&self, object: &Value) -> DynamicObject {
        let sent = serde_json::from_value(object.clone()).unwrap();
        self.api(object).create(&PostParams::default(), &sent).await.unwrap()
    }

    pub async fn get(&self, object: &Value) -> Option<DynamicObject> {
        self.api(object).get_opt(name(object)).await.unwrap()
    }

    pub async fn delete(&self, object: &Value, policy: PropagationPolicy) {
        let params = DeleteParams { propagation_policy: Some(policy), ..DeleteParams::default() };
        self.api(object).delete(name(object), &params).await.unwrap();
    }

    pub async fn patch(&self, object: &Value, patch: &Value) {
        let params = PatchParams::default();
        self.api(object).patch(name(object), &params, &Patch::Merge(patch)).await.unwrap();
    }

    /// Waits until an object is as it should be; none is one that is not there.
    pub async fn until(&self, object: &Value, holds: impl Fn(Option<&DynamicObject>) -> bool) {
        let waiting =
            await_condition(self.api(object), name(object), |found: Option<&DynamicObject>| holds(found));
        let has_come = tokio::time::timeout(PATIENCE, waiting).await.is_ok();
        assert!(has_come, "{} stays as it is: {:#?}", object["metadata"], self.get(object).await);
    }

    pub async fn until_gone(&self, object: &Value) {
        self.until(object, |found| found.is_none()).await;
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

fn begin(options: Options) -> (CancellationToken, tokio::task::JoinHandle<()>) {
    let stop = CancellationToken::new();
    (stop.clone(), tokio::spawn(lanai_controllers::run(options, stop)))
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

pub fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

pub fn map(namespace: &str, name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}})
}

/// An object of a kind of the group of these tests.
pub fn thing(kind: &str, namespace: Option<&str>, name: &str) -> Value {
    let mut object = json!({"apiVersion": "shop.example/v1", "kind": kind, "metadata": {"name": name}});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

pub fn owned_by(mut object: Value, owners: &[&DynamicObject]) -> Value {
    let reference = |owner: &&DynamicObject| OwnerReference {
        api_version: owner.types.as_ref().unwrap().api_version.clone(),
        kind: owner.types.as_ref().unwrap().kind.clone(),
        name: owner.metadata.name.clone().unwrap(),
        uid: owner.metadata.uid.clone().unwrap(),
        block_owner_deletion: Some(true),
        controller: None,
    };
    object["metadata"]["ownerReferences"] = json!(owners.iter().map(reference).collect::<Vec<_>>());
    object
}

pub fn held(mut object: Value, finalizer: &str) -> Value {
    object["metadata"]["finalizers"] = json!([finalizer]);
    object
}
