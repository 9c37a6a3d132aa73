//! `lanai rpkg edit`: files of a draft in an editor, with what its pipeline makes of them before they are kept.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use lanai_krm::Package;
use lanai_krm::package::{File, Mode, OtherYaml, ReadOptions};
use lanai_process::Command;
use lanai_types::SafePath;
use lanai_types::quote::Quoted;
use serde_json::Value;

use super::args::Edit;
use super::server::{Dry, Server, lifecycle};
use super::{files, push};
use crate::client::Trouble;
use crate::failure::{Code, Failure, cause};
use crate::io::{Exit, Io};
use crate::pkg::patch::{Labels, changes};

/// What is done with what was edited.
enum Choice {
    Keep,
    Again,
    Drop,
}

pub(super) fn run(edit: &Edit, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let name = edit.package.as_str();
    let object = server.get(name, io)?;
    if lifecycle(&object) != "Draft" {
        let state = lifecycle(&object);
        let failure = Failure::of(Code::Lifecycle, format!("{name} is {state}; only drafts are edited"));
        return Err(match state {
            "Proposed" => failure.hint(format!("take it back with \"lanai rpkg reject {name}\"")),
            _ => failure.hint(format!("make a draft of it with \"lanai rpkg copy {name} --workspace NAME\"")),
        });
    }
    let resources = server.resources(name, io)?;
    let before = files::package(&resources)?;
    let chosen = chosen(&edit.files, &before, name)?;
    let desk = Desk::new(&before, &chosen)?;
    let done = sit(&desk, edit, &resources, &before, server, io);
    let is_kept = matches!(done, Ok(Exit::Success));
    // What somebody wrote is not thrown away because something else went wrong.
    if !is_kept && desk.is_changed(&before) {
        let place = desk.keep();
        io.tell(&format!(
            "{name} was not changed; what was edited is in {}",
            Quoted(&place.display().to_string())
        ));
    }
    done
}

/// Edits until it is kept, or given up.
fn sit(
    desk: &Desk,
    edit: &Edit,
    resources: &Value,
    before: &Package,
    server: &Server,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let name = edit.package.as_str();
    loop {
        desk.open(io)?;
        let after = desk.read(before)?;
        if before.diff(&after).is_empty() {
            io.print(&format!("{name} not changed\n"))?;
            return Ok(Exit::Success);
        }
        let mut wanted = resources.clone();
        files::put(&after, &mut wanted);
        let rehearsed = server.save(name, wanted.clone(), Dry::Run, io);
        let can_be_kept = rehearsed.is_ok();
        match rehearsed {
            Ok(answer) => show(before, &answer, server, io)?,
            Err(Trouble::Stopped) => return Err(Trouble::Stopped.into()),
            Err(trouble) => {
                if let Failure::Told(message) = push::refused(trouble, server.persona, io) {
                    io.tell(&message.told_as(server.persona));
                }
            }
        }
        let kept = Quoted(&desk.folder.path().display().to_string()).to_string();
        let parting =
            io.stop.parting(format!("\nstopped: {name} was not changed; what was edited is in {kept}"));
        let choice = ask(edit, can_be_kept, io)?;
        drop(parting);
        match choice {
            Choice::Keep => {
                let saved = server.save(name, wanted, Dry::No, io);
                saved.map_err(|trouble| push::refused(trouble, server.persona, io))?;
                io.print(&format!("{name} edited\n"))?;
                return Ok(Exit::Success);
            }
            Choice::Again => {}
            Choice::Drop => return Ok(Exit::Failure),
        }
    }
}

/// Which files are edited: those that were named, or all that hold resources.
fn chosen(named: &[String], package: &Package, name: &str) -> Result<Vec<SafePath>, Failure> {
    if named.is_empty() {
        let options = ReadOptions { other_yaml: OtherYaml::Included, ..ReadOptions::default() };
        let found =
            package.resource_files(options).map_err(|error| Failure::of(Code::Text, error.to_string()))?;
        return Ok(found.into_iter().cloned().collect());
    }
    let path = |text: &String| {
        let path: SafePath = text.parse().map_err(|error: lanai_types::safe_path::Error| {
            Failure::of(Code::File, format!("{}: {error}", Quoted(text)))
        })?;
        if package.get(&path).is_some() {
            return Ok(path);
        }
        let there: Vec<&str> = package.iter().map(|(path, _)| path.as_str()).collect();
        Err(Failure::of(Code::Absent, format!("{name} has no file {}", Quoted(text)))
            .hint(format!("there are {}", there.join(", "))))
    };
    named.iter().map(path).collect()
}

/// The files while somebody edits them.
struct Desk {
    folder: tempfile::TempDir,
    chosen: Vec<SafePath>,
}

impl Desk {
    fn new(package: &Package, chosen: &[SafePath]) -> Result<Self, Failure> {
        let cannot = |error: &std::io::Error| {
            Failure::of(Code::Machine, format!("cannot make a folder for the editor: {}", cause(error)))
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix("lanai-edit-").permissions(fs::Permissions::from_mode(0o700));
        let folder = builder.tempdir().map_err(|error| cannot(&error))?;
        for path in chosen {
            let place = folder.path().join(path.as_str());
            let content = package.get(path).map(File::content).unwrap_or_default();
            let made = fs::create_dir_all(place.parent().unwrap_or(Path::new("/")))
                .and_then(|()| fs::write(&place, content));
            made.map_err(|error| cannot(&error))?;
        }
        Ok(Self { folder, chosen: chosen.to_vec() })
    }

    /// Lets somebody edit.
    fn open(&self, io: &Io<'_>) -> Result<(), Failure> {
        let variables = ["LANAI_EDITOR", "KUBE_EDITOR", "VISUAL", "EDITOR"];
        let set =
            |name: &&str| io.environment.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty());
        let editor = variables.iter().find_map(set).cloned().unwrap_or_else(|| "vi".into());
        let mut command =
            Command::shell(editor.clone()).variables(io.environment.iter()).folder(self.folder.path());
        for path in &self.chosen {
            command = command.argument(path.as_str());
        }
        let shown = Quoted(&editor.to_string_lossy()).to_string();
        let status = command
            .attend()
            .map_err(|error| Failure::of(Code::Machine, format!("the editor {shown}: {error}")))?;
        if !status.is_success() {
            return Err(Failure::of(
                Code::Machine,
                format!("the editor {shown} ended with {status}; nothing was changed"),
            ));
        }
        Ok(())
    }

    /// The package with what is in the files now.
    fn read(&self, before: &Package) -> Result<Package, Failure> {
        let mut after = before.clone();
        for path in &self.chosen {
            let refused = |why: String| {
                Failure::of(Code::File, format!("cannot read {}: {why}", Quoted(path.as_str())))
            };
            match fs::read(self.folder.path().join(path.as_str())) {
                Ok(content) => {
                    let mode = before.get(path).map_or(Mode::Regular, File::mode);
                    after
                        .insert(path.clone(), File::new(content, mode))
                        .map_err(|error| refused(error.to_string()))?;
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    after.remove(path);
                }
                Err(error) => return Err(refused(cause(&error))),
            }
        }
        Ok(after)
    }

    /// Whether the files are others than they were.
    fn is_changed(&self, before: &Package) -> bool {
        // What cannot be read is something, too.
        self.read(before).map_or(true, |after| !before.diff(&after).is_empty())
    }

    /// Leaves the files where they are.
    fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

/// Shows what would be kept.
fn show(before: &Package, answer: &Value, server: &Server, io: &mut Io<'_>) -> Result<(), Failure> {
    let after = files::package(answer)?;
    let (before, after) = (files::compared(before), files::compared(&after));
    io.print(&changes(&before, &after, Labels { before: "a", after: "b" }, io.colour))?;
    push::told_render(answer, server.persona, io);
    Ok(())
}

/// Asks what is to be done.
fn ask(edit: &Edit, can_be_kept: bool, io: &mut Io<'_>) -> Result<Choice, Failure> {
    match (edit.yes, can_be_kept) {
        (true, true) => return Ok(Choice::Keep),
        (true, false) => return Ok(Choice::Drop),
        (false, _) => {}
    }
    let question =
        if can_be_kept { "keep it? [y]es, [e]dit again, [n]o: " } else { "[e]dit again, or [n]o: " };
    io.tell_exactly(question);
    let mut line = String::new();
    let _idle = io.stop.idle();
    // One character at a time: what comes behind the line is not ours.
    let read = BufReader::with_capacity(1, &mut *io.stdin).read_line(&mut line);
    read.map_err(|error| Failure::of(Code::File, format!("cannot read the answer: {}", cause(&error))))?;
    Ok(match line.trim() {
        "y" | "yes" if can_be_kept => Choice::Keep,
        "e" | "edit" => Choice::Again,
        _ => Choice::Drop,
    })
}
