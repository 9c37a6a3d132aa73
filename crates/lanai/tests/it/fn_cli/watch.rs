//! `lanai fn render --watch`.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::Desk;

#[test]
#[allow(clippy::disallowed_methods, reason = "tests may start the program that they test")]
fn a_change_is_rendered() {
    let desk = Desk::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_lanai"))
        .args(["fn", "render", "web", "--watch"])
        .current_dir(desk.path(""))
        .env("HOME", desk.path("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it can be started");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut rendered = || lines.by_ref().flatten().any(|line| line.starts_with("Successfully executed"));
    assert!(rendered());
    assert!(desk.read("web/settings.yaml").contains("tier: front"));
    desk.write("web/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n");
    assert!(rendered());
    assert!(desk.read("web/more.yaml").contains("tier: front"), "{}", desk.read("web/more.yaml"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}
