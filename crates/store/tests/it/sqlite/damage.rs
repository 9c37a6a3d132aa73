//! Files that are not as they were written are refused by name, and left as they are.

use std::fs;
use std::path::Path;

use lanai_store::sqlite::{OpenError, Options, verify};
use lanai_store::{Error, SqliteStore, Store};

use super::open;
use crate::support::{key, object, rev};

/// A store with some hundred objects.
async fn fill(folder: &Path) -> SqliteStore {
    let store = open(folder);
    for at in 0..300 {
        store.create(key(&format!("a/x/{at}")), object(&format!("value-{at} ").repeat(50))).await.unwrap();
    }
    store
}

fn refusal(folder: &Path) -> OpenError {
    SqliteStore::open(folder, Options::default()).unwrap_err()
}

#[tokio::test]
async fn something_else_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    fs::write(&file, "this is a letter to my grandmother".repeat(100)).unwrap();
    assert!(matches!(refusal(folder.path()), OpenError::NotAStore { .. }));
    fs::remove_file(&file).unwrap();
    rusqlite::Connection::open(&file).unwrap().execute_batch("CREATE TABLE letters (text)").unwrap();
    assert!(matches!(refusal(folder.path()), OpenError::NotAStore { .. }));
}

#[tokio::test]
async fn a_store_of_a_newer_program_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    drop(fill(folder.path()).await);
    rusqlite::Connection::open(folder.path().join("store.db"))
        .unwrap()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    assert!(matches!(refusal(folder.path()), OpenError::TooNew { .. }));
}

#[tokio::test]
async fn a_page_of_nonsense_is_found_and_left() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    drop(fill(folder.path()).await);
    let whole = fs::read(&file).unwrap();
    let pages = whole.len() / 4096;
    let mut refused = 0;
    for page in 1..pages {
        let mut bytes = whole.clone();
        bytes[page * 4096..(page + 1) * 4096].fill(0x5a);
        fs::write(&file, &bytes).unwrap();
        match SqliteStore::open(folder.path(), Options::default()) {
            Err(OpenError::Damaged { path, .. }) => {
                assert_eq!(path, file);
                refused += 1;
            }
            Err(other) => panic!("page {page}: {other:?}"),
            // A page that only holds the inside of a value, or nothing: found when it is read.
            Ok(store) => {
                drop(store);
                assert!(!verify(&file).unwrap().findings.is_empty(), "page {page}");
            }
        }
        assert_eq!(fs::read(&file).unwrap(), bytes, "page {page} was left as it was");
    }
    assert!(refused > pages / 2, "{refused} of {pages}");
}

#[tokio::test]
async fn a_file_that_ends_early_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    drop(fill(folder.path()).await);
    let whole = fs::read(&file).unwrap();
    for length in [whole.len() - 4096, whole.len() / 2, 100] {
        fs::write(&file, &whole[..length]).unwrap();
        let error = refusal(folder.path());
        assert!(
            matches!(error, OpenError::Damaged { .. } | OpenError::NotAStore { .. }),
            "{length}: {error:?}"
        );
    }
}

/// SQLite would read the log up to the damage and forget the rest.
#[tokio::test]
async fn a_log_that_lost_commits_in_its_middle_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let store = fill(folder.path()).await;
    // As a killed process leaves it: the log is not copied into the database.
    for name in ["store.db", "store.db-wal", "store.key"] {
        fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
    }
    drop(store);
    let log = copy.path().join("store.db-wal");
    let whole = fs::read(&log).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    fs::write(&log, &damaged).unwrap();
    let OpenError::Damaged { path, what } = refusal(copy.path()) else { panic!("the log was taken") };
    assert_eq!(path, log);
    assert!(what.contains("would be lost"), "{what}");
    let findings = verify(&copy.path().join("store.db")).unwrap().findings;
    assert!(findings[0].to_string().contains("would be lost"), "{findings:?}");
    assert_eq!(fs::read(&log).unwrap(), damaged, "it was left as it was");

    // The end of a log that was being written when the power went is no damage.
    let mut torn = whole.clone();
    torn.truncate(whole.len() - 3 * 4096 - 7);
    fs::write(&log, &torn).unwrap();
    let store = open(copy.path());
    let head = store.current().await.unwrap();
    assert!(head >= rev(298), "{head}");
    drop(store);

    fs::remove_file(copy.path().join("store.db")).unwrap();
    fs::write(&log, &whole).unwrap();
    assert!(matches!(refusal(copy.path()), OpenError::Damaged { .. }), "a log without its database");
}

/// A bit that flips inside a value is noticed by whoever reads it.
#[tokio::test]
async fn a_changed_value_is_not_handed_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    drop(fill(folder.path()).await);
    let mut bytes = fs::read(&file).unwrap();
    let at = bytes.windows(9).position(|part| part == b"value-42 ").unwrap();
    bytes[at + 4] ^= 1;
    fs::write(&file, bytes).unwrap();
    let store = open(folder.path());
    let error = store.get(&key("a/x/42")).await.unwrap_err();
    assert_eq!(error, Error::Damaged { what: "\"a/x/42\" at revision 43: the checksum is another".into() });
    assert!(store.get(&key("a/x/41")).await.unwrap().is_some());
    // Writes that share a sync with one to it are none the worse for it.
    let create = |name: &str| store.create(key(name), object(""));
    let (first, damaged, second, third) = tokio::join!(
        create("a/y/1"),
        store.update(key("a/x/42"), rev(43), object("")),
        create("a/y/2"),
        create("a/y/3")
    );
    assert!(matches!(damaged, Err(Error::Damaged { .. })), "{damaged:?}");
    assert!(first.is_ok() && second.is_ok() && third.is_ok());
}
