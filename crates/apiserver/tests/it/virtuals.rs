//! Kinds whose writes somebody else does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use lanai_apiserver::{Backing, DryRun, Status, Virtual, VirtualWrite, Written, row};
use lanai_store::{Presence, Protection, Revision, Store, Write};
use serde_json::{Value, json};

use crate::world::World;

const PATH: &str = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories/blue";
const APPLY: &str = "application/apply-patch+yaml";

/// Keeps rows, and counts what it writes beside them. The first updates find that somebody else was faster.
struct Counting {
    store: Arc<dyn Store>,
    lost: AtomicUsize,
}

impl Counting {
    async fn write(&self, write: &VirtualWrite, object: Value, there: Presence) -> Result<Value, Status> {
        if write.dry_run == DryRun::All {
            return Ok(object);
        }
        let key = write.key.clone();
        let row = row::encode(object, &std::collections::BTreeMap::default(), Protection::Plain);
        let write = match there {
            Presence::Absent => Write::Create { key: key.clone(), object: row },
            Presence::At(expected) => Write::Update { key: key.clone(), expected, object: row },
        };
        self.store.commit(write.into()).await?;
        row::decode(&self.store.get(&key).await?.unwrap())
    }

    async fn revision(&self, write: &VirtualWrite) -> Result<Revision, Status> {
        Ok(self.store.get(&write.key).await?.unwrap().revision)
    }
}

#[async_trait]
impl Virtual for Counting {
    async fn create(&self, write: VirtualWrite, mut object: Value) -> Result<Written, Status> {
        object["status"] = json!({"commit": "1"});
        self.write(&write, object, Presence::Absent).await.map(Written::from)
    }

    async fn update(&self, write: VirtualWrite, _: Value, new: Value) -> Result<Written, Status> {
        if self.lost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() {
            let resource =
                lanai_apiserver::status::GroupResource { group: String::new(), resource: "x".into() };
            return Err(Status::modified(&resource, "blue", "1", "2"));
        }
        let revision = self.revision(&write).await?;
        self.write(&write, new, Presence::At(revision)).await.map(Written::from)
    }

    async fn delete(&self, write: VirtualWrite, _: Value) -> Result<(), Status> {
        let expected = self.revision(&write).await?;
        self.store.commit(Write::Delete { key: write.key, expected }.into()).await?;
        Ok(())
    }

    async fn unregister(&self, _: &str) -> Result<(), Status> {
        Ok(())
    }
}

fn repository(description: &str) -> Value {
    json!({"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": "blue"},
           "spec": {"type": "git", "description": description, "git": {"repo": "https://git.example/blue.git"}}})
}

#[tokio::test]
async fn virtual_kinds_are_applied_and_patched_like_others() {
    let world = World::new(|kind, store| {
        let counting = || Counting { store, lost: AtomicUsize::new(2) };
        (kind == "Repository").then(|| Backing::Virtual(Arc::new(counting())))
    })
    .await;
    let ann = format!("{PATH}?fieldManager=ann");
    let (code, answer) = world.send("PATCH", &format!("{ann}&dryRun=All"), APPLY, &repository("one")).await;
    assert_eq!(code, 201, "{answer}");
    assert_eq!(world.send("GET", PATH, "", &Value::Null).await.0, 404);
    let (code, made) = world.send("PATCH", &ann, APPLY, &repository("one")).await;
    assert_eq!((code, made["status"]["commit"].as_str()), (201, Some("1")), "{made}");
    assert_eq!(made["metadata"]["managedFields"][0]["manager"], "ann");
    let (code, same) = world.send("PATCH", &ann, APPLY, &repository("one")).await;
    assert_eq!((code, &same), (200, &made), "the same again is no write");

    let bob = format!("{PATH}?fieldManager=bob");
    let (code, refused) = world.send("PATCH", &bob, APPLY, &repository("two")).await;
    assert_eq!((code, refused["details"]["causes"][0]["field"].as_str()), (409, Some(".spec.description")));
    let (code, forced) = world.send("PATCH", &format!("{bob}&force=true"), APPLY, &repository("two")).await;
    assert_eq!(
        (code, forced["spec"]["description"].as_str()),
        (200, Some("two")),
        "computed again: {forced}"
    );
    assert_eq!(forced["metadata"]["generation"], 2);
    let merge = json!({"spec": {"description": "three"}});
    let (code, merged) = world
        .send("PATCH", &format!("{PATH}?fieldManager=eve"), "application/merge-patch+json", &merge)
        .await;
    assert_eq!((code, merged["spec"]["description"].as_str()), (200, Some("three")), "{merged}");
    let entries = merged["metadata"]["managedFields"].as_array().unwrap();
    assert!(
        entries.iter().any(|entry| entry["manager"] == "eve" && entry["operation"] == "Update"),
        "{merged}"
    );
    assert_eq!(world.send("GET", PATH, "", &Value::Null).await, (200, merged));
}
