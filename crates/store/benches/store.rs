//! The store in a file beside a real etcd on the same disk, and the store in PostgreSQL.
//!
//! `cargo bench -p lanai-store --bench store [sqlite] [etcd] [postgres] [million]`; the first three without a name. `LANAI_ETCD` names the program of
//! `tests/etcd`; without it that column is left out. `LANAI_BENCH_FOLDER` says on which disk. `docs/store.md` explains the numbers.

#![allow(clippy::disallowed_methods, reason = "benchmarks may start what they measure; the product may not")]

#[allow(clippy::unwrap_used, reason = "helpers of tests fail tests")]
#[path = "../tests/it/postgres/cluster.rs"]
mod cluster;

use std::collections::BTreeMap;
use std::error::Error;
use std::future::Future;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{env, fs};

use lanai_store::{
    At, Filter, Key, Kind, Limits, ListRequest, Object, PostgresStore, Prefix, Revision, Signal, SqliteStore,
    Store, WatchRequest, postgres, sqlite,
};
use tokio::task::JoinSet;

type Result<T> = std::result::Result<T, Box<dyn Error>>;
type Figures = BTreeMap<String, f64>;

const VALUE: usize = 1024;
const LISTED: usize = 10_000;
const PAGE: usize = 500;
const WATCHERS: usize = 1_000;
const FAN_EVENTS: usize = 300;
const UPDATES: usize = 100_000;
const SECONDS: u64 = 5;

/// What is measured, as it is printed.
const ROWS: &[(&str, &str)] = &[
    ("creates-1", "durable creates/s, 1 client"),
    ("creates-16", "durable creates/s, 16 clients"),
    ("creates-64", "durable creates/s, 64 clients"),
    ("gets-16", "gets/s, 16 clients"),
    ("list-ms", "list of 10,000, ms"),
    ("pages-ms", "the same in pages of 500, ms"),
    ("fan-events", "events/s to 1,000 watchers"),
    ("fan-p99-ms", "p99 from the write to a watcher, ms"),
    ("disk-mb", "MB on disk after 100,000 updates and compaction"),
    ("disk-defragmented-mb", "the same after defragmentation"),
    ("memory-mb", "peak memory, MB"),
];

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["load-sqlite", folder, ..] => return run(load_sqlite(Path::new(folder))),
        ["load-postgres", address, folder, ..] => return run(load_postgres(address, Path::new(folder))),
        ["load-million", folder, ..] => return run(fill_million(Path::new(folder))),
        ["open-million", folder, ..] => return run(open_million(Path::new(folder))),
        _ => {}
    }
    if !arguments.iter().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let mut parts: Vec<&str> =
        arguments.iter().map(String::as_str).filter(|part| !part.starts_with('-')).collect();
    if parts.is_empty() {
        parts = vec!["sqlite", "etcd", "postgres"];
    }
    let mut columns = Vec::new();
    for part in &parts {
        match *part {
            "sqlite" => columns.push(("SQLite", measure_sqlite()?)),
            "etcd" => columns.extend(measure_etcd()?.map(|figures| ("etcd", figures))),
            "postgres" => columns.extend(measure_postgres()?.map(|figures| ("PostgreSQL", figures))),
            "million" => million()?,
            other => return Err(format!("there is no part \"{other}\"").into()),
        }
    }
    print(&columns);
    Ok(())
}

fn print(columns: &[(&str, Figures)]) {
    if columns.is_empty() {
        return;
    }
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    println!("| | {} |", names.join(" | "));
    println!("|---|{}", "---:|".repeat(columns.len()));
    for (row, title) in ROWS {
        let cell = |figures: &Figures| figures.get(*row).map_or_else(|| "–".into(), |value| readable(*value));
        let cells: Vec<String> = columns.iter().map(|(_, figures)| cell(figures)).collect();
        println!("| {title} | {} |", cells.join(" | "));
    }
}

fn readable(value: f64) -> String {
    if value < 100.0 { format!("{value:.1}") } else { format!("{value:.0}") }
}

fn run<F: Future<Output = Result<()>>>(work: F) -> Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

fn scratch() -> Result<tempfile::TempDir> {
    Ok(match env::var_os("LANAI_BENCH_FOLDER") {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    })
}

/// Runs this program again, so that its memory is its own; returns what it printed.
fn again(arguments: &[&str]) -> Result<Figures> {
    let done = Command::new(env::current_exe()?).args(arguments).stderr(Stdio::inherit()).output()?;
    if !done.status.success() {
        return Err(format!("{arguments:?}: {}", done.status).into());
    }
    Ok(figures(&String::from_utf8_lossy(&done.stdout)))
}

fn figures(lines: &str) -> Figures {
    let pairs = lines.lines().filter_map(|line| line.split_once(' '));
    pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

fn say(name: &str, value: f64) {
    println!("{name} {value}");
}

/// A line of `/proc/PID/status`, in megabytes.
fn memory(process: &str, line: &str) -> Result<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let found = status.lines().find_map(|found| found.strip_prefix(line)).ok_or("there is no such line")?;
    let kib: f64 = found.trim_matches(|c: char| !c.is_ascii_digit()).parse()?;
    Ok(kib * 1024.0 / 1e6)
}

fn measure_sqlite() -> Result<Figures> {
    let folder = scratch()?;
    again(&["load-sqlite", &folder.path().display().to_string()])
}

async fn load_sqlite(folder: &Path) -> Result<()> {
    let store = SqliteStore::open(folder, sqlite::Options::default())?;
    load(Arc::new(store), Some(folder)).await?;
    say("memory-mb", memory("self", "VmHWM:")?);
    Ok(())
}

fn measure_postgres() -> Result<Option<Figures>> {
    let Some(cluster) = cluster::Cluster::start("bench store: PostgreSQL", cluster::Disk::Synced) else {
        return Ok(None);
    };
    let folder = scratch()?;
    again(&["load-postgres", &cluster.address(), &folder.path().display().to_string()]).map(Some)
}

async fn load_postgres(address: &str, folder: &Path) -> Result<()> {
    let store = PostgresStore::open(address, &folder.join("store.key"), postgres::Options::default()).await?;
    load(Arc::new(store), None).await
}

/// A server that ends with this.
struct Etcd(Child);

impl Drop for Etcd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn measure_etcd() -> Result<Option<Figures>> {
    let Some(program) = env::var_os("LANAI_ETCD").map(PathBuf::from) else {
        eprintln!("LANAI_ETCD names no program: etcd is not measured");
        return Ok(None);
    };
    let folder = scratch()?;
    let endpoint = "http://127.0.0.1:23790";
    let server = Command::new(&program)
        .args([
            "serve",
            "--log-level",
            "error",
            "--quota-backend-bytes",
            "8589934592",
            "--listen-client-urls",
            endpoint,
        ])
        .args([
            "--advertise-client-urls",
            endpoint,
            "--listen-peer-urls",
            "http://127.0.0.1:23800",
            "--data-dir",
        ])
        .arg(folder.path().join("etcd"))
        .spawn()?;
    let server = Etcd(server);
    let done = Command::new(&program)
        .args(["load", endpoint, &SECONDS.to_string()])
        .arg(folder.path())
        .stderr(Stdio::inherit())
        .output()?;
    if !done.status.success() {
        return Err(format!("etcd: {}", done.status).into());
    }
    let mut figures = figures(&String::from_utf8_lossy(&done.stdout));
    figures.insert("memory-mb".into(), memory(&server.0.id().to_string(), "VmHWM:")?);
    Ok(Some(figures))
}

fn key(kind: &str, name: &str) -> Key {
    Key::new(&Kind::new(kind).expect("it is a kind"), "bench", name).expect("it is a name")
}

fn under(kind: &str) -> Filter {
    Filter::under(Prefix::kind(&Kind::new(kind).expect("it is a kind")))
}

fn value() -> Object {
    Object::plain(vec![b'v'; VALUE])
}

/// Calls from so many clients until the time is over; returns calls per second.
async fn rate<F, C>(clients: usize, call: C) -> Result<f64>
where
    C: Fn(usize, usize) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = std::result::Result<(), lanai_store::Error>> + Send + 'static,
{
    let done = Arc::new(AtomicUsize::new(0));
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for client in 0..clients {
        let (call, done) = (call.clone(), done.clone());
        tasks.spawn(async move {
            let mut number = 0;
            while begin.elapsed() < Duration::from_secs(SECONDS) {
                call(client, number).await?;
                number += 1;
                done.fetch_add(1, Relaxed);
            }
            Ok::<(), lanai_store::Error>(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    #[allow(clippy::cast_precision_loss, reason = "these are thousands")]
    Ok(done.load(Relaxed) as f64 / begin.elapsed().as_secs_f64())
}

async fn load(store: Arc<dyn Store>, folder: Option<&Path>) -> Result<()> {
    let mut tasks = JoinSet::new();
    for part in 0..64 {
        let store = store.clone();
        tasks.spawn(async move {
            for at in (part..LISTED).step_by(64) {
                store.create(key("listed", &format!("{at:05}")), value()).await?;
            }
            Ok::<(), lanai_store::Error>(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    let target = store.clone();
    let found = rate(16, move |client, number| {
        let store = target.clone();
        async move {
            store.get(&key("listed", &format!("{:05}", (number * 16 + client) % LISTED))).await.map(drop)
        }
    });
    say("gets-16", found.await?);
    lists(store.as_ref()).await?;
    fan(&store).await?;
    rewrite(&store).await?;
    if let Some(folder) = folder {
        say("disk-mb", size(folder)?);
    }
    for clients in [1, 16, 64] {
        let target = store.clone();
        let found = rate(clients, move |client, number| {
            let store = target.clone();
            async move {
                store.create(key("creates", &format!("{clients}-{client}-{number}")), value()).await.map(drop)
            }
        });
        say(&format!("creates-{clients}"), found.await?);
    }
    Ok(())
}

/// All files of a folder, in megabytes.
fn size(folder: &Path) -> Result<f64> {
    let mut total = 0;
    for entry in fs::read_dir(folder)? {
        total += entry?.metadata()?.len();
    }
    #[allow(clippy::cast_precision_loss, reason = "files are small")]
    Ok(total as f64 / 1e6)
}

async fn lists(store: &dyn Store) -> Result<()> {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let begin = Instant::now();
        let page = store.list(&ListRequest::all(under("listed"))).await?;
        assert_eq!(page.items.len(), LISTED);
        best = best.min(begin.elapsed());
    }
    say("list-ms", best.as_secs_f64() * 1e3);
    best = Duration::MAX;
    for _ in 0..5 {
        let begin = Instant::now();
        let mut request =
            ListRequest { filter: under("listed"), at: At::Latest, limit: NonZeroUsize::new(PAGE) };
        while let Some(next) = store.list(&request).await?.next {
            request.at = At::Continue(next);
        }
        best = best.min(begin.elapsed());
    }
    say("pages-ms", best.as_secs_f64() * 1e3);
    Ok(())
}

/// One writer, many watchers: how fast events come out, and how late.
async fn fan(store: &Arc<dyn Store>) -> Result<()> {
    let written: Arc<Vec<OnceLock<Instant>>> = Arc::new((0..FAN_EVENTS).map(|_| OnceLock::new()).collect());
    let late = Arc::new(Mutex::new(Vec::new()));
    let from = store.current().await?;
    let mut watchers = JoinSet::new();
    for _ in 0..WATCHERS {
        let mut watch = store.watch(WatchRequest::after(from, under("fan"))).await?;
        let (written, late) = (written.clone(), late.clone());
        watchers.spawn(async move {
            let mut mine = Vec::with_capacity(FAN_EVENTS);
            while mine.len() < FAN_EVENTS {
                let Signal::Event(_) = watch.next().await? else { continue };
                mine.push(written[mine.len()].get().expect("it was written").elapsed());
            }
            late.lock().expect("nobody panicked").extend(mine);
            Ok::<(), lanai_store::Error>(())
        });
    }
    let begin = Instant::now();
    for (at, moment) in written.iter().enumerate() {
        moment.set(Instant::now()).expect("it is set once");
        store.create(key("fan", &format!("{at:05}")), value()).await?;
    }
    while let Some(watcher) = watchers.join_next().await {
        watcher??;
    }
    let elapsed = begin.elapsed().as_secs_f64();
    let mut late = late.lock().expect("nobody panicked").clone();
    late.sort_unstable();
    #[allow(clippy::cast_precision_loss, reason = "these are thousands")]
    say("fan-events", (WATCHERS * FAN_EVENTS) as f64 / elapsed);
    say("fan-p99-ms", late[late.len() * 99 / 100].as_secs_f64() * 1e3);
    Ok(())
}

/// Many updates of some objects, then compaction.
async fn rewrite(store: &Arc<dyn Store>) -> Result<()> {
    let mut tasks = JoinSet::new();
    for part in 0..64 {
        let store = store.clone();
        tasks.spawn(async move {
            for at in (part..UPDATES).step_by(64) {
                let key = key("listed", &format!("{:05}", at % LISTED));
                // Others may have been faster, as with any put.
                loop {
                    let found = store.get(&key).await?.expect("it was created").revision;
                    match store.update(key.clone(), found, value()).await {
                        Err(lanai_store::Error::Conflict { .. }) => {}
                        other => break other.map(drop)?,
                    }
                }
            }
            Ok::<(), lanai_store::Error>(())
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    let head = store.current().await?;
    store.compact(head).await?;
    Ok(())
}

/// A store with a million objects, opened by a process that has not seen it before.
fn million() -> Result<()> {
    let folder = scratch()?;
    let place = folder.path().display().to_string();
    let filled = again(&["load-million", &place])?;
    let opened = again(&["open-million", &place])?;
    println!("1,000,000 objects of 1 KiB in 1,000 namespaces:");
    for (name, value) in filled.into_iter().chain(opened) {
        println!("- {name}: {}", readable(value));
    }
    Ok(())
}

async fn fill_million(folder: &Path) -> Result<()> {
    let limits = Limits { max_history: 1_000, ..Limits::DEFAULT };
    let store =
        Arc::new(SqliteStore::open(folder, sqlite::Options { limits, ..sqlite::Options::default() })?);
    let begin = Instant::now();
    let next = Arc::new(AtomicU64::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..64 {
        let (store, next) = (store.clone(), next.clone());
        tasks.spawn(async move {
            loop {
                let at = next.fetch_add(1, Relaxed);
                if at >= 1_000_000 {
                    return Ok::<(), lanai_store::Error>(());
                }
                let kind = Kind::new("many").expect("it is a kind");
                let key = Key::new(&kind, &format!("ns-{:03}", at % 1_000), &format!("{at:07}"))
                    .expect("it is a key");
                store.create(key, value()).await?;
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    say("fill-seconds", begin.elapsed().as_secs_f64());
    say("fill-memory-mb", memory("self", "VmHWM:")?);
    Ok(())
}

async fn open_million(folder: &Path) -> Result<()> {
    let begin = Instant::now();
    let store = SqliteStore::open(folder, sqlite::Options::default())?;
    say("open-ms", begin.elapsed().as_secs_f64() * 1e3);
    let kind = Kind::new("many")?;
    let filter = Filter::under(Prefix::namespace(&kind, "ns-500")?);
    let begin = Instant::now();
    let page = store.list(&ListRequest::all(filter.clone())).await?;
    say("list-of-1000-ms", begin.elapsed().as_secs_f64() * 1e3);
    assert_eq!(page.items.len(), 1_000);
    let begin = Instant::now();
    let mut watch = store.watch(WatchRequest::after(Revision::new(page.revision.get()), filter)).await?;
    store.create(Key::new(&kind, "ns-500", "new")?, value()).await?;
    watch.next().await?;
    say("watch-and-write-ms", begin.elapsed().as_secs_f64() * 1e3);
    say("open-memory-mb", memory("self", "VmHWM:")?);
    Ok(())
}
