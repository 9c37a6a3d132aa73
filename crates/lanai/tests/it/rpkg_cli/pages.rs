//! What the pages show is what happens.

use super::world::{World, seen};
use crate::repository::{read, root};

#[test]
fn the_examples_of_the_pages_are_what_happens() {
    let world = World::shared();
    world.repository("blueprints");
    world.repository("fleet");
    world.remote("catalog");
    for page in ["docs/cli-repo.md", "docs/cli-rpkg.md"] {
        let text = read(&root().join(page));
        let blocks: Vec<&str> =
            text.split("```console\n").skip(1).filter_map(|block| block.split("```").next()).collect();
        assert!(!blocks.is_empty(), "{page}");
        for block in blocks {
            check_block(&world, block);
        }
    }
}

/// Runs the commands of a block, both outputs as one. Repositories are in `$G`; commits are shown as `…`.
fn check_block(world: &World, block: &str) {
    let git = world.path("git").display().to_string();
    for step in block.split("$ ").skip(1) {
        let (command, output) = step.split_once('\n').expect("a command is a line");
        let line =
            command.replace("$G", &git).replacen("lanai ", &format!("{} ", env!("CARGO_BIN_EXE_lanai")), 1);
        let shell = world.shell(&format!("exec 2>&1\n{line}"));
        let shown = seen(shell, "").stdout.replace(&git, "$G");
        assert_eq!(without_commits(&shown).trim_end(), output.trim_end(), "{command}");
    }
}

/// Commits differ from run to run.
fn without_commits(text: &str) -> String {
    let line = |line: &str| match line.split_once("commit: ") {
        Some((before, _)) => format!("{before}commit: …\n"),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect::<Vec<_>>().concat()
}
