//! Clients that go away while a function runs for them.

use std::process::Stdio;

use serde_json::json;

use super::{SETTINGS, is_caged};
use crate::api::{FILES, Shop, config, eventually, function_runner, kptfile, processes};
use crate::demo::program;

/// A number of seconds that nobody else sleeps.
fn mark(number: u32) -> String {
    format!("86{:06}{number}", std::process::id() % 1_000_000)
}

/// Whoever goes away leaves no program behind, and a draft that is as it was; and the next one is not held up.
fn leaves_nothing(shop: &Shop, name: &str, image: &str, mark: &str) {
    let before = shop.files(name);
    let files = json!({"Kptfile": kptfile("web", &[image]), "cm.yaml": SETTINGS});
    let body = json!({"spec": {"resources": files}}).to_string();
    let sent = shop.client.begin("PATCH", &format!("{FILES}/{name}"), &body);
    eventually("the program runs", || processes(mark) > 0);
    drop(sent);
    eventually("the program has ended", || processes(mark) == 0);
    let after = shop.files(name);
    assert_eq!(after["spec"], before["spec"]);
    assert_eq!(after["status"], before["status"], "nothing is told of a render that nobody waited for");
    let next = shop.save(name, &json!({"other.yaml": SETTINGS.replace("settings", mark)}));
    assert_eq!(next.code, 200, "{}", next.body);
}

#[test]
fn a_client_that_goes_away_stops_what_runs_for_it() {
    if !is_caged("server_functions::clients::a_client_that_goes_away_stops_what_runs_for_it") {
        return;
    }
    let away = tempfile::Builder::new().prefix("lanai-away-").tempdir().unwrap();
    let (near, far) = (mark(1), mark(2));
    let runner = function_runner(away.path(), &[("far", "v1", &format!("sleep {far}; cat"))]);
    let shop = Shop::open(&["--function-runner", &runner.address]);
    shop.script("near", &format!("sleep {near}; cat"));
    shop.configure(&config("near", &json!({"binaryExecutor": {"path": "near", "tags": ["v1"]}})));
    let name = shop.package("default", "web");
    leaves_nothing(&shop, &name, "near:v1", &near);
    leaves_nothing(&shop, &name, "far:v1", &far);
    assert_eq!(shop.runs("configured", "/near:v1"), 1, "it was called off, and that is counted");
    assert_eq!(shop.runs("grpc", "/far:v1"), 1);
}

#[test]
fn kubectl_that_is_killed_stops_what_runs_for_it() {
    let test = "server_functions::clients::kubectl_that_is_killed_stops_what_runs_for_it";
    if !is_caged(test) {
        return;
    }
    if program("kubectl").args(["version", "--client"]).output().is_err() {
        lanai_testkit::skip(test, "there is no kubectl");
        return;
    }
    let near = mark(3);
    let shop = Shop::open(&[]);
    shop.script("near", &format!("sleep {near}; cat"));
    shop.configure(&config("near", &json!({"binaryExecutor": {"path": "near", "tags": ["v1"]}})));
    let name = shop.package("default", "web");
    let before = shop.files(&name);
    let files = json!({"Kptfile": kptfile("web", &["near:v1"]), "cm.yaml": SETTINGS});
    let patch = json!({"spec": {"resources": files}}).to_string();
    let mut kubectl = program("kubectl");
    kubectl.arg("--kubeconfig").arg(shop.home.path().join("data/kubeconfig"));
    kubectl.args(["patch", "packagerevisionresources", &name, "--type=merge", "-p", &patch]);
    kubectl.env("HOME", shop.home.path()).env_remove("KUBECONFIG");
    let mut kubectl = kubectl.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    eventually("the program runs", || processes(&near) > 0);
    kubectl.kill().unwrap();
    kubectl.wait().unwrap();
    eventually("the program has ended", || processes(&near) == 0);
    assert_eq!(shop.files(&name)["spec"], before["spec"]);
    assert_eq!(shop.save(&name, &json!({"cm.yaml": SETTINGS})).code, 200);
}
