//! `lanai pkg cat`: prints the files of a package.

use std::borrow::Cow;
use std::path::Path;

use lanai_krm::Package;
use lanai_krm::package::{File, Folder, Mode, is_resource_name};
use lanai_types::SafePath;
use lanai_types::quote::Quoted;
use lanai_yaml::Stream;

use super::args::Cat;
use super::local::{self, Local, Purpose};
use crate::failure::{Code, Failure, cause};
use crate::io::{Exit, Io};

pub(super) fn run(cat: &Cat, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let place = local::absolute(&cat.path, io)?;
    if !place.is_dir()
        && let Some(root) = lanai_folder::change_around(&place)
    {
        // What is on the disk may be neither what was there nor what comes.
        let local = Local::open(root, Purpose::Look, io)?;
        let path = place.strip_prefix(root).ok().and_then(std::path::Path::to_str);
        let path: Option<SafePath> = path.and_then(|path| path.parse().ok());
        if let Some(file) = path.and_then(|path| local.package.get(&path).cloned()) {
            io.print_bytes(&printed(&place, &file, cat)?)?;
            return Ok(Exit::Success);
        }
    } else if place.is_file() {
        let shown = cat.path.display().to_string();
        let content = std::fs::read(&place);
        let content = content.map_err(|error| {
            Failure::of(Code::File, format!("cannot read {}: {}", Quoted(&shown), cause(&error)))
        })?;
        io.print_bytes(&printed(&place, &File::regular(content), cat)?)?;
        return Ok(Exit::Success);
    }
    let local = Local::open(&cat.path, Purpose::Look, io)?;
    let mut all = Vec::new();
    let mut is_first = true;
    for (path, file) in order(&local.package) {
        if file.mode() == Mode::Symlink {
            continue;
        }
        let shown = printed(&local.root.join(path.as_str()), file, cat)?;
        if !std::mem::take(&mut is_first) {
            all.extend_from_slice(b"---\n");
        }
        all.extend_from_slice(&shown);
        if !shown.is_empty() && !shown.ends_with(b"\n") {
            all.push(b'\n');
        }
    }
    io.print_bytes(&all)?;
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
fn printed<'a>(path: &Path, file: &'a File, cat: &Cat) -> Result<Cow<'a, [u8]>, Failure> {
    let name = local::base(path);
    let as_it_is = Cow::Borrowed(file.content());
    let Some(text) = file.text().filter(|_| !cat.raw) else { return Ok(as_it_is) };
    if !is_resource_name(&name) || path.extension().is_some_and(|extension| extension == "json") {
        return Ok(as_it_is);
    }
    let stream = Stream::parse(text).map_err(|error| {
        Failure::of(Code::Text, format!("{}: {error:#}", path.display()))
            .hint("--raw prints files as they are")
    })?;
    let is_krm = |document: &lanai_yaml::Document| document.root().get("kind").is_some();
    let is_shaped = stream.documents().iter().any(is_krm);
    Ok(if is_shaped { Cow::Owned(lanai_yaml::format_stream(&stream).into_bytes()) } else { as_it_is })
}
