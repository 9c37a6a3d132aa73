//! Files that are not as they were written are refused by name, and left as they are.

use std::fs;
use std::path::Path;

use lanai_store::sqlite::{BackupError, OpenError, Options, backup, restore, verify};
use lanai_store::{Error, Jump, SqliteStore, Store};

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
    // Of one byte SQLite says that it is empty.
    for length in [whole.len() - 4096, whole.len() / 2, 4096, 512, 100, 16, 2, 1] {
        fs::write(&file, &whole[..length]).unwrap();
        let error = refusal(folder.path());
        assert_eq!(fs::read(&file).unwrap(), whole[..length], "it was left as it was");
        assert!(
            matches!(error, OpenError::Damaged { .. } | OpenError::NotAStore { .. }),
            "{length}: {error:?}"
        );
    }
}

/// A store that was emptied is not begun anew.
#[tokio::test]
async fn an_empty_file_is_no_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    drop(fill(folder.path()).await);
    fs::write(&file, "").unwrap();
    let OpenError::Damaged { path, what } = refusal(folder.path()) else { panic!("it was taken for new") };
    assert_eq!(path, file);
    assert!(what.contains("store.key"), "{what}");
    assert_eq!(fs::metadata(&file).unwrap().len(), 0, "it was left as it was");
    let is_empty =
        |error: &OpenError| matches!(error, OpenError::NotAStore { why, .. } if why == "it is empty");
    assert!(is_empty(&verify(&file).unwrap_err()));
    let target = folder.path().join("backup");
    let error = backup(folder.path(), &target).unwrap_err();
    assert!(matches!(&error, BackupError::Open(error) if is_empty(error)), "{error:?}");
    let error = restore(&file, &folder.path().join("other"), Jump::of(0)).unwrap_err();
    assert!(matches!(&error, BackupError::Open(error) if is_empty(error)), "{error:?}");
    // Without keys it is the beginning of a store that was killed.
    fs::remove_file(folder.path().join("store.key")).unwrap();
    drop(open(folder.path()));
}

/// Looking at a store that nobody has leaves only what was there.
#[tokio::test]
async fn verifying_leaves_no_files() {
    let folder = tempfile::tempdir().unwrap();
    drop(fill(folder.path()).await);
    let names = || {
        let entries = fs::read_dir(folder.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    assert_eq!(verify(&folder.path().join("store.db")).unwrap().findings, []);
    assert_eq!(names(), before);
}

/// A store whose log is not copied into the database, as a killed process leaves it, and the files with the log copied.
struct Logged {
    folder: tempfile::TempDir,
    log: Vec<u8>,
    copied: Vec<u8>,
}

impl Logged {
    async fn new() -> Self {
        let (first, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let store = fill(first.path()).await;
        for name in ["store.db", "store.db-wal", "store.key"] {
            fs::copy(first.path().join(name), folder.path().join(name)).unwrap();
        }
        drop(store);
        let log = fs::read(folder.path().join("store.db-wal")).unwrap();
        let copied = fs::read(first.path().join("store.db")).unwrap();
        Self { folder, log, copied }
    }

    fn log_path(&self) -> std::path::PathBuf {
        self.folder.path().join("store.db-wal")
    }

    fn set_log(&self, bytes: &[u8]) {
        // The index of the log is made anew.
        let _ = fs::remove_file(self.folder.path().join("store.db-shm"));
        fs::write(self.log_path(), bytes).unwrap();
    }
}

const FRAME: usize = 24 + 4096;

/// SQLite would read the log up to the damage and forget the rest.
#[tokio::test]
async fn a_log_that_lost_commits_is_refused() {
    let logged = Logged::new().await;
    let file = logged.folder.path().join("store.db");
    let database = fs::read(&file).unwrap();
    let frames = (logged.log.len() - 32) / FRAME;
    let middle = 32 + frames / 2 * FRAME;
    // Each byte of the header, of the head of a frame, and of a page; and all of the first sector at once.
    let single = (0..32).chain(middle..middle + 24).chain([middle + 24 + 1_000]).chain(32..56);
    let places = single.map(|at| at..at + 1).chain([0..512, 0..32]);
    for place in places {
        let mut damaged = logged.log.clone();
        damaged[place.clone()].iter_mut().for_each(|byte| *byte ^= 1);
        logged.set_log(&damaged);
        let OpenError::Damaged { path, what } = refusal(logged.folder.path()) else {
            panic!("{place:?}: the log was taken")
        };
        assert_eq!(path, logged.log_path());
        assert!(what.contains("would be lost"), "{place:?}: {what}");
        assert!(fs::read(logged.log_path()).unwrap() == damaged, "{place:?}: it was left as it was");
    }
    let findings = verify(&file).unwrap().findings;
    assert!(findings[0].to_string().contains("would be lost"), "{findings:?}");
    let target = logged.folder.path().join("backup");
    let error = backup(logged.folder.path(), &target).unwrap_err();
    assert!(matches!(error, BackupError::Open(OpenError::Damaged { .. })), "{error:?}");
    assert!(!target.exists(), "a backup would lose what the log lost");
    assert!(fs::read(&file).unwrap() == database, "the database was left as it was");

    fs::remove_file(&file).unwrap();
    logged.set_log(&logged.log);
    assert!(matches!(refusal(logged.folder.path()), OpenError::Damaged { .. }), "a log without its database");
}

/// The end of a log that was being written when the power went is no damage, wherever the disk stopped.
#[tokio::test]
async fn a_log_that_ends_in_a_torn_commit_is_taken() {
    let logged = Logged::new().await;
    let frames = (logged.log.len() - 32) / FRAME;
    let is_commit = |frame: usize| logged.log[32 + frame * FRAME + 4..][..4] != [0; 4];
    let last = (0..frames - 1).rev().find(|frame| is_commit(*frame)).unwrap() + 1;
    let mut torn: Vec<Vec<u8>> =
        (1..3).map(|cut| logged.log[..logged.log.len() - cut * 2_000].to_vec()).collect();
    for frame in last..frames {
        let mut hole = logged.log.clone();
        hole[32 + frame * FRAME..][..512].fill(0);
        torn.push(hole);
    }
    let database = fs::read(logged.folder.path().join("store.db")).unwrap();
    for bytes in torn {
        fs::write(logged.folder.path().join("store.db"), &database).unwrap();
        logged.set_log(&bytes);
        let store = open(logged.folder.path());
        assert_eq!(store.current().await.unwrap(), rev(299));
    }
}

/// A log is begun anew when the database has all of it. If the power goes in the middle of its new header, nothing is lost.
#[tokio::test]
async fn a_log_that_was_being_begun_anew_is_taken() {
    let logged = Logged::new().await;
    let mut next = logged.log[..32].to_vec();
    next[15] += 1;
    next[19] = next[19].wrapping_add(1);
    next[20..32].iter_mut().for_each(|byte| *byte = byte.wrapping_mul(7).wrapping_add(13));
    for written in 1..32 {
        fs::write(logged.folder.path().join("store.db"), &logged.copied).unwrap();
        logged.set_log(&[&next[..written], &logged.log[written..]].concat());
        let store = open(logged.folder.path());
        assert_eq!(store.current().await.unwrap(), rev(300), "{written} bytes of the header were written");
    }
}

/// Refusing a store changes none of its files.
#[tokio::test]
async fn a_damaged_store_keeps_its_log() {
    let folder = tempfile::tempdir().unwrap();
    let (file, log) = (folder.path().join("store.db"), folder.path().join("store.db-wal"));
    drop(fill(folder.path()).await);
    let store = open(folder.path());
    store.create(key("a/y/1"), object("in the log")).await.unwrap();
    let (mut database, written) = (fs::read(&file).unwrap(), fs::read(&log).unwrap());
    drop(store);
    let in_log: Vec<u32> = written[32..]
        .chunks_exact(FRAME)
        .map(|frame| u32::from_be_bytes(frame[..4].try_into().unwrap()))
        .collect();
    let pages = u32::try_from(database.len() / 4096).unwrap();
    let mut refused = 0;
    for page in (2..=pages).filter(|page| !in_log.contains(page)) {
        let place = (page as usize - 1) * 4096..page as usize * 4096;
        let whole = database[place.clone()].to_vec();
        database[place.clone()].fill(0x5a);
        fs::write(&file, &database).unwrap();
        fs::write(&log, &written).unwrap();
        let _ = fs::remove_file(folder.path().join("store.db-shm"));
        if SqliteStore::open(folder.path(), Options::default()).is_err() {
            refused += 1;
            assert!(fs::read(&file).unwrap() == database, "page {page}");
            assert!(fs::read(&log).unwrap() == written, "page {page}");
        }
        database[place].copy_from_slice(&whole);
    }
    assert!(refused > 3, "{refused}");
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
