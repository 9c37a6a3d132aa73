//! A machine of the test's own: a home folder, a remote, and a folder to work in.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::errors::without_code;

/// What the remote has at first.
pub(crate) const KPTFILE: &str = "\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: web # as upstream calls it
info:
  description: a web server
";

pub(crate) const DEPLOYMENT: &str = "\
# what serves
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
spec:
  replicas: 1   # enough for now
  template:
    spec:
      containers:
      - name: app
        image:   web:1
";

/// What the conflict about the replicas of [`DEPLOYMENT`] is called.
pub(crate) const REPLICAS: &str = "deploy.yaml:Deployment.apps/shop/web#spec.replicas";

/// A machine. Everything on it goes away with this.
pub(crate) struct World {
    place: TempDir,
}

/// What a command left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    /// A machine with an empty remote, and an empty folder `work` that is a repository of git.
    pub fn new() -> Self {
        let world = Self { place: tempfile::tempdir().expect("a temporary folder can be made") };
        for folder in ["home", "desk", "upstream", "outside"] {
            fs::create_dir(world.path(folder)).expect("it is new");
        }
        world.git("upstream", &["init", "-q", "-b", "main"]);
        world.git("desk", &["init", "-q", "-b", "main"]);
        world.git("desk", &["commit", "-q", "--allow-empty", "-m", "nothing"]);
        world.git(".", &["init", "-q", "--bare", "-b", "main", "remote.git"]);
        world
    }

    /// A machine whose remote has the package `web` in two versions: `v1`, and `v2` with another image and replicas.
    pub fn with_web() -> Self {
        let world = Self::new();
        world.publish(
            "v1",
            &[("web/Kptfile", KPTFILE), ("web/deploy.yaml", DEPLOYMENT), ("web/README.md", "web\n")],
        );
        let newer = DEPLOYMENT.replace("replicas: 1", "replicas: 2").replace("web:1", "web:2");
        world.publish("v2", &[("web/deploy.yaml", &newer)]);
        world
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    /// What `lanai pkg get` is told for a folder of the remote.
    pub fn address(&self, rest: &str) -> String {
        format!("{}.git/{rest}", self.repo())
    }

    /// What Kptfiles call the remote.
    pub fn repo(&self) -> String {
        format!("file://{}", self.path("remote").display())
    }

    pub fn read(&self, path: &str) -> String {
        let text = fs::read_to_string(self.path(path)).map_err(|error| format!("{path}: {error}"));
        text.expect("a file can be read")
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it has a parent")).expect("folders can be made");
        fs::write(path, text).expect("a file can be written");
    }

    /// Replaces a text that must be in a file.
    pub fn edit(&self, path: &str, from: &str, to: &str) {
        let text = self.read(path);
        assert!(text.contains(from), "{path} has {from:?}:\n{text}");
        self.write(path, &text.replace(from, to));
    }

    /// Commits files to the remote and tags them. A text of `-` removes a file.
    pub fn publish(&self, tag: &str, files: &[(&str, &str)]) {
        for (path, text) in files {
            let path = format!("upstream/{path}");
            if *text == "-" {
                fs::remove_file(self.path(&path)).expect("it is there");
            } else {
                self.write(&path, text);
            }
        }
        self.git("upstream", &["add", "-A"]);
        self.git("upstream", &["commit", "-q", "-m", tag]);
        self.git("upstream", &["tag", tag]);
        let remote = self.path("remote.git").display().to_string();
        self.git("upstream", &["push", "-q", &remote, "HEAD:main", tag]);
    }

    /// Commits all that is in `work`.
    pub fn commit(&self) {
        self.git("desk", &["add", "-A"]);
        self.git("desk", &["commit", "-q", "--allow-empty", "-m", "desk"]);
    }

    /// The commit of a tag.
    pub fn commit_of(&self, tag: &str) -> String {
        self.git("upstream", &["rev-parse", &format!("{tag}^{{commit}}")]).trim().to_owned()
    }

    /// Fetches `web` at `v1` to `work/web`, and commits it.
    pub fn get_web(&self) {
        let seen = self.lanai(&["get", &self.address("web@v1")]);
        assert_eq!(seen.code, Some(0), "{seen:?}");
        self.commit();
    }

    /// Runs `lanai pkg` in `work`.
    pub fn lanai(&self, arguments: &[&str]) -> Seen {
        self.run_in("desk", env!("CARGO_BIN_EXE_lanai"), &[&["pkg"], arguments].concat())
    }

    /// Runs `kpt pkg` in `work`.
    pub fn kpt(&self, arguments: &[&str]) -> Seen {
        self.run_in("desk", "kpt", &[&["pkg"], arguments].concat())
    }

    /// Runs git, which must succeed.
    pub fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let seen = self.run_in(folder, "git", arguments);
        assert_eq!(seen.code, Some(0), "{arguments:?}: {seen:?}");
        seen.stdout
    }

    /// Runs a program with an environment of its own.
    pub fn run_in(&self, folder: &str, program: &str, arguments: &[&str]) -> Seen {
        self.run_with(folder, program, arguments, &[])
    }

    /// Runs a program with an environment of its own, and more variables in it.
    #[allow(clippy::disallowed_methods, reason = "this is the test that runs the binary")]
    pub fn run_with(
        &self,
        folder: &str,
        program: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Seen {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(self.path(folder))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("KPT_CACHE_DIR", self.path("home/kpt"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "somebody")))
            .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "somebody@example.com")))
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{program}: {error}"))
            .expect("a program can be started");
        let text = |bytes| String::from_utf8(bytes).expect("the output is UTF-8");
        Seen {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: without_code(&text(output.stderr)),
        }
    }

    /// Runs `lanai pkg`, which must fail with that text, and change nothing.
    #[track_caller]
    pub fn check_failure(&self, arguments: &[&str], code: i32, stderr: &str) {
        self.commit();
        let seen = self.lanai(arguments);
        let told = seen.stderr.replace(&self.place.path().display().to_string(), "~");
        assert_eq!((seen.code, told.as_str()), (Some(code), stderr), "{arguments:?}");
        assert_eq!(self.git("desk", &["status", "--porcelain"]), "", "{arguments:?}");
    }

    /// The names of all files in a folder, sorted, without what belongs to git.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let root = self.path(folder);
        let mut found = Vec::new();
        let mut open = vec![root.clone()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).expect("it is there") {
                let entry = entry.expect("it can be read");
                if entry.file_name() == ".git" {
                    continue;
                }
                if entry.file_type().expect("it is there").is_dir() {
                    open.push(entry.path());
                } else {
                    found.push(entry.path().strip_prefix(&root).expect("it is below").display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    /// Whether kpt can be run beside.
    pub fn has_kpt(test: &str) -> bool {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let there = std::env::split_paths(&paths).any(|folder| folder.join("kpt").is_file());
        if !there {
            lanai_testkit::skip(test, "kpt is not installed");
        }
        there
    }
}
