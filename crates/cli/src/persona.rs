//! Under which name the program was called.

use std::ffi::OsString;
use std::path::Path;

use lanai_krm::ignore::Dialect;

/// Under which name the program was called. Called `kpt` or `porchctl`, it does as those do where they differ from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Persona {
    Lanai,
    Kpt,
    Porchctl,
}

impl Persona {
    /// By the first argument of the process.
    pub fn of(program: Option<&OsString>) -> Self {
        let name = program.and_then(|program| Path::new(program).file_name());
        match name.and_then(|name| name.to_str()) {
            Some("kpt") => Self::Kpt,
            Some("porchctl") => Self::Porchctl,
            _ => Self::Lanai,
        }
    }

    /// The name that commands in hints begin with.
    pub fn program(self) -> &'static str {
        match self {
            Self::Lanai => "lanai",
            Self::Kpt => "kpt",
            Self::Porchctl => "porchctl",
        }
    }

    /// How `.krmignore` is read.
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Lanai | Self::Porchctl => Dialect::Gitignore,
            Self::Kpt => Dialect::Kpt,
        }
    }
}
