//! Several processes with one store, servers that crash, and servers that forget.
//!
//! A process is a store with connections of its own; that is all that two of them share in one test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use lanai_store::{
    Claim, Committed, Error, Fence, Filter, Key, Lease, ListRequest, Page, PostgresStore, Revision, Store,
    Stored, Transaction, Watch, WatchRequest,
};
use lanai_testkit::history::{Recorder, Sink, check};
use lanai_types::Sha256Digest;

use super::cluster::{Cluster, Disk};
use super::open;
use crate::judge::{Ending, LIMITS, Workload, were_hard};
use crate::support::{PATIENCE, event, events, key, object, rev, text, under, watch_after};

/// Clients that roam: each call goes to another process.
struct Roaming {
    processes: Vec<PostgresStore>,
    next: AtomicUsize,
}

impl Roaming {
    fn any(&self) -> &PostgresStore {
        &self.processes[self.next.fetch_add(1, Ordering::Relaxed) % self.processes.len()]
    }
}

#[async_trait]
impl Store for Roaming {
    async fn current(&self) -> Result<Revision, Error> {
        self.any().current().await
    }
    async fn get(&self, key: &Key) -> Result<Option<Stored>, Error> {
        self.any().get(key).await
    }
    async fn list(&self, request: &ListRequest) -> Result<Page, Error> {
        self.any().list(request).await
    }
    async fn count(&self, filter: &Filter) -> Result<u64, Error> {
        self.any().count(filter).await
    }
    async fn commit(&self, transaction: Transaction) -> Result<Committed, Error> {
        self.any().commit(transaction).await
    }
    async fn watch(&self, request: WatchRequest) -> Result<Watch, Error> {
        self.any().watch(request).await
    }
    async fn blob(&self, digest: &Sha256Digest) -> Result<Option<Bytes>, Error> {
        self.any().blob(digest).await
    }
    async fn compact(&self, up_to: Revision) -> Result<Revision, Error> {
        self.any().compact(up_to).await
    }
    async fn acquire(&self, claim: Claim) -> Result<Lease, Error> {
        self.any().acquire(claim).await
    }
    async fn renew(&self, fence: &Fence, claim: Claim) -> Result<Lease, Error> {
        self.any().renew(fence, claim).await
    }
    async fn release(&self, fence: &Fence) -> Result<(), Error> {
        self.any().release(fence).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn several_processes_keep_the_contract() {
    let Some(cluster) = Cluster::start("store::postgres::several_processes", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let mut summaries = Vec::new();
    for seed in 1..=3 {
        let mut processes = Vec::new();
        for _ in 0..3 {
            processes.push(open(&cluster, keys.path(), &format!("judge_{seed}"), LIMITS).await);
        }
        let store = Roaming { processes, next: AtomicUsize::new(0) };
        let recorder = Arc::new(Recorder::new(0, Sink::Memory));
        let workload = Workload { seed, run: 0, audit_from: 0, ending: Ending::CatchUp, patience: PATIENCE };
        workload.run(Arc::new(store), recorder.clone()).await;
        match check(&recorder.history()) {
            Ok(summary) => {
                println!("{summary:?}");
                summaries.push(summary);
                assert!(summary.commits > 60 && summary.events > 200 && summary.lists > 100, "{summary:?}");
            }
            Err(violations) => panic!("seed {seed}: {violations:#?}"),
        }
    }
    were_hard(&summaries);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_hears_what_another_one_wrote() {
    let Some(cluster) = Cluster::start("store::postgres::a_process_hears", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let one = open(&cluster, keys.path(), "hears", LIMITS).await;
    let two = open(&cluster, keys.path(), "hears", LIMITS).await;
    let mut watch = watch_after(&two, 0, under("a")).await;
    for at in 1..=20 {
        let (writer, reader) = if at % 2 == 0 { (&one, &two) } else { (&two, &one) };
        writer.create(key(&format!("a/x/{at}")), object("")).await.unwrap();
        assert!(reader.get(&key(&format!("a/x/{at}"))).await.unwrap().is_some());
        assert_eq!(event(&mut watch).await.revision, rev(at));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_of_the_server_is_survived() {
    let Some(cluster) = Cluster::start("store::postgres::a_crash", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "crash", LIMITS).await;
    let mut watch = watch_after(&store, 0, under("a")).await;
    store.create(key("a/x/1"), object("one")).await.unwrap();
    assert_eq!(events(&mut watch, 1).await, ["1 + 1=one"]);
    cluster.crash();
    let error = store.create(key("a/x/2"), object("lost")).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable { .. } | Error::Unknown { .. }), "{error:?}");
    assert!(store.get(&key("a/x/1")).await.is_err());
    cluster.begin();
    assert_eq!(text(&store.get(&key("a/x/1")).await.unwrap().unwrap().object), "one");
    assert_eq!(store.create(key("a/x/2"), object("two")).await.unwrap(), rev(2));
    assert_eq!(events(&mut watch, 1).await, ["2 + 2=two"], "the same watch goes on");
}

/// A server that goes away while a commit waits for a standby has done it, and says nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_was_not_answered_is_unknown() {
    let Some(cluster) = Cluster::start("store::postgres::a_commit_that_was_not_answered", Disk::Unsynced)
    else {
        return;
    };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "unknown", LIMITS).await;
    store.create(key("a/x/1"), object("one")).await.unwrap();
    cluster.ask("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    cluster.ask("SELECT pg_reload_conf()");
    // From when on the setting holds is for each connection to say: some write waits.
    let writer = {
        let store = store.clone();
        tokio::spawn(async move {
            for at in 2.. {
                if let Err(error) = store.create(key(&format!("a/x/{at}")), object("two")).await {
                    return (at, error);
                }
            }
            unreachable!("a server without its standby does not answer")
        })
    };
    while cluster.ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").trim() == "0" {}
    cluster.crash();
    let (at, error) = writer.await.unwrap();
    assert!(matches!(error, Error::Unknown { .. }), "{error:?}");
    cluster.begin();
    assert!(store.get(&key(&format!("a/x/{at}"))).await.unwrap().is_some(), "it had happened");
}
