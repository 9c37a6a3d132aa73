//! What can go wrong with a folder.

use std::io;
use std::path::{Path, PathBuf};

use lanai_types::SafePath;
use lanai_types::quote::Quoted;

use crate::apply::Kept;

/// Why a folder cannot be read or changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system refused something.
    #[error("cannot {action} {}: {cause}", Quoted(&.path.display().to_string()))]
    Io {
        /// What was tried: `read`, `write`, `remove`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        cause: io::Error,
    },
    /// A name that is not UTF-8.
    #[error("the name of {} is not UTF-8", Quoted(&.0.display().to_string()))]
    Name(PathBuf),
    /// What is in the folder is no package: a path, or a limit.
    #[error("folder {}: {cause}", Quoted(&.root.display().to_string()))]
    Package {
        /// The folder.
        root: PathBuf,
        /// Which rule is broken.
        cause: lanai_krm::package::Error,
    },
    /// Somebody else is changing the package.
    #[error("package {} is being changed by {holder}", Quoted(&.root.display().to_string()))]
    Locked {
        /// The package.
        root: PathBuf,
        /// Who it is, as far as that is known.
        holder: String,
    },
    /// The package is not what the change was made for; nothing was changed.
    #[error(
        "file {} was changed by somebody else meanwhile; nothing was written",
        Quoted(&.root.join(.path.as_str()).display().to_string())
    )]
    Changed {
        /// The package.
        root: PathBuf,
        /// The first file that is another one.
        path: SafePath,
    },
    /// A package has a file where the lock and the journal are kept.
    #[error("file {} cannot be written: the name \"{}\" is kept for the program", Quoted(.0.as_str()), crate::STATE_FOLDER)]
    Reserved(SafePath),
    /// Something that is none of ours has the name of the folder of the lock and the journal, or of a file in it.
    #[error("{} is not what the program keeps there: remove it first", Quoted(&.0.display().to_string()))]
    Strange(PathBuf),
    /// Content that was made to have the digest of other content.
    #[error(transparent)]
    Collision(#[from] lanai_krm::digest::Collision),
    /// A change failed and was taken back.
    #[error("{cause}; all files are as they were before{}", but_for(.kept))]
    Undone {
        /// Why it failed.
        cause: Box<Error>,
        /// Files that are not, since somebody else changed them meanwhile; a copy is what was there that the change took away.
        kept: Vec<Kept>,
    },
    /// A change failed and could not be taken back: some files are changed, the others are not. The journal stays.
    #[error("{cause}; some files are changed already, and they could not be put back: {undo}")]
    Half {
        /// Why it failed.
        cause: Box<Error>,
        /// Why it could not be taken back.
        undo: Box<Error>,
    },
    /// The old content of a file is nowhere any more.
    #[error("the old content of {} is gone", Quoted(&.0.display().to_string()))]
    Lost(PathBuf),
    /// There is something already where a new folder is to be.
    #[error("{} is there already", Quoted(&.0.display().to_string()))]
    Exists(PathBuf),
}

/// The files that were not put back, for people.
fn but_for(kept: &[Kept]) -> String {
    if kept.is_empty() {
        return String::new();
    }
    let files = kept.iter().map(|one| match &one.copy {
        Some(copy) => {
            let copy = copy.display().to_string();
            format!("{} (what it held is in {})", Quoted(one.path.as_str()), Quoted(&copy))
        }
        None => Quoted(one.path.as_str()).to_string(),
    });
    format!(", but for what somebody else changed meanwhile: {}", files.collect::<Vec<_>>().join(", "))
}

impl Error {
    /// For `map_err`: what was tried with which path.
    pub(crate) fn io(action: &'static str, path: impl AsRef<Path>) -> impl FnOnce(io::Error) -> Self {
        let path = path.as_ref().to_path_buf();
        move |cause| Self::Io { action, path, cause }
    }
}
