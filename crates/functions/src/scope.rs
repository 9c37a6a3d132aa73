//! Which kinds have a namespace.

use std::collections::HashMap;

use lanai_krm::{Resource, ResourceId, ResourceList};

use crate::sites::{at, text};

/// Where resources of a kind live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In a namespace.
    Namespaced,
    /// In no namespace.
    Cluster,
}

/// The kinds that a cluster has by itself: a group, the kinds of it that have a namespace, and those that do not.
struct Group {
    name: &'static str,
    namespaced: &'static [&'static str],
    cluster: &'static [&'static str],
}

#[rustfmt::skip]
const BUILT_IN: &[Group] = &[
    Group {
        name: "",
        namespaced: &[
            "Binding", "ConfigMap", "Endpoints", "Event", "LimitRange", "PersistentVolumeClaim", "Pod", "PodTemplate",
            "ReplicationController", "ResourceQuota", "Secret", "Service", "ServiceAccount",
        ],
        cluster: &["ComponentStatus", "Namespace", "Node", "PersistentVolume"],
    },
    Group {
        name: "apps",
        namespaced: &["ControllerRevision", "DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"],
        cluster: &[],
    },
    Group { name: "autoscaling", namespaced: &["HorizontalPodAutoscaler", "Scale"], cluster: &[] },
    Group { name: "batch", namespaced: &["CronJob", "Job"], cluster: &[] },
    Group { name: "coordination.k8s.io", namespaced: &["Lease"], cluster: &[] },
    Group { name: "discovery.k8s.io", namespaced: &["EndpointSlice"], cluster: &[] },
    Group { name: "events.k8s.io", namespaced: &["Event"], cluster: &[] },
    Group {
        name: "extensions",
        namespaced: &["DaemonSet", "Deployment", "Ingress", "NetworkPolicy", "ReplicaSet"],
        cluster: &["PodSecurityPolicy"],
    },
    Group { name: "networking.k8s.io", namespaced: &["Ingress", "NetworkPolicy"], cluster: &["IngressClass"] },
    Group { name: "policy", namespaced: &["Eviction", "PodDisruptionBudget"], cluster: &["PodSecurityPolicy"] },
    Group {
        name: "rbac.authorization.k8s.io",
        namespaced: &["Role", "RoleBinding"],
        cluster: &["ClusterRole", "ClusterRoleBinding"],
    },
    Group {
        name: "storage.k8s.io",
        namespaced: &["CSIStorageCapacity"],
        cluster: &["CSIDriver", "CSINode", "StorageClass", "VolumeAttachment"],
    },
    Group { name: "authorization.k8s.io", namespaced: &["LocalSubjectAccessReview"], cluster: &[
        "SelfSubjectAccessReview", "SelfSubjectRulesReview", "SubjectAccessReview",
    ] },
    Group { name: "authentication.k8s.io", namespaced: &[], cluster: &["TokenRequest", "TokenReview"] },
    Group { name: "certificates.k8s.io", namespaced: &[], cluster: &["CertificateSigningRequest"] },
    Group { name: "flowcontrol.apiserver.k8s.io", namespaced: &[], cluster: &["FlowSchema", "PriorityLevelConfiguration"] },
    Group { name: "node.k8s.io", namespaced: &[], cluster: &["RuntimeClass"] },
    Group { name: "scheduling.k8s.io", namespaced: &[], cluster: &["PriorityClass"] },
    Group { name: "apiextensions.k8s.io", namespaced: &[], cluster: &["CustomResourceDefinition"] },
    Group { name: "apiregistration.k8s.io", namespaced: &[], cluster: &["APIService"] },
    Group { name: "admissionregistration.k8s.io", namespaced: &[], cluster: &[
        "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ] },
];

/// The scopes that are known: of the kinds that a cluster has by itself, and of those that a list defines.
pub struct Scopes {
    defined: HashMap<Kind, Scope>,
}

#[derive(PartialEq, Eq, Hash)]
struct Kind {
    group: String,
    kind: String,
}

impl Scopes {
    /// Reads the definitions of custom resources that are in a list.
    pub fn of(list: &ResourceList) -> Self {
        Self { defined: list.items.iter().filter_map(definition).collect() }
    }

    /// The scope of a resource. A kind that nobody knows has a namespace when the resource says one.
    pub fn scope(&self, resource: &Resource) -> Scope {
        let id = resource.id();
        let has_one =
            resource.root().get("metadata").is_some_and(|metadata| metadata.get("namespace").is_some());
        self.known(&id).unwrap_or(if has_one { Scope::Namespaced } else { Scope::Cluster })
    }

    fn known(&self, id: &ResourceId) -> Option<Scope> {
        let kind = id.kind.as_str();
        if let Some(group) = BUILT_IN.iter().find(|group| group.name == id.group) {
            let is_in = |kinds: &[&str]| kinds.contains(&kind);
            return match () {
                () if is_in(group.namespaced) => Some(Scope::Namespaced),
                () if is_in(group.cluster) => Some(Scope::Cluster),
                () => None,
            };
        }
        self.defined.get(&Kind { group: id.group.clone(), kind: id.kind.clone() }).copied()
    }
}

fn definition(resource: &Resource) -> Option<(Kind, Scope)> {
    let id = resource.id();
    if id.group != "apiextensions.k8s.io" || id.kind != "CustomResourceDefinition" {
        return None;
    }
    let field = |keys: &[&str]| Some(text(at(resource.root(), keys)?)?.into_owned());
    let kind = Kind { group: field(&["spec", "group"])?, kind: field(&["spec", "names", "kind"])? };
    let scope = match field(&["spec", "scope"])?.as_str() {
        "Namespaced" => Scope::Namespaced,
        "Cluster" => Scope::Cluster,
        _ => return None,
    };
    Some((kind, scope))
}
