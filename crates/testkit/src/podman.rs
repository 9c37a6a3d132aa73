//! Containers for tests: podman with a store of its own, and images that no registry is needed for.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::skip;

/// The program that images consist of: a shell and its tools, linked to nothing.
const BUSYBOX: &str = "/bin/busybox";
/// How long processes are waited for that end by themselves.
const PATIENCE: Duration = Duration::from_secs(30);
/// What images have of it.
const TOOLS: &[&str] =
    &["cat", "env", "grep", "head", "id", "kill", "ls", "sed", "seq", "sh", "sleep", "tail", "touch", "wc"];
/// The image that every store has: its entrypoint is a shell that runs what the variable `SCRIPT` says.
pub const SHELL_IMAGE: &str = "localhost/shell:v1";
/// The image that every store has whose entrypoint writes what it reads.
pub const CAT_IMAGE: &str = "localhost/cat:v1";

/// A store of images and containers, which goes with this value.
pub struct Podman {
    folder: TempDir,
}

impl Podman {
    /// A store with [`SHELL_IMAGE`] and [`CAT_IMAGE`]; none, with a word about it, where no containers can be had.
    ///
    /// # Panics
    /// When the images cannot be made.
    pub fn new(test: &str) -> Option<Self> {
        if let Err(why) = usable() {
            skip(test, why);
            return None;
        }
        Some(Self::made().expect("images can be made: it was tried"))
    }

    fn made() -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|cause| cause.to_string())?;
        let at = |name: &str| folder.path().join(name);
        let storage = format!(
            "[storage]\ndriver = \"vfs\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n",
            at("graph").display(),
            at("run").display()
        );
        fs::write(at("storage.conf"), storage).map_err(|cause| cause.to_string())?;
        archive(folder.path()).map_err(|cause| cause.to_string())?;
        let podman = Self { folder };
        podman.image(SHELL_IMAGE, r#"["/bin/sh","-c","eval \"$SCRIPT\""]"#)?;
        podman.image(CAT_IMAGE, r#"["/bin/cat"]"#)?;
        Ok(podman)
    }

    /// Makes an image of a shell and its tools with this entrypoint, in JSON.
    ///
    /// # Errors
    /// In podman's words.
    pub fn image(&self, name: &str, entrypoint: &str) -> Result<(), String> {
        let entrypoint = format!("ENTRYPOINT {entrypoint}");
        let archive = self.folder.path().join("root.tar").display().to_string();
        self.podman(&["import", "--quiet", "--change", &entrypoint, &archive, name]).map(|_| ())
    }

    /// Runs podman in this store.
    ///
    /// # Errors
    /// In podman's words.
    pub fn podman(&self, arguments: &[&str]) -> Result<String, String> {
        let output = command("podman").args(arguments).env_clear().envs(self.environment()).output();
        said(output)
    }

    /// The environment of those who work in this store.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let conf = self.folder.path().join("storage.conf").into_os_string();
        vec![
            ("PATH".into(), path),
            ("HOME".into(), self.folder.path().into()),
            ("CONTAINERS_STORAGE_CONF".into(), conf),
        ]
    }

    /// What is left of calls: containers that podman knows, and processes of this store. Nothing, where all is well.
    ///
    /// Who watched over a container ends by itself a moment after it was removed; that is waited for.
    ///
    /// # Panics
    /// When podman does not say.
    #[allow(clippy::disallowed_methods, reason = "processes of others tell nobody here of their end")]
    pub fn left(&self) -> Vec<String> {
        let known = self.podman(&["ps", "--all", "--format", "{{.Names}} {{.Status}}"]);
        let mut left: Vec<String> =
            known.expect("podman lists containers").lines().map(str::to_owned).collect();
        let patience = Instant::now() + PATIENCE;
        let mut processes = self.processes();
        while !processes.is_empty() && Instant::now() < patience {
            thread::sleep(Duration::from_millis(50));
            processes = self.processes();
        }
        left.extend(processes);
        left
    }

    /// The command lines of processes of this store. One that has ended has none, though nobody may have waited for it.
    fn processes(&self) -> Vec<String> {
        let folder = self.folder.path().display().to_string();
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        let lines = processes.map(|process| fs::read(process.path().join("cmdline")).unwrap_or_default());
        let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
        lines.filter(|line| line.contains(&folder)).collect()
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        let _ = self.podman(&["rm", "--all", "--force", "--time", "0"]);
    }
}

/// Whether containers can be had on this machine, tried once.
fn usable() -> Result<(), &'static str> {
    static USABLE: OnceLock<Result<(), String>> = OnceLock::new();
    let tried = USABLE.get_or_init(|| {
        if !Path::new(BUSYBOX).exists() {
            return Err(format!("{BUSYBOX} is not there to make images of"));
        }
        let podman = Podman::made()?;
        let limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"];
        let mut arguments = vec!["run", "--rm", "--network", "none", "--memory", "64m", "--pids-limit", "8"];
        arguments.extend(limits);
        arguments.extend(["--env", "SCRIPT=true", SHELL_IMAGE]);
        podman.podman(&arguments).map(|_| ())
    });
    tried.as_ref().copied().map_err(String::as_str)
}

/// Makes the files of all images.
fn archive(folder: &Path) -> io::Result<()> {
    let root = folder.join("root");
    fs::create_dir_all(root.join("bin"))?;
    fs::create_dir_all(root.join("tmp"))?;
    fs::set_permissions(root.join("tmp"), Permissions::from_mode(0o1777))?;
    fs::copy(BUSYBOX, root.join("bin/busybox"))?;
    for name in TOOLS {
        symlink("busybox", root.join("bin").join(name))?;
    }
    let packed =
        command("tar").arg("-C").arg(&root).arg("-cf").arg(folder.join("root.tar")).arg(".").output();
    said(packed).map(|_| ()).map_err(io::Error::other)
}

#[allow(clippy::disallowed_methods, reason = "tests ask podman itself")]
fn command(program: &str) -> Command {
    Command::new(program)
}

fn said(output: io::Result<Output>) -> Result<String, String> {
    let output = output.map_err(|cause| format!("podman: {cause}"))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
    }
}
