//! Running a function that failed again, alone.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use lanai_evaluate::{Error, FunctionRef, wire};
use lanai_krm::digest;
use lanai_render::{Cause, Failure as RenderFailure, FunctionFailure, Why};

use crate::io::Io;
use crate::pkg::local;

/// Keeps what a function of a pipeline got when it failed, and says by which command it can be run again on that.
///
/// Of functions that were not called there is nothing to keep. Where it cannot be kept, nothing is said: the failure itself has been
/// told.
pub(super) fn offer(failure: &RenderFailure, root: &Path, io: &mut Io<'_>) {
    let Cause::Function(function) = &failure.cause else { return };
    let Some(path) = keep(function, root, io) else { return };
    let shown = quoted(&path.display().to_string());
    let command = match &function.function {
        FunctionRef::Image(image) => format!("lanai fn run {} < {shown}", quoted(image)),
        FunctionRef::Exec(line) => {
            // The line is no shell's: a shell must not read more into it.
            let words = lanai_runner::split_words(line).unwrap_or_default();
            let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
            format!("{} < {shown}", words.join(" "))
        }
    };
    io.tell(&format!("To run this function again on what it got, alone:\n  {command}"));
}

/// Writes the input of a function to a file, and tells which.
fn keep(function: &FunctionFailure, root: &Path, io: &Io<'_>) -> Option<PathBuf> {
    let ran = matches!(function.why, Why::Evaluation(Error::Failed(_) | Error::Timeout { .. }));
    let input = function.input.as_ref().filter(|_| ran)?;
    let sent = wire::send(input).ok()?;
    let folder = local::state(root, io)?.join("replay");
    fs::create_dir_all(&folder).ok()?;
    let letters = |text: &str| -> String {
        text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
    };
    // Packages of the same name are in different places.
    let place = digest::blob_id(root.as_os_str().as_encoded_bytes()).ok()?.to_string();
    let step = letters(function.field.trim_end_matches(']'));
    let name = format!("{}-{}-{step}.yaml", letters(&local::base(root)), &place[..8]);
    let mut file = tempfile::NamedTempFile::new_in(&folder).ok()?;
    file.write_all(sent.text().as_bytes()).ok()?;
    let path = folder.join(name);
    file.persist(&path).ok()?;
    Some(path)
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
