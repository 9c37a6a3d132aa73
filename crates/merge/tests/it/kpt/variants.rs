//! Cases of fields that exclude each other, and of lists whose keys kpt does not know.

use super::cases::{Case, Heads, Row, case, one, table};
use crate::unions::{CHOICES, Choice, at};

const EXCLUDE: Option<&str> = Some("fields that exclude each other, of which the sides have different ones");
const VARIANTS: Option<&str> = Some("volume, strategy or profile of which the sides have different variants");
const NEW_KEYS: Option<&str> = Some("lists that got keys after Kubernetes 1.21");

const PODS: &[Row] = &[
    (
        "another way to probe on both sides",
        "  containers:\n  - name: c\n    livenessProbe: {periodSeconds: 1}\n",
        "  containers:\n  - name: c\n    livenessProbe: {periodSeconds: 1, grpc: {port: 1}}\n",
        "  containers:\n  - name: c\n    livenessProbe: {periodSeconds: 1, exec: {command: [a]}}\n",
        EXCLUDE,
    ),
    (
        "another handler on both sides",
        "  containers:\n  - name: c\n    lifecycle: {preStop: {}}\n",
        "  containers:\n  - name: c\n    lifecycle: {preStop: {sleep: {seconds: 1}}}\n",
        "  containers:\n  - name: c\n    lifecycle: {preStop: {exec: {command: [a]}}}\n",
        EXCLUDE,
    ),
    (
        "text and source of a variable",
        "  containers:\n  - name: c\n    env:\n    - {name: A}\n",
        "  containers:\n  - name: c\n    env:\n    - {name: A, value: a}\n",
        "  containers:\n  - name: c\n    env:\n    - {name: A, valueFrom: {fieldRef: {fieldPath: p}}}\n",
        EXCLUDE,
    ),
    (
        "another path of a mount on both sides",
        "  containers:\n  - name: c\n    volumeMounts:\n    - {mountPath: /m, name: v}\n",
        "  containers:\n  - name: c\n    volumeMounts:\n    - {mountPath: /m, name: v, subPath: a}\n",
        "  containers:\n  - name: c\n    volumeMounts:\n    - {mountPath: /m, name: v, subPathExpr: b}\n",
        EXCLUDE,
    ),
    (
        "another profile of seccomp on both sides",
        "  securityContext: {seccompProfile: {type: RuntimeDefault}}\n",
        "  securityContext: {seccompProfile: {type: Unconfined}}\n",
        "  securityContext: {seccompProfile: {type: Localhost, localhostProfile: p}}\n",
        VARIANTS,
    ),
    (
        "another profile of AppArmor on both sides",
        "  securityContext: {appArmorProfile: {type: RuntimeDefault}}\n",
        "  securityContext: {appArmorProfile: {type: Unconfined}}\n",
        "  securityContext: {appArmorProfile: {type: Localhost, localhostProfile: p}}\n",
        VARIANTS,
    ),
    (
        "scheduling gates",
        "  schedulingGates: [{name: a}]\n",
        "  schedulingGates: [{name: a}, {name: b}]\n",
        "  schedulingGates: [{name: a}, {name: mine}]\n",
        NEW_KEYS,
    ),
    (
        "claims of resources",
        "  resourceClaims: [{name: a, resourceClaimName: a}]\n",
        "  resourceClaims: [{name: a, resourceClaimName: a}, {name: b, resourceClaimName: b}]\n",
        "  resourceClaims: [{name: a, resourceClaimName: a}, {name: mine, resourceClaimName: c}]\n",
        NEW_KEYS,
    ),
    (
        "claims of a container",
        "  containers:\n  - name: c\n    resources: {claims: [{name: a}]}\n",
        "  containers:\n  - name: c\n    resources: {claims: [{name: a}, {name: b}]}\n",
        "  containers:\n  - name: c\n    resources: {claims: [{name: a}, {name: mine}]}\n",
        NEW_KEYS,
    ),
];

const SETS: &[Row] = &[(
    "another way to update on both sides",
    "  updateStrategy: {type: RollingUpdate}\n",
    "  updateStrategy: {type: OnDelete}\n",
    "  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 2}}\n",
    VARIANTS,
)];

const WEBHOOKS: &[Row] = &[(
    "conditions of a webhook",
    "- name: w\n  matchConditions: [{name: a, expression: a}]\n",
    "- name: w\n  matchConditions: [{name: a, expression: a}, {name: b, expression: b}]\n",
    "- name: w\n  matchConditions: [{name: a, expression: a}, {name: mine, expression: c}]\n",
    NEW_KEYS,
)];

fn set(spec: &str) -> String {
    format!("apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: a\nspec:\n{spec}")
}

fn webhook(webhooks: &str) -> String {
    let api = "admissionregistration.k8s.io/v1";
    format!(
        "apiVersion: {api}\nkind: ValidatingWebhookConfiguration\nmetadata:\n  name: a\nwebhooks:\n{webhooks}"
    )
}

pub fn add(cases: &mut Vec<Case>) {
    table(PODS, "a.yaml", Heads::pod, cases);
    table(SETS, "a.yaml", set, cases);
    table(WEBHOOKS, "a.yaml", webhook, cases);
    for Choice { name, kind, path, original, changed, other } in CHOICES {
        let sides = [original, changed, other].map(|member| at(kind, path, member));
        cases.push(case(name, one("a.yaml", sides), EXCLUDE));
    }
}
