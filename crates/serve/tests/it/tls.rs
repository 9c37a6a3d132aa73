//! A client over TLS and HTTP/2, with the certificate of a kubeconfig.

use std::path::Path;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;

/// What a kubeconfig says.
#[derive(Clone)]
pub struct Access {
    pub address: String,
    tls: Arc<rustls::ClientConfig>,
}

impl Access {
    pub fn read(kubeconfig: &Path) -> Self {
        let text = std::fs::read_to_string(kubeconfig).unwrap();
        let config: Value = lanai_yaml::Document::parse(text).unwrap().root().deserialize().unwrap();
        // Either the content, or the file that has it.
        let pem = |of: &Value, name: &str| match of[format!("{name}-data")].as_str() {
            Some(data) => STANDARD.decode(data).unwrap(),
            None => std::fs::read(of[name].as_str().unwrap()).unwrap(),
        };
        let cluster = &config["clusters"][0]["cluster"];
        let user = &config["users"][0]["user"];
        let mut roots = rustls::RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(&pem(cluster, "certificate-authority")).unwrap();
        roots.add(authority).unwrap();
        let certificate = CertificateDer::from_pem_slice(&pem(user, "client-certificate")).unwrap();
        let key = PrivateKeyDer::from_pem_slice(&pem(user, "client-key")).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_client_auth_cert(vec![certificate], key)
            .unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let address = cluster["server"].as_str().unwrap().trim_start_matches("https://").to_owned();
        Self { address, tls: Arc::new(tls) }
    }

    /// A connection, and the certificate that the server shows on it.
    pub async fn connect<B>(&self) -> std::io::Result<(SendRequest<B>, Vec<u8>)>
    where
        B: http_body::Body + Send + Unpin + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from("localhost").unwrap();
        let stream = tokio_rustls::TlsConnector::from(self.tls.clone()).connect(name, stream).await?;
        let shown = stream.get_ref().1.peer_certificates().unwrap()[0].to_vec();
        let (sender, connection) =
            handshake(TokioExecutor::new(), TokioIo::new(stream)).await.map_err(std::io::Error::other)?;
        tokio::spawn(connection);
        Ok((sender, shown))
    }

    /// A client of kube over one connection.
    pub async fn client(&self) -> std::io::Result<kube::Client> {
        let (sender, _) = self.connect::<kube::client::Body>().await?;
        let address = self.address.clone();
        let service = tower::service_fn(move |mut request: http::Request<kube::client::Body>| {
            let mut sender = sender.clone();
            let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
            *request.uri_mut() = format!("https://{address}{path}").parse().unwrap();
            async move { sender.send_request(request).await }
        });
        Ok(kube::Client::new(service, "default"))
    }
}
