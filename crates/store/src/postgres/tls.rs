//! Encrypted connections.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Whether a connection is encrypted. There is nothing in between: one that is encrypted where the server happens to want it protects from
/// nobody who can answer in its place.
#[derive(Debug, Clone)]
pub(crate) enum Tls {
    Never,
    /// With a server that somebody vouches for who is trusted, under the name of the address.
    Always(Arc<ClientConfig>),
}

/// Why connections cannot be encrypted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of certificates cannot be used.
    #[error("the certificates in \"{}\" cannot be read: {cause}", path.display())]
    Certificates {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: String,
    },
    /// There is nobody who could vouch for a server.
    #[error("there are no certificates of authorities that are trusted")]
    Nobody,
    /// The library for TLS cannot be used.
    #[error("TLS cannot be used")]
    Library(#[source] rustls::Error),
}

impl Tls {
    /// As an address wants it: encrypted with `sslmode=require`. Those who vouch for servers are in a file, or are those of the system.
    pub(crate) fn of(config: &Config, authorities: Option<&Path>) -> Result<Self, Error> {
        if config.get_ssl_mode() != SslMode::Require {
            return Ok(Self::Never);
        }
        let mut roots = RootCertStore::empty();
        match authorities {
            Some(path) => {
                let wrong = |cause: String| Error::Certificates { path: path.to_owned(), cause };
                let found = CertificateDer::pem_file_iter(path).map_err(|cause| wrong(cause.to_string()))?;
                for certificate in found {
                    let certificate = certificate.map_err(|cause| wrong(cause.to_string()))?;
                    roots.add(certificate).map_err(|cause| wrong(cause.to_string()))?;
                }
            }
            // Some of the system's may be of no use; one is enough.
            None => drop(roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs)),
        }
        if roots.is_empty() {
            return Err(Error::Nobody);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let config = config.map_err(Error::Library)?.with_root_certificates(roots).with_no_client_auth();
        Ok(Self::Always(Arc::new(config)))
    }

    pub(crate) const fn mode(&self) -> SslMode {
        match self {
            Self::Never => SslMode::Disable,
            Self::Always(_) => SslMode::Require,
        }
    }

    /// What makes connections. Without TLS it is not asked.
    pub(crate) fn connector(&self) -> MakeRustlsConnect {
        let config = match self {
            Self::Always(config) => ClientConfig::clone(config),
            Self::Never => {
                let provider = Arc::new(rustls::crypto::ring::default_provider());
                let versions =
                    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
                let versions = versions.expect("ring has the ciphers of all versions");
                versions.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
            }
        };
        MakeRustlsConnect::new(config)
    }
}
