//! Measures a repository with 2,000 packages and 10,000 published revisions, behind `git http-backend` in a process of its own.
//!
//! `cargo bench -p lanai-repository --bench repository [packages] [revisions of each]`

#![allow(
    clippy::disallowed_methods,
    reason = "git makes and serves the repository, and is what we compare with"
)]

#[allow(dead_code, reason = "shared with the tests, which use more of it")]
#[path = "../tests/it/server.rs"]
mod server;

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lanai_krm::Package;
use lanai_krm::package::{File, Folder};
use lanai_repository::packages::{
    Event, Layout, NewContent, NoJournal, Operation, Person, Publish, Repositories, Repository, Request,
    Settings, Source, Spec,
};
use lanai_repository::{
    Credential, CredentialName, Credentials, Environment, Limits, Options, Proof, Silent,
};
use lanai_testkit::revisions::{generate, git};
use server::{Behaviour, Server};

const SERVE: &str = "LANAI_BENCH_SERVES";
const SYNC: &str = "LANAI_BENCH_SYNCS";
/// `ann:hunter2`
const AUTHORIZATION: &str = "Basic YW5uOmh1bnRlcjI=";

struct Ann;

impl Credentials for Ann {
    fn resolve(&self, _: &CredentialName) -> Result<Credential, String> {
        let proof = Proof::Basic { user: "ann".to_owned(), password: "hunter2".to_owned() };
        Ok(Credential { proof, ca_bundle: None })
    }
}

fn main() {
    if let Some(home) = std::env::var_os(SYNC) {
        let value = |name: &str| std::env::var(name).expect("a value");
        let least = value("LANAI_BENCH_LEAST").parse().expect("a number");
        let repository = open(&repositories(Path::new(&home)), &value("LANAI_BENCH_ADDRESS"));
        return sync(&repository, least);
    }
    if let Some(root) = std::env::var_os(SERVE) {
        let behaviour = Behaviour { authorization: Some(AUTHORIZATION.to_owned()), ..Behaviour::default() };
        let server = Server::start(Path::new(&root), behaviour);
        println!("{}", server.url("remote.git"));
        // Ends with the pipe from the parent.
        let _ = std::io::stdin().read(&mut [0]);
        return;
    }
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let packages = numbers.first().copied().unwrap_or(2_000);
    let revisions = numbers.get(1).copied().unwrap_or(5);
    let home = tempfile::tempdir().expect("a folder");
    let folder = home.path().join("served/remote.git");
    time("generate", || generate(&folder, packages, revisions));
    let (mut serving, address) = serve(&home.path().join("served"));
    println!("{packages} packages, {} revisions", packages * revisions);

    let header = format!("http.extraHeader=Authorization: {AUTHORIZATION}");
    let clone = time("git clone --mirror", || {
        git(home.path(), &["-c", &header, "clone", "--quiet", "--mirror", &address, "mirror.git"], "");
    });
    let listing =
        best("git ls-remote", || git(home.path(), &["-c", &header, "ls-remote", "--quiet", &address], ""));

    let all = repositories(home.path());
    let repository = open(&all, &address);
    let before = peak();
    let first = time("first sync", || sync(&repository, packages * (revisions + 1)));
    println!(
        "  {:.2} times git clone; peak memory {} MiB ({} before), cached {} KiB",
        first.as_secs_f64() / clone.as_secs_f64(),
        peak(),
        before,
        all.cached() / 1024
    );
    best("sync, nothing changed", || sync(&repository, packages * (revisions + 1)));
    let mut extra = 0;
    let changed = best("sync, one tag is new", || {
        extra += 1;
        git(&folder, &["tag", &format!("a0/pkg-0/extra{extra}"), "main"], "");
        sync(&repository, packages * (revisions + 1) + extra);
    });
    println!(
        "  {} ms more than git ls-remote (a git process that makes the tag is in it)",
        millis(changed) - millis(listing)
    );
    let refs = repository.poll(&Silent).expect("a poll");
    let package = "a0/pkg-1".parse().expect("a name");
    let commit = refs.commit(&"refs/tags/a0/pkg-1/v1".parse().expect("a ref")).expect("a tag");
    best("read one package", || {
        repository.read(&refs, commit, &package, &Silent).expect("a package");
    });
    let least = packages * (revisions + 1) + extra;
    time("sync of a new process, mirror there", || sync_elsewhere(home.path(), &address, least));
    bare_pushes(home.path(), &address, &header);

    let number = AtomicUsize::new(0);
    publish(&repository, &number);
    best("publish, one client", || publish(&repository, &number));
    println!("peak memory so far: {} MiB", peak());
    crowd(&repository, &number, "large repository");
    println!("peak memory at the end: {} MiB", peak());

    let small = home.path().join("served/small.git");
    generate(&small, 10, 1);
    let repository = open(&all, &address.replace("remote.git", "small.git"));
    bare_pushes(&home.path().join("second"), &address.replace("remote.git", "small.git"), &header);
    publish(&repository, &number);
    best("publish, one client, small repository", || publish(&repository, &number));
    crowd(&repository, &number, "small repository");
    drop(serving.stdin.take());
    let _ = serving.wait();
}

/// A process of its own that finds the mirror and has to learn the rest.
fn sync_elsewhere(home: &Path, address: &str, least: usize) {
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    command.env(SYNC, home).env("LANAI_BENCH_ADDRESS", address).env("LANAI_BENCH_LEAST", least.to_string());
    assert!(command.status().expect("it starts").success());
}

/// What git itself needs to push one commit and one tag.
fn bare_pushes(home: &Path, address: &str, header: &str) {
    std::fs::create_dir_all(home).expect("a folder");
    let clone = home.join("pushes");
    git(home, &["-c", header, "clone", "--quiet", "--no-tags", address, "pushes"], "");
    let mut number = 0;
    let mut best = Duration::MAX;
    for _ in 0..5 {
        number += 1;
        let tag = format!("bare/v{number}");
        let who = ["-c", "user.name=ann", "-c", "user.email=a@b"];
        git(&clone, &[&who[..], &["commit", "--quiet", "--allow-empty", "-m", "bare"]].concat(), "");
        git(&clone, &["tag", &tag], "");
        let start = Instant::now();
        git(&clone, &["-c", header, "push", "--quiet", "--atomic", "origin", "main", &tag], "");
        best = best.min(start.elapsed());
    }
    println!("git push, one commit and its tag: {:.1} ms", best.as_secs_f64() * 1000.0);
}

/// Eight clients publish for some seconds.
fn crowd(repository: &Repository, number: &AtomicUsize, what: &str) {
    let start = Instant::now();
    let before = number.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                while start.elapsed() < Duration::from_secs(6) {
                    publish(repository, number);
                }
            });
        }
    });
    let done = number.load(Ordering::Relaxed) - before;
    let minute = 60.0 / start.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "a small number")]
    let rate = done as f64 * minute;
    println!("8 clients, {what}: {rate:.0} publishes a minute");
}

fn publish(repository: &Repository, number: &AtomicUsize) {
    let number = number.fetch_add(1, Ordering::Relaxed);
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: new\n";
    let entries =
        [("Kptfile", File::from_text(kptfile)), ("config.yaml", File::from_text(format!("a: {number}\n")))];
    let content = Package::from_entries(entries, lanai_types::Limits::DEFAULT).expect("a package");
    let new = NewContent { content, event: Event::Init, task: None, branch: None };
    let what = Operation::Publish(Publish {
        package: format!("new-{}", number % 8).parse().expect("a name"),
        workspace: format!("w{number}").parse().expect("a name"),
        source: Source::Content(Box::new(new)),
        highest_seen: 0,
    });
    let request = Request { what, user: Person::user("ann"), time: 1_700_000_000, label: String::new() };
    repository.write(request, &Silent).expect("it is published");
}

fn sync(repository: &Repository, least: usize) {
    let refs = repository.poll(&Silent).expect("a poll");
    let facts = repository.facts(&refs, &Silent).expect("facts");
    assert!(
        facts.revisions.len() >= least && facts.problems.is_empty(),
        "{} {:?}",
        facts.revisions.len(),
        facts.problems.first()
    );
}

fn repositories(home: &Path) -> Arc<Repositories> {
    let environment = Environment::from([("PATH".into(), std::env::var_os("PATH").unwrap_or_default())]);
    let options = Options {
        cache: home.join("cache"),
        home: None,
        environment,
        limits: Limits::DEFAULT,
        package_limits: lanai_types::Limits::DEFAULT,
    };
    Arc::new(Repositories::new(
        options,
        Settings::new(home.join("own"), 7),
        Arc::new(Ann),
        Arc::new(NoJournal),
    ))
}

fn open(all: &Arc<Repositories>, address: &str) -> Repository {
    let layout = Layout { branch: "main".parse().expect("a branch"), directory: Folder::Root };
    let credential = Some(CredentialName("ann".to_owned()));
    all.open(Spec { remote: address.parse().expect("an address"), layout, credential, author: None })
        .expect("it opens")
}

fn serve(root: &Path) -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().expect("a program"));
    let mut child =
        command.env(SERVE, root).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("an output");
    BufReader::new(output).read_line(&mut line).expect("an address");
    (child, line.trim().to_owned())
}

fn time(what: &str, action: impl FnOnce()) -> Duration {
    let start = Instant::now();
    action();
    let took = start.elapsed();
    println!("{what}: {:.0} ms", took.as_secs_f64() * 1000.0);
    took
}

/// The best of five.
fn best(what: &str, mut action: impl FnMut()) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..5 {
        let start = Instant::now();
        action();
        best = best.min(start.elapsed());
    }
    println!("{what}: {:.1} ms", best.as_secs_f64() * 1000.0);
    best
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// The most memory that this process has had, in MiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or(0) / 1024
}
