//! Commands that are killed leave the old files or the new ones.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::Desk;

/// How many files the package has.
const FILES: usize = 60;

fn file(number: usize) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{number}\n")
}

/// Renders, and kills that after a while.
#[allow(clippy::disallowed_methods, reason = "tests may start the program that they test")]
fn render_and_kill(desk: &Desk, after: Duration) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_lanai"))
        .args(["fn", "render", "web"])
        .current_dir(desk.path(""))
        .env("HOME", desk.path("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be started");
    // Where it is by then differs from run to run; what is asserted holds everywhere.
    std::thread::sleep(after);
    let _ = child.kill();
    child.wait().expect("it ends");
}

#[test]
fn a_render_that_is_killed_leaves_the_old_files_or_the_new_ones() {
    for milliseconds in [0, 10, 20, 40, 60, 90, 130, 180, 250, 400] {
        let desk = Desk::new();
        for number in 0..FILES {
            desk.write(&format!("web/c{number}.yaml"), &file(number));
        }
        render_and_kill(&desk, Duration::from_millis(milliseconds));
        // The next command that changes something finishes or undoes what was begun.
        let next = desk.lanai(&["fn", "eval", "web", "--image", "no-op"]);
        assert_eq!(next.code, Some(0), "{}", next.stderr);
        let changed = |number: &usize| {
            let text = desk.read(&format!("web/c{number}.yaml"));
            let (old, new) = (file(*number), format!("{}  labels:\n    tier: front\n", file(*number)));
            assert!(text == old || text == new, "a file is neither: {text}");
            text == new
        };
        let count = (0..FILES).filter(changed).count();
        assert!(count == 0 || count == FILES, "{count} of {FILES} files are new after {milliseconds} ms");
        let told = desk.read("web/Kptfile").contains("type: Rendered");
        assert_eq!(told, count == FILES, "the status goes with the files");
        assert!(!desk.path("web/.lanai-change").exists());
    }
}
