//! From a draft to what is published, and out of the world.

use lanai_engine::{Reason, Route};
use serde_json::{Value, json};

use crate::world::{CONFIG_MAP, World, kptfile};

fn clone_of(name: &str) -> Value {
    json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": name}}}})
}

fn edit_of(name: &str) -> Value {
    json!({"type": "edit", "edit": {"sourceRef": {"name": name}}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_package_is_made_published_and_deleted() {
    let world = World::new().await;
    let made = world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    assert_eq!(made["metadata"]["name"], "blueprints.dns.v1");
    assert_eq!(made["spec"]["lifecycle"], "Draft");
    assert_eq!(made["spec"]["tasks"][0]["type"], "init");
    assert_eq!(made["status"]["conditions"][0]["type"], "Rendered");
    assert_eq!(made["status"]["selfLock"]["git"]["ref"], "drafts/dns/v1");
    let resources = world.resources("blueprints.dns.v1").await;
    let files: Vec<&String> = resources["spec"]["resources"].as_object().unwrap().keys().collect();
    assert_eq!(files, ["Kptfile", "README.md", "package-context.yaml"]);
    world.settled("blueprints").await;
    assert_eq!(world.refs("blueprints"), ["heads/drafts/dns/v1", "heads/main"]);

    let saved = world.save("blueprints.dns.v1", json!({"cm.yaml": CONFIG_MAP})).await.unwrap();
    assert_eq!(saved["spec"]["resources"]["cm.yaml"], CONFIG_MAP);
    assert_ne!(saved["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    let published = world.publish("blueprints.dns.v1").await;
    assert_eq!(published["spec"]["revision"], 1);
    assert_eq!(published["metadata"]["labels"]["kpt.dev/latest-revision"], "true");
    assert_eq!(published["status"]["publishedBy"], "ann");
    assert_eq!(world.refs("blueprints"), ["heads/main", "tags/dns/v1"]);
    assert_eq!(world.git("blueprints", &["show", "main:dns/cm.yaml"]), CONFIG_MAP.trim());
    let log = world.git("blueprints", &["log", "--format=%an %s", "main"]);
    assert!(log.starts_with("ann Approving package revision dns/1"), "{log}");
    assert!(
        log.contains("ann Creating new empty revision") && log.contains("ann Rendering package"),
        "{log}"
    );
    assert_eq!(world.git("blueprints", &["fsck", "--strict"]), "");

    let placeholder = world.get("blueprints.dns.main").await.unwrap();
    assert_eq!(placeholder["spec"]["revision"], -1);
    let refused = world.delete("blueprints.dns.v1").await.unwrap_err();
    assert_eq!(refused.reason, Reason::Forbidden);
    assert!(refused.message.contains("must be proposed for deletion"), "{refused}");
    world.lifecycle("blueprints.dns.v1", Route::Main, "DeletionProposed").await.unwrap();
    world.settled("blueprints").await;
    assert!(world.refs("blueprints").contains(&"heads/deletionProposed/dns/v1".to_owned()));
    world.delete("blueprints.dns.v1").await.unwrap();
    assert!(world.get("blueprints.dns.v1").await.is_none());
    assert_eq!(world.refs("blueprints"), ["heads/main"]);

    // What a look at the remote finds is what is known already.
    assert_eq!(world.sync("blueprints").await.changed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_revision_is_the_latest() {
    let world = World::new().await;
    world.create("blueprints", "net/dns", "one", Value::Null).await.unwrap();
    world.publish("blueprints.net.dns.one").await;
    let second =
        world.create("blueprints", "net/dns", "two", edit_of("blueprints.net.dns.one")).await.unwrap();
    assert_eq!(second["spec"]["tasks"][0]["type"], "edit");
    world.save("blueprints.net.dns.two", json!({"cm.yaml": CONFIG_MAP})).await.unwrap();
    let published = world.publish("blueprints.net.dns.two").await;
    assert_eq!(published["spec"]["revision"], 2);
    let first = world.get("blueprints.net.dns.one").await.unwrap();
    assert!(first["metadata"]["labels"].get("kpt.dev/latest-revision").is_none(), "{first}");
    // Gone is gone, and the number with it.
    for name in ["blueprints.net.dns.two"] {
        world.lifecycle(name, Route::Main, "DeletionProposed").await.unwrap();
        world.delete(name).await.unwrap();
    }
    let first = world.get("blueprints.net.dns.one").await.unwrap();
    assert_eq!(first["metadata"]["labels"]["kpt.dev/latest-revision"], "true");
    world.create("blueprints", "net/dns", "three", edit_of("blueprints.net.dns.one")).await.unwrap();
    assert_eq!(world.publish("blueprints.net.dns.three").await["spec"]["revision"], 3);
    world.settled("blueprints").await;
    assert_eq!(world.sync("blueprints").await.changed, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_remembers_its_upstream_and_is_upgraded() {
    let world = World::new().await;
    world.create("blueprints", "web", "v1", Value::Null).await.unwrap();
    world.save("blueprints.web.v1", json!({"cm.yaml": CONFIG_MAP})).await.unwrap();
    world.publish("blueprints.web.v1").await;
    let made = world.create("fleet", "shop/web", "a", clone_of("blueprints.web.v1")).await.unwrap();
    assert_eq!(made["status"]["upstreamLock"]["git"]["ref"], "web/v1");
    assert_eq!(made["status"]["deployment"], true);
    let resources = world.resources("fleet.shop.web.a").await;
    let context = resources["spec"]["resources"]["package-context.yaml"].as_str().unwrap().to_owned();
    assert!(context.contains("name: shop/web") && context.contains("package-path: shop/web"), "{context}");
    let map = resources["spec"]["resources"]["cm.yaml"].as_str().unwrap().to_owned();
    assert!(map.contains("# kpt-merge: /settings") && map.contains("# how many"), "{map}");
    world.save("fleet.shop.web.a", json!({"cm.yaml": map.replace("\"2\"", "\"3\"")})).await.unwrap();
    world.publish("fleet.shop.web.a").await;

    let referenced = world.lifecycle("blueprints.web.v1", Route::Main, "DeletionProposed").await;
    referenced.unwrap();
    let refused = world.delete("blueprints.web.v1").await.unwrap_err();
    assert!(refused.message.contains("it is referenced as upstream by: fleet.shop.web.a"), "{refused}");
    world.lifecycle("blueprints.web.v1", Route::Main, "Published").await.unwrap();

    world.create("blueprints", "web", "v2", edit_of("blueprints.web.v1")).await.unwrap();
    let newer = CONFIG_MAP.replace("\"2\"", "\"5\"") + "  colour: red\n";
    world.save("blueprints.web.v2", json!({"cm.yaml": newer})).await.unwrap();
    world.publish("blueprints.web.v2").await;
    let upgrade = |policy: &str, resolutions: Value| {
        json!({"type": "upgrade", "upgrade": {
            "oldUpstreamRef": {"name": "blueprints.web.v1"}, "newUpstreamRef": {"name": "blueprints.web.v2"},
            "localPackageRevisionRef": {"name": "fleet.shop.web.a"}, "strategy": "resource-merge",
            "policy": policy, "resolutions": resolutions}})
    };
    let refused = world.create("fleet", "shop/web", "b", upgrade("fail", json!([]))).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Conflict);
    assert_eq!(refused.causes.len(), 1, "{refused:?}");
    let id = refused.causes[0].field.clone();
    assert!(world.get("fleet.shop.web.b").await.is_none());
    let upgraded = world.create("fleet", "shop/web", "b", upgrade("upstream", json!([]))).await.unwrap();
    assert_eq!(upgraded["status"]["conflicts"][0]["id"], id.as_str());
    assert_eq!(upgraded["status"]["conflicts"][0]["chosen"], "upstream");
    assert!(
        upgraded["status"]["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["type"] == "MergeConflicts")
    );
    assert_eq!(upgraded["status"]["upstreamLock"]["git"]["ref"], "web/v2");
    assert!(refused.message.contains(&id), "kubectl prints no causes: {refused}");
    assert_eq!(refused.about.name, "fleet.shop.web.b");
    let unknown = upgrade("upstream", json!([{"id": "nope", "take": "local"}]));
    let unknown = world.create("fleet", "shop/web", "c", unknown).await.unwrap_err();
    assert_eq!(unknown.reason, Reason::Invalid);
    assert!(unknown.message.contains("there is no conflict \"nope\" to be resolved"), "{unknown}");
    let branch = world.create("fleet", "shop/api", "main", Value::Null).await.unwrap_err();
    assert_eq!(branch.reason, Reason::Invalid);
    assert_eq!(branch.causes[0].field, "spec.workspaceName");
    let decided =
        world.create("fleet", "shop/web", "c", upgrade("fail", json!([{"id": id, "take": "local"}]))).await;
    decided.unwrap();
    let map = world.resources("fleet.shop.web.c").await["spec"]["resources"]["cm.yaml"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(map.contains("replicas: \"3\"") && map.contains("colour: red"), "{map}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipeline_that_fails_changes_nothing_unless_asked() {
    let world = World::new().await;
    world.create("blueprints", "app", "v1", Value::Null).await.unwrap();
    let before = world.get("blueprints.app.v1").await.unwrap();
    let broken = kptfile("app", "pipeline:\n  validators:\n  - image: kubeconform:v0.2.0\n");
    let bad = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\nspec:\n  replicas: many\n";
    let refused =
        world.save("blueprints.app.v1", json!({"Kptfile": broken, "a.yaml": bad})).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Invalid);
    assert!(refused.message.contains("Package NOT pushed to remote"), "{refused}");
    assert!(!refused.causes.is_empty());
    assert_eq!(world.get("blueprints.app.v1").await.unwrap(), before);
    let seen = world.resources("blueprints.app.v1").await;
    assert_ne!(seen["status"]["renderStatus"]["error"], "", "{seen}");
    assert!(seen["spec"]["resources"].get("a.yaml").is_none());

    world
        .update("blueprints.app.v1", Route::Main, |object| {
            object["metadata"]["annotations"] = json!({"porch.kpt.dev/push-on-render-failure": "true"});
        })
        .await
        .unwrap();
    let kept = world.save("blueprints.app.v1", json!({"Kptfile": broken, "a.yaml": bad})).await.unwrap_err();
    assert!(kept.message.contains("Package pushed to remote despite render failure"), "{kept}");
    let now = world.get("blueprints.app.v1").await.unwrap();
    assert!(
        now["status"]["conditions"]
            .as_array()
            .unwrap()
            .iter()
            .any(|one| one["type"] == "Rendered" && one["status"] == "False")
    );
    assert_eq!(world.resources("blueprints.app.v1").await["spec"]["resources"]["a.yaml"], bad);
    // What is red is not proposed.
    let refused = world.lifecycle("blueprints.app.v1", Route::Main, "Proposed").await.unwrap_err();
    assert_eq!(refused.reason, Reason::Invalid);
    world.save("blueprints.app.v1", json!({"a.yaml": bad.replace("many", "2").replace("spec:", "spec:\n  selector: {matchLabels: {a: b}}\n  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: i}]}}")})).await.unwrap();
    world.publish("blueprints.app.v1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gates_hold_up_what_is_not_ready() {
    let world = World::new().await;
    world.create("blueprints", "gated", "v1", Value::Null).await.unwrap();
    world
        .update("blueprints.gated.v1", Route::Main, |object| {
            object["spec"]["readinessGates"] = json!([{"conditionType": "Reviewed"}]);
        })
        .await
        .unwrap();
    let kptfile = world.resources("blueprints.gated.v1").await["spec"]["resources"]["Kptfile"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(kptfile.contains("conditionType: Reviewed"), "{kptfile}");
    let refused = world.lifecycle("blueprints.gated.v1", Route::Main, "Proposed").await.unwrap_err();
    assert!(refused.message.contains("readiness conditions not met: Reviewed"), "{refused}");
    world
        .update("blueprints.gated.v1", Route::Main, |object| {
            let mut conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            conditions.push(json!({"type": "Reviewed", "status": "True"}));
            object["status"]["conditions"] = json!(conditions);
        })
        .await
        .unwrap();
    world.publish("blueprints.gated.v1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_requests_are_told_and_leave_nothing() {
    let world = World::new().await;
    world.create("blueprints", "a/b", "v1", Value::Null).await.unwrap();
    let cases = [
        ("blueprints", "a/b", "v1", Value::Null, Reason::AlreadyExists, "must be unique"),
        ("blueprints", "a/b", "v2", Value::Null, Reason::AlreadyExists, "already exists in repository"),
        ("blueprints", "a", "v1", Value::Null, Reason::AlreadyExists, "packages cannot be nested"),
        ("blueprints", "a/b/c", "v1", Value::Null, Reason::AlreadyExists, "packages cannot be nested"),
        ("blueprints", "A", "v1", Value::Null, Reason::Invalid, "spec.packageName"),
        ("blueprints", "x", "", Value::Null, Reason::Invalid, "spec.workspaceName"),
        ("nowhere", "x", "v1", Value::Null, Reason::NotFound, "not found"),
        ("", "x", "v1", Value::Null, Reason::BadRequest, "spec.repositoryName is required"),
        (
            "blueprints",
            "x",
            "v1",
            json!({"type": "eval"}),
            Reason::Invalid,
            "task of type \"eval\" not supported",
        ),
        (
            "blueprints",
            "x",
            "v1",
            json!({"type": "clone"}),
            Reason::Invalid,
            "clone not set for task of type \"clone\"",
        ),
        (
            "blueprints",
            "x",
            "v1",
            json!({"type": "edit", "edit": {}}),
            Reason::Invalid,
            "sourceRef.name is required",
        ),
        (
            "blueprints",
            "x",
            "v1",
            json!({"type": "upgrade", "upgrade": {}}),
            Reason::Invalid,
            "an upgrade names",
        ),
        (
            "blueprints",
            "x",
            "v1",
            clone_of("blueprints.none.v1"),
            Reason::NotFound,
            "cannot find package revision",
        ),
        ("blueprints", "x", "v1", edit_of("blueprints.a.b.v1"), Reason::Invalid, "must be from same package"),
        (
            "blueprints",
            "a/b",
            "v2",
            edit_of("blueprints.a.b.v1"),
            Reason::Invalid,
            "source revision must be published",
        ),
        (
            "blueprints",
            "x",
            "v1",
            json!({"type": "clone", "clone": {"upstreamRef": {"oci": {"image": "i"}}}}),
            Reason::Invalid,
            "OCI is not implemented",
        ),
    ];
    for (repository, package, workspace, task, reason, words) in cases {
        let error = world.create(repository, package, workspace, task.clone()).await.unwrap_err();
        assert!(error.message.contains(words), "{task}: {error}");
        assert_eq!(error.reason, reason, "{task}: {error}");
    }
    assert!(world.get("blueprints.x.v1").await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_that_are_none_are_refused() {
    let world = World::new().await;
    world.create("blueprints", "a/b", "v1", Value::Null).await.unwrap();
    for (route, lifecycle, words) in [
        (Route::Main, "Published", "value can be only updated to Draft,Proposed"),
        (Route::Approval, "Published", "only Proposed packages can be approved"),
        (Route::Main, "Nonsense", "value can be only updated to Draft,Proposed,Published,DeletionProposed"),
    ] {
        let error = world.lifecycle("blueprints.a.b.v1", route, lifecycle).await.unwrap_err();
        assert!(error.message.contains(words), "{error}");
    }
    let no_kptfile = world.save("blueprints.a.b.v1", json!({"Kptfile": null})).await.unwrap_err();
    assert_eq!(no_kptfile.reason, Reason::Invalid, "{no_kptfile}");
    let stale = world.get("blueprints.a.b.v1").await.unwrap();
    world
        .update("blueprints.a.b.v1", Route::Main, |object| object["metadata"]["labels"] = json!({"x": "y"}))
        .await
        .unwrap();
    let name = "blueprints.a.b.v1".parse().unwrap();
    let lost = world
        .engine
        .update(&crate::world::caller(), &world.namespace, &name, Route::Main, &stale, stale.clone())
        .await;
    let lost = lost.unwrap_err();
    assert_eq!(lost.reason, Reason::Overtaken);
    assert!(
        lost.causes[0].message.contains("another request is already in progress or has just finished"),
        "{lost:?}"
    );
}
