//! Which functions are configured.
//!
//! The `FunctionConfig`s of a namespace are one answer: of two for the same image the older one counts, and the other one says so. That answer is kept in an
//! index that other parts of the process ask, and each object says up to which generation it was taken over.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::controller::{Context, Controller, Error, found};
use crate::hub::Change;
use crate::work::Next;

const GROUP: &str = "config.porch.kpt.dev";
const KIND: &str = "FunctionConfig";

/// The functions that are configured, by namespace and image. Clones are the same index.
#[derive(Debug, Clone, Default)]
pub struct FunctionIndex(Arc<RwLock<BTreeMap<String, Functions>>>);

type Functions = BTreeMap<String, Arc<Value>>;

impl FunctionIndex {
    /// The spec of what configures an image, by its short name.
    pub fn find(&self, namespace: &str, image: &str) -> Option<Arc<Value>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(namespace)?.get(image).cloned()
    }

    fn replace(&self, namespace: &str, functions: Functions) {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if functions.is_empty() {
            all.remove(namespace);
        } else {
            all.insert(namespace.to_owned(), functions);
        }
    }
}

/// Keeps the index. A key is a namespace.
pub struct FunctionConfigs {
    /// What it keeps.
    pub index: FunctionIndex,
}

#[async_trait]
impl Controller for FunctionConfigs {
    type Key = String;
    const NAME: &'static str = "function configs";

    fn see(&self, change: &Change<'_>) -> Vec<String> {
        match change {
            Change::There { kind, object } | Change::Gone { kind, object } if kind.is(GROUP, KIND) => {
                object.namespace.iter().cloned().collect()
            }
            Change::There { .. }
            | Change::Gone { .. }
            | Change::Listing(_)
            | Change::Listed(_)
            | Change::Served(_)
            | Change::Withdrawn(_) => Vec::new(),
        }
    }

    async fn reconcile(&self, context: &Context, namespace: &String) -> Result<Next, Error> {
        let Some(kind) = context.kinds.find(GROUP, KIND) else { return Ok(Next::Done) };
        let api = kind.api(&context.client, Some(namespace));
        let (functions, told) = judge(&api.list(&ListParams::default()).await?.items);
        self.index.replace(namespace, functions);
        for Told { name, uid, status } in told {
            let patch = json!({"metadata": {"uid": uid}, "status": status});
            found(api.patch_status(&name, &PatchParams::default(), &Patch::Merge(patch)).await)?;
        }
        Ok(Next::Done)
    }
}

/// What an object is to say, where it says something else.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    name: String,
    uid: Option<String>,
    status: Value,
}

/// Which functions the objects of a namespace configure, and what has to be said on them.
fn judge(objects: &[DynamicObject]) -> (Functions, Vec<Told>) {
    let mut objects: Vec<&DynamicObject> =
        objects.iter().filter(|object| object.metadata.deletion_timestamp.is_none()).collect();
    objects.sort_by_key(|object| {
        let metadata = &object.metadata;
        (metadata.creation_timestamp.as_ref().map(|time| time.0), metadata.name.clone())
    });
    let (mut functions, mut owners, mut told) = (Functions::new(), BTreeMap::new(), Vec::new());
    for object in objects {
        let name = object.metadata.name.clone().unwrap_or_default();
        let image = object.data["spec"]["image"].as_str().unwrap_or_default().to_owned();
        let error = if let Some(owner) = owners.get(&image) {
            json!(format!("FunctionConfig \"{owner}\" is for the image \"{image}\" already"))
        } else {
            functions.insert(image.clone(), Arc::new(object.data["spec"].clone()));
            owners.insert(image, name.clone());
            Value::Null
        };
        let generation = object.metadata.generation;
        let status = json!({
            "apiServerObservedGeneration": generation, "functionRunnerObservedGeneration": generation,
            "controllerObservedGeneration": generation, "error": error,
        });
        let is_said = |(field, value): (&String, &Value)| object.data["status"][field] == *value;
        if !status.as_object().into_iter().flatten().all(is_said) {
            told.push(Told { name, uid: object.metadata.uid.clone(), status });
        }
    }
    (functions, told)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(name: &str, created: &str, image: &str, status: &Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": KIND,
            "metadata": {"name": name, "namespace": "a", "generation": 3, "creationTimestamp": created},
            "spec": {"image": image}, "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn the_older_of_two_counts_and_the_other_says_so() {
        let done = json!({"apiServerObservedGeneration": 3, "functionRunnerObservedGeneration": 3, "controllerObservedGeneration": 3});
        let objects = [
            config("new", "2026-01-02T00:00:00Z", "set-labels", &json!({})),
            config("old", "2026-01-01T00:00:00Z", "set-labels", &done),
            config("other", "2026-01-03T00:00:00Z", "starlark", &json!({"apiServerObservedGeneration": 2})),
        ];
        let (functions, told) = judge(&objects);
        assert_eq!(functions.keys().collect::<Vec<_>>(), ["set-labels", "starlark"]);
        assert_eq!(told.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["new", "other"]);
        assert_eq!(told[0].status["error"], "FunctionConfig \"old\" is for the image \"set-labels\" already");
        assert_eq!(told[1].status["controllerObservedGeneration"], 3);
        assert_eq!(told[1].status["error"], Value::Null);
    }
}
