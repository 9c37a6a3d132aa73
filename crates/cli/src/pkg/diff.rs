//! `lanai pkg diff`: what differs between a package and its upstream.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lanai_krm::Package;
use lanai_krm::ignore::Dialect;
use lanai_krm::package::{File, Folder, Mode};
use lanai_process::{Command, Error, Limits, Status};
use lanai_repository::{Revision, Want};
use lanai_types::quote::Quoted;

use super::address::Target;
use super::args::{Diff, DiffType};
use super::local::{Local, Purpose};
use super::upstream::Repositories;
use super::{kptfile, local, marks};
use crate::diff::unified;
use crate::failure::Failure;
use crate::io::{Colour, Exit, Io};

/// How long a program may show differences: people look at some of them.
const MAX_TOOL_TIME: Duration = Duration::from_hours(24);

/// A version of the package, and what it is called in the output.
struct Version {
    name: String,
    package: Package,
}

pub(super) fn run(diff: &Diff, dialect: Dialect, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let target = Target::parse(&diff.target)?;
    let local = Local::open(Path::new(&target.path), Purpose::Look, io)?;
    let shown = local.root.display().to_string();
    let Some(kptfile) = kptfile::read(&local.package, &Folder::Root, &local.root)? else {
        return Err(Failure::new(format!("package missing Kptfile at '{shown}'")));
    };
    let Some(source) = kptfile::source(&kptfile)? else {
        return Err(Failure::new(format!("package missing upstream in Kptfile at '{shown}'")));
    };
    let kind = diff.diff_type.unwrap_or(match target.version {
        Some(_) => DiffType::Combined,
        None => DiffType::Local,
    });
    let mut repositories = Repositories::new(io)?;
    let mut fetch = |reference: Fetch, io: &mut Io<'_>| -> Result<Version, Failure> {
        let (name, remote, want) = match reference {
            Fetch::Locked => {
                let locked = kptfile::locked(&kptfile)?.ok_or_else(|| {
                    Failure::new(format!("package missing upstreamLock in Kptfile at '{shown}'"))
                })?;
                let revision = Revision::Commit(locked.commit);
                let found = repositories.find(&locked.source.repo, &revision, &locked.source.folder, io)?;
                let want = Want { commit: locked.commit, folder: locked.source.folder.clone() };
                (format!("remote-{}", locked.source.reference), found.remote, want)
            }
            Fetch::Target => {
                let revision = match &target.version {
                    Some(version) => version.parse().map_err(|error| Failure::new(format!("{error}")))?,
                    None => Revision::DefaultBranch,
                };
                let found = repositories.find(&source.repo, &revision, &source.folder, io)?;
                let name = target.version.clone().unwrap_or(found.resolved.name);
                let want = Want { commit: found.resolved.commit, folder: source.folder.clone() };
                (format!("target-{name}"), found.remote, want)
            }
        };
        let mut package =
            repositories.read(&remote, &[want], io)?.pop().unwrap_or(Package::new(*local.package.limits()));
        marks::mark(&mut package, dialect);
        Ok(Version { name, package })
    };
    let ours = || Version { name: local.name(), package: local.package.clone() };
    let mut versions = match kind {
        DiffType::Local => vec![fetch(Fetch::Locked, io)?, ours()],
        DiffType::Remote => vec![fetch(Fetch::Locked, io)?, fetch(Fetch::Target, io)?],
        DiffType::Combined => vec![fetch(Fetch::Target, io)?, ours()],
        DiffType::ThreeWay => vec![fetch(Fetch::Locked, io)?, ours(), fetch(Fetch::Target, io)?],
    };
    let own = kptfile::path(&Folder::Root)?;
    for version in &mut versions {
        // Where the package comes from differs by design.
        version.package.remove(&own);
        let links: Vec<_> = version
            .package
            .iter()
            .filter(|(_, file)| file.mode() == Mode::Symlink)
            .map(|(path, _)| path.clone())
            .collect();
        for link in links {
            version.package.remove(&link);
        }
    }
    if let Some(tool) = tool(diff, io) {
        return with_tool(&tool, &versions, kind, diff, io);
    }
    let text = versions.windows(2).map(|pair| compare(&pair[0], &pair[1], io.colour)).collect::<String>();
    io.print(&text)?;
    Ok(Exit::Success)
}

/// Which version is fetched.
#[derive(Clone, Copy)]
enum Fetch {
    Locked,
    Target,
}

/// All files of two versions that differ, as a patch.
fn compare(before: &Version, after: &Version, colour: Colour) -> String {
    changes(&before.package, &after.package, Labels { before: &before.name, after: &after.name }, colour)
}

/// What the two sides of a patch are called.
#[derive(Clone, Copy)]
pub(super) struct Labels<'a> {
    pub before: &'a str,
    pub after: &'a str,
}

/// All files of two packages that differ, as a patch.
pub(super) fn changes(before: &Package, after: &Package, labels: Labels<'_>, colour: Colour) -> String {
    let diff = before.diff(after);
    let mut paths: Vec<_> = diff.added.iter().chain(&diff.removed).chain(&diff.changed).collect();
    paths.sort();
    let mut out = String::new();
    for path in paths {
        let (old, new) = (before.get(path), after.get(path));
        let text = |file: Option<&File>| file.map_or(Some(""), File::text).map(String::from);
        let name = |side: &str, file: Option<&File>| match file {
            Some(_) => format!("{side}/{path}"),
            None => "/dev/null".to_owned(),
        };
        if let (Some(old), Some(new)) = (old, new)
            && old.mode() != new.mode()
        {
            let _ = writeln!(out, "old mode {} new mode {} {path}", old.mode().git(), new.mode().git());
        }
        match (text(old), text(new)) {
            (Some(before), Some(after)) => {
                let names = (name(labels.before, old), name(labels.after, new));
                let part = unified("\u{1}", &before, &after, colour);
                let part = part.replacen('\u{1}', &names.0, 1).replacen('\u{1}', &names.1, 1);
                if part.is_empty() && old.is_none() != new.is_none() {
                    let _ = writeln!(out, "--- {}\n+++ {}", names.0, names.1);
                }
                out += &part;
            }
            (None, _) | (_, None) => {
                let _ = writeln!(
                    out,
                    "Binary files {} and {} differ",
                    name(labels.before, old),
                    name(labels.after, new)
                );
            }
        }
    }
    out
}

/// A program that shows differences.
struct Tool {
    program: String,
    options: Vec<String>,
}

fn tool(diff: &Diff, io: &Io<'_>) -> Option<Tool> {
    let variable = |name: &str| {
        let value = io.environment.get(OsStr::new(name)).filter(|value| !value.is_empty());
        value.and_then(|value| value.to_str()).map(String::from)
    };
    let program = diff.diff_tool.clone().or_else(|| variable("KPT_EXTERNAL_DIFF"))?;
    let options =
        diff.diff_tool_opts.clone().or_else(|| variable("KPT_EXTERNAL_DIFF_OPTS")).unwrap_or_default();
    Some(Tool { program, options: options.split_whitespace().map(String::from).collect() })
}

/// Lets a program compare folders with the versions, and prints what it says.
fn with_tool(
    tool: &Tool,
    versions: &[Version],
    kind: DiffType,
    diff: &Diff,
    io: &mut Io<'_>,
) -> Result<Exit, Failure> {
    let cannot =
        |error: &dyn std::fmt::Display| Failure::new(format!("cannot make folders to compare: {error}"));
    let stage = tempfile::Builder::new().prefix("lanai-diff-").tempdir().map_err(|error| cannot(&error))?;
    let mut folders: Vec<PathBuf> = Vec::new();
    for (number, version) in versions.iter().enumerate() {
        let name = version.name.replace('/', "-");
        let name = if folders.iter().any(|folder| folder.ends_with(&name)) {
            format!("{name}-{number}")
        } else {
            name
        };
        let folder = stage.path().join(name);
        lanai_folder::create(&folder, &version.package).map_err(local::failure)?;
        folders.push(folder);
    }
    let command = Command::new(&tool.program).folder(stage.path()).variables(&io.environment);
    let command = tool.options.iter().fold(command, Command::argument);
    let command = folders.iter().fold(command, |command, folder| command.argument(folder.as_os_str()));
    let limits =
        Limits { max_time: MAX_TOOL_TIME, max_output: lanai_types::ByteSize::mib(256), ..Limits::default() };
    let finished = command.run(&[], &limits, |_| ()).map_err(|error| match error {
        Error::NotFound { program } => Failure::new(format!("diff-tool '{program}' not found in the PATH")),
        other => Failure::new(other.to_string()),
    })?;
    let prefix = format!("{}/", stage.path().display());
    if diff.debug {
        let kept = stage.keep();
        io.tell(&format!("the folders are in {}", kept.display()));
    }
    io.print(&String::from_utf8_lossy(&finished.output).replace(&prefix, ""))?;
    match finished.status {
        // By convention: there is a difference.
        Status::Exited(0 | 1) => Ok(Exit::Success),
        Status::Exited(_) | Status::Killed(_) => {
            let why = finished.messages.replace(&prefix, "");
            let kind = clap::ValueEnum::to_possible_value(&kind).map(|value| value.get_name().to_owned());
            Err(Failure::new(format!("diff-tool {} failed: {}", Quoted(&tool.program), why.trim()))
                .hint(format!("it may not support the diff type {}", kind.unwrap_or_default())))
        }
    }
}
