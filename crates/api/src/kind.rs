//! What the server knows of a kind.

use std::sync::Arc;

use serde_json::Value;

use crate::column::Column;
use crate::schema::Schema;

/// A kind that the server serves: its names, its versions, and what can be done with it.
#[derive(Clone, Debug)]
pub struct KindInfo {
    /// The API group; empty for the core.
    pub group: String,
    /// What it is called.
    pub names: Names,
    /// Whether its objects live in namespaces.
    pub scope: Scope,
    /// Where it comes from.
    pub origin: Origin,
    /// What can be done with its objects, in the order of discovery.
    pub verbs: Vec<Verb>,
    /// Its versions, the one that clients should prefer first. There is at least one.
    pub versions: Vec<Version>,
}

impl KindInfo {
    /// A version by its name, whether it is served or not.
    pub fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    /// The versions that are served, the preferred one first.
    pub fn served(&self) -> impl Iterator<Item = &Version> {
        self.versions.iter().filter(|version| version.serving == Serving::Served)
    }

    /// The version in which objects are stored.
    pub fn storage(&self) -> &Version {
        let stored = self.versions.iter().find(|version| version.role == Role::Storage);
        stored.or(self.versions.first()).expect("a kind has at least one version")
    }

    /// `plural.group`, or `plural` alone in the core: how messages name the resource.
    pub fn resource(&self) -> String {
        if self.group.is_empty() {
            self.names.plural.clone()
        } else {
            format!("{}.{}", self.names.plural, self.group)
        }
    }

    /// `Kind.group`, or `Kind` alone in the core: how messages name the kind.
    pub fn qualified_kind(&self) -> String {
        if self.group.is_empty() {
            self.names.kind.clone()
        } else {
            format!("{}.{}", self.names.kind, self.group)
        }
    }

    /// `group/version`, or `version` alone in the core.
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// Whether something can be done with its objects.
    pub fn allows(&self, verb: Verb) -> bool {
        self.verbs.contains(&verb)
    }

    /// Turns an object of one version into one of another. Nothing but `apiVersion` changes: no conversion is defined by webhooks here.
    pub fn convert(&self, mut object: Value, to: &str) -> Value {
        object["apiVersion"] = self.api_version(to).into();
        object
    }
}

/// What a kind is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// `Repository`
    pub kind: String,
    /// `RepositoryList`
    pub list_kind: String,
    /// `repositories`
    pub plural: String,
    /// `repository`
    pub singular: String,
    /// `repo`
    pub short_names: Vec<String>,
    /// Groups of kinds that kubectl can ask for at once, such as `all`.
    pub categories: Vec<String>,
}

/// Whether objects live in namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// They do.
    Namespaced,
    /// There is one world for all.
    Cluster,
}

/// Where a kind comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Kubernetes has it. Unknown fields are dropped or refused by its type, and only what the type says is checked by the schema.
    BuiltIn,
    /// One of our groups. Treated as if a definition of a custom resource had brought it.
    Ours,
    /// A definition of a custom resource brought it.
    Custom,
}

/// What can be done with objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Make one.
    Create,
    /// Delete one.
    Delete,
    /// Delete many.
    DeleteCollection,
    /// Read one.
    Get,
    /// Read many.
    List,
    /// Change a part of one.
    Patch,
    /// Replace one.
    Update,
    /// Hear of changes.
    Watch,
}

impl Verb {
    /// All of them, in the order of discovery.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Delete,
        Self::DeleteCollection,
        Self::Get,
        Self::List,
        Self::Patch,
        Self::Update,
        Self::Watch,
    ];

    /// As discovery and rules write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Get => "get",
            Self::List => "list",
            Self::Patch => "patch",
            Self::Update => "update",
            Self::Watch => "watch",
        }
    }
}

/// A version of a kind.
#[derive(Clone, Debug)]
pub struct Version {
    /// `v1alpha1`
    pub name: String,
    /// Whether clients can use it.
    pub serving: Serving,
    /// Whether objects are stored in it.
    pub role: Role,
    /// The warning that clients get who use it, when it is deprecated.
    pub deprecation: Option<String>,
    /// What its objects look like.
    pub schema: Arc<Schema>,
    /// The same as an `OpenAPI` v3 schema in JSON, as it was written.
    pub source: Arc<Value>,
    /// What else can be asked for below an object.
    pub sub_resources: Vec<SubResource>,
    /// The columns of tables, `Name` and `Age` included.
    pub columns: Vec<Column>,
    /// The fields that selectors can name, beside `metadata.name` and `metadata.namespace`: `spec.type`.
    pub selectable: Vec<String>,
}

impl Version {
    /// Whether status is a sub-resource of its own: then writes to the object leave the status alone, and the other way round.
    pub fn has_status(&self) -> bool {
        self.sub_resources.iter().any(|one| matches!(one, SubResource::Status))
    }

    /// A sub-resource by its name in paths.
    pub fn sub_resource(&self, name: &str) -> Option<&SubResource> {
        self.sub_resources.iter().find(|one| one.name() == name)
    }
}

/// Whether clients can use a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// They can.
    Served,
    /// They cannot.
    Hidden,
}

/// Whether objects are stored in a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// They are.
    Storage,
    /// They are not.
    View,
}

/// What can be asked for below an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubResource {
    /// Its status: `get`, `patch`, `update`.
    Status,
    /// How many replicas it has, as an `autoscaling/v1` `Scale`.
    Scale(Scale),
    /// Something else that is only created, such as the `token` of a service account.
    Action(Action),
}

impl SubResource {
    /// Its name in paths.
    pub fn name(&self) -> &str {
        match self {
            Self::Status => "status",
            Self::Scale(_) => "scale",
            Self::Action(action) => &action.name,
        }
    }
}

/// Where the numbers of a `Scale` stand. Paths are written `.spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scale {
    /// How many are wanted.
    pub spec_replicas: String,
    /// How many there are.
    pub status_replicas: String,
    /// Which they are, as the text of a label selector.
    pub label_selector: Option<String>,
}

/// A sub-resource that takes and gives objects of another kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Its name in paths.
    pub name: String,
    /// The group of what it takes.
    pub group: String,
    /// The version of what it takes.
    pub version: String,
    /// The kind of what it takes.
    pub kind: String,
    /// What can be done with it.
    pub verbs: Vec<Verb>,
}
