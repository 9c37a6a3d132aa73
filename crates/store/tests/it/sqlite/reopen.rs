//! What is there after closing and opening again.

use std::sync::Arc;

use lanai_store::sqlite::{OpenError, Options};
use lanai_store::{Limits, SqliteStore, Store, WatchRequest};

use super::{close, open};
use crate::support::{claim, event, events, key, lines, list, object, rev, under, watch_after};

#[tokio::test]
async fn everything_is_there_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    store.create(key("a/x/1"), object("one")).await.unwrap();
    store.create(key("a/x/2"), object("two")).await.unwrap();
    store.delete(key("a/x/2"), rev(2)).await.unwrap();
    let lease = store.acquire(claim("work", "ann", 0, 10)).await.unwrap();
    close(store, folder.path());

    let store = open(folder.path());
    assert_eq!(store.current().await.unwrap(), rev(3));
    assert_eq!(lines(&list(&store, under("a")).await), ["1@1=one"]);
    let mut watch = watch_after(&store, 1, under("a")).await;
    assert_eq!(events(&mut watch, 2).await, ["2 + 2=two", "3 - 2=two@2"], "a watch goes on where it was");
    assert_eq!(store.create(key("a/x/2"), object("again")).await.unwrap(), rev(4));
    assert_eq!(events(&mut watch, 1).await, ["4 + 2=again"]);
    let next = store.acquire(claim("work", "bob", 10, 10)).await.unwrap();
    assert!(next.fence.number > lease.fence.number);
    close(store, folder.path());
}

#[tokio::test]
async fn one_process_has_the_store() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let error = SqliteStore::open(folder.path(), Options::default()).unwrap_err();
    assert!(matches!(error, OpenError::Locked { .. }), "{error:?}");
    drop(store);
    open(folder.path());
}

#[tokio::test]
async fn a_watch_does_not_keep_a_store_open_and_ends_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut watch = store.watch(WatchRequest::after(rev(0), under("a"))).await.unwrap();
    drop(store);
    let error = watch.next().await.unwrap_err();
    assert_eq!(error.to_string(), "the store cannot be asked: the store is closed");
    drop(watch);
    open(folder.path());
}

/// History is bounded without anybody asking for it.
#[tokio::test]
async fn history_is_compacted_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { max_history: 80, ..Limits::DEFAULT };
    let store = SqliteStore::open(folder.path(), Options { limits, ..Options::default() }).unwrap();
    let mut watch = watch_after(&store, 0, under("a")).await;
    store.create(key("a/x/1"), object("0")).await.unwrap();
    for at in 1..1_000 {
        store.update(key("a/x/1"), rev(at), object(&at.to_string())).await.unwrap();
    }
    let mut last = 0;
    while let Ok(signal) = watch.next().await {
        let lanai_store::Signal::Event(event) = signal else { panic!("no bookmark was asked for") };
        assert_eq!(event.revision, rev(last + 1));
        last += 1;
    }
    assert!(last < 1_000 - 80, "{last} events came, and 80 are kept");
    let horizon = store.compact(rev(1)).await.unwrap();
    assert!((rev(1_000 - 90)..=rev(1_000 - 80)).contains(&horizon), "{horizon}");
    let mut watch = watch_after(&store, horizon.get(), under("a")).await;
    assert_eq!(event(&mut watch).await.revision.get(), horizon.get() + 1);
    close(store, folder.path());
}

/// What is forgotten is given back to the file system.
#[tokio::test]
async fn compaction_makes_the_file_small_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let large = object(&"v".repeat(100_000));
    store.create(key("a/x/1"), large.clone()).await.unwrap();
    for at in 1..60 {
        store.update(key("a/x/1"), rev(at), large.clone()).await.unwrap();
    }
    store.compact(rev(60)).await.unwrap();
    close(store, folder.path());
    let size = std::fs::metadata(folder.path().join("store.db")).unwrap().len();
    assert!(size < 500_000, "{size} bytes for one object of 100,000");
}

/// A watcher that is behind what is in memory reads the tables, and comes back.
#[tokio::test]
async fn a_watcher_behind_the_window_catches_up() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { max_window: 10, ..Limits::DEFAULT };
    let store = SqliteStore::open(folder.path(), Options { limits, ..Options::default() }).unwrap();
    let mut slow = watch_after(&store, 0, under("a")).await;
    for at in 1..=2_000 {
        store.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
        if at % 500 == 0 {
            for expected in at - 499..=at - 250 {
                assert_eq!(
                    event(&mut slow).await.revision,
                    rev(expected - if at > 500 { (at / 500 - 1) * 250 } else { 0 })
                );
            }
        }
    }
    for expected in 1_001..=2_000 {
        assert_eq!(event(&mut slow).await.revision, rev(expected));
    }
    close(store, folder.path());
}

/// Writers that come together share syncs, and each has its own outcome.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open(folder.path()));
    let mut writers = Vec::new();
    for writer in 0..32 {
        let store = store.clone();
        writers.push(tokio::spawn(async move {
            let mut revisions = Vec::new();
            for at in 0..20 {
                let key = key(&format!("a/x/{writer}-{at}"));
                revisions.push(store.create(key.clone(), object("")).await.unwrap());
                store.create(key, object("")).await.unwrap_err();
            }
            revisions
        }));
    }
    let mut all = Vec::new();
    for writer in writers {
        let revisions = writer.await.unwrap();
        assert!(revisions.is_sorted());
        all.extend(revisions);
    }
    all.sort();
    assert_eq!(all, (1..=640).map(rev).collect::<Vec<_>>());
    close(Arc::into_inner(store).unwrap(), folder.path());
}

/// What cannot be written fails alone, whoever shares a sync with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_sqlite_refuses_fails_alone() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path()));
    rusqlite::Connection::open(folder.path().join("store.db"))
        .unwrap()
        .execute_batch(
            "CREATE TRIGGER refuse BEFORE INSERT ON version WHEN NEW.key LIKE 'poison/%'
             BEGIN SELECT RAISE(ABORT, 'no poison'); END",
        )
        .unwrap();
    let store = Arc::new(open(folder.path()));
    let mut writers = tokio::task::JoinSet::new();
    for at in 0..60 {
        let store = store.clone();
        writers.spawn(async move {
            let kind = if at % 20 == 7 { "poison" } else { "a" };
            let done = store.create(key(&format!("{kind}/x/{at}")), object("")).await;
            assert_eq!(done.is_ok(), kind == "a", "{at}: {done:?}");
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    assert_eq!(store.current().await.unwrap(), rev(57));
}

/// Whoever looks at a store at work does not take what is being written for damage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_at_work_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits { max_history: 50, ..Limits::DEFAULT };
    let options = Options { limits, checkpoint_pages: 20, ..Options::default() };
    let store = SqliteStore::open(folder.path(), options).unwrap();
    let file = folder.path().join("store.db");
    let looking = tokio::task::spawn_blocking(move || {
        for _ in 0..40 {
            assert_eq!(lanai_store::sqlite::verify(&file).unwrap().findings, []);
        }
    });
    let mut writers = tokio::task::JoinSet::new();
    let is_over = Arc::new(std::sync::atomic::AtomicBool::new(false));
    for writer in 0..4 {
        let (store, is_over) = (store.clone(), is_over.clone());
        writers.spawn(async move {
            let key = key(&format!("a/x/{writer}"));
            let mut last = store.create(key.clone(), object("")).await.unwrap();
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                last = store.update(key.clone(), last, object(&"v".repeat(3_000))).await.unwrap();
            }
        });
    }
    let looked = looking.await;
    is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    writers.join_all().await;
    looked.unwrap();
    close(store, folder.path());
}
