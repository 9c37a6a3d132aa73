//! Configurations and resources of every wrong shape: an answer comes, without a panic.

use lanai_functions::{catalog, run_on_wire};
use lanai_krm::ResourceList;

/// What may stand where something else is expected.
const VALUES: &[&str] =
    &["", "null", "x", "7", "\"\"", "[]", "[a, [b], {c: d}]", "{}", "{a: {b: c}, d: [e]}", "&a {b: 1}"];

/// The keys that configurations have.
const KEYS: &[&str] = &[
    "data",
    "namespace",
    "labels",
    "annotations",
    "image",
    "replacements",
    "substring",
    "metadata",
    "additionalImageFields",
    "additionalAnnotationFields",
    "additionalNameFields",
    "fieldSpecs",
    "spec",
    "items",
];

const RESOURCES: &str = "\
- {}
- apiVersion: v1
- kind: [a]
  apiVersion: {b: c}
  metadata: text
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: [x], annotations: [y], labels: z}
  spec: [1]
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: x, annotations: {config.kubernetes.io/depends-on: 7}}
  spec: {template: {spec: {containers: {image: 1}, initContainers: [1, {image: [x]}]}}, selector: 1}
- apiVersion: kpt.dev/v1
  kind: Kptfile
  metadata: {name: k, annotations: {internal.config.kubernetes.io/path: Kptfile}}
  pipeline: {mutators: [1, {image: apply-setters, configMap: [1]}, {image: 'apply-setters:v0.2', configPath: [x]}]}
- apiVersion: rbac.authorization.k8s.io/v1
  kind: RoleBinding
  metadata: &m {name: r}
  subjects: [1, {namespace: []}, *m]
  roleRef: *m
";

fn check(name: &str, config: &str) {
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig:\n{config}items:\n{RESOURCES}"
    );
    let answer = run_on_wire(name, &list);
    if answer.exit_code != 0 && !answer.stdout.is_empty() {
        let list = ResourceList::parse(&answer.stdout).unwrap();
        assert!(!list.results.is_empty(), "{name} fails without a word on {config}");
    }
}

#[test]
fn strange_configurations() {
    let types = ["apiVersion: v1\n  kind: ConfigMap", "apiVersion: fn.kpt.dev/v1alpha1\n  kind: X"];
    for function in catalog() {
        let kind =
            Some(function.doc().example).and_then(|example| example.split("kind: ").nth(1)?.lines().next());
        for head in types {
            let head = head.replace("kind: X", &format!("kind: {}", kind.unwrap_or("X")));
            for key in KEYS {
                for value in VALUES {
                    check(function.name(), &format!("  {head}\n  {key}: {value}\n"));
                }
            }
            for value in VALUES {
                for key in [
                    "prepend",
                    "by-path",
                    "by-value-regex",
                    "name",
                    "annotationKeys",
                    "enforcementAction",
                    "a",
                ] {
                    check(
                        function.name(),
                        &format!("  {head}\n  data:\n    {key}: {value}\n    put-value: ${{1}}\n"),
                    );
                }
            }
        }
    }
}
