//! Keys of several processes.

use std::fs;
use std::time::Duration;

use lanai_store::postgres::{OpenError, Options};
use lanai_store::seal::Error as KeyError;
use lanai_store::{Error, Object, PostgresStore, Store};

use super::cluster::{Cluster, Disk};
use super::open;
use crate::judge::LIMITS;
use crate::support::{event, key, object, rev, signal, text, under, watch_after};

const SECRET: &str = "correct horse battery staple";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_with_a_new_key_file_each_do_not_both_go_on() {
    let Some(cluster) = Cluster::start("store::postgres::keys::new_key_file_each", Disk::Unsynced) else {
        return;
    };
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let options = || Options { schema: "each".into(), ..Options::default() };
    let files = [one.path().join("store.key"), two.path().join("store.key")];
    let address = cluster.address();
    let (first, second) = tokio::join!(
        PostgresStore::open(&address, &files[0], options()),
        PostgresStore::open(&address, &files[1], options()),
    );
    let refused = if first.is_ok() { second } else { first };
    let error = refused.unwrap_err();
    let is_clear = matches!(error, OpenError::Keys(KeyError::OtherKey { .. } | KeyError::Missing { .. }));
    assert!(is_clear, "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_is_replaced_under_several_processes() {
    let Some(cluster) = Cluster::start("store::postgres::keys::a_key_is_replaced", Disk::Unsynced) else {
        return;
    };
    let (keys, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let one = open(&cluster, keys.path(), "rotated", LIMITS).await;
    let two = open(&cluster, keys.path(), "rotated", LIMITS).await;
    fs::copy(keys.path().join("store.key"), copy.path().join("store.key")).unwrap();
    let apart = open(&cluster, copy.path(), "rotated", LIMITS).await;
    for at in 1..=1_100 {
        let name = key(&format!("secrets/a/{at}"));
        one.create(name, Object::sealed(format!("{SECRET} {at}"))).await.unwrap();
    }
    let rotating = {
        let one = one.clone();
        tokio::spawn(async move { one.rotate_key().await })
    };
    let mut written = 0;
    while !rotating.is_finished() {
        written += 1;
        two.create(key(&format!("secrets/b/{written}")), Object::sealed(SECRET)).await.unwrap();
    }
    rotating.await.unwrap().unwrap();
    let file = fs::read_to_string(keys.path().join("store.key")).unwrap();
    assert!(file.contains("\n2 ") && !file.contains("\n1 "), "only the new key is in the file");
    let old = cluster.ask("SELECT count(*) FROM rotated.version WHERE sealed <> 2");
    assert_eq!(old.trim(), "0");
    assert_eq!(one.current().await.unwrap(), rev(1_100 + written));
    for store in [&one, &two] {
        let mut watch = watch_after(store, 0, under("secrets")).await;
        for at in 1..=1_100 {
            let event = event(&mut watch).await;
            let found = text(&event.change.subject().object);
            assert_eq!((event.revision, found), (rev(at), format!("{SECRET} {at}")));
        }
    }
    // A process that has a copy of the file is told what it lacks, and goes on when it has it.
    let error = apart.create(key("secrets/c/1"), Object::sealed(SECRET)).await.unwrap_err();
    assert!(matches!(&error, Error::Sealed { cause, .. } if cause.contains("key 2")), "{error}");
    assert!(apart.get(&key("secrets/a/1")).await.is_err());
    apart.create(key("a/c/1"), object("no secret")).await.unwrap();
    // It says so, and watches that are not concerned go on.
    let mut others = watch_after(&apart, 0, under("a")).await;
    assert_eq!(event(&mut others).await.change.subject().key, key("a/c/1"));
    let mut secrets = watch_after(&apart, 0, under("secrets")).await;
    assert!(matches!(signal(&mut secrets).await, Err(Error::Sealed { .. })));
    two.create(key("secrets/d/1"), Object::sealed(SECRET)).await.unwrap();
    let sealed = || matches!(apart.trouble(), Some(Error::Sealed { .. }));
    while !sealed() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    fs::copy(keys.path().join("store.key"), copy.path().join("store.key")).unwrap();
    while sealed() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    apart.create(key("secrets/c/1"), Object::sealed(SECRET)).await.unwrap();
    assert_eq!(text(&one.get(&key("secrets/c/1")).await.unwrap().unwrap().object), SECRET);
    one.rotate_key().await.unwrap();
    assert_eq!(text(&two.get(&key("secrets/a/7")).await.unwrap().unwrap().object), format!("{SECRET} 7"));
}
