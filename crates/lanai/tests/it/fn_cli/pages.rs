//! What the pages show is what happens.

use std::path::Path;

use super::{Desk, without_durations};
use crate::repository::{read, root};

#[test]
fn the_examples_of_the_manual_are_what_happens() {
    let text = read(&root().join("docs/cli-fn.md"));
    let blocks = text.split("```console\n").skip(1).filter_map(|block| block.split("```").next());
    let commands: usize = blocks.map(check_block).sum();
    assert!(commands >= 8, "the examples were found: {commands}");
}

/// Runs the commands of a block in a folder of its own, and counts them. A shell runs the lines, both outputs as one.
fn check_block(block: &str) -> usize {
    let desk = Desk::new();
    let mut commands = 0;
    for step in block.split("$ ").skip(1) {
        let (command, output) = step.split_once('\n').expect("a command is a line");
        let line = command.replace("lanai ", &format!("{} ", env!("CARGO_BIN_EXE_lanai")));
        let seen = desk.run(Path::new("sh"), &["-c", &format!("exec 2>&1\n{line}")], "");
        commands += usize::from(command.contains("lanai "));
        assert_eq!(without_durations(&seen.stdout).trim_end(), output.trim_end(), "{command}");
    }
    commands
}
