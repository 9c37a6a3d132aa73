//! Making objects.

use std::sync::Arc;

use http::StatusCode;
use lanai_api::{Cause, Origin, schema};
use lanai_store::{Error, Key, Revision, Stored, Transaction, Write};
use serde_json::{Value, json};

use crate::core::{Call, Core, MAX_ATTEMPTS};
use crate::decode::{self, Decoded};
use crate::meta;
use crate::owners::tracked;
use crate::query::DryRun;
use crate::registry::{Backing, VirtualWrite};
use crate::reply::Reply;
use crate::row;
use crate::status::Status;
use crate::view::Item;

/// `POST` to a collection.
pub(crate) async fn create(core: &Core, call: &Call) -> Result<Reply, Status> {
    let decoded = decode::object(call)?;
    answer(call, make(core, call, decoded).await?)
}

/// A new object, and what the client is warned of.
pub(crate) type Made = (Item, Vec<String>);

/// The answer to a write that made an object.
pub(crate) fn answer(call: &Call, (item, warnings): Made) -> Result<Reply, Status> {
    let view = call.view()?;
    let made = Some(item.name().to_owned());
    let reply = Reply::whole(StatusCode::CREATED, view.accept.format, view.one(item)?).warn(warnings);
    Ok(Reply { made, ..reply })
}

/// Makes an object, if there is none of its name.
pub(crate) async fn make(core: &Core, call: &Call, decoded: Decoded) -> Result<Made, Status> {
    let Decoded { object, owners, warnings } = decoded;
    let is_generated = meta::name(&object).is_empty() && !meta::text(&object, "generateName").is_empty();
    // What the server adds is nobody's.
    let object = tracked(call, None, object, owners);
    let mut attempt = 0;
    loop {
        attempt += 1;
        let mut object = object.clone();
        let claim = core.claim_names(call, &object).await?;
        complete(core, call, &mut object)?;
        let name = meta::name(&object).to_owned();
        check(call, &object)?;
        crate::authorize::check_escalation(core, call, &object).await?;
        let object = call.to_storage(object);
        if let Backing::Virtual(writer) = &call.kind.backing {
            core.namespace_holds(call, &name).await?;
            let made = writer.create(virtual_write(call, &name)?, object).await?;
            let warnings = warnings.into_iter().chain(made.warnings).collect();
            return Ok((Item::Value(made.object), warnings));
        }
        let holds = core.namespace_holds(call, &name).await?;
        let key = call.kind.key(call.namespace(), &name)?;
        let admitted = core.admit(call, &object, None).await?;
        if call.options.dry_run == DryRun::All {
            if core.store.get(&key).await?.is_some() {
                return Err(there_is_one(core, call, &key).await);
            }
            return Ok((Item::Value(object), warnings));
        }
        let fields = call.kind.row_fields(&object, &call.path.gv.version);
        let object = row::encode(object, &fields, call.kind.protection());
        let write = Write::Create { key: key.clone(), object: object.clone() };
        let writes = std::iter::once(write).chain(claim).chain(admitted).collect();
        let transaction = Transaction { conditions: holds.into_iter().collect(), writes, blobs: Vec::new() };
        match core.store.commit(transaction).await {
            Ok(committed) => {
                let revision = committed.revisions.first().copied().unwrap_or(Revision::ZERO);
                core.settle(&call.kind, revision).await;
                let stored = Stored { key, created: revision, revision, object };
                return Ok((Item::Row(Arc::new(stored), revision), warnings));
            }
            Err(Error::Conflict { key: found, .. }) if found == key && !is_generated => {
                return Err(there_is_one(core, call, &key).await);
            }
            // The namespace changed, another definition did, so did what it must not exclude, or the generated name is taken.
            Err(Error::Conflict { .. }) if attempt < MAX_ATTEMPTS => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// There is an object of that name, perhaps on its way out.
async fn there_is_one(core: &Core, call: &Call, key: &Key) -> Status {
    let mut status = Status::already_exists(&call.kind.resource(), key.name());
    let found = core.store.get(key).await.ok().flatten();
    if found.and_then(|stored| row::decode(&stored).ok()).is_some_and(|old| meta::is_terminating(&old)) {
        status.message.insert_str(0, "object is being deleted: ");
    }
    status
}

/// What the server says about a new object.
fn complete(core: &Core, call: &Call, object: &mut Value) -> Result<(), Status> {
    decode::place(call, object)?;
    if !meta::text(object, "resourceVersion").is_empty() {
        return Err(Status::bad_request("resourceVersion should not be set on objects to be created"));
    }
    let generate = meta::text(object, "generateName").to_owned();
    if meta::name(object).is_empty() && !generate.is_empty() {
        let name = lanai_api::meta::generated_name(&generate, &core.suffix());
        meta::metadata(object).insert("name".into(), json!(name));
    }
    let metadata = meta::metadata(object);
    for owned in ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion"] {
        metadata.shift_remove(owned);
    }
    metadata.insert("uid".into(), json!(core.new_uid()));
    metadata.insert("creationTimestamp".into(), meta::time(call.now));
    if tracks_generation(call) {
        metadata.insert("generation".into(), json!(1));
    } else {
        metadata.shift_remove("generation");
    }
    if call.version()?.has_status() {
        object.as_object_mut().map(|fields| fields.shift_remove("status"));
    }
    call.kind.special.prepare_create(object);
    if let Backing::Virtual(writer) = &call.kind.backing {
        writer.prepare(call.namespace().unwrap_or_default(), object)?;
    }
    accept_names(core, call, object);
    Ok(())
}

/// A definition says at once which of its names are taken, and whether it is served.
pub(crate) fn accept_names(core: &Core, call: &Call, object: &mut Value) {
    if call.kind.special != crate::kinds::Special::Definition {
        return;
    }
    let (group, plural) = (object["spec"]["group"].clone(), object["spec"]["names"]["plural"].clone());
    let registry = core.follower.snapshot().registry;
    let others = registry
        .all()
        .filter(|kind| group == kind.info.group.as_str() && plural != kind.info.names.plural.as_str());
    let others: Vec<lanai_api::crd::Defined> = others
        .map(|kind| {
            let names = &kind.info.names;
            let mut resources = vec![names.plural.clone(), names.singular.clone()];
            resources.extend(names.short_names.iter().cloned());
            lanai_api::crd::Defined { resources, kinds: vec![names.kind.clone(), names.list_kind.clone()] }
        })
        .collect();
    object["status"] = lanai_api::crd::accept(object, &others, call.now);
}

/// Whether `metadata.generation` counts the changes of what is wanted.
pub(crate) fn tracks_generation(call: &Call) -> bool {
    call.kind.info.origin != lanai_api::Origin::BuiltIn
        || call.kind.special == crate::kinds::Special::Definition
}

fn check(call: &Call, object: &Value) -> Result<(), Status> {
    let mut causes = lanai_api::meta::validate_create(object, &call.kind.info);
    causes.extend(by_kind(call, object, None)?);
    if causes.is_empty() {
        return Ok(());
    }
    Err(Status::invalid(&call.kind.kind(), meta::name(object), &causes))
}

pub(crate) fn virtual_write(call: &Call, name: &str) -> Result<VirtualWrite, Status> {
    Ok(VirtualWrite {
        key: call.kind.key(call.namespace(), name)?,
        subresource: call.path.subresource.clone(),
        identity: call.identity.clone(),
        dry_run: call.options.dry_run,
    })
}

/// What is wrong with what the kind itself says, beside metadata.
pub(crate) fn by_kind(call: &Call, new: &Value, old: Option<&Value>) -> Result<Vec<Cause>, Status> {
    let info = &call.kind.info;
    Ok(match info.origin {
        Origin::BuiltIn => lanai_api::core::validate(info, new, old),
        Origin::Ours | Origin::Custom => {
            schema::validate(new, old, &call.version()?.schema, &schema::Limits::default())
        }
    })
}
