//! One file of a package.

use std::fmt;
use std::sync::Arc;

/// A file: its bytes and what kind of file it is. Cloning is cheap, the bytes are shared.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// Shared, and taken over as it was read: large files are not copied.
    content: Arc<Vec<u8>>,
    mode: Mode,
}

/// What Git keeps of a file's mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// An ordinary file, `100644`.
    Regular,
    /// A file that can be run, `100755`.
    Executable,
    /// A symbolic link, `120000`. The content is the text of its target, whatever that is.
    Symlink,
}

impl File {
    /// A file of a mode.
    pub fn new(content: impl Into<Vec<u8>>, mode: Mode) -> Self {
        Self { content: Arc::new(content.into()), mode }
    }

    /// An ordinary file.
    pub fn regular(content: impl Into<Vec<u8>>) -> Self {
        Self::new(content, Mode::Regular)
    }

    /// An ordinary file that holds a text.
    pub fn from_text(text: impl AsRef<str>) -> Self {
        Self::regular(text.as_ref().as_bytes())
    }

    /// The same content, not copied, with a mode.
    #[must_use]
    pub fn with_mode(&self, mode: Mode) -> Self {
        Self { content: Arc::clone(&self.content), mode }
    }

    /// The bytes; of a symbolic link, its target.
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// The mode.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.content.len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.content.is_empty()
    }

    /// The text of the file, if it is one: UTF-8 without NUL, and no symbolic link.
    pub fn text(&self) -> Option<&str> {
        if self.mode == Mode::Symlink || self.content.contains(&0) {
            return None;
        }
        std::str::from_utf8(&self.content).ok()
    }
}

impl Mode {
    /// The mode as Git writes it into trees.
    pub const fn git(self) -> &'static str {
        match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Symlink => "120000",
        }
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let content = String::from_utf8_lossy(&self.content);
        f.debug_struct("File").field("mode", &self.mode).field("content", &content).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_taken_over_and_shared() {
        let content = b"bytes".to_vec();
        let place = content.as_ptr();
        let file = File::regular(content);
        assert_eq!(file.content().as_ptr(), place);
        assert_eq!(file.with_mode(Mode::Executable).content().as_ptr(), place);
        assert_eq!(file.with_mode(Mode::Executable), File::new(*b"bytes", Mode::Executable));
    }
}
