//! Running a function that failed again, alone.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use lanai_evaluate::{Error, FunctionRef, wire};
use lanai_krm::digest;
use lanai_krm::package::Folder;
use lanai_render::{Cause, Failure as RenderFailure, FunctionFailure, Why};

use super::args::{Common, NativeImages};
use crate::io::Io;
use crate::pkg::local;

/// Keeps what a function of a pipeline got when it failed, and says by which command it can be run again on that, by the same
/// evaluators and with the same grants.
///
/// Of functions that were not called there is nothing to keep. Where it cannot be kept, nothing is said: the failure itself has been
/// told.
pub(super) fn offer(failure: &RenderFailure, root: &Path, common: &Common, io: &mut Io<'_>) {
    let Cause::Function(function) = &failure.cause else { return };
    let Some(path) = keep(function, &failure.package, root, io) else { return };
    let command = command(&function.function, common, &path.display().to_string());
    io.tell(&format!("To run this function again on what it got, alone:\n  {command}"));
}

/// The command that runs a function on what is in a file.
fn command(function: &FunctionRef, common: &Common, file: &str) -> String {
    let mut words = ["lanai", "fn", "eval", "-"].map(str::to_owned).to_vec();
    let mut flag = |name: &str, value: &str| words.push(quoted(&format!("{name}={value}")));
    match function {
        FunctionRef::Image(image) => flag("--image", image),
        FunctionRef::Exec(line) => flag("--exec", line),
    }
    match common.native {
        NativeImages::Catalog => {}
        NativeImages::Any => flag("--native", "any"),
    }
    for program in &common.allow_program {
        flag("--allow-program", program);
    }
    for mount in &common.mount {
        flag("--mount", mount);
    }
    for variable in &common.env {
        flag("--env", variable);
    }
    if common.allow_network {
        flag("--allow-network", "true");
    }
    if common.as_current_user {
        flag("--as-current-user", "true");
    }
    format!("{} < {}", words.join(" "), quoted(file))
}

/// Writes the input of a function to a file, and tells which.
fn keep(function: &FunctionFailure, of: &Folder, root: &Path, io: &Io<'_>) -> Option<PathBuf> {
    let ran = matches!(function.why, Why::Evaluation(Error::Failed(_) | Error::Timeout { .. }));
    let input = function.input.as_ref().filter(|_| ran)?;
    let sent = wire::send(input).ok()?;
    let folder = local::state(root, io)?.join("replay");
    fs::create_dir_all(&folder).ok()?;
    let letters = |text: &str| -> String {
        text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
    };
    let inner = match of {
        Folder::Root => "",
        Folder::At(path) => path.as_str(),
    };
    // Packages of the same name are in different places.
    let place = [root.as_os_str().as_encoded_bytes(), b"\0", inner.as_bytes()].concat();
    let place = digest::blob_id(&place).ok()?.to_string();
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
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
