//! What clients can learn about the server.

use lanai_api::kind::SubResource;
use lanai_api::{KindInfo, Verb, Version};
use serde_json::{Map, Value, json};

use crate::path::GroupVersion;
use crate::registry::{Registered, Registry};

/// How far up a version stands: a greater one is preferred. `v2` before `v1` before `v1beta1` before `v1alpha1`, and others last.
pub fn priority(version: &str) -> (u8, u32, u32) {
    let Some(rest) = version.strip_prefix('v') else { return (0, 0, 0) };
    for (stage, word) in [(2, "beta"), (1, "alpha")] {
        if let Some((major, minor)) = rest.split_once(word) {
            return match (major.parse(), minor.parse()) {
                (Ok(major), Ok(minor)) => (stage, major, minor),
                _ => (0, 0, 0),
            };
        }
    }
    rest.parse().map_or((0, 0, 0), |major| (3, major, 0))
}

/// `/api`.
pub fn core_versions(registry: &Registry) -> Value {
    let versions = registry.groups().remove("").unwrap_or_default();
    json!({"kind": "APIVersions", "versions": versions,
           "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]})
}

/// `/apis`.
pub fn groups(registry: &Registry) -> Value {
    let groups = registry.groups();
    let groups = groups.iter().filter(|(group, _)| !group.is_empty());
    let groups: Vec<Value> = groups.map(|(group, versions)| group_fields(group, versions).into()).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// `/apis/GROUP`.
pub fn group(registry: &Registry, name: &str) -> Option<Value> {
    let groups = registry.groups();
    let versions = groups.get(name).filter(|_| !name.is_empty())?;
    let mut fields = Map::new();
    fields.insert("kind".into(), json!("APIGroup"));
    fields.insert("apiVersion".into(), json!("v1"));
    fields.append(&mut group_fields(name, versions));
    Some(fields.into())
}

fn group_fields(group: &str, versions: &[String]) -> Map<String, Value> {
    let of = |version: &String| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let mut fields = Map::new();
    fields.insert("name".into(), json!(group));
    fields.insert("versions".into(), versions.iter().map(of).collect());
    fields.insert("preferredVersion".into(), versions.first().map(of).unwrap_or_default());
    fields
}

/// `/api/VERSION` and `/apis/GROUP/VERSION`.
pub fn resources(registry: &Registry, gv: &GroupVersion) -> Option<Value> {
    let mut resources = Vec::new();
    for kind in registry.of_version(gv) {
        let version = kind.served(&gv.version).expect("the registry gives kinds of this version only");
        resources.push(resource(&kind.info));
        resources.extend(version.sub_resources.iter().map(|sub| subresource(&kind.info, sub)));
    }
    if resources.is_empty() {
        return None;
    }
    Some(
        json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": gv.to_string(), "resources": resources}),
    )
}

fn resource(info: &KindInfo) -> Value {
    let names = &info.names;
    let mut fields = json!({
        "name": names.plural, "singularName": names.singular,
        "namespaced": info.scope == lanai_api::Scope::Namespaced, "kind": names.kind, "verbs": verbs(&info.verbs),
    });
    if !names.short_names.is_empty() {
        fields["shortNames"] = json!(names.short_names);
    }
    if !names.categories.is_empty() {
        fields["categories"] = json!(names.categories);
    }
    fields
}

fn subresource(info: &KindInfo, sub: &SubResource) -> Value {
    let mut fields = json!({
        "name": format!("{}/{}", info.names.plural, sub.name()), "singularName": "",
        "namespaced": info.scope == lanai_api::Scope::Namespaced,
    });
    let answer = answer(info, sub);
    if let Some((group, version)) = answer.gv {
        fields["group"] = json!(group);
        fields["version"] = json!(version);
    }
    fields["kind"] = json!(answer.kind);
    fields["verbs"] = verbs(&answer.verbs);
    fields
}

struct Answer<'a> {
    /// Where it is not that of the resource.
    gv: Option<(&'a str, &'a str)>,
    kind: &'a str,
    verbs: Vec<Verb>,
}

fn answer<'a>(info: &'a KindInfo, sub: &'a SubResource) -> Answer<'a> {
    let change = vec![Verb::Get, Verb::Patch, Verb::Update];
    match sub {
        SubResource::Status => Answer { gv: None, kind: &info.names.kind, verbs: change },
        SubResource::Scale(_) => Answer { gv: Some(("autoscaling", "v1")), kind: "Scale", verbs: change },
        SubResource::Action(action) => {
            let is_own = action.group == info.group && action.kind == info.names.kind;
            let gv = (!is_own).then_some((action.group.as_str(), action.version.as_str()));
            Answer { gv, kind: &action.kind, verbs: action.verbs.clone() }
        }
    }
}

fn verbs(verbs: &[Verb]) -> Value {
    verbs.iter().map(|verb| verb.as_str()).collect()
}

/// `/api` or `/apis` in one answer: all groups with their versions and resources.
pub fn aggregated(registry: &Registry, which: Which) -> Value {
    let groups = registry.groups();
    let groups = groups.iter().filter(|(group, _)| group.is_empty() == (which == Which::Core));
    let items: Vec<Value> =
        groups.map(|(group, versions)| aggregated_group(registry, group, versions)).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

/// Which groups are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The core group.
    Core,
    /// All others.
    Named,
}

fn aggregated_group(registry: &Registry, group: &str, versions: &[String]) -> Value {
    let of_version = |version: &String| {
        let gv = GroupVersion { group: group.to_owned(), version: version.clone() };
        let resources: Vec<Value> = registry
            .of_version(&gv)
            .filter_map(|kind| Some(aggregated_resource(kind, kind.served(version)?)))
            .collect();
        json!({"version": version, "resources": resources, "freshness": "Current"})
    };
    let versions: Vec<Value> = versions.iter().map(of_version).collect();
    let mut metadata = json!({"creationTimestamp": null});
    if !group.is_empty() {
        metadata["name"] = json!(group);
    }
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(kind: &Registered, version: &Version) -> Value {
    let info = &kind.info;
    let names = &info.names;
    let gvk =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut fields = json!({
        "resource": names.plural, "responseKind": gvk(&info.group, &version.name, &names.kind),
        "scope": if kind.is_namespaced() { "Namespaced" } else { "Cluster" },
        "singularResource": names.singular, "verbs": verbs(&info.verbs),
    });
    if !names.short_names.is_empty() {
        fields["shortNames"] = json!(names.short_names);
    }
    if !names.categories.is_empty() {
        fields["categories"] = json!(names.categories);
    }
    let subs: Vec<Value> = version
        .sub_resources
        .iter()
        .map(|sub| {
            let answer = answer(info, sub);
            let (group, of) = answer.gv.unwrap_or((&info.group, &version.name));
            json!({"subresource": sub.name(), "responseKind": gvk(group, of, answer.kind), "verbs": verbs(&answer.verbs)})
        })
        .collect();
    if !subs.is_empty() {
        fields["subresources"] = subs.into();
    }
    fields
}

/// `/version`.
pub fn version() -> Value {
    let text = env!("CARGO_PKG_VERSION");
    // Clients compare with their own version: these are the versions of Kubernetes whose behaviour is served.
    json!({"major": "1", "minor": "34", "gitVersion": format!("v1.34.0+lanai-{text}"), "gitCommit": "", "gitTreeState": "clean",
           "buildDate": "1970-01-01T00:00:00Z", "goVersion": "none", "compiler": "rustc", "platform": "linux/amd64"})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first() {
        let mut versions = ["v1alpha1", "v2", "v1beta2", "x", "v1", "v1beta10"];
        versions.sort_by_key(|version| std::cmp::Reverse(priority(version)));
        assert_eq!(versions, ["v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "x"]);
    }
}
