//! The documents that clients read.

use http::Request;
use lanai_apiserver::Identity;
use serde_json::json;

use crate::world::{Answer, World};

fn get(world: &World, path: &str, headers: &[(&str, &str)]) -> Answer {
    let request =
        headers.iter().fold(Request::get(path), |request, (name, value)| request.header(*name, *value));
    world.request(&Identity::server("test"), request.body(String::new().into()).unwrap())
}

#[test]
fn documents_have_hashes_and_are_not_sent_twice() {
    let world = World::new();
    let index = get(&world, "/openapi/v3", &[]);
    let url = index.body["paths"]["api/v1"]["serverRelativeURL"].as_str().unwrap().to_owned();
    assert!(url.starts_with("/openapi/v3/api/v1?hash="), "{url}");
    let document = get(&world, &url, &[]);
    assert_eq!(
        (document.code, document.headers["cache-control"].to_str().unwrap()),
        (200, "public, immutable")
    );
    assert!(document.body["components"]["schemas"]["io.k8s.api.core.v1.ConfigMap"].is_object());
    let tag = document.headers["etag"].to_str().unwrap().to_owned();
    let known = get(&world, &url, &[("if-none-match", &tag)]);
    assert_eq!((known.code, known.text.as_str()), (304, ""));
    let moved = get(&world, "/openapi/v3/api/v1?hash=OLD", &[]);
    assert_eq!((moved.code, moved.headers["location"].to_str().unwrap()), (301, url.as_str()));
    let plain = get(&world, "/openapi/v3/api/v1", &[]);
    assert_eq!((plain.code, plain.headers["cache-control"].to_str().unwrap()), (200, "no-cache, private"));
    assert_eq!(get(&world, "/openapi/v3/apis/nobody.example/v1", &[]).code, 404);
    assert_eq!(get(&world, "/openapi/v4", &[]).code, 404);

    let media = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let v2 = get(&world, "/openapi/v2", &[]);
    assert_eq!(v2.body["swagger"], "2.0");
    let protobuf = get(&world, "/openapi/v2", &[("accept", media)]);
    let answered = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    assert_eq!(protobuf.headers["content-type"].to_str().unwrap(), answered);
    assert_ne!(protobuf.headers["etag"], v2.headers["etag"]);
    let tag = protobuf.headers["etag"].to_str().unwrap().to_owned();
    assert_eq!(get(&world, "/openapi/v2", &[("accept", media), ("if-none-match", &tag)]).code, 304);
}

#[test]
fn documents_follow_definitions() {
    let world = World::new();
    let path = |world: &World, group: &str| {
        get(world, "/openapi/v3", &[]).body["paths"][group]["serverRelativeURL"].as_str().map(str::to_owned)
    };
    let (core, tag) = (path(&world, "api/v1"), get(&world, "/openapi/v2", &[]).headers["etag"].clone());
    assert_eq!(path(&world, "apis/sea.example/v1"), None);
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = |description: &str| {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.sea.example"},
               "spec": {"group": "sea.example", "scope": "Cluster", "names": {"plural": "boats", "kind": "Boat"},
                        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                            "type": "object", "description": description}}}]}})
    };
    assert_eq!(world.send("POST", definitions, &definition("one")).code, 201);
    let first = path(&world, "apis/sea.example/v1").unwrap();
    assert!(get(&world, &first, &[]).text.contains("\"description\":\"one\""));
    let change = json!({"spec": definition("two")["spec"]}).to_string();
    let changed = world.send_as(
        &Identity::server("test"),
        "PATCH",
        &format!("{definitions}/boats.sea.example"),
        "application/merge-patch+json",
        &change,
    );
    assert_eq!(changed.code, 200, "{}", changed.text);
    let second = path(&world, "apis/sea.example/v1").unwrap();
    assert_ne!(first, second);
    assert_eq!(get(&world, &first, &[]).code, 301, "the old document is moved");
    assert_eq!(path(&world, "api/v1"), core, "what did not change keeps its hash");
    assert_ne!(get(&world, "/openapi/v2", &[]).headers["etag"], tag);
    assert!(get(&world, "/openapi/v2", &[]).body["definitions"]["example.sea.v1.Boat"].is_object());
}
