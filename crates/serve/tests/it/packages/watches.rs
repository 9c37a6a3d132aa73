//! What watchers of package revisions hear.

use kube::Client;
use lanai_testkit::objects::Became;
use serde_json::{Value, json};

use super::api::{FILES, REVISIONS, Watch, list, send};
use super::{Shop, revision};
use crate::tls::Access;

async fn change(client: &Client, name: &str, sub: &str, patch: &Value) -> Value {
    let done = send(client, "PATCH", &format!("{REVISIONS}/{name}{sub}"), patch).await;
    done.unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

fn lifecycle(to: &str) -> Value {
    json!({"spec": {"lifecycle": to}})
}

#[test]
fn each_object_that_a_commit_changes_has_one_event() {
    let Some(shop) = Shop::open("serve::packages::watches::each_object_that_a_commit_changes") else {
        return;
    };
    shop.register("mono", &json!({"sync": {"schedule": "0 0 1 1 *"}}));
    let access = Access::read(&shop.world.kubeconfig());
    shop.world.runtime.block_on(async {
        let client = access.client().await.unwrap();
        let (behind, _) = list(&client).await;
        let mut watch = Watch::open(&client, behind).await;
        let mut expect = async |what: &str, events: &[(&str, Became)]| {
            let (last, became) = events.last().unwrap();
            let heard = watch.until(last, *became).await;
            let heard: Vec<(&str, Became)> =
                heard.iter().map(|(event, _)| (event.object.as_str(), event.became)).collect();
            assert_eq!(heard, events, "{what}");
        };
        let (added, modified, deleted) = (Became::Added, Became::Modified, Became::Deleted);
        let one = "mono.web.v1";
        send(&client, "POST", REVISIONS, &revision("mono", "web", "v1", &Value::Null)).await.unwrap();
        expect("made", &[(one, added)]).await;
        change(&client, one, "", &json!({"metadata": {"labels": {"a": "b"}}})).await;
        expect("labelled", &[(one, modified)]).await;
        // The same again is no change, and a rehearsal is none.
        change(&client, one, "", &json!({"metadata": {"labels": {"a": "b"}}})).await;
        change(&client, one, "?dryRun=All", &json!({"metadata": {"labels": {"a": "c"}}})).await;
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: b\n";
        let files = json!({"spec": {"resources": {"cm.yaml": map}}});
        send(&client, "PATCH", &format!("{FILES}/{one}"), &files).await.unwrap();
        expect("saved", &[(one, modified)]).await;
        send(&client, "PATCH", &format!("{FILES}/{one}"), &files).await.unwrap();
        change(&client, one, "", &lifecycle("Proposed")).await;
        expect("proposed, and the same files were no change", &[(one, modified)]).await;
        change(&client, one, "/approval", &lifecycle("Published")).await;
        expect("approved", &[(one, modified), ("mono.web.main", added)]).await;
        // A second one: the first is the latest no more.
        let edit = json!({"type": "edit", "edit": {"sourceRef": {"name": one}}});
        send(&client, "POST", REVISIONS, &revision("mono", "web", "v2", &edit)).await.unwrap();
        change(&client, "mono.web.v2", "", &lifecycle("Proposed")).await;
        change(&client, "mono.web.v2", "/approval", &lifecycle("Published")).await;
        let two = "mono.web.v2";
        expect(
            "the second",
            &[(two, added), (two, modified), (two, modified), (one, modified), ("mono.web.main", modified)],
        )
        .await;
        change(&client, two, "", &lifecycle("DeletionProposed")).await;
        send(&client, "DELETE", &format!("{REVISIONS}/{two}"), &Value::Null).await.unwrap();
        expect("deleted", &[(two, modified), (two, deleted), (one, modified)]).await;
        // What others do, found by a look: a draft that changed, a tag that is new, one that is gone.
        send(&client, "POST", REVISIONS, &revision("mono", "db", "v1", &Value::Null)).await.unwrap();
        expect("a draft", &[("mono.db.v1", added)]).await;
    });
    super::eventually("the branch follows", || shop.refs("mono").contains(&"heads/drafts/db/v1".to_owned()));
    shop.git("mono", &["tag", "web/v5", "web/v1"]);
    shop.git("mono", &["update-ref", "refs/heads/proposed/db/v1", "refs/heads/drafts/db/v1"]);
    shop.git("mono", &["update-ref", "-d", "refs/heads/drafts/db/v1"]);
    let (mut watch, client) = shop.world.runtime.block_on(async {
        let client = access.client().await.unwrap();
        let (behind, _) = list(&client).await;
        (Watch::open(&client, behind).await, client)
    });
    let look = || {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.fZ").to_string();
        let patch = json!({"spec": {"sync": {"runOnceAt": now}}}).to_string();
        shop.ok(&["patch", "repository", "mono", "--type=merge", "-p", &patch]);
    };
    look();
    shop.world.runtime.block_on(async {
        let heard = watch.until("mono.web.v5", Became::Added).await;
        let mut names: Vec<(&str, Became)> =
            heard.iter().map(|(event, _)| (event.object.as_str(), event.became)).collect();
        names.sort_by_key(|(name, _)| *name);
        let expected = [
            ("mono.db.v1", Became::Modified),
            ("mono.web.v1", Became::Modified),
            ("mono.web.v5", Became::Added),
        ];
        assert_eq!(names, expected, "the draft is proposed, the first is the latest no more, the tag is new");
        assert!(heard.windows(2).all(|pair| pair[0].0.version < pair[1].0.version), "in order");
    });
    shop.git("mono", &["tag", "-d", "web/v5"]);
    look();
    shop.world.runtime.block_on(async {
        let heard = watch.until("mono.web.v5", Became::Deleted).await;
        assert!(heard.len() <= 2, "{heard:?}");
        // Content is not watched.
        let refused = send(&client, "GET", &format!("{FILES}?watch=true"), &Value::Null).await.unwrap_err();
        assert_eq!(refused.0, 405, "{}", refused.1);
        assert!(refused.1.contains("watch is not supported on resources of kind"), "{}", refused.1);
    });
}
