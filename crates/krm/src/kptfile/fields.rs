//! What a Kptfile says, as values. The order of the fields is the order in which they are written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::result::ResultItem;
use crate::select::Selector;

/// All that a Kptfile says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Fields {
    /// Group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// Name, labels and annotations.
    #[serde(skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
    /// Where the package came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
    /// What exactly was fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream_lock: Option<UpstreamLock>,
    /// What people should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub info: Option<Info>,
    /// The functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
    /// Where the cluster keeps track of what was applied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inventory: Option<Inventory>,
    /// Conditions, and what the last render did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
}

impl Fields {
    /// Makes texts of the values in results that are lists or mappings: a Kptfile holds only text there.
    pub(super) fn forget_structure(&mut self) {
        let render = self.status.as_mut().and_then(|status| status.render_status.as_mut());
        let steps = render
            .into_iter()
            .flat_map(|render| render.mutation_steps.iter_mut().chain(render.validation_steps.iter_mut()));
        let results = steps.flat_map(|step| step.results.iter_mut().chain(step.error_results.iter_mut()));
        for field in results.filter_map(|result| result.field.as_mut()) {
            for value in [&mut field.current_value, &mut field.proposed_value].into_iter().flatten() {
                if value.is_array() || value.is_object() {
                    *value = value.to_string().into();
                }
            }
        }
    }
}

/// `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metadata {
    /// The package's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

impl Metadata {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Words that a field may have; any other word is kept as it is.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$what:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $($(#[$what])* $variant,)*
            /// Another word.
            Other(String),
        }

        impl $name {
            /// The word.
            pub fn as_str(&self) -> &str {
                match self {
                    $($name::$variant => $word,)*
                    $name::Other(word) => word,
                }
            }
        }

        impl From<String> for $name {
            fn from(word: String) -> Self {
                match word.as_str() {
                    $($word => $name::$variant,)*
                    _ => $name::Other(word),
                }
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> Self {
                word.as_str().into()
            }
        }
    };
}

words! {
    /// What kind of store a package came from.
    OriginType {
        /// A Git repository.
        Git = "git",
        /// A store that only its owner understands.
        Generic = "generic",
    }
}

words! {
    /// How a package takes over what changed upstream.
    UpdateStrategy {
        /// Resource by resource and field by field.
        ResourceMerge = "resource-merge",
        /// Only where nothing was changed locally.
        FastForward = "fast-forward",
        /// The local package is replaced.
        ForceDeleteReplace = "force-delete-replace",
        /// File by file.
        CopyMerge = "copy-merge",
    }
}

words! {
    /// Whether a condition holds.
    ConditionStatus {
        /// It holds.
        True = "True",
        /// It does not.
        False = "False",
        /// Nobody knows.
        Unknown = "Unknown",
    }
}

/// `upstream`: where the package came from, which may move on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Upstream {
    /// The kind of store.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginType>,
    /// A Git repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// How to update; where it is missing, resource by resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_strategy: Option<UpdateStrategy>,
}

/// A place in a Git repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Git {
    /// The URL, or a local path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repo: String,
    /// The directory in it, with slashes; `/` is its root.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// A branch, a tag or a commit.
    #[serde(rename = "ref", skip_serializing_if = "String::is_empty")]
    pub reference: String,
}

/// `upstreamLock`: what exactly was fetched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UpstreamLock {
    /// The kind of store.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub origin: Option<OriginType>,
    /// A commit of a Git repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<GitLock>,
    /// An entry of another store.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generic: Option<GenericLock>,
}

/// A place in a commit of a Git repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GitLock {
    /// The URL, or a local path.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repo: String,
    /// The directory in it, with slashes; `/` is its root.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// What was asked for.
    #[serde(rename = "ref", skip_serializing_if = "String::is_empty")]
    pub reference: String,
    /// The commit that it was.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub commit: String,
}

/// An entry of a store that only its owner understands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GenericLock {
    /// The store.
    #[serde(rename = "storeID", skip_serializing_if = "String::is_empty")]
    pub store_id: String,
    /// The entry.
    #[serde(rename = "resourceID", skip_serializing_if = "String::is_empty")]
    pub resource_id: String,
    /// Its version.
    #[serde(rename = "resourceVersion", skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
}

/// `info`: what people should know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Info {
    /// A page about the package.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub site: String,
    /// Who to ask.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub emails: Vec<String>,
    /// The license, by its SPDX id.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub license: String,
    /// The file with the license.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub license_file: String,
    /// What the package is.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Words to find it by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    /// The file with the long description.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub man: String,
    /// The conditions that must hold before the package may be proposed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readiness_gates: Vec<ReadinessGate>,
}

/// A condition that must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReadinessGate {
    /// The condition's type.
    pub condition_type: String,
}

/// `pipeline`: the functions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pipeline {
    /// Functions that change resources, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mutators: Vec<Function>,
    /// Functions that look at the outcome, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validators: Vec<Function>,
}

/// A list of functions in a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// `pipeline.mutators`.
    Mutators,
    /// `pipeline.validators`.
    Validators,
}

impl Stage {
    /// The name of the list.
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Mutators => "mutators",
            Stage::Validators => "validators",
        }
    }
}

impl Pipeline {
    /// The functions of a list.
    pub fn stage(&self, stage: Stage) -> &[Function] {
        match stage {
            Stage::Mutators => &self.mutators,
            Stage::Validators => &self.validators,
        }
    }

    pub(super) fn stage_mut(&mut self, stage: Stage) -> &mut Vec<Function> {
        match stage {
            Stage::Mutators => &mut self.mutators,
            Stage::Validators => &mut self.validators,
        }
    }
}

/// One step of a pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Function {
    /// The image that holds the function.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// The command that is the function.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub exec: String,
    /// The file in the package that configures it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub config_path: String,
    /// What configures it, in place.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub config_map: BTreeMap<String, String>,
    /// What the step is called.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The tag of the image, or a range of versions; stronger than the tag in `image`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub tag: String,
    /// Which resources it sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub selectors: Vec<Selector>,
    /// Which of these it does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<Selector>,
    /// An expression that must be true for the step to run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub when: String,
}

/// `inventory`: where the cluster keeps track of what was applied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Inventory {
    /// The namespace of the inventory.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Its id.
    #[serde(rename = "inventoryID", skip_serializing_if = "String::is_empty")]
    pub inventory_id: String,
    /// Its labels.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// `status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// What holds and what does not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// What the last render did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub render_status: Option<RenderStatus>,
}

/// Something that holds or does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// What it is about.
    #[serde(rename = "type", default)]
    pub condition_type: String,
    /// Whether it holds.
    #[serde(default = "nobody_knows")]
    pub status: ConditionStatus,
    /// Why, in one word.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Why, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

fn nobody_knows() -> ConditionStatus {
    ConditionStatus::Other(String::new())
}

/// What the last render did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RenderStatus {
    /// The mutators of all packages, in the order in which they ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mutation_steps: Vec<StepResult>,
    /// The validators, likewise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validation_steps: Vec<StepResult>,
    /// What went wrong, a line for each.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub error_summary: String,
}

/// What a step of a pipeline did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepResult {
    /// The step's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The image that ran.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub image: String,
    /// The command that ran.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub exec: String,
    /// Why it could not run.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub execution_error: String,
    /// What it printed for people.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stderr: String,
    /// How it ended.
    pub exit_code: i64,
    /// All that it reported.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<ResultItem>,
    /// The errors among that, again.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub error_results: Vec<ResultItem>,
    /// The expression that decided whether it runs.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub when: String,
    /// Whether that expression was false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub skipped: bool,
}
