//! The oracle: a small Go program around the YAML library that the rest of the field uses.

use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::SystemTime;

use crate::places::{target_dir, workspace_root};
use crate::skip;

/// The environment variable that names an oracle that is built already.
const ORACLE: &str = "LANAI_ORACLE";

/// The oracle's binary, built from `tests/oracle` when it is missing or older than its source.
///
/// `LANAI_ORACLE` names one that is built already. Without it the program is built with `go` into the folder `oracle` of
/// cargo's target folder, once however many tests and processes ask for it.
///
/// Returns `None` where there is no oracle, no `go`, or `go` cannot build it (as without a network on the first
/// run); the last is reported as a skip of its own. The caller then skips by name.
///
/// # Panics
///
/// When `LANAI_ORACLE` is set but names no file.
pub fn oracle() -> Option<PathBuf> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT.get_or_init(locate).clone()
}

fn locate() -> Option<PathBuf> {
    if let Some(named) = env::var_os(ORACLE) {
        let named = PathBuf::from(named);
        assert!(named.is_file(), "{ORACLE} names \"{}\", which is not a file", named.display());
        return Some(named);
    }
    let source = workspace_root().join("tests/oracle");
    if !source.join("go.mod").is_file() || !on_path("go") {
        return None;
    }
    match build(&source, &target_dir().join("oracle")) {
        Ok(binary) => Some(binary),
        Err(why) => {
            skip("oracle", &format!("cannot be built: {why}"));
            None
        }
    }
}

/// Builds under a lock beside a name of its own, then renames: nobody runs a binary that is half written.
fn build(source: &Path, into: &Path) -> io::Result<PathBuf> {
    fs::create_dir_all(into)?;
    let lock = File::create(into.join("lock"))?;
    lock.lock()?;
    let binary = into.join("oracle");
    if modified(&binary).is_some_and(|built| newest(source).is_some_and(|edited| built > edited)) {
        return Ok(binary);
    }
    let fresh = into.join("oracle.new");
    go_build(source, &fresh)?;
    fs::rename(&fresh, &binary)?;
    Ok(binary)
}

#[allow(clippy::disallowed_methods, reason = "tests may start the tools that judge us; the product may not")]
fn go_build(source: &Path, output: &Path) -> io::Result<()> {
    let go =
        Command::new("go").current_dir(source).args(["build", "-trimpath", "-o"]).arg(output).output()?;
    if go.status.success() {
        return Ok(());
    }
    Err(io::Error::other(String::from_utf8_lossy(&go.stderr).into_owned()))
}

fn on_path(program: &str) -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

/// When the youngest of the files directly in a folder was written.
fn newest(folder: &Path) -> Option<SystemTime> {
    fs::read_dir(folder).ok()?.filter_map(|entry| modified(&entry.ok()?.path())).max()
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "package main\n\nfunc main() {}\n";

    #[test]
    fn the_path_is_searched_for_files() {
        assert!(on_path("sh"));
        assert!(!on_path("no-such-program-anywhere"));
    }

    #[test]
    fn the_oracle_is_built_once_and_again_when_its_source_changes() {
        if !on_path("go") {
            skip(
                "testkit::the_oracle_is_built_once_and_again_when_its_source_changes",
                "go is not installed",
            );
            return;
        }
        let scratch = env::temp_dir().join(format!("lanai-oracle-{}", std::process::id()));
        let source = scratch.join("source");
        fs::create_dir_all(&source).unwrap();
        fs::write(source.join("go.mod"), "module oracle\n\ngo 1.19\n").unwrap();
        fs::write(source.join("main.go"), PROGRAM).unwrap();

        let binary = build(&source, &scratch.join("into")).unwrap();
        let first = modified(&binary).unwrap();
        build(&source, &scratch.join("into")).unwrap();
        assert_eq!(modified(&binary).unwrap(), first, "nothing changed, nothing is built");

        fs::write(source.join("main.go"), "package main\n\nfunc main() { println(1) }\n").unwrap();
        build(&source, &scratch.join("into")).unwrap();
        assert!(modified(&binary).unwrap() > first, "the source changed");

        fs::write(source.join("main.go"), "package main\n\nfunc main() { undefined() }\n").unwrap();
        let why = build(&source, &scratch.join("into")).unwrap_err();
        assert!(why.to_string().contains("undefined"), "{why}");
        fs::remove_dir_all(&scratch).unwrap();
    }
}
