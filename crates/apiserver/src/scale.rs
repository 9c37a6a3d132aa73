//! How many replicas an object has, as a `Scale`.

use http::StatusCode;
use lanai_api::Verb;
use lanai_api::kind::Scale;
use serde_json::{Value, json};

use crate::core::{Call, Core};
use crate::decode::{self, Decoded};
use crate::meta;
use crate::owners::Owners;
use crate::reply::Reply;
use crate::row;
use crate::status::Status;
use crate::verbs::patch::Patch;
use crate::verbs::update::{self, Changed};
use crate::view::Item;

/// Get, update or patch of `scale`.
pub(crate) async fn answer(core: &Core, verb: Verb, call: &Call, scale: &Scale) -> Result<Reply, Status> {
    let object = match verb {
        Verb::Get => row::decode(&*core.find(call).await?)?,
        Verb::Create
        | Verb::Delete
        | Verb::DeleteCollection
        | Verb::List
        | Verb::Patch
        | Verb::Update
        | Verb::Watch => {
            let ask = Ask::read(verb, call)?;
            let done = update::change(core, call, |old| {
                let sent = match &ask {
                    Ask::Replace(sent) => sent.clone(),
                    Ask::Patch(patch) => patch.applied(call, &shown(old, scale))?,
                };
                let object = replaced(old, &sent, scale);
                Ok(Decoded { object, owners: Owners::ByChange, warnings: Vec::new() })
            });
            match done.await?.changed {
                Changed::To(Item::Row(stored, _)) | Changed::Gone(Item::Row(stored, _)) => {
                    row::decode(&stored)?
                }
                Changed::To(Item::Value(value)) | Changed::Gone(Item::Value(value)) => value,
            }
        }
    };
    Ok(Reply::value(StatusCode::OK, call.accept.format, &shown(&object, scale)))
}

/// What is asked of a scale.
enum Ask {
    Replace(Value),
    Patch(Patch),
}

impl Ask {
    fn read(verb: Verb, call: &Call) -> Result<Self, Status> {
        if verb == Verb::Patch {
            return Ok(Self::Patch(Patch::read(call)?));
        }
        Ok(Self::Replace(decode::sent(call, "Scale")?.value))
    }
}

fn pointer(path: &str) -> String {
    path.replace('.', "/")
}

fn shown(object: &Value, scale: &Scale) -> Value {
    let number = |path: &str| object.pointer(&pointer(path)).cloned().unwrap_or_else(|| json!(0));
    let of = |name: &str| object["metadata"][name].clone();
    let mut metadata = json!({"name": of("name"), "uid": of("uid"), "resourceVersion": of("resourceVersion"), "creationTimestamp": of("creationTimestamp")});
    if !meta::namespace(object).is_empty() {
        metadata["namespace"] = of("namespace");
    }
    let mut status = json!({"replicas": number(&scale.status_replicas)});
    if let Some(selector) = scale.label_selector.as_deref().and_then(|path| object.pointer(&pointer(path))) {
        status["selector"] = selector.clone();
    }
    json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
           "spec": {"replicas": number(&scale.spec_replicas)}, "status": status})
}

fn replaced(old: &Value, sent: &Value, scale: &Scale) -> Value {
    let mut new = old.clone();
    let replicas = sent["spec"]["replicas"].as_i64().unwrap_or_default();
    let mut place = &mut new;
    for part in scale.spec_replicas.trim_start_matches('.').split('.') {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[part];
    }
    *place = json!(replicas);
    for shown in ["resourceVersion", "uid"] {
        let text = meta::text(sent, shown).to_owned();
        if !text.is_empty() {
            meta::metadata(&mut new).insert(shown.into(), json!(text));
        }
    }
    new
}
