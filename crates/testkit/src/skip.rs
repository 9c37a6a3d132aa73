//! Skipping out loud: a part that did not run is named in the output and in the list at the end of `make test`.

use std::env;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// The environment variable that names the file to which skips are appended.
///
/// The test harness hides the output of tests that pass, so printing alone would lose the line.
pub const SKIP_LOG: &str = "LANAI_SKIP_LOG";

/// Says that a test, or a part of one, did not run, and why.
///
/// Prints `SKIPPED: {test}: {why}` on stderr and appends the same line to the file named by [`SKIP_LOG`], if it is set.
///
/// # Panics
///
/// When the log is named but cannot be written: a skip must never be silent.
pub fn skip(test: &str, why: &str) {
    let line = line(test, why);
    eprint!("{line}");
    if let Some(log) = env::var_os(SKIP_LOG) {
        append(Path::new(&log), &line).expect("LANAI_SKIP_LOG names a file that can be written");
    }
}

/// One line whatever the reason holds, so that the log can be read by line.
fn line(test: &str, why: &str) -> String {
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("SKIPPED: {test}: {why}\n")
}

/// Appends with one write, so that lines of tests that run together do not mix.
fn append(log: &Path, line: &str) -> io::Result<()> {
    OpenOptions::new().create(true).append(true).open(log)?.write_all(line.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_one_line() {
        assert_eq!(line("yaml::suite", "no corpus\n  here"), "SKIPPED: yaml::suite: no corpus here\n");
    }

    #[test]
    fn skips_are_appended() {
        let log = env::temp_dir().join(format!("lanai-skip-{}", std::process::id()));
        append(&log, &line("a", "first")).unwrap();
        append(&log, &line("b", "second")).unwrap();
        let written = std::fs::read_to_string(&log).unwrap();
        std::fs::remove_file(&log).unwrap();
        assert_eq!(written, "SKIPPED: a: first\nSKIPPED: b: second\n");
    }
}
