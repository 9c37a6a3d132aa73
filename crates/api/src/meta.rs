//! Checks of metadata, in the words of kube-apiserver.

use serde_json::Value;

use crate::cause::{Cause, FieldPath};
use crate::kind::{KindInfo, Scope};
use crate::names;

/// How many bytes the annotations of an object may have together, keys and values.
pub const MAX_ANNOTATIONS: usize = 256 << 10;
/// How many letters are added to `generateName`.
pub const SUFFIX_LENGTH: usize = 5;
/// The letters that are added to `generateName`: none that make words or look alike.
pub const SUFFIX_LETTERS: &str = "bcdfghjklmnpqrstvwxz2456789";
/// How long a generated name is at most.
const MAX_GENERATED: usize = 63;

/// A name of `generateName` and a suffix of [`SUFFIX_LENGTH`] letters; a base that is too long is cut.
pub fn generated_name(base: &str, suffix: &str) -> String {
    let mut end = base.len().min(MAX_GENERATED.saturating_sub(suffix.len()));
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}{suffix}", &base[..end])
}

/// What is wrong with the metadata of a new object.
pub fn validate_create(object: &Value, kind: &KindInfo) -> Vec<Cause> {
    let mut causes = Vec::new();
    let at = FieldPath::from("metadata");
    let metadata = &object["metadata"];
    let text = |name: &str| metadata[name].as_str().unwrap_or_default();
    let base = text("generateName");
    if !base.is_empty() {
        // The letters that follow make a fine end.
        let without_dash = format!("{}a", base.strip_suffix('-').unwrap_or(base));
        let wrong = name_problems(kind, if base.ends_with('-') { &without_dash } else { base });
        causes.extend(wrong.into_iter().map(|wrong| Cause::invalid(&at.child("generateName"), base, wrong)));
    }
    if text("name").is_empty() {
        causes.push(Cause::required(&at.child("name"), "name or generateName is required"));
    } else {
        let wrong = name_problems(kind, text("name"));
        causes.extend(wrong.into_iter().map(|wrong| Cause::invalid(&at.child("name"), text("name"), wrong)));
    }
    match kind.scope {
        Scope::Namespaced if text("namespace").is_empty() => {
            causes.push(Cause::required(&at.child("namespace"), ""));
        }
        Scope::Namespaced => {
            let wrong = names::dns_1123_label(text("namespace"));
            causes.extend(
                wrong
                    .into_iter()
                    .map(|wrong| Cause::invalid(&at.child("namespace"), text("namespace"), wrong)),
            );
        }
        Scope::Cluster if !text("namespace").is_empty() => {
            causes.push(Cause::forbidden(&at.child("namespace"), "not allowed on this type"));
        }
        Scope::Cluster => {}
    }
    common(metadata, &at, &mut causes);
    causes
}

/// What is wrong with the metadata of an object that replaces another.
pub fn validate_update(new: &Value, old: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let at = FieldPath::from("metadata");
    let (metadata, before) = (&new["metadata"], &old["metadata"]);
    let added: Vec<&Value> =
        list(metadata, "finalizers").iter().filter(|one| !list(before, "finalizers").contains(one)).collect();
    if !before["deletionTimestamp"].is_null() && !added.is_empty() {
        let names: Vec<String> = added.iter().map(ToString::to_string).collect();
        let detail = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
            names.join(", ")
        );
        causes.push(Cause::forbidden(&at.child("finalizers"), detail));
    }
    for field in
        ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"]
    {
        if metadata[field] != before[field] {
            causes.push(Cause::invalid(&at.child(field), metadata[field].clone(), "field is immutable"));
        }
    }
    common(metadata, &at, &mut causes);
    causes
}

fn list<'v>(metadata: &'v Value, name: &str) -> &'v [Value] {
    metadata[name].as_array().map_or(&[], Vec::as_slice)
}

fn name_problems(kind: &KindInfo, name: &str) -> Vec<String> {
    match (kind.group.as_str(), kind.names.kind.as_str()) {
        ("", "Namespace") => names::dns_1123_label(name),
        ("rbac.authorization.k8s.io", _) => names::path_segment(name),
        _ => names::dns_1123_subdomain(name),
    }
}

fn common(metadata: &Value, at: &FieldPath, causes: &mut Vec<Cause>) {
    let labels = at.child("labels");
    for (key, value) in metadata["labels"].as_object().into_iter().flatten() {
        causes.extend(
            names::qualified_name(key).into_iter().map(|wrong| Cause::invalid(&labels, key.as_str(), wrong)),
        );
        let value = value.as_str().unwrap_or_default();
        causes
            .extend(names::label_value(value).into_iter().map(|wrong| Cause::invalid(&labels, value, wrong)));
    }
    let annotations = at.child("annotations");
    let mut size = 0;
    for (key, value) in metadata["annotations"].as_object().into_iter().flatten() {
        let lower = key.to_lowercase();
        causes.extend(
            names::qualified_name(&lower)
                .into_iter()
                .map(|wrong| Cause::invalid(&annotations, key.as_str(), wrong)),
        );
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS {
        causes.push(Cause::too_long(&annotations, MAX_ANNOTATIONS));
    }
    owners(metadata, &at.child("ownerReferences"), causes);
    finalizers(metadata, &at.child("finalizers"), causes);
}

fn owners(metadata: &Value, at: &FieldPath, causes: &mut Vec<Cause>) {
    let mut controllers = Vec::new();
    for owner in list(metadata, "ownerReferences") {
        let text = |name: &str| owner[name].as_str().unwrap_or_default();
        let version = text("apiVersion").rsplit('/').next().unwrap_or_default();
        if version.is_empty() {
            causes.push(Cause::invalid(&at.child("apiVersion"), version, "version must not be empty"));
        }
        for name in ["kind", "name", "uid"] {
            if text(name).is_empty() {
                causes.push(Cause::invalid(&at.child(name), "", "must not be empty"));
            }
        }
        if owner["controller"] == true {
            controllers.push(format!("{}/{}", text("kind"), text("name")));
        }
    }
    if let [first, second, ..] = controllers.as_slice() {
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {second}"
        );
        causes.push(Cause::invalid(at, metadata["ownerReferences"].clone(), detail));
    }
}

fn finalizers(metadata: &Value, at: &FieldPath, causes: &mut Vec<Cause>) {
    let all = list(metadata, "finalizers");
    for (index, finalizer) in all.iter().enumerate() {
        let (at, finalizer) = (at.index(index), finalizer.as_str().unwrap_or_default());
        let wrong = names::qualified_name(finalizer);
        let is_standard = matches!(
            finalizer,
            "kubernetes" | "orphan" | "foregroundDeletion" | "customresourcecleanup.apiextensions.k8s.io"
        );
        if !finalizer.contains('/') && !is_standard && wrong.is_empty() {
            let detail = "name is neither a standard finalizer name nor is it fully qualified";
            causes.push(Cause::invalid(&at, finalizer, detail));
        }
        causes.extend(wrong.into_iter().map(|wrong| Cause::invalid(&at, finalizer, wrong)));
    }
    let has = |name: &str| all.iter().any(|one| one == name);
    if has("orphan") && has("foregroundDeletion") {
        let detail = "finalizers orphan and foregroundDeletion cannot be both set";
        causes.push(Cause::invalid(at, metadata["finalizers"].clone(), detail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "what is written by `json!` is given away")]
    fn check(metadata: Value, expected: &[&str]) {
        let kind = crate::kinds::find("", "ConfigMap").unwrap();
        let object = json!({"metadata": metadata});
        let said: Vec<String> = validate_create(&object, kind).iter().map(ToString::to_string).collect();
        assert_eq!(said.len(), expected.len(), "{said:?}");
        for (said, expected) in said.iter().zip(expected) {
            assert!(said.starts_with(expected), "{said}");
        }
    }

    #[test]
    fn metadata_is_checked() {
        check(json!({"name": "a", "namespace": "n"}), &[]);
        check(
            json!({"namespace": "n"}),
            &["metadata.name: Required value: name or generateName is required"],
        );
        check(
            json!({"name": "A", "namespace": "n"}),
            &[r#"metadata.name: Invalid value: "A": a lowercase RFC 1123 subdomain"#],
        );
        check(json!({"name": "a"}), &["metadata.namespace: Required value"]);
        check(
            json!({"name": "a", "namespace": "n", "labels": {"-x": "y", "ok": "a b"}}),
            &[
                r#"metadata.labels: Invalid value: "-x": name part must consist"#,
                r#"metadata.labels: Invalid value: "a b": a valid label"#,
            ],
        );
        check(
            json!({"name": "a", "namespace": "n", "finalizers": ["plain"]}),
            &[r#"metadata.finalizers[0]: Invalid value: "plain": name is neither a standard finalizer name"#],
        );
        check(
            json!({"name": "a", "namespace": "n", "ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": ""}]}),
            &[
                "metadata.ownerReferences.name: Invalid value: \"\": must not be empty",
                "metadata.ownerReferences.uid",
            ],
        );
    }

    #[test]
    fn annotations_have_a_limit() {
        let annotated = |bytes: usize| json!({"name": "a", "namespace": "n", "annotations": {"k": "x".repeat(bytes - 1)}});
        check(annotated(MAX_ANNOTATIONS), &[]);
        check(
            annotated(MAX_ANNOTATIONS + 1),
            &["metadata.annotations: Too long: may not be more than 262144 bytes"],
        );
    }

    #[test]
    fn generated_names_are_cut() {
        assert_eq!(generated_name("web-", "abcde"), "web-abcde");
        assert_eq!(generated_name(&"a".repeat(80), "abcde"), format!("{}abcde", "a".repeat(58)));
    }
}
