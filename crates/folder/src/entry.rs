//! One file on disk.

use std::ffi::OsStr;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use lanai_krm::digest::{Collision, blob_id};
use lanai_krm::package::{File, Mode};
use lanai_types::BlobId;
use serde::{Deserialize, Serialize};

/// What a file is, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub mode: StampMode,
    pub size: usize,
    pub id: BlobId,
}

/// The mode of a file, as the journal writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StampMode {
    Regular,
    Executable,
    Symlink,
}

impl Stamp {
    pub fn of(file: &File) -> Result<Self, Collision> {
        Ok(Self { mode: file.mode().into(), size: file.len(), id: blob_id(file.content())? })
    }

    /// Whether a file is the one that a stamp was made of; nothing is, where there was nothing.
    pub fn is_of(stamp: Option<Self>, file: Option<&File>) -> Result<bool, Collision> {
        match (stamp, file) {
            (None, None) => Ok(true),
            (Some(stamp), Some(file)) => Ok(stamp.size == file.len() && stamp == Self::of(file)?),
            (Some(_), None) | (None, Some(_)) => Ok(false),
        }
    }
}

impl From<Mode> for StampMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Regular => Self::Regular,
            Mode::Executable => Self::Executable,
            Mode::Symlink => Self::Symlink,
        }
    }
}

impl From<StampMode> for Mode {
    fn from(mode: StampMode) -> Self {
        match mode {
            StampMode::Regular => Self::Regular,
            StampMode::Executable => Self::Executable,
            StampMode::Symlink => Self::Symlink,
        }
    }
}

/// The mode of what is there; `None` for what no package holds.
pub(crate) fn mode_of(metadata: &Metadata) -> Option<Mode> {
    let kind = metadata.file_type();
    if kind.is_symlink() {
        Some(Mode::Symlink)
    } else if !kind.is_file() {
        None
    } else if metadata.permissions().mode() & 0o100 != 0 {
        Some(Mode::Executable)
    } else {
        Some(Mode::Regular)
    }
}

/// The bytes of a file, or the target of a link.
pub(crate) fn content(path: &Path, metadata: &Metadata) -> io::Result<Vec<u8>> {
    if metadata.is_symlink() {
        return Ok(fs::read_link(path)?.into_os_string().into_vec());
    }
    // One that grows meanwhile is not read to its end.
    let size = metadata.len();
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    fs::File::open(path)?.take(size.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// How many bytes are compared at a time.
const CHUNK: usize = 64 * 1024;

/// Whether a file of a package is at a path. Nothing is followed, and the file is not held in memory.
pub(crate) fn is_at(path: &Path, file: &File) -> io::Result<bool> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(false);
        }
        Err(error) => return Err(error),
    };
    if mode_of(&metadata) != Some(file.mode()) || metadata.len() != file.len() as u64 {
        return Ok(false);
    }
    if metadata.is_symlink() {
        return Ok(content(path, &metadata)? == file.content());
    }
    let mut opened = fs::File::open(path)?;
    let mut buffer = vec![0; CHUNK.min(file.len() + 1)];
    let mut rest = file.content();
    loop {
        match opened.read(&mut buffer) {
            Ok(0) => return Ok(rest.is_empty()),
            Ok(count) => match rest.strip_prefix(&buffer[..count]) {
                Some(behind) => rest = behind,
                None => return Ok(false),
            },
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// What is at a path now.
#[derive(Debug)]
pub(crate) enum Found {
    Nothing,
    File(File),
    Folder,
    /// Something that no package holds, or a file with more bytes than were asked for.
    Other,
}

/// Looks at a path, and reads a file there that has no more bytes than `most`. Nothing is followed: where a folder of the
/// path is a file or a link, nothing is there.
pub(crate) fn look(path: &Path, most: usize) -> io::Result<Found> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Found::Nothing);
        }
        Err(error) => return Err(error),
    };
    match mode_of(&metadata) {
        None if metadata.is_dir() => Ok(Found::Folder),
        Some(mode) if metadata.len() <= most as u64 => {
            Ok(Found::File(File::new(content(path, &metadata)?, mode)))
        }
        None | Some(_) => Ok(Found::Other),
    }
}

/// Writes a file that is not there yet. Permissions and owner are those of the file that it is to replace, as far as the
/// system allows.
pub(crate) fn write_new(path: &Path, file: &File, replaces: Option<&Metadata>) -> io::Result<()> {
    if file.mode() == Mode::Symlink {
        return std::os::unix::fs::symlink(OsStr::from_bytes(file.content()), path);
    }
    let runs = file.mode() == Mode::Executable;
    let old = replaces.filter(|old| old.is_file());
    // At no moment may others read more than they could.
    let first = old.map_or(0o666, |old| old.permissions().mode() & 0o666);
    let mut opened = OpenOptions::new().write(true).create_new(true).mode(first).open(path)?;
    opened.write_all(file.content())?;
    if old.is_none() && !runs {
        return Ok(());
    }
    let new = opened.metadata()?;
    let bits = old.unwrap_or(&new).permissions().mode() & 0o777;
    if let Some(old) = old
        && (new.uid(), new.gid()) != (old.uid(), old.gid())
    {
        // Only root may give files away; for anybody else the new file is theirs.
        let _ = std::os::unix::fs::fchown(&opened, Some(old.uid()), Some(old.gid()));
    }
    // Who may read it may run it.
    let bits = if runs { bits | (bits & 0o444) >> 2 } else { bits & !0o111 };
    if new.permissions().mode() & 0o777 != bits {
        opened.set_permissions(fs::Permissions::from_mode(bits))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_compared_to_its_last_byte() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for size in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let file = File::regular(vec![7; size]);
            fs::write(&path, file.content()).unwrap();
            assert!(is_at(&path, &file).unwrap(), "{size}");
            assert!(!is_at(&path, &file.with_mode(Mode::Executable)).unwrap());
            assert!(!is_at(&path, &File::regular(vec![7; size + 1])).unwrap());
            let mut other = vec![7; size];
            if let Some(last) = other.last_mut() {
                *last = 8;
                assert!(!is_at(&path, &File::regular(other)).unwrap(), "{size}");
            }
        }
        assert!(!is_at(&folder.path().join("nothing"), &File::regular(*b"")).unwrap());
        assert!(!is_at(folder.path(), &File::regular(*b"")).unwrap(), "a folder is no file");
    }
}
