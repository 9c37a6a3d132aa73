//! What the store in a server promises, asked of a real PostgreSQL.

pub mod cluster;
mod failover;
mod keys;
mod several;
mod tls;
mod trouble;

use lanai_store::postgres::{Options, PostgresStore};
use lanai_store::{Limits, Object, Store};
use std::path::Path;

use crate::contract::{CASES, SMALL};
use crate::support::{key, rev};
use cluster::{Cluster, Disk};

async fn open(cluster: &Cluster, keys: &Path, schema: &str, limits: Limits) -> PostgresStore {
    let options = Options { limits, schema: schema.into(), ..Options::default() };
    PostgresStore::open(&cluster.address(), &keys.join("store.key"), options).await.unwrap()
}

#[tokio::test]
async fn contract() {
    let Some(cluster) = Cluster::start("store::postgres::contract", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    for (at, case) in CASES.iter().enumerate() {
        println!("{}", case.name);
        let store = open(&cluster, keys.path(), &format!("case_{at}"), SMALL).await;
        (case.run)(&store).await;
    }
}

#[tokio::test]
async fn everything_is_there_again_and_secrets_are_sealed() {
    let Some(cluster) = Cluster::start("store::postgres::everything_is_there_again", Disk::Unsynced) else {
        return;
    };
    let keys = tempfile::tempdir().unwrap();
    let store = open(&cluster, keys.path(), "again", Limits::DEFAULT).await;
    store.create(key("secrets/a/1"), Object::sealed("correct horse")).await.unwrap();
    drop(store);
    let store = open(&cluster, keys.path(), "again", Limits::DEFAULT).await;
    assert_eq!(store.current().await.unwrap(), rev(1));
    let found = store.get(&key("secrets/a/1")).await.unwrap().unwrap();
    assert_eq!(found.object, Object::sealed("correct horse"));
    let dump = cluster.ask("SELECT encode(value, 'escape') FROM again.version");
    assert!(!dump.contains("horse"), "{dump}");
    let other = tempfile::tempdir().unwrap();
    let options = Options { schema: "again".into(), ..Options::default() };
    let error =
        PostgresStore::open(&cluster.address(), &other.path().join("store.key"), options).await.unwrap_err();
    assert!(matches!(error, lanai_store::postgres::OpenError::Keys(_)), "{error:?}");
}
