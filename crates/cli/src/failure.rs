//! What went wrong, for people.

use std::fmt;
use std::io;

/// Why a command stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something that the user is told.
    Told(Message),
    /// The reader of standard output went away; there is nobody to tell, and nothing wrong.
    NobodyReads,
}

/// An error as it is shown: what, where and why in the text, one action that helps in the hint.
#[derive(Debug)]
pub(crate) struct Message {
    text: String,
    hint: Option<String>,
}

impl Failure {
    pub fn new(text: impl Into<String>) -> Self {
        Self::Told(Message { text: text.into(), hint: None })
    }

    /// Adds one action that helps.
    pub fn hint(self, hint: impl Into<String>) -> Self {
        match self {
            Self::Told(message) => Self::Told(Message { hint: Some(hint.into()), ..message }),
            Self::NobodyReads => Self::NobodyReads,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error: {}", self.text)?;
        match &self.hint {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

/// The cause of an I/O error, in words.
pub(crate) fn cause(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::IsADirectory => "it is a directory, where a file is needed".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => error.to_string(),
    }
}
