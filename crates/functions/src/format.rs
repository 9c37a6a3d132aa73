//! `format`.

use lanai_krm::{Resource, ResourceList};
use lanai_yaml::{Kind, NodeMut, NodeRef, edit};

use crate::function::{Deviation, Doc, Failure, Function};
use crate::report::{self, About};

/// Brings the fields of resources into the usual order.
pub struct Format;

/// Turns formatting off for a resource, when it is `none`.
const FORMATTING: &str = "config.kubernetes.io/formatting";

impl Function for Format {
    fn name(&self) -> &'static str {
        "format"
    }

    fn tags(&self) -> &'static [&'static str] {
        &["v0.1", "v0.1.0"]
    }

    fn doc(&self) -> Doc {
        Doc {
            purpose: "Brings the fields of mappings into the usual order: well-known ones first (`apiVersion`, `kind`, `metadata`, `spec` …), others by name. \
                      Items of lists stay in their order; comments go with their fields. A resource with the annotation \
                      `config.kubernetes.io/formatting: none` is left alone.",
            config: &[],
            example: "",
            deviations: &[
                Deviation {
                    there: "strings such as `on` and `010` get quotes where a schema says that they are strings; indentation becomes uniform",
                    here: "quoting and indentation stay as they are; only a block that ends in blank lines and moves is written in quotes",
                    fixtures: &["quoting"],
                },
                Deviation {
                    there: "containers of workloads are sorted by name, and operations of webhooks",
                    here: "items of lists stay in their order: the first container is the one that tools choose",
                    fixtures: &["order", "webhooks"],
                },
                Deviation {
                    there: "a comment above all stays above all",
                    here: "it goes with the field below it",
                    fixtures: &["comments", "order"],
                },
                Deviation {
                    there: "a mapping whose alias would come before its anchor is broken",
                    here: "such a mapping keeps its order",
                    fixtures: &["anchors"],
                },
            ],
        }
    }

    fn run(&self, list: &mut ResourceList) -> Result<(), Failure> {
        let from = list.results.len();
        for item in &mut list.items {
            if item.annotation(FORMATTING).is_some_and(|value| value == "none") {
                continue;
            }
            if let Err(cause) = format(item) {
                let message = format!("the resource cannot be formatted: {cause}");
                list.results.push(report::error(message).about(item).in_file_of(item));
            }
        }
        Failure::if_reported(list, from)
    }
}

fn format(item: &mut Resource) -> Result<(), edit::Error> {
    item.edit(|document| document.edit_together(|document| sort(document.root_mut())))
}

fn sort(mut node: NodeMut<'_>) -> Result<(), edit::Error> {
    match node.read().kind() {
        Kind::Mapping => {
            match node.reorder(&order(node.read())) {
                Ok(()) | Err(edit::Error::AliasBeforeAnchor(_)) => {}
                Err(error) => return Err(error),
            }
            let is_collection = |value: NodeRef<'_>| matches!(value.kind(), Kind::Mapping | Kind::Sequence);
            let inner = node
                .read()
                .entries()
                .filter(|(key, value)| key.kind() == Kind::Scalar && is_collection(*value));
            let keys: Vec<String> = inner.map(|(key, _)| key.value().into_owned()).collect();
            keys.iter().try_for_each(|key| sort(node.reborrow().get_mut(key)?))
        }
        Kind::Sequence => (0..node.read().len()).try_for_each(|at| {
            let is_alias = node.read().at(at).is_none_or(|item| item.kind() == Kind::Alias);
            if is_alias { Ok(()) } else { sort(node.reborrow().at_mut(at)?) }
        }),
        Kind::Scalar | Kind::Alias => Ok(()),
    }
}

/// The entries of a mapping in the order that they should have.
fn order(mapping: NodeRef<'_>) -> Vec<usize> {
    let mut keys: Vec<(usize, String, usize)> = mapping
        .entries()
        .enumerate()
        .map(|(at, (key, _))| {
            let key = key.target().value().into_owned();
            (rank(&key), key, at)
        })
        .collect();
    keys.sort();
    keys.into_iter().map(|(_, _, at)| at).collect()
}

/// The place of a key: by its last occurrence in the list, unknown ones behind all.
fn rank(key: &str) -> usize {
    if key == "<<" {
        return 0;
    }
    RANKED.iter().rposition(|known| *known == key).map_or(usize::MAX, |at| at + 1)
}

#[rustfmt::skip]
const RANKED: &[&str] = &[
    "name", "generateName", "namespace", "clusterName", "apiVersion", "kind", "metadata", "type", "labels", "annotations",
    "spec", "status", "stringData", "data", "binaryData", "parallelism", "completions", "activeDeadlineSeconds",
    "backoffLimit", "replicas", "selector", "manualSelector", "template", "ttlSecondsAfterFinished",
    "volumeClaimTemplates", "service", "serviceName", "podManagementPolicy", "updateStrategy", "strategy",
    "minReadySeconds", "revision", "revisionHistoryLimit", "paused", "progressDeadlineSeconds", "restartPolicy",
    "terminationGracePeriodSeconds", "activeDeadlineSeconds", "dnsPolicy", "serviceAccountName", "serviceAccount",
    "automountServiceAccountToken", "nodeName", "hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostname",
    "subdomain", "schedulerName", "priorityClassName", "priority", "runtimeClassName", "enableServiceLinks",
    "nodeSelector", "hostAliases", "initContainers", "containers", "volumes", "securityContext", "imagePullSecrets",
    "affinity", "tolerations", "dnsConfig", "readinessGates", "image", "command", "args", "workingDir", "ports",
    "envFrom", "env", "resources", "volumeMounts", "volumeDevices", "livenessProbe", "readinessProbe", "lifecycle",
    "terminationMessagePath", "terminationMessagePolicy", "imagePullPolicy", "securityContext", "stdin", "stdinOnce",
    "tty", "clusterIP", "externalIPs", "loadBalancerIP", "loadBalancerSourceRanges", "externalName",
    "externalTrafficPolicy", "sessionAffinity", "protocol", "port", "targetPort", "hostPort", "containerPort", "hostIP",
    "readOnly", "mountPath", "subPath", "subPathExpr", "mountPropagation", "value", "valueFrom", "fieldRef",
    "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "prefix", "configMapRef", "secretRef",
];
