//! Roles and bindings.

use lanai_api::{Cause, FieldPath};
use serde_json::Value;

const API: &str = "rbac.authorization.k8s.io";

/// Whether rules may be about paths that are no resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urls {
    Taken,
    Refused,
}

pub(super) fn validate_name(field: &FieldPath, name: &str) -> Vec<Cause> {
    let why = match name {
        "." | ".." => format!("may not be '{name}'"),
        _ if name.contains('/') => "may not contain '/'".into(),
        _ if name.contains('%') => "may not contain '%'".into(),
        _ => return Vec::new(),
    };
    vec![Cause::invalid(field, name, why)]
}

pub(super) fn validate_role(role: &Value, urls: Urls) -> Vec<Cause> {
    let mut causes = Vec::new();
    for (at, rule) in role["rules"].as_array().into_iter().flatten().enumerate() {
        let field = FieldPath::from("rules").index(at);
        let is_empty = |name: &str| rule[name].as_array().is_none_or(Vec::is_empty);
        if is_empty("verbs") {
            causes.push(Cause::required(&field.child("verbs"), "verbs must contain at least one value"));
        }
        if !is_empty("nonResourceURLs") {
            let field = field.child("nonResourceURLs");
            if urls == Urls::Refused {
                let why = "namespaced rules cannot apply to non-resource URLs";
                causes.push(Cause::invalid(&field, rule["nonResourceURLs"].clone(), why));
            }
            if !is_empty("apiGroups") || !is_empty("resources") || !is_empty("resourceNames") {
                let why = "rules cannot apply to both regular resources and non-resource URLs";
                causes.push(Cause::invalid(&field, rule["nonResourceURLs"].clone(), why));
            }
            continue;
        }
        if is_empty("apiGroups") {
            let why = "resource rules must supply at least one api group";
            causes.push(Cause::required(&field.child("apiGroups"), why));
        }
        if is_empty("resources") {
            let why = "resource rules must supply at least one resource";
            causes.push(Cause::required(&field.child("resources"), why));
        }
    }
    causes
}

pub(super) fn validate_binding(new: &Value, old: Option<&Value>) -> Vec<Cause> {
    let mut causes = Vec::new();
    let role = FieldPath::from("roleRef");
    if let Some(old) = old.filter(|old| old["roleRef"] != new["roleRef"]) {
        let _ = old;
        causes.push(Cause::invalid(&role, new["roleRef"].clone(), "cannot change roleRef"));
    }
    if new["roleRef"]["apiGroup"].as_str().is_some_and(|group| group != API) {
        causes.push(Cause::not_supported(
            &role.child("apiGroup"),
            new["roleRef"]["apiGroup"].clone(),
            &[API],
        ));
    }
    let kinds: &[&str] =
        if new["kind"] == "ClusterRoleBinding" { &["ClusterRole"] } else { &["Role", "ClusterRole"] };
    if !kinds.iter().any(|kind| new["roleRef"]["kind"] == *kind) {
        causes.push(Cause::not_supported(&role.child("kind"), new["roleRef"]["kind"].clone(), kinds));
    }
    if new["roleRef"]["name"].as_str().unwrap_or_default().is_empty() {
        causes.push(Cause::required(&role.child("name"), ""));
    }
    for (at, subject) in new["subjects"].as_array().into_iter().flatten().enumerate() {
        let field = FieldPath::from("subjects").index(at);
        if subject["name"].as_str().unwrap_or_default().is_empty() {
            causes.push(Cause::required(&field.child("name"), ""));
        }
        match subject["kind"].as_str().unwrap_or_default() {
            "ServiceAccount" if subject["namespace"].as_str().unwrap_or_default().is_empty() => {
                causes.push(Cause::required(&field.child("namespace"), ""));
            }
            "ServiceAccount" | "User" | "Group" => {}
            other => {
                causes.push(Cause::not_supported(
                    &field.child("kind"),
                    other,
                    &["ServiceAccount", "User", "Group"],
                ));
            }
        }
    }
    causes
}
