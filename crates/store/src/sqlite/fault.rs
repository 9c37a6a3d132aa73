//! What SQLite says, in the words of the contract.

use rusqlite::ErrorCode;

use crate::Error;

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
