//! One file on disk.

use std::ffi::OsStr;
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
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
    let mut opened = OpenOptions::new().write(true).create_new(true).open(path)?;
    opened.write_all(file.content())?;
    let runs = file.mode() == Mode::Executable;
    let old = replaces.filter(|old| old.is_file());
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
