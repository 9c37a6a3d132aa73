//! Asks the programs of the catalog themselves.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::record::{Record, digest};

/// What a program answers to a list.
#[allow(
    clippy::disallowed_methods,
    reason = "the program is the judge of this test; it is started by tests only"
)]
pub fn ask(program: &Path, input: &str) -> Record {
    let mut child = Command::new(program)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A program that stops before it has read everything closes the pipe; what it says tells why.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| stable(&String::from_utf8_lossy(bytes));
    Record {
        asked: digest(input),
        exit_code: output.status.code().unwrap_or(-1),
        stderr: text(&output.stderr),
        stdout: text(&output.stdout),
    }
}

/// What a program says, without the stack and the addresses of a crash, which differ from run to run.
fn stable(text: &str) -> String {
    let end = ["\ngoroutine ", "\n[signal "].iter().filter_map(|mark| text.find(mark)).min();
    let text = end.map_or(text, |at| &text[..=at]);
    regex::Regex::new("0x[0-9a-f]{6,}").unwrap().replace_all(text, "0x…").into_owned()
}
