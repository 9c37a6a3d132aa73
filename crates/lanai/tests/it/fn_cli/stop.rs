//! Commands that are ended early leave nothing behind.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{CONFIG, Desk};

/// Ends a command while its function runs, which sleeps for so many seconds; tells how it ended, and what it said before.
#[allow(clippy::disallowed_methods, reason = "tests may start the program that they test")]
fn ended(desk: &Desk, name: &str, signal: Signal, seconds: &str) -> (Option<i32>, String) {
    desk.write("functions/slow", &format!("#!/bin/sh\nsleep {seconds}\n"));
    let program = desk.path("functions/slow");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    desk.write(
        "web/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: web\npipeline:\n  mutators:\n    - exec: functions/slow\n",
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_lanai"))
        .arg0(name)
        .args(["fn", "render", "web", "--allow-exec"])
        .current_dir(desk.path(""))
        .env("HOME", desk.path("home"))
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut said = String::new();
    while !said.contains("[RUNNING]") && lines.read_line(&mut said).expect("it is text") > 0 {}
    assert!(desk.path("web/.lanai-change/lock").is_file(), "it is locked while it runs: {said}");
    kill_process(Pid::from_child(&child), signal).expect("it runs");
    let _ = lines.read_to_string(&mut said);
    let status = child.wait().expect("it ends");
    (status.code(), said)
}

#[test]
fn a_signal_leaves_no_lock_no_process_and_no_change() {
    for (name, signal, code) in
        [("lanai", Signal::TERM, 143), ("lanai", Signal::INT, 130), ("kpt", Signal::TERM, 143)]
    {
        let desk = Desk::new();
        let seconds = format!("7{}{}", std::process::id(), signal.as_raw());
        let (ended, said) = ended(&desk, name, signal, &seconds);
        assert_eq!(ended, Some(code), "{name}: {said}");
        assert!(said.ends_with("\nstopped: nothing was written\n"), "{name}: {said}");
        assert!(!desk.path("web/.lanai-change").exists(), "{name}");
        assert!(!desk.read("web/Kptfile").contains("status"), "{name}: {}", desk.read("web/Kptfile"));
        assert_eq!(desk.read("web/settings.yaml"), CONFIG);
        assert!(!runs(&seconds), "{name}: the function is gone");
    }
}

/// Whether a process runs that has this argument.
fn runs(argument: &str) -> bool {
    let entries = fs::read_dir("/proc").expect("there are processes").flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).any(|line| line.contains(argument))
}
