//! `lanai fn`, as a program.

mod containers;
mod eval;
mod grants;
mod killed;
mod modules;
mod pages;
mod progress;
mod render;
mod stop;
mod streams;
mod watch;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::errors::without_code;

/// A folder to work in.
pub(crate) struct Desk {
    place: TempDir,
}

/// What a command left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub code: Option<i32>,
    pub stdout: String,
    /// Durations are `0s` in it.
    pub stderr: String,
}

pub(crate) const KPTFILE: &str = "\
apiVersion: kpt.dev/v1
kind: Kptfile # the root
metadata:
  name: web
pipeline:
  mutators:
    - image: set-labels:v0.2
      configMap: {tier: front}
";

pub(crate) const CONFIG: &str = "\
# Settings of the shop.
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings   # by name
data:
  colour: \"blue\"
";

impl Desk {
    /// A folder with the package `web`.
    pub fn new() -> Self {
        let desk = Self { place: tempfile::tempdir().expect("a temporary folder can be made") };
        desk.write("web/Kptfile", KPTFILE);
        desk.write("web/settings.yaml", CONFIG);
        desk
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("folders can be made");
        fs::write(path, text).expect("files can be written");
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| format!("{path}: {error}"))
    }

    pub fn lanai(&self, arguments: &[&str]) -> Seen {
        self.with_input(arguments, "")
    }

    pub fn with_input(&self, arguments: &[&str], input: &str) -> Seen {
        self.run(Path::new(env!("CARGO_BIN_EXE_lanai")), arguments, input)
    }

    #[allow(clippy::disallowed_methods, reason = "tests may start the program that they test")]
    pub fn run(&self, program: &Path, arguments: &[&str], input: &str) -> Seen {
        let mut child = Command::new(program)
            .args(arguments)
            .current_dir(self.place.path())
            .env("HOME", self.path("home"))
            .env_remove("KPT_IMAGE_PREFIX")
            // Whether containers can be had must not make a difference; tests that want them name a store of their own.
            .env("KRM_FN_RUNTIME", "none")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it can be started");
        // A command that does not read its input is none that fails.
        let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
        let output = child.wait_with_output().expect("it ends");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Seen {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: without_code(&without_durations(&text(&output.stderr))),
        }
    }
}

/// Durations differ from run to run.
pub(crate) fn without_durations(text: &str) -> String {
    let lines = text.lines().map(|line| match line.rsplit_once(" in ") {
        Some((before, _)) if line.starts_with("[PASS]") || line.starts_with("[FAIL]") => {
            format!("{before} in 0s\n")
        }
        _ => format!("{line}\n"),
    });
    lines.collect()
}
