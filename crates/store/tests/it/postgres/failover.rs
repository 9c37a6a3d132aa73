//! Servers that come back with less, or with something else.

use lanai_store::limits::RESTORE_JUMP;
use lanai_store::{Error, Store};

use super::cluster::{Cluster, Disk};
use super::open;
use crate::judge::LIMITS;
use crate::support::{claim, event, events, key, lines, list, object, rev, signal, under, watch_after};

/// As after a fail-over to a replica that had not heard everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_forgot_goes_on_where_nothing_was() {
    let Some(cluster) = Cluster::start("store::postgres::a_server_that_forgot", Disk::Unsynced) else {
        return;
    };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "forgot", LIMITS).await;
    for at in 1..=5 {
        store.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
    }
    let mut watch = watch_after(&store, 0, under("a")).await;
    assert_eq!(events(&mut watch, 5).await.len(), 5);
    let fence = store.acquire(claim("work", "ann", 0, 10)).await.unwrap().fence;
    cluster.ask("DELETE FROM forgot.version WHERE revision > 3; DELETE FROM forgot.current WHERE revision > 3; UPDATE forgot.meta SET head = 3");
    let jumped = rev(5 + RESTORE_JUMP);
    let refused = store.create(key("a/x/4"), object("")).await;
    match refused {
        // Either the writer noticed, or the one that listens was faster.
        Err(Error::Unavailable { .. }) => {
            assert_eq!(store.create(key("a/x/4"), object("")).await.unwrap(), rev(jumped.get() + 1));
        }
        other => assert_eq!(other.unwrap(), rev(jumped.get() + 1)),
    }
    let error = signal(&mut watch).await.unwrap_err();
    assert_eq!(error, Error::Expired { asked: rev(5), horizon: jumped });
    assert_eq!(lines(&list(&store, under("a")).await).len(), 4);
    let error = store.renew(&fence, claim("work", "ann", 1, 10)).await.unwrap_err();
    assert!(matches!(error, Error::Fenced { newest: None, .. }), "somebody else may have had it: {error:?}");
}

/// As after a fail-over behind which another process was faster: all numbers are there again, and mean something else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_another_history_goes_on_where_nothing_was() {
    let Some(cluster) = Cluster::start("store::postgres::a_server_with_another_history", Disk::Unsynced)
    else {
        return;
    };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "other", LIMITS).await;
    for at in 1..=5 {
        store.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
    }
    let mut watch = watch_after(&store, 0, under("a")).await;
    assert_eq!(events(&mut watch, 5).await.len(), 5);
    // Two writes are lost, and somebody else has deleted three objects.
    cluster.ask(
        "BEGIN; DELETE FROM other.version WHERE revision > 3; DELETE FROM other.current;
         INSERT INTO other.version (revision, previous, created, tombstone, key, checksum, stamp)
             SELECT 3 + at, at, at, true, 'a/x/' || at, 0, 42 FROM generate_series(1, 3) at;
         UPDATE other.meta SET head = 6, stamp = 42; COMMIT",
    );
    // A second process, which never saw what was lost.
    let other = open(&cluster, keys.path(), "other", LIMITS).await;
    let error = signal(&mut watch).await.unwrap_err();
    let Error::Expired { asked, horizon } = error else { panic!("{error:?}") };
    assert_eq!(asked, rev(5), "nothing of another history was handed out");
    assert!(horizon.get() > RESTORE_JUMP);
    assert_eq!(lines(&list(&store, under("a")).await).len(), 0);
    // What was known of the lost object is of no use, in any process.
    for process in [&store, &other] {
        let error = process.update(key("a/x/5"), rev(5), object("")).await.unwrap_err();
        assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    }
    let written = other.create(key("a/x/9"), object("")).await.unwrap();
    assert_eq!(written, horizon.next().unwrap(), "once for all");
    let mut watch = watch_after(&store, horizon.get(), under("a")).await;
    assert_eq!(event(&mut watch).await.revision, written);
}

/// A server that lost what this process wrote, and what nobody here had read yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_answered_counts_as_seen() {
    let Some(cluster) = Cluster::start("store::postgres::what_was_answered", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let one = open(&cluster, keys.path(), "answered", LIMITS).await;
    let two = open(&cluster, keys.path(), "answered", LIMITS).await;
    one.create(key("a/x/1"), object("")).await.unwrap();
    for at in 2..=9 {
        one.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
        assert_eq!(two.current().await.unwrap(), rev(at));
        cluster.ask(&format!(
            "BEGIN; DELETE FROM answered.version WHERE revision > {0}; DELETE FROM answered.current WHERE revision > {0};
             UPDATE answered.meta SET head = {0}, stamp = (SELECT stamp FROM answered.version WHERE revision = {0}); COMMIT",
            at - 1
        ));
        match two.current().await {
            // Noticed by the question, or before it.
            Err(Error::Unavailable { .. }) => break,
            Ok(head) => assert!(head.get() > RESTORE_JUMP, "{head} after {at}"),
            Err(other) => panic!("{other:?}"),
        }
        if two.current().await.is_ok_and(|head| head.get() > RESTORE_JUMP) {
            break;
        }
    }
}
