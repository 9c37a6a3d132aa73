//! Another API server that decides who may do what: here it is one of ours.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use lanai_apiserver::{Identity, Limits};
use lanai_serve::delegate::{Elsewhere, KEPT};
use lanai_serve::{Options, Server};
use serde_json::{Value, json};

use crate::world::{World, options};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn binding(user: &str) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": user},
           "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
           "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user}]})
}

#[test]
fn who_may_what_is_decided_elsewhere() {
    let mut judge = World::new();
    // What is allowed is known for a while: this is how much later it is.
    let later = Arc::new(AtomicI64::new(0));
    let clock = {
        let later = later.clone();
        move || jiff::Timestamp::now() + jiff::SignedDuration::from_secs(later.load(Ordering::Relaxed))
    };
    let kubeconfig = judge.kubeconfig();
    let world = World::of(|data| Options {
        delegate: Some(kubeconfig),
        clock: Arc::new(clock),
        ..options(data, Limits::DEFAULT)
    });
    let ann = Identity::known("ann", []);
    let may = |path: &str| world.send_as(&ann, "GET", path, "application/json", "").code;
    assert_eq!(may(MAPS), 403);
    // Rules that are kept here do not count.
    assert_eq!(world.send("POST", &format!("{RBAC}/rolebindings"), &binding("ann")).code, 201);
    assert_eq!(may(MAPS), 403);
    assert_eq!(judge.send("POST", &format!("{RBAC}/rolebindings"), &binding("ann")).code, 201);
    assert_eq!(may(MAPS), 200, "at once");
    assert_eq!(may("/api/v1/namespaces/default/secrets"), 403);
    assert_eq!(may("/api/v1/namespaces/kube-system/configmaps"), 403);
    assert_eq!(may("/apis"), 200, "paths are asked about as well");
    assert_eq!(may("/metrics"), 403);
    let asked = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "ann", "resourceAttributes": {"verb": "list", "resource": "configmaps", "namespace": "default"}}});
    let told = world.send("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", &asked);
    assert_eq!(told.body["status"]["allowed"], true, "{}", told.text);
    let rules = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": "default"}});
    let told = world.send("POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", &rules);
    assert_eq!(told.body["status"]["incomplete"], true, "{}", told.text);

    // What was taken back ends with what is known of it.
    assert_eq!(judge.send("DELETE", &format!("{RBAC}/rolebindings/ann"), &Value::Null).code, 200);
    later.store(KEPT.as_secs(), Ordering::Relaxed);
    assert_eq!(may(MAPS), 403);

    // When nobody can be asked, only those may who may everything.
    judge.end();
    let refused = world.send_as(&ann, "GET", MAPS, "application/json", "");
    assert_eq!(
        (refused.code, refused.body["reason"].as_str()),
        (503, Some("ServiceUnavailable")),
        "{}",
        refused.text
    );
    assert!(refused.text.contains("who may do what is decided by https://127.0.0.1:"), "{}", refused.text);
    assert_eq!(world.get(MAPS).code, 200);
    assert_eq!(world.get("/readyz").text, "ok");
}

#[test]
fn kubeconfigs_that_do_not_say_whom_to_ask_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let open = |text: &str| {
        let path = folder.path().join("kubeconfig");
        std::fs::write(&path, text).unwrap();
        Elsewhere::open(&path, Arc::new(jiff::Timestamp::now)).err().unwrap().to_string()
    };
    let with = |cluster: &Value, user: &Value| {
        json!({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
               "clusters": [{"name": "k", "cluster": cluster}], "users": [{"name": "u", "user": user}]})
        .to_string()
    };
    let https = json!({"server": "https://127.0.0.1:1", "certificate-authority": "ca.crt"});
    for (text, word) in [
        ("current-context: c\n".to_owned(), "its current context is not there"),
        ("- a\n".to_owned(), "does not say whom to ask"),
        (with(&json!({"server": "http://127.0.0.1:1"}), &json!({"token": "t"})), "begins with https://"),
        (with(&json!({"server": "https://127.0.0.1:1"}), &json!({"token": "t"})), "no certificate-authority"),
        (with(&https, &json!({"token": "t"})), "ca.crt\" cannot be read"),
        (
            with(
                &json!({"server": "https://127.0.0.1:1", "certificate-authority-data": "%"}),
                &json!({"token": "t"}),
            ),
            "no Base64",
        ),
        (
            with(
                &json!({"server": "https://127.0.0.1:1", "certificate-authority-data": "YQ=="}),
                &json!({"token": "t"}),
            ),
            "no certificate",
        ),
        (
            with(&json!({"server": "https://127.0.0.1:1", "certificate-authority-data": "YQ=="}), &json!({})),
            "no client-certificate, token or tokenFile",
        ),
    ] {
        let error = open(&text);
        assert!(error.contains(word), "{word:?} is not in {error:?}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let options = Options {
        delegate: Some(Path::new("/nowhere/kubeconfig").to_owned()),
        ..options(&folder.path().join("data"), Limits::DEFAULT)
    };
    let error = runtime.block_on(Server::start(options)).err().unwrap().to_string();
    assert!(error.contains("\"/nowhere/kubeconfig\" cannot be read"), "{error}");
}
