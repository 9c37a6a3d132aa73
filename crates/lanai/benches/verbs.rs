//! What clients of packages wait for: every verb, in a fresh repository and in one with 10,000 revisions, over a Git server that asks for a
//! password; lists of all that; eight clients at once; and memory.
//!
//! `cargo bench -p lanai --bench verbs [packages] [revisions of each]` measures `lanai serve`. `LANAI_BENCH_OTHERS` names other servers that speak the
//! same API, as `NAME=KUBECONFIG=PID[+PID...]` separated by commas, which are measured behind it, over the same Git server. `docs/performance.md`
//! explains the numbers.

#![allow(clippy::disallowed_methods, reason = "benchmarks may start what they measure, and wait for it")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot measure ends")]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

#[allow(dead_code, reason = "shared with tests, which use more of it")]
#[path = "../../repository/tests/it/server.rs"]
mod server;
#[allow(dead_code, reason = "shared with tests, which use more of it")]
#[path = "../../serve/tests/it/tls.rs"]
mod tls;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use lanai_testkit::revisions::{generate, git};
use serde_json::{Value, json};
use server::{Behaviour, Server};
use tls::Access;

/// The folder that a process of this program is to serve.
const SERVE: &str = "LANAI_BENCH_SERVES";
/// `ann:hunter2`
const AUTHORIZATION: &str = "Basic YW5uOmh1bnRlcjI=";
const ROUNDS: usize = 30;
const LISTS: usize = 7;
const RESOURCES: usize = 20;
const CLIENTS: usize = 8;
const CROWD: Duration = Duration::from_secs(8);
const PORCH: &str = "apis/porch.kpt.dev/v1alpha1";
const FUNCTION: &str = "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0";

/// A server that is measured.
struct Subject {
    name: String,
    kubeconfig: PathBuf,
    processes: Vec<u32>,
    /// Ours, which ends with this.
    child: Option<Child>,
}

impl Drop for Subject {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn main() {
    if let Some(root) = std::env::var_os(SERVE) {
        let behaviour = Behaviour { authorization: Some(AUTHORIZATION.to_owned()), ..Behaviour::default() };
        let server = Server::start(Path::new(&root), behaviour);
        println!("{}", server.url(""));
        // Ends with the pipe from the parent.
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let (packages, revisions) = (number(&numbers, 0, 2_000), number(&numbers, 1, 5));
    let home = tempfile::tempdir_in(
        std::env::var_os("LANAI_BENCH_FOLDER").unwrap_or_else(|| std::env::temp_dir().into()),
    )
    .unwrap();
    let others = std::env::var("LANAI_BENCH_OTHERS").unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let ours = std::iter::once_with(|| ours(home.path()));
    for subject in ours.chain(others.split(',').filter(|one| !one.is_empty()).map(other)) {
        // Repositories of its own for each, which nobody has written to.
        let served = home.path().join(format!("served-{}", subject.name));
        generate(&served.join("fresh.git"), 1, 1);
        generate(&served.join("large.git"), packages, revisions);
        let (mut serving, address) = serve(&served);
        println!("\n{}: a repository with 1 revision, and one with {}", subject.name, packages * revisions);
        let expected = packages * (revisions + 1);
        runtime.block_on(measure(&subject, &address, home.path(), expected));
        drop(serving.stdin.take());
        let _ = serving.wait();
    }
}

fn number(given: &[usize], at: usize, otherwise: usize) -> usize {
    given.get(at).copied().unwrap_or(otherwise)
}

fn ours(home: &Path) -> Subject {
    let data = home.join("data");
    let mut child = Command::new(env!("CARGO_BIN_EXE_lanai"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(&data)
        .env("LANAI_LOG", "error")
        .env("HOME", home)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.is_ok_and(|line| line.starts_with("listening on "))), "it does not start");
    std::thread::spawn(move || said.for_each(drop));
    let processes = vec![child.id()];
    Subject { name: "lanai".into(), kubeconfig: data.join("kubeconfig"), processes, child: Some(child) }
}

fn other(text: &str) -> Subject {
    let mut parts = text.split('=');
    let (name, kubeconfig) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let processes = parts.next().unwrap_or_default().split('+').filter_map(|pid| pid.parse().ok()).collect();
    Subject { name: name.into(), kubeconfig: kubeconfig.into(), processes, child: None }
}

fn serve(root: &Path) -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let mut child = command.env(SERVE, root).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line.trim().to_owned())
}

/// The memory of all processes of a server, in MiB.
fn memory(subject: &Subject) -> f64 {
    let of = |pid: &u32| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).map(str::to_owned);
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or_default()
    };
    subject.processes.iter().map(of).sum::<f64>() / 1_024.0
}

/// A client of one server, in a namespace.
#[derive(Clone)]
struct Client {
    sender: SendRequest<Full<Bytes>>,
    address: String,
    namespace: String,
}

impl Client {
    async fn new(access: &Access, namespace: &str) -> Self {
        let (sender, _) = access.connect::<Full<Bytes>>().await.unwrap();
        Self { sender, address: access.address.clone(), namespace: namespace.to_owned() }
    }

    fn at(&self, rest: &str) -> String {
        format!("{PORCH}/namespaces/{}/{rest}", self.namespace)
    }

    /// The answer as bytes.
    async fn raw(&self, method: &str, path: &str, headers: [&str; 2], body: String) -> Bytes {
        let mut sender = self.sender.clone();
        sender.ready().await.unwrap();
        let request = Request::builder().method(method).uri(format!("https://{}/{path}", self.address));
        let request = request.header("accept", headers[0]).header("content-type", headers[1]);
        let response = sender.send_request(request.body(Full::from(body)).unwrap()).await.unwrap();
        let status = response.status();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        assert!(status.is_success(), "{method} {path}: {status}: {}", String::from_utf8_lossy(&bytes));
        bytes
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        let kind = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let bytes = self.raw(method, path, ["application/json", kind], body).await;
        serde_json::from_slice(&bytes).unwrap()
    }

    async fn create(&self, repository: &str, package: &str, workspace: &str, task: Value) -> String {
        let object = json!({
            "apiVersion": "porch.kpt.dev/v1alpha1", "kind": "PackageRevision",
            "metadata": {"namespace": self.namespace},
            "spec": {"repository": repository, "packageName": package, "workspaceName": workspace, "tasks": [task]},
        });
        let made = self.send("POST", &self.at("packagerevisions"), object).await;
        made["metadata"]["name"].as_str().unwrap().to_owned()
    }

    async fn lifecycle(&self, name: &str, lifecycle: &str) {
        let sub = if lifecycle == "Published" { "/approval" } else { "" };
        let path = self.at(&format!("packagerevisions/{name}{sub}"));
        self.send("PATCH", &path, json!({"spec": {"lifecycle": lifecycle}})).await;
    }

    /// Files of a package with so many resources and one function.
    async fn fill(&self, name: &str) {
        let path = self.at(&format!("packagerevisionresources/{name}"));
        let mut object = self.send("GET", &path, Value::Null).await;
        self.update(&path, &mut object, "first").await;
    }

    async fn update(&self, path: &str, object: &mut Value, value: &str) {
        let files = object["spec"]["resources"].as_object_mut().unwrap();
        let kptfile = files["Kptfile"].as_str().unwrap();
        if !kptfile.contains("pipeline:") {
            let pipeline =
                format!("pipeline:\n  mutators:\n  - image: {FUNCTION}\n    configMap:\n      tier: web\n");
            let text = format!("{}\n{pipeline}", kptfile.trim_end());
            files.insert("Kptfile".into(), json!(text));
        }
        for number in 0..RESOURCES {
            let text = format!(
                "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{number}\ndata:\n  value: {value}\n"
            );
            files.insert(format!("c{number}.yaml"), json!(text));
        }
        self.send("PUT", path, object.clone()).await;
    }
}

/// What was measured, by what was done.
#[derive(Default)]
struct Times(BTreeMap<&'static str, Vec<Duration>>);

impl Times {
    async fn time<T>(&mut self, what: &'static str, work: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let done = work.await;
        self.0.entry(what).or_default().push(started.elapsed());
        done
    }

    fn median(&mut self, what: &str) -> f64 {
        let times = self.0.get_mut(what).unwrap();
        times.sort_unstable();
        times[times.len() / 2].as_secs_f64() * 1_000.0
    }
}

async fn measure(subject: &Subject, git: &str, home: &Path, expected: usize) {
    let access = Access::read(&subject.kubeconfig);
    let namespace = format!("bench-{}", jiff::Timestamp::now().as_millisecond());
    let client = Client::new(&access, &namespace).await;
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    client.send("POST", "api/v1/namespaces", body).await;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "git"}, "type": "kubernetes.io/basic-auth",
        "stringData": {"username": "ann", "password": "hunter2"},
    });
    client.send("POST", &format!("api/v1/namespaces/{namespace}/secrets"), secret).await;
    println!("memory, idle: {:.0} MiB", memory(subject));
    for repository in ["fresh", "large"] {
        let started = Instant::now();
        register(&client, repository, &format!("{git}{repository}.git")).await;
        if repository == "large" {
            await_revisions(&client, expected).await;
        }
        println!("{repository}: registered and read in {:.0} ms", started.elapsed().as_secs_f64() * 1_000.0);
        let mut times = verbs(&client, repository).await;
        let push = bare_push(
            &home.join(format!("{}-{repository}", subject.name)),
            &format!("{git}{repository}.git"),
        );
        println!("| {repository} | ms |\n|---|---|");
        for what in [
            "create by init",
            "create by clone",
            "create by edit",
            "get",
            "get resources",
            "update resources",
            "propose",
            "approve",
            "propose-delete",
            "delete published",
        ] {
            println!("| {what} | {:.1} |", times.median(what));
        }
        println!("| git push of a commit and a tag | {push:.1} |");
        println!("| approve, by git push | {:.2} |", times.median("approve") / push);
        println!("| delete published, by git push | {:.2} |", times.median("delete published") / push);
        crowd(&access, &namespace, repository).await;
    }
    lists(&client).await;
    println!("memory, all objects: {:.0} MiB", memory(subject));
}

async fn register(client: &Client, name: &str, url: &str) {
    let all = format!("apis/config.porch.kpt.dev/v1alpha1/namespaces/{}/repositories", client.namespace);
    let object = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "Repository", "metadata": {"name": name},
        "spec": {"type": "git", "git": {"repo": url, "branch": "main", "secretRef": {"name": "git"}}},
    });
    client.send("POST", &all, object).await;
    loop {
        let found = client.send("GET", &format!("{all}/{name}"), Value::Null).await;
        let conditions = found["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|one| one["type"] == "Ready" && one["status"] == "True") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn await_revisions(client: &Client, expected: usize) {
    let path = client.at("packagerevisions?fieldSelector=spec.repository%3Dlarge");
    while client.send("GET", &path, Value::Null).await["items"].as_array().unwrap().len() < expected {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn verbs(client: &Client, repository: &str) -> Times {
    let mut times = Times::default();
    let init = || json!({"type": "init", "init": {"description": "measured"}});
    let blueprint = client.create(repository, "blueprint", "v1", init()).await;
    client.fill(&blueprint).await;
    client.lifecycle(&blueprint, "Proposed").await;
    client.lifecycle(&blueprint, "Published").await;
    for round in 0..ROUNDS {
        let package = format!("measured-{round}");
        let name = times.time("create by init", client.create(repository, &package, "v1", init())).await;
        let path = client.at(&format!("packagerevisions/{name}"));
        times.time("get", client.send("GET", &path, Value::Null)).await;
        client.fill(&name).await;
        let files = client.at(&format!("packagerevisionresources/{name}"));
        let mut object = times.time("get resources", client.send("GET", &files, Value::Null)).await;
        times.time("update resources", client.update(&files, &mut object, "second")).await;
        times.time("propose", client.lifecycle(&name, "Proposed")).await;
        times.time("approve", client.lifecycle(&name, "Published")).await;
        let clone = json!({"type": "clone", "clone": {"upstreamRef": {"upstreamRef": {"name": blueprint}}}});
        let copy = format!("copy-{round}");
        times.time("create by clone", client.create(repository, &copy, "v1", clone)).await;
        let edit = json!({"type": "edit", "edit": {"sourceRef": {"name": name}}});
        times.time("create by edit", client.create(repository, &package, "v2", edit)).await;
        times.time("propose-delete", client.lifecycle(&name, "DeletionProposed")).await;
        times.time("delete published", client.send("DELETE", &path, Value::Null)).await;
    }
    times
}

/// Eight clients create, propose and approve packages of their own.
async fn crowd(access: &Access, namespace: &str, repository: &'static str) {
    static APPROVED: AtomicUsize = AtomicUsize::new(0);
    let before = APPROVED.load(Ordering::Relaxed);
    let started = Instant::now();
    let mut clients = Vec::new();
    for number in 0..CLIENTS {
        let client = Client::new(access, namespace).await;
        clients.push(tokio::spawn(async move {
            let mut round = 0;
            while started.elapsed() < CROWD {
                let task = json!({"type": "init", "init": {}});
                let name = client.create(repository, &format!("crowd-{number}-{round}"), "v1", task).await;
                client.lifecycle(&name, "Proposed").await;
                client.lifecycle(&name, "Published").await;
                APPROVED.fetch_add(1, Ordering::Relaxed);
                round += 1;
            }
        }));
    }
    for client in clients {
        client.await.unwrap();
    }
    let approved = APPROVED.load(Ordering::Relaxed) - before;
    let rate = approved as f64 * 60.0 / started.elapsed().as_secs_f64();
    println!("{repository}: {CLIENTS} clients, created, proposed and approved a minute: {rate:.0}");
}

async fn lists(client: &Client) {
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    for (what, query, accept) in [
        ("list of all, JSON", "", "application/json"),
        ("list of all, Table", "", table),
        ("first page of 500, JSON", "?limit=500", "application/json"),
        ("first page of 500, Table", "?limit=500", table),
    ] {
        let mut times = Times::default();
        let mut bytes = 0;
        for _ in 0..LISTS {
            let path = client.at(&format!("packagerevisions{query}"));
            let asked = client.raw("GET", &path, [accept, "application/json"], String::new());
            bytes = times.time("list", asked).await.len();
        }
        println!("{what}: {:.1} ms, {:.2} MB", times.median("list"), bytes as f64 / 1e6);
    }
}

/// What git itself needs to push one commit and one tag, the median, in milliseconds.
fn bare_push(home: &Path, address: &str) -> f64 {
    std::fs::create_dir_all(home).unwrap();
    let clone = home.join("pushes");
    let header = format!("http.extraHeader=Authorization: {AUTHORIZATION}");
    git(home, &["-c", &header, "clone", "--quiet", "--no-tags", address, "pushes"], "");
    let mut times = Vec::new();
    for number in 0..ROUNDS / 2 {
        let tag = format!("bare/v{number}");
        let who = ["-c", "user.name=ann", "-c", "user.email=a@b"];
        git(&clone, &[&who[..], &["commit", "--quiet", "--allow-empty", "-m", "bare"]].concat(), "");
        git(&clone, &["tag", &tag], "");
        let started = Instant::now();
        git(&clone, &["-c", &header, "push", "--quiet", "--atomic", "origin", "main", &tag], "");
        times.push(started.elapsed());
    }
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1_000.0
}
