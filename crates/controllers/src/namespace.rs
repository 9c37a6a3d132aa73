//! Empties namespaces that are deleted.
//!
//! A namespace that is deleted waits with a finalizer in its spec. All that is in it is deleted, kind by kind; what virtual kinds have in it is
//! unregistered. When nothing is left, the finalizer goes, and the namespace with it. Until then its conditions say what it waits for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use jiff::Timestamp;
use kube::api::{DynamicObject, PostParams};
use serde_json::{Value, json};
use std::time::Duration;

use crate::controller::{Context, Controller, Error, code, found};
use crate::empty::{Left, empty};
use crate::hub::Change;
use crate::kind::{Backing, Kind, KindId};
use crate::work::Next;

/// What holds a namespace until it is empty.
const FINALIZER: &str = "kubernetes";
/// Objects of kinds that are not watched are looked for again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Empties namespaces. A key is the name of one.
#[derive(Default)]
pub struct Namespaces {
    ending: Mutex<BTreeSet<String>>,
}

fn see(ending: &mut BTreeSet<String>, change: &Change<'_>) -> Option<String> {
    match change {
        Change::There { kind, object } if kind.is("", "Namespace") => {
            let name = object.name.clone()?;
            object.deletion_timestamp.as_ref()?;
            ending.insert(name.clone());
            Some(name)
        }
        Change::Gone { kind, object } if kind.is("", "Namespace") => {
            ending.remove(object.name.as_deref()?);
            None
        }
        Change::Gone { object, .. } => ending.get(object.namespace.as_deref()?).cloned(),
        // What holds it may have changed, which conditions tell.
        Change::There { object, .. } if object.deletion_timestamp.is_some() => {
            ending.get(object.namespace.as_deref()?).cloned()
        }
        Change::There { .. }
        | Change::Listing(_)
        | Change::Listed(_)
        | Change::Served(_)
        | Change::Withdrawn(_) => None,
    }
}

#[async_trait]
impl Controller for Namespaces {
    type Key = String;
    const NAME: &'static str = "namespaces";

    fn see(&self, change: &Change<'_>) -> Vec<String> {
        let mut ending = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        see(&mut ending, change).into_iter().collect()
    }

    async fn reconcile(&self, context: &Context, name: &String) -> Result<Next, Error> {
        let Some(kind) = context.kinds.find("", "Namespace") else { return Ok(Next::Done) };
        let api = kind.api(&context.client, None);
        let Some(namespace) = found(api.get(name).await)? else { return Ok(Next::Done) };
        if namespace.metadata.deletion_timestamp.is_none() || !is_held(&namespace) {
            return Ok(Next::Done);
        }
        let (mut remaining, mut failed) = (BTreeMap::new(), Vec::new());
        for kind in in_namespaces(&context.kinds.all()) {
            if is_needed_by_others(&kind) && !(remaining.is_empty() && failed.is_empty()) {
                continue;
            }
            match empty(context, &kind, Some(name)).await {
                Ok(left) if left.count == 0 => {}
                Ok(left) => {
                    // What is unregistered goes by asking again, not by somebody who lets it go.
                    let goes_alone = kind.is_watched() && kind.backing == Backing::Stored;
                    remaining.insert(kind.id(), (left, goes_alone));
                }
                // A kind that is not there any more has no objects.
                Err(Error::Api(error)) if code(&error) == Some(404) => {}
                Err(error) => failed.push(format!("{}: {error}", kind.id())),
            }
        }
        if remaining.is_empty() && failed.is_empty() {
            return release(context, &kind, namespace).await;
        }
        let left = remaining.iter().map(|(id, (left, _))| (id, left));
        let conditions =
            conditions(&namespace.data["status"]["conditions"], left, &failed, (context.clock)());
        if conditions != namespace.data["status"]["conditions"] {
            let mut told = namespace;
            told.data["status"]["conditions"] = conditions;
            found(api.replace_status(name, &PostParams::default(), &told).await)?;
        }
        if !failed.is_empty() {
            return Err(Error::Unfinished(failed.join("; ")));
        }
        let is_blind = remaining.values().any(|(_, goes_alone)| !goes_alone);
        Ok(if is_blind { Next::After(LOOK_AGAIN) } else { Next::Done })
    }
}

fn is_held(namespace: &DynamicObject) -> bool {
    let finalizers = namespace.data["spec"]["finalizers"].as_array();
    finalizers.into_iter().flatten().any(|one| one == FINALIZER)
}

/// Whether others may need its objects to let go: rights, and what a repository is reached with.
fn is_needed_by_others(kind: &Kind) -> bool {
    kind.group == "rbac.authorization.k8s.io" || kind.is("", "ServiceAccount") || kind.is("", "Secret")
}

/// The kinds in namespaces; what others need goes last.
fn in_namespaces(kinds: &[std::sync::Arc<Kind>]) -> Vec<std::sync::Arc<Kind>> {
    let mut kinds: Vec<_> = kinds.iter().filter(|kind| kind.is_namespaced()).cloned().collect();
    kinds.sort_by_key(|kind| is_needed_by_others(kind));
    kinds
}

async fn release(context: &Context, kind: &Kind, mut namespace: DynamicObject) -> Result<Next, Error> {
    let name = namespace.metadata.name.clone().unwrap_or_default();
    if let Some(finalizers) = namespace.data["spec"]["finalizers"].as_array_mut() {
        finalizers.retain(|one| one != FINALIZER);
    }
    let api = kind.api(&context.client, None);
    found(api.replace_subresource("finalize", &name, &PostParams::default(), &namespace).await)?;
    Ok(Next::Done)
}

/// What a namespace says while it is emptied. Times change only with the status of their condition.
fn conditions<'a>(
    old: &Value,
    left: impl Iterator<Item = (&'a KindId, &'a Left)>,
    failed: &[String],
    now: Timestamp,
) -> Value {
    let (mut kinds, mut held) = (Vec::new(), BTreeMap::<String, usize>::new());
    for (id, left) in left {
        kinds.push(format!("{id} has {} resource instances", left.count));
        for (finalizer, count) in &left.finalizers {
            *held.entry(finalizer.clone()).or_default() += count;
        }
    }
    let held: Vec<String> =
        held.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect();
    let content = if failed.is_empty() {
        (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization".to_owned(),
        )
    } else {
        (
            "True",
            "ContentDeletionFailed",
            format!("Failed to delete all resource types: {}", failed.join("; ")),
        )
    };
    let remaining = if kinds.is_empty() {
        ("False", "ContentRemoved", "All content successfully removed".to_owned())
    } else {
        ("True", "SomeResourcesRemain", format!("Some resources are remaining: {}", kinds.join(", ")))
    };
    let finalizers = if held.is_empty() {
        ("False", "ContentHasNoFinalizers", "All content-preserving finalizers finished".to_owned())
    } else {
        let message = format!("Some content in the namespace has finalizers remaining: {}", held.join(", "));
        ("True", "SomeFinalizersRemain", message)
    };
    let discovered = ("False", "ResourcesDiscovered", "All resources successfully discovered".to_owned());
    let parsed = ("False", "ParsedGroupVersions", "All legacy kube types successfully parsed".to_owned());
    let all = [
        ("NamespaceDeletionDiscoveryFailure", discovered),
        ("NamespaceDeletionGroupVersionParsingFailure", parsed),
        ("NamespaceDeletionContentFailure", content),
        ("NamespaceContentRemaining", remaining),
        ("NamespaceFinalizersRemaining", finalizers),
    ];
    let old = old.as_array().map_or(&[][..], Vec::as_slice);
    let condition = |(kind, (status, reason, message)): (&str, (&str, &str, String))| {
        let before = old.iter().find(|one| one["type"] == kind && one["status"] == status);
        let since = before.map_or_else(
            || json!(now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
            |one| one["lastTransitionTime"].clone(),
        );
        json!({"type": kind, "status": status, "lastTransitionTime": since, "reason": reason, "message": message})
    };
    all.into_iter().map(condition).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::tests::kind;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
    use lanai_api::Scope;
    use std::sync::Arc;

    fn object(namespace: Option<&str>, name: &str, ending: Option<Time>) -> ObjectMeta {
        ObjectMeta {
            name: Some(name.into()),
            namespace: namespace.map(str::to_owned),
            deletion_timestamp: ending,
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn what_goes_from_a_namespace_on_its_way_out_is_noticed() {
        let namespaces = Arc::new(kind("", "Namespace", "namespaces", Scope::Cluster));
        let maps = Arc::new(kind("", "ConfigMap", "configmaps", Scope::Namespaced));
        let time = || Some(Time(Timestamp::UNIX_EPOCH));
        let mut ending = BTreeSet::new();
        let mut check = |change: Change<'_>, expected: Option<&str>| {
            assert_eq!(see(&mut ending, &change).as_deref(), expected, "{change:?}");
        };
        let map = object(Some("a"), "m", None);
        check(Change::There { kind: &namespaces, object: &object(None, "a", None) }, None);
        check(Change::Gone { kind: &maps, object: &map }, None);
        check(Change::There { kind: &namespaces, object: &object(None, "a", time()) }, Some("a"));
        check(Change::There { kind: &maps, object: &map }, None);
        check(Change::There { kind: &maps, object: &object(Some("a"), "m", time()) }, Some("a"));
        check(Change::Gone { kind: &maps, object: &map }, Some("a"));
        check(Change::Gone { kind: &maps, object: &object(Some("b"), "m", None) }, None);
        check(Change::Gone { kind: &namespaces, object: &object(None, "a", time()) }, None);
        check(Change::Gone { kind: &maps, object: &map }, None);
    }

    #[test]
    fn conditions_say_what_is_waited_for_and_do_not_flap() {
        let id = KindId::new("", "configmaps");
        let left = Left { count: 2, finalizers: [("x.org/hold".to_owned(), 2)].into() };
        let then = Timestamp::UNIX_EPOCH;
        let first = conditions(&Value::Null, [(&id, &left)].into_iter(), &[], then);
        let find = |all: &Value, kind: &str| {
            all.as_array().unwrap().iter().find(|one| one["type"] == kind).cloned().unwrap()
        };
        let remaining = find(&first, "NamespaceContentRemaining");
        assert_eq!(remaining["message"], "Some resources are remaining: configmaps has 2 resource instances");
        let finalizers = find(&first, "NamespaceFinalizersRemaining");
        assert!(finalizers["message"].as_str().unwrap().ends_with("x.org/hold in 2 resource instances"));
        let later = then + jiff::SignedDuration::from_hours(1);
        assert_eq!(conditions(&first, [(&id, &left)].into_iter(), &[], later), first);
        let failed = conditions(&first, std::iter::empty(), &["widgets.x.org: no".to_owned()], later);
        assert_eq!(find(&failed, "NamespaceDeletionContentFailure")["status"], "True");
        assert_eq!(find(&failed, "NamespaceContentRemaining")["lastTransitionTime"], "1970-01-01T01:00:00Z");
    }
}
