//! The first page that people read: its commands work, and say what it shows.
//!
//! `UPDATE=1` writes what the commands said into the page.

use crate::demo::{Running, has_kubectl};
use crate::repository::{read, root};

/// Where the page has its world.
const SHOWN: &str = "/tmp/lanai-demo";

#[test]
fn the_commands_of_getting_started_say_what_the_page_shows() {
    if !has_kubectl("lanai::getting_started::the_commands_of_getting_started_say_what_the_page_shows") {
        return;
    }
    let demo = Running::start(&[]);
    let page = root().join("docs/getting-started.md");
    let before = read(&page);
    let mut after = String::new();
    let mut commands = 0;
    for (number, part) in before.split("```").enumerate() {
        if number > 0 {
            after.push_str("```");
        }
        match part.strip_prefix("console\n") {
            Some(block) => {
                let (text, ran) = run_block(&demo, block);
                after.push_str("console\n");
                after.push_str(&text);
                commands += ran;
            }
            None => after.push_str(part),
        }
    }
    assert!(commands >= 15, "the commands were found: {commands}");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&page, &after).unwrap();
        return;
    }
    let lines = |text: &str| text.lines().map(settled).collect::<Vec<_>>().join("\n");
    similar_or_panic(&lines(&before), &lines(&after));
}

/// Runs the commands of a block, and gives the block with what they said.
fn run_block(demo: &Running, block: &str) -> (String, usize) {
    let mut text = String::new();
    let mut ran = 0;
    let mut lines = block.lines();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else { continue };
        let mut command = command.to_owned();
        if command.ends_with("<<'EOF'") {
            for line in lines.by_ref() {
                command.push('\n');
                command.push_str(line);
                if line == "EOF" {
                    break;
                }
            }
        }
        let folder = demo.folder().display().to_string();
        let (_, output) = demo.shell(&command.replace(SHOWN, &folder));
        text.push_str("$ ");
        text.push_str(&command);
        text.push('\n');
        // A heading is as wide as the folder that stands below it.
        let wide = " ".repeat(folder.len().saturating_sub(SHOWN.len()));
        for line in output.replace(&folder, SHOWN).lines() {
            text.push_str(&if line.starts_with("NAME ") && line.contains(" ADDRESS ") {
                line.replacen(&wide, "", 1)
            } else {
                line.to_owned()
            });
            text.push('\n');
        }
        ran += 1;
    }
    (text, ran)
}

/// A line without what differs from run to run: widths of columns, ages, times and commits.
fn settled(line: &str) -> String {
    let words: Vec<String> = line
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| {
            let letters = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
            let is_hash = letters.len() >= 7 && letters.chars().all(|letter| letter.is_ascii_hexdigit());
            let is_age = letters.ends_with(['s', 'm', 'h'])
                && letters.len() > 1
                && letters
                    .trim_end_matches(['s', 'm', 'h'])
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric())
                && letters.starts_with(|letter: char| letter.is_ascii_digit());
            let is_time = letters.ends_with('Z') && letters.contains('T') && letters.starts_with("20");
            if is_hash || is_age || is_time { "…".to_owned() } else { word.to_owned() }
        })
        .collect();
    let indent = line.len() - line.trim_start().len();
    format!("{}{}", " ".repeat(indent), words.join(" "))
}

fn similar_or_panic(before: &str, after: &str) {
    for (shown, seen) in before.lines().zip(after.lines()) {
        assert_eq!(shown, seen, "docs/getting-started.md (UPDATE=1 writes what is so)");
    }
    assert_eq!(before.lines().count(), after.lines().count(), "docs/getting-started.md");
}
