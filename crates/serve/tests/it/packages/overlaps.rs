//! Repositories that would see the same packages.

use serde_json::{Value, json};

use super::Shop;

fn repository(namespace: &str, name: &str, url: &str, directory: &str) -> Value {
    json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"type": "git", "git": {"repo": url, "branch": "main", "directory": directory}},
    })
}

#[test]
fn repositories_that_overlap_are_refused_also_in_a_race() {
    let Some(shop) = Shop::open("serve::packages::overlaps::repositories_that_overlap_are_refused") else {
        return;
    };
    shop.ok(&["create", "namespace", "team"]);
    let path =
        |namespace: &str| format!("/apis/config.porch.kpt.dev/v1alpha1/namespaces/{namespace}/repositories");
    let post = |namespace: &str, name: &str, url: &str, directory: &str| {
        shop.world.send("POST", &path(namespace), &repository(namespace, name, url, directory))
    };
    let url = shop.remote.url("mono.git");
    let bare = url.trim_end_matches(".git").to_owned();
    assert_eq!(post("default", "one", &url, "a").code, 201);
    for (namespace, name, url, directory, code) in [
        ("default", "same", &url, "a", 409),
        ("default", "slashes", &bare, "/a/", 409),
        ("default", "inside", &url, "a/b", 409),
        ("default", "around", &url, "", 409),
        ("default", "apart", &url, "ab", 201),
        ("team", "same", &url, "a", 201),
        ("team", "inside", &url, "a/b", 409),
        ("team", "around", &url, "/", 409),
    ] {
        let answer = post(namespace, name, url, directory);
        assert_eq!(answer.code, code, "{namespace}/{name}: {}", answer.text);
        if code == 409 {
            let message = answer.body["message"].as_str().unwrap();
            assert!(message.contains("Repository conflict with existing repository: "), "{message}");
            assert_eq!(answer.body["reason"], "Conflict");
        }
    }
    let rehearsed = shop.world.send(
        "POST",
        &format!("{}?dryRun=All", path("default")),
        &repository("default", "x", &url, "a"),
    );
    assert_eq!(rehearsed.code, 409, "a rehearsal is refused as well");
    // Its own place is no obstacle.
    let told = json!({"spec": {"description": "told later"}}).to_string();
    shop.ok(&["patch", "repository", "apart", "--type=merge", "-p", &told]);

    // Eight at the same moment: one.
    let url = shop.remote.url("raced.git");
    for round in 0..5 {
        let access = crate::tls::Access::read(&shop.world.kubeconfig());
        let created = shop.world.runtime.block_on(async {
            let mut posts = Vec::new();
            for number in 0..8 {
                let client = access.client().await.unwrap();
                let directory = format!("r{round}{}", "/deep".repeat(number % 3));
                let object = repository("default", &format!("race-{round}-{number}"), &url, &directory);
                posts.push(tokio::spawn(async move {
                    let uri = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
                    let request = http::Request::post(uri)
                        .header("content-type", "application/json")
                        .body(object.to_string().into_bytes())
                        .unwrap();
                    client.request::<Value>(request).await.is_ok()
                }));
            }
            let mut created = 0;
            for post in posts {
                created += usize::from(post.await.unwrap());
            }
            created
        });
        assert_eq!(created, 1, "round {round}");
    }
    // The rule is about what is there: when one goes, there is room.
    shop.ok(&["delete", "repository", "one", "--timeout=60s"]);
    let answer = post("default", "inside", &shop.remote.url("mono.git"), "a");
    assert_eq!(answer.code, 201, "{}", answer.text);
}
