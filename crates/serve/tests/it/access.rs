//! Who may do what: every verb, of every role that is always there, on the routes of every kind.

use lanai_apiserver::Identity;
use serde_json::{Value, json};

use crate::world::World;

/// All that can be done, each with its letter, how it is asked, and whether it is asked of one object.
const VERBS: [(char, &str, bool); 8] = [
    ('c', "POST", false),
    ('g', "GET", true),
    ('l', "GET", false),
    ('w', "WATCH", false),
    ('u', "PUT", true),
    ('p', "PATCH", true),
    ('d', "DELETE", true),
    ('x', "DELETE", false),
];

/// Where something is asked: `{ns}` is the namespace in which the role was given.
const ROUTES: [(&str, &str); 13] = [
    ("configmaps", "/api/v1/namespaces/{ns}/configmaps"),
    ("secrets", "/api/v1/namespaces/{ns}/secrets"),
    ("serviceaccounts", "/api/v1/namespaces/{ns}/serviceaccounts"),
    ("events", "/api/v1/namespaces/{ns}/events"),
    ("new events", "/apis/events.k8s.io/v1/namespaces/{ns}/events"),
    ("leases", "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"),
    ("repositories", "/apis/config.porch.kpt.dev/v1alpha1/namespaces/{ns}/repositories"),
    ("roles", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles"),
    ("rolebindings", "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/rolebindings"),
    ("elsewhere", "/api/v1/namespaces/kube-system/configmaps"),
    ("clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterroles"),
    ("definitions", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"),
    ("namespaces", "/api/v1/namespaces"),
];

/// The letters of what each role may, route by route.
const TABLE: [(&str, [&str; 13]); 5] = [
    ("nothing", [""; 13]),
    ("view", ["glw", "", "glw", "glw", "glw", "", "glw", "", "", "", "", "", ""]),
    ("edit", [ALL, ALL, ALL, ALL, ALL, ALL, ALL, "", "", "", "", "", ""]),
    ("admin", [ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, "", "", "", ""]),
    // Given in a namespace, it is about what is in it.
    ("cluster-admin", [ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, ALL, "", "", "", ""]),
];
const ALL: &str = "cglwupdx";

fn allowed(world: &World, identity: &Identity, path: &str) -> String {
    let mut letters = String::new();
    for (letter, method, is_one) in VERBS {
        let path = if is_one { format!("{path}/none") } else { path.to_owned() };
        // A version that will never be there ends a watch at once; nothing that is asked here is done.
        let (method, path) = match method {
            "WATCH" => ("GET", format!("{path}?watch=true&resourceVersion=999999999")),
            "GET" => ("GET", path),
            method => (method, format!("{path}?dryRun=All&fieldManager=x")),
        };
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let body = if method == "DELETE" || method == "GET" { "" } else { "{}" };
        let answer = world.send_as(identity, method, &path, media, body);
        if answer.code != 403 {
            letters.push(letter);
        }
        assert_ne!(answer.code, 401, "{}", answer.text);
    }
    letters
}

#[test]
fn each_role_may_what_it_says_on_each_route() {
    let world = World::new();
    let rbac = "rbac.authorization.k8s.io";
    for (role, expected) in TABLE {
        let user = format!("{role}-user");
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": role},
                             "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
                             "subjects": [{"apiGroup": rbac, "kind": "User", "name": user}]});
        let made = world.send(
            "POST",
            "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
            &binding,
        );
        assert_eq!(made.code, 201, "{}", made.text);
        let identity = Identity::known(user, []);
        for ((name, path), expected) in ROUTES.iter().zip(expected) {
            let seen = allowed(&world, &identity, &path.replace("{ns}", "default"));
            assert_eq!(seen, expected, "{role} on {name}");
        }
    }
    let root = Identity::known("root", ["system:masters".to_owned()]);
    for (name, path) in ROUTES {
        assert_eq!(allowed(&world, &root, &path.replace("{ns}", "default")), ALL, "masters on {name}");
    }
}

/// What is no object: everybody who is known may discover, and only health is told to others.
#[test]
fn routes_that_are_no_objects() {
    let world = World::new();
    let known = Identity::known("somebody", []);
    let paths = [
        "/healthz",
        "/livez",
        "/readyz",
        "/api",
        "/apis",
        "/api/v1",
        "/openapi/v2",
        "/openapi/v3",
        "/version",
        "/metrics",
        "/",
    ];
    let may = |identity: &Identity| -> Vec<&str> {
        let is_told = |path: &&&str| {
            let request = http::Request::get(**path).body(String::new().into()).unwrap();
            world.request(identity, request).code == 200
        };
        paths.iter().filter(is_told).copied().collect()
    };
    assert_eq!(may(&Identity::anonymous()), ["/healthz", "/livez", "/readyz"]);
    assert_eq!(
        may(&known),
        [
            "/healthz",
            "/livez",
            "/readyz",
            "/api",
            "/apis",
            "/api/v1",
            "/openapi/v2",
            "/openapi/v3",
            "/version",
            "/"
        ]
    );
    assert_eq!(may(&Identity::server("test")), paths);
    let me = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_string();
    let ask = |identity: &Identity, path: &str, body: &str| {
        world.send_as(identity, "POST", path, "application/json", body).code
    };
    assert_eq!(ask(&known, "/apis/authentication.k8s.io/v1/selfsubjectreviews", &me), 201);
    let other: Value = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                              "spec": {"user": "x", "nonResourceAttributes": {"path": "/", "verb": "get"}}});
    assert_eq!(ask(&known, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &other.to_string()), 403);
}

/// A role with a label is a part of those that ask for it, at once and for as long as it is there.
#[test]
fn roles_are_made_of_others() {
    let world = World::new();
    let rbac = "rbac.authorization.k8s.io";
    let root = format!("/apis/{rbac}/v1");
    let binding = json!({"apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": {"name": "v"},
                         "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "view"},
                         "subjects": [{"apiGroup": rbac, "kind": "User", "name": "bob"}]});
    assert_eq!(world.send("POST", &format!("{root}/namespaces/default/rolebindings"), &binding).code, 201);
    let bob = Identity::known("bob", []);
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
    let seen = || world.send_as(&bob, "GET", leases, "application/json", "").code;
    assert_eq!(seen(), 403);
    let role = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole",
                      "metadata": {"name": "leases", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
                      "rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]}]});
    assert_eq!(world.send("POST", &format!("{root}/clusterroles"), &role).code, 201);
    assert_eq!(seen(), 200);
    assert_eq!(world.send("DELETE", &format!("{root}/clusterroles/leases"), &Value::Null).code, 200);
    assert_eq!(seen(), 403);
    // Who may write cluster roles, and nothing else, cannot make one of whatever others will write.
    let writer = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": "writer"},
                        "rules": [{"apiGroups": [rbac], "resources": ["clusterroles"], "verbs": ["*"], "resourceNames": []}]});
    assert_eq!(world.send("POST", &format!("{root}/clusterroles"), &writer).code, 201);
    let given = json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRoleBinding", "metadata": {"name": "w"},
                       "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "writer"},
                       "subjects": [{"apiGroup": rbac, "kind": "User", "name": "eve"}]});
    assert_eq!(world.send("POST", &format!("{root}/clusterrolebindings"), &given).code, 201);
    let eve = Identity::known("eve", []);
    let wide =
        json!({"apiVersion": format!("{rbac}/v1"), "kind": "ClusterRole", "metadata": {"name": "wide"},
                      "aggregationRule": {"clusterRoleSelectors": [{}]}})
        .to_string();
    // The verb `*` has `escalate` in it; without it, it is refused.
    let only =
        json!({"rules": [{"apiGroups": [rbac], "resources": ["clusterroles"], "verbs": ["create", "get"]}]})
            .to_string();
    let changed = world.send_as(
        &Identity::server("test"),
        "PATCH",
        &format!("{root}/clusterroles/writer"),
        "application/merge-patch+json",
        &only,
    );
    assert_eq!(changed.code, 200, "{}", changed.text);
    let refused = world.send_as(&eve, "POST", &format!("{root}/clusterroles"), "application/json", &wide);
    assert_eq!(refused.code, 403, "{}", refused.text);
    assert_eq!(
        world.send("POST", &format!("{root}/clusterroles"), &serde_json::from_str(&wide).unwrap()).code,
        201
    );
}
