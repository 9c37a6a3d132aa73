//! The certificate authority of a data directory, and what it signs.

use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, SanType,
};
use rustls::crypto::ring::sign::any_ecdsa_type;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use time::OffsetDateTime;

use crate::data::{DataDirectory, FileError, Readers};

/// How long the authority is good.
const AUTHORITY_TIME: Duration = Duration::from_hours(24 * 3_650);
/// How long certificates are good.
const CERTIFICATE_TIME: Duration = Duration::from_hours(24 * 365);
/// Certificates are renewed when less than this is left.
const RENEW_BEFORE: Duration = Duration::from_hours(24 * 122);
/// Clocks of clients may be behind by this much.
const SKEW: Duration = Duration::from_mins(5);

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A key or certificate.
    #[error("a certificate cannot be made: {0}")]
    Make(#[from] rcgen::Error),
    /// What is in a file is no certificate or key.
    #[error("\"{name}\" in the data directory is not what it should be: {cause}")]
    Content {
        /// The file.
        name: &'static str,
        /// What is wrong.
        cause: String,
    },
}

/// A certificate and its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pair {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Pair {
    /// Both in one text.
    pub fn to_pem(&self) -> String {
        format!("{}{}", self.certificate, self.key)
    }

    /// Reads what [`Pair::to_pem`] wrote.
    pub fn from_pem(text: &str) -> Option<Self> {
        let at = text.find("-----BEGIN PRIVATE KEY-----")?;
        let (certificate, key) = text.split_at(at);
        Some(Self { certificate: certificate.to_owned(), key: key.to_owned() })
    }
}

/// The authority.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate, in PEM.
    pub certificate: String,
}

const AUTHORITY: &str = "ca.crt";
const AUTHORITY_KEY: &str = "ca.key";

impl Authority {
    /// The authority of a data directory; made if there is none.
    ///
    /// # Errors
    /// When the files cannot be read or written, or are something else.
    pub fn open(data: &DataDirectory, now: Timestamp) -> Result<Self, Error> {
        let (certificate, key) =
            if let (Some(certificate), Some(key)) = (data.read(AUTHORITY)?, data.read(AUTHORITY_KEY)?) {
                (text(AUTHORITY, certificate)?, text(AUTHORITY_KEY, key)?)
            } else {
                let key = KeyPair::generate()?;
                let mut params = params("lanai-ca", &[], now, AUTHORITY_TIME);
                params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
                params.key_usages = vec![
                    KeyUsagePurpose::KeyCertSign,
                    KeyUsagePurpose::CrlSign,
                    KeyUsagePurpose::DigitalSignature,
                ];
                let certificate = params.self_signed(&key)?.pem();
                // The key first: a certificate without its key would be of no use, and is made again.
                data.write(AUTHORITY_KEY, key.serialize_pem().as_bytes(), Readers::Owner)?;
                data.write(AUTHORITY, certificate.as_bytes(), Readers::All)?;
                (certificate, key.serialize_pem())
            };
        let pair = KeyPair::from_pem(&key)?;
        Ok(Self { issuer: Issuer::from_ca_cert_pem(&certificate, pair)?, certificate })
    }

    /// A certificate for a server under these names.
    ///
    /// # Errors
    /// When it cannot be signed.
    pub fn server(&self, names: &[SanType], now: Timestamp) -> Result<Pair, Error> {
        let mut params = params("lanai", &[], now, CERTIFICATE_TIME);
        params.subject_alt_names = names.to_vec();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(params)
    }

    /// A certificate for a user in these groups.
    ///
    /// # Errors
    /// When it cannot be signed.
    pub fn user(&self, user: &str, groups: &[&str], now: Timestamp) -> Result<Pair, Error> {
        let mut params = params(user, groups, now, CERTIFICATE_TIME);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params)
    }

    fn sign(&self, mut params: CertificateParams) -> Result<Pair, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Pair { certificate, key: key.serialize_pem() })
    }
}

fn params(name: &str, organizations: &[&str], now: Timestamp, time: Duration) -> CertificateParams {
    let mut params = CertificateParams::default();
    let mut subject = DistinguishedName::new();
    for organization in organizations {
        subject.push(DnType::OrganizationName, *organization);
    }
    subject.push(DnType::CommonName, name);
    params.distinguished_name = subject;
    let now = OffsetDateTime::from_unix_timestamp(now.as_second()).unwrap_or(OffsetDateTime::UNIX_EPOCH);
    params.not_before = now - SKEW;
    params.not_after = now + time;
    params
}

fn text(name: &'static str, content: Vec<u8>) -> Result<String, Error> {
    String::from_utf8(content).map_err(|error| Error::Content { name, cause: error.to_string() })
}

/// The names under which a server that listens there is reached.
pub fn names(listen: IpAddr, more: &[String]) -> Vec<SanType> {
    let mut names: Vec<SanType> = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
        .into_iter()
        .map(str::to_owned)
        .chain(more.iter().cloned())
        .filter_map(|name| match name.parse::<IpAddr>() {
            Ok(address) => Some(SanType::IpAddress(address)),
            Err(_) => name.try_into().ok().map(SanType::DnsName),
        })
        .collect();
    for address in [IpAddr::from([127, 0, 0, 1]), IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]), listen] {
        if !address.is_unspecified() && !names.contains(&SanType::IpAddress(address)) {
            names.push(SanType::IpAddress(address));
        }
    }
    names
}

/// True when a certificate should be replaced: it ends soon, or cannot be read.
pub fn is_due(certificate: &str, now: Timestamp) -> bool {
    CertificateDer::from_pem_slice(certificate.as_bytes()).map_or(true, |der| is_der_due(&der, now))
}

fn is_der_due(der: &[u8], now: Timestamp) -> bool {
    let parsed = x509_parser::parse_x509_certificate(der).ok();
    let left = parsed.map(|(_, parsed)| parsed.validity().not_after.timestamp() - now.as_second());
    left.is_none_or(|left| left < i64::try_from(RENEW_BEFORE.as_secs()).unwrap_or(i64::MAX))
}

/// The certificate that the server shows, which can be replaced while it serves.
#[derive(Debug)]
pub struct Shown(RwLock<Arc<CertifiedKey>>);

impl Shown {
    /// Shows a certificate.
    ///
    /// # Errors
    /// When it is none.
    pub fn new(pair: &Pair) -> Result<Self, Error> {
        Ok(Self(RwLock::new(certified(pair)?)))
    }

    /// True when it should be replaced.
    pub fn is_due(&self, now: Timestamp) -> bool {
        let shown = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        shown.cert.first().is_none_or(|der| is_der_due(der, now))
    }

    /// Shows another one from now on; connections that are there stay.
    ///
    /// # Errors
    /// When it is none; the old one stays.
    pub fn replace(&self, pair: &Pair) -> Result<(), Error> {
        let new = certified(pair)?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}

fn certified(pair: &Pair) -> Result<Arc<CertifiedKey>, Error> {
    let wrong = |cause: String| Error::Content { name: "server.crt", cause };
    let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes())
        .map_err(|error| wrong(error.to_string()))?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).map_err(|error| wrong(error.to_string()))?;
    let key = any_ecdsa_type(&key).map_err(|error| wrong(error.to_string()))?;
    Ok(Arc::new(CertifiedKey::new(vec![certificate], key)))
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.read().unwrap_or_else(PoisonError::into_inner).clone())
    }
}
