//! What callers of `lanai function-runner` wait for: functions inside, in a program and in a WASM module, for 1, 8 and 64 clients at once; how much longer a
//! call of a function of ours takes than the function itself; and memory over many calls.
//!
//! `cargo bench -p lanai --bench runner [seconds of each] [calls of the long run]`. `docs/performance.md` explains the numbers.

#![allow(clippy::disallowed_methods, reason = "benchmarks may start what they measure, and wait for it")]
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot measure ends")]
#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use lanai_evaluate::{Deadline, Error, Evaluator, FunctionRef, Grants, Request, wire};
use lanai_krm::{Resource, ResourceList};
use lanai_remote::{Remote, RemoteOptions};
use lanai_testkit::MODULE;

const PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";
const NATIVE: &str = "set-labels:v0.2.0";
const CLIENTS: [usize; 3] = [1, 8, 64];
const RESOURCES: usize = 20;
const ROUNDS: usize = 2_000;

/// The server that is measured.
struct Runner {
    child: Child,
    address: String,
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn main() {
    let numbers: Vec<u64> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let number = |at: usize, otherwise: u64| numbers.get(at).copied().unwrap_or(otherwise);
    let (seconds, calls) = (number(0, 5), number(1, 100_000));
    let home = tempfile::tempdir().unwrap();
    let runner = start(home.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    println!("load when it began: {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
    runtime.block_on(async {
        for image in [NATIVE, "program:v1", "module:v1"] {
            crowd(&runner, image, Duration::from_secs(seconds)).await;
        }
        overhead(&runner, 1).await;
        overhead(&runner, RESOURCES).await;
        for image in [NATIVE, "module:v1"] {
            memory(&runner, image, calls).await;
        }
    });
    println!("load when it ended: {}", fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
}

/// Starts the server, with a program and a module.
fn start(home: &Path) -> Runner {
    let (configs, functions) = (home.join("configs"), home.join("functions"));
    fs::create_dir_all(&configs).unwrap();
    fs::create_dir_all(&functions).unwrap();
    fs::write(functions.join("module.wasm"), wat::parse_str(MODULE).unwrap()).unwrap();
    for (name, path) in [("program", "/bin/cat"), ("module", "module.wasm")] {
        let object = format!(
            "apiVersion: config.porch.kpt.dev/v1alpha1\nkind: FunctionConfig\nmetadata: {{name: {name}}}\nspec: {{image: {name}, binaryExecutor: {{path: {path}, tags: [v1]}}}}\n"
        );
        fs::write(configs.join(format!("{name}.yaml")), object).unwrap();
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_lanai"))
        .args(["function-runner", "--port", "0", "--bind-address", "127.0.0.1", "--function-configs"])
        .arg(configs)
        .arg("--functions")
        .arg(functions)
        .env("LANAI_LOG", "error")
        .env("HOME", home)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = said.find_map(|line| Some(line.ok()?.strip_prefix("listening on ")?.to_owned()));
    std::thread::spawn(move || said.for_each(drop));
    Runner { child, address: address.expect("it starts") }
}

fn list(resources: usize) -> ResourceList {
    let items = (0..resources).map(|number| {
        let text = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web-{number}\n  labels:\n    app: web # by name\nspec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n        - name: app\n          image: registry.example.com/shop:v1\n"
        );
        Resource::parse(&text).unwrap()
    });
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: config\ndata:\n  tier: front\n";
    ResourceList {
        items: items.collect(),
        function_config: Some(Resource::parse(config).unwrap()),
        ..ResourceList::default()
    }
}

fn request(image: &str, resources: usize) -> Request {
    let function = FunctionRef::Image(format!("{PREFIX}/{image}"));
    Request { function, list: list(resources), grants: Grants::default() }
}

async fn call(remote: &Remote, request: Request) -> Result<Duration, Error> {
    let begun = Instant::now();
    remote.evaluate(request, &Deadline::after(Duration::from_mins(1))).await?;
    Ok(begun.elapsed())
}

/// So many clients, each with a connection of its own, one call after another.
async fn crowd(runner: &Runner, image: &'static str, time: Duration) {
    let first = Remote::new(&runner.address, RemoteOptions::default()).unwrap();
    if let Err(error) = call(&first, request(image, RESOURCES)).await {
        println!("{image}: SKIPPED: {error}");
        return;
    }
    println!("{image}, {RESOURCES} resources");
    for clients in CLIENTS {
        let end = Instant::now() + time;
        let tasks: Vec<_> = (0..clients)
            .map(|_| {
                let remote = Remote::new(&runner.address, RemoteOptions::default()).unwrap();
                tokio::spawn(async move {
                    let (mut times, request) = (Vec::new(), request(image, RESOURCES));
                    while Instant::now() < end {
                        times.push(call(&remote, request.clone()).await.unwrap());
                    }
                    times
                })
            })
            .collect();
        let mut times = Vec::new();
        for task in tasks {
            times.extend(task.await.unwrap());
        }
        times.sort();
        println!(
            "  {clients:>2} clients: {:>7.0} calls/s, median {:.2} ms, p99 {:.2} ms",
            times.len() as f64 / time.as_secs_f64(),
            at(&times, 0.5),
            at(&times, 0.99)
        );
    }
}

/// How much longer a call takes than the function itself, and than what a caller in the same process would have to do as well: writing and reading lists.
async fn overhead(runner: &Runner, resources: usize) {
    let remote = Remote::new(&runner.address, RemoteOptions::default()).unwrap();
    let functions = lanai_runner::functions();
    let function = *functions.iter().find(|function| function.name() == "set-labels").unwrap();
    let (mut alone, mut wired, mut called) = (Vec::new(), Vec::new(), Vec::new());
    let request = request(NATIVE, resources);
    for _ in 0..ROUNDS {
        let mut list = request.list.clone();
        let begun = Instant::now();
        function.run(&mut list).unwrap();
        alone.push(begun.elapsed());
        let begun = Instant::now();
        let sent = wire::send(&request.list).unwrap();
        std::hint::black_box(sent.receive(sent.text()).unwrap());
        wired.push(begun.elapsed());
        called.push(call(&remote, request.clone()).await.unwrap());
    }
    for times in [&mut alone, &mut wired, &mut called] {
        times.sort();
    }
    let [alone, wired, called] = [alone, wired, called].map(|times| at(&times, 0.5));
    println!(
        "{NATIVE}, {resources} resources: the function {alone:.3} ms, writing and reading its lists {wired:.3} ms, a call {called:.3} ms: {:.3} ms more than the function",
        called - alone
    );
}

/// The memory of the server, ten times over that many calls of 8 clients.
async fn memory(runner: &Runner, image: &'static str, calls: u64) {
    let resident = || {
        let status = fs::read_to_string(format!("/proc/{}/status", runner.child.id())).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).map(str::to_owned);
        line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).unwrap_or_default()
            / 1_024.0
    };
    let mut seen = vec![format!("{:.1}", resident())];
    for _ in 0..10 {
        let tasks: Vec<_> = (0..8)
            .map(|_| {
                let remote = Remote::new(&runner.address, RemoteOptions::default()).unwrap();
                tokio::spawn(async move {
                    let request = request(image, 1);
                    for _ in 0..calls / 80 {
                        call(&remote, request.clone()).await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        seen.push(format!("{:.1}", resident()));
    }
    println!("{image}: MiB of the server over {calls} calls: {}", seen.join(", "));
}

/// In milliseconds.
fn at(times: &[Duration], part: f64) -> f64 {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
    let place = ((times.len() as f64 * part) as usize).min(times.len().saturating_sub(1));
    times.get(place).map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}
