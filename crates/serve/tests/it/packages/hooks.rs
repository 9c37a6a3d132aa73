//! Notifications of pushes.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use lanai_serve::webhook::MAX_BODY;
use serde_json::{Value, json};

use super::{PASSWORD, Shop, eventually, revision};
use crate::tls::Access;

const KEY: &str = "the key of the hooks";

fn signature(body: &[u8], key: &str) -> String {
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, key.as_bytes());
    let code = ring::hmac::sign(&key, body);
    code.as_ref().iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// Posts a notification over TLS, without a certificate of ours; code and body.
fn post(shop: &Shop, path: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, String) {
    let access = Access::read(&shop.world.kubeconfig());
    shop.world.runtime.block_on(async {
        let (mut sender, _) = access.connect::<Full<Bytes>>().await.unwrap();
        let mut request = Request::post(format!("https://{}{path}", access.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = sender.send_request(request.body(Full::from(body.to_vec())).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8_lossy(&body).into_owned())
    })
}

/// Looked at by itself only once a year.
fn seldom(directory: &str, shop: &Shop, remote: &str) -> Value {
    json!({"sync": {"schedule": "0 0 1 1 *"}, "git": {
        "repo": shop.remote.url(&format!("{remote}.git")), "createBranch": true, "directory": directory, "secretRef": {"name": "git"},
    }})
}

#[test]
fn a_push_that_is_notified_is_looked_at_now() {
    let Some(shop) = Shop::open("serve::packages::hooks::a_push_that_is_notified_is_looked_at_now") else {
        return;
    };
    shop.ok(&["create", "secret", "generic", "hooks", &format!("--from-literal=secret={KEY}")]);
    shop.register("mono", &seldom("a", &shop, "mono"));
    shop.register("beside", &seldom("b", &shop, "mono"));
    shop.register("other", &seldom("", &shop, "other"));
    shop.ok(&["annotate", "repository", "mono", "lanai.dev/webhook-secret=hooks"]);
    shop.create(&revision("mono", "web", "v1", &Value::Null)).unwrap();
    shop.publish("mono.web.v1");
    shop.create(&revision("beside", "web", "v1", &Value::Null)).unwrap();
    shop.publish("beside.web.v1");
    let there = |name: &str| shop.run(&["get", "packagerevision", name], "").is_ok();
    let tag = |name: &str, of: &str| shop.git("mono", &["tag", name, of]);

    // GitHub; the repository beside it on the same remote is looked at too.
    tag("a/web/v7", "a/web/v1");
    tag("b/web/v7", "b/web/v1");
    let body = json!({"ref": "refs/tags/a/web/v7", "repository": {}}).to_string();
    let signed = format!("sha256={}", signature(body.as_bytes(), KEY));
    let (code, said) =
        post(&shop, "/webhooks/default/mono", &[("x-hub-signature-256", &signed)], body.as_bytes());
    assert_eq!(code, 202, "{said}");
    let mut told = serde_json::from_str::<Value>(&said).unwrap()["repositories"].clone();
    told.as_array_mut().unwrap().sort_by_key(ToString::to_string);
    assert_eq!(told, json!(["beside", "mono"]), "those on the remote, and no other");
    eventually("both are seen", || there("mono.web.v7") && there("beside.web.v7"));
    // Gitea and GitLab.
    tag("a/web/v8", "a/web/v1");
    let code = signature(body.as_bytes(), KEY);
    assert_eq!(
        post(&shop, "/webhooks/default/mono", &[("x-gitea-signature", &code)], body.as_bytes()).0,
        202
    );
    eventually("Gitea's is seen", || there("mono.web.v8"));
    tag("a/web/v9", "a/web/v1");
    let gitlab = [("x-gitlab-token", KEY), ("x-gitlab-event", "Tag Push Hook")];
    assert_eq!(post(&shop, "/webhooks/default/mono", &gitlab, body.as_bytes()).0, 202);
    eventually("GitLab's is seen", || there("mono.web.v9"));

    // Nobody else: whether it is there or not, they hear the same.
    tag("a/web/v10", "a/web/v1");
    let wrong = format!("sha256={}", signature(body.as_bytes(), "another"));
    let (path, name) = ("/webhooks/default/mono", "x-hub-signature-256");
    let heard = post(&shop, path, &[(name, &wrong)], body.as_bytes());
    assert_eq!(heard.0, 401);
    assert!(!heard.1.contains("mono") && !heard.1.contains(KEY) && !heard.1.contains(PASSWORD), "{heard:?}");
    for (path, headers) in [
        (path, &[][..]),
        (path, &[("x-gitlab-token", "guess")][..]),
        (path, &[("authorization", "Bearer x")][..]),
        ("/webhooks/default/none", &[(name, signed.as_str())][..]),
        ("/webhooks/default/other", &[(name, signed.as_str())][..]),
        ("/webhooks/nowhere/mono", &[(name, signed.as_str())][..]),
        ("/webhooks/default", &[(name, signed.as_str())][..]),
        ("/webhooks/", &[][..]),
    ] {
        assert_eq!(post(&shop, path, headers, body.as_bytes()), heard, "{path} {headers:?}");
    }
    // What is not signed is not read, whatever it is; what is signed and no notification is told.
    assert_eq!(post(&shop, path, &[], b"{{{").0, 401);
    let junk = format!("sha256={}", signature(b"{{{", KEY));
    assert_eq!(post(&shop, path, &[(name, &junk)], b"{{{").0, 400);
    // The edge of the limit.
    for (size, expected) in [(MAX_BODY, 401), (MAX_BODY + 1, 413)] {
        assert_eq!(post(&shop, path, &[], &vec![b' '; size]).0, expected, "{size}");
    }
    // A ping, and a push to a branch that is about no package, ask for nothing.
    let ping = format!("sha256={}", signature(b"{}", KEY));
    assert_eq!(post(&shop, path, &[(name, &ping), ("x-github-event", "ping")], b"{}").0, 200);
    let feature = json!({"ref": "refs/heads/feature"}).to_string();
    let signed_feature = format!("sha256={}", signature(feature.as_bytes(), KEY));
    let (_, said) = post(&shop, path, &[(name, &signed_feature)], feature.as_bytes());
    assert_eq!(said, r#"{"repositories":[]}"#);
    assert!(!there("mono.web.v10"), "nobody who was not believed made it be looked at");
    // Without a Secret there is no endpoint.
    shop.ok(&["delete", "secret", "hooks"]);
    assert_eq!(post(&shop, path, &[(name, &signed)], body.as_bytes()), heard);
}
