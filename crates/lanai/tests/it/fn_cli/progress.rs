//! What somebody at a terminal sees of a slow function.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use super::{Desk, KPTFILE};
use crate::pkg_cli::progress::Terminal;

#[test]
#[allow(clippy::disallowed_methods, reason = "a program gets a terminal")]
fn a_slow_function_is_seen_on_a_terminal_and_the_bar_goes_away() {
    let desk = Desk::new();
    let pipeline =
        KPTFILE.replace("image: set-labels:v0.2\n      configMap: {tier: front}", "exec: functions/slow");
    desk.write("web/Kptfile", &pipeline);
    // It ends when the bar was seen; the bound is for a test that fails.
    let script = "for i in $(seq 600); do [ -e sign/seen ] && break; sleep 0.1; done; cat";
    desk.write("functions/slow", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(desk.path("functions/slow"), fs::Permissions::from_mode(0o755)).expect("it is ours");
    fs::create_dir(desk.path("sign")).expect("it is ours");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_lanai"), desk.path("kpt")).expect("links can be made");
    let Terminal { mut screen, keyboard } = Terminal::new();
    // Under this name, functions see the folder of their caller.
    let mut child = Command::new(desk.path("kpt"))
        .args(["fn", "render", "web", "--allow-exec"])
        .current_dir(desk.path(""))
        .env("HOME", desk.path("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(keyboard)
        .spawn()
        .expect("it starts");
    let mut seen = String::new();
    let mut buffer = [0; 1024];
    // The last one who has the other end is gone then.
    while let Ok(got @ 1..) = screen.read(&mut buffer) {
        seen += &String::from_utf8_lossy(&buffer[..got]);
        if seen.contains(" of 1: ") {
            desk.write("sign/seen", "");
        }
    }
    assert_eq!(child.wait().expect("it is our child").code(), Some(0), "{seen:?}");
    assert!(seen.contains("\r\x1b[K[....................] 1 of 1: \"functions/slow\" for "), "{seen:?}");
    let (_, behind) = seen.split_at(seen.rfind(" for ").expect("it was seen"));
    let (_, behind) = behind.split_once("\r\x1b[K").expect("the bar goes away");
    assert!(behind.starts_with("[PASS] \"functions/slow\" in "), "{seen:?}");
}
