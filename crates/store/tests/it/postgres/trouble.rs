//! What fails for one does not fail for others, and nothing fails in silence.

use std::sync::Arc;

use lanai_store::{Error, Key, Kind, Limits, Store, WatchFrom, WatchRequest};

use super::cluster::{Cluster, Disk};
use super::open;
use crate::judge::LIMITS;
use crate::support::{event, events, key, labelled, object, rev, signal, under, watch_after};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_cannot_be_read_ends_the_watches_that_come_to_it() {
    let Some(cluster) = Cluster::start("store::postgres::trouble::a_record", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "trouble", LIMITS).await;
    store.create(key("a/x/1"), object("")).await.unwrap();
    let mut watch = watch_after(&store, 0, under("a")).await;
    assert_eq!(event(&mut watch).await.revision, rev(1));
    assert_eq!(store.trouble(), None);
    cluster.ask(
        "BEGIN; INSERT INTO trouble.version (revision, created, tombstone, key, checksum, value, stamp)
             VALUES (2, 2, false, 'a/x/2', 1, 'damaged', 7);
         INSERT INTO trouble.current VALUES ('a/x/2', 2);
         UPDATE trouble.meta SET head = 2, stamp = 7; COMMIT",
    );
    let error = signal(&mut watch).await.unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
    assert!(matches!(store.trouble(), Some(Error::Damaged { .. })));
    // Who begins before it hears what is whole, and is told as well; who begins behind it is not concerned.
    let mut before = watch_after(&store, 0, under("a")).await;
    assert_eq!(events(&mut before, 1).await, ["1 + 1="]);
    assert!(matches!(signal(&mut before).await, Err(Error::Damaged { .. })));
    let request = WatchRequest { from: WatchFrom::Now, ..WatchRequest::after(rev(0), under("a")) };
    let mut behind = store.watch(request).await.unwrap();
    store.create(key("a/x/3"), object("")).await.unwrap();
    assert_eq!(event(&mut behind).await.revision, rev(3));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_write_that_the_server_refuses_fails_alone() {
    let Some(cluster) = Cluster::start("store::postgres::trouble::fails_alone", Disk::Unsynced) else {
        return;
    };
    let keys = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&cluster, keys.path(), "alone", LIMITS).await);
    cluster.ask(
        "CREATE FUNCTION alone.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.key LIKE 'poison/%' THEN RAISE 'no poison'; END IF; RETURN NEW; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON alone.version FOR EACH ROW EXECUTE FUNCTION alone.refuse()",
    );
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

/// The longest key with the longest label, of which nothing can be packed smaller.
#[tokio::test]
async fn the_largest_label_fits_into_the_index() {
    let Some(cluster) = Cluster::start("store::postgres::trouble::largest_label", Disk::Unsynced) else {
        return;
    };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "largest", Limits::DEFAULT).await;
    let mut chance = crate::judge::Chance::new(5);
    let mut noise = |length: usize| -> String {
        let letters: Vec<char> = ('!'..='~').filter(|letter| *letter != '/').collect();
        let end = letters.len() as u64;
        (0..length).map(|_| letters[usize::try_from(chance.below(end)).unwrap()]).collect()
    };
    let kind = Kind::new(&"k".repeat(512)).unwrap();
    let name = Key::new(&kind, &noise(512), &noise(512)).unwrap();
    let (label, value) = (noise(300), noise(724));
    store.create(name.clone(), labelled("", &[(&label, &value)])).await.unwrap();
    let filter =
        crate::support::with_label(lanai_store::Filter::everything(), &label, crate::support::equals(&value));
    assert_eq!(crate::support::list(&store, filter).await.items[0].key, name);
}

/// Every question is answered from an index.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_reads_a_whole_table() {
    let Some(cluster) = Cluster::start("store::postgres::trouble::indexes", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "indexed", Limits::DEFAULT).await;
    for first in (0..2_000).step_by(500) {
        let create = |at: u64| lanai_store::Write::Create {
            key: key(&format!("a/n{}/{at}", at % 20)),
            object: labelled("", &[("app", &format!("app-{}", at % 50))]),
        };
        let writes = (first..first + 500).map(create).collect();
        store.commit(lanai_store::Transaction { writes, ..Default::default() }).await.unwrap();
    }
    let scans = || {
        // What a connection counted is told when it ends.
        let others = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";
        while cluster.ask(others).trim() != "0" {}
        let sql = "SELECT relname || ' ' || seq_scan FROM pg_stat_user_tables WHERE schemaname = 'indexed'
            AND relname IN ('version', 'current', 'attribute', 'blob', 'blob_use') ORDER BY relname";
        let read = "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = 'indexed'";
        (cluster.ask(sql), cluster.ask(read).trim().parse::<u64>().unwrap())
    };
    drop(store);
    let before = scans();
    let store = open(&cluster, keys.path(), "indexed", Limits::DEFAULT).await;
    let app = |value: &str| crate::support::with_label(under("a"), "app", crate::support::equals(value));
    for filter in [under("a"), app("app-7")] {
        let page = lanai_store::ListRequest {
            filter: filter.clone(),
            at: lanai_store::At::Latest,
            limit: std::num::NonZeroUsize::new(10),
        };
        store.list(&page).await.unwrap();
        let at = lanai_store::At::Revision(rev(1_990));
        store.list(&lanai_store::ListRequest { at, ..page }).await.unwrap();
        store.count(&filter).await.unwrap();
    }
    store.get(&key("a/n7/7")).await.unwrap().unwrap();
    let mut watch = watch_after(&store, 1_900, under("a")).await;
    assert_eq!(events(&mut watch, 50).await.len(), 50);
    store.update(key("a/n7/7"), rev(8), labelled("", &[("app", "app-1")])).await.unwrap();
    store.compact(rev(1_000)).await.unwrap();
    drop(watch);
    drop(store);
    assert_eq!(scans().0, before.0);

    // Pages of what has a label read what has it, and not everything that is in between.
    let store = open(&cluster, keys.path(), "indexed", Limits::DEFAULT).await;
    let first = store.current().await.unwrap();
    drop(store);
    let before = scans();
    let store = open(&cluster, keys.path(), "indexed", Limits::DEFAULT).await;
    let mut next = Some(lanai_store::At::Revision(first));
    let mut found = 0;
    while let Some(at) = next {
        let limit = std::num::NonZeroUsize::new(10);
        let page = store.list(&lanai_store::ListRequest { filter: app("app-9"), at, limit }).await.unwrap();
        found += page.items.len();
        next = page.next.map(lanai_store::At::Continue);
    }
    assert_eq!(found, 40);
    drop(store);
    let after = scans();
    assert_eq!(after.0, before.0);
    assert!(after.1 - before.1 < 1_500, "{} of 2,000 objects", after.1 - before.1);
}

/// The writes of all tasks that wait together are more than the locks for which a server has room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_large_transactions_at_once_are_written() {
    let Some(cluster) = Cluster::start("store::postgres::trouble::large", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let store = Arc::new(open(&cluster, keys.path(), "large", LIMITS).await);
    let mut clients = tokio::task::JoinSet::new();
    for at in 0..20 {
        let store = store.clone();
        clients.spawn(async move {
            let create = |name: usize| lanai_store::Write::Create {
                key: key(&format!("a/x/{at}-{name}")),
                object: object(""),
            };
            let writes = (0..1_000).map(create).collect();
            store.commit(lanai_store::Transaction { writes, ..Default::default() }).await
        });
    }
    while let Some(done) = clients.join_next().await {
        done.unwrap().unwrap();
    }
    assert_eq!(store.current().await.unwrap(), rev(20_000));
    // Small ones go on beside them.
    assert_eq!(store.create(key("a/y/1"), object("")).await.unwrap(), rev(20_001));
}

/// A connection on which nothing can be written any more is left, and not asked for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_has_become_read_only_is_left() {
    let Some(cluster) = Cluster::start("store::postgres::trouble::read_only", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "standby", LIMITS).await;
    store.create(key("a/x/1"), object("")).await.unwrap();
    cluster.ask(
        "CREATE TABLE left_behind AS SELECT pid FROM pg_stat_activity;
         CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF EXISTS (SELECT 1 FROM public.left_behind WHERE pid = pg_backend_pid()) THEN
                 RAISE 'standby' USING ERRCODE = '25006'; END IF;
             RETURN NEW; END $$;
         CREATE TRIGGER refuse BEFORE INSERT ON standby.version FOR EACH ROW EXECUTE FUNCTION refuse()",
    );
    let error = store.create(key("a/x/2"), object("")).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. }), "{error:?}");
    store.create(key("a/x/2"), object("")).await.unwrap();
}

/// A watch that is behind the window asks the tables; while nobody answers, it waits.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_that_reads_from_the_tables_waits_for_the_server() {
    let Some(cluster) = Cluster::start("store::postgres::trouble::waits", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "waits", Limits { max_window: 1, ..LIMITS }).await;
    for at in 1..=5 {
        store.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
    }
    let mut watch = watch_after(&store, 0, under("a")).await;
    cluster.crash();
    let watching = tokio::spawn(async move { events(&mut watch, 5).await });
    // The watch has asked by the time that another question failed.
    for _ in 0..10 {
        assert!(store.current().await.is_err());
        tokio::task::yield_now().await;
    }
    cluster.begin();
    assert_eq!(watching.await.unwrap().len(), 5);
}

/// Content is on its way while others write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_blob_on_its_way_holds_up_nobody() {
    let Some(cluster) = Cluster::start("store::postgres::trouble::blobs", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let one = open(&cluster, keys.path(), "blobs", LIMITS).await;
    let two = open(&cluster, keys.path(), "blobs", LIMITS).await;
    let blob = lanai_store::Blob::new("content");
    let (client, connection) =
        tokio_postgres::connect(&cluster.address(), tokio_postgres::NoTls).await.unwrap();
    let driver = tokio::spawn(connection);
    // Somebody else is about to write the same content, and takes long.
    let insert = format!(
        "BEGIN; INSERT INTO blobs.blob VALUES ('\\x{}', 'content')",
        blob.digest().to_string().trim_start_matches("sha256:")
    );
    client.batch_execute(&insert).await.unwrap();
    let writer = {
        let (one, blob) = (one.clone(), blob.clone());
        tokio::spawn(async move {
            let named = lanai_store::Object { blobs: [blob.digest()].into(), ..object("") };
            let create = lanai_store::Write::Create { key: key("a/x/1"), object: named };
            one.commit(lanai_store::Transaction { blobs: vec![blob], ..create.into() }).await
        })
    };
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    while cluster.ask(waiting).trim() == "0" {}
    assert_eq!(two.create(key("a/x/2"), object("")).await.unwrap(), rev(1));
    client.batch_execute("ROLLBACK").await.unwrap();
    writer.await.unwrap().unwrap();
    assert_eq!(two.blob(&blob.digest()).await.unwrap().unwrap(), *blob.content());
    // Content of something that is refused does not stay.
    let other = lanai_store::Blob::new("unused");
    let named = lanai_store::Object { blobs: [other.digest()].into(), ..object("") };
    let create = lanai_store::Write::Create { key: key("a/x/1"), object: named };
    let refused = lanai_store::Transaction { blobs: vec![other.clone()], ..create.into() };
    let (refused, written) = tokio::join!(one.commit(refused), one.create(key("a/x/3"), object("")));
    assert!(matches!(refused, Err(Error::Conflict { .. })), "{refused:?}");
    written.unwrap();
    assert_eq!(cluster.ask("SELECT count(*) FROM blobs.blob").trim(), "1");
    drop(client);
    driver.await.unwrap().unwrap();
}

/// Who asks for too much does not fail those who do not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_compaction_fails_alone() {
    let Some(cluster) = Cluster::start("store::postgres::trouble::compaction", Disk::Unsynced) else {
        return;
    };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "compacted", LIMITS).await;
    for first in 0..4 {
        let create =
            |at: u64| lanai_store::Write::Create { key: key(&format!("a/{first}/{at}")), object: object("") };
        let writes = (0..1_000).map(create).collect();
        store.commit(lanai_store::Transaction { writes, ..Default::default() }).await.unwrap();
    }
    let (right, wrong) = tokio::join!(store.compact(rev(3_500)), store.compact(rev(1_000_000)));
    assert_eq!(right.unwrap(), rev(3_500));
    assert_eq!(wrong.unwrap_err(), Error::TooNew { asked: rev(1_000_000), current: rev(4_000) });
}
