//! Running a function that failed again, alone.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use lanai_evaluate::{Error, FunctionRef, wire};
use lanai_krm::digest;
use lanai_krm::package::Folder;
use lanai_render::{Cause, Failure as RenderFailure, FunctionFailure, Why};

use super::args::{Common, NativeImages};
use super::grants;
use crate::io::Io;
use crate::persona::Persona;
use crate::pkg::local;

/// Keeps what a function of a pipeline got when it failed, and says by which command it can be run again on that, by the same
/// evaluators and with the same grants.
///
/// Values of variables are not told: they may be secret. Of functions that were not called there is nothing to keep. Where it cannot be
/// kept, or no command does the same, nothing is said: the failure itself has been told.
pub(super) fn offer(
    failure: &RenderFailure,
    root: &Path,
    common: &Common,
    persona: Persona,
    io: &mut Io<'_>,
) {
    let Cause::Function(function) = &failure.cause else { return };
    let is_program = matches!(function.function, FunctionRef::Exec(_));
    if persona == Persona::Kpt && is_program && grants::are_for_containers(common) {
        // There `eval` takes no such flags for programs.
        return;
    }
    let Some(kept) = keep(function, &failure.package, root, persona, io) else { return };
    let command = command(&function.function, common, persona, &kept);
    let given = common.env.iter().filter_map(|variable| Some(variable.split_once('=')?.0));
    let given = given.collect::<Vec<_>>().join(", ");
    let given =
        if given.is_empty() { given } else { format!(", with {given} set in the environment as here") };
    io.tell(&format!("To run this function again on what it got, alone{given}:\n  {command}"));
}

/// The files of what a function got.
struct Kept {
    list: PathBuf,
    /// The configuration, where it is not read from the list.
    config: Option<PathBuf>,
}

/// The command that runs a function on what was kept.
fn command(function: &FunctionRef, common: &Common, persona: Persona, kept: &Kept) -> String {
    let program = match persona {
        Persona::Lanai | Persona::Porchctl => "lanai",
        Persona::Kpt => "kpt",
    };
    let mut words = [program, "fn", "eval", "-"].map(str::to_owned).to_vec();
    let mut flag = |name: &str, value: &str| words.push(quoted(&format!("{name}={value}")));
    match function {
        FunctionRef::Image(image) => flag("--image", image),
        FunctionRef::Exec(line) => flag("--exec", line),
    }
    if let Some(config) = &kept.config {
        flag("--fn-config", &config.display().to_string());
    }
    match common.native {
        NativeImages::Catalog => {}
        NativeImages::Any => flag("--native", "any"),
    }
    if let Some(runtime) = &common.container_runtime {
        flag("--container-runtime", runtime);
    }
    for program in &common.allow_program {
        flag("--allow-program", program);
    }
    for mount in &common.mount {
        flag("--mount", mount);
    }
    for variable in &common.env {
        flag("--env", variable.split_once('=').map_or(variable, |(name, _)| name));
    }
    if common.allow_network {
        flag("--allow-network", "true");
    }
    if common.as_current_user {
        flag("--as-current-user", "true");
    }
    format!("{} < {}", words.join(" "), quoted(&kept.list.display().to_string()))
}

/// Writes the input of a function to a file, or two, and tells which.
fn keep(function: &FunctionFailure, of: &Folder, root: &Path, persona: Persona, io: &Io<'_>) -> Option<Kept> {
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
    let name = format!("{}-{}-{step}", letters(&local::base(root)), &place[..8]);
    let write = |name: String, text: &str| {
        let mut file = tempfile::NamedTempFile::new_in(&folder).ok()?;
        file.write_all(text.as_bytes()).ok()?;
        let path = folder.join(name);
        file.persist(&path).ok()?;
        Some(path)
    };
    // Under the name `kpt` the one in the list does not count.
    let config = match (persona, &input.function_config) {
        (Persona::Kpt, Some(config)) => Some(write(format!("{name}-config.yaml"), &config.to_string())?),
        (Persona::Kpt, None) | (Persona::Lanai | Persona::Porchctl, _) => None,
    };
    Some(Kept { list: write(format!("{name}.yaml"), sent.text())?, config })
}

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@=,".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
