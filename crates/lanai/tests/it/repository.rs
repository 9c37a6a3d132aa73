//! The files of the repository, for the tests that read them.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the crate lies two folders below").into()
}

/// The text of a file that must be there.
pub(crate) fn read(file: &Path) -> String {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()));
    text.expect("a file of the repository can be read")
}
