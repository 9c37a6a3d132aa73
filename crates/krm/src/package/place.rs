//! Where a resource wants to be written.

use lanai_types::SafePath;

use super::{Error, Located};
use crate::Resource;
use crate::resource::annotation;

/// A resource and where it is to be written.
#[derive(Clone, Debug)]
pub struct Placed {
    /// The resource.
    pub resource: Resource,
    /// The file; where there is none, [`default_path`] chooses one.
    pub path: Option<SafePath>,
    /// The place in the file; where there is none, behind the last that has one.
    pub index: Option<usize>,
}

impl Placed {
    /// Takes the place from the annotations of a resource, and removes all annotations that are between tools only.
    ///
    /// # Errors
    /// A path that leaves the package or names a folder, an index that is no number, annotations that cannot be edited.
    pub fn from_annotations(mut resource: Resource) -> Result<Self, Error> {
        let path = resource.path().unwrap_or_default().into_owned();
        let index = [annotation::INDEX, annotation::LEGACY_INDEX]
            .into_iter()
            .find_map(|key| resource.annotation(key))
            .filter(|index| !index.is_empty());
        let index = match index {
            None => None,
            Some(index) => {
                Some(index.parse().map_err(|_| Error::BadIndex { path: path.clone(), index: index.into() })?)
            }
        };
        let path = if path.is_empty() { None } else { Some(resource_path(&path)?) };
        strip(&mut resource)?;
        Ok(Self { resource, path, index })
    }
}

impl From<Located> for Placed {
    fn from(located: Located) -> Self {
        Self { resource: located.resource, path: Some(located.path), index: Some(located.index) }
    }
}

/// Reads the path that a resource names. As in kpt, it is cleaned first (`a/../b` is `b`), and one that begins with a
/// slash begins at the root of the package.
///
/// # Errors
/// A path that leaves the package, names its root, or is not a [`SafePath`].
pub fn resource_path(raw: &str) -> Result<SafePath, Error> {
    let rooted = raw.starts_with('/');
    let mut segments: Vec<&str> = Vec::new();
    for segment in raw.split('/') {
        match segment {
            "" | "." => {}
            ".." if segments.pop().is_some() || rooted => {}
            ".." => return Err(Error::OutsidePackage(raw.to_owned())),
            name => segments.push(name),
        }
    }
    if segments.is_empty() {
        return Err(Error::PathIsFolder(raw.to_owned()));
    }
    Ok(segments.join("/").parse()?)
}

/// The file that kpt chooses for a resource without one: its namespace as a folder, then kind in lower case and name.
/// `folder` is where the function's configuration lies, if that has a file.
///
/// # Errors
/// As [`resource_path`].
pub fn default_path(resource: &Resource, folder: Option<&SafePath>) -> Result<SafePath, Error> {
    let id = resource.id();
    let name = format!("{}_{}.yaml", id.kind.to_lowercase(), id.name);
    let folder = folder.map_or("", SafePath::as_str);
    resource_path(
        &[folder, &id.namespace, &name]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("/"),
    )
}

/// What the annotations begin with that are between tools only.
const INTERNAL: &str = "internal.config.kubernetes.io/";

/// Whether something was removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stripped {
    Nothing,
    Some,
}

/// Removes the annotations that are between tools only, under their old and new names.
pub(super) fn strip(resource: &mut Resource) -> Result<Stripped, Error> {
    const LEGACY: [&str; 3] = [annotation::LEGACY_PATH, annotation::LEGACY_INDEX, annotation::LEGACY_ID];
    let is_internal = |key: &str| key.starts_with(INTERNAL) || LEGACY.contains(&key);
    let keys: Vec<String> =
        resource.annotations().map(|(key, _)| key.into_owned()).filter(|key| is_internal(key)).collect();
    for key in &keys {
        let removed = resource.remove_annotation(key);
        removed.map_err(|cause| Error::Annotations { resource: resource.id().to_string(), cause })?;
    }
    Ok(if keys.is_empty() { Stripped::Nothing } else { Stripped::Some })
}
