//! `lanai pkg cat`: prints the files of a package.

use std::path::Path;

use lanai_krm::Package;
use lanai_krm::package::{File, Folder, Mode, is_resource_name};
use lanai_types::SafePath;
use lanai_types::quote::Quoted;
use lanai_yaml::Stream;

use super::args::Cat;
use super::local::{self, Local, Purpose};
use crate::failure::{Failure, cause};
use crate::io::{Exit, Io};

pub(super) fn run(cat: &Cat, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let place = local::absolute(&cat.path, io)?;
    if place.is_file() {
        let shown = cat.path.display().to_string();
        let content = std::fs::read(&place);
        let content = content
            .map_err(|error| Failure::new(format!("cannot read {}: {}", Quoted(&shown), cause(&error))))?;
        let text = shown_text(&place, &File::regular(content), cat)?;
        io.print(&text)?;
        return Ok(Exit::Success);
    }
    let local = Local::open(&cat.path, Purpose::Look, io)?;
    let mut texts = Vec::new();
    for (path, file) in order(&local.package) {
        if file.mode() != Mode::Symlink {
            texts.push(shown_text(&local.root.join(path.as_str()), file, cat)?);
        }
    }
    let ended = texts
        .into_iter()
        .map(|text| if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" });
    io.print(&ended.collect::<Vec<_>>().join("---\n"))?;
    Ok(Exit::Success)
}

/// The files of each package before those of the packages inside it, each in the order of the walk.
fn order(package: &Package) -> Vec<(&SafePath, &File)> {
    let mut files: Vec<(Folder, (&SafePath, &File))> =
        package.walk().into_iter().map(|(path, file)| (package.owner(path), (path, file))).collect();
    // Stable: the walk decides within a package.
    files.sort_by(|(left, _), (right, _)| left.cmp(right));
    files.into_iter().map(|(_, file)| file).collect()
}

/// What is printed of a file: resources in the reference format, all else as it is.
fn shown_text(path: &Path, file: &File, cat: &Cat) -> Result<String, Failure> {
    let name = local::base(path);
    let text = file.text().map_or_else(|| String::from_utf8_lossy(file.content()).into_owned(), String::from);
    if cat.raw || !is_resource_name(&name) || path.extension().is_some_and(|extension| extension == "json") {
        return Ok(text);
    }
    let stream = Stream::parse(text.as_str()).map_err(|error| {
        Failure::new(format!("{}: {error:#}", path.display())).hint("--raw prints files as they are")
    })?;
    let is_krm = |document: &lanai_yaml::Document| document.root().get("kind").is_some();
    if stream.documents().iter().any(is_krm) { Ok(lanai_yaml::format_stream(&stream)) } else { Ok(text) }
}
