//! Where resources go.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use lanai_krm::package::Placed;
use lanai_krm::resource::{Location, annotation};
use lanai_krm::{Package, Resource, ResourceList};
use lanai_render::ResultList;
use lanai_types::quote::Quoted;
use lanai_yaml::{SequenceIndent, detect_sequence_indent};

use crate::failure::{Code, Failure, cause};
use crate::io::Io;
use crate::persona::Persona;
use crate::pkg::local;

/// Where resources go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// Where they came from.
    InPlace,
    /// To standard output, as a list.
    List,
    /// To standard output, one after another.
    Plain,
    /// To a new folder.
    Folder(PathBuf),
}

impl Output {
    /// Reads the flag. A folder must not be there. An empty one is a variable that was not set; kpt takes it for none.
    pub fn of(flag: Option<&str>, persona: Persona, io: &Io<'_>) -> Result<Self, Failure> {
        match flag {
            Some("") if persona == Persona::Lanai => {
                Err(Failure::of(Code::Usage, "--output is empty")
                    .hint("leave it out to write into the package"))
            }
            None | Some("") => Ok(Self::InPlace),
            Some("stdout") => Ok(Self::List),
            Some("unwrap") => Ok(Self::Plain),
            Some(folder) => new_folder(Path::new(folder), io).map(Self::Folder),
        }
    }

    /// Refuses a folder inside of the package: it would be part of it from then on.
    pub fn check_outside(&self, root: &Path) -> Result<(), Failure> {
        let Self::Folder(folder) = self else { return Ok(()) };
        // The folder is not there yet; what is there of its way may lead through links.
        let above = folder.ancestors().skip(1).find_map(|above| fs::canonicalize(above).ok());
        let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        if !above.is_some_and(|above| above.starts_with(&root)) {
            return Ok(());
        }
        let (folder, root) = (folder.display().to_string(), root.display().to_string());
        Err(Failure::of(
            Code::Usage,
            format!(
                "the output {} is inside of the package {}, and would become part of it",
                Quoted(&folder),
                Quoted(&root)
            ),
        ))
    }

    /// Puts resources there. Does nothing in place: that is the business of whoever read them.
    pub fn put(&self, items: &[Resource], io: &mut Io<'_>) -> Result<(), Failure> {
        match self {
            Self::InPlace => Ok(()),
            Self::List => {
                let items = items.iter().map(located).collect::<Result<Vec<_>, _>>()?;
                io.print(&ResourceList { items, ..ResourceList::default() }.to_string())
            }
            Self::Plain => {
                let texts: Vec<String> = items.iter().map(plain).collect::<Result<_, _>>()?;
                io.print(&texts.join("---\n"))
            }
            Self::Folder(folder) => create(folder, items, io),
        }
    }
}

/// A folder that is not there yet.
pub(crate) fn new_folder(folder: &Path, io: &Io<'_>) -> Result<PathBuf, Failure> {
    let path = local::absolute(folder, io)?;
    if fs::symlink_metadata(&path).is_ok() {
        let shown = folder.display().to_string();
        return Err(Failure::of(
            Code::Exists,
            format!("directory {} already exists, please delete the directory and retry", Quoted(&shown)),
        ));
    }
    Ok(path)
}

/// Makes a folder with these resources.
pub(super) fn create(folder: &Path, items: &[Resource], io: &mut Io<'_>) -> Result<(), Failure> {
    let mut package = Package::new(local::LIMITS);
    let placed = items.iter().cloned().map(placed).collect::<Result<Vec<_>, _>>()?;
    let options = lanai_krm::package::ReadOptions {
        other_yaml: lanai_krm::package::OtherYaml::Included,
        ..Default::default()
    };
    package.write_resources(placed, options).map_err(|error| Failure::of(Code::Text, error.to_string()))?;
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent).map_err(|error| {
            let shown = parent.display().to_string();
            Failure::of(Code::File, format!("cannot create {}: {}", Quoted(&shown), cause(&error)))
        })?;
    }
    local::create(folder, &package, io)
}

/// Where a resource is to be written: by its origin, else by its annotations.
pub(super) fn placed(item: Resource) -> Result<Placed, Failure> {
    match item.origin().cloned() {
        Some(origin) => Ok(Placed { path: Some(origin.path), index: origin.index, resource: item }),
        None => Placed::from_annotations(item).map_err(|error| Failure::of(Code::Text, error.to_string())),
    }
}

/// A resource with annotations that say where it stands.
pub(super) fn located(item: &Resource) -> Result<Resource, Failure> {
    let uneditable = |error: lanai_yaml::edit::Error| {
        Failure::of(Code::Text, format!("the annotations of {} cannot be written: {error}", item.id()))
    };
    let mut located = item.clone();
    let wide = detect_sequence_indent(&item.to_string()) == SequenceIndent::Wide;
    if let Some(origin) = item.origin() {
        if let Some(index) = origin.index {
            let location = Location { path: origin.path.to_string(), index };
            located.set_location(&location).map_err(uneditable)?;
        } else {
            located.set_annotation(annotation::LEGACY_PATH, origin.path.as_str()).map_err(uneditable)?;
            located.set_annotation(annotation::PATH, origin.path.as_str()).map_err(uneditable)?;
        }
        let indent = if wide { "wide" } else { "compact" };
        located.set_annotation(annotation::SEQUENCE_INDENT, indent).map_err(uneditable)?;
    }
    Ok(located)
}

/// A resource alone, with nothing in it that is between tools only.
fn plain(item: &Resource) -> Result<String, Failure> {
    let mut item = item.clone();
    let uneditable = |error: lanai_yaml::edit::Error| {
        Failure::of(Code::Text, format!("annotations cannot be removed: {error}"))
    };
    item.remove_location().map_err(uneditable)?;
    item.remove_annotation(annotation::SEQUENCE_INDENT).map_err(uneditable)?;
    let text = item.to_string();
    let text = text.strip_prefix("---\n").unwrap_or(&text);
    Ok(if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") })
}

/// Makes the folder for what functions report, before anything runs.
pub(super) fn prepare_results(folder: Option<&Path>, io: &Io<'_>) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    fs::create_dir_all(local::absolute(folder, io)?).map_err(|error| {
        let shown = folder.display().to_string();
        Failure::of(Code::File, format!("cannot make the folder {} for results: {error}", Quoted(&shown)))
    })
}

/// Writes what functions reported, and says where.
pub(super) fn write_results(
    results: &ResultList,
    folder: Option<&Path>,
    io: &mut Io<'_>,
) -> Result<(), Failure> {
    let Some(folder) = folder else { return Ok(()) };
    let path = local::absolute(folder, io)?;
    let shown = folder.join("results.yaml").display().to_string();
    let cannot = |error: &std::io::Error| {
        Failure::of(Code::File, format!("cannot write {}: {}", Quoted(&shown), cause(error)))
    };
    fs::create_dir_all(&path).map_err(|error| cannot(&error))?;
    let _busy = io.stop.busy();
    let written = tempfile::NamedTempFile::new_in(&path).and_then(|mut file| {
        file.write_all(results.to_string().as_bytes())?;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o644))?;
        file.persist(path.join("results.yaml")).map_err(|error| error.error)?;
        Ok(())
    });
    written.map_err(|error| cannot(&error))?;
    io.tell(&format!("For complete results, see {shown}"));
    Ok(())
}
