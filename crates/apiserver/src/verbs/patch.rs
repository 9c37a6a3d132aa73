//! Changing parts of objects.

use lanai_api::{Cause, Origin};
use serde_json::Value;

use crate::authorize::authorize;
use crate::core::{Call, Core, MAX_ATTEMPTS};
use crate::decode::{self, Decoded, Sent};
use crate::meta;
use crate::owners::Owners;
use crate::policy::{Ask, What};
use crate::reply::Reply;
use crate::status::{GroupResource, Reason, Status};
use crate::verbs::{create, update};

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
/// The media type of server-side apply.
pub(crate) const APPLY: &str = "application/apply-patch+yaml";

/// `PATCH` of an object.
pub(crate) async fn patch(core: &Core, call: &Call) -> Result<Reply, Status> {
    if decode::media(&call.content_type) == APPLY {
        return apply(core, call).await;
    }
    let patch = Patch::read(call)?;
    let done = update::change(core, call, |old| {
        let object = patch.applied(call, old)?;
        check_name(call, &object)?;
        decode::admit(call, Sent::plain(object), Owners::ByChange).map_err(|status| not_an_object(&status))
    });
    update::answer(call, done.await?)
}

/// A patch that was read.
pub(crate) enum Patch {
    /// A list of operations.
    Json(Value),
    /// What changes; null removes.
    Merge(Value),
    /// The same, and lists merge as the kind says.
    Strategic(Value),
}

impl Patch {
    /// Reads the patch of a request.
    pub(crate) fn read(call: &Call) -> Result<Self, Status> {
        let body = || decode::patch(&call.body);
        let object = || {
            let found = body()?;
            if found.is_object() {
                return Ok(found);
            }
            Err(Status::bad_request("error decoding patch: the patch is not an object"))
        };
        match decode::media(&call.content_type) {
            JSON => Ok(Self::Json(body()?)),
            MERGE => Ok(Self::Merge(object()?)),
            // How the lists of other kinds merge is nowhere said.
            STRATEGIC if call.kind.info.origin == Origin::BuiltIn => Ok(Self::Strategic(object()?)),
            other => {
                let known: &[&str] = match call.kind.info.origin {
                    Origin::BuiltIn => &[JSON, MERGE, STRATEGIC, APPLY],
                    Origin::Ours | Origin::Custom => &[JSON, MERGE, APPLY],
                };
                let mut status = decode::unsupported(known);
                if other != STRATEGIC {
                    status.details.get_or_insert_default();
                }
                Err(status)
            }
        }
    }

    /// What the patch makes of an object.
    pub(crate) fn applied(&self, call: &Call, old: &Value) -> Result<Value, Status> {
        match self {
            Self::Json(patch) => apply_json(old, patch),
            Self::Merge(patch) => Ok(lanai_apply::merge::patch(old, patch)),
            Self::Strategic(patch) => {
                let schema = &call.version()?.schema;
                lanai_apply::strategic::patch(old, patch, schema)
                    .map_err(|error| Status::bad_request(error.to_string()))
            }
        }
    }
}

fn check_name(call: &Call, new: &Value) -> Result<(), Status> {
    let (found, name) = (meta::name(new), call.name()?);
    if found == name {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the name of the object ({found}) does not match the name on the URL ({name})"
    )))
}

fn apply_json(old: &Value, patch: &Value) -> Result<Value, Status> {
    use lanai_apply::json::Error;
    lanai_apply::json::patch(old, patch).map_err(|error| match error {
        Error::TooMany(_) | Error::CopiesTooMuch => {
            Status::new(Reason::RequestEntityTooLarge, format!("Request entity too large: {error}"))
        }
        Error::Failed(_) | Error::TooDeep => {
            let message = "the server rejected our request due to an error in our request";
            Status::new(Reason::Invalid, message).because("UnexpectedServerResponse", error.to_string(), "")
        }
        _ => Status::bad_request(error.to_string()),
    })
}

/// What a patch makes is not an object of the kind: the patch is to blame, not the form of the request.
fn not_an_object(status: &Status) -> Status {
    if status.reason != Reason::BadRequest {
        return status.clone();
    }
    let nothing = GroupResource { group: String::new(), resource: String::new() };
    let cause = Cause::invalid(&"patch".into(), "<the object with the patch>", status.message.clone());
    Status::invalid(&nothing, "", &[cause])
}

/// Server-side apply: makes the object where there is none.
async fn apply(core: &Core, call: &Call) -> Result<Reply, Status> {
    let applied = read_applied(call)?;
    for _ in 0..MAX_ATTEMPTS {
        match update::change(core, call, |old| wanted(call, Some(old), &applied)).await {
            Err(status) if status.reason == Reason::NotFound && call.path.subresource.is_none() => {}
            done => return update::answer(call, done?),
        }
        authorize_creation(core, call).await?;
        match create::make(core, call, wanted(call, None, &applied)?).await {
            // Somebody else was faster.
            Err(status) if status.reason == Reason::AlreadyExists => {}
            made => return create::answer(call, made?),
        }
    }
    let why = "too many others change it at the same time";
    Err(Status::conflict(&call.kind.resource(), call.name()?, why))
}

/// Who makes an object by another verb than `create` needs the right to create it as well.
pub(crate) async fn authorize_creation(core: &Core, call: &Call) -> Result<(), Status> {
    let what = What::Resource {
        group: call.path.gv.group.clone(),
        resource: call.path.resource.clone(),
        subresource: String::new(),
        namespace: call.namespace().unwrap_or_default().to_owned(),
        name: call.name()?.to_owned(),
    };
    authorize(core, &call.identity, &Ask { verb: "create".into(), what }).await
}

fn read_applied(call: &Call) -> Result<Value, Status> {
    let applied = decode::yaml(&call.body)?;
    let text = |name: &str| applied[name].as_str().unwrap_or_default();
    if text("kind").is_empty() {
        return Err(Status::bad_request("error decoding YAML: Object 'Kind' is missing"));
    }
    let info = &call.kind.info;
    if text("kind") != info.names.kind || text("apiVersion") != info.api_version(&call.path.gv.version) {
        let message = format!("invalid object type: {}, Kind={}", text("apiVersion"), text("kind"));
        return Err(Status::bad_request(message));
    }
    if !applied["metadata"].is_object() {
        return Err(Status::bad_request("metadata of the object is not an object"));
    }
    check_name(call, &applied)?;
    Ok(applied)
}

/// What applying makes of an object, or of nothing.
fn wanted(call: &Call, live: Option<&Value>, applied: &Value) -> Result<Decoded, Status> {
    let mut applied = applied.clone();
    if live.is_none() {
        let uid = meta::uid(&applied);
        if !uid.is_empty() {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(Status::conflict(&call.kind.resource(), call.name()?, &why));
        }
        // A version of something that is not there is none.
        meta::metadata(&mut applied).shift_remove("resourceVersion");
    }
    let made = lanai_apply::apply(&call.kind.info, live, &applied, &call.writer(), call.options.force);
    let object = made.map_err(|error| refused(&error))?;
    decode::admit(call, Sent::plain(object), Owners::Said)
}

fn refused(error: &lanai_apply::Error) -> Status {
    let lanai_apply::Error::Conflict(conflicts) = error else {
        return Status::bad_request(error.to_string());
    };
    let status = Status::new(Reason::Conflict, error.to_string());
    conflicts.iter().fold(status, |status, conflict| {
        let message = format!("conflict with {}", conflict.owner);
        status.because("FieldManagerConflict", message, &conflict.field)
    })
}
