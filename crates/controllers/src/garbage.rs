//! Deletes or frees the dependents of what is deleted.
//!
//! An object all of whose owners are gone is deleted. An owner that is deleted in the foreground waits for the dependents that block it; one that is orphaned
//! waits until no object refers to it. Owners are looked up in the API, by their uid, before anything is deleted: what is remembered here only says where to look.

mod graph;
mod verdict;

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use serde_json::json;

use crate::controller::{Context, Controller, Error, found};
use crate::hub::Change;
use crate::kind::Kind;
use crate::work::Next;

use graph::{Deletion, Graph, Node, Owner, Uid};
use verdict::{Policy, State, Verdict, decide};

/// The finalizer of an owner whose dependents are deleted first.
const FOREGROUND: &str = "foregroundDeletion";
/// The finalizer of an owner whose dependents stay.
const ORPHAN: &str = "orphan";
/// Objects that are read at once.
const PAGE: u32 = 500;

/// Collects garbage. A key is the uid of a dependent, or of an owner that waits.
#[derive(Default)]
pub struct Garbage {
    graph: Mutex<Graph>,
}

#[async_trait]
impl Controller for Garbage {
    type Key = Uid;
    const NAME: &'static str = "garbage";
    const AT_ONCE: usize = 16;

    fn see(&self, change: &Change<'_>) -> Vec<Uid> {
        self.graph().see(change)
    }

    async fn reconcile(&self, context: &Context, uid: &Uid) -> Result<Next, Error> {
        let Some(node) = self.graph().get(uid).cloned() else { return Ok(Next::Done) };
        let api = node.kind.api(&context.client, node.namespace.as_deref());
        let Some(live) = api.get_metadata_opt(&node.name).await? else { return Ok(Next::Done) };
        let live = live.metadata;
        if live.uid.as_ref() != Some(uid) {
            return Ok(Next::Done);
        }
        match Deletion::of(&live) {
            Deletion::No => self.judge(context, &node, &live).await?,
            Deletion::Begun => {}
            Deletion::Foreground => {
                let is_free = {
                    let graph = self.graph();
                    graph.knows_all(&context.kinds.all()) && graph.blocking(uid) == 0
                };
                if is_free {
                    release(context, &node, &live, FOREGROUND).await?;
                }
            }
            Deletion::Orphan => {
                orphan(context, &node, uid).await?;
                release(context, &node, &live, ORPHAN).await?;
            }
        }
        Ok(Next::Done)
    }
}

impl Garbage {
    fn graph(&self) -> MutexGuard<'_, Graph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides about an object that is not being deleted, and does it.
    async fn judge(&self, context: &Context, node: &Node, live: &ObjectMeta) -> Result<(), Error> {
        let uid = live.uid.clone().unwrap_or_default();
        let mut owners = Vec::new();
        for reference in live.owner_references.iter().flatten() {
            let state = self.state(context, node, &Owner::from(reference)).await?;
            owners.push((reference.uid.clone(), state));
        }
        let has_dependents = self.graph().has_dependents(&uid);
        match decide(&owners, has_dependents, wished(live)) {
            Verdict::Keep => Ok(()),
            Verdict::Wait => {
                self.graph().leave_unresolved(&uid);
                Ok(())
            }
            Verdict::Unlink(lost) => unlink(context, &node.kind, live, &lost).await,
            Verdict::Delete(policy) => delete(context, node, live, policy).await,
        }
    }

    async fn state(&self, context: &Context, node: &Node, owner: &Owner) -> Result<State, Error> {
        if self.graph().is_gone(&owner.uid) {
            return Ok(State::Absent);
        }
        let Some(kind) = context.kinds.find(&owner.group, &owner.kind) else { return Ok(State::Unknown) };
        if kind.is_namespaced() && node.namespace.is_none() {
            return Ok(State::Unknown);
        }
        let api = kind.api(&context.client, node.namespace.as_deref());
        let found = api.get_metadata_opt(&owner.name).await?.map(|found| found.metadata);
        Ok(match found.filter(|found| found.uid.as_ref() == Some(&owner.uid)) {
            None => State::Absent,
            Some(found) if Deletion::of(&found) == Deletion::Foreground => State::Waiting,
            Some(_) => State::There,
        })
    }
}

/// How an object asks to be deleted.
fn wished(live: &ObjectMeta) -> Policy {
    let has = |name: &str| live.finalizers.iter().flatten().any(|one| one == name);
    match () {
        () if has(ORPHAN) => Policy::Orphan,
        () if has(FOREGROUND) => Policy::Foreground,
        () => Policy::Background,
    }
}

/// Deletes an object as it was seen: one that has changed since is looked at again.
async fn delete(context: &Context, node: &Node, live: &ObjectMeta, policy: Policy) -> Result<(), Error> {
    let preconditions =
        Preconditions { uid: live.uid.clone(), resource_version: live.resource_version.clone() };
    let params = match policy {
        Policy::Background => DeleteParams::background(),
        Policy::Foreground => DeleteParams::foreground(),
        Policy::Orphan => DeleteParams::orphan(),
    };
    let api = node.kind.api(&context.client, node.namespace.as_deref());
    found(api.delete(&node.name, &params.preconditions(preconditions)).await)?;
    Ok(())
}

/// Takes references to owners from an object.
async fn unlink(context: &Context, kind: &Kind, live: &ObjectMeta, lost: &[Uid]) -> Result<(), Error> {
    let rest: Vec<&OwnerReference> =
        live.owner_references.iter().flatten().filter(|one| !lost.contains(&one.uid)).collect();
    patch(context, kind, live, json!({"ownerReferences": some(&rest)})).await
}

/// Takes a finalizer from an owner.
async fn release(context: &Context, node: &Node, live: &ObjectMeta, finalizer: &str) -> Result<(), Error> {
    let rest: Vec<&String> = live.finalizers.iter().flatten().filter(|one| *one != finalizer).collect();
    patch(context, &node.kind, live, json!({"finalizers": some(&rest)})).await
}

/// A list, or that there is none: a patch then takes the field away.
fn some<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}

/// Changes the metadata of an object as it was seen.
async fn patch(
    context: &Context,
    kind: &Kind,
    live: &ObjectMeta,
    mut metadata: serde_json::Value,
) -> Result<(), Error> {
    metadata["uid"] = json!(live.uid);
    metadata["resourceVersion"] = json!(live.resource_version);
    let api = kind.api(&context.client, live.namespace.as_deref());
    let name = live.name.as_deref().unwrap_or_default();
    let patch = Patch::Merge(json!({"metadata": metadata}));
    found(api.patch_metadata(name, &PatchParams::default(), &patch).await)?;
    Ok(())
}

/// Frees all objects of an owner. They are listed: what was created a moment ago counts as well, or it would be deleted when the owner is gone.
async fn orphan(context: &Context, owner: &Node, uid: &Uid) -> Result<(), Error> {
    let within = owner.namespace.as_deref();
    for kind in context.kinds.all().iter().filter(|kind| within.is_none() || kind.is_namespaced()) {
        let api = kind.api(&context.client, within);
        let mut params = ListParams::default().limit(PAGE);
        loop {
            let Some(page) = found(api.list_metadata(&params).await)? else { break };
            for item in page.items {
                let mut owners = item.metadata.owner_references.iter().flatten();
                if owners.any(|one| one.uid == *uid) {
                    unlink(context, kind, &item.metadata, std::slice::from_ref(uid)).await?;
                }
            }
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params = ListParams::default().limit(PAGE).continue_token(&token),
                None => break,
            }
        }
    }
    Ok(())
}
