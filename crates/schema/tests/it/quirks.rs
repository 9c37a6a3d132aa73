//! What the server takes, and what it does not.

use lanai_krm::Resource;
use lanai_schema::{Limits, Schemas, UnknownFields};

#[test]
fn numbers_are_what_they_are_worth() {
    check("apps/v1", "Deployment", "spec.replicas", "2.0", "");
    check("apps/v1", "Deployment", "spec.replicas", "1e3", "");
    check("apps/v1", "Deployment", "spec.replicas", "0x10", "");
    check("apps/v1", "Deployment", "spec.replicas", "1.5", "got number, want null or integer");
    check("apps/v1", "Deployment", "spec.replicas", "'2'", "got string, want null or integer");
    check("apps/v1", "Deployment", "spec.replicas", "null", "");
    check("apps/v1", "Deployment", "spec.replicas", "2147483647", "");
    check("apps/v1", "Deployment", "spec.replicas", "2147483648", "maximum: got 2147483648, want 2147483647");
    check("v1", "Pod", "spec.activeDeadlineSeconds", "2147483648", "");
    check(
        "v1",
        "Pod",
        "spec.activeDeadlineSeconds",
        "9223372036854775808",
        "maximum: got 9223372036854775808, want 9223372036854775807",
    );
}

#[test]
fn words_that_other_readers_take_for_booleans_are_text() {
    check("v1", "ConfigMap", "data.a", "yes", "");
    check("v1", "ConfigMap", "data.a", "true", "got boolean, want null or string");
    check("v1", "ConfigMap", "data.a", "!!str true", "");
    check("v1", "ConfigMap", "data.a", "2026-01-31", "");
    check("v1", "ConfigMap", "immutable", "'true'", "got string, want null or boolean");
}

#[test]
fn quantities_are_numbers_or_text() {
    for right in ["1", "0.5", "500m", "'2'", "1Gi", "1e3", "null"] {
        check("v1", "ResourceQuota", "spec.hard.cpu", right, "");
    }
    check("v1", "ResourceQuota", "spec.hard.cpu", "true", "got boolean, want null or number or string");
    check(
        "v1",
        "ResourceQuota",
        "spec.hard.cpu",
        "2 cores",
        "'2 cores' is not valid quantity: a number such as 500m or 1.5Gi is expected",
    );
}

#[test]
fn objects_that_the_document_leaves_open_are_open() {
    check("v1", "ConfigMap", "metadata.managedFields", "[{fieldsV1: {f:a: {}}}]", "");
    check("v1", "ConfigMap", "metadata.managedFields", "[{fieldsV1: 3}]", "got number, want null or object");
}

/// Sets a field of a resource, and compares the only finding about it; none is the empty text.
fn check(api_version: &str, kind: &str, path: &str, value: &str, expected: &str) {
    let text = format!("apiVersion: {api_version}\nkind: {kind}\n");
    let mut resource = Resource::parse(&text).unwrap();
    let value = lanai_yaml::Content::parse(value).unwrap();
    resource.edit(|document| document.set(&path.parse().unwrap(), value)).unwrap();
    let limits = Limits::default();
    let schemas = Schemas::of(&[], &limits);
    let found = schemas.check(resource.root(), UnknownFields::Refused, &limits).findings;
    let about = found.iter().filter(|finding| finding.path.starts_with(path));
    let messages: Vec<&str> = about.map(|finding| finding.message.as_str()).collect();
    let expected: Vec<&str> = if expected.is_empty() { Vec::new() } else { vec![expected] };
    assert_eq!(messages, expected, "{resource}");
}
