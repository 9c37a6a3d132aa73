//! Asks kpt itself.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use super::cases::{Case, cases};
use super::files::{Answer, Files, Kept, write};

/// Writes the file of answers anew. `LANAI_KPT` names the program, `LANAI_KPT_ANSWERS` the file.
#[test]
#[ignore = "needs kpt and git; scripts/oracle-merge.sh runs it"]
fn answers() {
    let kpt = env::var("LANAI_KPT").expect("LANAI_KPT names the program");
    let scratch = env::temp_dir().join(format!("lanai-kpt-{}", std::process::id()));
    let mut answers = Vec::new();
    for case in cases() {
        fs::create_dir_all(&scratch).unwrap();
        answers.push((case.name, Kept { digest: case.digest(), answer: ask(&kpt, &scratch, &case) }));
        fs::remove_dir_all(&scratch).unwrap();
    }
    fs::write(env::var("LANAI_KPT_ANSWERS").expect("LANAI_KPT_ANSWERS names the file"), write(&answers))
        .unwrap();
}

#[allow(clippy::disallowed_methods, reason = "kpt is the judge of this test; it is started by tests only")]
fn ask(kpt: &str, scratch: &Path, case: &Case) -> Answer {
    let [original, upstream, local] = &case.sides;
    let repo = scratch.join("up");
    fs::create_dir_all(repo.join("pkg")).unwrap();
    run(&repo, "git", &["init", "-q"]);
    for (files, tag) in [(original, "v1"), (upstream, "v2")] {
        put(&repo.join("pkg"), files);
        run(&repo, "git", &["add", "-A"]);
        let who = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        run(&repo, "git", &[&who[..], &["commit", "-q", "--allow-empty", "-m", tag]].concat());
        run(&repo, "git", &["tag", tag]);
    }
    let source = format!("file://{}/.git/pkg@v1", repo.display());
    run(scratch, kpt, &["pkg", "get", &source, "local"]);
    let folder = scratch.join("local");
    let fetched = fs::read_to_string(folder.join("Kptfile")).unwrap();
    put(&folder, local);
    // The local Kptfile keeps where the package came from.
    let origin = fetched.find("upstream:").map_or("", |at| origin(&fetched[at..]));
    let own = local.0.get("Kptfile").map_or(fetched.clone(), |text| format!("{text}{origin}"));
    fs::write(folder.join("Kptfile"), own).unwrap();
    let update = Command::new(kpt)
        .args(["pkg", "update", "local@v2", "--strategy", case.strategy])
        .current_dir(scratch)
        .env("HOME", scratch)
        .output()
        .unwrap();
    if update.status.success() {
        return Answer::Files(get(&folder));
    }
    let text = String::from_utf8_lossy(&update.stderr).replace(&scratch.display().to_string(), "");
    let error = text.lines().find(|line| line.starts_with("Error")).unwrap_or_default();
    Answer::Stopped(error.trim().into())
}

/// The part of a Kptfile from `upstream` to the end of `upstreamLock`.
fn origin(text: &str) -> &str {
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        if !line.starts_with([' ', 'u']) {
            break;
        }
        end += line.len();
    }
    &text[..end]
}

#[allow(
    clippy::disallowed_methods,
    reason = "git makes what kpt is asked about; it is started by tests only"
)]
fn run(folder: &Path, program: &str, args: &[&str]) {
    let home = folder.to_path_buf();
    let output = Command::new(program).args(args).current_dir(folder).env("HOME", home).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn put(folder: &Path, files: &Files) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { fs::remove_dir_all(path).unwrap() } else { fs::remove_file(path).unwrap() }
    }
    for (path, text) in &files.0 {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

fn get(folder: &Path) -> Files {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().is_some_and(|name| name != ".git") {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                // Where it came from has the path of this machine in it.
                let text = fs::read_to_string(&path).unwrap();
                let text = if name == "Kptfile" { without_origin(&text) } else { text };
                files.insert(name, text);
            }
        }
    }
    Files(files)
}

fn without_origin(text: &str) -> String {
    let Some(at) = text.find("upstream:") else { return text.into() };
    let part = origin(&text[at..]);
    text.replace(part, "")
}
