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
        cluster.ask(sql)
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
    assert_eq!(scans(), before);
}
