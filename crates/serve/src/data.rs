//! What is in the data directory beside the store.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A data directory. Files with keys are readable for their owner only; each is replaced as a whole.
#[derive(Debug, Clone)]
pub struct DataDirectory(PathBuf);

/// A file that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("\"{}\" cannot be {action}: {source}", path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// What was tried.
    pub action: &'static str,
    /// Why not.
    pub source: io::Error,
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readers {
    /// Everybody.
    All,
    /// Its owner.
    Owner,
}

impl DataDirectory {
    /// The directory; made if it is not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let directory = Self(path.to_owned());
        fs::create_dir_all(path).map_err(|source| error(path.to_owned(), "made", source))?;
        Ok(directory)
    }

    /// The directory itself.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The content of a file; none if it is not there.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, FileError> {
        let path = self.file(name);
        let mut content = Vec::new();
        match File::open(&path).and_then(|mut file| file.read_to_end(&mut content)) {
            Ok(_) => Ok(Some(content)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(error(path, "read", source)),
        }
    }

    /// Replaces a file as a whole: a kill leaves the old one or the new one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, content: &[u8], readers: Readers) -> Result<(), FileError> {
        let path = self.file(name);
        self.replace(&path, content, readers).map_err(|source| error(path, "written", source))
    }

    fn replace(&self, path: &Path, content: &[u8], readers: Readers) -> io::Result<()> {
        let mode = match readers {
            Readers::All => 0o644,
            Readers::Owner => 0o600,
        };
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        let mut file = tempfile::Builder::new().permissions(permissions).tempfile_in(&self.0)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(&self.0)?.sync_all()
    }

    /// A file that only grows.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn append(&self, name: &str) -> Result<File, FileError> {
        let path = self.file(name);
        let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
        opened.map_err(|source| error(path, "opened", source))
    }
}

fn error(path: PathBuf, action: &'static str, source: io::Error) -> FileError {
    FileError { path, action, source }
}
