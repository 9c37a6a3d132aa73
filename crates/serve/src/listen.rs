//! TLS and HTTP.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use lanai_apiserver::authenticate::identity_of_certificate;
use lanai_apiserver::{ApiServer, Body, Connection, Peer};
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, RootCertStore, SignatureScheme};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::certificates::Shown;
use crate::traces::Traces;
use crate::webhook::{self, Webhooks};

/// How long a client has to say hello.
pub const HANDSHAKE_TIME: Duration = Duration::from_secs(10);
/// How long a client has to send the headers of a request.
pub const HEADER_TIME: Duration = Duration::from_secs(30);
/// The most bytes of the headers of a request.
pub const MAX_HEADERS: u32 = 64 * 1024;
/// The most connections at the same time.
pub const MAX_CONNECTIONS: usize = 10_000;
/// The most requests on one connection at the same time.
pub const MAX_STREAMS: u32 = 1_000;
/// How long requests have to end when the server ends.
pub const ENDING_TIME: Duration = Duration::from_secs(8);

/// Whose certificates are taken, each in DER.
#[derive(Debug, Clone)]
pub struct Authorities {
    /// Those of users.
    pub users: CertificateDer<'static>,
    /// Those of proxies that vouch for users.
    pub front_proxies: Option<CertificateDer<'static>>,
}

impl Authorities {
    /// From texts in PEM.
    ///
    /// # Errors
    /// When one is no certificate.
    pub fn from_pem(users: &str, front_proxies: Option<&str>) -> Result<Self, String> {
        let read =
            |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| error.to_string());
        Ok(Self { users: read(users)?, front_proxies: front_proxies.map(read).transpose()? })
    }

    /// Who shows this certificate; none if none of the authorities signed it.
    pub fn peer(&self, der: &[u8]) -> Option<Peer> {
        if is_signed_by(der, &self.users) {
            return identity_of_certificate(der).map(Peer::User);
        }
        let proxies = self.front_proxies.as_ref()?;
        if is_signed_by(der, proxies) {
            let name = identity_of_certificate(der)?.user;
            return Some(Peer::FrontProxy { name });
        }
        None
    }
}

fn is_signed_by(der: &[u8], authority: &[u8]) -> bool {
    let (Ok((_, leaf)), Ok((_, authority))) =
        (x509_parser::parse_x509_certificate(der), x509_parser::parse_x509_certificate(authority))
    else {
        return false;
    };
    leaf.issuer() == authority.subject() && leaf.verify_signature(Some(authority.public_key())).is_ok()
}

/// Takes every client certificate whose key the client has, so that a bad one is told by an answer instead of by the end of the connection. Whether it
/// is good is asked behind the handshake, of the verifier inside.
#[derive(Debug)]
struct Anybody(Arc<dyn ClientCertVerifier>);

impl ClientCertVerifier for Anybody {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.0.root_hint_subjects()
    }

    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.0.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

/// TLS, and who is at the other end of it.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    verifier: Arc<dyn ClientCertVerifier>,
    authorities: Authorities,
}

impl Tls {
    /// Whose certificate was shown; none if there is none, or none that is good now.
    fn peer(&self, certificates: Option<&[CertificateDer<'_>]>) -> Option<Peer> {
        let (leaf, rest) = certificates?.split_first()?;
        match self.verifier.verify_client_cert(leaf, rest, UnixTime::now()) {
            Ok(_) => self.authorities.peer(leaf),
            Err(error) => {
                tracing::debug!(%error, "a client certificate is not good");
                None
            }
        }
    }
}

/// The configuration of TLS: client certificates are taken and not asked for.
///
/// # Errors
/// When an authority cannot be used.
pub fn tls(shown: Arc<Shown>, authorities: Authorities) -> Result<Tls, String> {
    let provider = Arc::new(ring::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add(authorities.users.clone()).map_err(|error| error.to_string())?;
    if let Some(proxies) = &authorities.front_proxies {
        roots.add(proxies.clone()).map_err(|error| error.to_string())?;
    }
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
        .allow_unauthenticated()
        .build()
        .map_err(|error| error.to_string())?;
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_client_cert_verifier(Arc::new(Anybody(verifier.clone())))
        .with_cert_resolver(shown);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), verifier, authorities })
}

/// What is behind the connections.
#[derive(Clone)]
pub(crate) struct Doors {
    /// The API.
    pub(crate) api: ApiServer,
    /// Notifications of pushes, where there are packages.
    pub(crate) webhooks: Option<Arc<Webhooks>>,
    /// Who hears of requests.
    pub(crate) traces: Option<Traces>,
}

impl Doors {
    async fn handle(&self, request: http::Request<hyper::body::Incoming>) -> http::Response<Body> {
        let Some(traces) = &self.traces else { return self.answer(request).await };
        let begun = traces.begin(&request);
        let response = self.answer(request).await;
        if let Some(begun) = begun {
            traces.end(begun, response.status());
        }
        response
    }

    async fn answer(&self, request: http::Request<hyper::body::Incoming>) -> http::Response<Body> {
        match &self.webhooks {
            Some(webhooks) if request.uri().path().starts_with(webhook::PATH) => {
                webhooks.answer(request).await
            }
            Some(_) | None => self.api.handle(request).await,
        }
    }
}

/// Accepts connections until the token, then lets requests end.
pub(crate) async fn serve(listener: TcpListener, tls: Tls, server: Doors, stop: CancellationToken) {
    let graceful = GracefulShutdown::new();
    let tasks = TaskTracker::new();
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let tls = Arc::new(tls);
    let cut = CancellationToken::new();
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = accept(&listener, &room) => accepted,
        };
        let Some((stream, remote, permit)) = accepted else { continue };
        let tls = tls.clone();
        let (server, cut, watcher) = (server.clone(), cut.clone(), graceful.watcher());
        tasks.spawn(async move {
            let _permit = permit;
            tokio::select! {
                () = cut.cancelled() => {}
                () = connection(stream, remote, tls, server, watcher) => {}
            }
        });
    }
    drop(listener);
    // Watches end and writes are finished; connections without requests close at once.
    let ended =
        tokio::time::timeout(ENDING_TIME, async { tokio::join!(server.api.end(), graceful.shutdown()) })
            .await;
    if ended.is_err() {
        tracing::warn!("requests that did not end in time are cut off");
    }
    cut.cancel();
    tasks.close();
    tasks.wait().await;
}

type Accepted = (TcpStream, SocketAddr, tokio::sync::OwnedSemaphorePermit);

async fn accept(listener: &TcpListener, room: &Arc<Semaphore>) -> Option<Accepted> {
    let permit = room.clone().acquire_owned().await.ok()?;
    match listener.accept().await {
        Ok((stream, remote)) => Some((stream, remote, permit)),
        Err(error) => {
            tracing::warn!(%error, "a connection was not accepted");
            // Without descriptors it would fail again at once.
            tokio::time::sleep(Duration::from_millis(50)).await;
            None
        }
    }
}

async fn connection(stream: TcpStream, remote: SocketAddr, tls: Arc<Tls>, server: Doors, watcher: Watcher) {
    let _ = stream.set_nodelay(true);
    let stream = match tokio::time::timeout(HANDSHAKE_TIME, tls.acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%remote, %error, "no connection");
            return;
        }
        Err(_) => {
            tracing::debug!(%remote, "no hello in time");
            return;
        }
    };
    let peer = tls.peer(stream.get_ref().1.peer_certificates());
    let connection = Connection { remote: Some(remote), peer };
    let service = hyper::service::service_fn(move |mut request: http::Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(connection.clone());
        let server = server.clone();
        async move { Ok::<_, std::convert::Infallible>(server.handle(request).await) }
    });
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .max_buf_size(MAX_HEADERS as usize);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_header_list_size(MAX_HEADERS)
        .max_concurrent_streams(MAX_STREAMS);
    let answering = builder.serve_connection(TokioIo::new(stream), service).into_owned();
    if let Err(error) = watcher.watch(answering).await {
        tracing::debug!(%remote, error = %error, "a connection ended");
    }
}
