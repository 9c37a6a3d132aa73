//! `lanai pkg get`: fetches a package.

use std::fs;
use std::path::{Path, PathBuf};

use lanai_krm::ignore::Dialect;
use lanai_krm::kptfile::UpdateStrategy;
use lanai_krm::package::{File, Folder};
use lanai_krm::{Kptfile, Package};
use lanai_merge::Strategy;
use lanai_repository::Revision;
use lanai_types::quote::Quoted;
use lanai_yaml::{Content, Document, Path as YamlPath};

use super::address::{self, Address, Version};
use super::args::Get;
use super::kptfile::{self, Source};
use super::upstream::{Repositories, holds_secrets, is_relative, shown};
use super::{ignored, init, local, nested};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};

pub(super) fn run(get: &Get, dialect: Dialect, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let folder = io.folder.clone();
    let parting = io.stop.parting("stopped: nothing was written");
    let mut address = Address::parse(&get.address, |path| is_repository(&folder.join(path)))?;
    if is_relative(&address.repo) {
        // A Kptfile means the same wherever a command runs.
        address.repo = local::absolute(Path::new(&address.repo), io)?.display().to_string();
    }
    let mut repositories = Repositories::new(io)?;
    let reference = version(&mut address, &mut repositories, io)?;
    let destination = destination(get.destination.as_deref(), &address, io)?;
    let name = local::base(&destination);
    io.tell(&format!("Package {}:", Quoted(&name)));
    if holds_secrets(&address.repo) {
        io.tell(
            "note: the user or password in the address will stand in the Kptfile; git's credential helpers keep them out of files",
        );
    }

    let source = Source { repo: address.repo.clone(), folder: address.folder.clone(), reference };
    let (mut package, found, commit) = nested::fetch(&source, &mut repositories, io)?;
    let fetched = kptfile::read_fetched(&package, &source)?;
    let mut kptfile = fetched.map_or_else(|| Kptfile::new(&name), Kptfile::from);
    kptfile.set_name(&name).map_err(|error| kptfile::uneditable(&kptfile, &error))?;
    kptfile::set_origin(&mut kptfile, &source, &found, commit)?;
    let strategy = UpdateStrategy::from(Strategy::from(get.strategy).as_str().to_owned());
    let edited = kptfile.edit(|fields| {
        if let Some(upstream) = &mut fields.upstream {
            upstream.update_strategy = Some(strategy);
        }
    });
    edited.map_err(|error| kptfile::uneditable(&kptfile, &error))?;
    kptfile::write(&mut package, &Folder::Root, &kptfile)?;
    let inside = nested::fetch_all(&mut package, &destination, &mut repositories, io)?;
    ignored::warn(&package, dialect, io);
    lanai_krm::mark::mark(&mut package, dialect);
    if get.for_deployment {
        set_context(&mut package, &name)?;
    }
    drop(parting);
    local::create(&destination, &package, io)?;
    io.tell(&format!("\nFetched {} package(s).", 1 + inside));
    if get.for_deployment {
        io.tell("\nCustomized package for deployment.");
    }
    Ok(Exit::Success)
}

fn is_repository(path: &Path) -> bool {
    path.join(".git").exists() || (path.join("HEAD").is_file() && path.join("objects").is_dir())
}

/// The version that is asked for: a name, else the default branch. The address of a web page gets its folder here.
fn version(
    address: &mut Address,
    repositories: &mut Repositories,
    io: &mut Io<'_>,
) -> Result<String, Failure> {
    match &address.version {
        Version::Named(version) => Ok(version.clone()),
        Version::Unnamed => {
            let found = repositories.find(&address.repo, &Revision::DefaultBranch, &address.folder, io)?;
            Ok(found.resolved.name)
        }
        Version::InPath(path) => {
            let path = path.clone();
            let branches = repositories.branches(&address.repo, io)?;
            let mut fitting = branches.iter().filter(|branch| {
                path.strip_prefix(branch.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            let Some(branch) = fitting.next() else {
                return Err(Failure::of(
                    Code::GitMissing,
                    format!(
                        "repository {} has no branch for {}",
                        Quoted(&shown(&address.repo)),
                        Quoted(&path)
                    ),
                ));
            };
            if let Some(second) = fitting.next() {
                return Err(Failure::of(
                    Code::Address,
                    format!(
                        "{} can mean the branch {} or the branch {}",
                        Quoted(&path),
                        Quoted(branch),
                        Quoted(second)
                    ),
                )
                .hint("write it as REPO.git/FOLDER@BRANCH"));
            }
            let folder = address::folder(&path[branch.len()..]);
            address.folder =
                folder.map_err(|error| Failure::of(Code::Address, format!("{}: {error}", Quoted(&path))))?;
            Ok(branch.clone())
        }
    }
}

/// The folder to make. A folder that is there already gets the package as a folder inside, but for `.`.
fn destination(given: Option<&Path>, address: &Address, io: &Io<'_>) -> Result<PathBuf, Failure> {
    let given_path = given.unwrap_or(Path::new(address.name()));
    let path = local::absolute(given_path, io)?;
    let exists = |path: &Path| {
        Failure::of(
            Code::Exists,
            format!("destination directory {} already exists", Quoted(&path.display().to_string())),
        )
    };
    if given == Some(Path::new(".")) {
        let mut entries = fs::read_dir(&path).map_err(|_| exists(&path))?;
        return if entries.next().is_none() { Ok(path) } else { Err(exists(&path)) };
    }
    match fs::metadata(&path) {
        Ok(found) if !found.is_dir() => Err(Failure::of(
            Code::File,
            format!(
                "LOCAL_PKG_DEST must be a directory, and {} is none",
                Quoted(&path.display().to_string())
            ),
        )),
        Ok(_) if given.is_none() => Err(exists(&path)),
        Ok(_) => {
            let inside = path.join(address.name());
            if fs::symlink_metadata(&inside).is_ok() { Err(exists(&inside)) } else { Ok(inside) }
        }
        Err(_) => {
            let parent = path.parent().unwrap_or(&path);
            if parent.is_dir() {
                return Ok(path);
            }
            let why = if parent.exists() { "is no directory" } else { "does not exist" };
            let parent = parent.display().to_string();
            Err(Failure::of(Code::File, format!("parent directory {} {why}", Quoted(&parent))))
        }
    }
}

/// Says in the package what it is called: the `ConfigMap` that functions read.
fn set_context(package: &mut Package, name: &str) -> Result<(), Failure> {
    let refused =
        |error: &dyn std::fmt::Display| Failure::of(Code::Text, format!("{}: {error}", init::CONTEXT_FILE));
    let path = init::CONTEXT_FILE.parse().map_err(|error| refused(&error))?;
    let text = package.get(&path).and_then(File::text).map(String::from);
    let text = text.unwrap_or_else(|| init::context(name));
    let mut document = Document::parse(text).map_err(|error| refused(&error))?;
    let field = YamlPath::parse("data.name").map_err(|error| refused(&error))?;
    document.set(&field, Content::string(name)).map_err(|error| refused(&error))?;
    package.insert(path, File::from_text(document.to_string())).map_err(|error| refused(&error))?;
    Ok(())
}
