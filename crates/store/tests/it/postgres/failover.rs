//! Servers that come back with less, or with something else.

use lanai_store::jump::RESTORE_JUMP;
use lanai_store::{
    Blob, Condition, Error, Fence, Object, PostgresStore, Revision, Store, Transaction, Write, postgres,
};

use super::cluster::{Cluster, Disk};
use super::open;
use crate::judge::LIMITS;
use crate::support::{
    PATIENCE, claim, event, events, key, lines, list, object, rev, signal, text, under, watch_after,
};

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
    let written = match store.create(key("a/x/4"), object("")).await {
        // Either the writer noticed, or the one that listens was faster.
        Err(Error::Unavailable { .. }) => store.create(key("a/x/4"), object("")).await.unwrap(),
        other => other.unwrap(),
    };
    assert!(written.get() > 5 + RESTORE_JUMP);
    let error = signal(&mut watch).await.unwrap_err();
    assert_eq!(error, Error::Expired { asked: rev(5), horizon: rev(written.get() - 1) });
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

/// Asks again for as long as a server is away or has not gone on yet.
async fn patiently<T>(ask: impl AsyncFn() -> Result<T, Error>) -> Result<T, Error> {
    let asking = async {
        loop {
            match ask().await {
                Err(Error::Unavailable { .. }) => tokio::task::yield_now().await,
                other => return other,
            }
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("a server goes on")
}

fn guarded(fence: &Fence, name: &str) -> Transaction {
    Transaction {
        conditions: vec![Condition::Holds(fence.clone())],
        ..Write::Create { key: key(name), object: object("") }.into()
    }
}

/// The same object has the same number on both servers, and another content.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_another_server_wrote_under_the_same_number_is_not_overwritten() {
    let Some(cluster) = Cluster::start("store::postgres::failover::same_number", Disk::Unsynced) else {
        return;
    };
    let keys = tempfile::tempdir().unwrap();
    let ours = open(&cluster, keys.path(), "ours", LIMITS).await;
    let blob = Blob::new("content");
    let named = Object { blobs: [blob.digest()].into(), ..object("old") };
    let create = Write::Create { key: key("a/x/0"), object: named };
    ours.commit(Transaction { blobs: vec![blob.clone()], ..create.into() }).await.unwrap();
    ours.create(key("secrets/x/1"), Object::sealed("first")).await.unwrap();
    cluster.copy("ours", "theirs");
    let known = ours.update(key("secrets/x/1"), rev(2), Object::sealed("ours")).await.unwrap();
    let theirs = open(&cluster, keys.path(), "theirs", LIMITS).await;
    assert_eq!(theirs.update(key("secrets/x/1"), rev(2), Object::sealed("theirs")).await.unwrap(), known);
    drop(theirs);
    cluster.replace("ours", "theirs");
    let second = open(&cluster, keys.path(), "ours", LIMITS).await;
    let change = async || ours.update(key("secrets/x/1"), known, Object::sealed("built on ours")).await;
    let error = patiently(change).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    for store in [&ours, &second] {
        let found = store.get(&key("secrets/x/1")).await.unwrap().unwrap();
        assert_eq!(text(&found.object), "theirs");
        assert!(found.revision.get() > RESTORE_JUMP, "{}", found.revision);
        assert_eq!(store.blob(&blob.digest()).await.unwrap().unwrap(), *blob.content());
        let page = list(store, under("a")).await;
        assert_eq!(text(&page.items[0].object), "old");
        let mut watch = watch_after(store, page.revision.get(), under("a")).await;
        let revision = page.items[0].revision;
        let changed = store.update(key("a/x/0"), revision, page.items[0].object.clone()).await.unwrap();
        assert_eq!(event(&mut watch).await.revision, changed);
    }
    // A blob goes with the last object that names it, also behind a jump.
    let named = ours.get(&key("a/x/0")).await.unwrap().unwrap();
    let gone = ours.delete(key("a/x/0"), named.revision).await.unwrap();
    ours.compact(gone).await.unwrap();
    assert_eq!(ours.blob(&blob.digest()).await.unwrap(), None);
}

/// Every way to read notices a server with another history, and none takes its word for what was seen.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reading_does_not_hide_a_fail_over() {
    let Some(cluster) = Cluster::start("store::postgres::failover::reading", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let blob = Blob::new("content");
    for (at, what) in
        ["current", "get", "list", "count", "blob", "watch", "rotate", "compact"].iter().enumerate()
    {
        let (here, there) = (format!("here_{at}"), format!("there_{at}"));
        let store = open(&cluster, keys.path(), &here, LIMITS).await;
        store.create(key("a/x/1"), object("")).await.unwrap();
        cluster.copy(&here, &there);
        store.create(key("a/x/2"), object("")).await.unwrap();
        let mut watch = watch_after(&store, 2, under("a")).await;
        let other = open(&cluster, keys.path(), &there, LIMITS).await;
        for at in 3..9 {
            other.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
        }
        drop(other);
        cluster.replace(&here, &there);
        let answer = match *what {
            "current" => store.current().await.map(drop),
            "get" => store.get(&key("a/x/3")).await.map(drop),
            "list" => store.list(&lanai_store::ListRequest::all(under("a"))).await.map(drop),
            "count" => store.count(&under("a")).await.map(drop),
            "blob" => store.blob(&blob.digest()).await.map(drop),
            "watch" => store.watch(lanai_store::WatchRequest::after(rev(2), under("a"))).await.map(drop),
            "rotate" => store.rotate_key().await,
            _ => store.compact(rev(1)).await.map(drop),
        };
        let head = || cluster.ask(&format!("SELECT head FROM {here}.meta")).trim().parse::<u64>().unwrap();
        match answer {
            // Noticed by the question; or before it, by the one that listens.
            Err(Error::Unavailable { .. }) => {}
            Ok(()) | Err(Error::Expired { .. }) => assert!(head() > RESTORE_JUMP, "{what}"),
            Err(other) => panic!("{what}: {other:?}"),
        }
        let error = signal(&mut watch).await.unwrap_err();
        assert!(matches!(error, Error::Expired { .. }), "{what}: {error:?}");
        assert!(head() > RESTORE_JUMP, "{what}");
    }
}

/// Leases take no revisions; a server that lost nothing else is noticed by their numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lost_leases_gives_their_numbers_to_nobody() {
    let Some(cluster) = Cluster::start("store::postgres::failover::leases", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "leased", LIMITS).await;
    store.create(key("a/x/1"), object("")).await.unwrap();
    cluster.copy("leased", "without");
    let ann = store.acquire(claim("work", "ann", 0, 10)).await.unwrap().fence;
    cluster.replace("leased", "without");
    let again = patiently(async || store.acquire(claim("work", "bob", 1, 10)).await).await.unwrap().fence;
    assert!(again.number.get() > ann.number.get() + RESTORE_JUMP, "{again:?} behind {ann:?}");
    let error = store.commit(guarded(&ann, "a/x/2")).await.unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error:?}");
}

/// Another process was faster, and has the lease on the server that took over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_give_a_lease_under_two_numbers() {
    let Some(cluster) = Cluster::start("store::postgres::failover::two_numbers", Disk::Unsynced) else {
        return;
    };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "one", LIMITS).await;
    store.create(key("a/x/1"), object("")).await.unwrap();
    cluster.copy("one", "two");
    let ann = store.acquire(claim("work", "ann", 0, 10)).await.unwrap().fence;
    let other = open(&cluster, keys.path(), "two", LIMITS).await;
    let mut bob = other.acquire(claim("work", "bob", 0, 10)).await.unwrap().fence;
    // Until the number alone tells nothing.
    while bob.number < ann.number {
        bob = other.acquire(claim("work", "bob", 0, 10)).await.unwrap().fence;
    }
    drop(other);
    cluster.replace("one", "two");
    let error = patiently(async || store.commit(guarded(&ann, "a/x/2")).await).await.unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "bob has it: {error:?}");
}

/// Nobody makes a new key on a server that lost something before somebody has gone on from there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_key_is_replaced_on_a_server_that_forgot() {
    let Some(cluster) = Cluster::start("store::postgres::failover::keys", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let file = keys.path().join("store.key");
    let store = open(&cluster, keys.path(), "forgot", LIMITS).await;
    for at in 1..=5 {
        store.create(key(&format!("secrets/a/{at}")), Object::sealed(format!("{at}"))).await.unwrap();
    }
    let before = std::fs::read(&file).unwrap();
    let (client, connection) =
        tokio_postgres::connect(&cluster.address(), tokio_postgres::NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    let forget =
        "BEGIN; DELETE FROM forgot.version WHERE revision > 3; DELETE FROM forgot.current WHERE revision > 3;
        UPDATE forgot.meta SET head = 3";
    client.batch_execute(forget).await.unwrap();
    let rotating = {
        let store = store.clone();
        tokio::spawn(async move { store.rotate_key().await })
    };
    // It is the first to see what is left, because it waits for the counter before that can be seen.
    while cluster.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").trim() == "0" {}
    client.batch_execute("COMMIT").await.unwrap();
    let error = rotating.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    assert!(std::fs::read(&file).unwrap() == before, "no key was made");
    patiently(async || store.rotate_key().await).await.unwrap();
    assert!(store.current().await.unwrap().get() > RESTORE_JUMP, "somebody went on first");
    assert!(std::fs::read(&file).unwrap() != before);
    let page = list(&store, under("secrets")).await;
    assert_eq!(page.items.iter().map(|item| text(&item.object)).collect::<Vec<_>>(), ["1", "2", "3"]);
    drop(client);
    driver.await.unwrap().unwrap();
}

/// A server and its standby, as an administrator has them: the standby is promoted, and had not heard everything.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_takes_over_without_the_last_writes() {
    let Some(first) = Cluster::start("store::postgres::failover::standby", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let file = keys.path().join("store.key");
    // The schema is made before, so that the standby has it.
    let alone = open(&first, keys.path(), "lanai", LIMITS).await;
    alone.create(key("a/x/1"), object("both have it")).await.unwrap();
    drop(alone);
    let standby = first.standby();
    let options = postgres::Options { limits: LIMITS, ..postgres::Options::default() };
    let store = PostgresStore::open(&first.address_of_both(&standby), &file, options).await.unwrap();
    assert_eq!(store.create(key("a/x/2"), object("both have it")).await.unwrap(), rev(2), "not the standby");
    while standby.ask("SELECT head FROM lanai.meta").trim() != "2" {}
    standby.crash();
    let lost = store.create(key("a/x/3"), object("lost")).await.unwrap();
    let fence = store.acquire(claim("work", "ann", 0, 10)).await.unwrap().fence;
    let mut watch = watch_after(&store, lost.get(), under("a")).await;
    first.crash();
    standby.begin();
    standby.promote();
    let page =
        patiently(async || store.list(&lanai_store::ListRequest::all(under("a"))).await).await.unwrap();
    assert!(page.revision.get() > RESTORE_JUMP);
    assert_eq!(page.items.iter().map(|item| item.key.name()).collect::<Vec<_>>(), ["1", "2"]);
    assert!(page.items.iter().all(|item| item.revision > Revision::new(RESTORE_JUMP)));
    let error = signal(&mut watch).await.unwrap_err();
    assert!(matches!(error, Error::Expired { .. }), "{error:?}");
    let error = patiently(async || store.commit(guarded(&fence, "a/x/9")).await).await.unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error:?}");
    assert!(store.create(key("a/x/3"), object("again")).await.unwrap() > page.revision);
}

/// Another process was faster on the standby that took over, and has forgotten all that tells the two histories apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fail_over_is_noticed_behind_the_horizon() {
    let Some(first) = Cluster::start("store::postgres::failover::horizon", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let file = keys.path().join("store.key");
    let alone = open(&first, keys.path(), "lanai", LIMITS).await;
    alone.create(key("a/x/1"), object("both have it")).await.unwrap();
    drop(alone);
    let standby = first.standby();
    let options = postgres::Options { limits: LIMITS, ..postgres::Options::default() };
    let address = first.address_with_later(&standby);
    let store = PostgresStore::open(&address, &file, options.clone()).await.unwrap();
    let second = PostgresStore::open(&address, &file, options).await.unwrap();
    while standby.ask("SELECT head FROM lanai.meta").trim() != "1" {}
    standby.crash();
    let lost = store.create(key("a/x/2"), object("lost")).await.unwrap();
    assert_eq!(second.get(&key("a/x/2")).await.unwrap().unwrap().revision, lost);
    first.crash();
    standby.begin();
    standby.promote();
    // The same number is given to something else, and forgotten.
    let faster = open(&standby, keys.path(), "lanai", LIMITS).await;
    assert_eq!(faster.create(key("a/x/3"), object("")).await.unwrap(), lost);
    let again = faster.update(key("a/x/3"), lost, object("again")).await.unwrap();
    faster.compact(again).await.unwrap();
    assert_eq!(faster.current().await.unwrap(), rev(3), "it has seen nothing that is lost");
    first.open_later();
    let head = patiently(async || store.current().await).await.unwrap();
    assert!(head.get() > RESTORE_JUMP, "{head}");
    // Once for all: everything is new, and whoever comes later has nothing more to notice.
    for process in [&second, &faster, &store] {
        assert_eq!(patiently(async || process.current().await).await.unwrap(), head);
    }
    let error = second.update(key("a/x/2"), lost, object("built on what is lost")).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    let error = faster.update(key("a/x/3"), again, object("")).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "it may be another one for others: {error:?}");
}
