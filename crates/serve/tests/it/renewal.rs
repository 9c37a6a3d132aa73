//! Certificates are renewed while the server serves.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;
use lanai_apiserver::Limits;
use lanai_serve::{Options, Server};
use tokio_util::sync::CancellationToken;

use crate::tls::Access;
use crate::world::options;

/// Less is left of a certificate of a year than the server likes.
const AGE: i64 = 300 * 24 * 3_600;

#[test]
fn certificates_are_renewed_while_connections_stay() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // The clock of the server is behind, so that what it renews is good for clients who have the right time.
    let behind = Arc::new(AtomicI64::new(AGE));
    let clock = {
        let behind = behind.clone();
        move || jiff::Timestamp::now() - jiff::SignedDuration::from_secs(behind.load(Ordering::Relaxed))
    };
    runtime.block_on(async {
        let options = Options {
            clock: Arc::new(clock),
            renewal: Duration::from_millis(20),
            ..options(folder.path(), Limits::DEFAULT)
        };
        let server = Server::start(options).await.unwrap();
        let stop = CancellationToken::new();
        let running = tokio::spawn(server.run(stop.clone()));
        let kubeconfig = folder.path().join("kubeconfig");
        let (old_file, old_access) = (std::fs::read(&kubeconfig).unwrap(), Access::read(&kubeconfig));
        let client = old_access.client().await.unwrap();
        let namespaces: Api<Namespace> = Api::all(client);
        namespaces.list(&ListParams::default()).await.unwrap();
        let (_, old) = old_access.connect::<Full<Bytes>>().await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
        let (_, same) = old_access.connect::<Full<Bytes>>().await.unwrap();
        assert_eq!(old, same, "it is good for long enough");
        behind.store(0, Ordering::Relaxed);
        let renewed = async {
            loop {
                let (_, shown) = old_access.connect::<Full<Bytes>>().await.unwrap();
                if shown != old && std::fs::read(&kubeconfig).unwrap() != old_file {
                    return shown;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let renewed = tokio::time::timeout(Duration::from_secs(20), renewed).await.expect("it is renewed");
        namespaces.list(&ListParams::default()).await.expect("the connection that was there stays");
        let new_access = Access::read(&kubeconfig);
        let (_, shown) = new_access.connect::<Full<Bytes>>().await.unwrap();
        assert_eq!(shown, renewed, "it is renewed once");
        let namespaces: Api<Namespace> = Api::all(new_access.client().await.unwrap());
        assert!(namespaces.list(&ListParams::default()).await.unwrap().items.len() >= 3);
        stop.cancel();
        running.await.unwrap();
    });
}
