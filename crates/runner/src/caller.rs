//! Who asks for a program, and where it is then.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use lanai_types::quote::Quoted;
use rustix::fs::{Access, AtFlags, CWD};

/// The environment and the folder of whoever asks for a program.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// The environment.
    pub environment: Vec<(OsString, OsString)>,
    /// The current folder, as an absolute path.
    pub folder: PathBuf,
}

/// Why there is no program to start.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{}: there is no such program in the folders of PATH", Quoted(.name))]
    NotInPath { name: String },
    #[error(
        "{} is in the current folder only, by a PATH that names it; say {} if that is what you mean",
        Quoted(.name),
        Quoted(&format!("./{name}"))
    )]
    InCurrentFolder { name: String },
    #[error("{}: {cause}", Quoted(.name))]
    NotExecutable { name: String, cause: io::Error },
}

impl Caller {
    /// The value of a variable.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let is_it = |(key, _): &&(OsString, OsString)| key.as_os_str() == name;
        self.environment.iter().rev().find(is_it).map(|(_, value)| value.as_os_str())
    }

    /// The absolute path of a program, found as kpt finds it.
    ///
    /// A name with a slash is a path from the current folder. Another one is looked up in the folders of `PATH`; if the first
    /// find is by a relative folder, it is refused, because what is in the current folder came from somebody else. There is no `..`
    /// in what is found.
    pub(crate) fn find(&self, name: &str) -> Result<PathBuf, Error> {
        if name.contains('/') {
            let path = self.folder.join(name);
            return match executable(&path) {
                Ok(()) => Ok(without_detours(&path)),
                Err(cause) => Err(Error::NotExecutable { name: name.to_owned(), cause }),
            };
        }
        let folders = self.variable("PATH").unwrap_or_default();
        for folder in std::env::split_paths(folders) {
            if executable(&self.folder.join(&folder).join(name)).is_err() {
                continue;
            }
            if folder.is_absolute() {
                return Ok(without_detours(&folder.join(name)));
            }
            return Err(Error::InCurrentFolder { name: name.to_owned() });
        }
        Err(Error::NotInPath { name: name.to_owned() })
    }
}

/// The same place by a path without `..`: where there is one, the folder is named by where it really is. What a program sees is
/// hung in at paths like that. A path that leads nowhere stays as it is.
pub fn without_detours(path: &Path) -> PathBuf {
    if !path.components().any(|part| part == Component::ParentDir) {
        return path.to_owned();
    }
    let found = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => folder.canonicalize().map(|folder| folder.join(name)),
        (_, _) => path.canonicalize(),
    };
    found.unwrap_or_else(|_| path.to_owned())
}

fn executable(path: &Path) -> io::Result<()> {
    if path.as_os_str().as_bytes().ends_with(b"/") || path.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn program(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn detours_are_left_out_and_links_stay() {
        let desk = tempfile::tempdir().unwrap();
        let real = desk.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("a/b")).unwrap();
        std::os::unix::fs::symlink("b", real.join("a/link")).unwrap();
        let check = |path: &str, expected: &str| {
            let found = without_detours(&real.join(path)).into_os_string();
            assert_eq!(found, real.join(expected).into_os_string(), "{path}");
        };
        check("a/link", "a/link");
        check("a/../a/link", "a/link");
        check("a/link/../link", "a/link");
        check("a/b/..", "a");
        check("a/../nowhere/x", "a/../nowhere/x");
    }

    #[test]
    fn programs_are_found_as_kpt_finds_them() {
        let desk = tempfile::tempdir().unwrap();
        let at = |path: &str| desk.path().join(path);
        program(&at("one/plain"), 0o644);
        program(&at("two/plain"), 0o755);
        program(&at("two/both"), 0o755);
        program(&at("here/both"), 0o755);
        program(&at("here/sub/tool"), 0o755);
        fs::create_dir_all(at("one/both")).unwrap();
        let caller = |path: &str| Caller {
            environment: vec![("PATH".into(), "/none".into()), ("PATH".into(), path.into())],
            folder: at("here"),
        };
        let absolute = format!("{}:/nowhere:{}", at("one").display(), at("two").display());
        let check = |path: &str, name: &str| caller(path).find(name).map_err(|error| error.to_string());

        assert_eq!(check(&absolute, "plain"), Ok(at("two/plain")), "what cannot run is passed over");
        assert_eq!(check(&absolute, "both"), Ok(at("two/both")), "a folder is no program");
        assert_eq!(
            check(&absolute, "sub/tool"),
            Ok(at("here/sub/tool")),
            "a path is from the current folder"
        );
        assert_eq!(check("", "./both").unwrap(), at("here/./both"));
        let real = desk.path().canonicalize().unwrap();
        let plain = |found: Result<PathBuf, String>| found.unwrap().into_os_string();
        assert_eq!(plain(check("", "../two/both")), real.join("two/both"), "no detours");
        assert_eq!(plain(check(&format!("{}/../two", at("one").display()), "both")), real.join("two/both"));
        let missing = "\"tool\": there is no such program in the folders of PATH";
        assert_eq!(check(&absolute, "tool").unwrap_err(), missing);
        let here = "\"both\" is in the current folder only, by a PATH that names it; say \"./both\" if that is what you mean";
        assert_eq!(check(&format!(".:{absolute}"), "both").unwrap_err(), here);
        assert_eq!(
            check(&format!(":{absolute}"), "both").unwrap_err(),
            here,
            "nothing means the current folder"
        );
        assert_eq!(check("", "sub/").unwrap_err(), "\"sub/\": is a directory");
        assert_eq!(check("", "./none").unwrap_err(), "\"./none\": No such file or directory (os error 2)");
    }
}
