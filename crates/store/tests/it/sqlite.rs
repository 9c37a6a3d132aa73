//! What the store in a file promises beyond the contract.

mod backup;
mod damage;
mod disk;
mod reopen;
mod secrets;

use std::path::Path;

use lanai_store::{SqliteStore, sqlite};

pub fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, sqlite::Options::default()).unwrap()
}

/// A store that a test has done with is whole.
pub fn close(store: SqliteStore, folder: &Path) {
    drop(store);
    assert_eq!(sqlite::verify(&folder.join("store.db")).unwrap().findings, []);
}
