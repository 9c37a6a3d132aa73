//! `lanai repo reg` and `unreg`.

use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::REPOSITORIES;
use super::args::{Register, Unregister};
use crate::client::{Client, Method, Request, Resource, Trouble};
use crate::failure::{Code, Failure, cause};
use crate::io::{Exit, Io};
use crate::persona::Persona;

const SECRETS: Resource =
    Resource { group: "", version: "v1", plural: "secrets", singular: "secret", kind: "Secret" };
/// The annotation by which the controllers of v1alpha2 take a repository.
const MIGRATION: &str = "porch.kpt.dev/v1alpha2-migration";
/// How long it is waited for a repository, in seconds.
const MAX_WAIT: &str = "120";
/// The reason of a repository that does not go because something was not pushed yet.
const HELD_UP: &str = "DraftsOnlyHere";
/// How long it is waited until one that was deleted is gone, in seconds.
const MAX_GOING: &str = "20";

pub(super) fn register(
    register: &Register,
    client: &Client,
    persona: Persona,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let Some(address) = register.address.as_deref().filter(|address| !address.is_empty()) else {
        return Err(Failure::of(Code::Usage, "repository is required positional argument"));
    };
    let has_password = !register.repo_basic_username.is_empty() || !register.repo_basic_password.is_empty();
    if has_password && register.repo_workload_identity {
        return Err(Failure::of(Code::Usage, "both username/password and workload identity specified").bare());
    }
    check_schedule(&register.sync_schedule)?;
    let name = match register.name.as_deref() {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => last_part(address),
    };
    let secret = secret(&name, register, client, io)?;
    let repository = object(&name, address, register, client, secret.as_ref());
    if let Some(secret) = &secret {
        let path = SECRETS.all(Some(&client.namespace));
        client.send(&Request::new(Method::Post, path, "making the Secret").body(secret.clone()), io)?;
    }
    let path = REPOSITORIES.all(Some(&client.namespace));
    let made =
        client.send(&Request::new(Method::Post, path, format!("registering {name}")).body(repository), io);
    let made = match made {
        Ok(made) => made,
        Err(trouble) => {
            // A Secret that nothing refers to would be in the way of the next try.
            if let Some(secret) = &secret {
                let path =
                    SECRETS.one(&client.namespace, secret["metadata"]["name"].as_str().unwrap_or_default());
                let _ = client.send(&Request::new(Method::Delete, path, "removing the Secret"), io);
            }
            return Err(trouble.into());
        }
    };
    if persona != Persona::Porchctl {
        io.print(&format!("{name} registered\n"))?;
    }
    if register.wait {
        let waited = wait(&name, &made, client, io);
        if waited.is_err() && io.stop.is_asked() {
            io.tell(&format!("stopped: {name} is registered; whether it can be used is not known yet"));
        }
        waited?;
    }
    Ok(Exit::Success)
}

/// The Secret with the credential, if there is one.
fn secret(
    name: &str,
    register: &Register,
    client: &Client,
    io: &mut Io<'_>,
) -> Result<Option<Value>, Failure> {
    let object = |kind: &str, data: Value| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"name": format!("{name}-auth"), "namespace": client.namespace}, "data": data,
        })
    };
    if register.repo_workload_identity {
        return Ok(Some(object("kpt.dev/workload-identity-auth", json!({}))));
    }
    if register.repo_basic_username.is_empty() && register.repo_basic_password.is_empty() {
        return Ok(None);
    }
    let password = if register.repo_basic_password == "-" {
        let text = std::io::read_to_string(&mut *io.stdin);
        let text = text.map_err(|error| {
            Failure::of(Code::File, format!("cannot read the password: {}", cause(&error)))
        })?;
        text.trim_end_matches(['\n', '\r']).to_owned()
    } else {
        register.repo_basic_password.clone()
    };
    let data = json!({
        "username": STANDARD.encode(&register.repo_basic_username), "password": STANDARD.encode(password),
    });
    Ok(Some(object("kubernetes.io/basic-auth", data)))
}

fn object(name: &str, address: &str, register: &Register, client: &Client, secret: Option<&Value>) -> Value {
    let mut metadata = json!({"name": name, "namespace": client.namespace});
    if register.v1alpha2 {
        metadata["annotations"] = json!({MIGRATION: "true"});
    }
    let mut spec =
        json!({"description": register.description, "content": "Package", "deployment": register.deployment});
    let reference = secret.map(|secret| json!({"name": secret["metadata"]["name"]}));
    let place = if let Some(registry) = address.strip_prefix("oci://") {
        spec["type"] = json!("oci");
        spec["oci"] = json!({"registry": registry});
        &mut spec["oci"]
    } else {
        spec["type"] = json!("git");
        spec["git"] = json!({"repo": address, "branch": register.branch, "directory": register.directory});
        if register.create_branch {
            spec["git"]["createBranch"] = json!(true);
        }
        &mut spec["git"]
    };
    if let Some(reference) = reference {
        place["secretRef"] = reference;
    }
    if !register.sync_schedule.is_empty() {
        spec["sync"] = json!({"schedule": register.sync_schedule});
    }
    json!({"apiVersion": REPOSITORIES.api_version(), "kind": REPOSITORIES.kind, "metadata": metadata, "spec": spec})
}

/// The last part of an address, without `.git`.
fn last_part(address: &str) -> String {
    let address = address.trim_end_matches('/');
    let last = address.rsplit(['/', ':']).next().unwrap_or(address);
    last.strip_suffix(".git").unwrap_or(last).to_owned()
}

fn check_schedule(text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    let refused =
        |why: String| Failure::of(Code::Usage, format!("invalid sync-schedule cron expression: {why}"));
    let fields = text.split_whitespace().count();
    if fields != 5 {
        return Err(refused(format!("expected exactly 5 fields, found {fields}: [{text}]")));
    }
    match text.parse::<croner::Cron>() {
        Ok(_) => Ok(()),
        Err(error) => Err(refused(format!("{error}: [{text}]"))),
    }
}

/// Waits until a repository can be used.
fn wait(name: &str, made: &Value, client: &Client, io: &mut Io<'_>) -> Result<(), Failure> {
    let request = Request::get(REPOSITORIES.all(Some(&client.namespace)), format!("waiting for {name}"))
        .query("watch", "true")
        .query("fieldSelector", format!("metadata.name={name}"))
        .query("resourceVersion", made["metadata"]["resourceVersion"].as_str().unwrap_or_default())
        .query("timeoutSeconds", MAX_WAIT);
    let watching = client.watch(&request, io)?;
    let since = Instant::now();
    while let Some(event) = watching.wait(since, io)? {
        let conditions = event["object"]["status"]["conditions"].as_array();
        let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
        let Some(ready) = ready else { continue };
        if ready["status"] == "True" {
            io.print(&format!("{name} ready\n"))?;
            return Ok(());
        }
        if ready["reason"] == "Error" {
            let why = ready["message"].as_str().unwrap_or("it does not say why");
            return Err(Failure::of(
                Code::Repository,
                format!("{name} is registered and cannot be used: {why}"),
            )
            .hint(format!("it is tried again; take it back with \"lanai repo unreg {name}\"")));
        }
    }
    Err(Failure::of(
        Code::Repository,
        format!("{name} is registered, and was not ready after {MAX_WAIT} seconds"),
    ))
}

pub(super) fn unregister(
    unregister: &Unregister,
    client: &Client,
    persona: Persona,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let Some(name) = unregister.name.as_deref().filter(|name| !name.is_empty()) else {
        return Err(Failure::of(Code::Usage, "REPOSITORY is a required positional argument"));
    };
    let path = REPOSITORIES.one(&client.namespace, name);
    let object = client.send(&Request::get(&path, format!("reading repository {name}")), io)?;
    let going = client.send(&Request::new(Method::Delete, &path, format!("forgetting {name}")), io)?;
    // What waits is pushed first, for which the credential is needed.
    let is_waited_for = persona != Persona::Porchctl;
    let gone = if is_waited_for { is_gone(name, &going, client, io) } else { Ok(true) };
    if gone.is_err() && io.stop.is_asked() {
        io.tell(&format!("stopped: {name} goes as soon as the server is done with it; its Secret was left"));
    }
    if !gone? {
        let now = client.send(&Request::get(&path, format!("reading repository {name}")), io);
        io.tell(&format!("{name} {}; its Secret was left", going_when(&now.unwrap_or_default())));
        return Ok(Exit::Success);
    }
    let spec = &object["spec"];
    let secret = ["git", "oci"].iter().find_map(|kind| spec[kind]["secretRef"]["name"].as_str());
    if let Some(secret) = secret.filter(|secret| !secret.is_empty() && !unregister.keep_auth_secret) {
        let path = SECRETS.one(&client.namespace, secret);
        match client.send(&Request::new(Method::Delete, path, format!("removing the Secret {secret}")), io) {
            Ok(_) => {}
            Err(Trouble::Refused(refusal)) if refusal.is_missing() => {}
            Err(trouble) => return Err(trouble.into()),
        }
    }
    if persona != Persona::Porchctl {
        io.print(&format!("{name} unregistered\n"))?;
    }
    Ok(Exit::Success)
}

/// When a repository goes that is deleted and still there.
fn going_when(object: &Value) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
    match ready.filter(|ready| ready["reason"] == HELD_UP).and_then(|ready| ready["message"].as_str()) {
        Some(why) => format!("goes as soon as what waits was pushed: {why}"),
        None => "goes as soon as the server is done with its remote, which does not answer yet".to_owned(),
    }
}

/// Waits a while until a repository that was deleted is gone.
fn is_gone(name: &str, going: &Value, client: &Client, io: &mut Io<'_>) -> Result<bool, Failure> {
    if going["metadata"]["deletionTimestamp"].is_null() || going["metadata"]["finalizers"].is_null() {
        return Ok(true);
    }
    let request =
        Request::get(REPOSITORIES.all(Some(&client.namespace)), format!("waiting until {name} is gone"))
            .query("watch", "true")
            .query("fieldSelector", format!("metadata.name={name}"))
            .query("resourceVersion", going["metadata"]["resourceVersion"].as_str().unwrap_or_default())
            .query("timeoutSeconds", MAX_GOING);
    let watching = client.watch(&request, io)?;
    let since = Instant::now();
    while let Some(event) = watching.wait(since, io)? {
        if event["type"] == "DELETED" {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_last_part_of_addresses() {
        let check = |address: &str, expected: &str| assert_eq!(last_part(address), expected, "{address}");
        check("https://h/o/blueprints.git", "blueprints");
        check("https://h/o/blueprints/", "blueprints");
        check("git@h:blueprints.git", "blueprints");
        check("oci://h/o/images", "images");
    }

    #[test]
    fn it_is_said_what_a_repository_waits_for_only_where_it_waits() {
        let check = |reason: &str, expected: &str| {
            let condition = json!({"type": "Ready", "reason": reason, "message": "1 draft is only here"});
            let said = going_when(&json!({"status": {"conditions": [condition]}}));
            assert!(said.contains(expected), "{said}");
        };
        check("DraftsOnlyHere", "what waits was pushed: 1 draft is only here");
        check("Ready", "done with its remote");
        assert!(!going_when(&Value::Null).contains("pushed"));
    }

    #[test]
    fn schedules_have_five_fields() {
        assert!(check_schedule("").is_ok());
        assert!(check_schedule("*/5 * * * *").is_ok());
        for wrong in ["* * * *", "* * * * * *", "@daily", "61 * * * *"] {
            assert!(check_schedule(wrong).is_err(), "{wrong}");
        }
    }
}
