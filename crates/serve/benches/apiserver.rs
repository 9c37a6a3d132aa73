//! API servers side by side: create, get, list, watch, and memory.
//!
//! `cargo bench -p lanai-serve --bench apiserver` measures a server of ours, in a process of its own. `LANAI_BENCH_OTHERS` names others as
//! `NAME=KUBECONFIG=PID[+PID...]`, separated by commas, whose processes are looked at for their memory; they are measured behind ours, one after another, so that
//! none disturbs the next. `docs/performance.md` explains the numbers.

#![allow(clippy::disallowed_methods, reason = "benchmarks may start what they measure; the product may not")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot measure ends")]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]
#![allow(clippy::naive_bytecount, reason = "one crate more would not count what matters here faster")]

#[allow(dead_code, reason = "tests need more of it")]
#[path = "../tests/it/tls.rs"]
mod tls;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::stream::{StreamExt, iter};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::SendRequest;
use serde_json::json;
use tls::Access;
use tokio::sync::{Barrier, Semaphore};
use tokio_util::sync::CancellationToken;

const OBJECTS: usize = 10_000;
const VALUE: usize = 1_024;
const GETS: usize = 20_000;
const LISTS: usize = 5;
const WATCHERS: usize = 1_000;
const UPDATES: usize = 100;
const CONNECTIONS: usize = 8;
const AT_ONCE: usize = 64;
/// The data directory of the process that is to serve.
const DATA: &str = "LANAI_BENCH_DATA";

type Sender = SendRequest<Full<Bytes>>;

/// A server that is measured.
struct Subject {
    name: String,
    kubeconfig: PathBuf,
    processes: Vec<u32>,
    /// Ours, which ends with this.
    child: Option<Child>,
    _folder: Option<tempfile::TempDir>,
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
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if let Some(data) = std::env::var_os(DATA) {
        return runtime.block_on(serve(Path::new(&data)));
    }
    println!(
        "| server | create/s | p99 ms | get/s | p99 ms | list {OBJECTS} ms | events/s to {WATCHERS} | idle MiB | with {OBJECTS} MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    let others = std::env::var("LANAI_BENCH_OTHERS").unwrap_or_default();
    let ours = std::iter::once_with(ours);
    for subject in ours.chain(others.split(',').filter(|one| !one.is_empty()).map(other)) {
        runtime.block_on(measure(&subject));
    }
}

async fn serve(data: &Path) {
    let random = ring::rand::SystemRandom::new();
    let options = lanai_serve::Options {
        data: data.to_owned(),
        listen: "127.0.0.1:0".parse().unwrap(),
        names: Vec::new(),
        token_file: None,
        front_proxy_authority: None,
        front_proxies: Vec::new(),
        delegate: None,
        limits: lanai_apiserver::Limits::DEFAULT,
        packages: None,
        traces: None,
        renewal: lanai_serve::server::RENEWAL_EVERY,
        clock: Arc::new(jiff::Timestamp::now),
        chance: Arc::new(move |bytes| ring::rand::SecureRandom::fill(&random, bytes).unwrap()),
    };
    let server = lanai_serve::Server::start(options).await.unwrap();
    println!("ready");
    server.run(CancellationToken::new()).await;
}

fn ours() -> Subject {
    let folder = tempfile::tempdir_in(
        std::env::var_os("LANAI_BENCH_FOLDER").unwrap_or_else(|| std::env::temp_dir().into()),
    )
    .unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .env(DATA, folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let ready = BufReader::new(child.stdout.take().unwrap()).lines().next();
    assert!(ready.is_some_and(|line| line.is_ok_and(|line| line == "ready")), "the server does not start");
    Subject {
        name: "lanai".into(),
        kubeconfig: folder.path().join("kubeconfig"),
        processes: vec![child.id()],
        child: Some(child),
        _folder: Some(folder),
    }
}

fn other(text: &str) -> Subject {
    let mut parts = text.split('=');
    let (name, kubeconfig) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let processes = parts.next().unwrap_or_default().split('+').filter_map(|pid| pid.parse().ok()).collect();
    Subject { name: name.into(), kubeconfig: kubeconfig.into(), processes, child: None, _folder: None }
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

async fn measure(subject: &Subject) {
    let access = Access::read(&subject.kubeconfig);
    let mut senders = Vec::new();
    for _ in 0..CONNECTIONS {
        senders.push(access.connect::<Full<Bytes>>().await.unwrap().0);
    }
    // A namespace of its own: another run finds nothing of this one.
    let namespace = format!("bench-{}", jiff::Timestamp::now().as_millisecond());
    let address = access.address.clone();
    let maps = format!("https://{address}/api/v1/namespaces/{namespace}/configmaps");
    let namespaces = format!("https://{address}/api/v1/namespaces");
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
    send(senders[0].clone(), "POST", &namespaces, body.to_string()).await;
    let idle = memory(subject);
    let value = "x".repeat(VALUE);
    let create = |number: usize| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("m{number:05}")}, "data": {"a": value}});
        ("POST", maps.clone(), object.to_string())
    };
    let created = run(&senders, OBJECTS, create).await;
    let get = |number: usize| ("GET", format!("{maps}/m{:05}", number * 7_919 % OBJECTS), String::new());
    let got = run(&senders, GETS, get).await;
    let started = Instant::now();
    for _ in 0..LISTS {
        send(senders[0].clone(), "GET", &maps, String::new()).await;
    }
    let listed = started.elapsed().as_secs_f64() * 1_000.0 / LISTS as f64;
    let events = fan_out(&access, &maps).await;
    let full = memory(subject);
    println!(
        "| {} | {:.0} | {:.1} | {:.0} | {:.1} | {listed:.0} | {events:.0} | {idle:.0} | {full:.0} |",
        subject.name, created.rate, created.p99, got.rate, got.p99
    );
    send(senders[0].clone(), "DELETE", &format!("{namespaces}/{namespace}"), String::new()).await;
}

struct Figures {
    rate: f64,
    /// In milliseconds.
    p99: f64,
}

/// Sends requests over all connections, so many at once.
async fn run(
    senders: &[Sender],
    count: usize,
    make: impl Fn(usize) -> (&'static str, String, String),
) -> Figures {
    let started = Instant::now();
    let mut times: Vec<Duration> = iter(0..count)
        .map(|number| {
            let (method, uri, body) = make(number);
            let sender = senders[number % senders.len()].clone();
            async move {
                let started = Instant::now();
                send(sender, method, &uri, body).await;
                started.elapsed()
            }
        })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await;
    let rate = count as f64 / started.elapsed().as_secs_f64();
    times.sort_unstable();
    Figures { rate, p99: times[count * 99 / 100].as_secs_f64() * 1_000.0 }
}

async fn send(mut sender: Sender, method: &str, uri: &str, body: String) {
    sender.ready().await.unwrap();
    let request = Request::builder().method(method).uri(uri).header("content-type", "application/json");
    let response = sender.send_request(request.body(Full::from(body)).unwrap()).await.unwrap();
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    assert!(status.is_success(), "{method} {uri}: {status}: {}", String::from_utf8_lossy(&bytes));
}

/// Events per second that all watchers together hear, from the first write until the last one has heard the last event.
async fn fan_out(access: &Access, maps: &str) -> f64 {
    let (ready, done) = (Arc::new(Semaphore::new(0)), Arc::new(Barrier::new(WATCHERS + 1)));
    for _ in 0..WATCHERS / 50 {
        let (sender, _) = access.connect::<Full<Bytes>>().await.unwrap();
        for _ in 0..50 {
            let (mut sender, ready, done) = (sender.clone(), ready.clone(), done.clone());
            let uri = format!("{maps}?watch=1&fieldSelector=metadata.name%3Dm00000");
            tokio::spawn(async move {
                sender.ready().await.unwrap();
                let response =
                    sender.send_request(Request::get(uri).body(Full::default()).unwrap()).await.unwrap();
                assert_eq!(response.status(), StatusCode::OK);
                let mut body = response.into_body();
                let mut lines = 0;
                // The first one is the object as it is.
                while lines < UPDATES + 1 {
                    let frame = body.frame().await.unwrap().unwrap().into_data().unwrap_or_default();
                    let first = lines == 0;
                    lines += frame.iter().filter(|byte| **byte == b'\n').count();
                    if first && lines > 0 {
                        ready.add_permits(1);
                    }
                }
                done.wait().await;
            });
        }
    }
    let _ = ready.acquire_many(u32::try_from(WATCHERS).unwrap()).await.unwrap();
    let (mut sender, _) = access.connect::<Full<Bytes>>().await.unwrap();
    let started = Instant::now();
    for number in 0..UPDATES {
        sender.ready().await.unwrap();
        let body = json!({"metadata": {"annotations": {"n": number.to_string()}}}).to_string();
        let request =
            Request::patch(format!("{maps}/m00000")).header("content-type", "application/merge-patch+json");
        let response = sender.send_request(request.body(Full::from(body)).unwrap()).await.unwrap();
        assert!(response.status().is_success());
        response.into_body().collect().await.unwrap();
    }
    done.wait().await;
    (UPDATES * WATCHERS) as f64 / started.elapsed().as_secs_f64()
}
