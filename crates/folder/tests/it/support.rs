//! Packages and folders for the tests.

use std::fs;
use std::path::{Path, PathBuf};

use lanai_folder::{Applied, Copies, Error, Lock, lock, read};
use lanai_krm::Package;
use lanai_krm::package::{File, Mode};
use lanai_types::{Limits, SafePath};
use tempfile::TempDir;

/// A folder `pkg`, and a place beside it for copies.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        fs::create_dir(folder.path().join("pkg")).expect("it is new");
        Self { folder }
    }

    /// A place with the files of a package.
    pub fn with(package: &Package) -> Self {
        let place = Self::new();
        place.apply(&Package::new(Limits::default()), package).expect("an empty folder can be filled");
        place
    }

    pub fn root(&self) -> PathBuf {
        self.folder.path().join("pkg")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub fn copies(&self) -> Copies {
        Copies::new(self.folder.path().join("saved"), "pkg")
    }

    pub fn lock(&self) -> Lock {
        lock(&self.root(), "a test").expect("nobody else has it")
    }

    pub fn apply(&self, before: &Package, after: &Package) -> Result<Applied, Error> {
        lanai_folder::apply(&self.lock(), before, after, &mut self.copies(), &mut ())
    }

    #[track_caller]
    pub fn package(&self) -> Package {
        let contents = read(&self.root(), Limits::default()).expect("it can be read");
        assert_eq!(contents.odd, [], "nothing is left behind");
        contents.package
    }
}

/// A package; a path that ends in `*` is a program, one that ends in `@` is a link.
pub(crate) fn package(files: &[(&str, &str)]) -> Package {
    let files = files.iter().map(|(path, text)| {
        let mode = match path.chars().last() {
            Some('*') => Mode::Executable,
            Some('@') => Mode::Symlink,
            Some(_) | None => Mode::Regular,
        };
        (path.trim_end_matches(['*', '@']), File::new(text.as_bytes(), mode))
    });
    Package::from_entries(files, Limits::default()).expect("it is a package")
}

pub(crate) fn safe(path: &str) -> SafePath {
    path.parse().expect("it is a path")
}

/// All names below a folder, sorted.
pub(crate) fn names(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).expect("it is there") {
            let entry = entry.expect("it can be read");
            found.push(
                entry
                    .path()
                    .strip_prefix(root)
                    .expect("it is below")
                    .to_str()
                    .expect("it is text")
                    .to_owned(),
            );
            if entry.file_type().expect("it is there").is_dir() {
                open.push(entry.path());
            }
        }
    }
    found.sort();
    found
}
