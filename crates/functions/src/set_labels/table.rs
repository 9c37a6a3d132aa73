//! Where labels stand.

use lanai_krm::ResourceId;

/// When labels are set at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always; what is missing on the way is added.
    Always,
    /// As [`When::Always`], where this template is.
    Template(&'static str),
    /// Only labels that are there. Counts even where nothing is.
    Existing,
    /// Only labels that are there. Counts where something is.
    Found,
}

/// A place of labels in the resources of some kinds.
pub struct Row {
    is: fn(&ResourceId) -> bool,
    /// The keys, with slashes.
    pub path: &'static str,
    /// When labels are set there.
    pub when: When,
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

fn job(id: &ResourceId) -> bool {
    id.kind == "Job"
}

fn cron_job(id: &ResourceId) -> bool {
    id.kind == "CronJob"
}

fn with_loose_selector(id: &ResourceId) -> bool {
    job(id) || id.kind == "PodDisruptionBudget"
}

fn network_policy(id: &ResourceId) -> bool {
    id.kind == "NetworkPolicy"
}

/// A row for each kind of term that a pod can be near to or far from others by.
macro_rules! affinity {
    ($is:expr, $pod:literal) => {
        [
            found($is, concat!($pod, "/affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution[]/podAffinityTerm/labelSelector/matchLabels")),
            found($is, concat!($pod, "/affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution[]/labelSelector/matchLabels")),
            found($is, concat!($pod, "/affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution[]/podAffinityTerm/labelSelector/matchLabels")),
            found($is, concat!($pod, "/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution[]/labelSelector/matchLabels")),
            found($is, concat!($pod, "/topologySpreadConstraints[]/labelSelector/matchLabels")),
        ]
    };
}

const fn row(is: fn(&ResourceId) -> bool, path: &'static str, when: When) -> Row {
    Row { is, path, when }
}

const fn found(is: fn(&ResourceId) -> bool, path: &'static str) -> Row {
    row(is, path, When::Found)
}

const POD: [Row; 5] = affinity!(workload, "spec/template/spec");

static ROWS: [Row; 19] = {
    let [one, two, three, four, five] = POD;
    [
        row(any, "metadata/labels", When::Always),
        row(v1_service, "spec/selector", When::Always),
        row(v1_replication_controller, "spec/selector", When::Always),
        row(workload, "spec/selector/matchLabels", When::Always),
        row(with_loose_selector, "spec/selector/matchLabels", When::Existing),
        row(with_template, "spec/template/metadata/labels", When::Template("spec/template")),
        row(stateful_set, "spec/volumeClaimTemplates[]/metadata/labels", When::Always),
        found(stateful_set, "spec/volumeClaimTemplates[]/spec/selector/matchLabels"),
        row(cron_job, "spec/jobTemplate/metadata/labels", When::Template("spec/jobTemplate")),
        row(cron_job, "spec/jobTemplate/spec/selector/matchLabels", When::Existing),
        row(
            cron_job,
            "spec/jobTemplate/spec/template/metadata/labels",
            When::Template("spec/jobTemplate/spec/template"),
        ),
        row(network_policy, "spec/podSelector/matchLabels", When::Existing),
        found(network_policy, "spec/ingress[]/from[]/podSelector/matchLabels"),
        found(network_policy, "spec/egress[]/to[]/podSelector/matchLabels"),
        one,
        two,
        three,
        four,
        five,
    ]
};
