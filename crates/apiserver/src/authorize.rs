//! Whether a request is allowed.

use async_trait::async_trait;
use http::StatusCode;
use serde_json::Value;

use crate::core::{Call, Core};
use crate::identity::{Identity, MASTERS};
use crate::kinds::Special;
use crate::policy::{Ask, Decision, Rule, What, role_ref, rules};
use crate::status::{GroupResource, Reason, Status};

/// Somebody else who decides who may do what, in the place of the rules of the store.
#[async_trait]
pub trait Delegate: Send + Sync {
    /// Whether somebody may, and why. Never asked about [`MASTERS`], who may everything.
    ///
    /// # Errors
    /// When it is not known; then it is not done.
    async fn decide(&self, identity: &Identity, ask: &Ask) -> Result<Decision, Status>;
}

/// Lets pass who may.
pub(crate) async fn authorize(core: &Core, identity: &Identity, ask: &Ask) -> Result<(), Status> {
    match decide(core, identity, ask).await? {
        Decision::Allowed(_) => Ok(()),
        Decision::Denied => Err(denied(identity, ask)),
    }
}

/// The one function that decides, for every route: the rules of the store, or whoever does that in their place.
///
/// A denial by rules is looked at again with the newest ones, so that a permission holds as soon as it was answered.
pub(crate) async fn decide(core: &Core, identity: &Identity, ask: &Ask) -> Result<Decision, Status> {
    if let Some(delegate) = &core.delegate
        && !identity.is_in(MASTERS)
    {
        return delegate.decide(identity, ask).await;
    }
    match core.follower.snapshot().policy.decide(identity, ask) {
        Decision::Denied => Ok(core.follower.newest().await?.policy.decide(identity, ask)),
        allowed @ Decision::Allowed(_) => Ok(allowed),
    }
}

fn denied(identity: &Identity, ask: &Ask) -> Status {
    let Identity { user, .. } = identity;
    let verb = &ask.verb;
    match &ask.what {
        What::Path(path) => {
            let mut status = Status::new(
                Reason::Forbidden,
                format!("forbidden: User \"{user}\" cannot {verb} path \"{path}\""),
            );
            status.details = Some(Box::default());
            status
        }
        What::Resource { group, resource, subresource, namespace, name } => {
            let whole =
                if subresource.is_empty() { resource.clone() } else { format!("{resource}/{subresource}") };
            let place = match namespace.as_str() {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace \"{namespace}\""),
            };
            let why = format!(
                "User \"{user}\" cannot {verb} resource \"{whole}\" in API group \"{group}\" {place}"
            );
            let resource = GroupResource { group: group.clone(), resource: resource.clone() };
            Status::forbidden(&resource, name, &why)
        }
    }
}

/// Nobody can give away what they do not have: writes of roles and bindings need all that they would give, or the verb for it.
pub(crate) async fn check_escalation(core: &Core, call: &Call, object: &Value) -> Result<(), Status> {
    let namespace = call.namespace();
    let (given, verb) = match call.kind.special {
        // Who says of which roles one is made, of those that others will write as well, gives everything.
        Special::ClusterRole if !object["aggregationRule"].is_null() => {
            (vec![Rule::everything(), Rule::every_path()], "escalate")
        }
        Special::Role | Special::ClusterRole => (rules(object), "escalate"),
        Special::RoleBinding | Special::ClusterRoleBinding => {
            let Some(role) = role_ref(namespace, object) else { return Ok(()) };
            let snapshot = core.follower.newest().await?;
            match snapshot.policy.role(&role) {
                Some(rules) => (rules.to_vec(), "bind"),
                None => (Vec::new(), "bind"),
            }
        }
        Special::No
        | Special::Namespace
        | Special::Secret
        | Special::ConfigMap
        | Special::ServiceAccount
        | Special::Event
        | Special::Lease
        | Special::Definition => return Ok(()),
    };
    let policy = core.follower.newest().await?.policy;
    let owned = policy.rules_of(&call.identity, namespace);
    let missing: Vec<&Rule> = given.iter().filter(|rule| !rule.is_covered_by(&owned)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let (resource, name) = if verb == "escalate" {
        (call.path.resource.clone(), crate::meta::name(object))
    } else {
        let kind = object["roleRef"]["kind"].as_str().unwrap_or_default();
        let resource = if kind == "ClusterRole" { "clusterroles" } else { "roles" };
        (resource.to_owned(), object["roleRef"]["name"].as_str().unwrap_or_default())
    };
    let what = What::Resource {
        group: call.path.gv.group.clone(),
        resource,
        subresource: String::new(),
        namespace: namespace.unwrap_or_default().to_owned(),
        name: name.to_owned(),
    };
    if let Decision::Allowed(_) = decide(core, &call.identity, &Ask { verb: verb.into(), what }).await? {
        return Ok(());
    }
    let user = &call.identity.user;
    let why = format!(
        "user \"{user}\" (groups={:?}) is attempting to grant RBAC permissions not currently held: {missing:?}",
        call.identity.groups
    );
    let status = Status::forbidden(&call.kind.resource(), crate::meta::name(object), &why);
    debug_assert_eq!(status.code, StatusCode::FORBIDDEN);
    Err(status)
}
