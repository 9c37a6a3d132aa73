//! Fields of which a resource can have one: the result never has two.

use std::collections::BTreeMap;

use lanai_merge::{Error, Options, Policy, Resolution, Take, three_way};
use lanai_yaml::Document;

use crate::support::{check, lines, one, package, policy, text};

/// A pod with these lines below its container.
fn pod(container: &str) -> String {
    let body = indented(container, 4);
    format!("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: c\n{body}")
}

fn http(path: &str, delay: u8) -> String {
    pod(&format!(
        "livenessProbe:\n  httpGet:\n    path: {path}\n    port: 80\n  initialDelaySeconds: {delay}"
    ))
}

fn tcp(port: u8, delay: u8) -> String {
    pod(&format!("livenessProbe:\n  tcpSocket:\n    port: {port}\n  initialDelaySeconds: {delay}"))
}

const PROBE: &str = "spec.containers[name=c].livenessProbe";

#[test]
fn a_probe_asks_in_one_way() {
    let conflict = format!("BothChanged {PROBE} upstream");
    // Upstream asks another way, and the old way was changed here.
    check(&[http("/", 1), tcp(8, 1), http("/healthz", 2)], &tcp(8, 2), &[&conflict]);
    // The other way round.
    check(&[http("/", 1), http("/healthz", 2), tcp(8, 1)], &http("/healthz", 2), &[&conflict]);
    // Both ask other ways.
    let exec = pod("livenessProbe:\n  exec:\n    command:\n    - \"true\"\n  initialDelaySeconds: 1");
    check(&[http("/", 1), exec.clone(), tcp(8, 1)], &exec, &[&conflict]);
    // Nothing is in the way of a side that left the choice alone.
    check(&[http("/", 1), tcp(8, 1), http("/", 2)], &tcp(8, 2), &[]);
    check(&[http("/", 1), http("/", 2), tcp(8, 1)], &tcp(8, 2), &[]);
    // The same choice merges by fields.
    let more = http("/healthz", 1).replace("port: 80", "port: 81");
    check(&[http("/", 1), http("/healthz", 1), http("/", 1).replace("80", "81")], &more, &[]);
}

#[test]
fn the_local_choice_wins_where_it_is_to() {
    let merged = one("a.yaml", [&http("/", 1), &tcp(8, 5), &http("/healthz", 1)], &policy(Policy::LocalWins));
    assert_eq!(text(&merged.package, "a.yaml"), http("/healthz", 5));
    assert_eq!(lines(&merged.conflicts), [format!("BothChanged {PROBE} local")]);
    let conflict = &merged.conflicts[0];
    let shown = [&conflict.original, &conflict.upstream, &conflict.local].map(|text| text.clone().unwrap());
    let of = |path: &str| format!("httpGet:\n  path: {path}\n  port: 80");
    assert_eq!(shown, [of("/"), "tcpSocket:\n  port: 8".into(), of("/healthz")]);
}

#[test]
fn resolutions_decide_and_can_be_applied_again() {
    let sides = [http("/", 1), tcp(8, 1), http("/healthz", 2)];
    let [original, upstream, local] = [0, 1, 2].map(|at| package(&[("a.yaml", sides[at].as_str())]));
    let merged = three_way(&original, &upstream, &local, &Options::default()).unwrap();
    let id = merged.conflicts[0].id.clone();
    let with = |take: Take| Options {
        resolutions: vec![Resolution { conflict: id.clone(), take }],
        ..Options::default()
    };
    let grpc = pod("livenessProbe:\n  grpc:\n    port: 9\n  initialDelaySeconds: 2");
    for (take, expected) in [
        (Take::Upstream, tcp(8, 2)),
        (Take::Local, http("/healthz", 2)),
        (Take::Original, http("/", 2)),
        (Take::Value("grpc:\n  port: 9\n".into()), grpc),
    ] {
        let options = with(take);
        let once = three_way(&original, &upstream, &local, &options).unwrap().package;
        assert_eq!(text(&once, "a.yaml"), expected);
        let twice = three_way(&original, &upstream, &once, &options).unwrap().package;
        assert_eq!(text(&twice, "a.yaml"), expected);
    }
    for value in ["3", "other: 1", "grpc: {port: 9}\nother: 1", "{}"] {
        let refused = three_way(&original, &upstream, &local, &with(Take::Value(value.into())));
        assert!(matches!(refused, Err(Error::Unfit { .. })), "{value}");
    }
}

/// Both sides choose other members; the result has upstream's alone, and there is one conflict.
#[track_caller]
fn check_union(wrap: impl Fn(&str) -> String, members: [&str; 3], field: &str) {
    let [original, upstream, local] = members.map(&wrap);
    let conflict = format!("BothChanged {field} upstream");
    check(&[original, upstream.clone(), local], &upstream, &[&conflict]);
}

#[test]
fn other_fields_that_exclude_each_other() {
    let env = |member: &str| pod(&format!("env:\n- name: E\n{}", indented(member, 2)));
    let field = "spec.containers[name=c].env[name=E]";
    let from = "valueFrom:\n  fieldRef:\n    fieldPath: metadata.name";
    check_union(env, ["value: a", from, "value: b"], field);
    check_union(
        env,
        [
            from,
            "valueFrom:\n  secretKeyRef:\n    name: s\n    key: k",
            "valueFrom:\n  fieldRef:\n    fieldPath: x",
        ],
        &format!("{field}.valueFrom"),
    );
    let hook = |member: &str| pod(&format!("lifecycle:\n  preStop:\n{}", indented(member, 4)));
    check_union(
        hook,
        ["exec:\n  command:\n  - a", "sleep:\n  seconds: 3", "exec:\n  command:\n  - b"],
        "spec.containers[name=c].lifecycle.preStop",
    );
    let ingress = |member: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\nspec:\n  defaultBackend:\n{}",
            indented(member, 4)
        )
    };
    check_union(
        ingress,
        ["service:\n  name: a", "resource:\n  kind: A\n  name: a", "service:\n  name: b"],
        "spec.defaultBackend",
    );
    let disk = |member: &str| {
        format!(
            "apiVersion: v1\nkind: PersistentVolume\nmetadata:\n  name: a\nspec:\n  storageClassName: s\n{}",
            indented(member, 2)
        )
    };
    check_union(
        disk,
        ["hostPath:\n  path: /a", "nfs:\n  path: /a\n  server: s", "hostPath:\n  path: /b"],
        "spec",
    );
    let set = |member: &str| {
        format!(
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: a\nspec:\n  updateStrategy:\n{}",
            indented(member, 4)
        )
    };
    check_union(
        set,
        [
            "type: RollingUpdate\nrollingUpdate:\n  partition: 1",
            "type: OnDelete",
            "type: RollingUpdate\nrollingUpdate:\n  partition: 2",
        ],
        "spec.updateStrategy",
    );
    check_union(
        |member| pod(&format!("securityContext:\n  seccompProfile:\n{}", indented(member, 4))),
        [
            "type: Localhost\nlocalhostProfile: a",
            "type: RuntimeDefault",
            "type: Localhost\nlocalhostProfile: b",
        ],
        "spec.containers[name=c].securityContext.seccompProfile",
    );
    let volume = |member: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  volumes:\n  - name: v\n{}",
            indented(member, 4)
        )
    };
    check_union(
        volume,
        ["emptyDir: {}", "configMap:\n  name: a", "emptyDir:\n  medium: Memory"],
        "spec.volumes[name=v]",
    );
}

fn indented(text: &str, by: usize) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("{:by$}{line}\n", "")).collect();
    lines.concat()
}

#[test]
fn where_a_choice_was_added_on_both_sides_there_is_one() {
    let with = |probe: &str| pod(&format!("image: a\n{probe}"));
    let (one, other) =
        ("livenessProbe:\n  grpc:\n    port: 1", "livenessProbe:\n  exec:\n    command:\n    - a");
    check(&[with(""), with(one), with(other)], &with(one), &[&format!("BothChanged {PROBE} upstream")]);
}

/// A resource with these lines at a path of mappings.
pub fn at(api_and_kind: &str, path: &str, member: &str) -> String {
    let (api, kind) = api_and_kind.split_once(' ').unwrap();
    let mut text = format!("apiVersion: {api}\nkind: {kind}\nmetadata:\n  name: a\n");
    let mut depth = 0;
    for key in path.split('.') {
        let lines = match key.split_once("[name=") {
            Some((list, _)) => format!("{list}:\n- name: w"),
            None => format!("{key}:"),
        };
        text.push_str(&indented(&lines, depth));
        depth += 2;
    }
    text + &indented(member, depth)
}

/// A resource, a mapping in it, and three versions of fields of which the mapping can have one.
pub struct Choice {
    pub name: &'static str,
    pub kind: &'static str,
    pub path: &'static str,
    pub original: &'static str,
    /// The same field with another value.
    pub changed: &'static str,
    /// Another field.
    pub other: &'static str,
}

pub const CHOICES: &[Choice] = &[
    Choice {
        name: "sources of a variable",
        kind: "v1 Pod",
        path: "spec.containers[name=w].env[name=w].valueFrom",
        original: "fieldRef:\n  fieldPath: a",
        changed: "secretKeyRef:\n  key: a\n  name: b",
        other: "fileKeyRef:\n  key: a\n  path: p\n  volumeName: v",
    },
    Choice {
        name: "budget of disruptions",
        kind: "policy/v1 PodDisruptionBudget",
        path: "spec",
        original: "minAvailable: 1",
        changed: "minAvailable: 2",
        other: "maxUnavailable: 1",
    },
    Choice {
        name: "budget of disruptions of an older version",
        kind: "policy/v1beta1 PodDisruptionBudget",
        path: "spec",
        original: "minAvailable: 1",
        changed: "minAvailable: 2",
        other: "maxUnavailable: 1",
    },
    Choice {
        name: "client of a validating webhook",
        kind: "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
        path: "webhooks[name=w].clientConfig",
        original: "url: https://a",
        changed: "url: https://b",
        other: "service:\n  name: s\n  namespace: n",
    },
    Choice {
        name: "client of a mutating webhook",
        kind: "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration",
        path: "webhooks[name=w].clientConfig",
        original: "url: https://a",
        changed: "url: https://b",
        other: "service:\n  name: s\n  namespace: n",
    },
    Choice {
        name: "client of a conversion",
        kind: "apiextensions.k8s.io/v1 CustomResourceDefinition",
        path: "spec.conversion.webhook.clientConfig",
        original: "url: https://a",
        changed: "url: https://b",
        other: "service:\n  name: s\n  namespace: n",
    },
    Choice {
        name: "conversion of a custom resource",
        kind: "apiextensions.k8s.io/v1 CustomResourceDefinition",
        path: "spec.conversion",
        original: "strategy: Webhook\nwebhook:\n  conversionReviewVersions: [v1]",
        changed: "strategy: Webhook\nwebhook:\n  conversionReviewVersions: [v2]",
        other: "strategy: None",
    },
    Choice {
        name: "port behind an ingress",
        kind: "networking.k8s.io/v1 Ingress",
        path: "spec.defaultBackend.service.port",
        original: "number: 80",
        changed: "number: 81",
        other: "name: http",
    },
    Choice {
        name: "parameters of a class of ingresses",
        kind: "networking.k8s.io/v1 IngressClass",
        path: "spec.parameters",
        original: "scope: Namespace\nnamespace: a",
        changed: "scope: Namespace\nnamespace: b",
        other: "scope: Cluster",
    },
    Choice {
        name: "parameters of an admission policy",
        kind: "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding",
        path: "spec.paramRef",
        original: "name: a",
        changed: "name: b",
        other: "selector:\n  matchLabels:\n    a: b",
    },
    Choice {
        name: "session affinity",
        kind: "v1 Service",
        path: "spec",
        original: "sessionAffinity: ClientIP",
        changed: "sessionAffinity: ClientIP\nsessionAffinityConfig:\n  clientIP:\n    timeoutSeconds: 1",
        other: "sessionAffinity: None",
    },
    Choice {
        name: "source of a claim",
        kind: "v1 PersistentVolumeClaim",
        path: "spec",
        original: "volumeMode: Block",
        changed: "volumeMode: Block\ndataSourceRef:\n  kind: B\n  name: b",
        other: "volumeMode: Block\ndataSource:\n  kind: A\n  name: a",
    },
    Choice {
        name: "disks of fibre channels",
        kind: "v1 PersistentVolume",
        path: "spec.fc",
        original: "targetWWNs: [a]",
        changed: "targetWWNs: [b]",
        other: "wwids: [a]",
    },
    Choice {
        name: "disk of Flocker",
        kind: "v1 PersistentVolume",
        path: "spec.flocker",
        original: "datasetName: a",
        changed: "datasetName: b",
        other: "datasetUUID: a",
    },
    Choice {
        name: "level of priority",
        kind: "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration",
        path: "spec",
        original: "type: Limited\nlimited:\n  nominalConcurrencyShares: 1",
        changed: "type: Limited\nlimited:\n  nominalConcurrencyShares: 2",
        other: "type: Exempt\nexempt:\n  nominalConcurrencyShares: 1",
    },
    Choice {
        name: "response of a level of priority",
        kind: "flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration",
        path: "spec.limited.limitResponse",
        original: "type: Queue\nqueuing:\n  queues: 1",
        changed: "type: Queue\nqueuing:\n  queues: 2",
        other: "type: Reject",
    },
    Choice {
        name: "scheduling policy",
        kind: "scheduling.k8s.io/v1alpha2 PodGroup",
        path: "spec.schedulingPolicy",
        original: "gang:\n  minCount: 1",
        changed: "gang:\n  minCount: 2",
        other: "basic: {}",
    },
    Choice {
        name: "nodes of a slice of resources",
        kind: "resource.k8s.io/v1 ResourceSlice",
        path: "spec",
        original: "driver: d\nnodeName: a",
        changed: "driver: d\nnodeName: b",
        other: "driver: d\nallNodes: true",
    },
    Choice {
        name: "attached volume",
        kind: "storage.k8s.io/v1 VolumeAttachment",
        path: "spec.source",
        original: "persistentVolumeName: a",
        changed: "persistentVolumeName: b",
        other: "inlineVolumeSpec:\n  volumeMode: Block",
    },
    Choice {
        name: "subject of a review",
        kind: "authorization.k8s.io/v1 SubjectAccessReview",
        path: "spec",
        original: "user: u\nresourceAttributes:\n  verb: get",
        changed: "user: u\nresourceAttributes:\n  verb: list",
        other: "user: u\nnonResourceAttributes:\n  verb: get",
    },
    Choice {
        name: "selector of a review",
        kind: "authorization.k8s.io/v1 SubjectAccessReview",
        path: "spec.resourceAttributes.labelSelector",
        original: "rawSelector: a",
        changed: "rawSelector: b",
        other: "requirements:\n- key: a\n  operator: Exists",
    },
];

#[test]
fn nothing_that_the_api_server_refuses_comes_out() {
    for Choice { name, kind, path, original, changed, other } in CHOICES {
        let [original, changed, other] = [original, changed, other].map(|member| at(kind, path, member));
        for [upstream, local] in [[&changed, &other], [&other, &changed]] {
            for (policy, winner) in [(Policy::UpstreamWins, upstream), (Policy::LocalWins, local)] {
                let options = Options { policy, ..Options::default() };
                let merged = one("a.yaml", [&original, upstream, local], &options);
                let result = text(&merged.package, "a.yaml");
                assert_eq!(values(&result), values(winner), "{name}, {policy:?}");
                let ids: Vec<&str> = merged.conflicts.iter().map(|one| one.id.as_str()).collect();
                assert!(matches!(ids[..], [id] if id.ends_with("~variant")), "{name}: {ids:?}");
            }
        }
    }
}

/// What a document says, whatever the order of its keys is.
fn values(text: &str) -> BTreeMap<String, serde_json::Value> {
    Document::parse(text).unwrap().root().deserialize().unwrap()
}

/// As a container sees a volume: its list has another key.
#[test]
fn a_mount_has_one_path_inside() {
    let mount = |path: &str| pod(&format!("volumeMounts:\n- mountPath: /m\n  name: v\n  {path}"));
    check_union(
        mount,
        ["subPath: a", "subPathExpr: $(B)", "subPath: b"],
        "spec.containers[name=c].volumeMounts[mountPath=/m]",
    );
}

#[test]
fn of_two_that_were_added_one_comes() {
    let [original, upstream, local] =
        ["selector: {}", "selector: {}\nminAvailable: 1", "selector: {}\nmaxUnavailable: 1"]
            .map(|member| at("policy/v1 PodDisruptionBudget", "spec", member));
    check(&[original, upstream.clone(), local], &upstream, &["BothChanged spec upstream"]);
}
