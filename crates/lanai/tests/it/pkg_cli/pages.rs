//! What the page shows is what happens.

use super::World;
use crate::repository::{read, root};

#[test]
fn the_examples_of_the_manual_are_what_happens() {
    let text = read(&root().join("docs/cli-pkg.md"));
    let blocks = text.split("```console\n").skip(1).filter_map(|block| block.split("```").next());
    let commands: usize = blocks.map(check_block).sum();
    assert!(commands >= 12, "the examples were found: {commands}");
}

/// Runs the commands of a block on a machine of its own, and counts them.
///
/// The remote is at `$R` there; commits are shown as `…`. A shell runs the lines, both outputs as one.
fn check_block(block: &str) -> usize {
    let world = World::with_web();
    let place = world.path("").display().to_string();
    let mut code = None;
    let mut commands = 0;
    for step in block.split("$ ").skip(1) {
        let (command, output) = step.split_once('\n').expect("a command is a line");
        let line = command.replace("$R", &world.repo());
        let seen = if command == "echo $?" {
            format!("{}\n", code.expect("a command comes first"))
        } else {
            let line = line.replacen("lanai ", &format!("{} ", env!("CARGO_BIN_EXE_lanai")), 1);
            let seen = world.run_in("desk", "sh", &["-c", &format!("exec 2>&1\n{line}")]);
            (code, commands) = (seen.code, commands + usize::from(command.starts_with("lanai ")));
            seen.stdout
        };
        let seen = seen.replace(&world.repo(), "$R").replace(&place, "/").replace("//", "/");
        let seen = shorten(&seen, &world);
        assert_eq!(seen.trim_end(), output.trim_end(), "{command}");
    }
    commands
}

/// Commits differ from run to run.
fn shorten(text: &str, world: &World) -> String {
    let mut text = text.to_owned();
    for tag in ["v1", "v2"] {
        let commit = world.commit_of(tag);
        text = text.replace(&commit, "…").replace(&commit[..7], "…");
    }
    text
}
