//! What is in every new store: namespaces, and the roles that clients expect.

use lanai_apiserver::{ApiServer, Identity};
use serde_json::{Value, json};
use tower::{Service, ServiceExt};

/// The roles to which others are added by a label.
const AGGREGATED: [&str; 3] = ["admin", "edit", "view"];

/// Makes what is missing. What is there stays as it is, so that an administrator can change it.
///
/// # Errors
/// With the words of the server.
pub(crate) async fn run(server: &ApiServer) -> Result<(), String> {
    for namespace in ["default", "kube-system", "kube-public"] {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        create(server, "/api/v1/namespaces", object).await?;
    }
    let api = "rbac.authorization.k8s.io/v1";
    for (name, rules) in roles() {
        let metadata = json!({"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}});
        let mut object =
            json!({"apiVersion": api, "kind": "ClusterRole", "metadata": metadata, "rules": rules});
        if AGGREGATED.contains(&name) {
            // Whoever brings a kind says with this label who may use it.
            let label = format!("rbac.authorization.k8s.io/aggregate-to-{name}");
            object["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": {label: "true"}}]});
        }
        create(server, &format!("/apis/{api}/clusterroles"), object).await?;
    }
    for (name, group) in [
        ("cluster-admin", "system:masters"),
        ("system:basic-user", "system:authenticated"),
        ("system:discovery", "system:authenticated"),
    ] {
        let metadata = json!({"name": name, "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"}});
        let object = json!({
            "apiVersion": api, "kind": "ClusterRoleBinding", "metadata": metadata,
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
        });
        create(server, &format!("/apis/{api}/clusterrolebindings"), object).await?;
    }
    Ok(())
}

fn roles() -> Vec<(&'static str, Value)> {
    let read = json!(["get", "list", "watch"]);
    let write = json!(["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]);
    let rule = |groups: Value, resources: Value, verbs: &Value| json!({"apiGroups": groups, "resources": resources, "verbs": verbs});
    let ours = json!(["config.porch.kpt.dev", "porch.kpt.dev", "flyte.org"]);
    let plain = json!(["configmaps", "serviceaccounts", "events"]);
    let view = json!([
        rule(json!([""]), plain.clone(), &read),
        rule(json!([""]), json!(["namespaces"]), &read),
        rule(json!(["events.k8s.io"]), json!(["events"]), &read),
        rule(ours.clone(), json!(["*"]), &read),
    ]);
    let edit = json!([
        rule(json!([""]), plain, &write),
        rule(json!([""]), json!(["secrets"]), &write),
        rule(json!([""]), json!(["serviceaccounts/token"]), &json!(["create"])),
        rule(json!([""]), json!(["namespaces"]), &read),
        rule(json!(["events.k8s.io"]), json!(["events"]), &write),
        rule(json!(["coordination.k8s.io"]), json!(["leases"]), &write),
        rule(ours, json!(["*"]), &write),
    ]);
    let mut admin = edit.as_array().cloned().unwrap_or_default();
    admin.push(rule(json!(["rbac.authorization.k8s.io"]), json!(["roles", "rolebindings"]), &write));
    admin.push(rule(
        json!(["authorization.k8s.io"]),
        json!(["localsubjectaccessreviews"]),
        &json!(["create"]),
    ));
    vec![
        (
            "cluster-admin",
            json!([{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, {"nonResourceURLs": ["*"], "verbs": ["*"]}]),
        ),
        ("admin", Value::Array(admin)),
        ("edit", edit),
        ("view", view),
        (
            "system:basic-user",
            json!([
                rule(
                    json!(["authorization.k8s.io"]),
                    json!(["selfsubjectaccessreviews", "selfsubjectrulesreviews"]),
                    &json!(["create"])
                ),
                rule(json!(["authentication.k8s.io"]), json!(["selfsubjectreviews"]), &json!(["create"])),
            ]),
        ),
        (
            "system:discovery",
            json!([{"nonResourceURLs": ["/", "/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*",
                    "/openid/*", "/readyz", "/version", "/version/"], "verbs": ["get"]}]),
        ),
        (
            "system:auth-delegator",
            json!([
                rule(json!(["authentication.k8s.io"]), json!(["tokenreviews"]), &json!(["create"])),
                rule(json!(["authorization.k8s.io"]), json!(["subjectaccessreviews"]), &json!(["create"])),
            ]),
        ),
    ]
}

async fn create(server: &ApiServer, path: &str, object: Value) -> Result<(), String> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let request = http::Request::post(path)
        .header("content-type", "application/json")
        .header("user-agent", "lanai")
        .body(http_body_util::Full::from(object.to_string()))
        .map_err(|error| error.to_string())?;
    let mut service = server.acting_as(Identity::server("bootstrap"));
    let service = ServiceExt::<http::Request<http_body_util::Full<bytes::Bytes>>>::ready(&mut service)
        .await
        .map_err(|error| error.to_string())?;
    let response = service.call(request).await.map_err(|error| error.to_string())?;
    match response.status() {
        http::StatusCode::CREATED | http::StatusCode::CONFLICT => Ok(()),
        status => {
            let body = http_body_util::BodyExt::collect(response.into_body())
                .await
                .map_err(|error| error.to_string())?;
            let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
            Err(format!("\"{name}\" cannot be made at {path}: {status}: {text}"))
        }
    }
}
