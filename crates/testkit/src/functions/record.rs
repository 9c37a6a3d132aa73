//! What a program of the catalog answered, and how that stands in a file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use lanai_yaml::Document;

/// What a program answered, and the digest of what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub asked: String,
    pub exit_code: i32,
    pub stderr: String,
    pub stdout: String,
}

/// The digest of an input, as Git would name it.
pub fn digest(input: &str) -> String {
    lanai_krm::digest::blob_id(input.as_bytes()).unwrap().to_string()
}

pub fn file(case: &Path) -> std::path::PathBuf {
    case.join("catalog.yaml")
}

pub fn read(case: &Path) -> Option<Record> {
    let document = Document::parse(fs::read_to_string(file(case)).ok()?).unwrap();
    let text = |key| document.root().get(key).map(|node| node.value().into_owned());
    Some(Record {
        asked: text("asked")?,
        exit_code: text("exit")?.parse().ok()?,
        stderr: text("stderr").unwrap_or_default(),
        stdout: text("stdout").unwrap_or_default(),
    })
}

pub fn write(case: &Path, function: &str, record: &Record) {
    let mut out = format!(
        "# What the program {function} answers to input.yaml. Made by scripts/oracle-functions.sh.\n"
    );
    writeln!(out, "asked: {}\nexit: {}", record.asked, record.exit_code).unwrap();
    block(&mut out, "stderr", &record.stderr);
    block(&mut out, "stdout", &record.stdout);
    fs::write(file(case), out).unwrap();
    assert_eq!(read(case).as_ref(), Some(record), "{} reads as it was written", case.display());
}

/// A text as a literal block; an empty one is left out.
fn block(out: &mut String, key: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    let chomp = if text.ends_with('\n') { "+" } else { "-" };
    writeln!(out, "{key}: |2{chomp}").unwrap();
    for line in text.lines() {
        let indent = if line.is_empty() { "" } else { "  " };
        writeln!(out, "{indent}{line}").unwrap();
    }
}
