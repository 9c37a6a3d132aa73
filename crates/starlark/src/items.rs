//! Bringing what a script made back into the resources.

use std::collections::HashMap;

use lanai_krm::Resource;
use lanai_krm::resource::ResourceId;
use serde_json::Value as Json;

use crate::engine::Made;
use crate::failure::Failure;
use crate::sync::sync;
use crate::value::{document, normal, of_node};

/// The resources that a script left, in its order.
///
/// A resource that the script changed in place, or that has the type and the name of one that was there, is that one: what is
/// the same stays byte for byte as it is written. Others are new.
///
/// # Errors
/// When a resource cannot be written.
pub fn put_back(before: &[Resource], values: &[Json], made: Vec<Made>) -> Result<Vec<Resource>, Failure> {
    let from = origins(before, &made);
    let one = |(made, from): (Made, Option<usize>)| match from {
        Some(from) => edited(&before[from], &normal(values[from].clone()), &made.value),
        None => written(&made.value),
    };
    made.into_iter().zip(from).map(one).collect()
}

/// Which resource each was; every resource is there once.
fn origins(before: &[Resource], made: &[Made]) -> Vec<Option<usize>> {
    let mut left: HashMap<ResourceId, Vec<usize>> = HashMap::new();
    for (at, resource) in before.iter().enumerate().rev() {
        if !made.iter().any(|made| made.from == Some(at)) {
            left.entry(resource.id()).or_default().push(at);
        }
    }
    made.iter().map(|made| made.from.or_else(|| left.get_mut(&id(&made.value))?.pop())).collect()
}

fn id(value: &Json) -> ResourceId {
    let text = |pointer: &str| value.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned();
    let api_version = text("/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    ResourceId {
        group: group.into(),
        version: version.into(),
        kind: text("/kind"),
        namespace: text("/metadata/namespace"),
        name: text("/metadata/name"),
    }
}

fn edited(resource: &Resource, before: &Json, after: &Json) -> Result<Resource, Failure> {
    if before == after {
        return Ok(resource.clone());
    }
    let mut edited = resource.clone();
    let done =
        edited.edit(|document| document.edit_together(|document| sync(document.root_mut(), before, after)));
    // What was written must mean what the script made; merge keys can stand in the way.
    let is_it = |resource: &Resource| of_node(resource.root()).is_ok_and(|value| normal(value) == *after);
    if done.is_ok() && is_it(&edited) {
        return Ok(edited);
    }
    let mut anew = written(after)?;
    anew.set_origin(resource.origin().cloned());
    Ok(anew)
}

fn written(value: &Json) -> Result<Resource, Failure> {
    let document = document(value).map_err(|error| Failure::new(error.to_string()))?;
    Resource::try_from(document).map_err(|error| Failure::new(error.to_string()))
}
