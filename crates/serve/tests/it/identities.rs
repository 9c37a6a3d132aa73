//! Who a request is from, however that is shown; and what is written down of it.

use lanai_apiserver::{Identity, Limits};
use lanai_serve::certificates::{Authority, Pair};
use lanai_serve::{DataDirectory, Options};
use serde_json::{Value, json};

use crate::listen::{exchange, exchange_as};
use crate::world::{Answer, World, options};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// Asks who one is; the code, and who.
fn who(world: &World, shown: Option<&Pair>, headers: &str) -> (u16, Value) {
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}).to_string();
    let length = body.len();
    let request = format!(
        "POST /apis/authentication.k8s.io/v1/selfsubjectreviews HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n{body}"
    );
    let answer = match shown {
        Some(pair) => exchange_as(world, Some(pair), &request),
        None => exchange(world, &request),
    };
    let code = answer.split(' ').nth(1).unwrap().parse().unwrap();
    let body: Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    (code, body["status"]["userInfo"].clone())
}

#[test]
fn a_front_proxy_vouches_for_users() {
    let folder = tempfile::tempdir().unwrap();
    let proxies =
        Authority::open(&DataDirectory::open(folder.path()).unwrap(), jiff::Timestamp::now()).unwrap();
    let pair = |name: &str| proxies.user(name, &[], jiff::Timestamp::now()).unwrap();
    let world = World::of(|data| Options {
        front_proxy_authority: Some(folder.path().join("ca.crt")),
        front_proxies: vec!["front-proxy".to_owned()],
        ..options(data, Limits::DEFAULT)
    });
    let ann = "X-Remote-User: ann\r\nX-Remote-Group: dev\r\nX-Remote-Group: ops\r\nX-Remote-Uid: 7\r\nX-Remote-Extra-Example.com%2Fscope: all\r\n";
    let (code, seen) = who(&world, Some(&pair("front-proxy")), ann);
    let expected = json!({"username": "ann", "uid": "7", "groups": ["dev", "ops", "system:authenticated"],
                          "extra": {"example.com/scope": ["all"]}});
    assert_eq!((code, seen), (201, expected));
    assert_eq!(who(&world, Some(&pair("front-proxy")), "").0, 401, "a proxy is nobody itself");
    assert_eq!(who(&world, Some(&pair("another")), ann).0, 401, "not every proxy is believed");
    assert_eq!(who(&world, None, ann).0, 401, "headers without a certificate are nothing");
    // A certificate of users is of a user, whatever the headers say.
    let users =
        Authority::open(&DataDirectory::open(world.folder.path()).unwrap(), jiff::Timestamp::now()).unwrap();
    let bob = users.user("bob", &["team"], jiff::Timestamp::now()).unwrap();
    let (code, seen) = who(&world, Some(&bob), ann);
    assert_eq!((code, seen), (201, json!({"username": "bob", "groups": ["team", "system:authenticated"]})));
}

#[test]
fn tokens_of_a_file_are_known_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tokens.csv");
    std::fs::write(&file, "first-token,ann,1,\"dev,ops\"\nsecond-token,bob,2\n").unwrap();
    let world =
        World::of(|data| Options { token_file: Some(file.clone()), ..options(data, Limits::DEFAULT) });
    let (code, seen) = who(&world, None, "Authorization: Bearer first-token\r\n");
    let expected = json!({"username": "ann", "uid": "1", "groups": ["dev", "ops", "system:authenticated"]});
    assert_eq!((code, seen), (201, expected));
    assert_eq!(who(&world, None, "Authorization: bearer second-token\r\n").1["username"], "bob");
    for bad in ["Bearer third-token", "Bearer first-token2", "Bearer ", "Basic first-token", "first-token"] {
        assert_eq!(who(&world, None, &format!("Authorization: {bad}\r\n")).0, 401, "{bad}");
    }
    assert_eq!(who(&world, None, "").0, 401);
}

/// A token of a service account is good while the account is the same.
#[test]
fn tokens_end_with_their_account() {
    let world = World::new();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    assert_eq!(world.send("POST", accounts, &account).code, 201);
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let made = world.send("POST", &format!("{accounts}/robot/token"), &request);
    let token = made.body["status"]["token"].as_str().unwrap().to_owned();
    let header = format!("Authorization: Bearer {token}\r\n");
    let (code, seen) = who(&world, None, &header);
    assert_eq!((code, &seen["username"]), (201, &json!("system:serviceaccount:default:robot")));
    let elsewhere = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"audiences": ["vault"]}});
    let made = world.send("POST", &format!("{accounts}/robot/token"), &elsewhere);
    let other = made.body["status"]["token"].as_str().unwrap();
    assert_eq!(who(&world, None, &format!("Authorization: Bearer {other}\r\n")).0, 401, "it is for others");
    assert_eq!(world.send("DELETE", &format!("{accounts}/robot"), &Value::Null).code, 200);
    assert_eq!(who(&world, None, &header).0, 401, "the account is gone");
    assert_eq!(world.send("POST", accounts, &account).code, 201);
    assert_eq!(who(&world, None, &header).0, 401, "it is another one");
}

fn acting(world: &World, method: &str, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
    let request =
        http::Request::builder().method(method).uri(path).header("content-type", "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    world.request(&Identity::known("boss", []), request.body(body.into()).unwrap())
}

/// Each part of another identity needs its own right.
#[test]
fn who_acts_as_somebody_may_be_all_that_they_say() {
    let world = World::new();
    let role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "act"}, "rules": [
        {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"], "resourceNames": ["ann"]},
        {"apiGroups": [""], "resources": ["groups"], "verbs": ["impersonate"], "resourceNames": ["dev"]},
        {"apiGroups": [""], "resources": ["serviceaccounts"], "verbs": ["impersonate"], "resourceNames": ["robot"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["uids"], "verbs": ["impersonate"], "resourceNames": ["7"]},
        {"apiGroups": ["authentication.k8s.io"], "resources": ["userextras/scope"], "verbs": ["impersonate"], "resourceNames": ["all"]}]});
    assert_eq!(world.send("POST", &format!("{RBAC}/clusterroles"), &role).code, 201);
    let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "act"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "act"},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "boss"}]});
    assert_eq!(world.send("POST", &format!("{RBAC}/clusterrolebindings"), &binding).code, 201);
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let seen = |headers: &[(&str, &str)]| {
        acting(&world, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", headers, &review)
    };
    let (user, group, uid, extra) = (
        ("impersonate-user", "ann"),
        ("impersonate-group", "dev"),
        ("impersonate-uid", "7"),
        ("impersonate-extra-scope", "all"),
    );
    let whole = seen(&[user, group, uid, extra]);
    assert_eq!(
        whole.body["status"]["userInfo"],
        json!({"username": "ann", "uid": "7", "groups": ["dev", "system:authenticated"], "extra": {"scope": ["all"]}})
    );
    let robot = seen(&[("impersonate-user", "system:serviceaccount:default:robot")]);
    assert_eq!(
        robot.body["status"]["userInfo"]["groups"],
        json!(["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"])
    );
    for refused in [
        &[("impersonate-user", "bob")][..],
        &[user, ("impersonate-group", "system:masters")],
        &[user, ("impersonate-uid", "8")],
        &[user, ("impersonate-extra-scope", "some")],
        &[user, ("impersonate-extra-other", "all")],
        &[("impersonate-user", "system:serviceaccount:default:other")],
    ] {
        assert_eq!(seen(refused).code, 403, "{refused:?}");
    }
    assert_eq!(seen(&[group]).code, 400, "a group of nobody");
    // Whoever is acted as has their own rights, and no others.
    assert_eq!(acting(&world, "GET", MAPS, &[user], &Value::Null).code, 403);
}

/// The lines of the audit log about one resource.
fn journal(world: &World, resource: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(world.folder.path().join("audit.log")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["resource"] == resource && line["user"] != "system:lanai:controllers").collect()
}

#[test]
fn each_write_is_written_down_with_who_what_and_how_it_ended() {
    let world = World::new();
    let map = |name: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    let generated = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "gen-"}});
    assert_eq!(world.send("POST", MAPS, &map("a")).code, 201);
    let made = world.send("POST", MAPS, &generated).body["metadata"]["name"].as_str().unwrap().to_owned();
    assert_eq!(world.send("POST", MAPS, &map("a")).code, 409);
    assert_eq!(world.send("DELETE", &format!("{MAPS}/a"), &json!({"dryRun": ["All"]})).code, 200);
    assert_eq!(world.send("DELETE", &format!("{MAPS}/a?dryRun=All"), &Value::Null).code, 200);
    assert_eq!(world.send("DELETE", &format!("{MAPS}/a"), &Value::Null).code, 200);
    assert_eq!(world.send("POST", MAPS, &map("Bad_Name")).code, 422);
    assert_eq!(acting(&world, "POST", MAPS, &[("impersonate-user", "ann")], &map("b")).code, 403);
    assert_eq!(world.get(MAPS).code, 200);
    let line = |user: &str, verb: &str, name: &str, code: u16| json!({"user": user, "verb": verb, "resource": "configmaps", "namespace": "default", "name": name, "code": code});
    let us = "system:lanai:test";
    let mut refused = line(us, "create", "a", 409);
    refused["reason"] = json!("AlreadyExists");
    let mut rehearsed = line(us, "delete", "a", 200);
    rehearsed["dryRun"] = json!(true);
    let mut invalid = line(us, "create", "Bad_Name", 422);
    invalid["reason"] = json!("Invalid");
    let nobody = json!({"user": "boss", "verb": "create", "resource": "configmaps", "namespace": "default", "code": 403,
                        "reason": "Forbidden"});
    let seen: Vec<Value> = journal(&world, "configmaps")
        .into_iter()
        .map(|mut line| {
            let fields = line.as_object_mut().unwrap();
            assert!(fields.remove("time").is_some_and(|time| time.is_string()));
            assert!(fields.remove("agent").is_some());
            line
        })
        .collect();
    assert_eq!(
        seen,
        [
            line(us, "create", "a", 201),
            line(us, "create", &made, 201),
            refused,
            rehearsed.clone(),
            rehearsed,
            line(us, "delete", "a", 200),
            invalid,
            nobody,
        ]
    );
    // Over a connection, it is also known from where; and for whom somebody else asked.
    let users =
        Authority::open(&DataDirectory::open(world.folder.path()).unwrap(), jiff::Timestamp::now()).unwrap();
    let root = users.user("root", &["system:masters"], jiff::Timestamp::now()).unwrap();
    let request = "DELETE /api/v1/namespaces/default/secrets/none HTTP/1.1\r\nhost: x\r\nuser-agent: tool/1.2 (x)\r\nimpersonate-user: ann\r\nconnection: close\r\n\r\n";
    assert!(exchange_as(&world, Some(&root), request).starts_with("HTTP/1.1 403"));
    let lines = journal(&world, "secrets");
    assert_eq!(lines.len(), 1, "{lines:?}");
    let said = |name: &str| lines[0][name].as_str().unwrap_or_default();
    assert_eq!((said("user"), said("impersonatedBy"), said("agent")), ("ann", "root", "tool"));
    assert!(said("source").starts_with("127.0.0.1:"), "{lines:?}");
}
