//! Definitions of custom resources: their names, and the end of their objects.
//!
//! The server decides about names when a definition is written. What changes later for reasons outside of it, a name that became free, is decided here, by
//! writing its status again. A definition that is deleted waits with a finalizer until its objects are gone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use lanai_api::Scope;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::controller::{Context, Controller, Error, found};
use crate::empty::{Left, empty};
use crate::hub::Change;
use crate::kind::{Backing, Kind, KindId};
use crate::work::Next;

/// The group of definitions.
pub const GROUP: &str = "apiextensions.k8s.io";
/// The kind of definitions.
pub const KIND: &str = "CustomResourceDefinition";
/// What holds a definition until its objects are gone.
pub const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// A definition, without the schemas, which are most of it.
pub type Definition = kube::core::Object<Spec, Status>;

/// What it defines.
#[derive(Debug, Clone, Deserialize, Serialize)]
pub struct Spec {
    group: String,
    names: Names,
    scope: String,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
struct Names {
    plural: String,
    kind: String,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
struct Version {
    name: String,
    #[serde(default)]
    served: bool,
    #[serde(default)]
    storage: bool,
}

/// Whether it is so.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
pub struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Debug, Clone, Deserialize, Serialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(default)]
    message: String,
}

pub(crate) trait Defines {
    fn id(&self) -> KindId;
    fn is(&self, condition: &str) -> bool;
    fn defined(&self) -> Option<Kind>;
}

impl Defines for Definition {
    fn id(&self) -> KindId {
        KindId::new(&self.spec.group, &self.spec.names.plural)
    }

    fn is(&self, condition: &str) -> bool {
        let conditions = self.status.iter().flat_map(|status| &status.conditions);
        conditions.into_iter().any(|one| one.kind == condition && one.status == "True")
    }

    /// The kind that is served because of it; none while it is not established, or no version is served.
    fn defined(&self) -> Option<Kind> {
        if !self.is("Established") || !self.is("NamesAccepted") {
            return None;
        }
        let served = || self.spec.versions.iter().filter(|version| version.served);
        let version = served().find(|version| version.storage).or_else(|| served().next())?;
        Some(Kind {
            group: self.spec.group.clone(),
            version: version.name.clone(),
            kind: self.spec.names.kind.clone(),
            plural: self.spec.names.plural.clone(),
            scope: if self.spec.scope == "Cluster" { Scope::Cluster } else { Scope::Namespaced },
            backing: Backing::Stored,
        })
    }
}

/// Keeps definitions. A key is the name of one.
#[derive(Default)]
pub struct Definitions {
    known: Mutex<Known>,
}

/// What is remembered of definitions: those on their way out, and those whose names were refused.
#[derive(Debug, Default)]
struct Known {
    ending: BTreeSet<String>,
    refused: BTreeSet<String>,
}

impl Definitions {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn see(&mut self, change: &Change<'_>) -> Vec<String> {
        match change {
            Change::There { kind, object } if kind.is(GROUP, KIND) => {
                let name = object.name.clone().unwrap_or_default();
                if object.deletion_timestamp.is_some() {
                    self.ending.insert(name.clone());
                }
                vec![name]
            }
            // Names are free that may be what others wait for.
            Change::Gone { kind, object } if kind.is(GROUP, KIND) => {
                let name = object.name.clone().unwrap_or_default();
                self.ending.remove(&name);
                self.refused.remove(&name);
                self.refused.iter().cloned().collect()
            }
            Change::Gone { kind, .. } => {
                let id = kind.id();
                self.ending.get(id.as_str()).cloned().into_iter().collect()
            }
            Change::There { .. }
            | Change::Listing(_)
            | Change::Listed(_)
            | Change::Served(_)
            | Change::Withdrawn(_) => Vec::new(),
        }
    }
}

#[async_trait]
impl Controller for Definitions {
    type Key = String;
    const NAME: &'static str = "definitions";
    // One at a time, so that of two that want the same name one is first.
    const AT_ONCE: usize = 1;

    fn see(&self, change: &Change<'_>) -> Vec<String> {
        self.known().see(change)
    }

    async fn reconcile(&self, context: &Context, name: &String) -> Result<Next, Error> {
        let Some(kind) = context.kinds.find(GROUP, KIND) else { return Ok(Next::Done) };
        let api: Api<Definition> = Api::all_with(context.client.clone(), &kind.resource());
        let Some(definition) = found(api.get(name).await)? else { return Ok(Next::Done) };
        if definition.metadata.deletion_timestamp.is_some() {
            return end(context, &kind, &definition).await;
        }
        if definition.is("NamesAccepted") {
            self.known().refused.remove(name);
            return Ok(Next::Done);
        }
        let accepted = ask_again(context, &kind, name).await?;
        let mut known = self.known();
        if accepted {
            known.refused.remove(name)
        } else {
            known.refused.insert(name.clone())
        };
        Ok(Next::Done)
    }
}

/// Has the server decide about the names again; true if they are accepted now.
async fn ask_again(context: &Context, kind: &Kind, name: &str) -> Result<bool, Error> {
    let api = kind.api(&context.client, None);
    let Some(whole) = found(api.get(name).await)? else { return Ok(false) };
    let written: DynamicObject = api.replace_status(name, &PostParams::default(), &whole).await?;
    let conditions = written.data["status"]["conditions"].as_array().cloned().unwrap_or_default();
    Ok(conditions.iter().any(|one| one["type"] == "NamesAccepted" && one["status"] == "True"))
}

/// Deletes the objects of a definition, and lets it go when none is left.
async fn end(context: &Context, kind: &Kind, definition: &Definition) -> Result<Next, Error> {
    let metadata = &definition.metadata;
    let finalizers = metadata.finalizers.as_deref().unwrap_or_default();
    if !finalizers.iter().any(|one| one == FINALIZER) {
        return Ok(Next::Done);
    }
    let name = metadata.name.clone().unwrap_or_default();
    let api = kind.api(&context.client, None);
    let is_base = context.kinds.is_base(&definition.id());
    match definition.defined().filter(|_| !is_base) {
        Some(defined) => {
            let left = empty(context, &defined, None).await?;
            if left.count > 0 {
                tell(context, &api, definition, &waiting(&left)).await?;
                return Ok(Next::Done);
            }
        }
        // Objects of what comes with the server are not those of this definition; without names it never had any.
        None if is_base || !definition.is("Established") || !definition.is("NamesAccepted") => {}
        None => {
            let message = "no version is served, so its objects cannot be deleted: serve one";
            tell(context, &api, definition, message).await?;
            return Ok(Next::Done);
        }
    }
    let rest: Vec<&String> = finalizers.iter().filter(|one| *one != FINALIZER).collect();
    let patch = json!({"metadata": {"uid": metadata.uid, "resourceVersion": metadata.resource_version, "finalizers": Some(rest).filter(|rest| !rest.is_empty())}});
    found(api.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await)?;
    Ok(Next::Done)
}

fn waiting(left: &Left) -> String {
    let finalizers: Vec<String> =
        left.finalizers.iter().map(|(name, count)| format!("{name} in {count}")).collect();
    format!("{} objects wait for finalizers: {}", left.count, finalizers.join(", "))
}

/// Says in a condition how far the deletion is.
async fn tell(
    context: &Context,
    api: &Api<DynamicObject>,
    definition: &Definition,
    message: &str,
) -> Result<(), Error> {
    let conditions = definition.status.iter().flat_map(|status| &status.conditions);
    let told = conditions.into_iter().find(|one| one.kind == "Terminating" && one.status == "True");
    if told.is_some_and(|one| one.message == message) {
        return Ok(());
    }
    let name = definition.metadata.name.as_deref().unwrap_or_default();
    let Some(mut whole) = found(api.get(name).await)? else { return Ok(()) };
    let time = whole.metadata.deletion_timestamp.clone();
    let condition = json!({"type": "Terminating", "status": "True", "reason": "InstanceDeletionInProgress", "message": message,
        "lastTransitionTime": time.map_or_else(|| (context.clock)(), |time| time.0).to_string()});
    set(&mut whole.data["status"], condition);
    found(api.replace_status(name, &PostParams::default(), &whole).await)?;
    Ok(())
}

fn set(status: &mut Value, condition: Value) {
    let mut conditions: BTreeMap<usize, Value> =
        status["conditions"].as_array().cloned().unwrap_or_default().into_iter().enumerate().collect();
    let at = conditions.iter().find(|(_, one)| one["type"] == condition["type"]).map(|(at, _)| *at);
    conditions.insert(at.unwrap_or(conditions.len()), condition);
    status["conditions"] = conditions.into_values().collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(versions: &Value, conditions: &Value) -> Definition {
        serde_json::from_value(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": KIND, "metadata": {"name": "widgets.x.org"},
            "spec": {"group": "x.org", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": versions},
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn a_kind_comes_from_a_definition_that_is_established() {
        let good =
            json!([{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "True"}]);
        let refused =
            json!([{"type": "Established", "status": "True"}, {"type": "NamesAccepted", "status": "False"}]);
        let one = json!([{"name": "v1", "served": true, "storage": true}]);
        assert_eq!(definition(&one, &good).defined().unwrap().version, "v1");
        assert!(definition(&one, &refused).defined().is_none());
        let old = json!([{"name": "v1", "served": true, "storage": false}, {"name": "v2", "served": false, "storage": true}]);
        assert_eq!(definition(&old, &good).defined().unwrap().version, "v1");
        let hidden = json!([{"name": "v1", "served": false, "storage": true}]);
        assert!(definition(&hidden, &good).defined().is_none());
    }

    #[test]
    fn a_condition_stands_there_once() {
        let mut status = json!({"conditions": [{"type": "A"}, {"type": "Terminating", "message": "x"}]});
        set(&mut status, json!({"type": "Terminating", "message": "y"}));
        set(&mut status, json!({"type": "B"}));
        assert_eq!(
            status["conditions"],
            json!([{"type": "A"}, {"type": "Terminating", "message": "y"}, {"type": "B"}])
        );
    }
}
