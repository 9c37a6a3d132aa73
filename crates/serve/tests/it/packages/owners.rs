//! Owners and finalizers of package revisions.

use lanai_testkit::objects::Became;
use serde_json::{Value, json};

use super::api::{REVISIONS, Watch, list, send};
use super::{Shop, eventually, revision};
use crate::tls::Access;

#[test]
fn revisions_go_with_their_owners_by_their_own_rules() {
    let Some(shop) = Shop::open("serve::packages::owners::revisions_go_with_their_owners") else { return };
    shop.register("mono", &json!({}));
    shop.ok(&["create", "configmap", "owner"]);
    let uid = shop.ok(&["get", "configmap", "owner", "-o", "jsonpath={.metadata.uid}"]);
    let owned = |package: &str| {
        let mut object = revision("mono", package, "v1", &Value::Null);
        object["metadata"]["ownerReferences"] =
            json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": uid}]);
        object
    };
    shop.create(&owned("draft")).unwrap();
    shop.create(&owned("final")).unwrap();
    shop.publish("mono.final.v1");
    shop.create(&revision("mono", "free", "v1", &Value::Null)).unwrap();
    let kept = shop.ok(&[
        "get",
        "packagerevision",
        "mono.final.v1",
        "-o",
        "jsonpath={.metadata.ownerReferences[0].name}",
    ]);
    assert_eq!(kept, "owner", "what is published keeps it");
    shop.ok(&["delete", "configmap", "owner"]);
    eventually("the draft goes", || shop.run(&["get", "packagerevision", "mono.draft.v1"], "").is_err());
    eventually("so does its branch", || !shop.refs("mono").contains(&"heads/drafts/draft/v1".to_owned()));
    // What is published is not deleted by anybody before that is proposed.
    shop.ok(&["get", "packagerevision", "mono.final.v1"]);
    shop.ok(&["get", "packagerevision", "mono.free.v1"]);
    assert!(shop.refs("mono").contains(&"tags/final/v1".to_owned()));
    shop.lifecycle("mono.final.v1", "DeletionProposed").unwrap();
    eventually("then it goes as well", || {
        shop.run(&["get", "packagerevision", "mono.final.v1"], "").is_err()
    });
    eventually("with its tag", || !shop.refs("mono").contains(&"tags/final/v1".to_owned()));
}

#[test]
fn finalizers_hold_what_is_deleted_until_they_go() {
    let Some(shop) = Shop::open("serve::packages::owners::finalizers_hold_what_is_deleted") else { return };
    shop.register("mono", &json!({}));
    let mut object = revision("mono", "held", "v1", &Value::Null);
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    shop.create(&object).unwrap();
    let access = Access::read(&shop.world.kubeconfig());
    let held = format!("{REVISIONS}/mono.held.v1");
    shop.world.runtime.block_on(async {
        let client = access.client().await.unwrap();
        let (behind, _) = list(&client).await;
        let mut watch = Watch::open(&client, behind).await;
        let waiting = send(&client, "DELETE", &held, &Value::Null).await.unwrap();
        assert!(waiting["metadata"]["deletionTimestamp"].is_string(), "{waiting}");
        // Again is the same, and no event.
        let again = send(&client, "DELETE", &held, &Value::Null).await.unwrap();
        assert_eq!(again["metadata"]["resourceVersion"], waiting["metadata"]["resourceVersion"]);
        // It can still be changed and proposed.
        let patch = json!({"spec": {"lifecycle": "Proposed"}});
        let proposed = send(&client, "PATCH", &held, &patch).await.unwrap();
        assert_eq!(proposed["metadata"]["deletionTimestamp"], waiting["metadata"]["deletionTimestamp"]);
        // New finalizers are not taken any more.
        let more = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}});
        assert_eq!(send(&client, "PATCH", &held, &more).await.unwrap_err().0, 422);
        let last = json!({"metadata": {"finalizers": []}});
        send(&client, "PATCH", &held, &last).await.unwrap();
        assert_eq!(send(&client, "GET", &held, &Value::Null).await.unwrap_err().0, 404);
        let heard = watch.until("mono.held.v1", Became::Deleted).await;
        let heard: Vec<Became> = heard.iter().map(|(event, _)| event.became).collect();
        assert_eq!(
            heard,
            [Became::Modified, Became::Modified, Became::Deleted],
            "terminating, proposed, gone"
        );
        let late = send(&client, "DELETE", &held, &Value::Null).await.unwrap_err();
        assert_eq!(late.0, 404);
        assert!(late.1.contains("another request is already in progress or has just finished"), "{}", late.1);
    });
    // What is published is refused before it begins to end.
    let mut object = revision("mono", "final", "v1", &Value::Null);
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    shop.create(&object).unwrap();
    shop.publish("mono.final.v1");
    let refused = shop.world.send("DELETE", &format!("{REVISIONS}/mono.final.v1"), &Value::Null);
    assert_eq!(refused.code, 403, "{}", refused.text);
    let still = shop.world.get(&format!("{REVISIONS}/mono.final.v1")).body;
    assert!(still["metadata"]["deletionTimestamp"].is_null(), "{still}");
    shop.lifecycle("mono.final.v1", "DeletionProposed").unwrap();
    let waiting = shop.world.send("DELETE", &format!("{REVISIONS}/mono.final.v1"), &Value::Null);
    assert_eq!(waiting.code, 200, "{}", waiting.text);
    assert!(
        shop.refs("mono").contains(&"tags/final/v1".to_owned()),
        "the remote has it as long as it is held"
    );
    let patch = json!({"metadata": {"finalizers": null}}).to_string();
    shop.ok(&["patch", "packagerevision", "mono.final.v1", "--type=merge", "-p", &patch]);
    assert!(!shop.refs("mono").contains(&"tags/final/v1".to_owned()));
    // A version that is not there any more.
    shop.create(&revision("mono", "raced", "v1", &Value::Null)).unwrap();
    let stale = shop.world.get(&format!("{REVISIONS}/mono.raced.v1")).body;
    let mut newer = stale.clone();
    newer["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(shop.world.send("PUT", &format!("{REVISIONS}/mono.raced.v1"), &newer).code, 200);
    let late = shop.world.send("PUT", &format!("{REVISIONS}/mono.raced.v1"), &newer);
    assert_eq!(late.code, 409);
    assert!(
        late.text.contains("another request is already in progress or has just finished"),
        "{}",
        late.text
    );
}
