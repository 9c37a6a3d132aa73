//! Where things are on the machine that runs the tests.

use std::env;
use std::path::{Path, PathBuf};

/// The root of the repository: the folder of the workspace's `Cargo.toml`.
///
/// It is fixed when the tests are compiled; a test binary that is moved to another machine does not find it.
pub fn workspace_root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("this crate lies two folders below the root").to_path_buf()
}

/// The folder of a corpus of files that are too many or too foreign to keep in the repository.
///
/// Looks in the folder named by `LANAI_CORPORA`, or else in `../shared/corpora` beside the repository.
/// Returns `None` where the corpus is not on this machine; the test then calls [`skip`](crate::skip).
pub fn corpus(name: &str) -> Option<PathBuf> {
    let corpora = env::var_os("LANAI_CORPORA")
        .map_or_else(|| workspace_root().join("../shared/corpora"), PathBuf::from);
    find(&corpora, name)
}

/// The folder that cargo builds into.
pub(crate) fn target_dir() -> PathBuf {
    let root = workspace_root();
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |set| root.join(set))
}

fn find(corpora: &Path, name: &str) -> Option<PathBuf> {
    let folder = corpora.join(name);
    folder.is_dir().then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace() {
        let manifest = std::fs::read_to_string(workspace_root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }

    #[test]
    fn a_corpus_is_a_folder_of_that_name() {
        let crates = workspace_root().join("crates");
        assert_eq!(find(&crates, "testkit"), Some(crates.join("testkit")));
        assert_eq!(find(&crates, "no-such-corpus"), None);
        assert_eq!(find(&crates.join("testkit"), "Cargo.toml"), None, "a file is not a corpus");
    }
}
