//! What kube-apiserver said of wrong objects (`tests/kube/requests.py`).

use std::fs;
use std::path::Path;

use lanai_api::schema::{self, Limits};
use lanai_api::{crd, kinds};
use serde_json::Value;

fn answers(group: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../tests/kube/answers/{group}.json"));
    let text = fs::read_to_string(path).expect("the answers are there");
    serde_json::from_str(&text).expect("the answers are JSON")
}

fn causes(row: &Value) -> Vec<String> {
    let causes = row["answer"]["body"]["details"]["causes"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut said: Vec<String> = causes
        .iter()
        .map(|cause| {
            format!("{}|{}|{}", text(&cause["field"]), text(&cause["reason"]), text(&cause["message"]))
        })
        .collect();
    said.sort();
    said
}

fn shown(causes: &[lanai_api::Cause]) -> Vec<String> {
    let mut said: Vec<String> = causes
        .iter()
        .map(|cause| format!("{}|{}|{}", cause.field, cause.reason.code(), cause.message()))
        .collect();
    said.sort();
    said
}

#[test]
fn custom_resources_are_refused_in_the_same_words() {
    let definition = answers("definitions").remove(0)["body"].take();
    let kind = crd::kind(&definition).expect("the definition is right");
    let mut wrong = Vec::new();
    let mut checked = 0;
    for row in answers("custom")
        .iter()
        .filter(|row| row["name"].as_str().is_some_and(|name| name.starts_with("wrong")))
    {
        let mut object = row["body"].clone();
        let version = kind.storage();
        schema::fill(&mut object, &version.schema);
        let ours = shown(&schema::validate(&object, None, &version.schema, &Limits::default()));
        checked += 1;
        if ours != causes(row) {
            wrong.push(format!("{}\n ours   {ours:?}\n theirs {:?}", row["name"], causes(row)));
        }
    }
    assert!(checked > 25, "{checked}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn definitions_are_refused_in_the_same_words() {
    for row in
        answers("definitions").iter().filter(|row| row["method"] == "POST" && row["answer"]["status"] == 422)
    {
        let mut object = row["body"].clone();
        crd::fill(&mut object);
        assert_eq!(shown(&crd::validate(&object, None)), causes(row), "{}", row["name"]);
    }
}

#[test]
fn objects_of_the_core_are_refused_in_the_same_words() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    // What is wrong with the query of a request is the business of the server.
    let has_query = |row: &Value| row["path"].as_str().is_some_and(|path| path.contains('?'));
    for row in answers("create").iter().filter(|row| row["answer"]["status"] == 422 && !has_query(row)) {
        let mut object = row["body"].clone();
        let kind =
            kinds::find("", object["kind"].as_str().expect("there is a kind")).expect("the kind is there");
        if kind.names.kind != "Namespace" && object["metadata"].is_object() {
            object["metadata"]["namespace"] = "recorded".into();
        }
        if object["metadata"].is_null() {
            object["metadata"] = serde_json::json!({"namespace": "recorded"});
        }
        lanai_api::core::fill(kind, &mut object);
        let mut found = lanai_api::meta::validate_create(&object, kind);
        found.extend(lanai_api::core::validate(kind, &object, None));
        checked += 1;
        if shown(&found) != causes(row) {
            wrong.push(format!("{}\n ours   {:?}\n theirs {:?}", row["name"], shown(&found), causes(row)));
        }
    }
    assert!(checked > 8, "{checked}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_types_are_refused_in_the_same_words() {
    let mut checked = 0;
    for row in answers("create")
        .iter()
        .filter(|row| row["name"].as_str().is_some_and(|name| name.starts_with("wrong type")))
    {
        let kind = kinds::find("", "ConfigMap").expect("the kind is there");
        let said = lanai_api::decode::typed(&row["body"], kind, kind.storage()).expect_err("it is wrong");
        assert_eq!(row["answer"]["body"]["message"], *said, "{}", row["name"]);
        checked += 1;
    }
    assert_eq!(checked, 3);
}
