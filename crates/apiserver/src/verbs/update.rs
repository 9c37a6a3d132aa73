//! Changing objects.

use std::sync::Arc;

use http::StatusCode;
use lanai_api::Cause;
use lanai_store::{Error, Stored, Write};
use serde_json::{Value, json};

use crate::core::{Call, Core, MAX_ATTEMPTS};
use crate::decode;
use crate::kinds;
use crate::meta;
use crate::query::DryRun;
use crate::registry::Backing;
use crate::reply::Reply;
use crate::row;
use crate::status::Status;
use crate::verbs::create::{accept_names, by_schema, tracks_generation, virtual_write};
use crate::view::Item;

/// `PUT` to an object.
pub(crate) async fn update(core: &Core, call: &Call) -> Result<Reply, Status> {
    let decoded = decode::object(call)?;
    let sent = decoded.object;
    let name = call.name()?;
    let found = meta::name(&sent);
    if found != name {
        let message = format!("the name of the object ({found}) does not match the name on the URL ({name})");
        return Err(Status::bad_request(message));
    }
    let is_unconditional = meta::text(&sent, "resourceVersion").is_empty();
    if is_unconditional && call.kind.info.origin != lanai_api::Origin::BuiltIn {
        let cause =
            Cause::invalid(&"metadata.resourceVersion".into(), json!(0), "must be specified for an update");
        return Err(Status::invalid(&call.kind.resource(), name, &[cause]));
    }
    let changed = change(core, call, |_| Ok(sent.clone())).await?;
    answer(call, changed, decoded.warnings)
}

/// How an object became another one.
pub(crate) enum Changed {
    /// As it is now.
    To(Item),
    /// It was held by nothing any more, and is gone; this is how it was last.
    Gone(Item),
}

/// The answer to a change.
pub(crate) fn answer(call: &Call, changed: Changed, warnings: Vec<String>) -> Result<Reply, Status> {
    let (Changed::To(item) | Changed::Gone(item)) = changed;
    let view = call.view()?;
    Ok(Reply::whole(StatusCode::OK, view.accept.format, view.one(item)?).warn(warnings))
}

/// Replaces an object by what `make` makes of it, in the version of the request.
///
/// Where somebody else was faster, it begins again; `make` must not keep anything. A version that the result names must be the one that is there.
pub(crate) async fn change(
    core: &Core,
    call: &Call,
    make: impl Fn(&Value) -> Result<Value, Status>,
) -> Result<Changed, Status> {
    for _ in 0..MAX_ATTEMPTS {
        let stored = core.find(call).await?;
        match once(core, call, &stored, &make).await {
            Err(Attempt::Overtaken) => {}
            Err(Attempt::Failed(status)) => return Err(status),
            Ok(changed) => return Ok(changed),
        }
    }
    let why = "too many others change it at the same time";
    Err(Status::conflict(&call.kind.resource(), call.name()?, why))
}

enum Attempt {
    Overtaken,
    Failed(Status),
}

impl From<Status> for Attempt {
    fn from(status: Status) -> Self {
        Self::Failed(status)
    }
}

async fn once(
    core: &Core,
    call: &Call,
    stored: &Arc<Stored>,
    make: &impl Fn(&Value) -> Result<Value, Status>,
) -> Result<Changed, Attempt> {
    let old = call.kind.info.convert(row::decode(stored)?, &call.path.gv.version);
    let mut new = make(&old)?;
    check_identity(call, &new, &old)?;
    decode::place(call, &mut new)?;
    complete(call, &mut new, &old)?;
    accept_names(core, call, &mut new);
    meta::metadata(&mut new).shift_remove("managedFields");
    check(call, &new, &old)?;
    crate::authorize::check_escalation(core, call, &new).await?;
    if new == old {
        return Ok(Changed::To(Item::Row(stored.clone(), stored.revision)));
    }
    bump(call, &mut new, &old);
    let old = call.to_storage(old);
    let new = call.to_storage(new);
    let is_gone = meta::is_terminating(&new)
        && meta::finalizers(&new).is_empty()
        && call.kind.special.is_released(&new);
    if let Backing::Virtual(writer) = &call.kind.backing {
        let write = virtual_write(call, call.name()?)?;
        if is_gone {
            writer.delete(write, new.clone()).await?;
            return Ok(Changed::Gone(Item::Value(new)));
        }
        return Ok(Changed::To(Item::Value(writer.update(write, old, new).await?)));
    }
    if call.dry_run()? == DryRun::All {
        return Ok(Changed::To(Item::Value(new)));
    }
    let (key, expected) = (stored.key.clone(), stored.revision);
    let fields = call.kind.selectable_values(&new);
    let object = row::encode(new, fields, call.kind.protection());
    let write = if is_gone {
        Write::Delete { key, expected }
    } else {
        Write::Update { key, expected, object: object.clone() }
    };
    match core.store.commit(write.into()).await {
        Ok(committed) => {
            let revision = committed.revisions.first().copied().unwrap_or(expected);
            core.settle(&call.kind, revision).await;
            let now = Stored { key: stored.key.clone(), created: stored.created, revision, object };
            let item = Item::Row(Arc::new(now), revision);
            Ok(if is_gone { Changed::Gone(item) } else { Changed::To(item) })
        }
        Err(Error::Conflict { .. }) => Err(Attempt::Overtaken),
        Err(error) => Err(Status::from(error).into()),
    }
}

/// It must be the same object, in the version that is there.
fn check_identity(call: &Call, new: &Value, old: &Value) -> Result<(), Status> {
    let resource = call.kind.resource();
    let name = call.name()?;
    let (sent, found) = (meta::uid(new), meta::uid(old));
    if !sent.is_empty() && sent != found {
        let why = format!("Precondition failed: UID in precondition: {sent}, UID in object meta: {found}");
        return Err(Status::conflict(&resource, name, &why));
    }
    let (sent, found) = (meta::text(new, "resourceVersion"), meta::text(old, "resourceVersion"));
    if !sent.is_empty() && sent != found {
        return Err(Status::modified(&resource, name, sent, found));
    }
    Ok(())
}

/// What clients cannot change, and what the sub-resource leaves alone.
fn complete(call: &Call, new: &mut Value, old: &Value) -> Result<(), Status> {
    match call.path.subresource.as_deref() {
        None => {
            for owned in [
                "uid",
                "creationTimestamp",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
                "generation",
                "selfLink",
                "resourceVersion",
                "generateName",
            ] {
                meta::take_over(new, old, owned);
            }
            if call.version()?.has_status() {
                take_over_field(new, old, "status");
            }
            call.kind.special.prepare_update(new, old);
        }
        Some("status") => {
            let status = new["status"].take();
            *new = old.clone();
            match status {
                Value::Null => new.as_object_mut().and_then(|fields| fields.shift_remove("status")),
                status => new.as_object_mut().and_then(|fields| fields.insert("status".into(), status)),
            };
        }
        Some("finalize") if call.kind.special == kinds::Special::Namespace => {
            *new = kinds::set_namespace_finalizers(old, new);
        }
        Some(_) => return Err(Status::method_not_allowed()),
    }
    Ok(())
}

fn take_over_field(new: &mut Value, old: &Value, name: &str) {
    let Some(fields) = new.as_object_mut() else { return };
    match old.get(name) {
        Some(value) => fields.insert(name.into(), value.clone()),
        None => fields.shift_remove(name),
    };
}

fn check(call: &Call, new: &Value, old: &Value) -> Result<(), Status> {
    let name = meta::name(old);
    let mut causes = decode::check_metadata(new);
    if meta::is_terminating(old) {
        let before = meta::finalizers(old);
        let added: Vec<&str> =
            meta::finalizers(new).into_iter().filter(|one| !before.contains(one)).collect();
        if !added.is_empty() {
            let why = format!(
                "no new finalizers can be added if the object is being deleted, found new finalizers {added:?}"
            );
            causes.push(Cause::forbidden(&"metadata.finalizers".into(), why));
        }
    }
    causes.extend(call.kind.special.validate(new, Some(old)));
    causes.extend(by_schema(call, new, Some(old))?);
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&call.kind.kind(), name, &causes))
}

/// A new generation where what is wanted changed.
fn bump(call: &Call, new: &mut Value, old: &Value) {
    let wanted = |object: &Value| {
        let mut wanted = object.clone();
        if let Some(fields) = wanted.as_object_mut() {
            fields.shift_remove("metadata");
            fields.shift_remove("status");
        }
        wanted
    };
    if tracks_generation(call) && call.path.subresource.is_none() && wanted(new) != wanted(old) {
        let generation = meta::generation(old) + 1;
        meta::metadata(new).insert("generation".into(), json!(generation));
    }
}
