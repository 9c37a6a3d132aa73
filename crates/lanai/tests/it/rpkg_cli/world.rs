//! A server that the tests share, and repositories that each has alone.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tempfile::TempDir;

use crate::errors::without_code;

/// The server of all tests that run; the last one ends it.
static SHARED: Mutex<Weak<World>> = Mutex::new(Weak::new());

pub(crate) struct World {
    place: TempDir,
    server: Child,
}

/// What a command left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl World {
    pub fn shared() -> Arc<Self> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(world) = shared.upgrade() {
            return world;
        }
        let world = Arc::new(Self::start());
        *shared = Arc::downgrade(&world);
        world
    }

    fn start() -> Self {
        let place = tempfile::tempdir().expect("a temporary folder can be made");
        for folder in ["home", "bin", "git"] {
            fs::create_dir(place.path().join(folder)).expect("it is new");
        }
        for name in ["porchctl", "kpt"] {
            let link = place.path().join("bin").join(name);
            std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lanai"), link).expect("it is new");
        }
        let mut command = bare(Path::new(env!("CARGO_BIN_EXE_lanai")), place.path());
        command.args(["serve", "--listen", "127.0.0.1:0"]).stderr(Stdio::piped());
        let mut server = command.spawn().expect("it starts");
        let mut said = BufReader::new(server.stderr.take().expect("it is a pipe")).lines();
        let listens = said.by_ref().any(|line| line.is_ok_and(|line| line.starts_with("listening on ")));
        assert!(listens, "it says where it listens");
        // What else it says, somebody must read.
        std::thread::spawn(move || said.for_each(drop));
        Self { place, server }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.place.path().join(path)
    }

    /// A command of the program, with nothing of the environment but what finds the server.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = bare(Path::new(env!("CARGO_BIN_EXE_lanai")), self.place.path());
        command.args(arguments);
        command
    }

    /// The same under another name.
    pub fn command_as(&self, name: &str, arguments: &[&str]) -> Command {
        let mut command = bare(&self.path("bin").join(name), self.place.path());
        command.args(arguments);
        command
    }

    /// Lines for a shell.
    pub fn shell(&self, lines: &str) -> Command {
        let mut command = bare(Path::new("sh"), self.place.path());
        command.args(["-c", lines]);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Seen {
        seen(self.command(arguments), "")
    }

    /// Runs a command that must do what it is asked to, and gives back what it printed.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let seen = self.run(arguments);
        assert_eq!(seen.code, Some(0), "lanai {arguments:?}: {seen:?}");
        seen.stdout
    }

    pub fn porchctl(&self, arguments: &[&str]) -> Seen {
        seen(self.command_as("porchctl", arguments), "")
    }

    pub fn git(&self, folder: &str, arguments: &[&str]) -> String {
        let mut command = bare(Path::new("git"), self.place.path());
        let identity = [("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")];
        let output = command.current_dir(self.path(folder)).args(arguments).envs(identity).output();
        let output = output.expect("git starts");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Makes an empty repository of git, and gives back its address.
    pub fn remote(&self, name: &str) -> String {
        self.git("git", &["init", "-q", "--bare", "-b", "main", &format!("{name}.git")]);
        self.path(&format!("git/{name}.git")).display().to_string()
    }

    /// Makes a repository and registers it.
    pub fn repository(&self, name: &str) {
        let address = self.remote(name);
        self.ok(&["repo", "reg", &address, "--name", name, "--create-branch", "--wait"]);
    }

    /// Makes a namespace.
    pub fn namespace(&self, name: &str) {
        let object = format!("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {name}\n");
        let mut command = bare(Path::new("kubectl"), self.place.path());
        command.args(["apply", "-f", "-", "--kubeconfig"]).arg(self.path("data/kubeconfig"));
        let seen = seen(command, &object);
        assert_eq!(seen.code, Some(0), "{seen:?}");
    }

    pub fn publish(&self, name: &str) {
        self.ok(&["rpkg", "propose", name]);
        self.ok(&["rpkg", "approve", name]);
    }

    /// Makes a package with files, and publishes it.
    pub fn package(
        &self,
        repository: &str,
        package: &str,
        workspace: &str,
        files: &[(&str, &str)],
    ) -> String {
        self.ok(&["rpkg", "init", package, "--repository", repository, "--workspace", workspace]);
        let name = format!("{repository}.{package}.{workspace}");
        self.put(&name, files);
        self.publish(&name);
        name
    }

    /// Makes a further revision with files, and publishes it.
    pub fn revise(&self, source: &str, workspace: &str, files: &[(&str, &str)]) -> String {
        let made =
            self.ok(&["rpkg", "copy", source, "--workspace", workspace, "-o", "jsonpath={.metadata.name}"]);
        self.put(&made, files);
        self.publish(&made);
        made
    }

    /// Writes files into a draft.
    pub fn put(&self, name: &str, files: &[(&str, &str)]) {
        let folder = tempfile::tempdir_in(self.place.path()).expect("a folder can be made");
        let folder = folder.path().join("pulled").display().to_string();
        self.ok(&["rpkg", "pull", name, &folder]);
        for (path, text) in files {
            fs::write(Path::new(&folder).join(path), text).expect("it can be written");
        }
        self.ok(&["rpkg", "push", name, &folder]);
    }
}

#[allow(clippy::disallowed_methods, reason = "the binary is what is tested")]
fn bare(program: &Path, place: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir(place);
    command.env("HOME", place.join("home")).env("LANAI_DATA_DIR", place.join("data"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// Runs a command with an input.
pub(crate) fn seen(mut command: Command, input: &str) -> Seen {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // Who reads nothing may be gone already.
    let _ = child.stdin.take().expect("it is a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("it ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Seen {
        code: output.status.code(),
        stdout: text(&output.stdout),
        stderr: without_code(&text(&output.stderr)),
    }
}

/// A result: a code, what stands on standard output, and on standard error output.
pub(crate) fn expect(seen: &Seen, code: i32, stdout: &str, stderr: &str) {
    let expected = Seen { code: Some(code), stdout: stdout.into(), stderr: stderr.into() };
    assert_eq!(*seen, expected);
}
