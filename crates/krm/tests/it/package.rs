//! Packages: files, folders, packages inside, resources.

mod corpus;
mod files;
mod nested;
mod properties;
mod resources;
mod write;

use lanai_krm::package::{File, Package};
use lanai_types::{Limits, SafePath};

fn path(raw: &str) -> SafePath {
    raw.parse().unwrap()
}

fn package(files: &[(&str, &str)]) -> Package {
    let entries = files.iter().map(|(path, text)| (*path, File::from_text(text)));
    Package::from_entries(entries, Limits::DEFAULT).unwrap()
}

/// The files with their texts, to compare with.
fn texts(package: &Package) -> Vec<(&str, &str)> {
    package.iter().map(|(path, file)| (path.as_str(), file.text().unwrap())).collect()
}
