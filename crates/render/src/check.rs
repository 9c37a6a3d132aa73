//! What may go into a function and come out of it.

use std::borrow::Cow;
use std::collections::HashSet;

use lanai_krm::kptfile::{Invalid, Stage};
use lanai_krm::package::{self, Folder, default_path, resource_path};
use lanai_krm::resource::{NotKrm, Origin, annotation};
use lanai_krm::{Kptfile, Package, Resource};
use lanai_types::SafePath;
use lanai_types::quote::Quoted;

use crate::config::{self, inside};

/// A resource that came out of a function and cannot be where it is to be. `Display` gives kpt's text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct PathProblem {
    /// Which one of the list it is, from 1.
    pub item: usize,
    /// Its type and name.
    pub resource: String,
    /// The field that says where it is to be; none where nothing says so.
    pub field: Option<String>,
    /// What is wrong.
    pub what: Misplaced,
}

/// What is wrong about the place of a resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misplaced {
    /// The path leaves the package, names a folder, or is none.
    #[error(transparent)]
    Path(#[from] package::Error),
    /// Two resources ask for the same place. The text is kpt's.
    #[error("resource at path {} and index {} already exists", Quoted(.path), Quoted(.index))]
    Twice {
        /// The file.
        path: String,
        /// The place in it; empty when there is none.
        index: String,
    },
    /// The annotations of a resource cannot be edited.
    #[error("the annotations of {resource} cannot be edited: {cause}")]
    Annotations {
        /// The resource.
        resource: String,
        /// Why.
        cause: lanai_yaml::edit::Error,
    },
}

impl PathProblem {
    fn of(at: usize, resource: &Resource, what: Misplaced) -> Self {
        let says = |keys: [&'static str; 2]| keys.into_iter().find(|key| resource.annotation(key).is_some());
        let key = match &what {
            Misplaced::Path(package::Error::BadIndex { .. }) => {
                says([annotation::INDEX, annotation::LEGACY_INDEX])
            }
            Misplaced::Path(_) | Misplaced::Twice { .. } => says([annotation::PATH, annotation::LEGACY_PATH]),
            Misplaced::Annotations { .. } => None,
        };
        let field = key.map(|key| format!("metadata.annotations[\"{key}\"]"));
        Self { item: at + 1, resource: resource.id().to_string(), field, what }
    }
}

/// A resource that is none, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {cause}", .path.as_deref().unwrap_or("a resource without a file"))]
pub struct NotAResource {
    /// Which one of the list it is, from 1.
    pub item: usize,
    /// Its file.
    pub path: Option<String>,
    /// What it lacks.
    pub cause: NotKrm,
}

/// A function of a pipeline that cannot be.
#[derive(Clone, Debug)]
pub(crate) struct BadFunction {
    /// The function, as the Kptfile names it.
    pub function: String,
    /// What is wrong with it.
    pub invalid: Invalid,
}

/// What can be said about a pipeline before it runs, in the order of the functions, mutators first. `package` is the whole
/// tree, `of` the package whose pipeline it is.
pub(crate) fn pipeline(package: &Package, of: &Folder, kptfile: &Kptfile) -> Result<(), BadFunction> {
    let mut without_files = kptfile.validate().into_iter().peekable();
    for stage in [Stage::Mutators, Stage::Validators] {
        for (index, function) in kptfile.functions(stage).iter().enumerate() {
            let field = format!("pipeline.{}[{index}]", stage.as_str());
            let is_here = |invalid: &Invalid| {
                invalid
                    .field
                    .strip_prefix(&field)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            let invalid = match without_files.next_if(is_here) {
                Some(invalid) => invalid,
                None => match config::check_file(package, of, function, &field) {
                    Ok(()) => continue,
                    Err(invalid) => invalid,
                },
            };
            return Err(BadFunction { function: config::named(function).to_owned(), invalid });
        }
    }
    Ok(())
}

/// Checks that all are resources.
pub(crate) fn krm(items: &[Resource]) -> Result<(), NotAResource> {
    for (at, item) in items.iter().enumerate() {
        let path = || item.path().map(Cow::into_owned);
        item.check_krm().map_err(|cause| NotAResource { item: at + 1, path: path(), cause })?;
    }
    Ok(())
}

/// What a function left, with every place made an origin: annotations that say where a resource stands are read and removed.
///
/// `running` is the package whose function it was; `beside` is where new resources without a place go.
pub(crate) fn places(
    items: &mut [Resource],
    running: &Folder,
    beside: Option<&SafePath>,
    known: &Package,
) -> Result<(), PathProblem> {
    for (at, item) in items.iter_mut().enumerate() {
        settle(item, running, beside, known).map_err(|what| PathProblem::of(at, item, what))?;
    }
    Ok(())
}

/// Checks that no two ask for the same place.
pub(crate) fn no_place_twice(items: &[Resource]) -> Result<(), PathProblem> {
    let mut taken = HashSet::new();
    for (at, item) in items.iter().enumerate() {
        let Some(origin) = item.origin() else { continue };
        // As seen from the root: a package may put something into the folder of another.
        if !taken.insert((inside(&origin.package, &origin.path), origin.index)) {
            let what = Misplaced::Twice {
                path: origin.path.to_string(),
                index: origin.index.map(|index| index.to_string()).unwrap_or_default(),
            };
            return Err(PathProblem::of(at, item, what));
        }
    }
    Ok(())
}

/// The annotations by which a resource says where it stands.
const PLACES: [&str; 6] = [
    annotation::PATH,
    annotation::LEGACY_PATH,
    annotation::INDEX,
    annotation::LEGACY_INDEX,
    annotation::PACKAGE_PATH,
    annotation::SEQUENCE_INDENT,
];

/// Makes the place of one resource its origin.
fn settle(
    item: &mut Resource,
    running: &Folder,
    beside: Option<&SafePath>,
    known: &Package,
) -> Result<(), Misplaced> {
    if item.origin().is_some() && PLACES.iter().all(|key| item.annotation(key).is_none()) {
        return Ok(());
    }
    let said = |keys: [&str; 2]| keys.into_iter().find_map(|key| Some(item.annotation(key)?.into_owned()));
    let path = said([annotation::PATH, annotation::LEGACY_PATH]).filter(|path| !path.is_empty());
    let index = said([annotation::INDEX, annotation::LEGACY_INDEX]);
    let old = item.origin().cloned();
    let index = match index.as_deref() {
        Some("") => None,
        Some(text) => Some(text.parse().map_err(|_| package::Error::BadIndex {
            path: path.clone().unwrap_or_default(),
            index: text.to_owned(),
        })?),
        // One that was moved keeps its number in the new file.
        None => old.as_ref().and_then(|old| old.index),
    };
    let package = match &old {
        Some(origin) => origin.package.clone(),
        None => owner(item, running, known),
    };
    let serial = old.as_ref().and_then(|old| old.serial);
    let path = match (path, old) {
        (Some(path), _) => resource_path(&path)?,
        (None, Some(old)) => old.path,
        (None, None) => default_path(item, beside)?,
    };
    let origin = Origin { package, path, index, serial };
    for key in PLACES {
        if item.annotation(key).is_some() {
            let removed = item.remove_annotation(key);
            removed.map_err(|cause| Misplaced::Annotations { resource: item.id().to_string(), cause })?;
        }
    }
    item.set_origin(Some(origin));
    Ok(())
}

/// The package that a new resource belongs to: the one that it names, if that is one of those that the function saw; else
/// the one whose function it was.
fn owner(item: &Resource, running: &Folder, known: &Package) -> Folder {
    let named = item.annotation(annotation::PACKAGE_PATH).and_then(|text| folder(&text));
    let is_seen = |folder: &Folder| match folder {
        Folder::Root => *running == Folder::Root,
        Folder::At(path) => folder == running || running.holds(path),
    };
    named.filter(|folder| is_seen(folder) && known.is_package(folder)).unwrap_or_else(|| running.clone())
}

fn folder(text: &str) -> Option<Folder> {
    if text == "." { Some(Folder::Root) } else { Some(Folder::At(text.parse().ok()?)) }
}
