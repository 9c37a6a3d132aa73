//! Deleting objects.

use std::sync::Arc;

use http::StatusCode;
use lanai_api::Cause;
use lanai_store::{Error, Stored, Write};
use serde_json::{Value, json};

use crate::core::{Call, Core, MAX_ATTEMPTS};
use crate::decode;
use crate::kinds::Special;
use crate::meta::{self, FOREGROUND, ORPHAN};
use crate::query::{DryRun, ListOptions, Moment};
use crate::registry::{Backing, VirtualWrite};
use crate::reply::Reply;
use crate::row;
use crate::status::{GroupResource, Status};
use crate::verbs::create::virtual_write;
use crate::verbs::read;
use crate::view::{Item, ListMeta};

/// What becomes of dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Propagation {
    /// They are deleted afterwards.
    Background,
    /// They are deleted before.
    Foreground,
    /// They stay.
    Orphan,
}

struct Options {
    propagation: Option<Propagation>,
    uid: Option<String>,
    version: Option<String>,
    dry_run: DryRun,
}

enum Deleted {
    /// It is gone.
    Gone(Arc<Stored>),
    /// It stays until something lets it go.
    Waiting(Item),
}

/// `DELETE` of an object.
pub(crate) async fn delete(core: &Core, call: &Call) -> Result<Reply, Status> {
    let options = options(call)?;
    match remove(core, call, call.name()?, call.namespace(), &options).await? {
        Deleted::Waiting(item) => {
            let view = call.view()?;
            Ok(Reply::whole(StatusCode::OK, view.accept.format, view.one(item)?))
        }
        Deleted::Gone(stored) => {
            let object = row::decode(&stored)?;
            let resource = call.kind.resource();
            let mut details = json!({"name": meta::name(&object)});
            if !resource.group.is_empty() {
                details["group"] = json!(resource.group);
            }
            details["kind"] = json!(resource.resource);
            details["uid"] = json!(meta::uid(&object));
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details});
            Ok(Reply::value(StatusCode::OK, call.accept.format, &status))
        }
    }
}

/// `DELETE` of a collection with `unregister=true`: what a virtual kind has in a namespace that is being deleted is forgotten, and what it
/// stands for stays.
///
/// # Errors
/// For other kinds, and while the namespace is there to stay.
pub(crate) async fn unregister(core: &Core, call: &Call) -> Result<Reply, Status> {
    let (Backing::Virtual(writer), Some(namespace)) = (&call.kind.backing, call.namespace()) else {
        return Err(Status::method_not_allowed());
    };
    if !core.is_ending(namespace).await? {
        let why = format!("namespace \"{namespace}\" is not being deleted");
        return Err(Status::bad_request(why));
    }
    if options(call)?.dry_run == DryRun::No {
        writer.unregister(namespace).await?;
    }
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
    Ok(Reply::value(StatusCode::OK, call.accept.format, &status))
}

/// `DELETE` of a collection.
pub(crate) async fn delete_collection(core: &Core, call: &Call) -> Result<Reply, Status> {
    let options = options(call)?;
    let selection = read::selection(call)?;
    let wanted = ListOptions { moment: Moment::Latest, limit: None };
    let page = read::page(core, &selection, &wanted).await?;
    let mut items = Vec::new();
    for stored in page.items {
        let namespace = Some(stored.key.namespace()).filter(|namespace| !namespace.is_empty());
        match remove(core, call, stored.key.name(), namespace, &options).await {
            Ok(Deleted::Waiting(item)) => items.push(item),
            Ok(Deleted::Gone(stored)) => {
                let revision = stored.revision;
                items.push(Item::Row(stored, revision));
            }
            // Somebody else was faster.
            Err(status) if status.code == StatusCode::NOT_FOUND => {}
            Err(status) => return Err(status),
        }
    }
    let view = call.view()?;
    let meta = ListMeta { revision: page.revision, go_on: None };
    Ok(Reply::whole(StatusCode::OK, view.accept.format, view.list(&meta, items)?))
}

/// Whether a deletion is only a rehearsal, which can stand in its body.
pub(crate) fn is_rehearsal(call: &Call) -> bool {
    options(call).is_ok_and(|options| options.dry_run != DryRun::No)
}

fn options(call: &Call) -> Result<Options, Status> {
    let sent = if call.body.is_empty() { Value::Null } else { decode::sent(call, "DeleteOptions")?.value };
    if !sent.is_null() && !sent.is_object() {
        return Err(Status::bad_request("the options of a deletion are an object"));
    }
    if sent["kind"].as_str().is_some_and(|kind| !kind.is_empty() && kind != "DeleteOptions") {
        return Err(Status::bad_request("the options of a deletion are of the kind DeleteOptions"));
    }
    let policy = sent["propagationPolicy"].as_str().or_else(|| call.query.get("propagationPolicy"));
    let orphan = sent["orphanDependents"].as_bool();
    let refused = |cause: Cause| {
        let kind = GroupResource { group: "meta.k8s.io".into(), resource: "DeleteOptions".into() };
        Status::invalid(&kind, "", &[cause])
    };
    let propagation = match (policy, orphan) {
        (Some(_), Some(_)) => {
            let why = "orphanDependents and deletionPropagation cannot be both set";
            return Err(refused(Cause::invalid(
                &"propagationPolicy".into(),
                policy.unwrap_or_default(),
                why,
            )));
        }
        (None, Some(true)) | (Some("Orphan"), None) => Some(Propagation::Orphan),
        (None, Some(false)) | (Some("Background"), None) => Some(Propagation::Background),
        (Some("Foreground"), None) => Some(Propagation::Foreground),
        (Some(other), None) => {
            let known = ["Foreground", "Background", "Orphan", "nil"];
            return Err(refused(Cause::not_supported(&"propagationPolicy".into(), other, &known)));
        }
        (None, None) => None,
    };
    let text = |name: &str| sent["preconditions"][name].as_str().map(str::to_owned);
    let in_body = sent["dryRun"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let dry_run = DryRun::of_delete(call.query.all("dryRun").chain(in_body))?;
    Ok(Options { propagation, uid: text("uid"), version: text("resourceVersion"), dry_run })
}

async fn remove(
    core: &Core,
    call: &Call,
    name: &str,
    namespace: Option<&str>,
    options: &Options,
) -> Result<Deleted, Status> {
    let key = call.kind.key(namespace, name)?;
    if let Some(why) = call.kind.special.is_needed(name) {
        return Err(Status::forbidden(&call.kind.resource(), name, why));
    }
    for _ in 0..MAX_ATTEMPTS {
        let found = core.store.get(&key).await?;
        let stored = Arc::new(found.ok_or_else(|| Status::not_found(&call.kind.resource(), name))?);
        let old = row::decode(&stored)?;
        check_preconditions(call, name, options, &old)?;
        let new = terminated(call, options, &old);
        let is_released = meta::finalizers(&new).is_empty() && call.kind.special.is_released(&new);
        if !is_released && new == old && options.dry_run == DryRun::No {
            let revision = stored.revision;
            return Ok(Deleted::Waiting(Item::Row(stored, revision)));
        }
        if let Backing::Virtual(writer) = &call.kind.backing {
            let write =
                VirtualWrite { key: key.clone(), dry_run: options.dry_run, ..virtual_write(call, name)? };
            let done = if is_released {
                writer.delete(write, old).await.map(|()| Deleted::Gone(stored))
            } else {
                let changed = writer.update(write, old, new).await;
                changed.map(|changed| Deleted::Waiting(Item::Value(changed.object)))
            };
            match done {
                // Who named no version does not care which one goes.
                Err(status) if status.is_overtaken() => continue,
                done => return done,
            }
        }
        if options.dry_run == DryRun::All {
            return Ok(if is_released { Deleted::Gone(stored) } else { Deleted::Waiting(Item::Value(new)) });
        }
        let expected = stored.revision;
        let fields = call.kind.row_fields_again(&new, &stored);
        let object = row::encode(new, &fields, call.kind.protection());
        let write = if is_released {
            Write::Delete { key: key.clone(), expected }
        } else {
            Write::Update { key: key.clone(), expected, object: object.clone() }
        };
        match core.store.commit(write.into()).await {
            Ok(committed) => {
                let revision = committed.revisions.first().copied().unwrap_or(expected);
                core.settle(&call.kind, revision).await;
                if is_released {
                    return Ok(Deleted::Gone(stored));
                }
                let now = Stored { key, created: stored.created, revision, object };
                return Ok(Deleted::Waiting(Item::Row(Arc::new(now), revision)));
            }
            Err(Error::Conflict { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Status::conflict(&call.kind.resource(), name, "too many others change it at the same time"))
}

fn check_preconditions(call: &Call, name: &str, options: &Options, old: &Value) -> Result<(), Status> {
    let resource = call.kind.resource();
    let found = meta::uid(old);
    if let Some(uid) = options.uid.as_deref().filter(|uid| *uid != found) {
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {found}");
        return Err(Status::conflict(&resource, name, &why));
    }
    let found = meta::text(old, "resourceVersion");
    if let Some(version) = options.version.as_deref().filter(|version| *version != found) {
        let why = format!(
            "Precondition failed: ResourceVersion in precondition: {version}, ResourceVersion in object meta: {found}"
        );
        return Err(Status::conflict(&resource, name, &why));
    }
    Ok(())
}

/// The object on its way out.
fn terminated(call: &Call, options: &Options, old: &Value) -> Value {
    let mut new = old.clone();
    if let Some(propagation) = options.propagation {
        let mut finalizers: Vec<String> = meta::finalizers(old).into_iter().map(str::to_owned).collect();
        finalizers.retain(|one| one != FOREGROUND && one != ORPHAN);
        match propagation {
            Propagation::Background => {}
            Propagation::Foreground => finalizers.push(FOREGROUND.into()),
            Propagation::Orphan => finalizers.push(ORPHAN.into()),
        }
        meta::set_finalizers(&mut new, &finalizers);
    }
    if !meta::is_terminating(old) {
        let metadata = meta::metadata(&mut new);
        metadata.insert("deletionTimestamp".into(), meta::time(call.now));
        // A definition only waits for its objects, and is asked for nothing new.
        if call.kind.special != Special::Definition {
            metadata.insert("deletionGracePeriodSeconds".into(), json!(0));
            if metadata.contains_key("generation") {
                let generation = meta::generation(old) + 1;
                metadata.insert("generation".into(), json!(generation));
            }
        }
        call.kind.special.terminate(&mut new, call.now);
    }
    new
}
