//! Sequences of writes that kube-apiserver was asked for (`tests/kube/apply.py`), and what it made of them.

use std::fs;
use std::path::{Path, PathBuf};

use lanai_api::{KindInfo, crd, kinds, schema};
use lanai_apply::{Error, Force, Writer, apply, merge, update};
use serde_json::Value;

/// Where the recorded cases are.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/recorded")
}

/// A file of JSON.
pub(crate) fn read(path: &Path) -> Value {
    let text = fs::read_to_string(path).expect("the file can be read");
    serde_json::from_str(&text).expect("the file is JSON")
}

fn kind(case: &Value) -> KindInfo {
    let text = |name: &str| case[name].as_str().expect("it is a text");
    match kinds::find(text("group"), text("kind")) {
        Some(kind) => KindInfo::clone(kind),
        None => crd::kind(&read(&folder().join("definition.json"))).expect("the definition is right"),
    }
}

/// What is compared: what the server itself sets is not, nor are times.
fn plain(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.retain(|name, _| {
            !matches!(name.as_str(), "uid" | "resourceVersion" | "generation" | "creationTimestamp")
        });
        if let Some(Value::Array(entries)) = metadata.get_mut("managedFields") {
            for entry in entries.iter_mut() {
                entry["time"] = Value::Null;
            }
            entries.sort_by_key(|entry| {
                ["operation", "manager", "apiVersion", "subresource"].map(|name| entry[name].to_string())
            });
        }
    }
    object
}

/// The replay of one step: the object, or the message.
fn replay(kind: &KindInfo, live: Option<&Value>, step: &Value) -> Result<Value, Error> {
    let text = |name: &str| step[name].as_str();
    let now = match text("time") {
        Some(time) => time.parse().expect("it is a time"),
        None => "2030-01-01T00:00:00Z".parse().expect("it is a time"),
    };
    let writer =
        Writer { manager: text("manager").expect("there is a manager"), sub_resource: text("part"), now };
    let force = if step["force"] == true { Force::Yes } else { Force::No };
    let sent = &step["sent"];
    let version =
        kind.version(text("version").unwrap_or(&kind.storage().name)).expect("the version is there");
    let filled = |mut object: Value| {
        if kind.origin == lanai_api::Origin::BuiltIn {
            lanai_api::core::fill(kind, &mut object);
        } else {
            schema::fill(&mut object, &version.schema);
        }
        object
    };
    let guarded = |mut object: Value| {
        // What a write to this endpoint cannot change.
        match (writer.sub_resource, live) {
            (Some("status"), Some(live)) => {
                let status = object["status"].clone();
                object = live.clone();
                object["status"] = status;
            }
            (None, live) if version.has_status() => match live.and_then(|live| live.get("status")) {
                Some(status) => object["status"] = status.clone(),
                None => {
                    object.as_object_mut().expect("it is an object").remove("status");
                }
            },
            (Some(_) | None, _) => {}
        }
        object
    };
    match text("verb").expect("there is a verb") {
        "apply" => apply(kind, live, sent, &writer, force).map(|object| {
            let managed = object["metadata"]["managedFields"].clone();
            let mut object = guarded(filled(object));
            if !managed.is_null() {
                object["metadata"]["managedFields"] = managed;
            } else if let Some(metadata) = object["metadata"].as_object_mut() {
                metadata.remove("managedFields");
            }
            object
        }),
        "create" => Ok(update(kind, None, &guarded(filled(sent.clone())), &writer)),
        _ => {
            let mut patched = merge::patch(live.expect("there is an object"), sent);
            patched["apiVersion"] = kind.api_version(&version.name).into();
            let given = patched["metadata"]["managedFields"].clone();
            let mut new = guarded(filled(patched));
            new["metadata"]["managedFields"] = given;
            Ok(update(kind, live, &new, &writer))
        }
    }
}

#[test]
fn writes_come_out_as_kube_apiserver_has_them() {
    let mut wrong = Vec::new();
    let mut steps = 0;
    let mut files: Vec<PathBuf> = fs::read_dir(folder())
        .expect("there is a folder")
        .map(|file| file.expect("it can be read").path())
        .collect();
    files.sort();
    for file in files.iter().filter(|file| !file.ends_with("definition.json")) {
        let case = read(file);
        let kind = kind(&case);
        let mut live: Option<Value> = None;
        for (at, step) in case["steps"].as_array().expect("there are steps").iter().enumerate() {
            steps += 1;
            let name = format!("{} {at}", file.file_stem().expect("it has a name").display());
            let status = step["status"].as_i64().expect("there is a status");
            // What schemas and names refuse is not the business of this crate.
            if status == 422 || step["verb"] == "create" && status == 409 {
                continue;
            }
            match (replay(&kind, live.as_ref(), step), &step["object"]) {
                (Ok(ours), theirs @ Value::Object(_)) => {
                    if plain(&ours) != plain(theirs) {
                        wrong.push(format!("{name}:\n ours {}\n theirs {}", plain(&ours), plain(theirs)));
                    }
                }
                (Err(error), Value::Null) => {
                    let ours = error.to_string();
                    if step["message"] != *ours {
                        wrong.push(format!("{name}:\n ours {ours}\n theirs {}", step["message"]));
                    }
                    if let Error::Conflict(conflicts) = &error {
                        let causes: Vec<Value> = conflicts.iter().map(lanai_apply::Conflict::cause).collect();
                        if step["causes"] != Value::from(causes.clone()) {
                            wrong.push(format!("{name}:\n ours {causes:?}\n theirs {}", step["causes"]));
                        }
                    }
                }
                (Ok(ours), _) => wrong.push(format!("{name}:\n ours {ours}\n theirs {}", step["message"])),
                (Err(error), _) => wrong.push(format!("{name}:\n ours {error}\n theirs {}", step["object"])),
            }
            if step["object"].is_object() {
                live = Some(step["object"].clone());
            }
        }
    }
    assert!(steps > 100, "{steps} steps");
    assert!(wrong.is_empty(), "{} of {steps} steps:\n{}", wrong.len(), wrong.join("\n"));
}
