//! Who owns fields: server-side apply and all other writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use lanai_apiserver::{Identity, Limits};
use serde_json::{Value, json};

use crate::world::{Answer, World, options};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

fn patch(world: &World, path: &str, media: &str, body: &Value) -> Answer {
    world.send_as(&Identity::server("test"), "PATCH", path, media, &body.to_string())
}

fn map(data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data})
}

/// Managers with how they wrote and what they own of the data.
fn owners(answer: &Answer) -> Vec<String> {
    let entries = answer.body["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let owned = |entry: &Value| {
        let fields = entry["fieldsV1"]["f:data"].as_object().cloned().unwrap_or_default();
        let keys: Vec<String> =
            fields.keys().filter_map(|key| key.strip_prefix("f:")).map(str::to_owned).collect();
        keys.join(",")
    };
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    entries
        .iter()
        .map(|entry| format!("{} {} {}", text(entry, "manager"), text(entry, "operation"), owned(entry)))
        .collect()
}

#[test]
fn whoever_applies_owns_and_others_conflict() {
    let world = World::new();
    let apply = |query: &str, data: Value| patch(&world, &format!("{MAPS}/x{query}"), APPLY, &map(&data));
    let nobody = apply("", json!({"a": "1"}));
    assert_eq!((nobody.code, nobody.body["reason"].as_str()), (422, Some("Invalid")), "{}", nobody.text);
    assert_eq!(nobody.body["details"]["causes"][0]["field"], "fieldManager");
    assert_eq!(apply("?fieldManager=ann&dryRun=All", json!({"a": "1"})).code, 201);
    assert_eq!(world.get(&format!("{MAPS}/x")).code, 404);

    let made = apply("?fieldManager=ann", json!({"a": "1", "b": "1"}));
    assert_eq!((made.code, owners(&made)), (201, vec!["ann Apply a,b".to_owned()]), "{}", made.text);
    let again = apply("?fieldManager=ann", json!({"a": "1", "b": "1"}));
    assert_eq!((again.code, &again.body), (200, &made.body), "the same again changes nothing");

    let lost = apply("?fieldManager=bob", json!({"a": "2"}));
    assert_eq!((lost.code, lost.body["reason"].as_str()), (409, Some("Conflict")), "{}", lost.text);
    let causes =
        json!([{"reason": "FieldManagerConflict", "message": "conflict with \"ann\"", "field": ".data.a"}]);
    assert_eq!(lost.body["details"]["causes"], causes);
    assert_eq!(lost.body["message"], "Apply failed with 1 conflict: conflict with \"ann\": .data.a");
    let rehearsed = apply("?fieldManager=bob&force=true&dryRun=All", json!({"a": "2"}));
    assert_eq!((rehearsed.code, rehearsed.body["data"]["a"].as_str()), (200, Some("2")));
    assert_eq!(world.get(&format!("{MAPS}/x")).body, made.body);
    let forced = apply("?fieldManager=bob&force=true", json!({"a": "2"}));
    assert_eq!(owners(&forced), ["ann Apply b", "bob Apply a"], "{}", forced.text);

    let removed = apply("?fieldManager=ann", json!({}));
    assert_eq!(removed.body["data"], json!({"a": "2"}), "what nobody else owns is gone");
    let force = patch(&world, &format!("{MAPS}/x?force=true"), MERGE, &json!({}));
    assert_eq!((force.code, force.body["details"]["causes"][0]["field"].as_str()), (422, Some("force")));
}

#[test]
fn every_write_is_somebodys() {
    let world = World::new();
    let path = format!("{MAPS}/x");
    let mut made = world.send("POST", &format!("{MAPS}?fieldManager=maker"), &map(&json!({"a": "1"})));
    assert_eq!(owners(&made), ["maker Update a"]);
    made.body["data"]["b"] = json!("1");
    let put = world.send("PUT", &format!("{path}?fieldManager=putter"), &made.body);
    assert_eq!(owners(&put), ["maker Update a", "putter Update b"], "{}", put.text);
    let merged = patch(&world, &format!("{path}?fieldManager=merger"), MERGE, &json!({"data": {"c": "1"}}));
    assert_eq!(owners(&merged).last().unwrap(), "putter Update b");
    assert!(owners(&merged).contains(&"merger Update c".to_owned()));
    let op = json!([{"op": "add", "path": "/data/d", "value": "1"}]);
    assert!(
        owners(&patch(&world, &format!("{path}?fieldManager=json"), JSON, &op))
            .contains(&"json Update d".to_owned())
    );
    let fields = json!({"metadata": {"finalizers": ["example.com/a"]}, "data": {"e": "1"}});
    let strategic = patch(&world, &format!("{path}?fieldManager=smart"), STRATEGIC, &fields);
    assert!(owners(&strategic).contains(&"smart Update e".to_owned()), "{}", strategic.text);
    let more = patch(&world, &path, STRATEGIC, &json!({"metadata": {"finalizers": ["example.com/b"]}}));
    assert_eq!(more.body["metadata"]["finalizers"], json!(["example.com/a", "example.com/b"]), "lists merge");

    let request = http::Request::builder().method("PATCH").uri(&path).header("content-type", MERGE);
    let request = request.header("user-agent", "kubectl/v1.32.4 (linux/amd64)");
    let request = request.body(json!({"data": {"f": "1"}}).to_string().into()).unwrap();
    let agent = world.request(&Identity::server("test"), request);
    assert!(owners(&agent).contains(&"kubectl Update f".to_owned()), "{}", agent.text);
    let forgotten = patch(&world, &path, MERGE, &json!({"metadata": {"managedFields": [{}]}}));
    assert_eq!(owners(&forgotten), Vec::<String>::new());
}

#[test]
fn custom_kinds_are_applied_and_not_patched_strategically() {
    let world = World::new();
    let root = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories/blue";
    let repository = json!({"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": "blue"},
                            "spec": {"type": "git", "git": {"repo": "https://git.example/blue.git"}}});
    let made = patch(&world, &format!("{root}?fieldManager=ann"), APPLY, &repository);
    assert_eq!((made.code, made.body["metadata"]["generation"].as_i64()), (201, Some(1)), "{}", made.text);
    let refused = patch(&world, root, STRATEGIC, &json!({"spec": {}}));
    assert_eq!((refused.code, refused.body["reason"].as_str()), (415, Some("UnsupportedMediaType")));
    let status = json!({"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": "blue"},
                        "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Ready", "message": "",
                                                   "lastTransitionTime": "2026-01-01T00:00:00Z"}]}});
    let told = patch(&world, &format!("{root}/status?fieldManager=controller"), APPLY, &status);
    assert_eq!(told.code, 200, "{}", told.text);
    let entries = told.body["metadata"]["managedFields"].as_array().unwrap().clone();
    let of =
        |manager: &str| entries.iter().find(|entry| entry["manager"] == manager).cloned().unwrap_or_default();
    assert_eq!(of("controller")["subresource"], "status");
    assert!(of("ann")["subresource"].is_null());
    assert_eq!(told.body["metadata"]["generation"], 1);
    let missing = patch(
        &world,
        &format!("{}/status?fieldManager=c", root.replace("blue", "red")),
        APPLY,
        &json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": "red"}}),
    );
    assert_eq!(missing.code, 404, "{}", missing.text);
}

#[test]
fn applying_to_nothing_needs_the_right_to_create() {
    let world = World::new();
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "patcher"},
                      "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}]});
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    assert_eq!(world.send("POST", &format!("{rbac}/roles"), &role).code, 201);
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "b"},
                         "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "patcher"},
                         "subjects": [{"kind": "User", "name": "bob"}]});
    assert_eq!(world.send("POST", &format!("{rbac}/rolebindings"), &binding).code, 201);
    let bob = Identity::known("bob", []);
    let apply = || {
        world.send_as(
            &bob,
            "PATCH",
            &format!("{MAPS}/x?fieldManager=bob"),
            APPLY,
            &map(&json!({})).to_string(),
        )
    };
    let refused = apply();
    assert!(refused.code == 403 && refused.text.contains("cannot create"), "{}", refused.text);
    assert_eq!(world.send("POST", MAPS, &map(&json!({}))).code, 201);
    assert_eq!(apply().code, 200);
}

fn recorded() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../apply/tests/it/recorded")
}

fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// What is compared: not what differs from run to run.
fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for changing in ["uid", "resourceVersion", "creationTimestamp"] {
            metadata.remove(changing);
        }
        for entry in metadata.get_mut("managedFields").and_then(Value::as_array_mut).into_iter().flatten() {
            entry["time"] = Value::Null;
        }
        if let Some(Value::Array(entries)) = metadata.get_mut("managedFields") {
            entries.sort_by_key(|entry| {
                ["operation", "manager", "apiVersion", "subresource"].map(|name| entry[name].to_string())
            });
        }
    }
    object
}

/// Steps that come out otherwise, and why.
const OTHERWISE: [(&str, usize, &str); 2] = [
    (
        "nulls",
        3,
        "null where it does not fit is dropped when it is applied, as it is there by all other writes",
    ),
    ("objects", 4, "the same"),
];

/// The writes of `tests/kube/apply.py`, sent to our server: objects, conflicts and owners are those of kube-apiserver.
#[test]
fn sequences_of_writes_come_out_as_kube_apiserver_has_them() {
    let seconds = Arc::new(AtomicI64::new(1_900_000_000));
    let ticking = seconds.clone();
    let world = World::of(|data| {
        let clock = move || jiff::Timestamp::from_second(ticking.load(Ordering::Relaxed)).unwrap();
        lanai_serve::Options { clock: Arc::new(clock), ..options(data, Limits::DEFAULT) }
    });
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "recorded-apply"}});
    assert_eq!(world.send("POST", "/api/v1/namespaces", &namespace).code, 201);
    let definition = read(&recorded().join("definition.json"));
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(world.send("POST", definitions, &definition).code, 201);
    let mut wrong = Vec::new();
    let mut steps = 0;
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(recorded()).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in files.iter().filter(|file| !file.ends_with("definition.json")) {
        let case = read(file);
        let (group, kind) = (case["group"].as_str().unwrap(), case["kind"].as_str().unwrap());
        let name = file.file_stem().unwrap().to_str().unwrap();
        let root = if group.is_empty() { "/api".to_owned() } else { format!("/apis/{group}") };
        let plural = format!("{}s", kind.to_lowercase());
        for (at, step) in case["steps"].as_array().unwrap().iter().enumerate() {
            steps += 1;
            seconds.fetch_add(2, Ordering::Relaxed);
            let version = step["version"].as_str().unwrap_or("v1");
            let mut path = format!("{root}/{version}/namespaces/recorded-apply/{plural}");
            if step["verb"] != "create" {
                path = format!("{path}/{name}");
            }
            if let Some(part) = step["part"].as_str() {
                path = format!("{path}/{part}");
            }
            let force = if step["force"] == true { "&force=true" } else { "" };
            let path = format!("{path}?fieldManager={}{force}", step["manager"].as_str().unwrap());
            let answer = match step["verb"].as_str().unwrap() {
                "create" => world.send("POST", &path, &step["sent"]),
                "apply" => patch(&world, &path, APPLY, &step["sent"]),
                _ => patch(&world, &path, MERGE, &step["sent"]),
            };
            // Bodies that do not fit the schema are answered with 500 there, and are the client's fault here.
            let status = if step["status"] == 500 { json!(400) } else { step["status"].clone() };
            if OTHERWISE.iter().any(|(case, step, _)| (*case, *step) == (name, at)) {
                assert_eq!((answer.code, status), (200, json!(422)), "{name} {at} is as it is there");
                continue;
            }
            if json!(answer.code) != status {
                wrong.push(format!("{name} {at}: {} instead of {status}: {}", answer.code, answer.text));
                continue;
            }
            if step["object"].is_object() {
                if plain(&answer.body) != plain(&step["object"]) {
                    wrong.push(format!(
                        "{name} {at}:\n ours   {}\n theirs {}",
                        plain(&answer.body),
                        plain(&step["object"])
                    ));
                }
            } else if answer.code == 409 && answer.body["details"]["causes"] != step["causes"] {
                wrong.push(format!("{name} {at}:\n ours   {}\n theirs {}", answer.text, step["causes"]));
            }
        }
    }
    assert!(steps > 100, "{steps}");
    assert!(wrong.is_empty(), "{} of {steps}:\n{}", wrong.len(), wrong.join("\n"));
}
