//! What is said of leases.

use lanai_api::kinds;
use serde_json::{Value, json};

fn check(spec: &Value, expected: &[&str]) {
    let kind = kinds::find("coordination.k8s.io", "Lease").expect("the kind is there");
    let lease = json!({"metadata": {"name": "a", "namespace": "b"}, "spec": spec});
    let found: Vec<_> =
        lanai_api::core::validate(kind, &lease, None).iter().map(ToString::to_string).collect();
    assert_eq!(found, expected, "{spec}");
}

#[test]
fn leases_are_taken_and_refused_as_kube_apiserver_does() {
    check(&json!({}), &[]);
    check(&json!({"holderIdentity": "me", "leaseDurationSeconds": 1, "leaseTransitions": 0}), &[]);
    // So client-go gives a lease back.
    check(&json!({"holderIdentity": "", "leaseDurationSeconds": 1}), &[]);
    let message = "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0";
    check(&json!({"leaseDurationSeconds": 0}), &[message]);
    let message = "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0";
    check(&json!({"leaseTransitions": -1}), &[message]);
    check(&json!({"strategy": "OldestEmulationVersion", "preferredHolder": "you"}), &[]);
    check(&json!({"strategy": "example.com/mine"}), &[]);
    let message = "spec.strategy: Unsupported value: \"Mine\": supported values: \"OldestEmulationVersion\"";
    check(&json!({"strategy": "Mine"}), &[message]);
    let message = "spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined";
    check(&json!({"preferredHolder": "you"}), &[message]);
    check(&json!({"preferredHolder": ""}), &[]);
}
