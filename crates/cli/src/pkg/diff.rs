//! `lanai pkg diff`: what differs between a package and its upstream.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lanai_krm::Package;
use lanai_krm::ignore::Dialect;
use lanai_krm::package::{Folder, Mode};
use lanai_process::{Command, Error, Limits, Status};
use lanai_repository::{RemoteUrl, Revision, Want};
use lanai_types::quote::Quoted;

use super::address::Target;
use super::args::{Diff, DiffType};
use super::kptfile::{self, Locked, Read, Source};
use super::local::{self, Local, Purpose};
use super::patch::{Labels, changes};
use super::upstream::{Repositories, Unread};
use super::{nested, versions};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};

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
        return Err(Failure::of(Code::NoPackage, format!("package missing Kptfile at '{shown}'")));
    };
    let Some(source) = kptfile.source()? else {
        return Err(Failure::of(Code::Upstream, format!("package missing upstream in Kptfile at '{shown}'")));
    };
    let kind = diff.diff_type.unwrap_or(match target.version {
        Some(_) => DiffType::Combined,
        None => DiffType::Local,
    });
    let mut work = Work {
        local: &local,
        kptfile: &kptfile,
        source: &source,
        version: target.version.as_deref(),
        dialect,
        repositories: Repositories::new(io)?,
        inner: BTreeSet::new(),
    };
    let ours = || Version { name: local.name(), package: local.package.clone() };
    let mut versions = match kind {
        DiffType::Local => vec![work.fetched(io)?, ours()],
        DiffType::Remote => vec![work.fetched(io)?, work.target(io)?],
        DiffType::Combined => vec![work.target(io)?, ours()],
        DiffType::ThreeWay => vec![work.fetched(io)?, ours(), work.target(io)?],
    };
    for version in &mut versions {
        work.leave_out(&mut version.package)?;
    }
    if let Some(tool) = tool(diff, io) {
        return with_tool(&tool, &versions, kind, diff, io);
    }
    let compare = |pair: &[Version]| {
        let labels = Labels { before: &pair[0].name, after: &pair[1].name };
        changes(&pair[0].package, &pair[1].package, labels, io.colour)
    };
    let text = versions.windows(2).map(compare).collect::<String>();
    io.print(&text)?;
    Ok(Exit::Success)
}

/// What versions are made of.
struct Work<'a> {
    local: &'a Local,
    kptfile: &'a Read,
    source: &'a Source,
    /// The version that was asked for.
    version: Option<&'a str>,
    dialect: Dialect,
    repositories: Repositories,
    /// Packages inside that upstream only names, and that were fetched for the comparison.
    inner: BTreeSet<Folder>,
}

impl Work<'_> {
    /// What was fetched: the package at its lock, and the packages inside at theirs.
    fn fetched(&mut self, io: &mut Io<'_>) -> Result<Version, Failure> {
        let Some(Locked { source, commit }) = self.kptfile.locked()? else {
            let shown = self.local.root.display();
            return Err(Failure::of(
                Code::Upstream,
                format!("package missing upstreamLock in Kptfile at '{shown}'"),
            ));
        };
        let found = self.repositories.find(&source.repo, &Revision::Commit(commit), &source.folder, io)?;
        let want = Want { commit, folder: source.folder.clone() };
        let mut package = match self.read(&found.remote, want, io) {
            Err(Unread::Lost { commit: lost, .. }) if lost == commit => {
                return Err(Failure::of(
                    Code::Upstream,
                    versions::lost(self.kptfile.name(), commit, &source),
                )
                .hint("compare with a version that it has: lanai pkg diff PKG_PATH@VERSION"));
            }
            other => other?,
        };
        let local = self.local;
        let mut open = nested::unfetched(&package);
        while let Some(folder) = open.pop() {
            let locked = kptfile::read(&local.package, &folder, &local.root)?;
            let locked = locked.map(|read| read.locked()).transpose()?.flatten();
            let Some(Locked { source, commit }) = locked else { continue };
            open.extend(self.fetch_inside(&mut package, &folder, &source, &Revision::Commit(commit), io)?);
        }
        lanai_krm::mark::mark(&mut package, self.dialect);
        Ok(Version { name: format!("remote-{}", source.reference), package })
    }

    /// The version that was asked for, and the packages inside at the versions that it names.
    fn target(&mut self, io: &mut Io<'_>) -> Result<Version, Failure> {
        let source = self.source;
        let revision = match self.version {
            Some(version) => {
                let parsed = version.parse();
                parsed.map_err(|error: lanai_repository::revision::Error| {
                    Failure::of(Code::Address, error.to_string())
                })?
            }
            None => Revision::DefaultBranch,
        };
        let found = self.repositories.find(&source.repo, &revision, &source.folder, io)?;
        let name = self.version.map_or(found.resolved.name, String::from);
        let want = Want { commit: found.resolved.commit, folder: source.folder.clone() };
        let mut package = self.read(&found.remote, want, io)?;
        let mut open = nested::unfetched(&package);
        while let Some(folder) = open.pop() {
            let Some(named) = kptfile::read(&package, &folder, &self.local.root)? else { continue };
            let Some(source) = named.source()? else { continue };
            let revision = nested::revision(&source)?;
            open.extend(self.fetch_inside(&mut package, &folder, &source, &revision, io)?);
        }
        lanai_krm::mark::mark(&mut package, self.dialect);
        Ok(Version { name: format!("target-{name}"), package })
    }

    fn read(&mut self, remote: &RemoteUrl, want: Want, io: &mut Io<'_>) -> Result<Package, Unread> {
        let empty = || Package::new(*self.local.package.limits());
        Ok(self.repositories.read(remote, &[want], io)?.pop().unwrap_or_else(empty))
    }

    /// Puts a package that upstream only names in its place; returns those inside of it that are only named.
    fn fetch_inside(
        &mut self,
        package: &mut Package,
        folder: &Folder,
        source: &Source,
        revision: &Revision,
        io: &mut Io<'_>,
    ) -> Result<Vec<Folder>, Failure> {
        self.inner.insert(folder.clone());
        if self.inner.len() > nested::MAX_PACKAGES {
            return Err(nested::too_many());
        }
        let found = self.repositories.find(&source.repo, revision, &source.folder, io)?;
        let want = Want { commit: found.resolved.commit, folder: source.folder.clone() };
        let inner = match self.read(&found.remote, want, io) {
            Err(Unread::Lost { commit, .. }) => {
                let lost = versions::lost(&folder.to_string(), commit, source);
                io.tell(&format!("note: {lost}; its files are shown as added"));
                return Ok(Vec::new());
            }
            other => other?,
        };
        let mut both = nested::cut(package, folder);
        for (path, file) in inner.iter() {
            both.insert(path.clone(), file.clone()).map_err(|error| nested::unfitting(folder, &error))?;
        }
        nested::graft(package, folder, &both)?;
        let open = nested::unfetched(&inner).into_iter().map(|inside| nested::below(folder, &inside));
        open.collect()
    }

    /// Takes out what differs by design: what Kptfiles say about where packages come from; and links, which are not
    /// fetched.
    fn leave_out(&self, package: &mut Package) -> Result<(), Failure> {
        for folder in self.inner.iter().chain([&Folder::Root]) {
            package.remove(&kptfile::path(folder)?);
        }
        let links = package.iter().filter(|(_, file)| file.mode() == Mode::Symlink);
        for link in links.map(|(path, _)| path.clone()).collect::<Vec<_>>() {
            package.remove(&link);
        }
        Ok(())
    }
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
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::of(Code::File, format!("cannot make folders to compare: {error}"))
    };
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
        Error::NotFound { program } => {
            Failure::of(Code::Machine, format!("diff-tool '{program}' not found in the PATH"))
        }
        other => Failure::of(Code::Machine, other.to_string()),
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
            Err(Failure::of(
                Code::Machine,
                format!("diff-tool {} failed: {}", Quoted(&tool.program), why.trim()),
            )
            .hint(format!("it may not support the diff type {}", kind.unwrap_or_default())))
        }
    }
}
