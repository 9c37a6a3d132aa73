//! Where labels stand.

use lanai_krm::ResourceId;
use lanai_yaml::{Kind, NodeRef};

use crate::field_spec::{Missing, places};

/// When labels are set at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always; what is missing on the way is added.
    Always,
    /// As [`When::Always`], where this template is.
    Template(&'static str),
    /// Only labels that are there.
    Existing,
}

/// A place of labels in the resources of some kinds.
pub struct Row {
    is: fn(&ResourceId) -> bool,
    /// The keys, with slashes; two behind what must be there for the place to be looked at.
    pub path: &'static str,
    /// When labels are set there.
    pub when: When,
}

impl Row {
    /// How many places are looked at below this root, whether something is there or not.
    pub fn visited(&self, root: NodeRef<'_>) -> usize {
        let Some((base, _)) = self.path.split_once("//") else { return 1 };
        let bases = places(root, base, Missing::Skip).unwrap_or_default();
        let items = |node: NodeRef<'_>| if node.kind() == Kind::Sequence { node.len() } else { 1 };
        bases.into_iter().filter_map(|base| base.node).map(items).sum()
    }
}

/// The rows about a resource, in order.
pub fn rows(id: &ResourceId) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| (row.is)(id))
}

fn any(_: &ResourceId) -> bool {
    true
}

fn v1_service(id: &ResourceId) -> bool {
    id.version == "v1" && id.kind == "Service"
}

fn v1_replication_controller(id: &ResourceId) -> bool {
    id.version == "v1" && id.kind == "ReplicationController"
}

fn stateful_set(id: &ResourceId) -> bool {
    matches!(id.group.as_str(), "" | "apps") && id.kind == "StatefulSet"
}

fn workload(id: &ResourceId) -> bool {
    matches!(id.kind.as_str(), "Deployment" | "ReplicaSet" | "DaemonSet") || stateful_set(id)
}

fn with_template(id: &ResourceId) -> bool {
    workload(id) || v1_replication_controller(id) || job(id)
}

/// Whether it is of that group and kind; a resource without a group is of any.
fn is(id: &ResourceId, group: &str, kind: &str) -> bool {
    (id.group.is_empty() || id.group == group) && id.kind == kind
}

fn job(id: &ResourceId) -> bool {
    is(id, "batch", "Job")
}

fn cron_job(id: &ResourceId) -> bool {
    is(id, "batch", "CronJob")
}

fn with_loose_selector(id: &ResourceId) -> bool {
    job(id) || is(id, "policy", "PodDisruptionBudget")
}

fn network_policy(id: &ResourceId) -> bool {
    is(id, "networking.k8s.io", "NetworkPolicy")
}

const fn row(is: fn(&ResourceId) -> bool, path: &'static str, when: When) -> Row {
    Row { is, path, when }
}

const fn existing(is: fn(&ResourceId) -> bool, path: &'static str) -> Row {
    row(is, path, When::Existing)
}

/// The rows about the specification of a pod: what it spreads over, then what it is near to or far from.
macro_rules! pod {
    ($is:expr, $pod:literal) => {
        [
            existing($is, concat!($pod, "/topologySpreadConstraints[]//labelSelector/matchLabels")),
            existing($is, concat!($pod, "/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution[]//podAffinityTerm/labelSelector/matchLabels")),
            existing($is, concat!($pod, "/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution[]//labelSelector/matchLabels")),
            existing($is, concat!($pod, "/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution[]//podAffinityTerm/labelSelector/matchLabels")),
            existing($is, concat!($pod, "/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution[]//labelSelector/matchLabels")),
        ]
    };
}

static ROWS: [Row; 24] = {
    let [spread, near, nearest, far, farthest] = pod!(with_template, "spec/template/spec");
    let [job_spread, job_near, job_nearest, job_far, job_farthest] =
        pod!(cron_job, "spec/jobTemplate/spec/template/spec");
    [
        row(any, "metadata/labels", When::Always),
        row(v1_service, "spec/selector", When::Always),
        row(v1_replication_controller, "spec/selector", When::Always),
        row(workload, "spec/selector/matchLabels", When::Always),
        existing(with_loose_selector, "spec/selector/matchLabels"),
        existing(network_policy, "spec/podSelector/matchLabels"),
        row(with_template, "spec/template/metadata/labels", When::Template("spec/template")),
        spread,
        near,
        nearest,
        far,
        farthest,
        row(cron_job, "spec/jobTemplate/metadata/labels", When::Template("spec/jobTemplate")),
        existing(cron_job, "spec/jobTemplate/spec//selector/matchLabels"),
        row(
            cron_job,
            "spec/jobTemplate/spec/template/metadata/labels",
            When::Template("spec/jobTemplate/spec/template"),
        ),
        job_spread,
        job_near,
        job_nearest,
        job_far,
        job_farthest,
        row(stateful_set, "spec/volumeClaimTemplates[]/metadata/labels", When::Always),
        existing(stateful_set, "spec/volumeClaimTemplates[]//spec/selector/matchLabels"),
        existing(network_policy, "spec/ingress[]/from[]//podSelector/matchLabels"),
        existing(network_policy, "spec/egress[]/to[]//podSelector/matchLabels"),
    ]
};
