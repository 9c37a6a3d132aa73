//! Package revisions as clients see them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use lanai_krm::kptfile::{Condition, Fields, ReadinessGate, UpstreamLock};
use lanai_types::{CommitId, Lifecycle, Namespace, ObjectName, RevisionNumber, Uid};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::bounds::Conflicts;
use crate::diverged;
use crate::error::{Error, Reason};

/// Group and version.
pub const API_VERSION: &str = "porch.kpt.dev/v1alpha1";
/// The label of the newest published revision of a package.
pub const LATEST: &str = "kpt.dev/latest-revision";
/// The annotation by which content is kept although its pipeline failed.
pub const PUSH_ON_RENDER_FAILURE: &str = "porch.kpt.dev/push-on-render-failure";
/// The annotation of the answer to a dry run: what would change in the files, as a diff.
pub const DRY_RUN_DIFF: &str = "lanai.dev/dry-run-diff";
/// `spec` of a package revision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Spec {
    /// The package, with the folders above it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub package_name: String,
    /// The repository, in the same namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repository: String,
    /// The workspace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub workspace_name: String,
    /// The number; 0 for drafts, which show none.
    #[serde(skip_serializing_if = "is_zero")]
    pub revision: i64,
    /// The package that this one is part of. Only read.
    #[serde(skip_serializing)]
    pub parent: Option<Reference>,
    /// Where it is in its life.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub lifecycle: String,
    /// What made it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<Task>,
    /// Conditions that must be true before it is proposed or published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readiness_gates: Option<Vec<Gate>>,
    /// Labels and annotations of the Kptfile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_metadata: Option<PackageMetadata>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// An object by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reference {
    /// Its name.
    pub name: String,
}

/// A condition that must be true.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Gate {
    /// The type of the condition.
    pub condition_type: String,
}

/// Labels and annotations of the Kptfile; what is `None` is not said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PackageMetadata {
    /// The labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// The annotations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// What made a revision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Task {
    /// `init`, `clone`, `edit`, `upgrade`, `render`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For `init`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init: Option<InitTask>,
    /// For `clone`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clone: Option<CloneTask>,
    /// For `edit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub edit: Option<EditTask>,
    /// For `upgrade`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upgrade: Option<UpgradeTask>,
}

/// Making a package from nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InitTask {
    /// A folder in the package, for a package inside.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subpackage: String,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Words to find it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// A page about it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub site: String,
}

/// Copying a package from elsewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CloneTask {
    /// From where.
    pub upstream_ref: Upstream,
}

/// A package somewhere.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Upstream {
    /// `git` or `oci`.
    #[serde(rename = "type", skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// In a Git repository that need not be registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitSource>,
    /// In a registry of images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oci: Option<Value>,
    /// A package revision of the namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_ref: Option<Reference>,
}

/// A folder of a Git repository.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GitSource {
    /// The address.
    pub repo: String,
    /// A branch, a tag or a commit.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The folder.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// The Secret with the credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<Reference>,
}

/// Copying an earlier revision of the same package.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EditTask {
    /// Which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_ref: Option<Reference>,
}

/// Merging a newer upstream into a revision.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct UpgradeTask {
    /// What both sides began with.
    pub old_upstream_ref: Reference,
    /// What became of it upstream.
    pub new_upstream_ref: Reference,
    /// What became of it here.
    pub local_package_revision_ref: Reference,
    /// How it is merged.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub strategy: String,
    /// Who wins where both sides changed the same: `upstream`, `local`, or `fail`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub policy: String,
    /// What was decided for single conflicts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resolutions: Vec<ConflictResolution>,
}

/// What was decided for one conflict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConflictResolution {
    /// The conflict.
    pub id: String,
    /// `upstream`, `local`, `original` or `value`.
    pub take: String,
    /// The value, as YAML or text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
}

impl Spec {
    /// The spec of an object.
    ///
    /// # Errors
    /// When it is no spec; the schema has refused most of what is none.
    pub fn of(object: &Value) -> Result<Self, Error> {
        let spec = object.get("spec").cloned().unwrap_or_else(|| json!({}));
        serde_json::from_value(spec)
            .map_err(|error| Error::new(Reason::BadRequest, "", format!("spec cannot be read: {error}")))
    }

    /// The revisions that this one came from and that must not be deleted because of that.
    pub fn upstreams(&self) -> impl Iterator<Item = &str> {
        self.tasks.iter().filter_map(|task| {
            let clone = task.clone.as_ref().and_then(|clone| clone.upstream_ref.upstream_ref.as_ref());
            let upgrade = task.upgrade.as_ref().map(|upgrade| &upgrade.new_upstream_ref);
            clone.or(upgrade).map(|reference| reference.name.as_str()).filter(|name| !name.is_empty())
        })
    }
}

/// What the Kptfile says that the object shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// Labels and annotations.
    pub package_metadata: PackageMetadata,
    /// The gates.
    pub gates: Vec<Gate>,
    /// The conditions.
    pub conditions: Vec<Value>,
    /// Where it came from.
    pub upstream_lock: Value,
}

impl Shown {
    /// Of a Kptfile.
    pub fn of(fields: &Fields) -> Self {
        let some = |map: &BTreeMap<String, String>| (!map.is_empty()).then(|| map.clone());
        let metadata = &fields.metadata;
        let gates = fields.info.iter().flat_map(|info| &info.readiness_gates);
        let conditions = fields.status.iter().flat_map(|status| &status.conditions);
        Self {
            package_metadata: PackageMetadata {
                labels: some(&metadata.labels),
                annotations: some(&metadata.annotations),
            },
            gates: gates.map(|gate| Gate { condition_type: gate.condition_type.clone() }).collect(),
            conditions: conditions.map(condition).collect(),
            upstream_lock: fields.upstream_lock.as_ref().map_or_else(|| json!({}), locator),
        }
    }

    /// Of a Kptfile that cannot be read.
    pub fn nothing() -> Self {
        Self {
            package_metadata: PackageMetadata::default(),
            gates: Vec::new(),
            conditions: Vec::new(),
            upstream_lock: json!({}),
        }
    }
}

fn condition(condition: &Condition) -> Value {
    let mut shown = Map::new();
    shown.insert("type".into(), json!(condition.condition_type));
    shown.insert("status".into(), json!(condition.status.as_str()));
    for (key, text) in [("reason", &condition.reason), ("message", &condition.message)] {
        if !text.is_empty() {
            shown.insert(key.into(), json!(text));
        }
    }
    Value::Object(shown)
}

fn locator(lock: &UpstreamLock) -> Value {
    let mut shown = Map::new();
    if let Some(origin) = &lock.origin {
        shown.insert("type".into(), json!(origin.as_str()));
    }
    if let Some(git) = &lock.git {
        shown.insert("git".into(), serde_json::to_value(git).unwrap_or_default());
    }
    Value::Object(shown)
}

/// The gates as a Kptfile has them.
pub fn kptfile_gates(gates: &[Gate]) -> Vec<ReadinessGate> {
    gates.iter().map(|gate| ReadinessGate { condition_type: gate.condition_type.clone() }).collect()
}

/// A time as Kubernetes writes it.
pub fn time(at: Timestamp) -> Value {
    json!(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// What is known of a revision beside its metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct Facts {
    /// Where it is in its life.
    pub lifecycle: Lifecycle,
    /// Its number.
    pub number: RevisionNumber,
    /// What made it.
    pub tasks: Vec<Task>,
    /// What its Kptfile says.
    pub shown: Shown,
    /// Where it is.
    pub self_lock: Value,
    /// Who published it.
    pub published_by: Option<String>,
    /// When.
    pub published_at: Option<Timestamp>,
    /// Whether the repository is one of deployments.
    pub deployment: bool,
    /// Where an upgrade found that both sides changed the same.
    pub conflicts: Conflicts,
    /// Where the remote went, while we went elsewhere.
    pub diverged: Option<CommitId>,
}

/// Builds the object of a revision around its metadata.
pub fn build(metadata: &Value, name: &ObjectName, facts: &Facts) -> Value {
    let spec = Spec {
        package_name: name.package().to_string(),
        repository: name.repository().to_string(),
        workspace_name: name.workspace().to_string(),
        revision: facts.number.get(),
        parent: None,
        lifecycle: facts.lifecycle.to_string(),
        tasks: facts.tasks.clone(),
        readiness_gates: (!facts.shown.gates.is_empty()).then(|| facts.shown.gates.clone()),
        package_metadata: Some(facts.shown.package_metadata.clone()),
    };
    let mut status = Map::new();
    status.insert("upstreamLock".into(), facts.shown.upstream_lock.clone());
    status.insert("selfLock".into(), facts.self_lock.clone());
    if let Some(by) = &facts.published_by {
        status.insert("publishedBy".into(), json!(by));
    }
    status.insert("publishTimestamp".into(), facts.published_at.map_or(Value::Null, time));
    if facts.deployment {
        status.insert("deployment".into(), json!(true));
    }
    let mut conditions = facts.shown.conditions.clone();
    if !facts.conflicts.is_empty() {
        conditions.push(conflicts_condition(&facts.conflicts));
        status.insert("conflicts".into(), json!(facts.conflicts.listed));
    }
    conditions.extend(facts.diverged.map(diverged::condition));
    if !conditions.is_empty() {
        status.insert("conditions".into(), json!(conditions));
    }
    json!({
        "apiVersion": API_VERSION, "kind": "PackageRevision", "metadata": metadata,
        "spec": serde_json::to_value(spec).unwrap_or_default(), "status": status,
    })
}

/// The type of the condition that says that an upgrade had conflicts.
pub const CONFLICTS: &str = "MergeConflicts";

fn conflicts_condition(conflicts: &Conflicts) -> Value {
    let message = match (conflicts.listed.len(), conflicts.left_out) {
        (1, 0) => {
            "both sides changed the same in one place; status.conflicts says which value was taken".to_owned()
        }
        (number, 0) => format!(
            "both sides changed the same in {number} places; status.conflicts says which values were taken"
        ),
        (listed, left_out) => format!(
            "both sides changed the same in {} places; status.conflicts says of the first {listed} which values were taken",
            listed + left_out
        ),
    };
    json!({"type": CONFLICTS, "status": "True", "reason": "BothSidesChanged", "message": message})
}

/// The metadata of a revision that nobody asked for: it was found.
pub fn found_metadata(namespace: &Namespace, name: &ObjectName, created: Timestamp) -> Value {
    json!({
        "name": name.as_str(), "namespace": namespace.as_str(),
        "uid": Uid::of_package_revision(namespace, name).to_string(),
        "creationTimestamp": time(created), "generation": 1,
    })
}

/// Counts a change of what is wanted, where whoever asked for it has not.
pub fn count_change(before: &Value, object: &mut Value) {
    let generation = before["metadata"]["generation"].as_i64();
    let is_counted = object["metadata"]["generation"].as_i64() != generation;
    if before["spec"] != object["spec"] && !is_counted {
        object["metadata"]["generation"] = json!(generation.unwrap_or(1) + 1);
    }
}

/// The labels of an object.
pub fn labels(object: &Value) -> BTreeMap<String, String> {
    let labels = object["metadata"]["labels"].as_object();
    let pairs = labels.into_iter().flatten();
    pairs.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// Makes an object the latest of its package, or not; true if that changed something.
pub fn set_latest(object: &mut Value, is_latest: Latest) -> bool {
    let Some(metadata) = object["metadata"].as_object_mut() else { return false };
    match is_latest {
        Latest::Yes => {
            let labels = metadata.entry("labels").or_insert_with(|| json!({}));
            if labels[LATEST] == "true" {
                return false;
            }
            labels[LATEST] = json!("true");
            true
        }
        Latest::No => {
            let Some(labels) = metadata.get_mut("labels").and_then(Value::as_object_mut) else {
                return false;
            };
            let had = labels.shift_remove(LATEST).is_some();
            if labels.is_empty() {
                metadata.shift_remove("labels");
            }
            had
        }
    }
}

/// Whether a revision is the newest published one of its package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Latest {
    /// It is.
    Yes,
    /// It is not.
    No,
}

/// An annotation of an object.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object["metadata"]["annotations"][key].as_str()
}

/// The version that an object says it is.
pub fn version(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap_or_default()
}
