//! Reading files, and replacing them whole or not at all.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use lanai_types::YamlLimits;
use lanai_types::quote::Quoted;
use lanai_yaml::Stream;
use tempfile::NamedTempFile;

use crate::failure::{Code, Failure, cause};
use crate::io::Io;

/// A file that was named: one on disk, or standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
}

impl From<OsString> for Source {
    /// As arguments name files: `-` is standard input.
    fn from(name: OsString) -> Self {
        if name == "-" { Self::Stdin } else { Self::File(name.into()) }
    }
}

impl fmt::Display for Source {
    /// The name as it is shown to people, without quotes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Reads a source as YAML.
pub(crate) fn read_yaml(source: &Source, io: &mut Io<'_>) -> Result<Stream, Failure> {
    let limits = YamlLimits::default();
    let bytes = read(source, limits.max_bytes, io).map_err(|error| {
        Failure::of(Code::File, format!("cannot read {}: {}", Quoted(&source.to_string()), cause(&error)))
    })?;
    Stream::parse_bytes(&bytes, &limits)
        .map_err(|error| Failure::of(Code::Text, format!("{source}: {error:#}")))
}

/// Keeps other commands like this one from editing a file, until it is dropped.
pub(crate) struct Hold {
    /// The lock is that of the open file; the system takes it back when the process ends, however it ends.
    _locked: Option<File>,
}

/// Waits until no other command edits the file, and then keeps them waiting. Where the system has no locks, nobody waits.
///
/// An edit replaces the file, so the lock of a file that has no name any more is worth nothing: then the new one is taken.
///
/// # Errors
/// For what is there and no regular file: reading a pipe would wait for ever for something that cannot be replaced.
pub(crate) fn hold(source: &Source, io: &mut Io<'_>) -> Result<Hold, Failure> {
    let free = Ok(Hold { _locked: None });
    let Source::File(name) = source else { return free };
    let path = io.folder.join(name);
    let mut told = false;
    loop {
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => {}
            // That there is nothing, or a folder, is said where it is read.
            Ok(metadata) if metadata.is_dir() => return free,
            Err(_) => return free,
            Ok(_) => return Err(irregular(name)),
        }
        let Ok(file) = File::open(&path) else { return free };
        let locked = match file.try_lock() {
            Ok(()) => true,
            Err(fs::TryLockError::WouldBlock) => {
                if !told {
                    io.tell(&format!("{source}: waiting for another program that edits it"));
                    told = true;
                }
                file.lock().is_ok()
            }
            Err(fs::TryLockError::Error(_)) => false,
        };
        if !locked || is_still_named(&file, &path) {
            return Ok(Hold { _locked: Some(file).filter(|_| locked) });
        }
    }
}

/// Whether a path still leads to an open file.
#[cfg(unix)]
fn is_still_named(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |metadata: Metadata| (metadata.dev(), metadata.ino());
    match (file.metadata(), fs::metadata(path)) {
        (Ok(open), Ok(named)) => id(open) == id(named),
        (Err(_), _) | (_, Err(_)) => true,
    }
}

#[cfg(not(unix))]
fn is_still_named(_file: &File, _path: &Path) -> bool {
    true
}

/// All bytes of a source, or one more than `limit` of them: enough to see that it is too large.
fn read(source: &Source, limit: usize, io: &mut Io<'_>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = limit as u64 + 1;
    match source {
        Source::Stdin => io.stdin.take(most).read_to_end(&mut bytes)?,
        Source::File(path) => File::open(io.folder.join(path))?.take(most).read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

/// Gives a file a new text: whoever looks at it sees the old text or the new one.
///
/// The text is written to a new file beside it, which then takes its name. Permissions stay, and the owner where
/// the system allows it; a symbolic link stays, its target is replaced.
///
/// # Errors
/// When it is not a regular file or must not be written, when it is no longer what was read (`before`), and when the
/// system refuses; the file is as it was then. Between that look and the rename is a moment in which the edit of a program
/// that does not know [`hold`] can still be lost.
pub(crate) fn replace(path: &Path, before: &str, text: &str, io: &Io<'_>) -> Result<(), Failure> {
    let cannot = |why: &str| {
        Failure::of(Code::File, format!("cannot write {}: {why}", Quoted(&path.display().to_string())))
    };
    let target = fs::canonicalize(io.folder.join(path)).map_err(|error| cannot(&cause(&error)))?;
    let metadata = fs::metadata(&target).map_err(|error| cannot(&cause(&error)))?;
    if !metadata.is_file() {
        return Err(irregular(path));
    }
    if metadata.permissions().readonly() {
        return Err(cannot("it is read-only").hint("make it writable first, as with chmod u+w"));
    }
    // A rename asks only for rights on the folder; the file itself has a say too.
    OpenOptions::new().write(true).open(&target).map_err(|error| cannot(&cause(&error)))?;
    let fresh = beside(&target, &metadata, text).map_err(|error| cannot(&cause(&error)))?;
    let now = fs::read(&target).map_err(|error| cannot(&cause(&error)))?;
    if now != before.as_bytes() {
        return Err(cannot("it was changed by somebody else meanwhile").hint("do it again"));
    }
    fresh.persist(&target).map_err(|error| cannot(&cause(&error.error)))?;
    sync_folder(target.parent().unwrap_or(Path::new("."))).map_err(|error| cannot(&cause(&error)))
}

/// Only regular files can be replaced.
fn irregular(path: &Path) -> Failure {
    let name = path.display().to_string();
    Failure::of(Code::File, format!("cannot write {}: it is not a regular file", Quoted(&name)))
        .hint("use - to read standard input and write standard output")
}

/// Makes a file: whoever looks sees none or all of it, also when the process is killed.
///
/// # Errors
/// When something has that name already; it stays as it is. What the system refuses.
pub(crate) fn create(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".lanai-");
    // As for any new file; what the user masks is taken off.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut fresh = builder.tempfile_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    fresh.as_file().sync_all()?;
    fresh.persist_noclobber(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

/// Writes a new file beside another, to take its place.
fn beside(target: &Path, metadata: &Metadata, text: &str) -> io::Result<NamedTempFile> {
    let folder = target.parent().unwrap_or(Path::new("."));
    let mut fresh = tempfile::Builder::new().prefix(".lanai-").tempfile_in(folder)?;
    fresh.write_all(text.as_bytes())?;
    keep_owner(fresh.as_file(), metadata);
    fresh.as_file().set_permissions(metadata.permissions())?;
    fresh.as_file().sync_all()?;
    Ok(fresh)
}

/// Gives the file the owner and group of another, if we may.
#[cfg(unix)]
fn keep_owner(file: &File, of: &Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};
    // Only root may give files away; for anybody else the new file is theirs, as with other editors.
    let _ = fchown(file, Some(of.uid()), Some(of.gid()));
}

#[cfg(not(unix))]
fn keep_owner(_file: &File, _of: &Metadata) {}

/// Makes a rename in the folder last.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}
