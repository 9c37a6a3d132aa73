//! Connections that are encrypted.

use lanai_store::postgres::{OpenError, Options, PostgresStore};
use lanai_store::{Limits, Store};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use super::cluster::{Cluster, Disk};
use crate::judge::LIMITS;
use crate::support::{event, key, object, rev, under, watch_after};

/// Somebody who vouches for servers.
fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_is_encrypted_to_a_server_that_is_vouched_for() {
    let Some(mut cluster) = Cluster::start("store::postgres::tls", Disk::Unsynced) else { return };
    let keys = tempfile::tempdir().unwrap();
    let (trusted, stranger) = (authority(), authority());
    let write = |name: &str, text: String| {
        let path = keys.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let trusted_file = write("trusted.pem", trusted.pem());
    let stranger_file = write("stranger.pem", stranger.pem());
    let key_of_server = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = certificate.signed_by(&key_of_server, &trusted).unwrap();
    let plain = cluster.encrypt(&certificate.pem(), &key_of_server.serialize_pem());
    let address = format!("{plain} sslmode=require");
    let file = keys.path().join("store.key");
    let open = async |address: &str, authorities: &std::path::Path| {
        let authorities = Some(authorities.to_owned());
        let options = Options { limits: LIMITS, authorities, ..Options::default() };
        PostgresStore::open(address, &file, options).await
    };
    let store = open(&address, &trusted_file).await.unwrap();
    let other = open(&address, &trusted_file).await.unwrap();
    let mut watch = watch_after(&store, 0, under("a")).await;
    other.create(key("a/x/1"), object("")).await.unwrap();
    assert_eq!(event(&mut watch).await.revision, rev(1));
    let sql = "SELECT bool_and(s.ssl), count(*) > 3 FROM pg_stat_ssl s JOIN pg_stat_activity a USING (pid)
        WHERE a.client_addr IS NOT NULL";
    assert_eq!(cluster.ask(sql).trim().replace(' ', ""), "t|t", "writers, readers and listeners");

    // Nobody that is trusted vouches for it, or not under this name.
    for (address, authorities, words) in [
        (address.clone(), &stranger_file, "BadSignature"),
        (
            address.replace("host=127.0.0.1", "host=localhost hostaddr=127.0.0.1"),
            &trusted_file,
            "not valid for name",
        ),
    ] {
        let error = open(&address, authorities).await.unwrap_err();
        let OpenError::Server(error) = error else { panic!("{error:?}") };
        assert!(format!("{error:?}").contains(words) || chain(&error).contains(words), "{error:?}");
    }
    let error = open(&address, &keys.path().join("nothing.pem")).await.unwrap_err();
    assert!(matches!(error, OpenError::Tls(_)), "{error:?}");
    let error = open(&address, &write("empty.pem", String::new())).await.unwrap_err();
    assert!(matches!(error, OpenError::Tls(_)), "{error:?}");

    // Who does not ask for it is not encrypted, and it can be told.
    let options = Options { limits: Limits::DEFAULT, schema: "plain".into(), ..Options::default() };
    let store = PostgresStore::open(&plain, &keys.path().join("plain.key"), options).await.unwrap();
    store.create(key("a/x/1"), object("")).await.unwrap();
    assert_eq!(cluster.ask(sql).trim().replace(' ', ""), "f|t");
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
