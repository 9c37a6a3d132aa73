//! Secrets at rest.

use std::fs;
use std::path::Path;

use lanai_store::sqlite::{OpenError, Options, RotateError, rotate_key};
use lanai_store::{Error, Object, SqliteStore, Store};

use super::{close, open};
use crate::support::{event, key, rev, text, under, watch_after};

const SECRET: &str = "correct horse battery staple";

/// True if the files of a store hold these bytes anywhere.
fn files_hold(folder: &Path, bytes: &[u8]) -> bool {
    let entries = fs::read_dir(folder).unwrap();
    entries
        .map(|entry| fs::read(entry.unwrap().path()).unwrap())
        .any(|file| file.windows(bytes.len()).any(|part| part == bytes))
}

#[tokio::test]
async fn a_secret_is_nowhere_in_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create(key("secrets/a/plain"), Object::plain("visible to all")).await.unwrap();
    store.create(key("secrets/a/sealed"), Object::sealed(SECRET)).await.unwrap();
    store.update(key("secrets/a/sealed"), rev(2), Object::sealed(format!("{SECRET}, again"))).await.unwrap();
    store.delete(key("secrets/a/sealed"), rev(3)).await.unwrap();
    store.create(key("secrets/a/sealed"), Object::sealed(SECRET)).await.unwrap();
    assert!(files_hold(folder.path(), b"visible to all"));
    assert!(!files_hold(folder.path(), SECRET.as_bytes()));
    close(store, folder.path());
    assert!(!files_hold(folder.path(), SECRET.as_bytes()));

    let store = open(folder.path());
    let found = store.get(&key("secrets/a/sealed")).await.unwrap().unwrap();
    assert_eq!(found.object, Object::sealed(SECRET));
    let mut watch = watch_after(&store, 3, under("secrets")).await;
    assert_eq!(text(&event(&mut watch).await.change.subject().object), format!("{SECRET}, again"));
}

#[tokio::test]
async fn a_new_key_changes_no_revision_and_makes_the_old_one_useless() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    for at in 1..=1_200 {
        store
            .create(key(&format!("secrets/a/{at}")), Object::sealed(format!("{SECRET} {at}")))
            .await
            .unwrap();
    }
    let old = fs::read(folder.path().join("store.key")).unwrap();
    let mut watch = watch_after(&store, 0, under("secrets")).await;
    store.rotate_key().await.unwrap();
    assert_ne!(fs::read(folder.path().join("store.key")).unwrap(), old);
    assert_eq!(store.current().await.unwrap(), rev(1_200));
    for at in 1..=1_200 {
        let event = event(&mut watch).await;
        assert_eq!(
            (event.revision, text(&event.change.subject().object)),
            (rev(at), format!("{SECRET} {at}"))
        );
    }
    close(store, folder.path());
    let store = open(folder.path());
    let found = store.get(&key("secrets/a/7")).await.unwrap().unwrap();
    assert_eq!((found.revision, text(&found.object)), (rev(7), format!("{SECRET} 7")));
    drop(store);
    fs::write(folder.path().join("store.key"), old).unwrap();
    let error = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Keys(lanai_store::seal::Error::Missing { .. })), "{error:?}");
}

#[tokio::test]
async fn without_its_keys_a_store_with_secrets_is_refused_and_one_without_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("store.key");
    let store = open(folder.path());
    store.create(key("a/x/1"), Object::plain("")).await.unwrap();
    drop(store);
    fs::remove_file(&keys).unwrap();
    let store = open(folder.path());
    store.create(key("secrets/a/1"), Object::sealed(SECRET)).await.unwrap();
    drop(store);
    fs::remove_file(&keys).unwrap();
    let error = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::KeysMissing { .. }), "{error:?}");
    assert!(!keys.exists(), "no new key is made that would open nothing");
}

/// Two files with a key 1 are two keys.
#[tokio::test]
async fn the_key_file_of_another_store_is_refused() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    drop(open(other.path()));
    let store = open(folder.path());
    store.create(key("secrets/a/1"), Object::sealed(SECRET)).await.unwrap();
    drop(store);
    let keys = folder.path().join("store.key");
    let own = fs::read(&keys).unwrap();
    fs::copy(other.path().join("store.key"), &keys).unwrap();
    let error = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Keys(lanai_store::seal::Error::OtherKey { .. })), "{error:?}");
    fs::write(&keys, own).unwrap();
    let store = open(folder.path());
    assert_eq!(text(&store.get(&key("secrets/a/1")).await.unwrap().unwrap().object), SECRET);
}

/// Who writes while everything is sealed anew does not wait for all of it, and is sealed with the new key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_go_on_while_a_key_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let large = |at: u64| Object::sealed(format!("{SECRET} {at} {}", "-".repeat(1 << 20)));
    for at in 1..=40 {
        store.create(key(&format!("secrets/a/{at}")), large(at)).await.unwrap();
    }
    let rotating = {
        let store = store.clone();
        tokio::spawn(async move { store.rotate_key().await })
    };
    let mut written = 0;
    while !rotating.is_finished() {
        written += 1;
        store.create(key(&format!("secrets/b/{written}")), Object::sealed(SECRET)).await.unwrap();
    }
    rotating.await.unwrap().unwrap();
    close(store, folder.path());
    assert!(fs::read_to_string(folder.path().join("store.key")).unwrap().contains("\n2 "));
    let store = open(folder.path());
    for at in 1..=40 {
        assert_eq!(store.get(&key(&format!("secrets/a/{at}"))).await.unwrap().unwrap().object, large(at));
    }
    for at in 1..=written {
        let found = store.get(&key(&format!("secrets/b/{at}"))).await.unwrap().unwrap();
        assert_eq!(text(&found.object), SECRET);
    }
}

#[tokio::test]
async fn a_key_is_replaced_while_no_server_runs() {
    let folder = tempfile::tempdir().unwrap();
    assert!(matches!(rotate_key(folder.path()), Err(RotateError::Nothing { .. })));
    let store = open(folder.path());
    store.create(key("secrets/a/1"), Object::sealed(SECRET)).await.unwrap();
    let old = fs::read(folder.path().join("store.key")).unwrap();
    assert!(matches!(rotate_key(folder.path()), Err(RotateError::Open(OpenError::Locked { .. }))));
    drop(store);
    rotate_key(folder.path()).unwrap();
    assert_ne!(fs::read(folder.path().join("store.key")).unwrap(), old);
    let store = open(folder.path());
    assert_eq!(text(&store.get(&key("secrets/a/1")).await.unwrap().unwrap().object), SECRET);
    assert_eq!(store.current().await.unwrap(), rev(1));
}

/// A value that somebody moves to another object does not open there.
#[tokio::test]
async fn a_sealed_value_belongs_to_its_object() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create(key("secrets/a/mine"), Object::sealed(SECRET)).await.unwrap();
    drop(store);
    let file = folder.path().join("store.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    database
        .execute_batch("UPDATE version SET key = 'secrets/b/mine'; UPDATE current SET key = 'secrets/b/mine'")
        .unwrap();
    drop(database);
    let store = open(folder.path());
    let error = store.get(&key("secrets/b/mine")).await.unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "the checksum tells: {error:?}");
}

/// The first tables had no fingerprints; they get them when the key has proved itself.
#[tokio::test]
async fn an_old_store_gets_the_fingerprint_of_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create(key("secrets/a/1"), Object::sealed("hidden")).await.unwrap();
    drop(store);
    let file = folder.path().join("store.db");
    let ask = |sql: &str| {
        rusqlite::Connection::open(&file).unwrap().query_row(sql, [], |row| row.get::<_, bool>(0))
    };
    let forget =
        || rusqlite::Connection::open(&file).unwrap().execute("UPDATE seal_key SET fingerprint = NULL", []);
    forget().unwrap();
    drop(open(folder.path()));
    assert!(ask("SELECT fingerprint IS NOT NULL FROM seal_key").unwrap());
    forget().unwrap();
    // The key of another store.
    let other = tempfile::tempdir().unwrap();
    drop(open(other.path()));
    std::fs::copy(other.path().join("store.key"), folder.path().join("store.key")).unwrap();
    let error = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Keys(lanai_store::seal::Error::OtherKey { .. })), "{error:?}");
    assert!(ask("SELECT fingerprint IS NULL FROM seal_key").unwrap());
}
