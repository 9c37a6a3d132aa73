//! Questions that are answered at once and not kept: who am I, may I, whose token is this; and new tokens.

use http::StatusCode;
use lanai_api::Cause;
use serde_json::{Map, Value, json};

use crate::authenticate::Authentication;
use crate::authorize;
use crate::core::{Call, Core};
use crate::decode;
use crate::identity::Identity;
use crate::meta;
use crate::owners::tracked;
use crate::policy::{Ask, Decision, Rule, What};
use crate::reply::Reply;
use crate::row;
use crate::status::{GroupResource, Status};
use crate::tokens::{Account, Claims, Reference};

/// How long a token is good if nobody says, in seconds.
const TOKEN_TIME: i64 = 3_600;
/// The shortest time that can be asked for.
const MIN_TOKEN_TIME: i64 = 600;
/// The longest; more is cut.
const MAX_TOKEN_TIME: i64 = 24 * 3_600;

/// `POST` of a review.
pub(crate) async fn answer(
    core: &Core,
    authentication: &Authentication,
    call: &Call,
) -> Result<Reply, Status> {
    let sent = decode::object(call)?;
    let mut review = tracked(call, None, sent.object, sent.owners);
    review["status"] = match call.kind.info.names.kind.as_str() {
        "SelfSubjectReview" => json!({"userInfo": user_info(&call.identity)}),
        "SelfSubjectAccessReview" => access(core, &call.identity, &review["spec"], Vec::new()).await?,
        "SubjectAccessReview" => {
            access(core, &subject(&review["spec"]), &review["spec"], subject_causes(&review["spec"])).await?
        }
        "LocalSubjectAccessReview" => {
            let namespace = call.namespace().unwrap_or_default();
            if review["spec"]["resourceAttributes"]["namespace"] != namespace {
                let found = review["spec"]["resourceAttributes"]["namespace"].clone();
                let why = "must match metadata.namespace";
                let cause = Cause::invalid(&"spec.resourceAttributes.namespace".into(), found, why);
                let kind = GroupResource { group: "authorization.k8s.io".into(), resource: String::new() };
                return Err(Status::invalid(&kind, "", &[cause]));
            }
            access(core, &subject(&review["spec"]), &review["spec"], subject_causes(&review["spec"])).await?
        }
        "SelfSubjectRulesReview" => {
            let namespace = review["spec"]["namespace"].as_str().unwrap_or_default();
            let policy = core.follower.newest().await?.policy;
            let mut found = rules(&policy.rules_of(&call.identity, Some(namespace)));
            // Who decides in the place of the rules is asked about one thing, not about all.
            found["incomplete"] = core.delegate.is_some().into();
            found
        }
        "TokenReview" => token(core, authentication, call, &review["spec"]).await?,
        _ => return Err(Status::method_not_allowed()),
    };
    let made = match call.kind.info.names.kind.as_str() {
        "SelfSubjectReview" => meta::time(call.now),
        _ => Value::Null,
    };
    meta::metadata(&mut review).insert("creationTimestamp".into(), made);
    Ok(Reply::value(StatusCode::CREATED, call.accept.format, &review))
}

fn user_info(identity: &Identity) -> Value {
    let mut info = json!({"username": identity.user, "groups": identity.groups});
    if let Some(uid) = &identity.uid {
        info["uid"] = json!(uid);
    }
    if !identity.extra.is_empty() {
        info["extra"] = json!(identity.extra);
    }
    info
}

fn subject(spec: &Value) -> Identity {
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let groups = texts(&spec["groups"]);
    Identity { user: spec["user"].as_str().unwrap_or_default().to_owned(), groups, ..Identity::default() }
}

/// Somebody must be asked about.
fn subject_causes(spec: &Value) -> Vec<Cause> {
    let has_user = spec["user"].as_str().is_some_and(|user| !user.is_empty());
    let has_group = spec["groups"].as_array().is_some_and(|groups| !groups.is_empty());
    if has_user || has_group {
        return Vec::new();
    }
    vec![Cause::invalid(&"spec.user".into(), "", "at least one of user or group must be specified")]
}

async fn access(
    core: &Core,
    identity: &Identity,
    spec: &Value,
    mut causes: Vec<Cause>,
) -> Result<Value, Status> {
    let text = |part: &Value, name: &str| part[name].as_str().unwrap_or_default().to_owned();
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    let ask = match (resource.is_object(), path.is_object()) {
        (true, false) => Ask {
            verb: text(resource, "verb"),
            what: What::Resource {
                group: text(resource, "group"),
                resource: text(resource, "resource"),
                subresource: text(resource, "subresource"),
                namespace: text(resource, "namespace"),
                name: text(resource, "name"),
            },
        },
        (false, true) => Ask { verb: text(path, "verb"), what: What::Path(text(path, "path")) },
        _ => {
            let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            causes.insert(0, Cause::invalid(&"spec.resourceAttributes".into(), resource.clone(), why));
            Ask { verb: String::new(), what: What::Path(String::new()) }
        }
    };
    if !causes.is_empty() {
        let kind = GroupResource { group: "authorization.k8s.io".into(), resource: String::new() };
        return Err(Status::invalid(&kind, "", &causes));
    }
    Ok(match authorize::decide(core, identity, &ask).await? {
        Decision::Allowed(why) => json!({"allowed": true, "reason": why}),
        Decision::Denied => json!({"allowed": false}),
    })
}

fn rules(rules: &[Rule]) -> Value {
    let (urls, resources): (Vec<&Rule>, Vec<&Rule>) = rules.iter().partition(|rule| !rule.urls.is_empty());
    let resource = |rule: &&Rule| {
        let mut fields = json!({"verbs": rule.verbs, "apiGroups": rule.groups, "resources": rule.resources});
        if !rule.names.is_empty() {
            fields["resourceNames"] = json!(rule.names);
        }
        fields
    };
    let resources: Vec<Value> = resources.iter().map(resource).collect();
    let urls: Vec<Value> =
        urls.iter().map(|rule| json!({"verbs": rule.verbs, "nonResourceURLs": rule.urls})).collect();
    json!({"resourceRules": resources, "nonResourceRules": urls, "incomplete": false})
}

async fn token(
    core: &Core,
    authentication: &Authentication,
    call: &Call,
    spec: &Value,
) -> Result<Value, Status> {
    let token = spec["token"].as_str().unwrap_or_default();
    let audiences: Vec<&str> =
        spec["audiences"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let found = authentication.token(token, &audiences, core.store.as_ref(), call.now).await?;
    Ok(match found {
        Some(identity) => {
            json!({"authenticated": true, "user": user_info(&identity), "audiences": audiences})
        }
        None => json!({"user": {}, "error": "invalid bearer token"}),
    })
}

/// `POST` to `token` of a service account.
pub(crate) async fn request_token(
    core: &Core,
    authentication: &Authentication,
    call: &Call,
) -> Result<Reply, Status> {
    let key = authentication.tokens.as_ref().ok_or_else(Status::method_not_allowed)?;
    let account = row::decode(&*core.find(call).await?)?;
    let sent = decode::sent(call, "TokenRequest")?.value;
    let spec = &sent["spec"];
    if spec["boundObjectRef"].is_object() {
        return Err(Status::bad_request(
            "spec.boundObjectRef: tokens that are bound to other objects are not made here",
        ));
    }
    let seconds = spec["expirationSeconds"].as_i64().unwrap_or(TOKEN_TIME);
    if seconds < MIN_TOKEN_TIME {
        let why = format!("may not specify a duration less than {} minutes", MIN_TOKEN_TIME / 60);
        let cause = Cause::invalid(&"spec.expirationSeconds".into(), seconds, why);
        let kind = GroupResource { group: "authentication.k8s.io".into(), resource: "TokenRequest".into() };
        return Err(Status::invalid(&kind, "", &[cause]));
    }
    let mut audiences: Vec<String> = spec["audiences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect();
    if audiences.is_empty() {
        audiences.push(key.issuer().to_owned());
    }
    let (namespace, name) = (meta::namespace(&account), meta::name(&account));
    let now = call.now.as_second();
    let expires = now + seconds.min(MAX_TOKEN_TIME);
    let claims = Claims {
        iss: key.issuer().to_owned(),
        sub: format!("system:serviceaccount:{namespace}:{name}"),
        aud: audiences.clone(),
        exp: expires,
        iat: now,
        nbf: now,
        jti: core.new_uid(),
        account: Account {
            namespace: namespace.to_owned(),
            serviceaccount: Reference { name: name.to_owned(), uid: meta::uid(&account).to_owned() },
        },
    };
    let token = key.sign(&claims).map_err(Status::internal)?;
    let until = jiff::Timestamp::from_second(expires).map_err(Status::internal)?;
    let mut metadata = Map::new();
    metadata.insert("name".into(), json!(name));
    metadata.insert("namespace".into(), json!(namespace));
    metadata.insert("creationTimestamp".into(), meta::time(call.now));
    let answer = json!({
        "kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": metadata,
        "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": null},
        "status": {"token": token, "expirationTimestamp": meta::time(until)},
    });
    Ok(Reply::value(StatusCode::CREATED, call.accept.format, &answer))
}
