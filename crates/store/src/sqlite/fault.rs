//! What SQLite says, in the words of the contract.

use std::sync::{Arc, OnceLock};

use rusqlite::ErrorCode;

use crate::Error;

/// Why nothing is asked of the store any more, once something could not be made durable: what is read now may be another thing when the
/// store is opened again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Broken(Arc<OnceLock<String>>);

impl Broken {
    /// Notes an outcome that is not known.
    pub(crate) fn note(&self, error: &Error) {
        if let Error::Unknown { cause } = error {
            let _ = self.0.set(cause.clone());
        }
    }

    pub(crate) fn is_noted(&self) -> bool {
        self.0.get().is_some()
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.0.get() {
            None => Ok(()),
            Some(cause) => Err(Error::Unavailable {
                cause: format!("an earlier write could not be made durable ({cause}); open the store again"),
            }),
        }
    }
}

/// A failure that has changed nothing.
pub(crate) fn harmless(error: &rusqlite::Error) -> Error {
    let cause = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => Error::Full { cause },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Error::Damaged { what: cause },
        _ => Error::Unavailable { cause },
    }
}

/// A failure of the statement that makes a batch durable.
pub(crate) fn at_commit(error: &rusqlite::Error) -> Error {
    match harmless(error) {
        // Without room the commit record is not in the log, or not whole.
        full @ Error::Full { .. } => full,
        Error::Damaged { what } => Error::Unknown { cause: what },
        other => Error::Unknown { cause: other.to_string() },
    }
}
