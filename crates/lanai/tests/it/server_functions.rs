//! Functions that the server runs: in which order evaluators are asked, what a namespace may say, what is told of failures, and what runs once.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail tests")]

mod clients;
mod containers;
mod modules;
mod runner;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use lanai_runner::Policy;
use lanai_testkit::skip;
use serde_json::{Value, json};

use crate::api::{CONFIGS, FILES, REVISIONS, Shop, config, eventually, function_runner, kptfile, revision};
use crate::hostile::den::Den;

const SETTINGS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  size: \"2\"\n";

/// Whether a whole cage can be made on this machine; without one, the server runs no program.
fn is_caged(test: &str) -> bool {
    let den = Den::with_policy(Policy::Strict, "cat");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(den.run()) {
        Err(lanai_evaluate::Error::Refused(why)) => {
            skip(test, &format!("no whole cage can be made here: {why}"));
            false
        }
        done => {
            done.unwrap();
            true
        }
    }
}

/// A program that says who it is in what it gets.
fn marks(word: &str) -> String {
    format!("sed 's/size: \\(.*\\)/size: \\1\\n    by: {word}/'")
}

fn by(text: &str) -> &str {
    text.split_once("by: ").map_or("", |(_, rest)| rest.split(['\n', '\\']).next().unwrap_or_default())
}

#[test]
fn the_chain_is_asked_in_its_order_and_follows_the_objects() {
    if !is_caged("server_functions::the_chain_is_asked_in_its_order_and_follows_the_objects") {
        return;
    }
    let away = tempfile::Builder::new().prefix("lanai-away-").tempdir().unwrap();
    let larger = "sed 's/size: \"2\"/size: \"3\"/'";
    let fails = "echo 'no such luck' >&2; exit 3";
    let runner = function_runner(
        away.path(),
        &[("stamp", "v1", &marks("grpc")), ("far", "v1", larger), ("bad", "v1", fails)],
    );
    let shop = Shop::open(&["--function-runner", &runner.address]);
    let name = shop.package("default", "web");
    let pipeline = kptfile("web", &["stamp:v1", "far:v1", "set-labels:latest"]);
    let pipeline = format!("{pipeline}      configMap: {{tier: front}}\n");
    let saved = shop.save(&name, &json!({"Kptfile": pipeline, "cm.yaml": SETTINGS}));
    assert_eq!(saved.code, 200, "{}", saved.body);
    let text = shop.file(&name, "cm.yaml");
    assert!(by(&text) == "grpc" && text.contains("size: \"3\"") && text.contains("tier: front"), "{text}");
    assert_eq!((shop.runs("grpc", "/far:v1"), shop.runs("native", "/set-labels:latest")), (1, 1));

    // An object counts at once, and before the function runner.
    shop.script("one", &marks("one"));
    shop.script("two", &marks("two"));
    let stamp = shop.configure(&config("stamp", &json!({"binaryExecutor": {"path": "one", "tags": ["v1"]}})));
    assert_eq!(stamp["status"]["error"], Value::Null, "{}", stamp["status"]);
    let stamped = || {
        let saved = shop.save(&name, &json!({"cm.yaml": SETTINGS}));
        assert_eq!(saved.code, 200, "{}", saved.body);
        by(&shop.file(&name, "cm.yaml")).to_owned()
    };
    assert_eq!(stamped(), "one");
    shop.reconfigure("stamp", &json!({"spec": {"binaryExecutor": {"path": "two"}}}));
    assert_eq!(stamped(), "two", "without a restart");
    assert_eq!(shop.runs("configured", "/stamp:v1"), 2);
    falls_through_only_where_nobody_knows(&shop, &name);
    assert_eq!(stamped(), "grpc", "the next one in the chain has it again");

    let pipeline = |image: &str| json!({"Kptfile": kptfile("web", &[image]), "cm.yaml": SETTINGS});
    let unknown = shop.save(&name, &pipeline("nobody:v1"));
    assert!(unknown.code == 422 && unknown.message().contains("nobody:v1"), "{}", unknown.body);
    let failed = shop.save(&name, &pipeline("bad:v1"));
    assert_eq!(failed.code, 422, "{}", failed.body);
    let (reason, message) = &failed.causes()[0];
    assert!(reason == "FunctionFailed" && message.ends_with("/bad:v1: no such luck"), "{}", failed.body);
}

/// What cannot be used says so on the object and in the answer, and does not become something else.
fn falls_through_only_where_nobody_knows(shop: &Shop, name: &str) {
    for (path, words) in
        [("gone", "No such file"), ("../data/kubeconfig", "not below the folder of functions")]
    {
        let found = shop.reconfigure("stamp", &json!({"spec": {"binaryExecutor": {"path": path}}}));
        assert!(found["status"]["error"].as_str().unwrap_or_default().contains(words), "{}", found["status"]);
        let refused = shop.save(name, &json!({"cm.yaml": SETTINGS}));
        assert!(refused.code == 422 && refused.message().contains(words), "{}", refused.body);
    }
    let mut elsewhere = config("stamp", &json!({"goExecutor": {"id": "set-labels", "tags": ["v1"]}}));
    elsewhere["metadata"]["namespace"] = json!("default");
    shop.make(&format!("{CONFIGS}/default/functionconfigs"), &elsewhere);
    shop.until(
        &format!("{CONFIGS}/default/functionconfigs/stamp"),
        "it says that it does not count",
        |found| found["status"]["error"].as_str().is_some_and(|why| why.contains("\"porch-fn-system\"")),
    );
    let path = format!("{CONFIGS}/porch-fn-system/functionconfigs/stamp");
    assert_eq!(shop.client.send("DELETE", &path, &Value::Null).code, 200);
    eventually("the object counts no more", || shop.save(name, &json!({"cm.yaml": SETTINGS})).code == 200);
}

/// A program that reports two things and fails.
const REPORTS: &str = "cat <<'EOF'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
  - message: size is odd
    severity: error
    file: {path: cm.yaml}
  - message: and too small
    severity: warning
EOF
echo 'it does not fit' >&2
exit 2";

#[test]
fn failures_of_programs_here_and_elsewhere_are_told_alike() {
    if !is_caged("server_functions::failures_of_programs_here_and_elsewhere_are_told_alike") {
        return;
    }
    let away = tempfile::Builder::new().prefix("lanai-away-").tempdir().unwrap();
    let runner = function_runner(away.path(), &[("far", "v1", REPORTS)]);
    let shop = Shop::open(&["--function-runner", &runner.address]);
    shop.script("near", REPORTS);
    shop.configure(&config("near", &json!({"binaryExecutor": {"path": "near", "tags": ["v1"]}})));
    for image in ["near:v1", "far:v1"] {
        let name = shop.package("default", image.split(':').next().unwrap());
        let before = shop.files(&name);
        let failed = shop.save(&name, &json!({"Kptfile": kptfile("web", &[image]), "cm.yaml": SETTINGS}));
        assert_eq!(failed.code, 422, "{}", failed.body);
        let causes = failed.causes();
        let messages: Vec<&str> =
            causes.iter().map(|(_, message)| message.rsplit_once(": ").unwrap().1).collect();
        assert_eq!(messages, ["size is odd", "and too small"], "{image}: {}", failed.body);
        assert!(causes.iter().all(|(reason, _)| reason == "FunctionResult"), "{}", failed.body);
        assert_eq!(failed.body["details"]["causes"][0]["field"], "cm.yaml");
        let after = shop.files(&name);
        assert_eq!(after["spec"], before["spec"], "{image}: nothing changed");
        let told = &after["status"]["renderStatus"];
        assert_eq!(told["result"]["items"][0]["exitCode"], 2, "{told}");
        assert_eq!(told["result"]["items"][0]["results"][0]["message"], "size is odd");
        assert!(told["result"]["items"][0]["image"].as_str().unwrap().ends_with(image), "{told}");
        assert!(told["error"].as_str().unwrap().contains("pipeline.run"), "{told}");
    }
}

const KEEP: &str = "porch.kpt.dev/push-on-render-failure";

#[track_caller]
fn is_kept(answer: &crate::api::Answer) {
    assert!(answer.code == 422 && answer.message().contains("despite render failure"), "{}", answer.body);
}

#[track_caller]
fn is_not_kept(answer: &crate::api::Answer) {
    assert!(answer.code == 422 && answer.message().contains("NOT pushed"), "{}", answer.body);
}

#[test]
fn what_failed_is_kept_on_every_path_where_that_is_asked_for() {
    if !is_caged("server_functions::what_failed_is_kept_on_every_path_where_that_is_asked_for") {
        return;
    }
    let shop = Shop::open(&[]);
    let picky =
        format!("input=$(cat)\ncase \"$input\" in *'size: \"1\"'*)\n{REPORTS}\n;; esac\necho \"$input\"");
    shop.script("picky", &picky);
    shop.configure(&config("picky", &json!({"binaryExecutor": {"path": "picky", "tags": ["v1"]}})));
    let name = shop.package("default", "kept");
    let at = format!("{REVISIONS}/{name}");
    let good = shop.save(&name, &json!({"Kptfile": kptfile("kept", &["picky:v1"]), "cm.yaml": SETTINGS}));
    assert_eq!(good.code, 200, "{}", good.body);
    // Equal content is not rendered again.
    let runs = shop.runs("configured", "/picky:v1");
    assert_eq!(shop.save(&name, &json!({"cm.yaml": shop.file(&name, "cm.yaml")})).code, 200);
    assert_eq!(shop.runs("configured", "/picky:v1"), runs);

    let annotated = json!({"metadata": {"annotations": {KEEP: "true"}}});
    assert_eq!(shop.client.send("PATCH", &at, &annotated).code, 200);
    let odd = SETTINGS.replace("\"2\"", "\"1\"");
    is_kept(&shop.save(&name, &json!({"cm.yaml": odd})));
    assert_eq!(shop.file(&name, "cm.yaml"), odd);
    // A change of what the Kptfile says.
    let metadata = json!({"spec": {"packageMetadata": {"labels": {"a": "b"}}}});
    is_kept(&shop.client.send("PATCH", &at, &metadata));
    assert_eq!(shop.client.get(&at).body["spec"]["packageMetadata"]["labels"]["a"], "b");
    // What failed is not proposed, kept or not.
    is_not_kept(&shop.client.send("PATCH", &at, &json!({"spec": {"lifecycle": "Proposed"}})));
    assert_eq!(shop.client.get(&at).body["spec"]["lifecycle"], "Draft");
    assert_eq!(shop.save(&name, &json!({"cm.yaml": SETTINGS})).code, 200);
    publish(&shop, &name);
    new_revisions_are_kept(&shop, &name);
}

/// Clones, copies and upgrades of something published, whose function fails from then on.
fn new_revisions_are_kept(shop: &Shop, name: &str) {
    let make = |package: &str, workspace: &str, task: &Value, annotations: &Value| {
        let mut object = revision(package, workspace);
        object["spec"]["tasks"] = json!([task]);
        object["metadata"] = json!({ "annotations": annotations });
        shop.client.send("POST", REVISIONS, &object)
    };
    shop.script("picky", REPORTS);
    let clone = json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": name}}}});
    is_not_kept(&make("copy", "v1", &clone, &json!({})));
    assert_eq!(shop.client.get(&format!("{REVISIONS}/blueprints.copy.v1")).code, 404);
    is_kept(&make("copy", "v1", &clone, &json!({KEEP: "true"})));
    assert!(shop.file("blueprints.copy.v1", "cm.yaml").contains("size"));
    let told = shop.files("blueprints.copy.v1")["status"]["renderStatus"].clone();
    assert_eq!(told["result"]["items"][0]["exitCode"], 2, "{told}");
    let edit = json!({"type": "edit", "edit": {"sourceRef": {"name": name}}});
    is_not_kept(&make("kept", "v2", &edit, &json!({})));
    is_kept(&make("kept", "v2", &edit, &json!({KEEP: "true"})));

    // It is well again: upstream goes on, and the copy is published.
    shop.script("picky", "cat");
    for (revision, file) in [("blueprints.kept.v2", "more"), ("blueprints.copy.v1", "own")] {
        let files = json!({format!("{file}.yaml"): SETTINGS.replace("settings", file)});
        let saved = shop.save(revision, &files);
        assert_eq!(saved.code, 200, "{}", saved.body);
        publish(shop, revision);
    }
    shop.script("picky", REPORTS);
    let upgrade = json!({"type": "upgrade", "upgrade": {
        "oldUpstreamRef": {"name": name}, "newUpstreamRef": {"name": "blueprints.kept.v2"},
        "localPackageRevisionRef": {"name": "blueprints.copy.v1"}, "strategy": "resource-merge",
    }});
    is_not_kept(&make("copy", "v2", &upgrade, &json!({})));
    is_kept(&make("copy", "v2", &upgrade, &json!({KEEP: "true"})));
    assert!(shop.file("blueprints.copy.v2", "more.yaml").contains("name: more"));
}

fn publish(shop: &Shop, name: &str) {
    for (path, lifecycle) in [("", "Proposed"), ("/approval", "Published")] {
        let patch = json!({"spec": {"lifecycle": lifecycle}});
        let answer = shop.client.send("PATCH", &format!("{REVISIONS}/{name}{path}"), &patch);
        assert_eq!(answer.code, 200, "{lifecycle}: {}", answer.body);
    }
}

#[test]
fn equal_work_runs_once_and_a_broken_cache_is_a_miss() {
    if !is_caged("server_functions::equal_work_runs_once_and_a_broken_cache_is_a_miss") {
        return;
    }
    let mut shop = Shop::open(&[]);
    // It answers something else each time, whatever its object says: who gets the same again got what was kept.
    let dice = "number=$(od -An -N8 -tx8 /dev/urandom | tr -d ' '); sed \"s/size: .*/size: x$number/\"";
    shop.script("dice", dice);
    let mut object = config("dice", &json!({"binaryExecutor": {"path": "dice", "tags": ["v1"]}}));
    object["metadata"]["annotations"] = json!({"lanai.dev/deterministic": "true"});
    shop.configure(&object);
    let thrown = |shop: &Shop, package: &str| {
        let name = shop.package("default", package);
        let saved = shop.save(&name, &json!({"Kptfile": kptfile("same", &["dice:v1"]), "cm.yaml": SETTINGS}));
        assert_eq!(saved.code, 200, "{}", saved.body);
        let text = shop.file(&name, "cm.yaml");
        let thrown = text.split_once("size: ").map_or("", |(_, rest)| rest.trim().trim_matches('"'));
        assert!(thrown.starts_with('x'), "{text}");
        thrown.to_owned()
    };
    let first = thrown(&shop, "one");
    assert_eq!(thrown(&shop, "two"), first);
    assert_eq!(shop.runs("configured", "/dice:v1"), 1);
    shop.restart(|_| {});
    assert_eq!(thrown(&shop, "three"), first, "it is known to the next process");
    // Contents that are not what was written; then records that are none; then a place where nothing can be kept.
    shop.restart(|home| {
        let blobs = walk(&home.join("data/results/blobs"));
        assert!(!blobs.is_empty(), "results are there");
        for blob in blobs {
            std::fs::write(blob, "not what it was").unwrap();
        }
    });
    let second = thrown(&shop, "four");
    assert_ne!(second, first);
    shop.restart(|home| std::fs::write(home.join("data/results/catalog.db"), "no database").unwrap());
    let third = thrown(&shop, "five");
    assert_ne!(third, second);
    shop.restart(|home| {
        std::fs::remove_dir_all(home.join("data/results")).unwrap();
        std::fs::write(home.join("data/results"), "in the way").unwrap();
    });
    assert_ne!(thrown(&shop, "six"), third);
    assert!(shop.served.said().contains("results of functions are not kept"), "{}", shop.served.said());
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// A namespace `shop` with a draft in it, whose runner options can be set.
struct Corner<'a> {
    shop: &'a Shop,
    name: String,
}

const MAPS: &str = "/api/v1/namespaces/shop/configmaps";

impl<'a> Corner<'a> {
    fn of(shop: &'a Shop) -> Self {
        shop.make("/api/v1/namespaces", &json!({"metadata": {"name": "shop"}}));
        shop.register("shop");
        Self { shop, name: shop.package("shop", "web") }
    }

    fn save(&self, images: &[&str]) -> crate::api::Answer {
        let files = json!({"Kptfile": kptfile("web", images), "cm.yaml": SETTINGS});
        self.shop.save_in("shop", &self.name, &files)
    }

    fn file(&self) -> String {
        let path = FILES.replace("/default/", "/shop/");
        let found = self.shop.client.get(&format!("{path}/{}", self.name)).body;
        found["spec"]["resources"]["cm.yaml"].as_str().unwrap_or_default().to_owned()
    }

    fn clear(&self) {
        let deleted = self.shop.client.send("DELETE", &format!("{MAPS}/lanai-runner"), &Value::Null);
        assert!(deleted.code == 200 || deleted.code == 404, "{}", deleted.body);
    }

    fn set(&self, data: &Value) {
        self.clear();
        self.shop.make(MAPS, &json!({"metadata": {"name": "lanai-runner"}, "data": data}));
    }

    #[track_caller]
    fn is_refused(&self, images: &[&str], words: &[&str]) -> crate::api::Answer {
        let before = self.file();
        let refused = self.save(images);
        assert_eq!(refused.code, 422, "{}", refused.body);
        for word in words {
            assert!(refused.message().contains(word), "{word}: {}", refused.body);
        }
        assert_eq!(self.file(), before);
        refused
    }
}

#[test]
fn a_namespace_has_options_of_its_own() {
    if !is_caged("server_functions::a_namespace_has_options_of_its_own") {
        return;
    }
    let (all, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let for_all = function_runner(all.path(), &[("stamp", "v1", &marks("all"))]);
    let for_one = function_runner(own.path(), &[("stamp", "v1", &marks("own"))]);
    let shop = Shop::open(&["--function-runner", &for_all.address]);
    shop.script("slow", "sleep 30; cat");
    shop.script("large", "head -c 3000000 /dev/zero | tr '\\0' ' '; cat");
    for name in ["slow", "large"] {
        shop.configure(&config(name, &json!({"binaryExecutor": {"path": name, "tags": ["v1"]}})));
    }
    let corner = Corner::of(&shop);
    assert_eq!(corner.save(&["stamp:v1"]).code, 200);
    assert_eq!(by(&corner.file()), "all");
    corner.set(&json!({"endpoint": for_one.address}));
    assert_eq!(corner.save(&["stamp:v1"]).code, 200);
    assert_eq!(by(&corner.file()), "own", "it counts at once");
    let other = shop.package("default", "web");
    let files = json!({"Kptfile": kptfile("web", &["stamp:v1"]), "cm.yaml": SETTINGS});
    assert_eq!(shop.save(&other, &files).code, 200);
    assert_eq!(by(&shop.file(&other, "cm.yaml")), "all", "in its own namespace only");
    corner.set(&json!({"endpoint": "none"}));
    corner.is_refused(&["stamp:v1"], &["stamp:v1"]);
    corner.set(&json!({"functionTimeout": "500ms"}));
    corner.is_refused(&["slow:v1"], &["500ms"]);
    corner.set(&json!({"maxOutput": "2Mi"}));
    corner.is_refused(&["large:v1"], &["max_output"]);
    corner.clear();
    assert_eq!(corner.save(&["stamp:v1"]).code, 200);
    assert_eq!(by(&corner.file()), "all");
}

#[test]
fn options_that_are_wrong_are_told_by_what_needs_a_function() {
    if !is_caged("server_functions::options_that_are_wrong_are_told_by_what_needs_a_function") {
        return;
    }
    let shop = Shop::open(&[]);
    shop.script("stamp", &marks("here"));
    shop.configure(&config("stamp", &json!({"binaryExecutor": {"path": "stamp", "tags": ["v1"]}})));
    let corner = Corner::of(&shop);
    corner.set(&json!({"maxMemory": "64Gi", "colour": "red"}));
    let wrong = corner.is_refused(
        &["stamp:v1"],
        &[
            "ConfigMap \"shop/lanai-runner\"",
            "data.maxMemory: \"64Gi\" is more than the 1 GiB that the server allows",
            "data.colour: there is no such option",
        ],
    );
    assert_eq!(wrong.causes()[0].0, "FunctionUnusable", "{}", wrong.body);
    assert_eq!(corner.save(&[]).code, 200, "a pipeline without functions does not need them");

    let auths = json!({"auths": {"r.example.com": {"auth": "hunter2-is-no-base64"}}}).to_string();
    let secret = json!({
        "metadata": {"name": "login"}, "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": auths},
    });
    shop.make("/api/v1/namespaces/shop/secrets", &secret);
    corner.set(&json!({"pullSecrets": "none-such,login"}));
    let wrong = corner.is_refused(
        &["stamp:v1"],
        &["Secret \"none-such\": it is not there", "Secret \"login\": for the registry \"r.example.com\""],
    );
    let mut said = shop.served.said();
    let audit = std::fs::read_to_string(shop.home.path().join("data/audit.log")).unwrap();
    let _ = write!(said, "{}{audit}", wrong.body);
    assert!(!said.contains("hunter2"), "what is in Secrets stands nowhere");

    // A Secret that comes right counts at once, though the ConfigMap did not change.
    corner.set(&json!({"pullSecrets": "login"}));
    corner.is_refused(&["stamp:v1"], &["r.example.com"]);
    let auths = json!({"auths": {"r.example.com": {"username": "ann", "password": "hunter2"}}}).to_string();
    let patch = json!({"stringData": {".dockerconfigjson": auths}});
    let patched = shop.client.send("PATCH", "/api/v1/namespaces/shop/secrets/login", &patch);
    assert_eq!(patched.code, 200, "{}", patched.body);
    let saved = corner.save(&["stamp:v1"]);
    assert_eq!(saved.code, 200, "{}", saved.body);
    assert!(!shop.served.said().contains("hunter2"));
}

#[test]
fn settings_of_functions_are_checked_at_the_start() {
    let home = tempfile::tempdir().unwrap();
    let check = |arguments: &[&str], words: &str| {
        let mut command = crate::demo::program(env!("CARGO_BIN_EXE_lanai"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(home.path().join("data"));
        let output = command.args(arguments).env("HOME", home.path()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(1) && said.contains(words), "{arguments:?}: {said}");
    };
    check(&["--function-runner", "https://runner"], "an address is host:port");
    check(&["--function-namespace", "Not A Name"], "the namespace of functions");
    check(&["--default-image-prefix", "https://x"], "invalid image prefix");
    let file = home.path().join("settings.yaml");
    for (text, words) in [
        ("functionRunner: nowhere\n", "an address is host:port"),
        ("limits: {maxRenders: 0}\n", "nonzero"),
        ("limits: {maxFunctionSeconds: 0}\n", "nonzero"),
        ("limits: {maxFunctionMemory: lots}\n", "lots"),
    ] {
        std::fs::write(&file, text).unwrap();
        check(&["--config", file.to_str().unwrap()], words);
    }
}
