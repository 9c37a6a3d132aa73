//! Clients that go away, and requests that take too long: before it is decided that something is done, nothing of it is left; after that, it is
//! finished.

use std::os::unix::fs::PermissionsExt;

use bytes::Bytes;
use http_body_util::Full;
use lanai_runner::function_config::{self, BinaryExecutor, FunctionConfig};
use lanai_runner::{Caller, Configured, Exec, ExecLimits, ExecMode, Native, NativeScope, Programs};

use super::*;
use crate::tls::Access;

const REVISIONS: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";
const FILES: &str = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisionresources";

/// A request over TLS that nobody waits for any more once this is aborted.
fn begin(shop: &Shop, method: &str, path: &str, body: &Value) -> tokio::task::JoinHandle<()> {
    let access = Access::read(&shop.world.kubeconfig());
    let media = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
    let request = http::Request::builder()
        .method(method)
        .uri(format!("https://{}{path}", access.address))
        .header("content-type", media)
        .body(Full::<Bytes>::from(body.to_string()))
        .unwrap();
    shop.world.runtime.spawn(async move {
        let (mut sender, _) = access.connect().await.unwrap();
        let answer = sender.send_request(request).await;
        assert!(answer.is_err(), "somebody answered: {answer:?}");
    })
}

fn go_away(shop: &Shop, request: tokio::task::JoinHandle<()>) {
    request.abort();
    let ended = shop.world.runtime.block_on(request);
    assert!(ended.is_err_and(|error| error.is_cancelled()), "it went away before it was answered");
}

/// Lets pushes to a repository wait: they say that they came, and go on when they may.
struct Held {
    folder: std::path::PathBuf,
}

impl Held {
    fn new(shop: &Shop, repository: &str) -> Self {
        let folder = shop.git.path().join(format!("{repository}.git"));
        let hook = folder.join("hooks/pre-receive");
        std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
        let at = folder.display();
        let text = format!("#!/bin/sh\ntouch '{at}/came'\nwhile [ ! -e '{at}/go' ]; do sleep 0.05; done\n");
        std::fs::write(&hook, text).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn came(&self) {
        eventually("the push has come", || self.folder.join("came").exists());
    }

    fn go(&self) {
        std::fs::write(self.folder.join("go"), "").unwrap();
    }
}

#[test]
fn a_publish_that_was_begun_is_finished_without_its_client() {
    let test = "serve::packages::going::a_publish_that_was_begun_is_finished_without_its_client";
    let Some(shop) = Shop::open(test) else { return };
    shop.register("blueprints", &json!({}));
    shop.create(&revision("blueprints", "web", "v1", &Value::Null)).unwrap();
    shop.lifecycle("blueprints.web.v1", "Proposed").unwrap();
    eventually("the branch follows", || {
        shop.refs("blueprints").contains(&"heads/proposed/web/v1".to_owned())
    });
    let held = Held::new(&shop, "blueprints");
    let path = format!("{REVISIONS}/blueprints.web.v1");
    let request =
        begin(&shop, "PATCH", &format!("{path}/approval"), &json!({"spec": {"lifecycle": "Published"}}));
    held.came();
    go_away(&shop, request);
    assert_eq!(shop.world.get(&path).body["spec"]["lifecycle"], "Proposed", "the remote decides");
    held.go();
    let done = shop.world.until(&path, |answer| answer.body["spec"]["lifecycle"] == "Published");
    assert_eq!(done.body["spec"]["revision"], 1, "{}", done.text);
    assert_eq!(shop.refs("blueprints"), ["heads/main", "tags/web/v1"]);
}

#[test]
fn a_draft_that_was_written_is_pushed_without_its_client() {
    let test = "serve::packages::going::a_draft_that_was_written_is_pushed_without_its_client";
    let Some(shop) = Shop::open(test) else { return };
    shop.register("blueprints", &json!({}));
    let patch = json!({"spec": {"git": {"draftPush": "sync"}}}).to_string();
    shop.ok(&["patch", "repository", "blueprints", "--type=merge", "-p", &patch]);
    let held = Held::new(&shop, "blueprints");
    let request = begin(&shop, "POST", REVISIONS, &revision("blueprints", "web", "v1", &Value::Null));
    held.came();
    go_away(&shop, request);
    held.go();
    eventually("the branch is there", || shop.refs("blueprints").contains(&"heads/drafts/web/v1".to_owned()));
    assert_eq!(shop.world.get(&format!("{REVISIONS}/blueprints.web.v1")).code, 200);
}

/// How many processes have a mark in their command lines.
fn processes(mark: &str) -> usize {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
    let lines = all.filter_map(|path| std::fs::read(path.join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).contains(mark)).count()
}

#[test]
fn time_that_is_over_stops_the_work() {
    let test = "serve::packages::going::time_that_is_over_stops_the_work";
    let folder = tempfile::tempdir().unwrap();
    let mark = format!("87{:06}", std::process::id() % 1_000_000);
    let program = folder.path().join("slow");
    std::fs::write(&program, format!("#!/bin/sh\nsleep {mark}; cat\n")).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let limits = Limits { request_time: Duration::from_secs(6), ..Limits::DEFAULT };
    let Some(shop) = Shop::with(test, limits, slow(folder.path())) else { return };
    shop.register("blueprints", &json!({}));
    shop.create(&revision("blueprints", "web", "v1", &Value::Null)).unwrap();
    let at = format!("{FILES}/blueprints.web.v1");
    let before = shop.world.get(&at);
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n    - image: slow:v1\n";
    let patch = json!({"spec": {"resources": {"Kptfile": kptfile}}}).to_string();
    let identity = lanai_apiserver::Identity::server("test");
    let late = shop.world.send_as(&identity, "PATCH", &at, "application/merge-patch+json", &patch);
    assert_eq!((late.code, late.body["reason"].as_str()), (504, Some("Timeout")), "{}", late.text);
    eventually("the program has ended", || processes(&mark) == 0);
    let after = shop.world.get(&at);
    let content =
        |answer: &crate::world::Answer| (answer.body["spec"].clone(), answer.body["status"].clone());
    assert_eq!((after.code, content(&after)), (200, content(&before)), "nothing changed");
    let metrics = shop.world.get("/metrics").text;
    assert!(metrics.contains("lanai_renders_running 0\n"), "{metrics}");
}

/// Runs the program `slow` of a folder as kpt would.
fn slow(folder: &std::path::Path) -> Configured {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let caller = Caller { environment: vec![("PATH".into(), path)], folder: folder.to_owned() };
    let exec = Exec { caller, mode: ExecMode::AsKpt, limits: ExecLimits::default() };
    let native = Native::new(lanai_runner::functions(), NativeScope::Catalog);
    let configured = Configured::new(native, Programs::Below(exec, folder.to_owned()));
    let object = FunctionConfig {
        name: "slow".to_owned(),
        image: "slow".to_owned(),
        binary: Some(BinaryExecutor { path: "slow".to_owned(), tags: vec!["v1".to_owned()] }),
        ..FunctionConfig::default()
    };
    configured
        .assign(function_config::FunctionConfigs::build([object], "ghcr.io/kptdev/krm-functions-catalog"));
    configured
}
