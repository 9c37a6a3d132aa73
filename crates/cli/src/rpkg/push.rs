//! `lanai rpkg push`: the files of a draft are replaced, and its pipeline runs.

use std::path::{Path, PathBuf};

use lanai_krm::package::{Mode, OtherYaml, Placed, ReadOptions};
use lanai_krm::{Package, Resource};
use lanai_types::SafePath;
use lanai_types::quote::Quoted;
use serde_json::{Value, json};

use super::args::Push;
use super::create::given;
use super::files::{self, METADATA};
use super::server::{Dry, RESOURCES, Server, text};
use crate::client::Trouble;
use crate::failure::{Code, Failure};
use crate::func;
use crate::io::{Exit, Io};
use crate::persona::Persona;
use crate::pkg::local::{self, Local, Purpose};
use crate::pkg::patch::{Labels, changes};

/// What is pushed.
struct Content {
    package: Package,
    /// The state that it was made from.
    version: String,
    /// The folder that it is in.
    folder: Option<PathBuf>,
}

pub(super) fn run(push: &Push, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let name = given(push.package.as_deref(), "PACKAGE name is a required positional argument")?;
    let dry = Dry::of(push.dry_run);
    let parting = io.stop.parting("stopped: nothing was pushed");
    let mut object = match server.persona {
        // It sends what it has, whatever is there.
        Persona::Porchctl if reads_folder(push) => json!({"spec": {}}),
        Persona::Porchctl | Persona::Lanai | Persona::Kpt => server.resources(name, io)?,
    };
    let mut content = match push.folder.as_deref() {
        Some(folder) if folder != Path::new("-") => from_folder(folder, name, server, io)?,
        given => {
            if given.is_none() {
                no_dash(server.persona, io)?;
            }
            from_stdin(name, &object, server, io)?
        }
    };
    let before = files::package(&object)?;
    if content.folder.is_some() {
        modes(&mut content.package, &before, name, server.persona, io)?;
    }
    files::put(&content.package, &mut object);
    object["apiVersion"] = json!(RESOURCES.api_version());
    object["kind"] = json!(RESOURCES.kind);
    object["metadata"] = json!({
        "name": name, "namespace": server.client.namespace, "resourceVersion": content.version,
    });
    drop(parting);
    let saved = match server.save(name, object, dry, io) {
        Ok(saved) => saved,
        Err(trouble) => {
            let code = trouble.code();
            let failure = refused(trouble, server.persona, io);
            return Err(match (code, push.folder.as_ref().filter(|_| content.folder.is_some())) {
                (Code::FunctionFailed, Some(folder)) => {
                    let folder = folder.display().to_string();
                    failure.hint(format!("to run it here: lanai fn render {} --diff", func::quoted(&folder)))
                }
                (Code::Stale, _) => failure.hint(format!(
                    "{name} was changed since: pull it into another folder, and take over what you changed"
                )),
                _ => failure,
            });
        }
    };
    told_render(&saved, server.persona, io);
    if dry == Dry::Run {
        let (before, after) = (files::compared(&before), files::compared(&files::package(&saved)?));
        io.print(&changes(&before, &after, Labels { before: "a", after: "b" }, io.colour))?;
    } else if let Some(folder) = &content.folder {
        // The next push is about this state.
        files::refresh(folder, &files::metadata(&saved)?)?;
    }
    io.print(&format!("{name} pushed{}\n", dry.remark()))?;
    if server.persona != Persona::Porchctl && has_failed(&saved) {
        io.tell(&format!(
            "warning: the pipeline of {name} failed; it was kept all the same, as its annotation porch.kpt.dev/push-on-render-failure asks"
        ));
    }
    Ok(Exit::Success)
}

fn reads_folder(push: &Push) -> bool {
    push.folder.as_deref().is_some_and(|folder| folder != Path::new("-"))
}

fn no_dash(persona: Persona, io: &mut Io<'_>) -> Result<(), Failure> {
    match persona {
        Persona::Porchctl => {
            io.tell("Warning: This way of using stdin will be deprecated in Porch release 5.x.x. Please use '-' to provide stdin.");
            Ok(())
        }
        Persona::Lanai | Persona::Kpt => {
            Err(Failure::of(Code::Usage, "DIR is a required positional argument")
                .hint("write - to read resources from standard input"))
        }
    }
}

fn from_folder(folder: &Path, name: &str, server: &Server, io: &mut Io<'_>) -> Result<Content, Failure> {
    let local = Local::open(folder, Purpose::Look, io)?;
    let mut package = local.package;
    let path: SafePath = METADATA.parse().map_err(|_| Failure::of(Code::Text, "no such path"))?;
    let Some(metadata) = package.remove(&path) else {
        if server.persona == Persona::Porchctl {
            return Err(without_metadata(name, server));
        }
        let shown = folder.display().to_string();
        return Err(Failure::of(
            Code::Text,
            format!("{} has no file {METADATA}: it is not known which state of {name} it is", Quoted(&shown)),
        )
        .hint(format!("push the folder that \"lanai rpkg pull {name} FOLDER\" made")));
    };
    let metadata = String::from_utf8_lossy(metadata.content()).into_owned();
    let metadata = Resource::parse(&metadata)
        .map_err(|error| Failure::of(Code::Text, format!("{METADATA}: {error}")))?;
    if server.persona == Persona::Porchctl
        && let Some((path, _)) =
            package.iter().find(|(_, file)| file.mode() != Mode::Symlink && file.text().is_none())
    {
        return Err(Failure::of(
            Code::Text,
            format!(
                "file {path} is not a valid UTF-8 text file: current porch API doesn't support binary files"
            ),
        ));
    }
    let version = version(&metadata, name, server)?;
    Ok(Content { package, version, folder: Some(local::absolute(folder, io)?) })
}

/// What files are beside their content cannot be pushed: links are refused, or left out as porchctl does, and where a file can be run
/// here, it is said what becomes of that.
fn modes(
    package: &mut Package,
    before: &Package,
    name: &str,
    persona: Persona,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let of = |package: &Package, mode: Mode| -> Vec<SafePath> {
        let found = package.iter().filter(|(_, file)| file.mode() == mode);
        found.map(|(path, _)| path.clone()).collect()
    };
    let links = of(package, Mode::Symlink);
    if persona == Persona::Porchctl {
        for link in &links {
            package.remove(link);
        }
        return Ok(());
    }
    if !links.is_empty() {
        let shown: Vec<String> = links.iter().map(|path| Quoted(path.as_str()).to_string()).collect();
        return Err(Failure::of(
            Code::File,
            format!("{} cannot be pushed: the API of packages has no symbolic links", shown.join(", ")),
        )
        .hint(format!(
            "put a file in its place, or remove it: links that {name} has on the server stay there"
        )));
    }
    for path in of(package, Mode::Executable) {
        let becomes = match before.get(&path) {
            Some(_) => "that stays as the server has it",
            None => "the server keeps it as a plain file",
        };
        io.tell(&format!(
            "warning: {} can be run here; the API of packages does not say so, and {becomes}",
            Quoted(path.as_str())
        ));
    }
    Ok(())
}

/// The resources of a list. Files that hold none stay as the server has them.
fn from_stdin(name: &str, object: &Value, server: &Server, io: &mut Io<'_>) -> Result<Content, Failure> {
    let list = func::read_list(io)?;
    let is_metadata = |item: &Resource| item.kind().as_deref() == Some("KptRevisionMetadata");
    let Some(metadata) = list.items.iter().find(|item| is_metadata(item)) else {
        return Err(without_metadata(name, server));
    };
    let version = version(metadata, name, server)?;
    let options = ReadOptions { other_yaml: OtherYaml::Included, ..ReadOptions::default() };
    // Over what is there: a file that held no resource is none of those that the list was made of.
    let mut package = files::package(object)?;
    let items = list.items.iter().filter(|item| !is_metadata(item)).cloned();
    let placed = items.map(Placed::from_annotations).collect::<Result<Vec<_>, _>>();
    let placed = placed.map_err(|error| Failure::of(Code::Text, error.to_string()))?;
    package.write_resources(placed, options).map_err(|error| Failure::of(Code::Text, error.to_string()))?;
    Ok(Content { package, version, folder: None })
}

/// The state that the files were made from; they must be those of this revision.
fn version(metadata: &Resource, name: &str, server: &Server) -> Result<String, Failure> {
    let of = metadata.name().unwrap_or_default();
    if server.persona != Persona::Porchctl && !of.is_empty() && of != name {
        return Err(Failure::of(Code::Usage, format!("these are files of {of}, not of {name}")));
    }
    let found = metadata.root().get("metadata").and_then(|metadata| metadata.get("resourceVersion"));
    Ok(found.map(|found| found.value().into_owned()).unwrap_or_default())
}

fn without_metadata(name: &str, server: &Server) -> Failure {
    let program = if server.persona == Persona::Porchctl { "porchctl" } else { "lanai" };
    Failure::of(
        Code::Text,
        format!(
            "\"{METADATA}\" not found in PackageRevisionResources '{}/{name}'\nuse \"{program} rpkg pull\" to download the remote package metadata before pushing",
            server.client.namespace
        ),
    )
}

/// Says why files were refused: with what functions reported, where somebody reads it.
pub(super) fn refused(trouble: Trouble, persona: Persona, io: &mut Io<'_>) -> Failure {
    if let (Trouble::Refused(refusal), false) = (&trouble, persona == Persona::Porchctl) {
        refusal.tell_causes(io);
    }
    trouble.into()
}

/// Whether a function of the pipeline failed.
fn has_failed(saved: &Value) -> bool {
    let items = saved["status"]["renderStatus"]["result"]["items"].as_array();
    items.into_iter().flatten().any(|item| item["exitCode"].as_i64().unwrap_or_default() != 0)
}

/// Says what the pipeline did.
pub(super) fn told_render(saved: &Value, persona: Persona, io: &mut Io<'_>) {
    let items = saved["status"]["renderStatus"]["result"]["items"].as_array();
    for item in items.into_iter().flatten() {
        let image = match text(item, "image") {
            "" => text(item, "exec"),
            image => image,
        };
        let mark = if item["exitCode"].as_i64().unwrap_or_default() == 0 { "PASS" } else { "FAIL" };
        let blank = if persona == Persona::Porchctl { " " } else { "" };
        io.tell_exactly(&format!("[RUNNING] \"{image}\"{blank}\n[{mark}] \"{image}\"\n"));
        let results = item["results"].as_array().into_iter().flatten();
        let results: Vec<String> = results
            .map(|result| format!("[{}]: {}", severity(result, persona), text(result, "message")))
            .collect();
        io.tell_exactly(&match (results.is_empty(), persona) {
            (true, _) => String::new(),
            // It leaves the line open.
            (false, Persona::Porchctl) => format!("[Results]: {}", results.join(", ")),
            (false, Persona::Lanai | Persona::Kpt) => {
                format!("  [Results]:\n    {}\n", results.join("\n    "))
            }
        });
    }
}

/// How bad a result is. Functions that do not say it mean nothing bad; porchctl leaves that empty.
fn severity(result: &Value, persona: Persona) -> &str {
    match (text(result, "severity"), persona) {
        ("", Persona::Lanai | Persona::Kpt) => "info",
        (severity, _) => severity,
    }
}
