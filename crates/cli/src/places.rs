//! Where things are kept on this machine.

use std::ffi::OsStr;
use std::path::PathBuf;

use crate::failure::{Code, Failure};
use crate::io::Io;

/// A variable of the environment that names a folder.
pub(crate) fn variable(name: &str, io: &Io<'_>) -> Option<PathBuf> {
    io.environment.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The folder for what can be fetched or made again.
///
/// # Errors
/// When the environment says nothing about that.
pub(crate) fn cache(io: &Io<'_>) -> Result<PathBuf, Failure> {
    let cache = variable("LANAI_CACHE_DIR", io)
        .or_else(|| variable("XDG_CACHE_HOME", io).map(|folder| folder.join("lanai")))
        .or_else(|| variable("HOME", io).map(|home| home.join(".cache/lanai")));
    cache.ok_or_else(|| {
        Failure::of(Code::Machine, "there is no place for what is fetched: HOME is not set")
            .hint("name a folder with LANAI_CACHE_DIR")
    })
}
