//! What is particular about some kinds.

mod definition;
pub(crate) mod events;
mod namespace;

use jiff::Timestamp;
use serde_json::Value;

/// Kinds of which the server knows more than their schema says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// Nothing is particular.
    No,
    /// Has finalizers in its spec, and a phase.
    Namespace,
    /// Data in base 64, sealed; may be immutable.
    Secret,
    /// Data; may be immutable.
    ConfigMap,
    /// Has tokens.
    ServiceAccount,
    /// Says what happened.
    Event,
    /// Says who leads.
    Lease,
    /// Rules.
    Role,
    /// Rules for all namespaces.
    ClusterRole,
    /// Gives somebody the rules of a role.
    RoleBinding,
    /// Gives somebody the rules of a role in all namespaces.
    ClusterRoleBinding,
    /// Defines a kind.
    Definition,
}

impl Special {
    /// By group and kind.
    pub fn of(group: &str, kind: &str) -> Self {
        match (group, kind) {
            ("", "Namespace") => Self::Namespace,
            ("", "Secret") => Self::Secret,
            ("", "ConfigMap") => Self::ConfigMap,
            ("", "ServiceAccount") => Self::ServiceAccount,
            ("" | "events.k8s.io", "Event") => Self::Event,
            ("coordination.k8s.io", "Lease") => Self::Lease,
            ("rbac.authorization.k8s.io", "Role") => Self::Role,
            ("rbac.authorization.k8s.io", "ClusterRole") => Self::ClusterRole,
            ("rbac.authorization.k8s.io", "RoleBinding") => Self::RoleBinding,
            ("rbac.authorization.k8s.io", "ClusterRoleBinding") => Self::ClusterRoleBinding,
            ("apiextensions.k8s.io", "CustomResourceDefinition") => Self::Definition,
            _ => Self::No,
        }
    }

    /// True for kinds that decide what is served and who may do what: the snapshot follows them.
    pub const fn is_followed(self) -> bool {
        match self {
            Self::Role
            | Self::ClusterRole
            | Self::RoleBinding
            | Self::ClusterRoleBinding
            | Self::Definition => true,
            Self::No
            | Self::Namespace
            | Self::Secret
            | Self::ConfigMap
            | Self::ServiceAccount
            | Self::Event
            | Self::Lease => false,
        }
    }

    /// True for kinds whose objects are made by `PUT` where there are none, as in kube-apiserver.
    pub const fn is_made_by_update(self) -> bool {
        match self {
            Self::Event
            | Self::Lease
            | Self::Role
            | Self::ClusterRole
            | Self::RoleBinding
            | Self::ClusterRoleBinding => true,
            Self::No
            | Self::Namespace
            | Self::Secret
            | Self::ConfigMap
            | Self::ServiceAccount
            | Self::Definition => false,
        }
    }

    /// True for kinds of Kubernetes that are replaced only by who says which version they have seen.
    pub const fn is_only_updated_as_seen(self) -> bool {
        match self {
            Self::Lease | Self::Definition => true,
            Self::No
            | Self::Namespace
            | Self::Secret
            | Self::ConfigMap
            | Self::ServiceAccount
            | Self::Event
            | Self::Role
            | Self::ClusterRole
            | Self::RoleBinding
            | Self::ClusterRoleBinding => false,
        }
    }

    /// Times with exactly six digits behind the point, without which clients in Go cannot read the object.
    pub const fn exact_times(self) -> &'static [&'static str] {
        match self {
            Self::Lease => &["/spec/acquireTime", "/spec/renewTime"],
            Self::Event => &["/eventTime", "/series/lastObservedTime"],
            Self::No
            | Self::Namespace
            | Self::Secret
            | Self::ConfigMap
            | Self::ServiceAccount
            | Self::Role
            | Self::ClusterRole
            | Self::RoleBinding
            | Self::ClusterRoleBinding
            | Self::Definition => &[],
        }
    }

    /// Completes a new object, beyond what all kinds have in common.
    pub fn prepare_create(self, object: &mut Value) {
        if self == Self::Namespace {
            namespace::prepare_create(object);
        }
    }

    /// Takes over what an update of the object itself cannot change.
    pub fn prepare_update(self, new: &mut Value, old: &Value) {
        if self == Self::Namespace {
            namespace::prepare_update(new, old);
        }
    }

    /// What deletion changes on an object that stays for a while.
    pub fn terminate(self, object: &mut Value, now: Timestamp) {
        match self {
            Self::Namespace => object["status"]["phase"] = "Terminating".into(),
            Self::Definition => definition::terminate(object, now),
            Self::No
            | Self::Secret
            | Self::ConfigMap
            | Self::ServiceAccount
            | Self::Event
            | Self::Lease
            | Self::Role
            | Self::ClusterRole
            | Self::RoleBinding
            | Self::ClusterRoleBinding => {}
        }
    }

    /// Why an object can never be deleted.
    pub fn is_needed(self, name: &str) -> Option<&'static str> {
        let is_needed = self == Self::Namespace && ["default", "kube-system", "kube-public"].contains(&name);
        is_needed.then_some("this namespace may not be deleted")
    }

    /// True when nothing but `metadata.finalizers` could hold the object.
    pub fn is_released(self, object: &Value) -> bool {
        self != Self::Namespace || namespace::finalizers(object).is_empty()
    }
}

pub(crate) use namespace::set_finalizers as set_namespace_finalizers;

/// Sets a condition; its time changes only when its status does.
pub fn set_condition(status: &mut Value, condition: Condition<'_>, now: Timestamp) {
    let Condition { kind, status: state, reason, message } = condition;
    let list = crate::meta::fields_of(status, "conditions");
    if !list.is_array() {
        *list = Value::Array(Vec::new());
    }
    let list = list.as_array_mut().expect("it was made a list");
    let at = list.iter().position(|found| found["type"] == kind);
    let since = at.filter(|at| list[*at]["status"] == state).map(|at| list[at]["lastTransitionTime"].clone());
    let new = serde_json::json!({
        "type": kind, "status": state, "reason": reason, "message": message,
        "lastTransitionTime": since.unwrap_or_else(|| crate::meta::time(now)),
    });
    match at {
        Some(at) => list[at] = new,
        None => list.push(new),
    }
}

/// What a condition says.
#[derive(Debug, Clone, Copy)]
pub struct Condition<'a> {
    /// As `Established`.
    pub kind: &'a str,
    /// `True`, `False` or `Unknown`.
    pub status: &'a str,
    /// In one word.
    pub reason: &'a str,
    /// For people.
    pub message: &'a str,
}
