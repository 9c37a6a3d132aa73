//! Package revisions, with kubectl, over a Git server that asks for a password.

mod api;
mod gate;
mod going;
mod hooks;
mod namespace;
mod overlaps;
mod owners;
mod random;
mod remotes;
mod watches;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lanai_apiserver::Limits;
use lanai_controllers::function_config::FunctionConfigs;
use lanai_evaluate::Evaluator;
use lanai_serve::PackageOptions;
use serde_json::{Value, json};

use crate::git_server::{Behaviour, Server};
use crate::world::{World, command, kubectl, options};

/// A server with packages, a Git server, and kubectl between them.
struct Shop {
    world: World,
    program: PathBuf,
    git: tempfile::TempDir,
    remote: Server,
}

const PASSWORD: &str = "s3cr3t-hunter2";

impl Shop {
    fn open(test: &str) -> Option<Self> {
        let native = lanai_runner::Native::new(lanai_runner::functions(), lanai_runner::NativeScope::Catalog);
        Self::with(test, Limits::DEFAULT, native)
    }

    /// With a server of these limits that runs functions like this.
    fn with(test: &str, limits: Limits, evaluator: impl Evaluator + 'static) -> Option<Self> {
        let program = kubectl(test)?;
        let git = tempfile::tempdir().unwrap();
        // The user "ann" with the password.
        let authorization = Some("Basic YW5uOnMzY3IzdC1odW50ZXIy".to_owned());
        let remote = Server::start(git.path(), Behaviour { authorization, ..Behaviour::default() });
        let world = World::of(|data| {
            let mut options = options(data, limits);
            options.packages = Some(packages(evaluator));
            options
        });
        let shop = Self { world, program, git, remote };
        shop.ok(&[
            "create",
            "secret",
            "generic",
            "git",
            "--type=kubernetes.io/basic-auth",
            "--from-literal=username=ann",
            &format!("--from-literal=password={PASSWORD}"),
        ]);
        Some(shop)
    }

    fn run(&self, arguments: &[&str], input: &str) -> Result<String, String> {
        use std::io::Write;
        let mut child = command(&self.program)
            .arg("--kubeconfig")
            .arg(self.world.kubeconfig())
            .arg("--cache-dir")
            .arg(self.world.folder.path().join("kubectl-cache"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments, "");
        assert!(ran.is_ok(), "kubectl {arguments:?}: {ran:?}");
        ran.unwrap_or_default()
    }

    fn create(&self, object: &Value) -> Result<String, String> {
        self.run(&["create", "-f", "-", "-o", "name"], &object.to_string())
    }

    /// Makes a repository on the Git server, and registers it.
    fn register(&self, name: &str, more: &Value) {
        let folder = self.git.path().join(format!("{name}.git"));
        std::fs::create_dir_all(&folder).unwrap();
        self.git(name, &["init", "--quiet", "--bare", "--initial-branch=main"]);
        self.git(name, &["config", "http.receivepack", "true"]);
        let mut object = json!({
            "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": name},
            "spec": {"type": "git", "git": {"repo": self.remote.url(&format!("{name}.git")), "createBranch": true, "secretRef": {"name": "git"}}},
        });
        for (key, value) in more.as_object().unwrap() {
            object["spec"][key] = value.clone();
        }
        self.create(&object).unwrap();
        self.ok(&["wait", "--for=condition=Ready", &format!("repository/{name}"), "--timeout=60s"]);
    }

    fn git(&self, repository: &str, arguments: &[&str]) -> String {
        self.try_git(repository, arguments).unwrap_or_else(|error| panic!("git {arguments:?}: {error}"))
    }

    fn try_git(&self, repository: &str, arguments: &[&str]) -> Result<String, String> {
        let mut command = command(std::path::Path::new("git"));
        let output = command
            .current_dir(self.git.path().join(format!("{repository}.git")))
            .args(arguments)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    fn refs(&self, repository: &str) -> Vec<String> {
        let refs = self.git(repository, &["for-each-ref", "--format=%(refname)"]);
        refs.lines().map(|name| name.trim_start_matches("refs/").to_owned()).collect()
    }

    fn lifecycle(&self, name: &str, lifecycle: &str) -> Result<String, String> {
        let patch = json!({"spec": {"lifecycle": lifecycle}}).to_string();
        let mut arguments = vec!["patch", "packagerevision", name, "--type=merge", "-p", &patch];
        if lifecycle == "Published" {
            arguments.push("--subresource=approval");
        }
        self.run(&arguments, "")
    }

    fn publish(&self, name: &str) {
        self.lifecycle(name, "Proposed").unwrap();
        self.lifecycle(name, "Published").unwrap();
    }
}

fn packages(evaluator: impl Evaluator + 'static) -> PackageOptions {
    PackageOptions {
        runtimes: Arc::new(lanai_engine::Runtime {
            evaluator: Arc::new(evaluator),
            tags: Arc::new(()),
            image_prefix: "ghcr.io/kptdev/krm-functions-catalog".to_owned(),
            max_function_time: Duration::from_secs(20),
        }),
        max_renders: lanai_engine::rendering::MAX_RENDERS,
        functions: FunctionConfigs {
            namespace: "porch-fn-system".to_owned(),
            assign: Arc::new(|_| BTreeMap::new()),
        },
        metrics: Arc::new(String::new),
        readiness: lanai_engine::Readiness::Enforced,
        environment: lanai_repository::Environment::from([(
            "PATH".into(),
            std::env::var_os("PATH").unwrap_or_default(),
        )]),
    }
}

fn revision(repository: &str, package: &str, workspace: &str, task: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision", "metadata": {"namespace": "default", "name": "ignored"},
        "spec": {"repository": repository, "packageName": package, "workspaceName": workspace},
    });
    if !task.is_null() {
        object["spec"]["tasks"] = json!([task]);
    }
    object
}

fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_mins(1), "{what}");
        #[allow(clippy::disallowed_methods, reason = "kubectl and git cannot notify a test")]
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn packages_live_through_kubectl() {
    let Some(shop) = Shop::open("serve::packages::packages_live_through_kubectl") else { return };
    shop.register("blueprints", &json!({}));
    shop.register("fleet", &json!({"deployment": true}));
    assert_eq!(shop.refs("blueprints"), ["heads/main"]);
    let made = shop.create(&revision("blueprints", "web", "v1", &Value::Null)).unwrap();
    assert_eq!(made, "packagerevision.porch.kpt.dev/blueprints.web.v1\n");
    let table = shop.ok(&["get", "packagerevisions"]);
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[0],
        ["NAME", "PACKAGE", "WORKSPACENAME", "REVISION", "LATEST", "LIFECYCLE", "REPOSITORY", "AGE"]
    );
    assert_eq!(lines[1][..7], ["blueprints.web.v1", "web", "v1", "0", "false", "Draft", "blueprints"]);
    eventually("the branch follows", || shop.refs("blueprints").contains(&"heads/drafts/web/v1".to_owned()));
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings\ndata:\n  a: b\n";
    let patch = json!({"spec": {"resources": {"cm.yaml": map}}}).to_string();
    shop.ok(&["patch", "packagerevisionresources", "blueprints.web.v1", "--type=merge", "-p", &patch]);
    shop.publish("blueprints.web.v1");
    assert_eq!(shop.refs("blueprints"), ["heads/main", "tags/web/v1"]);
    assert_eq!(shop.git("blueprints", &["show", "main:web/cm.yaml"]), map.trim());

    let clone =
        json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": "blueprints.web.v1"}}}});
    shop.create(&revision("fleet", "shop/web", "a", &clone)).unwrap();
    let context = shop.ok(&[
        "get",
        "packagerevisionresources",
        "fleet.shop.web.a",
        "-o",
        "jsonpath={.spec.resources.package-context\\.yaml}",
    ]);
    assert!(context.contains("package-path: shop/web"), "{context}");
    for (selector, expected) in [
        ("spec.repository=fleet", "packagerevision.porch.kpt.dev/fleet.shop.web.a\n"),
        ("spec.packageName=web,spec.lifecycle=Draft", "packagerevision.porch.kpt.dev/fleet.shop.web.a\n"),
        ("spec.packageName=shop/web", "packagerevision.porch.kpt.dev/fleet.shop.web.a\n"),
        ("spec.revision=1", "packagerevision.porch.kpt.dev/blueprints.web.v1\n"),
    ] {
        assert_eq!(
            shop.ok(&["get", "packagerevisions", "--field-selector", selector, "-o", "name"]),
            expected,
            "{selector}"
        );
    }
    let latest = shop.ok(&["get", "packagerevisions", "-l", "kpt.dev/latest-revision=true", "-o", "name"]);
    assert_eq!(latest, "packagerevision.porch.kpt.dev/blueprints.web.v1\n");
    assert!(shop.ok(&["get", "packages"]).contains("blueprints.web"), "packages are listed");

    let refused = shop.run(&["delete", "packagerevision", "blueprints.web.v1"], "").unwrap_err();
    assert!(refused.contains("must be proposed for deletion"), "{refused}");
    shop.lifecycle("blueprints.web.v1", "DeletionProposed").unwrap();
    let refused = shop.run(&["delete", "packagerevision", "blueprints.web.v1"], "").unwrap_err();
    assert!(refused.contains("it is referenced as upstream by: fleet.shop.web.a"), "{refused}");
    shop.ok(&["delete", "packagerevision", "fleet.shop.web.a", "--dry-run=server"]);
    let refused =
        shop.run(&["delete", "packagerevision", "blueprints.web.v1", "--dry-run=server"], "").unwrap_err();
    assert!(refused.contains("it is referenced as upstream by"), "a rehearsal asks the same: {refused}");
    shop.ok(&["delete", "packagerevision", "fleet.shop.web.a"]);
    shop.ok(&["delete", "packagerevision", "blueprints.web.v1"]);
    eventually("marks and branches go", || {
        shop.refs("blueprints") == ["heads/main"] && shop.refs("fleet") == ["heads/main"]
    });
    assert_eq!(shop.git("blueprints", &["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn bad_requests_have_codes_and_words() {
    let Some(shop) = Shop::open("serve::packages::bad_requests_have_codes_and_words") else { return };
    shop.register("blueprints", &json!({}));
    shop.create(&revision("blueprints", "web", "v1", &Value::Null)).unwrap();
    let at = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisions";
    let files = "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packagerevisionresources";
    let draft = shop.world.get(&format!("{at}/blueprints.web.v1")).body;
    let mut stale = draft.clone();
    stale["metadata"]["resourceVersion"] = json!("1");
    let mut published = draft.clone();
    published["spec"]["lifecycle"] = json!("Published");
    for (method, path, body, code, words) in [
        (
            "POST",
            at.to_owned(),
            revision("nowhere", "x", "v1", &Value::Null),
            404,
            "repositories.config.porch.kpt.dev \"nowhere\" not found",
        ),
        ("POST", at.to_owned(), revision("blueprints", "X", "v1", &Value::Null), 422, "spec.packageName"),
        ("POST", at.to_owned(), revision("blueprints", "web", "v1", &Value::Null), 409, "must be unique"),
        (
            "POST",
            at.to_owned(),
            revision("blueprints", "y", "v1", &json!({"type": "eval"})),
            422,
            "not supported",
        ),
        ("PUT", format!("{at}/blueprints.web.v1"), stale, 409, "the object has been modified"),
        (
            "PUT",
            format!("{at}/blueprints.web.v1"),
            published.clone(),
            422,
            "value can be only updated to Draft,Proposed",
        ),
        (
            "PUT",
            format!("{at}/blueprints.web.v1/approval"),
            published,
            422,
            "only Proposed packages can be approved",
        ),
        (
            "GET",
            format!("{at}/blueprints.none.v1"),
            Value::Null,
            404,
            "packagerevisions.porch.kpt.dev \"blueprints.none.v1\" not found",
        ),
        ("POST", files.to_owned(), json!({}), 405, "does not allow this method"),
        (
            "GET",
            format!("{at}?fieldSelector=spec.lifecycle=draft"),
            Value::Null,
            400,
            "unsupported fieldSelector value",
        ),
        ("GET", format!("{files}?watch=true"), Value::Null, 405, "watch is not supported"),
        (
            "DELETE",
            "/apis/porch.kpt.dev/v1alpha1/namespaces/default/packages/blueprints.web".to_owned(),
            Value::Null,
            405,
            "direct package deletion is not supported",
        ),
        (
            "GET",
            "/apis/porch.kpt.dev/v1alpha2/namespaces/default/packagerevisions".to_owned(),
            Value::Null,
            404,
            "",
        ),
    ] {
        let answer = shop.world.send(method, &path, &body);
        assert_eq!(answer.code, code, "{method} {path}: {}", answer.text);
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert!(message.contains(words), "{method} {path}: {message}");
    }
    let rehearsed = shop.world.send(
        "POST",
        &format!("{at}?dryRun=All"),
        &revision("blueprints", "z", "v1", &Value::Null),
    );
    assert_eq!(rehearsed.code, 201, "{}", rehearsed.text);
    let diff =
        rehearsed.body["metadata"]["annotations"]["lanai.dev/dry-run-diff"].as_str().unwrap_or_default();
    assert!(diff.contains("+kind: Kptfile"), "{diff}");
    assert_eq!(shop.world.get(&format!("{at}/blueprints.z.v1")).code, 404);
}

#[test]
fn repositories_say_how_they_are_and_are_let_go() {
    let Some(shop) = Shop::open("serve::packages::repositories_say_how_they_are_and_are_let_go") else {
        return;
    };
    let lost = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": "lost"},
        "spec": {"type": "git", "git": {"repo": shop.remote.url("lost.git"), "secretRef": {"name": "git"}}},
    });
    shop.create(&lost).unwrap();
    let message = |name: &str| {
        shop.ok(&[
            "get",
            "repository",
            name,
            "-o",
            "jsonpath={.status.conditions[?(@.type==\"Ready\")].message}",
        ])
    };
    eventually("it says why not", || !message("lost").is_empty() && !message("lost").contains("in progress"));
    shop.register("blueprints", &json!({}));
    shop.create(&revision("blueprints", "web", "v1", &Value::Null)).unwrap();
    shop.publish("blueprints.web.v1");
    // Somebody else makes a tag.
    shop.git("blueprints", &["tag", "web/v9", "web/v1"]);
    let once = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let patch = json!({"spec": {"sync": {"runOnceAt": once}}}).to_string();
    shop.ok(&["patch", "repository", "blueprints", "--type=merge", "-p", &patch]);
    eventually("it is seen", || shop.run(&["get", "packagerevision", "blueprints.web.v9"], "").is_ok());
    shop.ok(&["delete", "repository", "blueprints", "--timeout=60s"]);
    assert_eq!(shop.ok(&["get", "packagerevisions", "-o", "name"]), "");
    assert_eq!(
        shop.refs("blueprints"),
        ["heads/main", "tags/web/v1", "tags/web/v9"],
        "the remote is left alone"
    );
}
