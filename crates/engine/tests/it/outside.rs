//! What others do to a remote, and what a restart leaves.

use lanai_engine::Route;
use serde_json::{Value, json};

use crate::world::{CONFIG_MAP, World, git};

/// Somebody else commits on a branch, by plain git.
pub(crate) fn outsider(world: &World, branch: &str, path: &str, text: &str) -> String {
    outsider_in(world, "blueprints", (branch, branch), path, text.as_bytes())
}

/// The same in a repository, from one branch to another one.
pub(crate) fn outsider_in(
    world: &World,
    repository: &str,
    (from, to): (&str, &str),
    path: &str,
    content: &[u8],
) -> String {
    let name = format!("outsider-{repository}");
    let clone = world.home.path().join(&name);
    if !clone.exists() {
        let address = world.folder(repository);
        git(world.home.path(), &["clone", "--quiet", address.to_str().expect("a plain name"), &name]);
    }
    git(&clone, &["fetch", "--quiet", "--prune", "origin"]);
    git(&clone, &["checkout", "--quiet", "-B", "work", &format!("origin/{from}")]);
    std::fs::create_dir_all(clone.join(path).parent().expect("a folder")).expect("it is written");
    std::fs::write(clone.join(path), content).expect("it is written");
    git(&clone, &["add", "--all"]);
    git(&clone, &["commit", "--quiet", "-m", "by an outsider"]);
    git(&clone, &["push", "--quiet", "origin", &format!("HEAD:refs/heads/{to}")]);
    git(&clone, &["rev-parse", "HEAD"])
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_of_others_on_a_draft_are_taken_over() {
    let world = World::new().await;
    world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    world.settled("blueprints").await;
    let before = world.get("blueprints.dns.v1").await.unwrap();
    let commit = outsider(&world, "drafts/dns/v1", "dns/cm.yaml", CONFIG_MAP);
    assert!(world.sync("blueprints").await.changed > 0);
    let after = world.get("blueprints.dns.v1").await.unwrap();
    assert_ne!(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
    assert_eq!(after["status"]["selfLock"]["git"]["commit"], commit.as_str());
    assert_eq!(world.resources("blueprints.dns.v1").await["spec"]["resources"]["cm.yaml"], CONFIG_MAP);
    assert_eq!(world.sync("blueprints").await.changed, 0);
    world.publish("blueprints.dns.v1").await;
    assert!(world.git("blueprints", &["log", "--format=%s", "main"]).contains("by an outsider"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_is_registered_anew_is_as_it_was() {
    let world = World::new().await;
    world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    world.save("blueprints.dns.v1", json!({"cm.yaml": CONFIG_MAP})).await.unwrap();
    world.publish("blueprints.dns.v1").await;
    world
        .create(
            "blueprints",
            "dns",
            "v2",
            json!({"type": "edit", "edit": {"sourceRef": {"name": "blueprints.dns.v1"}}}),
        )
        .await
        .unwrap();
    world.lifecycle("blueprints.dns.v2", Route::Main, "Proposed").await.unwrap();
    world.create("blueprints", "web", "v1", Value::Null).await.unwrap();
    world.settled("blueprints").await;
    let mut before = Vec::new();
    for name in ["blueprints.dns.v1", "blueprints.dns.v2", "blueprints.dns.main", "blueprints.web.v1"] {
        before.push((name, world.get(name).await.unwrap()));
    }
    let repository = "blueprints".parse().unwrap();
    world.engine.unregister(&world.namespace, &repository, lanai_engine::OnlyHere::Keep).await.unwrap();
    assert!(world.get("blueprints.dns.v1").await.is_none());
    world.sync("blueprints").await;
    for (name, before) in before {
        let after = world.get(name).await.unwrap_or_else(|| panic!("{name} is not there"));
        for field in ["lifecycle", "revision", "packageName", "workspaceName", "packageMetadata"] {
            assert_eq!(after["spec"][field], before["spec"][field], "{name}: {field}");
        }
        assert_eq!(after["status"]["conditions"], before["status"]["conditions"], "{name}");
        assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"], "{name}");
        assert_eq!(after["metadata"]["labels"], before["metadata"]["labels"], "{name}");
    }
    assert_eq!(world.resources("blueprints.dns.v1").await["spec"]["resources"]["cm.yaml"], CONFIG_MAP);
    assert_eq!(world.sync("blueprints").await.changed, 0);
    world.lifecycle("blueprints.dns.v2", Route::Approval, "Published").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn both_going_their_own_ways_is_told_and_nothing_is_overwritten() {
    let world = World::new().await;
    world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    world.settled("blueprints").await;
    let commit = outsider(&world, "drafts/dns/v1", "dns/theirs.txt", "theirs");
    world.save("blueprints.dns.v1", json!({"cm.yaml": CONFIG_MAP})).await.unwrap();
    world.settled("blueprints").await;
    let object = world.get("blueprints.dns.v1").await.unwrap();
    let conditions = object["status"]["conditions"].as_array().unwrap();
    assert!(conditions.iter().any(|one| one["type"] == "Diverged"), "{object}");
    assert_eq!(world.git("blueprints", &["rev-parse", "drafts/dns/v1"]), commit);
    assert_eq!(world.resources("blueprints.dns.v1").await["spec"]["resources"]["cm.yaml"], CONFIG_MAP);
    world.lifecycle("blueprints.dns.v1", Route::Main, "Proposed").await.unwrap();
    let refused = world.lifecycle("blueprints.dns.v1", Route::Approval, "Published").await.unwrap_err();
    assert!(refused.message.contains("somebody else changed the branch"), "{refused}");
    // Whoever removes the branch decides for what is here.
    world.git("blueprints", &["update-ref", "-d", "refs/heads/drafts/dns/v1"]);
    world.sync("blueprints").await;
    world.lifecycle("blueprints.dns.v1", Route::Approval, "Published").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_and_deletions_of_others_are_seen() {
    let world = World::new().await;
    world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    world.publish("blueprints.dns.v1").await;
    world.git("blueprints", &["tag", "dns/v7", "dns/v1"]);
    world.sync("blueprints").await;
    let theirs = world.get("blueprints.dns.v7").await.unwrap();
    assert_eq!(theirs["spec"]["revision"], 7);
    assert_eq!(theirs["metadata"]["labels"]["kpt.dev/latest-revision"], "true");
    let ours = world.get("blueprints.dns.v1").await.unwrap();
    assert!(ours["metadata"]["labels"].get("kpt.dev/latest-revision").is_none());
    world.git("blueprints", &["tag", "-d", "dns/v7"]);
    world.sync("blueprints").await;
    assert!(world.get("blueprints.dns.v7").await.is_none());
    assert_eq!(
        world.get("blueprints.dns.v1").await.unwrap()["metadata"]["labels"]["kpt.dev/latest-revision"],
        "true"
    );
    world
        .create(
            "blueprints",
            "dns",
            "next",
            json!({"type": "edit", "edit": {"sourceRef": {"name": "blueprints.dns.v1"}}}),
        )
        .await
        .unwrap();
    assert_eq!(
        world.publish("blueprints.dns.next").await["spec"]["revision"],
        8,
        "a number that was seen is not given again"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn drafts_that_were_not_pushed_are_pushed_after_a_restart() {
    let mut world = World::new().await;
    world.create("blueprints", "dns", "v1", Value::Null).await.unwrap();
    world.save("blueprints.dns.v1", json!({"cm.yaml": CONFIG_MAP})).await.unwrap();
    world.restart().await;
    world.settled("blueprints").await;
    let log = world.git("blueprints", &["log", "--format=%s", "main..drafts/dns/v1"]);
    assert_eq!(log, "Rendering package\nCreating new empty revision");
    assert_eq!(world.sync("blueprints").await.changed, 0);
    world.delete("blueprints.dns.v1").await.unwrap();
    world.settled("blueprints").await;
    assert_eq!(world.refs("blueprints"), ["heads/main"]);
}
