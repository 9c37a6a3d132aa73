//! The requests of `tests/kube`, sent to our server: it answers as kube-apiserver did, but for the differences that are listed by name.
//!
//! Compared are codes, headers that matter and bodies, but not what differs from run to run, words for people, and kinds that we do not serve.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::world::{Answer, World};

const GROUPS: [&str; 14] = [
    "discovery",
    "create",
    "get",
    "list",
    "update",
    "patch",
    "definitions",
    "custom",
    "access",
    "leases",
    "forms",
    "identities",
    "versions",
    "delete",
];

/// What differs from run to run, as `requests.py` has it, and what is for people to read.
const CHANGING: [&str; 11] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "time",
    "continue",
    "lastTransitionTime",
    "selfLink",
    "description",
    "expirationTimestamp",
    "token",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/kube")
}

fn read(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A body as it is compared.
fn settled(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut out = Map::new();
            for (name, value) in fields {
                let text = value.as_str();
                let value = match name.as_str() {
                    "continue" if text == Some("") => Value::Null,
                    changing if CHANGING.contains(&changing) && text.is_some() => json!("<changing>"),
                    // Words are compared where they are made, in `lanai-api`; here only that there are some.
                    "message" if text.is_some() => json!("<words>"),
                    _ => settled(value),
                };
                out.insert(name.clone(), value);
            }
            // What is null is not there.
            out.retain(|_, value| !value.is_null());
            Value::Object(out)
        }
        Value::Array(items) => {
            let mut items: Vec<Value> = items.iter().map(settled).collect();
            // Managers and causes have no order.
            items.sort_by_key(|item| {
                ["manager", "operation", "subresource", "apiVersion", "field"].map(|name| match item {
                    Value::Object(fields)
                        if fields.contains_key("manager") || fields.contains_key("field") =>
                    {
                        item[name].to_string()
                    }
                    _ => String::new(),
                })
            });
            Value::Array(items)
        }
        Value::String(text) => settled_text(text).into(),
        other => other.clone(),
    }
}

/// Names that were made up have five letters at their end, and ages are of the moment.
fn settled_text(text: &str) -> String {
    if text.starts_with("gen-") && text.len() > 5 {
        return "gen-<random>".to_owned();
    }
    match text.strip_suffix('s') {
        Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            "<age>".to_owned()
        }
        _ => text.to_owned(),
    }
}

/// A path with any item of a list.
fn any_item(path: &str) -> String {
    let mut out = String::new();
    let mut is_inside = false;
    for letter in path.chars() {
        match letter {
            '[' => {
                is_inside = true;
                out.push_str("[*]");
            }
            ']' => is_inside = false,
            letter if !is_inside => out.push(letter),
            _ => {}
        }
    }
    out
}

/// Where two values differ: paths, with both sides.
fn compare(path: &str, theirs: &Value, ours: &Value, found: &mut Vec<(String, String)>) {
    match (theirs, ours) {
        (Value::Object(theirs), Value::Object(ours)) => {
            let names: std::collections::BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
            for name in names {
                let path = format!("{path}.{name}");
                match (theirs.get(name), ours.get(name)) {
                    (Some(theirs), Some(ours)) => compare(&path, theirs, ours, found),
                    (Some(theirs), None) => found.push((path, format!("{theirs} is missing"))),
                    (None, Some(ours)) => found.push((path, format!("{ours} is there"))),
                    (None, None) => {}
                }
            }
        }
        (Value::Array(theirs), Value::Array(ours)) if theirs.len() == ours.len() => {
            for (at, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
                compare(&format!("{path}[{at}]"), theirs, ours, found);
            }
        }
        (theirs, ours) if theirs == ours => {}
        (theirs, ours) => found.push((path.to_owned(), format!("{theirs}, ours {ours}"))),
    }
}

/// Discovery of their server without the kinds that ours does not have.
fn without_others(theirs: &Value, ours: &Value) -> Value {
    let mut theirs = theirs.clone();
    let keys = |items: &Value, key: &str| -> Vec<Value> {
        items.as_array().into_iter().flatten().map(|item| item[key].clone()).collect()
    };
    let (kinds, groups) = (keys(&ours["resources"], "name"), keys(&ours["items"], "metadata"));
    if let Some(list) = theirs["resources"].as_array_mut() {
        list.retain(|item| kinds.contains(&item["name"]));
        for item in list {
            // A hash of how it is stored.
            item.as_object_mut().unwrap().remove("storageVersionHash");
        }
    }
    if let Some(list) = theirs["items"].as_array_mut().filter(|_| ours["kind"] == "APIGroupDiscoveryList") {
        let names: Vec<Value> = groups.iter().map(|group| group["name"].clone()).collect();
        list.retain(|item| names.contains(&item["metadata"]["name"]));
        list.sort_by_key(|item| item["metadata"]["name"].to_string());
        for group in list {
            let ours = ours["items"].as_array().unwrap().iter();
            let ours =
                ours.clone().find(|item| item["metadata"]["name"] == group["metadata"]["name"]).unwrap();
            let versions = keys(&ours["versions"], "version");
            let found = group["versions"].as_array_mut().unwrap();
            found.retain(|version| versions.contains(&version["version"]));
            for version in found {
                let ours = ours["versions"].as_array().unwrap().iter();
                let ours = ours.clone().find(|item| item["version"] == version["version"]).unwrap();
                let kinds = keys(&ours["resources"], "resource");
                version["resources"].as_array_mut().unwrap().retain(|item| kinds.contains(&item["resource"]));
            }
        }
    }
    theirs
}

/// Our groups beside those of Kubernetes.
fn without_ours(ours: &Value) -> Value {
    let mut ours = ours.clone();
    if ours["kind"] == "APIGroupDiscoveryList" {
        ours["items"].as_array_mut().unwrap().retain(|item| {
            let name = item["metadata"]["name"].as_str().unwrap_or_default();
            name.is_empty() || name.ends_with(".k8s.io")
        });
    }
    ours
}

/// All that differs in an answer.
fn differences(theirs: &Value, ours: &Answer) -> Vec<(String, String)> {
    let mut found = Vec::new();
    compare("status", &theirs["status"], &json!(ours.code), &mut found);
    let mut headers = Map::new();
    for (key, name) in
        [("Content-Type", "content-type"), ("Warning", "warning"), ("Retry-After", "retry-after")]
    {
        if let Some(value) = ours.headers.get(name) {
            headers.insert(key.into(), value.to_str().unwrap().into());
        }
    }
    let mut said = theirs["headers"].clone();
    said.as_object_mut().unwrap().remove("Allow");
    compare("headers", &said, &Value::Object(headers), &mut found);
    if theirs["body"].is_object() {
        let ours = without_ours(&ours.body);
        let theirs = without_others(&theirs["body"], &ours);
        compare("body", &settled(&theirs), &settled(&ours), &mut found);
    } else if let Some(events) = theirs["events"].as_array() {
        let shown = |event: &Value| json!({"type": event["type"], "object": {"kind": event["object"]["kind"], "reason": event["object"]["reason"]}});
        let ours: Vec<Value> = ours.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (theirs, ours): (Vec<Value>, Vec<Value>) =
            (events.iter().map(shown).collect(), ours.iter().map(shown).collect());
        compare("events", &theirs.into(), &ours.into(), &mut found);
    }
    found
}

fn body_of(row: &Value) -> Option<String> {
    match &row["body"] {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Object(fields) if fields.contains_key("repeat") => {
            let times = usize::try_from(fields["times"].as_u64().unwrap()).unwrap();
            Some(Value::from(vec![fields["repeat"].clone(); times]).to_string())
        }
        other => Some(other.to_string()),
    }
}

async fn ask(world: &World, row: &Value) -> Answer {
    let body = body_of(row);
    let mut headers = vec![
        ("accept".to_owned(), "application/json".to_owned()),
        ("user-agent".to_owned(), "recorder/1".to_owned()),
    ];
    if body.is_some() {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    for (name, value) in row["headers"].as_object().into_iter().flatten() {
        headers.retain(|(found, _)| *found != name.to_lowercase());
        headers.push((name.to_lowercase(), value.as_str().unwrap().to_owned()));
    }
    let (method, path) = (row["method"].as_str().unwrap(), row["path"].as_str().unwrap());
    world.ask(method, path, &headers, body.unwrap_or_default()).await
}

/// What was left of an earlier run when the answers were recorded: an object on its way out, in a namespace that was gone.
async fn remains(world: &World) {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "recorded"}});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "yaml"}});
    let maps = "/api/v1/namespaces/recorded/configmaps";
    let steps = [
        ("POST", "/api/v1/namespaces".to_owned(), namespace.clone(), 201),
        ("POST", maps.to_owned(), map, 201),
        ("PATCH", format!("{maps}/yaml"), json!({"data": {"z": "1"}}), 200),
        ("DELETE", format!("{maps}/yaml?propagationPolicy=Foreground"), Value::Null, 200),
        ("DELETE", "/api/v1/namespaces/recorded".to_owned(), Value::Null, 200),
        ("PUT", "/api/v1/namespaces/recorded/finalize".to_owned(), namespace, 200),
    ];
    for (method, path, body, code) in steps {
        let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let (found, answer) = world.send(method, &path, media, &body).await;
        assert_eq!(found, code, "{method} {path}: {answer}");
    }
}

#[tokio::test]
async fn answers_are_those_of_kube_apiserver() {
    let world = World::new(|_, _| None).await;
    remains(&world).await;
    let listed = read("differences.json");
    let mut unlisted = BTreeMap::new();
    let mut unused: BTreeMap<String, Vec<String>> = listed
        .as_object()
        .unwrap()
        .iter()
        .map(|(row, paths)| (row.clone(), paths.as_object().unwrap().keys().cloned().collect()))
        .collect();
    let mut asked = 0;
    for group in GROUPS {
        for row in read(&format!("answers/{group}.json")).as_array().unwrap() {
            asked += 1;
            let name = format!("{group}/{}", row["name"].as_str().unwrap());
            let answer = ask(&world, row).await;
            for (path, what) in differences(&row["answer"], &answer) {
                let reasons = listed[&name].as_object().cloned().unwrap_or_default();
                match reasons.keys().find(|prefix| any_item(&path).starts_with(prefix.as_str())) {
                    Some(prefix) => unused.get_mut(&name).unwrap().retain(|one| one != prefix),
                    None => {
                        unlisted.entry(name.clone()).or_insert_with(Vec::new).push(format!("{path}: {what}"));
                    }
                }
            }
        }
    }
    assert!(asked >= 220, "{asked}");
    unused.retain(|_, paths| !paths.is_empty());
    assert!(unlisted.is_empty(), "{} of {asked} differ: {:#?}", unlisted.len(), unlisted);
    assert!(unused.is_empty(), "listed, but not so: {unused:#?}");
}
