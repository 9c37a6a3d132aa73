//! `lanai pkg update` as a whole, beside `kpt pkg update`: read the package, fetch two versions from a repository on this
//! machine, merge, write.
//!
//! `cargo bench -p lanai --bench update [RESOURCES…]`. Without numbers: 1,000 resources, beside kpt where it is installed,
//! and 10,000 without it. `docs/performance.md` explains the numbers.

#![allow(clippy::disallowed_methods, reason = "benchmarks may start what they measure; the product may not")]

use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const RESOURCES_PER_FILE: usize = 5;
const ROUNDS: usize = 5;

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let mut sizes: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![1_000, 10_000];
    }
    println!("| resources | files | program | best of rounds | median | peak memory |");
    println!("|---:|---:|---|---:|---:|---:|");
    for size in sizes {
        let world = World::new(size)?;
        let ours = world.measure(env!("CARGO_BIN_EXE_lanai"), ROUNDS)?;
        ours.print(size, "lanai");
        if size > 1_000 || !is_there("kpt") {
            continue;
        }
        let theirs = world.measure("kpt", 3)?;
        theirs.print(size, "kpt");
        let ratio = theirs.median().as_secs_f64() / ours.median().as_secs_f64();
        println!("\n{ratio:.0} times as fast as kpt, by the medians\n");
    }
    Ok(())
}

/// Times of one program, and the most memory that it held.
struct Measured {
    times: Vec<Duration>,
    peak: Option<u64>,
}

impl Measured {
    fn median(&self) -> Duration {
        let mut times = self.times.clone();
        times.sort();
        times[times.len() / 2]
    }

    fn print(&self, size: usize, program: &str) {
        let best = self.times.iter().min().copied().unwrap_or_default();
        let peak = self.peak.map_or_else(|| "unknown".into(), |peak| format!("{} MB", peak / 1_000));
        println!(
            "| {size} | {} | `{program} pkg update` | {:.0} ms | {:.0} ms | {peak} |",
            size.div_ceil(RESOURCES_PER_FILE),
            best.as_secs_f64() * 1e3,
            self.median().as_secs_f64() * 1e3,
        );
    }
}

/// A repository with two versions of a package, and a work tree with the first, edited.
struct World {
    folder: tempfile::TempDir,
}

impl World {
    fn new(size: usize) -> Result<Self> {
        let world = Self { folder: tempfile::tempdir()? };
        let (up, work) = (world.path("up"), world.path("work"));
        for folder in [&up.join("pkg"), &work, &world.path("home")] {
            fs::create_dir_all(folder)?;
        }
        world.git(&up, &["init", "-q", "-b", "main"])?;
        fs::write(up.join("pkg/Kptfile"), "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n")?;
        for version in ["v1", "v2"] {
            write_package(&up.join("pkg"), size, version)?;
            world.git(&up, &["add", "-A"])?;
            world.git(&up, &["commit", "-qm", version])?;
            world.git(&up, &["tag", version])?;
        }
        world.git(&up, &["clone", "-q", "--bare", ".", "../up.git"])?;
        world.git(&work, &["init", "-q"])?;
        let address = format!("file://{}/pkg@v1", world.path("up.git").display());
        world.run(Command::new(env!("CARGO_BIN_EXE_lanai")).args(["pkg", "get", &address, "pkg"]), &work)?;
        edit_package(&work.join("pkg"))?;
        world.git(&work, &["add", "-A"])?;
        world.git(&work, &["commit", "-qm", "edited"])?;
        Ok(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn git(&self, folder: &Path, arguments: &[&str]) -> Result<()> {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(arguments);
        self.run(&mut git, folder)
    }

    fn run(&self, command: &mut Command, folder: &Path) -> Result<()> {
        let home = self.path("home");
        command.current_dir(folder).env("HOME", &home).env("GIT_CONFIG_NOSYSTEM", "1").stdout(Stdio::null());
        let output = command.stderr(Stdio::piped()).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into())
    }

    /// Updates, and takes it back, some times.
    fn measure(&self, program: &str, rounds: usize) -> Result<Measured> {
        let work = self.path("work");
        let report = self.path("peak");
        let measures_memory = is_there("/usr/bin/time");
        let mut times = Vec::new();
        for _ in 0..rounds {
            self.git(&work, &["reset", "-q", "--hard"])?;
            self.git(&work, &["clean", "-fdq"])?;
            let mut command = Command::new(if measures_memory { "/usr/bin/time" } else { program });
            if measures_memory {
                command.args(["-f", "%M", "-o"]).arg(&report).arg(program);
            }
            command.args(["pkg", "update", "pkg@v2"]);
            let begin = Instant::now();
            self.run(&mut command, &work)?;
            times.push(begin.elapsed());
        }
        let peak = fs::read_to_string(&report).ok().and_then(|text| text.trim().parse().ok());
        Ok(Measured { times, peak })
    }
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// All files of a version; the second one changes three of five resources.
fn write_package(folder: &Path, size: usize, version: &str) -> Result<()> {
    for file in 0..size.div_ceil(RESOURCES_PER_FILE) {
        let mut text = String::new();
        for at in 0..RESOURCES_PER_FILE {
            let image = if at < 3 { version } else { "v1" };
            deployment(&mut text, file * RESOURCES_PER_FILE + at, image)?;
        }
        fs::write(folder.join(format!("apps-{file}.yaml")), text)?;
    }
    Ok(())
}

/// The user changes one resource in each file.
fn edit_package(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let text = fs::read_to_string(&path)?;
        fs::write(path, text.replacen("replicas: 1 ", "replicas: 7 ", 1))?;
    }
    Ok(())
}

fn deployment(out: &mut String, at: usize, image: &str) -> Result<()> {
    write!(
        out,
        "---
# Application {at}, see the runbook
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{at}
  namespace: shop
  labels:
    app: app-{at}
    tier: backend
spec:
  replicas: 1 # as many as there are zones
  selector:
    matchLabels:
      app: app-{at}
  template:
    metadata:
      labels:
        app: app-{at}
    spec:
      containers:
      # the one that serves
      - name: main
        image: registry.example.com/app-{at}:{image} # pinned
        ports:
        - name: http
          containerPort: 8080
        env:
        - name: LEVEL
          value: info
        - name: NUMBER
          value: \"{at}\"
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
"
    )?;
    Ok(())
}
