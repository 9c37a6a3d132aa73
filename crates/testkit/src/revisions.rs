//! Git repositories with many published package revisions.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// A repository as Lanai and Porch leave it, with a commit and a tag for each revision, refs packed: `a0/pkg-0` with the tags `v1` and so on,
/// a hundred packages in each of the folders `a0`, `a1` …
///
/// # Panics
/// When git cannot be run, or does not like what it is told.
pub fn generate(folder: &Path, packages: usize, revisions: usize) {
    std::fs::create_dir_all(folder).expect("a folder");
    git(folder, &["init", "--quiet", "--bare", "--initial-branch=main"], "");
    git(folder, &["config", "http.receivepack", "true"], "");
    let mut stream = String::new();
    let data = |stream: &mut String, text: &str| {
        let _ = writeln!(stream, "data {}\n{text}", text.len());
    };
    for number in 1..=revisions {
        for package in 0..packages {
            let path = format!("a{}/pkg-{package}", package / 100);
            let mark = (number - 1) * packages + package + 1;
            let _ = writeln!(
                stream,
                "commit refs/heads/main\nmark :{mark}\ncommitter Ann <a@b> {} +0000",
                1_600_000_000 + mark
            );
            let kpt = format!(
                "{{\"package\":\"{path}\",\"workspaceName\":\"w{number}\",\"revision\":\"{number}\"}}"
            );
            data(&mut stream, &format!("Approving package revision {path}/{number}\n\nkpt:{kpt}\n"));
            if mark > 1 {
                let _ = writeln!(stream, "from :{}", mark - 1);
            }
            if number == 1 {
                let _ = writeln!(stream, "M 100644 inline {path}/Kptfile");
                data(
                    &mut stream,
                    &format!(
                        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg-{package}\ninfo:\n  description: a package\n"
                    ),
                );
                let _ = writeln!(stream, "M 100644 inline {path}/service.yaml");
                data(&mut stream, &format!("apiVersion: v1\nkind: Service\nmetadata:\n  name: s{package}\n"));
            }
            let _ = writeln!(stream, "M 100644 inline {path}/config.yaml");
            data(
                &mut stream,
                &format!(
                    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{package}\ndata:\n  revision: \"{number}\"\n"
                ),
            );
            let _ = writeln!(stream, "reset refs/tags/{path}/v{number}\nfrom :{mark}\n");
        }
    }
    git(folder, &["fast-import", "--quiet"], &stream);
    git(folder, &["pack-refs", "--all"], "");
    git(folder, &["repack", "-a", "-d", "-q"], "");
}

/// Runs git in a folder, without the configuration of this machine, on an input.
///
/// # Panics
/// When it cannot be run, or fails.
#[allow(clippy::disallowed_methods, reason = "git makes what tests and benchmarks read")]
pub fn git(folder: &Path, arguments: &[&str], input: &str) {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .args(arguments)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("git starts");
    child.stdin.take().expect("an input").write_all(input.as_bytes()).expect("git reads");
    assert!(child.wait().expect("git ends").success(), "git {arguments:?}");
}
