//! Which kinds have pods in them.

/// Where the pod of a kind stands.
pub struct Pod {
    /// The kind.
    pub kind: &'static str,
    /// The keys that lead to the pod's `spec`, with slashes.
    pub path: &'static str,
}

/// The kinds that a cluster has by itself.
pub const PODS: &[Pod] = &[
    Pod { kind: "Pod", path: "spec" },
    Pod { kind: "PodTemplate", path: "template/spec" },
    Pod { kind: "ReplicationController", path: "spec/template/spec" },
    Pod { kind: "Deployment", path: "spec/template/spec" },
    Pod { kind: "StatefulSet", path: "spec/template/spec" },
    Pod { kind: "ReplicaSet", path: "spec/template/spec" },
    Pod { kind: "DaemonSet", path: "spec/template/spec" },
    Pod { kind: "Job", path: "spec/template/spec" },
    Pod { kind: "CronJob", path: "spec/jobTemplate/spec/template/spec" },
];
