//! From a request to what is asked, and from there to the verb that does it.

use std::sync::Arc;

use http::{HeaderMap, Method, StatusCode};
use lanai_api::Verb;
use lanai_api::kind::SubResource;

use crate::accept::{Accept, Format, Shape};
use crate::core::{Call, Core};
use crate::discovery::{self, Which};
use crate::documents;
use crate::path::{ResourcePath, Target};
use crate::policy::{Ask, What};
use crate::query::Query;
use crate::registry::{Backing, Registered};
use crate::reply::{Reply, ReplyBody};
use crate::reviews;
use crate::server::Inner;
use crate::status::{Reason, Status};
use crate::verbs::{create, delete, patch, read, update, watch};

/// The verb of a request for objects.
pub(crate) fn verb(method: &Method, path: &ResourcePath, query: &Query) -> Result<Verb, Status> {
    let is_one = path.name.is_some();
    Ok(match *method {
        // One object is watched as a collection with a selector; with its name in the path, it is read.
        Method::GET | Method::HEAD if query.flag("watch") && !is_one => Verb::Watch,
        Method::GET | Method::HEAD if is_one => Verb::Get,
        Method::GET | Method::HEAD => Verb::List,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE if is_one => Verb::Delete,
        Method::DELETE => Verb::DeleteCollection,
        _ => return Err(Status::method_not_allowed()),
    })
}

/// What rules are asked about a request.
pub(crate) fn ask(method: &Method, target: &Target, raw_path: &str, query: &Query) -> Result<Ask, Status> {
    if let Target::Objects(path) = target {
        let verb = verb(method, path, query)?.as_str().to_owned();
        // A namespace itself is asked about in itself, so that a binding in it can show it.
        let own = path.name.clone().filter(|_| path.gv.group.is_empty() && path.resource == "namespaces");
        let what = What::Resource {
            group: path.gv.group.clone(),
            resource: path.resource.clone(),
            subresource: path.subresource.clone().unwrap_or_default(),
            namespace: path.namespace.clone().or(own).unwrap_or_default(),
            name: path.name.clone().unwrap_or_default(),
        };
        return Ok(Ask { verb, what });
    }
    Ok(Ask { verb: method.as_str().to_lowercase(), what: What::Path(raw_path.to_owned()) })
}

/// Whether something can be asked without saying who one is.
pub(crate) fn is_public(raw_path: &str) -> bool {
    let path = raw_path.trim_end_matches('/');
    ["/healthz", "/livez", "/readyz"]
        .iter()
        .any(|public| path == *public || path.starts_with(&format!("{public}/")))
}

/// Everything but objects.
pub(crate) fn fixed(
    inner: &Inner,
    method: &Method,
    target: &Target,
    query: &Query,
    headers: &HeaderMap,
) -> Result<Reply, Status> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return Err(Status::method_not_allowed());
    }
    let snapshot = inner.core.follower.snapshot();
    let registry = &snapshot.registry;
    if let Target::Other(path) = target
        && path.starts_with("/openapi/")
    {
        return documents::answer(&snapshot.documents, registry, path, query, headers);
    }
    let accept = Accept::of(headers)?;
    let found = match target {
        Target::CoreVersions if accept.shape == Shape::Discovery => {
            return Ok(aggregated(&discovery::aggregated(registry, Which::Core)));
        }
        Target::Groups if accept.shape == Shape::Discovery => {
            return Ok(aggregated(&discovery::aggregated(registry, Which::Named)));
        }
        Target::CoreVersions => Some(discovery::core_versions(registry)),
        Target::Groups => Some(discovery::groups(registry)),
        Target::Group(group) => discovery::group(registry, group),
        Target::Resources(gv) => discovery::resources(registry, gv),
        Target::Objects(_) => None,
        Target::Other(path) => return other(inner, path, accept),
    };
    let value = found.ok_or_else(Status::no_such_path)?;
    Ok(Reply::value(StatusCode::OK, accept.format, &value))
}

fn aggregated(value: &serde_json::Value) -> Reply {
    let mut reply = Reply::value(StatusCode::OK, Format::Json, value);
    reply.format = Format::Discovery;
    reply
}

fn other(inner: &Inner, path: &str, accept: Accept) -> Result<Reply, Status> {
    let text = |text: &'static str| Reply::raw(Format::Text, ReplyBody::Text(text));
    match path.trim_end_matches('/') {
        "/version" => Ok(Reply::value(StatusCode::OK, accept.format, &discovery::version())),
        "/healthz" | "/livez" | "/healthz/ping" | "/livez/ping" => Ok(text("ok")),
        "/readyz" | "/readyz/ping" => {
            if inner.core.ending.is_cancelled() {
                Err(Status::new(Reason::ServiceUnavailable, "the server is ending"))
            } else {
                Ok(text("ok"))
            }
        }
        "/metrics" => {
            let mut text = inner.metrics.text(inner.requests.open(), inner.watches.open());
            let measures = inner.measures.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
            text.extend(measures.iter().map(|measure| measure()));
            Ok(Reply::raw(Format::Text, ReplyBody::Whole(text.into_bytes())))
        }
        "/openid/v1/jwks" => {
            let key = inner.authentication.tokens.as_ref().ok_or_else(Status::no_such_path)?;
            Ok(Reply::value(StatusCode::OK, Format::Json, &serde_json::json!({"keys": [key.public()]})))
        }
        "" => {
            let paths = [
                "/api",
                "/apis",
                "/healthz",
                "/livez",
                "/metrics",
                "/openapi/v2",
                "/openapi/v3",
                "/readyz",
                "/version",
            ];
            Ok(Reply::value(StatusCode::OK, accept.format, &serde_json::json!({"paths": paths})))
        }
        _ => Err(Status::no_such_path()),
    }
}

/// The kind of a path; waits for the newest definitions before it says that there is none.
pub(crate) async fn kind(core: &Core, path: &ResourcePath) -> Result<Arc<Registered>, Status> {
    if let Some(kind) = core.follower.snapshot().registry.find(&path.gv, &path.resource) {
        return Ok(kind.clone());
    }
    let snapshot = core.follower.newest().await?;
    snapshot.registry.find(&path.gv, &path.resource).cloned().ok_or_else(Status::no_such_path)
}

/// Does what is asked with objects.
pub(crate) async fn objects(inner: &Inner, verb: Verb, call: &Call) -> Result<Reply, Status> {
    let done = by_verb(inner, verb, call).await;
    let (Err(status), Backing::Virtual(kept)) = (&done, &call.kind.backing) else { return done };
    let is_late = matches!(status.reason, Reason::NotFound | Reason::Conflict);
    let (Some(name), Verb::Update | Verb::Patch | Verb::Delete, true) = (&call.path.name, verb, is_late)
    else {
        return done;
    };
    let key = call.kind.key(call.namespace(), name)?;
    done.map_err(|status| kept.explain(&key, status))
}

async fn by_verb(inner: &Inner, verb: Verb, call: &Call) -> Result<Reply, Status> {
    let core = &inner.core;
    check_place(verb, call)?;
    if let Some(name) = &call.path.subresource {
        let sub = call.version()?.sub_resource(name).ok_or_else(Status::no_such_path)?;
        return side(inner, verb, call, sub).await;
    }
    if verb == Verb::DeleteCollection && call.query.flag("unregister") {
        return delete::unregister(core, call).await;
    }
    if !call.kind.info.allows(verb) {
        return Err(match &call.kind.backing {
            Backing::Virtual(kept) => kept.not_allowed(verb),
            Backing::Stored | Backing::Answered => Status::method_not_allowed(),
        });
    }
    if let Backing::Answered = call.kind.backing {
        return reviews::answer(core, &inner.authentication, call).await;
    }
    match verb {
        Verb::Get => read::get(core, call).await,
        Verb::List => read::list(core, call).await,
        Verb::Watch => watch::watch(core, call).await,
        Verb::Create => create::create(core, call).await,
        Verb::Update => update::update(core, call).await,
        Verb::Patch => patch::patch(core, call).await,
        Verb::Delete => delete::delete(core, call).await,
        Verb::DeleteCollection => delete::delete_collection(core, call).await,
    }
}

async fn side(inner: &Inner, verb: Verb, call: &Call, sub: &SubResource) -> Result<Reply, Status> {
    let core = &inner.core;
    match (sub, verb) {
        (SubResource::Action(action), Verb::Create) if action.name == "token" => {
            reviews::request_token(core, &inner.authentication, call).await
        }
        (SubResource::Action(action), _) if !action.verbs.contains(&verb) => {
            Err(Status::method_not_allowed())
        }
        (SubResource::Status | SubResource::Action(_), Verb::Get) => read::get(core, call).await,
        (SubResource::Status | SubResource::Action(_), Verb::Update) => update::update(core, call).await,
        (SubResource::Status | SubResource::Action(_), Verb::Patch) => patch::patch(core, call).await,
        (SubResource::Scale(scale), Verb::Get | Verb::Update | Verb::Patch) => {
            crate::scale::answer(core, verb, call, scale).await
        }
        _ => Err(Status::method_not_allowed()),
    }
}

/// Objects in namespaces need one, and others must not have one.
fn check_place(verb: Verb, call: &Call) -> Result<(), Status> {
    if verb == Verb::Create && call.path.name.is_some() && call.path.subresource.is_none() {
        return Err(Status::method_not_allowed());
    }
    match (call.kind.is_namespaced(), call.namespace()) {
        (true, None) if verb == Verb::Create || verb == Verb::DeleteCollection => {
            Err(Status::method_not_allowed())
        }
        (true, None) if call.path.name.is_some() => Err(Status::no_such_path()),
        (false, Some(_)) => Err(Status::no_such_path()),
        (true, _) | (false, None) => Ok(()),
    }
}
