//! `lanai doctor`: each thing is broken for real, and it says so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::demo::program;

/// A machine with a data directory that a server had.
struct Machine {
    home: tempfile::TempDir,
    data: PathBuf,
}

impl Machine {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let data = home.path().join("data");
        let mut command = program(env!("CARGO_BIN_EXE_lanai"));
        let shown = data.to_str().expect("it is text");
        let made = command.args(["demo", "--once", "--dir", shown]).output().expect("it runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self { home, data }
    }

    fn doctor(&self, more: &[(&str, &str)]) -> (Option<i32>, String) {
        let mut command = program(env!("CARGO_BIN_EXE_lanai"));
        command.arg("doctor").env("LANAI_DATA_DIR", &self.data).current_dir(self.home.path());
        command.env("HOME", self.home.path());
        for name in ["KUBECONFIG", "HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"] {
            command.env_remove(name);
        }
        let output = command.envs(more.iter().copied()).output().expect("it runs");
        (output.status.code(), String::from_utf8(output.stdout).expect("it is text"))
    }

    /// Looks again, and finds this line.
    fn check(&self, more: &[(&str, &str)], code: i32, line: &[&str]) {
        let (found, text) = self.doctor(more);
        let is_there = text.lines().any(|one| line.iter().all(|part| one.contains(part)));
        assert!(is_there, "{line:?} in:\n{text}");
        assert_eq!(found, Some(code), "{text}");
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.home.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn each_thing_that_is_broken_is_told_with_what_to_do() {
    let machine = Machine::new();
    machine.check(&[], 0, &["ok ", "store: whole"]);
    machine.check(&[], 0, &["ok ", "lock: free"]);
    machine.check(&[], 0, &["ok ", "kubeconfig: ", "names https://127.0.0.1:"]);

    // Other programs.
    machine.check(&[("PATH", "/nonexistent")], 0, &["warning ", "git: it is not on PATH", "install git"]);
    machine.check(&[("PATH", "/nonexistent")], 0, &["warning ", "kubectl: it is not on PATH"]);
    let old = machine.write("bin/git", "#!/bin/sh\necho git version 2.11.0\n");
    set_mode(&old, 0o755);
    let path = old.parent().expect("a folder").to_str().expect("it is text");
    machine.check(&[("PATH", path)], 0, &["warning ", "git: git version 2.11.0", "2.30 or newer"]);

    // Proxies.
    let proxy = ("HTTPS_PROXY", "http://me:secret@proxy.example.com:3128");
    machine.check(&[proxy], 0, &["warning ", "proxies: proxy.example.com:3128", "NO_PROXY"]);
    machine.check(&[proxy, ("NO_PROXY", "localhost,127.0.0.1")], 0, &["ok ", "proxies: "]);
    assert!(!machine.doctor(&[proxy]).1.contains("secret"), "a password is not shown");

    // The kubeconfig.
    let broken = machine.write("broken", "clusters: [\n");
    machine.check(&[("KUBECONFIG", broken.to_str().unwrap())], 1, &["problem ", "kubeconfig: "]);
    let lost = machine.write("lost", "current-context: gone\ncontexts: []\n");
    machine.check(
        &[("KUBECONFIG", lost.to_str().unwrap())],
        1,
        &["problem ", "there is no context \"gone\""],
    );
    machine.check(&[("KUBECONFIG", "/nonexistent")], 1, &["problem ", "there is no such file"]);

    // A change that was interrupted.
    fs::create_dir(machine.home.path().join(".lanai-change")).unwrap();
    machine.check(&[], 0, &["warning ", "interrupted changes: "]);
    fs::remove_dir(machine.home.path().join(".lanai-change")).unwrap();

    // The data directory.
    set_mode(&machine.data.join("ca.key"), 0o644);
    machine.check(&[], 1, &["problem ", "others can read ca.key", "chmod 600 "]);
    set_mode(&machine.data.join("ca.key"), 0o600);
    let lock = fs::File::open(machine.data.join("store.lock")).unwrap();
    lock.lock().unwrap();
    machine.check(&[], 0, &["ok ", "lock: a server runs"]);
    drop(lock);
    let store = machine.data.join("store.db");
    let whole = fs::read(&store).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() / 2;
    damaged[middle..middle + 4_096].fill(0x5a);
    fs::write(&store, &damaged).unwrap();
    machine.check(&[], 1, &["problem ", "store: ", "lanai store restore"]);
    fs::write(&store, whole).unwrap();
    machine.check(&[], 0, &["0 problem(s)"]);
}

#[test]
fn programs_can_read_what_it_finds() {
    let home = tempfile::tempdir().unwrap();
    let mut command = program(env!("CARGO_BIN_EXE_lanai"));
    let output = command
        .args(["doctor", "-o", "json"])
        .current_dir(home.path())
        .env("HOME", home.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in ["\"problems\": ", "\"warnings\": ", "\"name\": \"cage\"", "\"state\": \"ok\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
