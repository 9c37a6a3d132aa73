//! Copies of files, outside of the package.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use lanai_krm::Package;
use lanai_krm::package::File;
use lanai_types::SafePath;

use crate::sync::sync;
use crate::{Error, entry};

/// How many folders of copies a package can have.
const MAX_FOLDERS: usize = 100_000;
/// How many versions of one file a folder of copies can have.
const MAX_VERSIONS: usize = 100;

/// Where copies of the files of a package go: a folder of its own for each command that saves something, made when the
/// first file is saved.
#[derive(Debug)]
pub struct Copies {
    /// The first that can be written to.
    places: Vec<PathBuf>,
    name: String,
    folder: Option<PathBuf>,
}

impl Copies {
    /// Copies go to new folders in `place`, called `name` and a number. `place` must not be in the package.
    pub fn new(place: impl Into<PathBuf>, name: impl Into<String>) -> Self {
        Self { places: vec![place.into()], name: name.into(), folder: None }
    }

    /// Names another place, for when the ones before it cannot be written to.
    #[must_use]
    pub fn or_in(mut self, place: impl Into<PathBuf>) -> Self {
        self.places.push(place.into());
        self
    }

    /// The folder, if anything was saved.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Saves the files of a package at these paths, and makes them last.
    ///
    /// # Errors
    /// What the system refuses.
    pub fn save<'a>(
        &mut self,
        package: &Package,
        paths: impl IntoIterator<Item = &'a SafePath>,
    ) -> Result<(), Error> {
        let mut saved = Vec::new();
        for path in paths {
            if let Some(file) = package.get(path) {
                saved.push(self.save_file(path, file)?);
            }
        }
        match &self.folder {
            Some(folder) => sync(folder, &saved),
            None => Ok(()),
        }
    }

    /// Saves one file and says where it is. What was saved of that path before stays: the next one gets a number.
    pub(crate) fn save_file(&mut self, path: &SafePath, file: &File) -> Result<PathBuf, Error> {
        let first = self.made()?.join(path.as_str());
        let parent = first.parent().unwrap_or(&first);
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        let mut target = first.clone();
        for number in 2..=MAX_VERSIONS {
            match entry::write_new(&target, file, None) {
                Ok(()) => return Ok(target),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    target = first.with_file_name(format!("{}.{number}", path.file_name()));
                }
                Err(error) => return Err(Error::io("write", &target)(error)),
            }
        }
        Err(Error::Exists(target))
    }

    /// Saves one file, makes it last, and says where it is.
    pub(crate) fn save_for_good(&mut self, path: &SafePath, file: &File) -> Result<PathBuf, Error> {
        let copy = self.save_file(path, file)?;
        sync(&self.made()?, std::slice::from_ref(&copy))?;
        Ok(copy)
    }

    fn made(&mut self) -> Result<PathBuf, Error> {
        if let Some(folder) = &self.folder {
            return Ok(folder.clone());
        }
        let mut failed = None;
        for place in &self.places {
            match made_in(place, &self.name) {
                Ok(folder) => {
                    self.folder = Some(folder.clone());
                    return Ok(folder);
                }
                // What the first place says is what people can do something about.
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        Err(failed.unwrap_or_else(|| Error::Exists(self.name.clone().into())))
    }
}

fn made_in(place: &Path, name: &str) -> Result<PathBuf, Error> {
    fs::create_dir_all(place).map_err(Error::io("create", place))?;
    for number in 1..=MAX_FOLDERS {
        let folder = place.join(format!("{name}-{number}"));
        // Nobody else is to read there what he could not read in the package.
        match fs::DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io("create", &folder)(error)),
        }
    }
    Err(Error::Exists(place.join(format!("{name}-{MAX_FOLDERS}"))))
}
