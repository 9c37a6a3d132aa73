//! The HTTP client, set up as Git's configuration wants it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Proxy};

use crate::config::{Config, is_true};
use crate::url::Http;
use crate::{Error, Limits, RemoteUrl};

/// A client for one conversation.
pub(super) fn new(
    config: &Config,
    limits: &Limits,
    remote: &RemoteUrl,
    url: &Http,
    ca_bundle: Option<&[u8]>,
) -> Result<Agent, Error> {
    let mut builder = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .user_agent(concat!("git/lanai-", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(limits.max_connect))
        .timeout_resolve(Some(limits.max_connect))
        .timeout_recv_response(Some(limits.max_silence))
        .timeout_per_read(Some(limits.max_silence))
        .timeout_per_write(Some(limits.max_silence))
        .proxy(proxy(config, remote, url)?);
    // A redirect may lead from one to the other, so TLS is set up whenever it is not certain to be unused; reading the
    // certificates takes some milliseconds.
    builder = builder.tls_config(tls(config, remote, url, ca_bundle)?);
    Ok(builder.build().new_agent())
}

fn tls(
    config: &Config,
    remote: &RemoteUrl,
    url: &Http,
    ca_bundle: Option<&[u8]>,
) -> Result<TlsConfig, Error> {
    let builder = TlsConfig::builder()
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let verify = config.value_for("http", "sslverify", url).is_none_or(is_true);
    if !verify || config.variable("GIT_SSL_NO_VERIFY").is_some() {
        return Ok(builder.disable_verification(true).build());
    }
    let mut certificates = certificates(config, url)?;
    if let Some(pem) = ca_bundle {
        let found: Vec<_> = CertificateDer::pem_slice_iter(pem).flatten().collect();
        if found.is_empty() {
            let cause = "the CA bundle that comes with its credential holds no certificate".to_owned();
            return Err(Error::Tls { remote: remote.clone(), cause });
        }
        certificates.extend(found.iter().map(|found| Certificate::from_der(found).to_owned()));
    }
    Ok(builder.root_certs(RootCerts::Specific(Arc::new(certificates))).build())
}

/// Those that the configuration names, or else those of the system.
fn certificates(config: &Config, url: &Http) -> Result<Vec<Certificate<'static>>, Error> {
    let path = |variable: &str, key: &str| -> Option<PathBuf> {
        let set = config.variable(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        set.or_else(|| config.value_for("http", key, url).map(|value| config.path(value)))
    };
    let file = path("GIT_SSL_CAINFO", "sslcainfo");
    let folder = path("GIT_SSL_CAPATH", "sslcapath");
    let system = |name| config.variable(name).filter(|value| !value.is_empty()).map(Path::new);
    let (file, folder) = if file.is_some() || folder.is_some() {
        (file, folder)
    } else {
        (system("SSL_CERT_FILE").map(Path::to_owned), system("SSL_CERT_DIR").map(Path::to_owned))
    };
    let found = if file.is_some() || folder.is_some() {
        let found = rustls_native_certs::load_certs_from_paths(file.as_deref(), folder.as_deref());
        if found.certs.is_empty() {
            let cause = found.errors.first().map_or_else(|| "it holds none".to_owned(), ToString::to_string);
            let path = file.or(folder).unwrap_or_default();
            return Err(Error::File { what: "cannot read certificates", path, cause });
        }
        found
    } else {
        rustls_native_certs::load_native_certs()
    };
    Ok(found.certs.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect())
}

/// The proxy for an address: `http.proxy`, or else the variables that curl reads.
fn proxy(config: &Config, remote: &RemoteUrl, url: &Http) -> Result<Option<Proxy>, Error> {
    let names: &[&str] = if url.scheme == "https" {
        &["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
    } else {
        &["http_proxy", "all_proxy", "ALL_PROXY"]
    };
    let set = config.value_for("http", "proxy", url).map(str::to_owned);
    let set = set.or_else(|| names.iter().find_map(|name| config.text_variable(name)));
    let exceptions = config.text_variable("no_proxy").or_else(|| config.text_variable("NO_PROXY"));
    let Some(address) = set.filter(|address| !address.is_empty()) else { return Ok(None) };
    if exceptions.is_some_and(|exceptions| is_excepted(&exceptions, url.host())) {
        return Ok(None);
    }
    let proxy = Proxy::new(&address);
    proxy.map(Some).map_err(|cause| Error::Unreachable {
        remote: remote.clone(),
        cause: format!("the proxy that is configured for it cannot be used: {cause}"),
    })
}

fn is_excepted(exceptions: &str, host: &str) -> bool {
    exceptions.split(',').map(|exception| exception.trim().trim_start_matches('.')).any(|exception| {
        let below = host.strip_suffix(exception).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
        exception == "*" || (!exception.is_empty() && below)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_excepted_with_all_that_is_below_it() {
        for (exceptions, host, expected) in [
            ("example.com", "example.com", true),
            (".example.com, localhost", "git.example.com", true),
            ("example.com", "badexample.com", false),
            ("*", "anything", true),
            ("", "anything", false),
            ("a,,b", "c", false),
        ] {
            assert_eq!(is_excepted(exceptions, host), expected, "{exceptions} {host}");
        }
    }
}
