//! Under which name the program was called.

use std::ffi::OsString;
use std::path::Path;

use lanai_krm::ignore::Dialect;

/// Under which name the program was called. Called `kpt`, it does as kpt does where the two differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persona {
    Lanai,
    Kpt,
}

impl Persona {
    /// By the first argument of the process.
    pub fn of(program: Option<&OsString>) -> Self {
        let name = program.and_then(|program| Path::new(program).file_name());
        if name.is_some_and(|name| name == "kpt") { Self::Kpt } else { Self::Lanai }
    }

    /// How `.krmignore` is read.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Lanai => Dialect::Gitignore,
            Self::Kpt => Dialect::Kpt,
        }
    }
}
