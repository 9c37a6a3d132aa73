//! Checks of Kubernetes's own kinds, in the words of kube-apiserver.

use serde_json::Value;

use lanai_openapi::format::base64_bytes;

use crate::cause::{Cause, FieldPath};
use crate::kind::{KindInfo, Origin};
use crate::names;

/// How many bytes the values of a `ConfigMap` or a `Secret` may have together.
pub const MAX_DATA: usize = 1 << 20;
const IMMUTABLE: &str = "field is immutable";
const IMMUTABLE_SET: &str = "field is immutable when `immutable` is set";

/// What is wrong with an object of one of Kubernetes's own kinds beyond its metadata; `old` is the object that it replaces. Nothing for
/// other kinds.
pub fn validate(kind: &KindInfo, new: &Value, old: Option<&Value>) -> Vec<Cause> {
    if kind.origin != Origin::BuiltIn {
        return Vec::new();
    }
    let mut causes = Vec::new();
    match kind.names.kind.as_str() {
        "ConfigMap" => config_map(new, old, &mut causes),
        "Secret" => secret(new, old, &mut causes),
        "Role" | "ClusterRole" => role(kind, new, &mut causes),
        "RoleBinding" | "ClusterRoleBinding" => binding(kind, new, old, &mut causes),
        "Lease" => lease(new, &mut causes),
        "CustomResourceDefinition" => causes = crate::crd::validate(new, old),
        _ => {}
    }
    causes
}

fn size(value: &Value) -> usize {
    value.as_object().map_or(0, |fields| fields.values().filter_map(Value::as_str).map(str::len).sum())
}

fn keys(object: &Value, field: &str, causes: &mut Vec<Cause>) {
    for key in object[field].as_object().into_iter().flatten().map(|(key, _)| key) {
        for wrong in names::config_key(key) {
            causes.push(Cause::invalid(&FieldPath::from(field).key(key), key.as_str(), wrong));
        }
    }
}

fn config_map(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    keys(new, "data", causes);
    if let Some(binary) = new["binaryData"].as_object() {
        for key in binary.keys().filter(|key| new["data"].get(key.as_str()).is_some()) {
            let at = FieldPath::from("data").key(key);
            causes.push(Cause::invalid(&at, key.as_str(), "duplicate of key present in binaryData"));
        }
    }
    keys(new, "binaryData", causes);
    let binary: usize = new["binaryData"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| base64_bytes(value.as_str()?))
        .map(|bytes| bytes.len())
        .sum();
    if size(&new["data"]) + binary > MAX_DATA {
        causes.push(Cause::too_long(&FieldPath::root(), MAX_DATA));
    }
    immutable(new, old, &["data", "binaryData"], causes);
}

fn immutable(new: &Value, old: Option<&Value>, fields: &[&str], causes: &mut Vec<Cause>) {
    let Some(old) = old.filter(|old| old["immutable"] == true) else { return };
    if new["immutable"] != true {
        causes.push(Cause::forbidden(&FieldPath::from("immutable"), IMMUTABLE_SET));
    }
    for field in fields {
        let entries =
            |object: &Value| object[*field].as_object().filter(|fields| !fields.is_empty()).cloned();
        if entries(new) != entries(old) {
            causes.push(Cause::forbidden(&FieldPath::from(*field), IMMUTABLE_SET));
        }
    }
}

fn secret(new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if let Some(old) = old
        && new["type"] != old["type"]
    {
        causes.push(Cause::invalid(&FieldPath::from("type"), new["type"].clone(), IMMUTABLE));
    }
    keys(new, "data", causes);
    let data = FieldPath::from("data");
    let bytes = |key: &str| new["data"][key].as_str().and_then(base64_bytes);
    let total: usize = new["data"]
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, value)| base64_bytes(value.as_str()?))
        .map(|bytes| bytes.len())
        .sum();
    if total > MAX_DATA {
        causes.push(Cause::too_long(&data, MAX_DATA));
    }
    let mut needs = |key: &str| {
        if bytes(key).is_none() {
            causes.push(Cause::required(&data.key(key), ""));
        }
    };
    match new["type"].as_str().unwrap_or_default() {
        "kubernetes.io/dockercfg" => needs(".dockercfg"),
        "kubernetes.io/dockerconfigjson" => needs(".dockerconfigjson"),
        "kubernetes.io/ssh-auth" => needs("ssh-privatekey"),
        "kubernetes.io/tls" => {
            needs("tls.crt");
            needs("tls.key");
        }
        "kubernetes.io/basic-auth" if bytes("username").is_none() && bytes("password").is_none() => {
            causes.push(Cause::required(&data.key("username"), ""));
            causes.push(Cause::required(&data.key("password"), ""));
        }
        "kubernetes.io/service-account-token" => {
            let name = "kubernetes.io/service-account.name";
            if new["metadata"]["annotations"][name].as_str().unwrap_or_default().is_empty() {
                causes.push(Cause::required(&FieldPath::from("metadata.annotations").key(name), ""));
            }
        }
        _ => {}
    }
    immutable(new, old, &["data"], causes);
}

fn role(kind: &KindInfo, new: &Value, causes: &mut Vec<Cause>) {
    let is_namespaced = kind.names.kind == "Role";
    for (index, rule) in new["rules"].as_array().into_iter().flatten().enumerate() {
        let at = FieldPath::from("rules").index(index);
        let has = |name: &str| rule[name].as_array().is_some_and(|list| !list.is_empty());
        if !has("verbs") {
            causes.push(Cause::required(&at.child("verbs"), "verbs must contain at least one value"));
        }
        if has("nonResourceURLs") {
            if is_namespaced {
                let detail = "namespaced rules cannot apply to non-resource URLs";
                causes.push(Cause::invalid(
                    &at.child("nonResourceURLs"),
                    rule["nonResourceURLs"].clone(),
                    detail,
                ));
            }
            if ["apiGroups", "resources", "resourceNames"].into_iter().any(has) {
                let detail = "rules cannot apply to both regular resources and non-resource URLs";
                causes.push(Cause::invalid(
                    &at.child("nonResourceURLs"),
                    rule["nonResourceURLs"].clone(),
                    detail,
                ));
            }
            continue;
        }
        if !has("apiGroups") {
            causes.push(Cause::required(
                &at.child("apiGroups"),
                "resource rules must supply at least one api group",
            ));
        }
        if !has("resources") {
            causes.push(Cause::required(
                &at.child("resources"),
                "resource rules must supply at least one resource",
            ));
        }
    }
}

fn binding(kind: &KindInfo, new: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let at = FieldPath::from("roleRef");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if text(&new["roleRef"]["apiGroup"]) != GROUP {
        causes.push(Cause::not_supported(&at.child("apiGroup"), text(&new["roleRef"]["apiGroup"]), &[GROUP]));
    }
    let kinds: &[&str] =
        if kind.names.kind == "RoleBinding" { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    let role_kind = text(&new["roleRef"]["kind"]);
    if !kinds.contains(&role_kind.as_str()) {
        causes.push(Cause::not_supported(&at.child("kind"), role_kind, kinds));
    }
    let name = text(&new["roleRef"]["name"]);
    if name.is_empty() {
        causes.push(Cause::required(&at.child("name"), ""));
    } else {
        causes.extend(
            names::path_segment(&name)
                .into_iter()
                .map(|wrong| Cause::invalid(&at.child("name"), name.as_str(), wrong)),
        );
    }
    for (index, subject) in new["subjects"].as_array().into_iter().flatten().enumerate() {
        check_subject(subject, &FieldPath::from("subjects").index(index), causes);
    }
    if old.is_some_and(|old| old["roleRef"] != new["roleRef"]) {
        causes.push(Cause::invalid(&at, new["roleRef"].clone(), "cannot change roleRef"));
    }
}

fn check_subject(subject: &Value, at: &FieldPath, causes: &mut Vec<Cause>) {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let text = |name: &str| subject[name].as_str().unwrap_or_default();
    if text("name").is_empty() {
        causes.push(Cause::required(&at.child("name"), ""));
    }
    match text("kind") {
        "ServiceAccount" => {
            if !text("name").is_empty() {
                let wrong = names::dns_1123_subdomain(text("name"));
                causes.extend(
                    wrong.into_iter().map(|wrong| Cause::invalid(&at.child("name"), text("name"), wrong)),
                );
            }
            if !text("apiGroup").is_empty() {
                causes.push(Cause::not_supported(&at.child("apiGroup"), text("apiGroup"), &[""]));
            }
            if text("namespace").is_empty() {
                causes.push(Cause::required(&at.child("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if text("apiGroup") != GROUP {
                causes.push(Cause::not_supported(&at.child("apiGroup"), text("apiGroup"), &[GROUP]));
            }
        }
        other => {
            causes.push(Cause::not_supported(&at.child("kind"), other, &["ServiceAccount", "User", "Group"]));
        }
    }
}

fn lease(new: &Value, causes: &mut Vec<Cause>) {
    let spec = FieldPath::from("spec");
    if let Some(seconds) = new["spec"]["leaseDurationSeconds"].as_i64().filter(|seconds| *seconds <= 0) {
        causes.push(Cause::invalid(&spec.child("leaseDurationSeconds"), seconds, "must be greater than 0"));
    }
    if let Some(count) = new["spec"]["leaseTransitions"].as_i64().filter(|count| *count < 0) {
        let detail = "must be greater than or equal to 0";
        causes.push(Cause::invalid(&spec.child("leaseTransitions"), count, detail));
    }
    let text = |field: &str| new["spec"][field].as_str();
    if let Some(strategy) = text("strategy") {
        lease_strategy(strategy, &spec.child("strategy"), causes);
    }
    // An empty holder is nobody: so clients give a lease back.
    if text("preferredHolder").is_some_and(|holder| !holder.is_empty())
        && text("strategy").unwrap_or("").is_empty()
    {
        let detail = "may only be specified if `strategy` is defined";
        causes.push(Cause::forbidden(&spec.child("preferredHolder"), detail));
    }
}

/// How candidates for a lease are compared: a name that Kubernetes knows, or a qualified one of somebody else.
fn lease_strategy(strategy: &str, at: &FieldPath, causes: &mut Vec<Cause>) {
    const KNOWN: &str = "OldestEmulationVersion";
    if !strategy.contains('/') {
        if strategy != KNOWN {
            causes.push(Cause::not_supported(at, strategy, &[KNOWN]));
        }
        return;
    }
    for wrong in names::qualified_name(strategy) {
        causes.push(Cause::invalid(at, strategy, wrong));
    }
}
