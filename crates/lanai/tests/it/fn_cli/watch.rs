//! `lanai fn render --watch`.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::Desk;

/// How long a change may take to arrive on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn a_change_is_rendered() {
    let desk = Desk::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_lanai"))
        .args(["fn", "render", "web", "--watch"])
        .current_dir(desk.path(""))
        .env("HOME", desk.path("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be started");
    let came = |path: &str| {
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            if desk.read(path).contains("tier: front") {
                return true;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        false
    };
    let first = came("web/settings.yaml");
    desk.write("web/more.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n");
    let second = came("web/more.yaml");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(first && second, "{first} {second}");
}
