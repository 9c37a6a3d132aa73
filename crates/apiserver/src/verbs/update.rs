//! Changing objects.

use std::sync::Arc;

use http::StatusCode;
use lanai_api::Cause;
use lanai_store::{Error, Stored, Transaction, Write};
use serde_json::{Value, json};

use crate::core::{Call, Core, MAX_ATTEMPTS};
use crate::decode::{self, Decoded};
use crate::kinds;
use crate::meta;
use crate::owners;
use crate::query::DryRun;
use crate::registry::Backing;
use crate::reply::Reply;
use crate::row;
use crate::status::{Reason, Status};
use crate::verbs::create::{self, accept_names, by_kind, tracks_generation, virtual_write};
use crate::verbs::patch::authorize_creation;
use crate::view::Item;

/// `PUT` to an object. Kinds that say so are made by it where there is none.
pub(crate) async fn update(core: &Core, call: &Call) -> Result<Reply, Status> {
    let sent = decode::object(call)?;
    let name = call.name()?;
    let found = meta::name(&sent.object);
    if found != name {
        let message = format!("the name of the object ({found}) does not match the name on the URL ({name})");
        return Err(Status::bad_request(message));
    }
    let has_version = !meta::text(&sent.object, "resourceVersion").is_empty();
    let needs_version =
        call.kind.info.origin != lanai_api::Origin::BuiltIn || call.kind.special.is_only_updated_as_seen();
    let may_create = meta::uid(&sent.object).is_empty()
        && call.path.subresource.is_none()
        && call.kind.special.is_made_by_update();
    let replace = |_: &Value| {
        if has_version || !needs_version {
            return Ok(sent.clone());
        }
        let cause =
            Cause::invalid(&"metadata.resourceVersion".into(), json!(0), "must be specified for an update");
        Err(Status::invalid(&call.kind.resource(), name, &[cause]))
    };
    for _ in 0..MAX_ATTEMPTS {
        match change(core, call, replace).await {
            Err(status) if status.reason == Reason::NotFound && may_create => {}
            done => return answer(call, done?),
        }
        authorize_creation(core, call).await?;
        let mut made = sent.clone();
        // A version of something that is not there is none.
        meta::metadata(&mut made.object).shift_remove("resourceVersion");
        match create::make(core, call, made).await {
            // Somebody else was faster.
            Err(status) if status.reason == Reason::AlreadyExists => {}
            made => return create::answer(call, made?),
        }
    }
    Err(overtaken(call, name))
}

fn overtaken(call: &Call, name: &str) -> Status {
    Status::conflict(&call.kind.resource(), name, "too many others change it at the same time")
}

/// How an object became another one, and what the client is warned of.
pub(crate) struct Done {
    pub changed: Changed,
    pub warnings: Vec<String>,
}

/// How an object became another one.
pub(crate) enum Changed {
    /// As it is now.
    To(Item),
    /// It was held by nothing any more, and is gone; this is how it was last.
    Gone(Item),
}

/// The answer to a change.
pub(crate) fn answer(call: &Call, done: Done) -> Result<Reply, Status> {
    let (Changed::To(item) | Changed::Gone(item)) = done.changed;
    let view = call.view()?;
    Ok(Reply::whole(StatusCode::OK, view.accept.format, view.one(item)?).warn(done.warnings))
}

/// Replaces an object by what `make` makes of it, in the version of the request.
///
/// Where somebody else was faster, it begins again; `make` must not keep anything. A version that the result names must be the one that is there.
pub(crate) async fn change(
    core: &Core,
    call: &Call,
    make: impl Fn(&Value) -> Result<Decoded, Status>,
) -> Result<Done, Status> {
    for _ in 0..MAX_ATTEMPTS {
        let stored = core.find(call).await?;
        let old = match call.kind.elsewhere() {
            Some(kept) => kept.read(&stored, stored.revision).await?,
            None => row::decode(&stored)?,
        };
        let old = call.kind.presented(old, &call.path.gv.version);
        let wanted = make(&old)?;
        let mut warnings = wanted.warnings.clone();
        match once(core, call, &stored, old, wanted).await {
            Err(Attempt::Overtaken) => {}
            Err(Attempt::Failed(status)) => return Err(status),
            Ok((changed, more)) => {
                warnings.extend(more);
                return Ok(Done { changed, warnings });
            }
        }
    }
    Err(overtaken(call, call.name()?))
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
    old: Value,
    wanted: Decoded,
) -> Result<(Changed, Vec<String>), Attempt> {
    let silent = |changed| Ok((changed, Vec::new()));
    let Decoded { object: mut new, owners, .. } = wanted;
    check_identity(call, &new, &old)?;
    decode::place(call, &mut new)?;
    let managed = owners::take(&mut new);
    complete(call, &mut new, &old)?;
    let claim = core.claim_names(call, &new).await?;
    accept_names(core, call, &mut new);
    owners::put(&mut new, managed);
    let mut new = owners::tracked(call, Some(&old), new, owners);
    check(call, &new, &old)?;
    crate::authorize::check_escalation(core, call, &new).await?;
    let is_approval = call.path.subresource.is_some() && matches!(call.kind.backing, Backing::Virtual(_));
    if new == old && !is_approval {
        let item = match call.kind.elsewhere() {
            Some(_) => Item::Value(old),
            None => Item::Row(stored.clone(), stored.revision),
        };
        return silent(Changed::To(item));
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
            return match writer.delete(write, new.clone()).await {
                Ok(()) => silent(Changed::Gone(Item::Value(new))),
                Err(status) if status.is_overtaken() => Err(Attempt::Overtaken),
                Err(status) => Err(status.into()),
            };
        }
        return match writer.update(write, old, new).await {
            Ok(made) => Ok((Changed::To(Item::Value(made.object)), made.warnings)),
            Err(status) if status.is_overtaken() => Err(Attempt::Overtaken),
            Err(status) => Err(status.into()),
        };
    }
    let admitted = if is_gone { None } else { core.admit(call, &new, Some(&old)).await? };
    if call.options.dry_run == DryRun::All {
        return silent(Changed::To(Item::Value(new)));
    }
    let (key, expected) = (stored.key.clone(), stored.revision);
    let fields = call.kind.row_fields(&new, &call.path.gv.version);
    let object = row::encode(new, &fields, call.kind.protection());
    let write = if is_gone {
        Write::Delete { key, expected }
    } else {
        Write::Update { key, expected, object: object.clone() }
    };
    let writes = std::iter::once(write).chain(claim).chain(admitted).collect();
    match core.store.commit(Transaction { writes, ..Transaction::default() }).await {
        Ok(committed) => {
            let revision = committed.revisions.first().copied().unwrap_or(expected);
            core.settle(&call.kind, revision).await;
            let now = Stored { key: stored.key.clone(), created: stored.created, revision, object };
            let item = Item::Row(Arc::new(now), revision);
            silent(if is_gone { Changed::Gone(item) } else { Changed::To(item) })
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
        None | Some("scale") => {
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
        Some(_) if matches!(call.kind.backing, Backing::Virtual(_)) => {
            for owned in ["uid", "creationTimestamp", "deletionTimestamp", "generation", "resourceVersion"] {
                meta::take_over(new, old, owned);
            }
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
    let mut causes = lanai_api::meta::validate_update(new, old);
    causes.extend(by_kind(call, new, Some(old))?);
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&call.kind.kind(), meta::name(old), &causes))
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
    if tracks_generation(call)
        && call.path.subresource.as_deref() != Some("status")
        && wanted(new) != wanted(old)
    {
        let generation = meta::generation(old) + 1;
        meta::metadata(new).insert("generation".into(), json!(generation));
    }
}
