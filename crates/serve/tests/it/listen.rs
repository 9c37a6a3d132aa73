//! Connections, byte by byte.

use std::sync::Arc;

use base64::Engine;
use lanai_serve::certificates::Pair;
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::world::World;

/// Sends bytes over TLS without a certificate; what comes back until the server closes.
pub fn exchange(world: &World, request: &str) -> String {
    exchange_as(world, None, request)
}

/// The same, with a certificate.
pub fn exchange_as(world: &World, shown: Option<&Pair>, request: &str) -> String {
    let kubeconfig = std::fs::read_to_string(world.kubeconfig()).unwrap();
    let after = |key: &str| {
        let line = kubeconfig.lines().find(|line| line.contains(key)).unwrap();
        line.split_once(": ").unwrap().1.trim().trim_matches('"').to_owned()
    };
    let pem = base64::engine::general_purpose::STANDARD.decode(after("certificate-authority-data:")).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&pem).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let config = match shown {
        Some(pair) => {
            let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap();
            let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
            config.with_client_auth_cert(vec![certificate], key).unwrap()
        }
        None => config.with_no_client_auth(),
    };
    let address = after("server:").trim_start_matches("https://").to_owned();
    world.runtime.block_on(async {
        let stream = TcpStream::connect(&address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut stream =
            tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        // A server that has read enough may close before all is sent.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    })
}

#[test]
fn headers_have_a_largest_size() {
    let world = World::new();
    let with = |bytes: usize| {
        let header = "a".repeat(bytes);
        exchange(
            &world,
            &format!("GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx-long: {header}\r\n\r\n"),
        )
    };
    let answer = with(60 * 1024);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with("ok"), "{answer}");
    let answer = with(70 * 1024);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
}

#[test]
fn nobody_is_told_so_and_noise_is_refused() {
    let world = World::new();
    let answer = exchange(&world, "GET /api/v1/namespaces HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("\"reason\":\"Unauthorized\""), "{answer}");
    assert!(answer.to_lowercase().contains("www-authenticate:"), "{answer}");
    let answer = exchange(&world, "no request at all\r\n\r\n");
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400"), "{answer}");
    assert_eq!(world.get("/healthz").text, "ok");
}
