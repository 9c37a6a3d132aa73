//! What the pages show is what happens.

use super::{Folder, read, root};

/// The files that the pages speak of, besides the demo.
const SHOP: &str = "kind: Service\nmetadata: {name: shop}\n---\nkind: ConfigMap\nmetadata: {name: shop}\n";
const NUMBERS: &str = "a: 1   # the first\n";

#[test]
fn the_examples_of_the_readme_are_what_happens() {
    assert!(check_page("README.md") >= 2, "the examples were found");
}

#[test]
fn the_examples_of_the_manual_are_what_happens() {
    assert!(check_page("docs/cli-yaml.md") >= 19, "the examples were found");
}

/// Runs the commands of a page, each block in a folder of its own, and counts them.
fn check_page(page: &str) -> usize {
    let text = read(&root().join(page));
    let blocks = text.split("```console\n").skip(1).filter_map(|block| block.split("```").next());
    blocks.filter(|block| block.starts_with("$ lanai ")).map(check_block).sum()
}

fn check_block(block: &str) -> usize {
    let demo = read(&root().join("demo/deployment.yaml"));
    let folder = Folder::with(&[("deployment.yaml", &demo), ("shop.yaml", SHOP), ("numbers.yaml", NUMBERS)]);
    let mut code = None;
    let mut commands = 0;
    for step in block.split("$ ").skip(1) {
        let (command, output) = step.split_once('\n').expect("a command is a line");
        let seen = if command == "echo $?" {
            format!("{}\n", code.expect("a command comes first"))
        } else {
            let (command, input) = command.split_once(" < ").unwrap_or((command, ""));
            let input = if input.is_empty() { String::new() } else { folder.text(input) };
            let words = words(command.strip_prefix("lanai yaml ").expect(command));
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let seen = folder.run_whole(&words, &input, &[]);
            (code, commands) = (seen.code, commands + 1);
            seen.stdout + &seen.stderr
        };
        assert_eq!(seen.trim_end(), output.trim_end(), "{command}");
    }
    commands
}

/// The words of a command line as a shell splits it; of quotes it knows the single ones.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (at, part) in line.split('\'').enumerate() {
        let mut pieces = if at % 2 == 1 { vec![part] } else { part.split(' ').collect() }.into_iter();
        let word = words.last_mut().expect("there is a first word");
        word.push_str(pieces.next().unwrap_or_default());
        words.extend(pieces.map(String::from));
    }
    words.retain(|word| !word.is_empty());
    words
}
