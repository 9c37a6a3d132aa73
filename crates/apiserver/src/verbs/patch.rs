//! Changing parts of objects.

use serde_json::Value;

use crate::core::{Call, Core};
use crate::decode::{self, Decoded};
use crate::meta;
use crate::reply::Reply;
use crate::status::{Reason, Status};
use crate::verbs::update;

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";

/// `PATCH` of an object.
pub(crate) async fn patch(core: &Core, call: &Call) -> Result<Reply, Status> {
    let media = call.content_type.split(';').next().unwrap_or_default().trim();
    match media {
        JSON => {
            let patch = decode::json(&call.body)?;
            change(core, call, |old| apply_json(old, &patch)).await
        }
        MERGE => {
            let patch = decode::json(&call.body)?;
            if !patch.is_object() {
                return Err(Status::bad_request("a merge patch is an object"));
            }
            change(core, call, |old| Ok(lanai_apply::merge::patch(old, &patch))).await
        }
        other => Err(decode::unsupported(&[JSON, MERGE], other)),
    }
}

async fn change(
    core: &Core,
    call: &Call,
    make: impl Fn(&Value) -> Result<Value, Status>,
) -> Result<Reply, Status> {
    let warnings = std::sync::Mutex::new(Vec::new());
    let changed = update::change(core, call, |old| {
        let new = make(old)?;
        check_name(call, &new)?;
        let Decoded { object, warnings: found } = decode::admit(call, new)?;
        *warnings.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = found;
        Ok(object)
    })
    .await?;
    let warnings = warnings.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    update::answer(call, changed, warnings)
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
        Error::TooMany(_) => Status::new(Reason::RequestEntityTooLarge, error.to_string()),
        Error::Failed(_) => {
            let message = "the server rejected our request due to an error in our request";
            Status::new(Reason::Invalid, message).because("UnexpectedServerResponse", error.to_string(), "")
        }
        _ => Status::bad_request(error.to_string()),
    })
}
