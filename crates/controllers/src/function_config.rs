//! Which functions are configured.
//!
//! The `FunctionConfig`s of one namespace count, as one answer: of two for the same image the older one counts, and the other one says so. Whoever runs
//! functions takes over all that count at once, and says which it cannot use. Then each object says up to which generation it was taken over, and why it is
//! not used if it is not; those of other namespaces say which namespace counts.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use lanai_types::quote::Quoted;
use serde_json::{Value, json};

use crate::controller::{Context, Controller, Error, found};
use crate::hub::Change;
use crate::work::Next;

const GROUP: &str = "config.porch.kpt.dev";
const KIND: &str = "FunctionConfig";
/// When objects that cannot be used are looked at again without a change: programs come and go without one.
const AGAIN: Duration = Duration::from_mins(1);

/// Takes over all objects that count, in place of those before. Answers which of them cannot be used, by name, and why.
pub type Assign = Arc<dyn Fn(&[Value]) -> BTreeMap<String, String> + Send + Sync>;

/// Keeps whoever runs functions informed. A key is a namespace.
#[derive(Clone)]
pub struct FunctionConfigs {
    /// The namespace whose objects count.
    pub namespace: String,
    /// Takes them over. It is called once also where there are none, so that it is known when nothing is missing.
    pub assign: Assign,
}

impl fmt::Debug for FunctionConfigs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FunctionConfigs {{ {} }}", Quoted(&self.namespace))
    }
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
            Change::Listed(kind) if kind.is(GROUP, KIND) => vec![self.namespace.clone()],
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
        let objects = api.list(&ListParams::default()).await?.items;
        let (told, next) = if *namespace == self.namespace {
            let judged = judge(&objects);
            let counting: Vec<Value> = judged.counting.iter().map(|object| content(object)).collect();
            let unusable = (self.assign)(&counting);
            let next = if unusable.is_empty() { Next::Done } else { Next::After(AGAIN) };
            (judged.told(&unusable), next)
        } else {
            (elsewhere(&objects, &self.namespace), Next::Done)
        };
        for Told { name, uid, status } in told {
            let patch = json!({"metadata": {"uid": uid}, "status": status});
            found(api.patch_status(&name, &PatchParams::default(), &Patch::Merge(patch)).await)?;
        }
        Ok(next)
    }
}

/// What an object is to say, where it says something else.
#[derive(Debug, PartialEq, Eq)]
struct Told {
    name: String,
    uid: Option<String>,
    status: Value,
}

/// What the objects of a namespace mean together.
struct Judged<'a> {
    counting: Vec<&'a DynamicObject>,
    /// Those that do not count, and why.
    others: Vec<(&'a DynamicObject, String)>,
}

/// Which objects of a namespace count: of two for one image, the older one.
fn judge(objects: &[DynamicObject]) -> Judged<'_> {
    let mut objects: Vec<&DynamicObject> =
        objects.iter().filter(|object| object.metadata.deletion_timestamp.is_none()).collect();
    objects.sort_by_key(|object| {
        let metadata = &object.metadata;
        (metadata.creation_timestamp.as_ref().map(|time| time.0), metadata.name.clone())
    });
    let mut owners: BTreeMap<&str, &str> = BTreeMap::new();
    let mut judged = Judged { counting: Vec::new(), others: Vec::new() };
    for object in objects {
        let image = object.data["spec"]["image"].as_str().unwrap_or_default();
        if let Some(owner) = owners.get(image) {
            let why = format!("FunctionConfig \"{owner}\" is for the image \"{image}\" already");
            judged.others.push((object, why));
        } else {
            owners.insert(image, object.metadata.name.as_deref().unwrap_or_default());
            judged.counting.push(object);
        }
    }
    judged
}

impl Judged<'_> {
    /// What has to be said on the objects, where some cannot be used.
    fn told(&self, unusable: &BTreeMap<String, String>) -> Vec<Told> {
        let counting = self.counting.iter().map(|object| {
            let why = object.metadata.name.as_ref().and_then(|name| unusable.get(name));
            (*object, why.cloned())
        });
        let others = self.others.iter().map(|(object, why)| (*object, Some(why.clone())));
        let told = counting.chain(others).filter_map(|(object, why)| {
            let generation = object.metadata.generation;
            let status = json!({
                "apiServerObservedGeneration": generation, "functionRunnerObservedGeneration": generation,
                "controllerObservedGeneration": generation, "error": why,
            });
            told(object, status)
        });
        told.collect()
    }
}

/// What has to be said on objects that do not count, because of where they are.
fn elsewhere(objects: &[DynamicObject], counts: &str) -> Vec<Told> {
    let why = format!("only FunctionConfigs of the namespace \"{counts}\" are used");
    let living = objects.iter().filter(|object| object.metadata.deletion_timestamp.is_none());
    living.filter_map(|object| told(object, json!({ "error": why }))).collect()
}

fn told(object: &DynamicObject, status: Value) -> Option<Told> {
    let is_said = |(field, value): (&String, &Value)| object.data["status"][field] == *value;
    if status.as_object().into_iter().flatten().all(is_said) {
        return None;
    }
    let name = object.metadata.name.clone().unwrap_or_default();
    Some(Told { name, uid: object.metadata.uid.clone(), status })
}

/// The object as whoever takes it over reads it.
fn content(object: &DynamicObject) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1alpha1"), "kind": KIND,
        "metadata": {"name": object.metadata.name, "annotations": object.metadata.annotations},
        "spec": object.data["spec"],
    })
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
        let judged = judge(&objects);
        let counting: Vec<Value> = judged.counting.iter().map(|object| content(object)).collect();
        let images: Vec<&Value> = counting.iter().map(|object| &object["spec"]["image"]).collect();
        assert_eq!(images, ["set-labels", "starlark"]);
        let told = judged.told(&BTreeMap::new());
        assert_eq!(told.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["other", "new"]);
        assert_eq!(told[1].status["error"], "FunctionConfig \"old\" is for the image \"set-labels\" already");
        assert_eq!(told[0].status["controllerObservedGeneration"], 3);
        assert_eq!(told[0].status["error"], Value::Null);
        let told = judged.told(&BTreeMap::from([("old".to_owned(), "no such program".to_owned())]));
        let old = told.iter().find(|one| one.name == "old").unwrap();
        assert_eq!(old.status["error"], "no such program");
    }

    #[test]
    fn objects_of_other_namespaces_say_which_one_counts() {
        let objects = [config("one", "2026-01-02T00:00:00Z", "set-labels", &json!({}))];
        let told = elsewhere(&objects, "functions");
        assert_eq!(
            told[0].status,
            json!({"error": "only FunctionConfigs of the namespace \"functions\" are used"})
        );
        let said = [config("one", "2026-01-02T00:00:00Z", "set-labels", &told[0].status)];
        assert!(elsewhere(&said, "functions").is_empty(), "it is said once");
    }
}
