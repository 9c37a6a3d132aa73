//! What the commands say of themselves: completion for shells, and the pages of `docs/reference`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::demo::program;
use crate::repository::{read, root};

fn lanai(arguments: &[&str]) -> String {
    let output = program(env!("CARGO_BIN_EXE_lanai")).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it is text")
}

/// Compares a page with what it should be, or writes it.
fn compare(page: &str, wanted: &str) {
    let path: PathBuf = root().join("docs/reference").join(format!("{page}.md"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, wanted).expect("the page can be written");
    }
    assert_eq!(read(&path), wanted, "docs/reference/{page}.md; UPDATE=1 writes it");
}

#[test]
fn the_reference_is_what_the_program_says() {
    let index = lanai(&["reference"]);
    compare("README", &index);
    let rows = index.lines().filter_map(|line| line.strip_prefix("| [`lanai "));
    let commands: BTreeSet<String> = rows.filter_map(|row| Some(row.split_once('`')?.0.to_owned())).collect();
    assert!(commands.contains("serve") && commands.contains("fn"), "{commands:?}");
    for command in &commands {
        compare(command, &lanai(&["reference", command]));
    }
    let pages = std::fs::read_dir(root().join("docs/reference")).unwrap();
    let pages: BTreeSet<String> = pages
        .filter_map(|page| Some(page.unwrap().file_name().to_str()?.strip_suffix(".md")?.to_owned()))
        .filter(|page| page != "README")
        .collect();
    assert_eq!(pages, commands, "a page for each command, and no other");
}

#[test]
fn shells_take_what_completion_prints() {
    for (shell, check) in [("bash", "bash -n"), ("zsh", "zsh -n"), ("fish", "fish --no-execute")] {
        let text = lanai(&["completion", shell]);
        assert!(text.contains("lanai") && text.contains("kubeconfig"), "{shell}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &text).unwrap();
        let name = format!("lanai::manual::shells_take_what_completion_prints ({shell})");
        let (interpreter, flag) = check.split_once(' ').unwrap();
        match program(interpreter).arg(flag).arg(file.path()).output() {
            Ok(output) => {
                assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
            }
            Err(_) => lanai_testkit::skip(&name, "the shell is not installed"),
        }
    }
    // A real shell completes a real word.
    let script = format!(
        "source <({0} completion bash); COMP_WORDS=(lanai yaml s); COMP_CWORD=2; _lanai lanai s yaml; echo \"${{COMPREPLY[*]}}\"",
        env!("CARGO_BIN_EXE_lanai")
    );
    let completed = program("bash").args(["-c", &script]).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&completed.stdout).trim(),
        "set",
        "{}",
        String::from_utf8_lossy(&completed.stderr)
    );
}
