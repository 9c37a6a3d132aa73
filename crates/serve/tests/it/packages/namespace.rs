//! A namespace that has packages is deleted.

use serde_json::json;

use super::{PASSWORD, Shop};

#[test]
fn a_namespace_with_packages_goes_and_the_remote_stays() {
    let Some(shop) = Shop::open("serve::packages::namespace::a_namespace_with_packages_goes") else { return };
    shop.ok(&["create", "namespace", "empty"]);
    shop.ok(&["delete", "namespace", "empty", "--timeout=60s"]);

    shop.ok(&["create", "namespace", "gone"]);
    let password = format!("--from-literal=password={PASSWORD}");
    let kind = "--type=kubernetes.io/basic-auth";
    shop.ok(&[
        "create",
        "secret",
        "generic",
        "git",
        "-n",
        "gone",
        kind,
        "--from-literal=username=ann",
        &password,
    ]);
    let folder = shop.git.path().join("mine.git");
    std::fs::create_dir_all(&folder).unwrap();
    shop.git("mine", &["init", "--quiet", "--bare", "--initial-branch=main"]);
    shop.git("mine", &["config", "http.receivepack", "true"]);
    let repository = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository",
        "metadata": {"name": "mine", "namespace": "gone"},
        "spec": {"type": "git", "git": {
            "repo": shop.remote.url("mine.git"), "createBranch": true, "secretRef": {"name": "git"},
        }},
    });
    shop.create(&repository).unwrap();
    shop.ok(&["wait", "-n", "gone", "--for=condition=Ready", "repository/mine", "--timeout=60s"]);
    for (package, is_published) in [("web", true), ("db", false)] {
        let revision = json!({
            "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
            "metadata": {"namespace": "gone", "name": "ignored"},
            "spec": {"repository": "mine", "packageName": package, "workspaceName": "v1"},
        });
        shop.create(&revision).unwrap();
        let name = format!("mine.{package}.v1");
        let patch = |lifecycle: &str, more: &[&str]| {
            let patch = json!({"spec": {"lifecycle": lifecycle}}).to_string();
            let first = ["patch", "packagerevision", &name, "-n", "gone", "--type=merge", "-p", &patch];
            shop.ok(&[&first[..], more].concat());
        };
        if is_published {
            patch("Proposed", &[]);
            patch("Published", &["--subresource=approval"]);
        }
    }
    let refused = shop.run(
        &["delete", "--raw", "/apis/porch.kpt.dev/v1alpha1/namespaces/gone/packagerevisions?unregister=true"],
        "",
    );
    assert!(refused.unwrap_err().contains("is not being deleted"));
    shop.ok(&["delete", "namespace", "gone", "--timeout=60s"]);
    let left = shop.ok(&["get", "packagerevisions,repositories,secrets", "-A", "-o", "name"]);
    assert!(!left.contains("mine"), "{left}");
    assert_eq!(
        shop.refs("mine"),
        ["heads/drafts/db/v1", "heads/main", "tags/web/v1"],
        "the draft was pushed before it was forgotten, and nothing was deleted"
    );
}
