//! Requests without a socket.

use lanai_apiserver::{Identity, Limits};
use serde_json::{Value, json};

use crate::world::{Answer, World};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

#[allow(clippy::needless_pass_by_value, reason = "literals are handed in")]
fn map(name: &str, labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}, "data": {"a": "b"}})
}

fn check(answer: &Answer, code: u16, reason: &str) {
    assert_eq!(
        (answer.code, answer.body["reason"].as_str().unwrap_or_default()),
        (code, reason),
        "{}",
        answer.text
    );
    if code >= 400 {
        assert_eq!(answer.body["kind"], "Status");
        assert_eq!(answer.body["code"], code);
    }
}

#[test]
fn an_object_lives() {
    let world = World::new();
    let made = world.send("POST", MAPS, &map("x", json!({"app": "a"})));
    check(&made, 201, "");
    let version = made.body["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    assert!(
        made.body["metadata"]["uid"].is_string() && made.body["metadata"]["creationTimestamp"].is_string()
    );
    check(&world.send("POST", MAPS, &map("x", json!({}))), 409, "AlreadyExists");
    assert_eq!(world.get(&format!("{MAPS}/x")).body, made.body);

    let mut changed = made.body.clone();
    changed["data"]["a"] = json!("c");
    let put = world.send("PUT", &format!("{MAPS}/x"), &changed);
    check(&put, 200, "");
    let lost = world.send("PUT", &format!("{MAPS}/x"), &changed);
    check(&lost, 409, "Conflict");
    assert!(lost.text.contains(&version), "both versions are named: {}", lost.text);
    let same = world.send("PUT", &format!("{MAPS}/x"), &put.body);
    assert_eq!(same.body["metadata"]["resourceVersion"], put.body["metadata"]["resourceVersion"]);

    let patch = |media: &str, body: Value| {
        world.send_as(&Identity::server("test"), "PATCH", &format!("{MAPS}/x"), media, &body.to_string())
    };
    let merged = patch("application/merge-patch+json", json!({"data": {"a": null, "d": "e"}}));
    assert_eq!(merged.body["data"], json!({"d": "e"}));
    let op = json!([{"op": "test", "path": "/data/d", "value": "e"}, {"op": "replace", "path": "/data/d", "value": "f"}]);
    assert_eq!(patch("application/json-patch+json", op.clone()).body["data"]["d"], "f");
    check(&patch("application/json-patch+json", op), 422, "Invalid");
    check(&patch("text/patch", json!({})), 415, "UnsupportedMediaType");

    let gone = world.send("DELETE", &format!("{MAPS}/x"), &Value::Null);
    assert_eq!((gone.code, gone.body["status"].as_str()), (200, Some("Success")));
    check(&world.get(&format!("{MAPS}/x")), 404, "NotFound");
}

#[test]
fn what_is_wrong_is_told() {
    let world = World::new();
    let cases: &[(&str, &str, Value, u16, &str)] = &[
        ("POST", MAPS, map("A", json!({})), 422, "Invalid"),
        ("POST", MAPS, map("a", json!({"a b": "c"})), 422, "Invalid"),
        (
            "POST",
            MAPS,
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}}),
            400,
            "BadRequest",
        ),
        (
            "POST",
            MAPS,
            json!({"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "a"}}),
            400,
            "BadRequest",
        ),
        ("POST", MAPS, json!([]), 400, "BadRequest"),
        ("POST", "/api/v1/namespaces/none/configmaps", map("a", json!({})), 404, "NotFound"),
        ("POST", "/api/v1/configmaps", map("a", json!({})), 405, "MethodNotAllowed"),
        ("GET", "/api/v1/nothings", json!(null), 404, "NotFound"),
        ("GET", "/apis/nobody.example/v1/things", json!(null), 404, "NotFound"),
        ("GET", "/api/v1/configmaps?labelSelector=a%20b", json!(null), 400, "BadRequest"),
        ("GET", "/api/v1/configmaps?fieldSelector=data.a%3Db", json!(null), 400, "BadRequest"),
        (
            "GET",
            "/api/v1/configmaps?resourceVersion=99999999&resourceVersionMatch=Exact",
            json!(null),
            504,
            "Timeout",
        ),
        ("GET", "/api/v1/configmaps?continue=xx", json!(null), 400, "BadRequest"),
        ("PUT", "/api/v1/namespaces/default/configmaps/b", map("a", json!({})), 400, "BadRequest"),
        ("PUT", "/api/v1/namespaces/default/configmaps/a", map("a", json!({})), 404, "NotFound"),
        ("DELETE", "/api/v1/namespaces/default/configmaps/a", json!(null), 404, "NotFound"),
        ("POST", "/api/v1/namespaces/default/configmaps?dryRun=Some", map("a", json!({})), 422, "Invalid"),
    ];
    for (method, path, body, code, reason) in cases {
        let answer = world.send(method, path, body);
        assert_eq!(
            (answer.code, answer.body["reason"].as_str()),
            (*code, Some(*reason)),
            "{method} {path}: {}",
            answer.text
        );
    }
}

#[test]
fn unknown_fields_are_dropped_told_or_refused() {
    let world = World::new();
    let mut object = map("a", json!({}));
    object["dta"] = json!({});
    let strict = world.send("POST", &format!("{MAPS}?fieldValidation=Strict"), &object);
    check(&strict, 400, "BadRequest");
    assert!(strict.text.contains("unknown field"), "{}", strict.text);
    let warned = world.send("POST", MAPS, &object);
    assert_eq!(warned.code, 201);
    assert!(warned.headers["warning"].to_str().unwrap().contains("dta"));
    assert_eq!(warned.body.get("dta"), None);
    object["metadata"]["name"] = json!("b");
    let ignored = world.send("POST", &format!("{MAPS}?fieldValidation=Ignore"), &object);
    assert_eq!((ignored.code, ignored.headers.get("warning")), (201, None));
}

#[test]
fn a_rehearsal_changes_nothing() {
    let world = World::new();
    let before = world.get(MAPS).body["metadata"]["resourceVersion"].clone();
    assert_eq!(world.send("POST", &format!("{MAPS}?dryRun=All"), &map("a", json!({}))).code, 201);
    assert_eq!(world.get(MAPS).body["metadata"]["resourceVersion"], before);
    world.send("POST", MAPS, &map("a", json!({})));
    let before = world.get(MAPS).text;
    assert_eq!(world.send("DELETE", &format!("{MAPS}/a?dryRun=All"), &Value::Null).code, 200);
    assert_eq!(world.send("DELETE", &format!("{MAPS}/a"), &json!({"dryRun": ["All"]})).code, 200);
    assert_eq!(world.send("DELETE", &format!("{MAPS}?dryRun=All"), &Value::Null).code, 200);
    let mut changed = map("a", json!({"new": "label"}));
    changed["metadata"]["finalizers"] = json!(["x.example/f"]);
    assert_eq!(world.send("PUT", &format!("{MAPS}/a?dryRun=All"), &changed).code, 200);
    let patch = |name: &str, media: &str, body: &Value| {
        let path = format!("{MAPS}/{name}?dryRun=All&fieldManager=t");
        let answer = world.send_as(&Identity::server("test"), "PATCH", &path, media, &body.to_string());
        assert!(answer.code < 300, "{media}: {}", answer.text);
        assert_eq!(answer.body["metadata"]["labels"]["new"], "label", "it is shown as it would be");
    };
    patch("a", "application/merge-patch+json", &json!({"metadata": {"labels": {"new": "label"}}}));
    patch("a", "application/strategic-merge-patch+json", &json!({"metadata": {"labels": {"new": "label"}}}));
    let operation = json!([{"op": "add", "path": "/metadata/labels", "value": {"new": "label"}}]);
    patch("a", "application/json-patch+json", &operation);
    patch("a", "application/apply-patch+yaml", &map("a", json!({"new": "label"})));
    patch("b", "application/apply-patch+yaml", &map("b", json!({"new": "label"})));
    assert_eq!(world.get(MAPS).text, before);
    let bad = world.send("POST", &format!("{MAPS}?dryRun=Some"), &map("c", json!({})));
    assert_eq!(bad.code, 422, "{}", bad.text);
}

#[test]
fn a_rehearsal_of_a_side_changes_nothing() {
    let world = World::new();
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "boats.sea.example"},
        "spec": {"group": "sea.example", "scope": "Namespaced", "names": {"plural": "boats", "kind": "Boat"},
                 "versions": [{"name": "v1", "served": true, "storage": true,
                               "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.sails", "statusReplicasPath": ".status.sails"}},
                               "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    assert_eq!(
        world.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition).code,
        201
    );
    let boats = "/apis/sea.example/v1/namespaces/default/boats";
    let boat = json!({"apiVersion": "sea.example/v1", "kind": "Boat", "metadata": {"name": "b"}, "spec": {"sails": 2}});
    let mut boat = world.send("POST", boats, &boat).body;
    let before = world.get(&format!("{boats}/b")).text;
    boat["status"] = json!({"sails": 2});
    let put = world.send("PUT", &format!("{boats}/b/status?dryRun=All"), &boat);
    assert_eq!((put.code, &put.body["status"]["sails"]), (200, &json!(2)), "{}", put.text);
    let scaled = world.send_as(
        &Identity::server("test"),
        "PATCH",
        &format!("{boats}/b/scale?dryRun=All"),
        "application/merge-patch+json",
        "{\"spec\": {\"replicas\": 7}}",
    );
    assert_eq!((scaled.code, &scaled.body["spec"]["replicas"]), (200, &json!(7)), "{}", scaled.text);
    assert_eq!(world.get(&format!("{boats}/b")).text, before);
}

#[test]
fn lists_come_in_pages_of_one_moment() {
    let world = World::new();
    for at in 0..5 {
        world.send(
            "POST",
            MAPS,
            &map(&format!("m{at}"), json!({"parity": if at % 2 == 0 { "even" } else { "odd" }})),
        );
    }
    let first = world.get(&format!("{MAPS}?limit=2")).body;
    world.send("DELETE", &format!("{MAPS}/m3"), &Value::Null);
    let names = |list: &Value| -> Vec<String> {
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    let mut all = names(&first);
    let mut page = first.clone();
    while let Some(token) = page["metadata"]["continue"].as_str() {
        page = world.get(&format!("{MAPS}?limit=2&continue={token}")).body;
        assert_eq!(page["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
        all.extend(names(&page));
    }
    assert_eq!(all.iter().filter(|name| name.starts_with('m')).count(), 5, "{all:?}");
    assert_eq!(names(&world.get(&format!("{MAPS}?labelSelector=parity%3Deven")).body), ["m0", "m2", "m4"]);
    assert_eq!(names(&world.get("/api/v1/configmaps?fieldSelector=metadata.name%3Dm1").body), ["m1"]);
    let version = first["metadata"]["resourceVersion"].as_str().unwrap();
    let old = world.get(&format!("{MAPS}?resourceVersion={version}&resourceVersionMatch=Exact")).body;
    assert!(names(&old).contains(&"m3".to_owned()));
}

#[test]
fn finalizers_hold_and_preconditions_protect() {
    let world = World::new();
    let mut object = map("f", json!({}));
    object["metadata"]["finalizers"] = json!(["x.example/hold"]);
    let made = world.send("POST", MAPS, &object).body;
    let path = format!("{MAPS}/f");
    check(&world.send("DELETE", &path, &json!({"preconditions": {"uid": "other"}})), 409, "Conflict");
    let waiting = world.send("DELETE", &path, &Value::Null);
    assert!(waiting.body["metadata"]["deletionTimestamp"].is_string(), "{}", waiting.text);
    let amend = |body: Value| {
        world.send_as(
            &Identity::server("test"),
            "PATCH",
            &path,
            "application/merge-patch+json",
            &body.to_string(),
        )
    };
    check(&amend(json!({"metadata": {"finalizers": ["x.example/hold", "x.example/more"]}})), 422, "Invalid");
    assert_eq!(amend(json!({"metadata": {"finalizers": null}})).code, 200);
    check(&world.get(&path), 404, "NotFound");
    let again = world.send("POST", MAPS, &object).body;
    assert_ne!(again["metadata"]["uid"], made["metadata"]["uid"]);
}

#[test]
fn tables_and_metadata_are_given_to_who_asks() {
    let world = World::new();
    world.send("POST", MAPS, &map("t", json!({})));
    let ask = |accept: &str, path: &str| {
        let request =
            http::Request::get(path).header("accept", accept).body(http_body_util::Full::default()).unwrap();
        world.request(&Identity::server("test"), request)
    };
    let table = ask("application/json;as=Table;v=v1;g=meta.k8s.io", MAPS).body;
    assert_eq!(
        (table["kind"].as_str(), table["rows"][0]["object"]["kind"].as_str()),
        (Some("Table"), Some("PartialObjectMetadata"))
    );
    let columns: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!((columns.first(), columns.last()), (Some(&"Name"), Some(&"Age")));
    let partial =
        ask("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", &format!("{MAPS}/t")).body;
    assert_eq!((partial["kind"].as_str(), partial.get("data")), (Some("PartialObjectMetadata"), None));
    let yaml = ask("application/yaml", &format!("{MAPS}/t"));
    assert!(yaml.text.contains("kind: ConfigMap\n"), "{}", yaml.text);
    assert_eq!(ask("text/html", MAPS).code, 406);
    let groups = ask("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", "/apis");
    assert_eq!(groups.body["kind"], "APIGroupDiscoveryList");
}

#[test]
fn bodies_have_a_largest_size() {
    let limits = Limits { max_body: lanai_types::ByteSize::bytes(8_000), ..Limits::DEFAULT };
    let world = World::with(limits);
    let sized = |bytes: usize| {
        let mut object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": ""}});
        let rest = bytes - object.to_string().len();
        object["data"]["a"] = json!("x".repeat(rest));
        object
    };
    assert_eq!(world.send("POST", MAPS, &sized(8_000)).code, 201);
    check(&world.send("POST", MAPS, &sized(8_001)), 413, "RequestEntityTooLarge");
}

#[test]
fn everybody_may_what_rules_say_and_nothing_else() {
    let world = World::new();
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}]});
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    assert_eq!(world.send("POST", &format!("{rbac}/roles"), &role).code, 201);
    let bind = |name: &str, kind: &str, role: &str, user: &str| {
        let subject = json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": user});
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": name},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role}, "subjects": [subject]})
    };
    assert_eq!(
        world.send("POST", &format!("{rbac}/rolebindings"), &bind("a", "Role", "reader", "reader")).code,
        201
    );
    assert_eq!(
        world.send("POST", &format!("{rbac}/rolebindings"), &bind("b", "ClusterRole", "edit", "editor")).code,
        201
    );
    assert_eq!(
        world.send("POST", &format!("{rbac}/rolebindings"), &bind("c", "ClusterRole", "admin", "owner")).code,
        201
    );
    let of = |user: &str| Identity::known(user, []);
    let asks: &[(&str, &str, Value)] = &[
        ("GET", "/api/v1/namespaces/default/configmaps", json!(null)),
        ("POST", MAPS, map("z", json!({}))),
        ("GET", "/api/v1/namespaces/default/secrets", json!(null)),
        ("GET", "/api/v1/configmaps", json!(null)),
        ("GET", "/api/v1/namespaces/kube-system/configmaps", json!(null)),
        ("GET", "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", json!(null)),
        ("POST", "/api/v1/namespaces", json!({"metadata": {"name": "n"}})),
        ("GET", "/apis", json!(null)),
        ("GET", "/metrics", json!(null)),
        ("GET", "/healthz", json!(null)),
    ];
    let table: &[(Identity, &str)] = &[
        (of("nobody"), "- - - - - - - y - y"),
        (of("reader"), "y - - - - - - y - y"),
        (of("editor"), "y y y - - - - y - y"),
        (of("owner"), "y - y - - y - y - y"),
        (Identity::anonymous(), "- - - - - - - - - y"),
        (Identity::server("test"), "y - y y y y y y y y"),
    ];
    for (identity, expected) in table {
        let seen: Vec<&str> = asks
            .iter()
            .map(|(method, path, body)| {
                let answer = world.send_as(identity, method, path, "application/json", &body.to_string());
                if answer.code < 300 { "y" } else { "-" }
            })
            .collect();
        // The second one to create the same object is told that it is there, which is no question of rights.
        assert_eq!(seen.join(" "), *expected, "{}", identity.user);
    }
    let grab = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "all"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
    let refused =
        world.send_as(&of("owner"), "POST", &format!("{rbac}/roles"), "application/json", &grab.to_string());
    check(&refused, 403, "Forbidden");
    let bound = bind("d", "ClusterRole", "cluster-admin", "owner");
    let refused = world.send_as(
        &of("owner"),
        "POST",
        &format!("{rbac}/rolebindings"),
        "application/json",
        &bound.to_string(),
    );
    check(&refused, 403, "Forbidden");
    assert_eq!(world.send("DELETE", &format!("{rbac}/rolebindings/a"), &Value::Null).code, 200);
    check(&world.send_as(&of("reader"), "GET", MAPS, "application/json", ""), 403, "Forbidden");
}

#[test]
fn a_watch_tells_all_that_happens() {
    let mut world = World::new();
    world.send("POST", MAPS, &map("w0", json!({"app": "a"})));
    let version = world.get(MAPS).body["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    world.send("POST", MAPS, &map("w1", json!({"app": "a"})));
    world.send("POST", MAPS, &map("w2", json!({"app": "b"})));
    let patch = json!({"metadata": {"labels": {"app": "b"}}}).to_string();
    world.send_as(
        &Identity::server("test"),
        "PATCH",
        &format!("{MAPS}/w1"),
        "application/merge-patch+json",
        &patch,
    );
    world.send("DELETE", &format!("{MAPS}/w0"), &Value::Null);
    let events = |query: &str| -> Vec<String> {
        let answer = world.get(&format!("{MAPS}?watch=1&timeoutSeconds=1&labelSelector=app%3Da{query}"));
        answer
            .text
            .lines()
            .map(|line| {
                let event: Value = serde_json::from_str(line).unwrap();
                let object = &event["object"];
                let what =
                    object["metadata"]["name"].as_str().or(object["reason"].as_str()).unwrap_or_default();
                format!("{} {what}", event["type"].as_str().unwrap())
            })
            .collect()
    };
    assert_eq!(events(&format!("&resourceVersion={version}")), ["ADDED w1", "DELETED w1", "DELETED w0"]);
    assert_eq!(events(""), Vec::<String>::new());
    let initial = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    assert_eq!(events(initial), ["BOOKMARK ", "BOOKMARK "]);
    world.end();
}

#[test]
fn nothing_secret_is_written_to_the_audit_log() {
    let world = World::new();
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": "hunter2-plain"}});
    assert_eq!(world.send("POST", "/api/v1/namespaces/default/secrets", &secret).code, 201);
    let bad = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "t"}, "data": {"password": "hunter2-plain"}});
    let refused = world.send("POST", "/api/v1/namespaces/default/secrets", &bad);
    assert!(refused.code == 400 && !refused.text.contains("hunter2"), "{}", refused.text);
    let log = std::fs::read_to_string(world.folder.path().join("audit.log")).unwrap();
    assert!(log.contains("\"resource\":\"secrets\"") && log.contains("\"code\":400"), "{log}");
    for file in std::fs::read_dir(world.folder.path()).unwrap() {
        let path = file.unwrap().path();
        let content = std::fs::read(&path).unwrap();
        for text in ["hunter2-plain", "aHVudGVyMi1wbGFpbg=="] {
            assert!(
                !content.windows(text.len()).any(|window| window == text.as_bytes()),
                "{text} in {}",
                path.display()
            );
        }
    }
}

#[test]
fn a_kind_that_users_define_is_served_at_once() {
    let world = World::new();
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["size"], "properties": {
        "size": {"type": "integer", "minimum": 1}, "colour": {"type": "string", "default": "blue"}}}}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.shop.example"},
        "spec": {"group": "shop.example", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
                 "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}});
    let made = world.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition);
    check(&made, 201, "");
    let widgets = "/apis/shop.example/v1/namespaces/default/widgets";
    let widget = |name: &str, size: Value| json!({"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"size": size, "weight": 3}});
    let made = world.send("POST", widgets, &widget("a", json!(2)));
    check(&made, 201, "");
    assert_eq!(
        made.body["spec"],
        json!({"size": 2, "colour": "blue"}),
        "defaults are filled in, the rest is pruned"
    );
    assert_eq!(made.body["metadata"]["generation"], 1);
    check(&world.send("POST", widgets, &widget("b", json!(0))), 422, "Invalid");
    check(&world.send("POST", widgets, &widget("c", json!("many"))), 422, "Invalid");
    assert_eq!(
        world
            .send(
                "DELETE",
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.shop.example",
                &Value::Null
            )
            .code,
        200
    );
    let gone = world.until(widgets, |answer| answer.code == 404);
    check(&gone, 404, "NotFound");
}

#[test]
fn some_kinds_are_made_by_put() {
    let world = World::new();
    let lease = |version: &str| {
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l", "resourceVersion": version},
               "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15}})
    };
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    check(&world.send("PUT", path, &lease("7")), 201, "");
    check(&world.send("PUT", path, &lease("")), 422, "Invalid");
    check(&world.send("PUT", path, &lease("7")), 409, "Conflict");
    let seen = world.get(path).body["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    check(&world.send("PUT", path, &lease(&seen)), 200, "");
    check(&world.send("PUT", &format!("{MAPS}/none"), &map("none", json!({}))), 404, "NotFound");
}

#[test]
fn fields_that_stand_there_twice_are_told_or_refused() {
    let world = World::new();
    let send = |query: &str| {
        let body = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"x-"},"data":{"a":"1","a":"2"}}"#;
        world.send_as(&Identity::server("test"), "POST", &format!("{MAPS}{query}"), "application/json", body)
    };
    let strict = send("?fieldValidation=Strict");
    check(&strict, 400, "BadRequest");
    assert!(strict.text.contains("duplicate field \\\"data.a\\\""), "{}", strict.text);
    let warned = send("");
    check(&warned, 201, "");
    assert!(warned.headers["warning"].to_str().unwrap().contains("duplicate field"), "{:?}", warned.headers);
    assert_eq!(warned.body["data"]["a"], "2");
}

#[test]
fn bodies_in_protobuf_that_are_wrong_are_refused() {
    let world = World::new();
    let send = |path: &str, body: &[u8]| {
        let request = http::Request::post(path).header("content-type", "application/vnd.kubernetes.protobuf");
        world.request(&Identity::server("test"), request.body(body.to_vec().into()).unwrap())
    };
    let envelope = |kind: &str| {
        let length = u8::try_from(kind.len()).unwrap();
        [b"k8s\0\n".as_slice(), &[6 + length], b"\n\x02v1\x12", &[length], kind.as_bytes()].concat()
    };
    check(&send(MAPS, b"{}"), 400, "BadRequest");
    check(&send(MAPS, b"k8s\0"), 400, "BadRequest");
    check(&send(MAPS, b"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), 400, "BadRequest");
    check(&send(MAPS, &envelope("Pod")), 400, "BadRequest");
    check(&send(MAPS, &envelope("Secret")), 400, "BadRequest");
    check(&send(MAPS, &envelope("ConfigMap")), 422, "Invalid");
    let repositories = "/apis/config.porch.kpt.dev/v1alpha1/namespaces/default/repositories";
    check(&send(repositories, &envelope("ConfigMap")), 415, "UnsupportedMediaType");
}
