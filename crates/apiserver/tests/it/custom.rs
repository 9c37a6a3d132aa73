//! Kinds that users define: versions, selectors on live events, rules about what was.

use std::io::Read;

use lanai_apiserver::Backing;
use serde_json::{Value, json};

use crate::world::World;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

fn definition() -> Value {
    let schema = |more: Value| {
        let mut spec = json!({"size": {"type": "string"}, "sails": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "self >= oldSelf", "message": "sails are not taken away"}]}});
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", "properties": spec}}}})
    };
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "boats.sea.example"},
        "spec": {"group": "sea.example", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
                 "conversion": {"strategy": "None"},
                 "versions": [
                    {"name": "v1", "served": true, "storage": true, "schema": schema(json!({})),
                     "selectableFields": [{"jsonPath": ".spec.size"}]},
                    {"name": "v2", "served": true, "storage": false, "schema": schema(json!({"flag": {"type": "string", "default": "red"}})),
                     "additionalPrinterColumns": [{"name": "Flag", "type": "string", "jsonPath": ".spec.flag"}]},
                    {"name": "v0", "served": false, "storage": false, "deprecated": true, "schema": schema(json!({}))}]}})
}

async fn world() -> World {
    let world = World::new(|_, _| None::<Backing>).await;
    let (code, answer) = world.send("POST", DEFINITIONS, JSON, &definition()).await;
    assert_eq!(code, 201, "{answer}");
    world
}

fn boats(version: &str) -> String {
    format!("/apis/sea.example/{version}/namespaces/default/boats")
}

fn boat(version: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": format!("sea.example/{version}"), "kind": "Boat", "metadata": {"name": name}, "spec": spec})
}

#[tokio::test]
async fn an_object_is_the_same_in_all_versions() {
    let world = world().await;
    let (one, two) = (boats("v1"), boats("v2"));
    let (code, made) = world.send("POST", &one, JSON, &boat("v1", "a", &json!({"size": "small"}))).await;
    assert_eq!((code, &made["apiVersion"]), (201, &json!("sea.example/v1")), "{made}");
    let (_, seen) = world.send("GET", &format!("{two}/a"), "", &Value::Null).await;
    assert_eq!(
        (&seen["apiVersion"], &seen["metadata"]["uid"], &seen["spec"]),
        (&json!("sea.example/v2"), &made["metadata"]["uid"], &json!({"size": "small", "flag": "red"})),
        "with the defaults of the version that is asked for"
    );
    let (code, changed) =
        world.send("PATCH", &format!("{two}/a"), MERGE, &json!({"spec": {"size": "large"}})).await;
    assert_eq!((code, &changed["apiVersion"]), (200, &json!("sea.example/v2")), "{changed}");
    let (_, list) = world.send("GET", &one, "", &Value::Null).await;
    assert_eq!(
        (&list["apiVersion"], &list["items"][0]["apiVersion"], &list["items"][0]["spec"]["size"]),
        (&json!("sea.example/v1"), &json!("sea.example/v1"), &json!("large"))
    );
    let table = [("accept".to_owned(), "application/json;as=Table;v=v1;g=meta.k8s.io".to_owned())];
    let rows = world.ask("GET", &two, &table, String::new()).await.body;
    assert_eq!(rows["rows"][0]["cells"], json!(["a", "red"]), "{rows}");
    assert_eq!(world.send("GET", &boats("v0"), "", &Value::Null).await.0, 404, "it is not served");
    let (code, refused) = world.send("POST", &two, JSON, &boat("v1", "b", &json!({}))).await;
    assert_eq!(code, 400, "{refused}");
}

#[tokio::test]
async fn rules_know_what_was() {
    let world = world().await;
    let path = format!("{}/a", boats("v1"));
    let (code, _) = world.send("POST", &boats("v1"), JSON, &boat("v1", "a", &json!({"sails": 2}))).await;
    assert_eq!(code, 201, "nothing was before");
    assert_eq!(world.send("PATCH", &path, MERGE, &json!({"spec": {"sails": 3}})).await.0, 200);
    let (code, refused) = world.send("PATCH", &path, MERGE, &json!({"spec": {"sails": 1}})).await;
    assert_eq!((code, &refused["reason"]), (422, &json!("Invalid")));
    assert!(refused["message"].as_str().unwrap().contains("sails are not taken away"), "{refused}");
    assert_eq!(refused["details"]["causes"][0]["field"], "spec.sails");
}

/// An object comes into a selection, and leaves it.
#[tokio::test]
async fn selectable_fields_select_live_events() {
    let world = world().await;
    let all = boats("v1");
    world.send("POST", &all, JSON, &boat("v1", "a", &json!({"size": "small"}))).await;
    let (_, list) =
        world.send("GET", &format!("{all}?fieldSelector=spec.size%3Dlarge"), "", &Value::Null).await;
    assert_eq!(list["items"], json!([]));
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    for (name, size) in [("a", "large"), ("a", "huge"), ("a", "small")] {
        let (code, _) =
            world.send("PATCH", &format!("{all}/{name}"), MERGE, &json!({"spec": {"size": size}})).await;
        assert_eq!(code, 200);
    }
    world.send("POST", &all, JSON, &boat("v1", "b", &json!({"size": "large"}))).await;
    world.send("DELETE", &format!("{all}/b"), JSON, &Value::Null).await;
    let watched = |selector: &str| {
        let path =
            format!("{all}?watch=1&timeoutSeconds=1&resourceVersion={version}&fieldSelector={selector}");
        let world = &world;
        async move {
            let answer = world.ask("GET", &path, &[], String::new()).await;
            let events = answer.text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            events
                .map(|event| {
                    format!("{} {}", text(&event["type"]), text(&event["object"]["metadata"]["name"]))
                })
                .collect::<Vec<_>>()
        }
    };
    assert_eq!(watched("spec.size%3Dlarge").await, ["ADDED a", "DELETED a", "ADDED b", "DELETED b"]);
    assert_eq!(
        watched("spec.size!%3Dlarge,metadata.name%3Da").await,
        ["DELETED a", "ADDED a", "MODIFIED a"],
        "and what is not so"
    );
    let (code, refused) =
        world.send("GET", &format!("{all}?watch=1&fieldSelector=spec.sails%3D1"), "", &Value::Null).await;
    assert_eq!(code, 400, "{refused}");
}

/// Large answers are compressed for who wants it, and are the same then.
#[tokio::test]
async fn large_answers_are_compressed() {
    let world = World::new(|_, _| None::<Backing>).await;
    let maps = "/api/v1/namespaces/default/configmaps";
    let value = "some text that repeats ".repeat(1_000);
    for number in 0..8 {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{number}")}, "data": {"a": value}});
        assert_eq!(world.send("POST", maps, JSON, &map).await.0, 201);
    }
    let asked = async |path: &str, encoding: &str| {
        let headers = [("accept-encoding".to_owned(), encoding.to_owned())];
        let request = headers
            .iter()
            .fold(http::Request::get(path), |request, (name, value)| request.header(name, value));
        let admin = lanai_apiserver::Identity::known("admin", ["system:masters".to_owned()]);
        let request = request.body(http_body_util::Full::<bytes::Bytes>::default()).unwrap();
        let response = tower::Service::call(&mut world.api.acting_as(admin), request).await.unwrap();
        let kind = response.headers().get("content-encoding").map(|value| value.to_str().unwrap().to_owned());
        let bytes = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
        (kind, bytes)
    };
    let (kind, plain) = asked(maps, "identity").await;
    assert_eq!(kind, None);
    let (kind, packed) = asked(maps, "deflate, gzip;q=0.9").await;
    assert_eq!(kind.as_deref(), Some("gzip"));
    assert!(packed.len() * 10 < plain.len(), "{} of {}", packed.len(), plain.len());
    let mut whole = Vec::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_end(&mut whole).unwrap();
    assert_eq!(whole, plain);
    let (kind, _) = asked(&format!("{maps}/m0"), "gzip").await;
    assert_eq!(kind, None, "small ones are not");
}
