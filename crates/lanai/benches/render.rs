//! `lanai fn render` as a whole, beside `kpt fn render` with the same functions as programs: read the package, run its pipeline,
//! write it.
//!
//! `cargo bench -p lanai --bench render [RESOURCES…]`. Without numbers: 100, 1,000 and 10,000 resources, and kpt beside 1,000
//! where it is installed and `LANAI_CATALOG_PROGRAMS` names a folder with the programs of the catalog. `docs/performance.md`
//! explains the numbers.

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
const PEER_SIZE: usize = 1_000;

/// The pipelines that are measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pipeline {
    /// set-namespace, set-labels, apply-setters, search-replace.
    Four,
    /// The same, then a script.
    Starlark,
    /// The same, then schemas.
    Schema,
}

impl Pipeline {
    fn name(self) -> &'static str {
        match self {
            Self::Four => "four functions",
            Self::Starlark => "four and starlark",
            Self::Schema => "four and kubeconform",
        }
    }
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if !arguments.iter().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let mut sizes: Vec<usize> = arguments.iter().filter_map(|argument| argument.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![100, 1_000, 10_000];
    }
    println!("| resources | files | pipeline | program | best of rounds | median | peak memory |");
    println!("|---:|---:|---|---|---:|---:|---:|");
    for size in sizes {
        for pipeline in [Pipeline::Four, Pipeline::Starlark, Pipeline::Schema] {
            let world = World::new(size, pipeline)?;
            let ours = world.measure(&Program::Lanai, ROUNDS)?;
            ours.print(size, pipeline, "lanai");
            let programs = env::var_os("LANAI_CATALOG_PROGRAMS").map(PathBuf::from);
            let Some(programs) =
                programs.filter(|_| pipeline == Pipeline::Four && size == PEER_SIZE && is_there("kpt"))
            else {
                continue;
            };
            let theirs = world.measure(&Program::Kpt(programs), 3)?;
            theirs.print(size, pipeline, "kpt");
            let ratio = theirs.median().as_secs_f64() / ours.median().as_secs_f64();
            let memory = match (theirs.peak, ours.peak) {
                (Some(theirs), Some(ours)) => format!("{}.{}", theirs / ours, theirs * 10 / ours % 10),
                _ => "unknown".into(),
            };
            println!("\n{ratio:.0} times as fast as kpt by the medians; memory: {memory} times less\n");
        }
    }
    Ok(())
}

enum Program {
    Lanai,
    Kpt(PathBuf),
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

    fn print(&self, size: usize, pipeline: Pipeline, program: &str) {
        let best = self.times.iter().min().copied().unwrap_or_default();
        let peak = self.peak.map_or_else(|| "unknown".into(), |peak| format!("{} MB", peak / 1_000));
        println!(
            "| {size} | {} | {} | `{program} fn render` | {:.0} ms | {:.0} ms | {peak} |",
            size.div_ceil(RESOURCES_PER_FILE),
            pipeline.name(),
            best.as_secs_f64() * 1e3,
            self.median().as_secs_f64() * 1e3,
        );
    }
}

/// A package, and a copy that is rendered.
struct World {
    folder: tempfile::TempDir,
    pipeline: Pipeline,
}

impl World {
    fn new(size: usize, pipeline: Pipeline) -> Result<Self> {
        let world = Self { folder: tempfile::tempdir()?, pipeline };
        fs::create_dir_all(world.path("pkg"))?;
        for file in 0..size.div_ceil(RESOURCES_PER_FILE) {
            let mut text = String::new();
            for at in 0..RESOURCES_PER_FILE {
                deployment(&mut text, file * RESOURCES_PER_FILE + at)?;
            }
            fs::write(world.path("pkg").join(format!("apps-{file}.yaml")), text)?;
        }
        Ok(world)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Renders a fresh copy, some times.
    fn measure(&self, program: &Program, rounds: usize) -> Result<Measured> {
        let report = self.path("peak");
        let work = self.path("work");
        let measures_memory = is_there("/usr/bin/time");
        let mut times = Vec::new();
        for _ in 0..rounds {
            let _ = fs::remove_dir_all(&work);
            copy(&self.path("pkg"), &work)?;
            fs::write(work.join("Kptfile"), kptfile(self.pipeline, program))?;
            let name = match program {
                Program::Lanai => env!("CARGO_BIN_EXE_lanai"),
                Program::Kpt(_) => "kpt",
            };
            let mut command = Command::new(if measures_memory { "/usr/bin/time" } else { name });
            if measures_memory {
                command.args(["-f", "%M", "-o"]).arg(&report).arg(name);
            }
            command.args(["fn", "render", "--allow-exec"]).arg(&work).env("HOME", self.folder.path());
            // Results that are kept would be all that is measured from the second round on.
            if matches!(program, Program::Lanai) {
                command.arg("--no-cache");
            }
            let begin = Instant::now();
            let output = command.stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
            times.push(begin.elapsed());
            if !output.status.success() {
                return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)).into());
            }
        }
        let peak = fs::read_to_string(&report).ok().and_then(|text| text.trim().parse().ok());
        Ok(Measured { times, peak })
    }
}

fn is_there(program: &str) -> bool {
    Command::new(program).arg("--help").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

fn kptfile(pipeline: Pipeline, program: &Program) -> String {
    let mut text =
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n".to_owned();
    let mut function = |name: &str, config: &str| {
        let step = match program {
            Program::Lanai => format!("  - image: {name}\n"),
            Program::Kpt(folder) => format!("  - exec: {}\n", folder.join(name).display()),
        };
        let _ = write!(text, "{step}    configMap:\n{config}");
    };
    function("set-namespace", "      namespace: production\n");
    function("set-labels", "      team: shop\n      env: production\n");
    function("apply-setters", "      replicas: \"4\"\n      image: registry.example.com/app\n");
    function("search-replace", "      by-value: backend\n      put-value: service\n");
    match pipeline {
        Pipeline::Four => {}
        Pipeline::Starlark => text.push_str(
            "  - image: starlark\n    configMap:\n      source: |\n        for r in ctx.resource_list[\"items\"]:\n          \
             r[\"metadata\"].setdefault(\"annotations\", {})[\"example.com/seen\"] = \"yes\"\n",
        ),
        Pipeline::Schema => text.push_str("  validators:\n  - image: kubeconform\n    configMap:\n      ignore_missing_schemas: \"true\"\n"),
    }
    text
}

fn deployment(out: &mut String, at: usize) -> Result<()> {
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
  replicas: 1 # kpt-set: ${{replicas}}
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
        image: registry.example.com/app-{at}:v1 # pinned
        ports:
        - name: http
          containerPort: 8080
        env:
        - name: MODE
          value: backend # where it runs
        resources:
          requests:
            cpu: 100m
            memory: 128Mi
"
    )?;
    Ok(())
}
