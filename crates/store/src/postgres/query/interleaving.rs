//! What else is seen while records are read.

#![allow(clippy::disallowed_methods, reason = "the tests start a server")]

#[allow(dead_code, reason = "the tests of the store ask for more of it")]
#[path = "../../../tests/it/postgres/cluster.rs"]
mod cluster;

use cluster::{Cluster, Disk};

use super::*;
use crate::{Object, PostgresStore, Store, postgres};

/// Between the question for records and the answer others see something, perhaps of another server. What comes then is handed out
/// only if the server that gave it has that as well.
#[test]
fn what_was_seen_while_records_were_read_must_be_there_too() {
    let test = "store::postgres: what is seen while records are read";
    let Some(cluster) = Cluster::start(test, Disk::Unsynced) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let folder = tempfile::tempdir().unwrap();
    runtime.unwrap().block_on(async {
        let options = postgres::Options::default();
        let (address, keys) = (cluster.address(), folder.path().join("store.key"));
        let store = PostgresStore::open(&address, &keys, options).await.unwrap();
        let readers = &store.inner.readers;
        let mut number = 0;
        let mut write = async || {
            number += 1;
            let key: Key = format!("a/b/{number}").parse().unwrap();
            store.create(key, Object::plain("x")).await.unwrap()
        };
        write().await;
        let everything = Filter::everything();
        let ask = async || {
            let seen = readers.newest.get();
            let found = readers.records(Revision::ZERO, 100, &everything, &seen).await.unwrap();
            (seen, found)
        };

        // Nothing else was seen.
        let (seen, found) = ask().await;
        assert_eq!(readers.believed(seen, found).await.unwrap().unwrap().records.len(), 1);

        // A write, on the same server.
        let (seen, found) = ask().await;
        let newest = write().await;
        let found = readers.believed(seen, found).await.unwrap().unwrap();
        assert_eq!(found.records.len(), 1, "what was read before it");
        assert_eq!(readers.newest.get().revision, newest);

        // Another process went to a server that took over, and was moved ahead. This one knows nothing of it.
        let (seen, found) = ask().await;
        let far = Revision::new(newest.get() + 1_000_000);
        readers.newest.jumped(&Seen { revision: far, stamp: Some(1), ..seen });
        assert!(readers.believed(seen, found).await.unwrap().is_none());
        assert!(readers.newest.get().revision >= far, "what was seen stays seen");
    });
}

/// The same number with another stamp is another write.
#[test]
fn another_write_under_the_same_number_is_not_handed_out() {
    let test = "store::postgres: another write under a number that was seen";
    let Some(cluster) = Cluster::start(test, Disk::Unsynced) else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let folder = tempfile::tempdir().unwrap();
    runtime.unwrap().block_on(async {
        let options = postgres::Options::default();
        let keys = folder.path().join("store.key");
        let store = PostgresStore::open(&cluster.address(), &keys, options).await.unwrap();
        store.create("a/b/1".parse().unwrap(), Object::plain("x")).await.unwrap();
        let readers = &store.inner.readers;
        let before = readers.newest.get();
        let found = readers.records(Revision::ZERO, 100, &Filter::everything(), &before).await.unwrap();
        let next = Revision::new(before.revision.get() + 1);
        // Seen on a server that is gone; this one then gives the number to something else.
        let elsewhere = Seen { revision: next, stamp: Some(before.stamp.unwrap().wrapping_add(1)), ..before };
        assert_eq!(readers.newest.raise(&before, &elsewhere), Noted::Done);
        assert!(readers.believed(before, found).await.unwrap().is_none());
    });
}
