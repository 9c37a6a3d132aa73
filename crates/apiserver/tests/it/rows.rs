//! Rows, and what clients see of them.

use lanai_apiserver::Backing;
use serde_json::{Value, json};

use crate::world::World;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

async fn world() -> World {
    World::new(|_, _| None::<Backing>).await
}

async fn ok(world: &World, method: &str, path: &str, media: &str, body: &Value) -> Value {
    let (code, answer) = world.send(method, path, media, body).await;
    assert!(code < 300, "{method} {path}: {answer}");
    answer
}

#[tokio::test]
async fn an_event_is_the_same_in_both_groups() {
    let world = world().await;
    let core = "/api/v1/namespaces/default/events";
    let new = "/apis/events.k8s.io/v1/namespaces/default/events";
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "message": "it began", "reason": "Began", "type": "Normal",
                       "involvedObject": {"kind": "ConfigMap", "namespace": "default", "name": "c"}, "reportingComponent": "x.org/y"});
    ok(&world, "POST", core, JSON, &event).await;
    let seen = ok(&world, "GET", &format!("{new}/e"), "", &Value::Null).await;
    assert_eq!(
        (&seen["apiVersion"], &seen["note"], &seen["regarding"]["name"]),
        (&json!("events.k8s.io/v1"), &json!("it began"), &json!("c"))
    );
    assert!(seen.get("message").is_none() && seen.get("involvedObject").is_none(), "{seen}");
    for (path, count) in [
        (format!("{core}?fieldSelector=involvedObject.name%3Dc"), 1),
        (format!("{new}?fieldSelector=regarding.name%3Dc"), 1),
        (format!("{new}?fieldSelector=regarding.name%3Dother"), 0),
        (format!("{new}?fieldSelector=reportingController%3Dx.org/y"), 1),
    ] {
        let list = ok(&world, "GET", &path, "", &Value::Null).await;
        assert_eq!(list["items"].as_array().unwrap().len(), count, "{path}: {list}");
    }
    assert_eq!(
        world.send("GET", &format!("{new}?fieldSelector=involvedObject.name%3Dc"), "", &Value::Null).await.0,
        400
    );
    ok(&world, "PATCH", &format!("{new}/e"), MERGE, &json!({"note": "it goes on"})).await;
    assert_eq!(ok(&world, "GET", &format!("{core}/e"), "", &Value::Null).await["message"], "it goes on");
    assert_eq!(
        world.send("POST", new, JSON, &json!({"metadata": {"name": "e"}, "note": "x"})).await.0,
        409,
        "one name, one event"
    );
    let table = world
        .ask(
            "GET",
            new,
            &[("accept".into(), "application/json;as=Table;v=v1;g=meta.k8s.io".into())],
            String::new(),
        )
        .await;
    assert!(table.text.contains("it goes on"), "{}", table.text);
    ok(&world, "DELETE", &format!("{new}/e"), "", &Value::Null).await;
    assert_eq!(world.send("GET", &format!("{core}/e"), "", &Value::Null).await.0, 404);
}

fn definition(group: &str, plural: &str, properties: &Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("{plural}.{group}")},
           "spec": {"group": group, "scope": "Cluster", "names": {"plural": plural, "singular": plural, "kind": "Boat"},
                    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                        "type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}}}]}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_definitions_with_one_name_one_is_accepted() {
    let world = world().await;
    for at in 0..25 {
        let group = format!("sea{at}.example");
        let bodies = ["boats", "ships", "rafts"].map(|plural| definition(&group, plural, &json!({})));
        let sent = bodies.iter().map(|body| ok(&world, "POST", DEFINITIONS, JSON, body));
        let made: Vec<Value> = futures_util::future::join_all(sent).await;
        let is_accepted = |made: &&Value| {
            let conditions = made["status"]["conditions"].as_array().unwrap();
            conditions.iter().any(|one| one["type"] == "NamesAccepted" && one["status"] == "True")
        };
        assert_eq!(made.iter().filter(is_accepted).count(), 1, "{group}: the kind is that of one");
    }
}

#[tokio::test]
async fn defaults_that_came_later_are_there_when_objects_are_read() {
    let world = world().await;
    let boats = "/apis/sea.example/v1/boats";
    ok(
        &world,
        "POST",
        DEFINITIONS,
        JSON,
        &definition("sea.example", "boats", &json!({"name": {"type": "string"}})),
    )
    .await;
    ok(&world, "POST", boats, JSON, &json!({"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": {"name": "x"}})).await;
    let later = definition(
        "sea.example",
        "boats",
        &json!({"name": {"type": "string"}, "sails": {"type": "integer", "default": 2}}),
    );
    ok(&world, "PATCH", &format!("{DEFINITIONS}/boats.sea.example"), MERGE, &json!({"spec": later["spec"]}))
        .await;
    let read = ok(&world, "GET", &format!("{boats}/b"), "", &Value::Null).await;
    assert_eq!(read["spec"], json!({"name": "x", "sails": 2}));
    assert_eq!(ok(&world, "GET", boats, "", &Value::Null).await["items"][0], read);
    let same = ok(&world, "PATCH", &format!("{boats}/b"), MERGE, &json!({})).await;
    assert_eq!(
        same["metadata"]["resourceVersion"], read["metadata"]["resourceVersion"],
        "to be read is no change"
    );
    let changed = ok(&world, "PATCH", &format!("{boats}/b"), MERGE, &json!({"spec": {"name": "y"}})).await;
    assert_eq!(changed["spec"], json!({"name": "y", "sails": 2}));
    assert_eq!(ok(&world, "GET", &format!("{boats}/b"), "", &Value::Null).await, changed);
    // A finalizer holds it, and its row is written once more.
    ok(&world, "PATCH", &format!("{boats}/b"), MERGE, &json!({"metadata": {"finalizers": ["x.org/y"]}}))
        .await;
    ok(&world, "DELETE", &format!("{boats}/b"), "", &Value::Null).await;
    assert_eq!(ok(&world, "GET", &format!("{boats}/b"), "", &Value::Null).await["spec"]["sails"], 2);
}

/// The rows of a list are made of the bytes that are stored; the row of one object is made of the object.
#[tokio::test]
async fn a_row_of_a_table_is_the_same_in_a_list_and_alone() {
    let world = world().await;
    let mut boats = definition("sea.example", "boats", &json!({"name": {"type": "string"}}));
    boats["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] =
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    boats["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
        {"name": "Sails", "type": "integer", "jsonPath": ".spec.sails"},
        {"name": "Crew", "type": "string", "jsonPath": ".spec.crew[*].name"},
        {"name": "Captain", "type": "string", "jsonPath": ".spec.crew[?(@.rank==\"captain\")].name"},
        {"name": "Label", "type": "string", "jsonPath": ".metadata.labels['sea\\.example/port']"},
        {"name": "Any", "type": "string", "jsonPath": ".spec..name"},
        {"name": "Deep", "type": "string", "jsonPath": ".spec.crew.name"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]);
    ok(&world, "POST", DEFINITIONS, JSON, &boats).await;
    let specs = [
        json!({}),
        json!({"sails": 2, "crew": [{"name": "a\"\\é", "rank": "captain"}, {"name": "b"}]}),
        json!({"sails": "two", "crew": {"name": "c", "more": {"name": "d"}}, "long": "x".repeat(500)}),
    ];
    for (number, spec) in specs.iter().enumerate() {
        let metadata = json!({"name": format!("b{number}"), "labels": {"sea.example/port": "here"}, "annotations": {"a": "\"metadata\":{}"}});
        let boat =
            json!({"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": metadata, "spec": spec});
        ok(&world, "POST", "/apis/sea.example/v1/boats", JSON, &boat).await;
    }
    for (path, include) in [
        ("/apis/sea.example/v1/boats", "Metadata"),
        ("/apis/sea.example/v1/boats", "None"),
        ("/apis/sea.example/v1/boats", "Object"),
        (DEFINITIONS, "Metadata"),
        ("/api/v1/namespaces", "Metadata"),
    ] {
        let table = async |path: &str| {
            let accept = ("accept".into(), "application/json;as=Table;v=v1;g=meta.k8s.io".into());
            let path = format!("{path}?includeObject={include}");
            let answer = world.ask("GET", &path, &[accept], String::new()).await;
            let mut table: Value = serde_json::from_str(&answer.text).unwrap();
            // A second may pass between two questions.
            for row in table["rows"].as_array_mut().unwrap() {
                row["cells"].as_array_mut().unwrap().pop();
            }
            table
        };
        let list = table(path).await;
        let names = ok(&world, "GET", path, "", &Value::Null).await;
        let names = names["items"].as_array().unwrap();
        let rows = list["rows"].as_array().unwrap();
        assert!(!rows.is_empty() && rows.len() == names.len(), "{path}");
        for (row, item) in rows.iter().zip(names) {
            let name = item["metadata"]["name"].as_str().unwrap();
            let alone = table(&format!("{path}/{name}")).await;
            assert_eq!(alone["rows"][0], *row, "{path} {name} {include}");
            assert_eq!(alone["columnDefinitions"], list["columnDefinitions"]);
        }
    }
}
