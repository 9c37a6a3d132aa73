//! One function per kind of manifest.

use super::page::Page;

const APPS: &[&str] = &[
    "checkout",
    "ledger",
    "mailer",
    "search",
    "session",
    "billing",
    "gateway",
    "catalogue",
    "thumbnails",
    "audit",
];
const TEAMS: &[&str] = &["payments", "platform", "storefront", "data", "identity"];
const REGISTRIES: &[&str] = &["registry.example.com", "images.example.org/prod", "ghcr.example.net/acme"];
const REMARKS: &[&str] = &[
    "keep in step with the load balancer",
    "raised after the spring sale",
    "see the runbook before changing this",
    "the default is too small: 64Mi, not 32Mi",
    "agreed with the network team # do not widen",
    "größer als nötig, aber sicher",
];

/// Writes one manifest. Deployments, Services and accounts come more often than the rest, as they do in packages.
pub(super) fn write_any(page: &mut Page, number: usize) {
    let app = format!("{}-{number}", page.pick(APPS));
    let write = page.pick(&[
        deployment,
        service,
        config_map,
        role,
        role_binding,
        definition,
        ingress,
        service_account,
        deployment,
        service,
        config_map,
        service_account,
        service_account,
    ]);
    if page.once_in(4) {
        let remark = page.pick(REMARKS);
        page.line(0, &format!("# {app}: {remark}"));
    }
    write(page, &app);
    if page.once_in(8) {
        page.blank();
        page.line(0, &format!("# end of {app}"));
    }
}

fn head(page: &mut Page, api: &str, kind: &str, app: &str) {
    let team = page.pick(TEAMS);
    page.line(0, &format!("apiVersion: {api}"));
    page.line(0, &format!("kind: {kind}"));
    page.line(0, "metadata:");
    page.line(2, &format!("name: {app}"));
    match page.below(4) {
        0 => page.line(2, &format!("labels: {{app: {app}, team: \"{team}\"}}")),
        1 => {
            page.line(2, "labels:");
            page.line(4, &format!("app.kubernetes.io/name: {app}"));
            page.line(4, &format!("team: '{team}' # who is called at night"));
        }
        2 => {
            page.line(2, &format!("namespace: {team}"));
            page.line(2, "annotations:");
            page.line(4, "# read by the deploy job");
            page.line(4, &format!("\"example.com/owner\": {team}@example.com"));
            page.line(4, "example.com/since: \"2024-02-29\"");
        }
        _ => page.line(2, &format!("namespace: {team}")),
    }
}

fn deployment(page: &mut Page, app: &str) {
    let registry = page.pick(REGISTRIES);
    let (minor, patch) = (page.below(30), page.below(10));
    let (replicas, memory) = (1 + page.below(8), page.pick(&["64Mi", "256Mi", "1Gi"]));
    head(page, "apps/v1", "Deployment", app);
    page.line(0, "spec:");
    let remark = page.pick(REMARKS);
    page.line(2, &format!("replicas: {replicas} # {remark}"));
    page.line(2, "selector:");
    page.line(4, &format!("matchLabels: {{app: {app}}}"));
    page.line(2, "template:");
    page.line(4, "metadata:");
    page.line(6, &format!("labels: {{app: {app}}}"));
    page.line(4, "spec:");
    page.line(6, "containers:");
    if page.once_in(2) {
        page.line(6, "# the one that serves");
    }
    let key = page.item(6, "name: app");
    page.line(key, &format!("image: {registry}/{app}:v1.{minor}.{patch}"));
    if page.once_in(3) {
        page.line(key, "args: [\"--listen\", ':8080', --verbose=2]");
    }
    page.line(key, "env:");
    let value = page.item(key, "name: LOG_LEVEL");
    let level = page.pick(&["info", "\"debug\"", "'warn'"]);
    page.line(value, &format!("value: {level}"));
    let value = page.item(key, "name: WORKERS");
    page.line(value, "value: \"4\" # a string, not a number");
    if page.once_in(3) {
        page.blank();
        page.line(key, "# measured, not guessed");
    }
    page.line(key, "resources:");
    page.line(key + 2, &format!("limits: {{memory: {memory}}}"));
    if page.once_in(4) {
        let key = page.item(6, "name: proxy");
        page.line(key, "image: \"registry.example.com/proxy@sha256:0f1e2d3c4b5a69788796a5b4c3d2e1f0\"");
        page.line(6, "# no third container, please");
    }
}

fn service(page: &mut Page, app: &str) {
    let port = 8000 + page.below(1000);
    head(page, "v1", "Service", app);
    page.line(0, "spec:");
    page.line(2, "selector:");
    page.line(4, &format!("app: {app}"));
    page.line(2, "ports:");
    let key = page.item(2, "name: http");
    page.line(key, "port: 80");
    page.line(key, &format!("targetPort: {port} # as in the container"));
    if page.once_in(3) {
        page.line(4, "# scraped every 15s");
        page.item(2, "{name: metrics, port: 9090, targetPort: \"metrics\"}");
    }
    if page.once_in(3) {
        page.line(2, "type: LoadBalancer");
    }
}

fn config_map(page: &mut Page, app: &str) {
    let (timeout, size) = (5 + page.below(55), page.below(4096));
    head(page, "v1", "ConfigMap", app);
    page.line(0, "data:");
    page.line(2, "server.properties: |");
    page.line(4, &format!("# {app}, read at start"));
    page.line(4, &format!("timeout.seconds={timeout}"));
    page.line(4, &format!("cache.size={size}"));
    page.blank();
    page.line(4, "greeting=\"hello: world\"");
    if page.once_in(2) {
        page.line(2, "motd: >-");
        page.line(4, "a long line that was folded");
        page.line(4, "because nobody scrolls sideways,");
        page.line(6, "with one line set in");
    }
    if page.once_in(3) {
        page.line(2, "run.sh: |-");
        page.line(4, "#!/bin/sh");
        page.line(4, "set -eu");
        page.line(4, "exec /app --config \"$1\"");
    }
    let flag = page.pick(&["\"true\"", "'off'", "\"1e3\"", "\"\"", "\"a\\tb\""]);
    page.line(2, &format!("flag: {flag} # quoted: the API takes strings only"));
}

fn role(page: &mut Page, app: &str) {
    head(page, "rbac.authorization.k8s.io/v1", "Role", app);
    page.line(0, "rules:");
    let key = page.item(0, "apiGroups: [\"\"]");
    page.line(key, "resources: [configmaps, secrets]");
    page.line(key, "verbs:");
    page.item(key, "get");
    page.item(key, "list # never watch");
    if page.once_in(2) {
        page.line(0, "# leases, for the election of a leader");
        let key = page.item(0, "apiGroups:");
        page.item(key, "coordination.k8s.io");
        page.line(key, "resources:");
        page.item(key, "'leases'");
        page.line(key, "verbs: [\"*\"]");
    }
}

fn role_binding(page: &mut Page, app: &str) {
    let team = page.pick(TEAMS);
    head(page, "rbac.authorization.k8s.io/v1", "RoleBinding", app);
    page.line(0, "roleRef:");
    page.line(2, "apiGroup: rbac.authorization.k8s.io");
    page.line(2, "kind: Role");
    page.line(2, &format!("name: {app}"));
    page.line(0, "subjects:");
    let key = page.item(0, "kind: ServiceAccount");
    page.line(key, &format!("name: {app}"));
    page.line(key, &format!("namespace: {team}"));
    if page.once_in(3) {
        page.item(0, "{kind: Group, name: \"oncall:primary\", apiGroup: rbac.authorization.k8s.io}");
    }
}

fn definition(page: &mut Page, app: &str) {
    let kind = page.pick(&["Tenant", "Bucket", "Quota"]);
    let plural = format!("{}s", kind.to_lowercase());
    head(page, "apiextensions.k8s.io/v1", "CustomResourceDefinition", &format!("{plural}.{app}.example.com"));
    page.line(0, "spec:");
    page.line(2, &format!("group: {app}.example.com"));
    page.line(2, &format!("names: {{kind: {kind}, plural: {plural}}}"));
    page.line(2, "scope: Namespaced");
    page.line(2, "versions:");
    let key = page.item(2, "name: v1alpha1");
    page.line(key, "served: true");
    page.line(key, "storage: true");
    page.line(key, "schema:");
    page.line(key + 2, "openAPIV3Schema:");
    page.line(key + 4, "type: object");
    page.line(key + 4, "properties:");
    page.line(key + 6, "spec:");
    page.line(key + 8, "type: object");
    page.line(key + 8, "description: >");
    page.line(key + 10, &format!("What the {kind} should be,"));
    page.line(key + 10, "not what it is.");
    page.line(key + 8, "required: [owner]");
    page.line(key + 8, "properties:");
    page.line(key + 10, "owner: {type: string, pattern: \"^[a-z][a-z0-9-]*$\"}");
    page.line(key + 10, "size: # in bytes");
    page.line(key + 12, "type: integer");
    page.line(key + 12, "minimum: 0");
}

fn ingress(page: &mut Page, app: &str) {
    head(page, "networking.k8s.io/v1", "Ingress", app);
    page.line(0, "spec:");
    if page.once_in(2) {
        page.line(2, "ingressClassName: nginx");
    }
    page.line(2, "rules:");
    page.line(2, "# one host per app");
    let key = page.item(2, &format!("host: \"{app}.example.com\""));
    page.line(key, "http:");
    page.line(key + 2, "paths:");
    let path = page.item(key + 2, "path: /");
    page.line(path, "pathType: Prefix");
    page.line(path, "backend:");
    page.line(path + 2, &format!("service: {{name: {app}, port: {{name: http}}}}"));
    if page.once_in(3) {
        page.blank();
        page.line(2, "tls:");
        page.item(2, &format!("hosts: ['{app}.example.com']"));
        page.line(2, "# the certificate is renewed by itself");
    }
}

fn service_account(page: &mut Page, app: &str) {
    head(page, "v1", "ServiceAccount", app);
    if page.once_in(2) {
        page.line(0, "automountServiceAccountToken: false # nobody here calls the API");
    }
    if page.once_in(3) {
        page.line(0, "imagePullSecrets:");
        page.item(0, "name: registry");
    }
}
