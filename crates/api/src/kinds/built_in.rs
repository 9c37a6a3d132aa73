//! The kinds of Kubernetes that we serve.

use std::sync::Arc;

use serde_json::Value;

use super::cells;
use crate::column::{Cell, CellType, Column, Source};
use crate::crd::name_column;
use crate::kind::{Action, KindInfo, Names, Origin, Role, Scope, Serving, SubResource, Verb, Version};
use crate::schema::built_in::of_kind;

const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

/// All but `deletecollection`: namespaces are not deleted in bulk.
const NAMESPACE_VERBS: [Verb; 7] =
    [Verb::Create, Verb::Delete, Verb::Get, Verb::List, Verb::Patch, Verb::Update, Verb::Watch];

pub(super) fn all() -> Vec<KindInfo> {
    let mut kinds = core();
    kinds.extend(events());
    kinds.extend(rbac());
    kinds.extend(reviews());
    kinds.push(lease());
    kinds.push(definition());
    kinds
}

/// A kind with the fields that most have.
fn kind(
    group: &str,
    version: &str,
    name: &str,
    plural: &str,
    scope: Scope,
    columns: Vec<Column>,
) -> KindInfo {
    let schema = of_kind(group, version, name).expect("the table of Kubernetes has the kind");
    KindInfo {
        group: group.to_owned(),
        names: Names {
            kind: name.to_owned(),
            list_kind: format!("{name}List"),
            plural: plural.to_owned(),
            singular: name.to_lowercase(),
            short_names: Vec::new(),
            categories: Vec::new(),
        },
        scope,
        origin: Origin::BuiltIn,
        verbs: Verb::ALL.to_vec(),
        versions: vec![Version {
            name: version.to_owned(),
            serving: Serving::Served,
            role: Role::Storage,
            deprecation: None,
            schema: Arc::new(schema),
            source: Arc::new(Value::Null),
            sub_resources: Vec::new(),
            columns,
            selectable: Vec::new(),
        }],
    }
}

impl KindInfo {
    fn short(mut self, names: &[&str]) -> Self {
        self.names.short_names = names.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    fn with(mut self, change: impl Fn(&mut Version)) -> Self {
        self.versions.iter_mut().for_each(change);
        self
    }
}

/// Objects of Kubernetes's own kinds are small enough to be read for a cell.
const WHOLE: &[&[&str]] = &[&[]];

/// A column of text that is always shown.
fn text(name: &str, description: &str, of: Cell) -> Column {
    column(name, CellType::Text, description, 0, of)
}

/// A column of text for `-o wide`.
fn wide(name: &str, description: &str, of: Cell) -> Column {
    column(name, CellType::Text, description, 1, of)
}

fn column(name: &str, kind: CellType, description: &str, priority: i32, of: Cell) -> Column {
    Column {
        name: name.to_owned(),
        kind,
        format: String::new(),
        description: description.to_owned(),
        priority,
        source: Source::Computed { of, reads: WHOLE },
    }
}

fn age() -> Column {
    text("Age", "How long ago the object was made.", cells::age)
}

fn created_at() -> Column {
    column("Created At", CellType::Date, "When the object was made.", 0, cells::created)
}

fn core() -> Vec<KindInfo> {
    let status = || text("Status", "The status of the namespace.", cells::phase);
    let namespace =
        kind("", "v1", "Namespace", "namespaces", Scope::Cluster, vec![name_column(), status(), age()])
            .short(&["ns"])
            .with(|version| {
                let finalize = Action {
                    name: "finalize".to_owned(),
                    group: String::new(),
                    version: "v1".to_owned(),
                    kind: "Namespace".to_owned(),
                    verbs: vec![Verb::Update],
                };
                version.sub_resources = vec![SubResource::Action(finalize), SubResource::Status];
                version.selectable = vec!["status.phase".to_owned()];
            });
    let namespace = KindInfo { verbs: NAMESPACE_VERBS.to_vec(), ..namespace };
    let data = || text("Data", "How many entries it has.", cells::entries);
    let secret_type = text("Type", "What the secret is for.", cells::secret_type);
    let secret = kind(
        "",
        "v1",
        "Secret",
        "secrets",
        Scope::Namespaced,
        vec![name_column(), secret_type, data(), age()],
    )
    .with(|version| version.selectable = vec!["type".to_owned()]);
    let config_map =
        kind("", "v1", "ConfigMap", "configmaps", Scope::Namespaced, vec![name_column(), data(), age()])
            .short(&["cm"]);
    let secrets = text("Secrets", "How many secrets it names.", cells::secrets);
    let account = kind(
        "",
        "v1",
        "ServiceAccount",
        "serviceaccounts",
        Scope::Namespaced,
        vec![name_column(), secrets, age()],
    )
    .short(&["sa"])
    .with(|version| {
        version.sub_resources = vec![SubResource::Action(Action {
            name: "token".to_owned(),
            group: AUTHENTICATION.to_owned(),
            version: "v1".to_owned(),
            kind: "TokenRequest".to_owned(),
            verbs: vec![Verb::Create],
        })];
    });
    vec![config_map, namespace, secret, account]
}

fn events() -> Vec<KindInfo> {
    let columns = || {
        let name = Column { priority: 1, ..name_column() };
        vec![
            text("Last Seen", "When it was seen last.", cells::last_seen),
            text("Type", "Normal or Warning; there may be others.", cells::event_type),
            text("Reason", "Why it happened, in one word.", cells::reason),
            text("Object", "What it is about.", cells::about),
            wide("Subobject", "Which part of the object it is about.", cells::about_part),
            wide("Source", "Who reported it.", cells::source),
            text("Message", "What happened, in words.", cells::message),
            wide("First Seen", "When it was seen first.", cells::first_seen),
            wide("Count", "How often it was seen.", cells::event_count),
            name,
        ]
    };
    let old_fields = [
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ];
    let new_fields = [
        "regarding.kind",
        "regarding.namespace",
        "regarding.name",
        "regarding.uid",
        "regarding.apiVersion",
        "regarding.resourceVersion",
        "regarding.fieldPath",
        "reason",
        "reportingController",
        "type",
    ];
    let fields = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    vec![
        kind("", "v1", "Event", "events", Scope::Namespaced, columns())
            .short(&["ev"])
            .with(|version| version.selectable = fields(&old_fields)),
        kind("events.k8s.io", "v1", "Event", "events", Scope::Namespaced, columns())
            .short(&["ev"])
            .with(|version| version.selectable = fields(&new_fields)),
    ]
}

fn rbac() -> Vec<KindInfo> {
    let role = |name: &str, plural: &str, scope| {
        kind(RBAC, "v1", name, plural, scope, vec![name_column(), created_at()])
    };
    let binding = |name: &str, plural: &str, scope| {
        let columns = vec![
            name_column(),
            text("Role", "The role that is given.", cells::role),
            age(),
            wide("Users", "The users that have it.", cells::users),
            wide("Groups", "The groups that have it.", cells::groups),
            wide("ServiceAccounts", "The service accounts that have it.", cells::accounts),
        ];
        kind(RBAC, "v1", name, plural, scope, columns)
    };
    vec![
        binding("ClusterRoleBinding", "clusterrolebindings", Scope::Cluster),
        role("ClusterRole", "clusterroles", Scope::Cluster),
        binding("RoleBinding", "rolebindings", Scope::Namespaced),
        role("Role", "roles", Scope::Namespaced),
    ]
}

/// Questions that are answered and not kept.
fn reviews() -> Vec<KindInfo> {
    let review = |group: &str, name: &str, scope| {
        let plural = format!("{}s", name.to_lowercase());
        let info = kind(group, "v1", name, &plural, scope, vec![name_column(), age()]);
        KindInfo { verbs: vec![Verb::Create], ..info }
    };
    vec![
        review(AUTHENTICATION, "SelfSubjectReview", Scope::Cluster),
        review(AUTHENTICATION, "TokenReview", Scope::Cluster),
        review(AUTHORIZATION, "LocalSubjectAccessReview", Scope::Namespaced),
        review(AUTHORIZATION, "SelfSubjectAccessReview", Scope::Cluster),
        review(AUTHORIZATION, "SelfSubjectRulesReview", Scope::Cluster),
        review(AUTHORIZATION, "SubjectAccessReview", Scope::Cluster),
    ]
}

fn lease() -> KindInfo {
    let holder = text("Holder", "Who holds it.", cells::holder);
    kind(
        "coordination.k8s.io",
        "v1",
        "Lease",
        "leases",
        Scope::Namespaced,
        vec![name_column(), holder, age()],
    )
}

fn definition() -> KindInfo {
    let columns = vec![name_column(), created_at()];
    let info = kind(
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        Scope::Cluster,
        columns,
    );
    let mut info =
        info.short(&["crd", "crds"]).with(|version| version.sub_resources = vec![SubResource::Status]);
    info.names.categories = vec!["api-extensions".to_owned()];
    info
}
