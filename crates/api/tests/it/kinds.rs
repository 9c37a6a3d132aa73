//! The kinds that are always there.

use lanai_api::kind::{Origin, Scope, Verb};
use lanai_api::schema::{Limits, rules};
use lanai_api::{Schema, crd, kinds};
use serde_json::{Value, json};

fn definition(text: &str) -> Value {
    let document = lanai_yaml::Document::parse(text.to_owned()).expect("it is YAML");
    document.root().deserialize().expect("it is an object")
}

#[test]
fn the_definitions_of_our_kinds_are_valid() {
    for text in kinds::DEFINITIONS {
        let mut object = definition(text);
        crd::fill(&mut object);
        let causes = crd::validate(&object, None);
        assert!(causes.is_empty(), "{}: {causes:?}", object["metadata"]["name"]);
    }
}

#[test]
fn the_kinds_of_the_issue_are_there() {
    let mut found: Vec<String> = kinds::all().iter().map(|kind| kind.resource()).collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            "clusterrolebindings.rbac.authorization.k8s.io",
            "clusterroles.rbac.authorization.k8s.io",
            "configmaps",
            "customresourcedefinitions.apiextensions.k8s.io",
            "events",
            "events.events.k8s.io",
            "functionconfigs.config.porch.kpt.dev",
            "leases.coordination.k8s.io",
            "localsubjectaccessreviews.authorization.k8s.io",
            "namespaces",
            "packagerevs.config.porch.kpt.dev",
            "repositories.config.porch.kpt.dev",
            "rolebindings.rbac.authorization.k8s.io",
            "roles.rbac.authorization.k8s.io",
            "secrets",
            "selfsubjectaccessreviews.authorization.k8s.io",
            "selfsubjectreviews.authentication.k8s.io",
            "selfsubjectrulesreviews.authorization.k8s.io",
            "serviceaccounts",
            "subjectaccessreviews.authorization.k8s.io",
            "taskactions.flyte.org",
            "tokenreviews.authentication.k8s.io",
        ]
    );
    for kind in kinds::all().iter().filter(|kind| kind.origin == Origin::Ours) {
        assert_eq!(kind.names.categories, ["lanai"], "{}", kind.resource());
        let last_shown = kind.storage().columns.iter().rfind(|column| column.priority == 0).unwrap();
        assert_eq!(last_shown.name, "Age", "{}", kind.resource());
        assert!(kind.storage().has_status() && kind.allows(Verb::Watch) && kind.scope == Scope::Namespaced);
    }
}

fn cells(group: &str, kind: &str, object: &Value) -> Vec<Value> {
    let now = "2026-11-16T00:02:05Z".parse().expect("it is a time");
    kinds::find(group, kind)
        .expect("the kind is there")
        .storage()
        .columns
        .iter()
        .map(|column| column.cell(object, now))
        .collect()
}

#[test]
fn cells_show_what_people_look_for() {
    let meta = json!({"name": "n", "creationTimestamp": "2026-11-16T00:00:00Z"});
    let repository = json!({
        "metadata": meta,
        "spec": {"type": "git", "content": "Package", "git": {"repo": "https://example.com/a.git", "branch": "main"}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    });
    assert_eq!(
        json!(cells("config.porch.kpt.dev", "Repository", &repository)),
        json!(["n", "git", "Package", null, null, "True", "https://example.com/a.git", "main", "2m5s"])
    );
    let oci = json!({"metadata": meta, "spec": {"oci": {"registry": "r.example.com"}}});
    assert_eq!(cells("config.porch.kpt.dev", "Repository", &oci)[6], "r.example.com");
    let secret = json!({"metadata": meta, "type": "Opaque", "data": {"a": "", "b": ""}});
    assert_eq!(json!(cells("", "Secret", &secret)), json!(["n", "Opaque", 2, "2m5s"]));
    let binding = json!({
        "metadata": meta,
        "roleRef": {"kind": "Role", "name": "r"},
        "subjects": [
            {"kind": "ServiceAccount", "namespace": "a", "name": "s"},
            {"kind": "User", "name": "ann"},
            {"kind": "User", "name": "bob"},
        ],
    });
    assert_eq!(
        json!(cells("rbac.authorization.k8s.io", "RoleBinding", &binding)),
        json!(["n", "Role/r", "2m5s", "ann, bob", "", "a/s"])
    );
    let event = json!({
        "metadata": meta,
        "involvedObject": {"kind": "Pod", "name": "p"},
        "reason": "Started",
        "message": "it runs\n",
        "type": "Normal",
        "source": {"component": "kubelet", "host": "h"},
        "count": 3,
        "firstTimestamp": "2026-11-16T00:00:00Z",
        "lastTimestamp": "2026-11-16T00:02:00Z",
    });
    assert_eq!(
        json!(cells("", "Event", &event)),
        json!(["5s", "Normal", "Started", "pod/p", "", "kubelet, h", "it runs", "2m5s", 3, "n"])
    );
}

fn repository_schema() -> &'static Schema {
    &kinds::find("config.porch.kpt.dev", "Repository").expect("the kind is there").storage().schema
}

#[test]
fn repositories_keep_what_cannot_change() {
    let repository = |name: &str, spec: Value| json!({"metadata": {"name": name}, "spec": spec});
    let check = |new: Value, old: Option<&Value>| {
        let causes = rules::check(&new, old, repository_schema(), &Limits::default());
        causes.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let git = json!({"type": "git", "content": "Package", "git": {"repo": "r", "branch": "main"}});
    let old = repository("a", git.clone());
    assert_eq!(check(old.clone(), None), [""; 0]);
    let dotted = check(repository("a.b", git.clone()), None);
    assert_eq!(
        dotted,
        [r#"<nil>: Invalid value: "object": metadata.name must conform to the RFC1123 DNS label standard"#]
    );
    let long = check(repository(&"a".repeat(64), git.clone()), None);
    assert_eq!(long, [r#"<nil>: Invalid value: "object": metadata.name must be no more than 63 characters"#]);
    let moved = json!({"type": "oci", "content": "Other", "git": {"repo": "s", "branch": "dev"}});
    assert_eq!(
        check(repository("a", moved), Some(&old)),
        [
            r#"<nil>: Invalid value: "object": spec.type is immutable"#,
            r#"<nil>: Invalid value: "object": spec.git.repo is immutable"#,
            r#"<nil>: Invalid value: "object": spec.git.branch is immutable"#,
            r#"spec.content: Invalid value: "string": The 'content' field is deprecated, its only valid value is 'Package'"#,
        ]
    );
    let with_directory = json!({"type": "git", "git": {"repo": "r", "branch": "main", "directory": "/a"}});
    let set_once = repository("a", with_directory);
    assert_eq!(check(set_once.clone(), Some(&old)), [""; 0], "what was not there can be set");
    let unset = check(old, Some(&set_once));
    assert_eq!(unset, [r#"<nil>: Invalid value: "object": spec.git.directory is immutable"#]);
}
