//! One file on disk.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lanai_krm::digest::{Collision, blob_id};
use lanai_krm::package::{File, Mode};
use lanai_types::{BlobId, ByteSize};
use serde::{Deserialize, Serialize};

/// What a file is, without its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    pub mode: StampMode,
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
        Ok(Self { mode: file.mode().into(), id: blob_id(file.content())? })
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

/// The bytes of a file, or the target of a link; one byte more than the limit at most.
pub(crate) fn content(path: &Path, mode: Mode, limit: ByteSize) -> io::Result<Vec<u8>> {
    if mode == Mode::Symlink {
        return Ok(fs::read_link(path)?.into_os_string().into_vec());
    }
    let mut bytes = Vec::new();
    let most = limit.get().saturating_add(1);
    fs::File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// What is at a path now.
#[derive(Debug)]
pub(crate) enum Found {
    Nothing,
    File(File),
    /// A folder, or something that no package holds.
    Other,
}

/// Looks at a path. Nothing is followed: where a folder of the path is a file or a link, nothing is there.
pub(crate) fn look(path: &Path, limit: ByteSize) -> io::Result<Found> {
    let metadata = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Found::Nothing);
        }
        Err(error) => return Err(error),
    };
    let Some(mode) = mode_of(&metadata) else { return Ok(Found::Other) };
    Ok(Found::File(File::new(content(path, mode, limit)?, mode)))
}

/// Writes a new file. Permissions and owner are those of the file that it replaces, as far as the system allows.
pub(crate) fn write(path: &Path, file: &File, replaces: Option<&Metadata>) -> io::Result<()> {
    if file.mode() == Mode::Symlink {
        return std::os::unix::fs::symlink(std::ffi::OsStr::from_bytes(file.content()), path);
    }
    fs::write(path, file.content())?;
    let runs = file.mode() == Mode::Executable;
    match replaces.filter(|old| old.is_file()) {
        Some(old) => {
            use std::os::unix::fs::MetadataExt;
            let new = fs::metadata(path)?;
            if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
                // Only root may give files away; for anybody else the new file is theirs.
                let _ = std::os::unix::fs::chown(path, Some(old.uid()), Some(old.gid()));
            }
            let bits = old.permissions().mode() & 0o777;
            // Who may read it may run it.
            let bits = if runs { bits | (bits & 0o444) >> 2 } else { bits & !0o111 };
            if new.permissions().mode() & 0o777 != bits {
                fs::set_permissions(path, fs::Permissions::from_mode(bits))?;
            }
            Ok(())
        }
        None if runs => {
            let bits = fs::metadata(path)?.permissions().mode() & 0o777;
            fs::set_permissions(path, fs::Permissions::from_mode(bits | (bits & 0o444) >> 2))
        }
        None => Ok(()),
    }
}
