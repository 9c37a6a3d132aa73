//! Remotes that hang, are down, and come back.

use serde_json::{Value, json};

use super::gate::{Gate, Way};
use super::{Shop, eventually, revision};

/// A way to the Git server of the shop, and a repository behind it.
fn behind(shop: &Shop, name: &str) -> Gate {
    let gate = Gate::new(([127, 0, 0, 1], shop.remote.port()).into());
    let repo = format!("http://{}/{name}.git", gate.address);
    shop.register(name, &json!({"git": {"repo": repo, "createBranch": true, "secretRef": {"name": "git"}}}));
    gate
}

fn condition(shop: &Shop, repository: &str, kind: &str) -> Value {
    let path = format!("/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories/{repository}");
    let object = shop.world.get(&path).body;
    let found =
        object["status"]["conditions"].as_array().into_iter().flatten().find(|one| one["type"] == kind);
    found.cloned().unwrap_or_default()
}

fn edit(shop: &Shop, name: &str, value: &str) {
    let map = format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: {value}\n");
    let patch = json!({"spec": {"resources": {"cm.yaml": map}}}).to_string();
    shop.ok(&["patch", "packagerevisionresources", name, "--type=merge", "-p", &patch]);
}

#[test]
fn a_remote_that_is_down_delays_no_draft_and_loses_none() {
    let Some(shop) = Shop::open("serve::packages::remotes::a_remote_that_is_down_delays_no_draft") else {
        return;
    };
    let gate = behind(&shop, "far");
    shop.create(&revision("far", "before", "v1", &Value::Null)).unwrap();
    shop.publish("far.before.v1");
    gate.set(Way::Cut);
    shop.create(&revision("far", "web", "v1", &Value::Null)).unwrap();
    edit(&shop, "far.web.v1", "one");
    edit(&shop, "far.web.v1", "two");
    shop.create(&revision("far", "db", "v1", &Value::Null)).unwrap();
    shop.lifecycle("far.db.v1", "Proposed").unwrap();
    // What is published is served; publishing has to wait, and says why.
    shop.ok(&["get", "packagerevisionresources", "far.before.v1"]);
    let refused = shop.lifecycle("far.db.v1", "Published").unwrap_err();
    assert!(refused.contains("ServiceUnavailable") || refused.contains("cannot be reached"), "{refused}");
    eventually("its conditions say so", || {
        condition(&shop, "far", "Ready")["status"] == "False"
            && condition(&shop, "far", "DraftsPushed")["reason"] == "RemoteFails"
    });
    let waiting = condition(&shop, "far", "DraftsPushed")["message"].to_string();
    assert!(waiting.contains("2 package revision(s) wait for the remote"), "{waiting}");
    assert_eq!(shop.refs("far"), ["heads/main", "tags/before/v1"]);
    // It comes back.
    gate.set(Way::Open);
    eventually("all drafts arrive", || {
        let refs = shop.refs("far");
        refs.contains(&"heads/drafts/web/v1".to_owned()) && refs.contains(&"heads/proposed/db/v1".to_owned())
    });
    assert!(shop.git("far", &["show", "drafts/web/v1:web/cm.yaml"]).contains("a: two"));
    let log = shop.git("far", &["log", "--format=%s", "drafts/web/v1"]);
    assert_eq!(
        log.lines().filter(|line| *line == "Rendering package").count(),
        2,
        "no version is lost: {log}"
    );
    eventually("its conditions say so", || {
        condition(&shop, "far", "Ready")["status"] == "True"
            && condition(&shop, "far", "DraftsPushed")["status"] == "True"
    });
    shop.lifecycle("far.db.v1", "Published").unwrap();
    shop.publish("far.web.v1");
}

/// A folder, and a server that knows nothing of it for some time: neither is the same as a Repository that is deleted.
#[test]
fn a_remote_that_is_not_found_for_a_moment_gets_its_drafts() {
    let Some(shop) = Shop::open("serve::packages::remotes::a_remote_that_is_not_found_for_a_moment") else {
        return;
    };
    shop.register("far", &json!({}));
    let folder = |name: &str| shop.git.path().join(format!("{name}.git"));
    let near = format!("file://{}", folder("near").display());
    shop.register("near", &json!({"git": {"repo": near, "createBranch": true}}));
    for name in ["far", "near"] {
        let away = shop.git.path().join(format!("{name}.away"));
        std::fs::rename(folder(name), &away).unwrap();
        shop.create(&revision(name, "web", "v1", &Value::Null)).unwrap();
        eventually("its condition says so", || {
            condition(&shop, name, "DraftsPushed")["reason"] == "RemoteFails"
        });
        let said = condition(&shop, name, "DraftsPushed")["message"].to_string();
        assert!(said.contains("1 package revision(s) wait for the remote"), "{said}");
        std::fs::rename(&away, folder(name)).unwrap();
        eventually("the draft arrives", || shop.refs(name).contains(&"heads/drafts/web/v1".to_owned()));
        eventually("its condition says so", || condition(&shop, name, "DraftsPushed")["status"] == "True");
    }
}

#[test]
fn remotes_that_hang_delay_nobody_else() {
    let Some(shop) = Shop::open("serve::packages::remotes::remotes_that_hang_delay_nobody_else") else {
        return;
    };
    let gate = behind(&shop, "stuck");
    gate.set(Way::Hanging);
    // More of them than are looked at by few workers.
    for number in 0..24 {
        let object = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": format!("hangs-{number}")},
            "spec": {"type": "git", "git": {"repo": format!("http://{}/h{number}.git", gate.address)}},
        });
        shop.create(&object).unwrap();
    }
    eventually("they hang", || gate.hanging() >= 24);
    // Others are registered, changed and published meanwhile.
    shop.register("lively", &json!({}));
    shop.create(&revision("lively", "web", "v1", &Value::Null)).unwrap();
    shop.publish("lively.web.v1");
    // Drafts in the one that hangs are taken.
    shop.create(&revision("stuck", "web", "v1", &Value::Null)).unwrap();
    edit(&shop, "stuck.web.v1", "meanwhile");
    shop.lifecycle("stuck.web.v1", "Proposed").unwrap();
    assert_eq!(condition(&shop, "lively", "Ready")["status"], "True");
    assert!(gate.hanging() >= 24, "they still hang");
    gate.set(Way::Open);
    eventually("the draft arrives", || shop.refs("stuck").contains(&"heads/proposed/web/v1".to_owned()));
    shop.lifecycle("stuck.web.v1", "Published").unwrap();
}
