//! `lanai rpkg diff`: what differs between a revision and its upstream, another one, or a folder.

use std::path::Path;

use lanai_krm::Package;
use lanai_types::SafePath;

use super::ancestry::Revisions;
use super::args::Diff;
use super::files::{self, METADATA};
use super::server::{Server, name_of};
use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};
use crate::pkg::local::{Local, Purpose};
use crate::pkg::patch::{Labels, changes};

pub(super) fn run(diff: &Diff, server: &Server, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let name = diff.package.as_str();
    let fetch = |name: &str, io: &mut Io<'_>| -> Result<Package, Failure> {
        files::package(&server.resources(name, io)?)
    };
    let here = fetch(name, io)?;
    let text = if diff.with == "upstream" {
        let all = Revisions::load(server, io)?;
        let object = all.by_name.get(name);
        let upstream = object.and_then(|object| all.upstream(object)).map(name_of).ok_or_else(|| {
            Failure::of(Code::Upstream, format!("{name} was made of no revision that this server has"))
                .hint("name what to compare with: another revision, or a folder")
        })?;
        let theirs = fetch(upstream, io)?;
        let (theirs, here) = (files::compared(&theirs), files::compared(&here));
        changes(&theirs, &here, Labels { before: upstream, after: name }, io.colour)
    } else if is_folder(&diff.with, io) {
        let mut folder = Local::open(Path::new(&diff.with), Purpose::Look, io)?.package;
        if let Ok(metadata) = METADATA.parse::<SafePath>() {
            folder.remove(&metadata);
        }
        let (here, folder) = (files::compared(&here), files::compared(&folder));
        changes(&here, &folder, Labels { before: name, after: "folder" }, io.colour)
    } else {
        let other = fetch(&diff.with, io)?;
        let (here, other) = (files::compared(&here), files::compared(&other));
        changes(&here, &other, Labels { before: name, after: &diff.with }, io.colour)
    };
    io.print(&text)?;
    Ok(Exit::Success)
}

/// A name of a revision has points and no slashes; a folder is there.
fn is_folder(with: &str, io: &Io<'_>) -> bool {
    with.contains('/') || with == "." || with == ".." || io.folder.join(with).is_dir()
}
