//! Another API server that decides who may do what: each question is a `SubjectAccessReview` there.
//!
//! What it allows is known for [`KEPT`]; what it denies is asked again each time, so that a permission that was given holds at once. When it cannot be asked, nobody may
//! anything but members of `system:masters`, about whom it is not asked.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use lanai_apiserver::policy::{Ask, Decision, What};
use lanai_apiserver::status::Reason;
use lanai_apiserver::{Clock, Delegate, Identity, Status};
use serde::Deserialize;
use serde_json::{Value, json};
use ureq::Agent;
use ureq::tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, parse_pem};

use crate::data::FileError;

/// How long what was allowed is known.
pub const KEPT: SignedDuration = SignedDuration::from_secs(10);
/// How many such answers are known at the same time.
pub const MAX_KEPT: usize = 10_000;
/// How long an answer may take.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// The largest answer that is read.
const MAX_ANSWER: u64 = 1 << 20;
/// Connections that are kept for the next questions.
const CONNECTIONS: usize = 16;
/// Where it is asked.
const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";

/// Why a kubeconfig does not say whom to ask.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of it.
    #[error(transparent)]
    File(#[from] FileError),
    /// What it says.
    #[error("\"{}\" does not say whom to ask who may do what: {cause}", path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
}

/// An API server that is asked.
pub struct Elsewhere {
    server: Arc<Server>,
    allowed: Mutex<HashMap<String, Allowed>>,
    clock: Clock,
}

/// What it allowed.
struct Allowed {
    until: Timestamp,
    why: String,
}

struct Server {
    agent: Agent,
    address: String,
    token: Token,
}

/// What is shown beside certificates.
enum Token {
    Nothing,
    Text(String),
    /// It is read each time: whoever writes it renews it.
    File(PathBuf),
}

impl Elsewhere {
    /// Reads a kubeconfig. Nothing is asked yet.
    ///
    /// # Errors
    /// When it cannot be read, or says something that is not understood.
    pub fn open(kubeconfig: &Path, clock: Clock) -> Result<Self, Error> {
        let server = Arc::new(Kubeconfig::read(kubeconfig)?.server(kubeconfig)?);
        Ok(Self { server, allowed: Mutex::default(), clock })
    }

    fn known(&self, question: &str) -> Option<String> {
        let now = (self.clock)();
        let allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        allowed.get(question).filter(|found| now < found.until).map(|found| found.why.clone())
    }

    fn keep(&self, question: String, why: String) {
        let now = (self.clock)();
        let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        if allowed.len() >= MAX_KEPT {
            allowed.retain(|_, found| now < found.until);
        }
        if allowed.len() < MAX_KEPT {
            allowed.insert(question, Allowed { until: now + KEPT, why });
        }
    }
}

#[async_trait]
impl Delegate for Elsewhere {
    async fn decide(&self, identity: &Identity, ask: &Ask) -> Result<Decision, Status> {
        let spec = spec(identity, ask);
        let question = spec.to_string();
        if let Some(why) = self.known(&question) {
            return Ok(Decision::Allowed(why));
        }
        let server = self.server.clone();
        let asked = tokio::task::spawn_blocking(move || server.ask(&spec)).await.map_err(Status::internal)?;
        let decision = asked.map_err(|cause| {
            let address = &self.server.address;
            tracing::warn!(address, cause, "who may do what cannot be asked");
            let message = format!("who may do what is decided by {address}, which cannot be asked: {cause}");
            Status::new(Reason::ServiceUnavailable, message)
        })?;
        if let Decision::Allowed(why) = &decision {
            self.keep(question, why.clone());
        }
        Ok(decision)
    }
}

impl Server {
    fn ask(&self, spec: &Value) -> Result<Decision, String> {
        let review =
            json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec});
        let mut request =
            self.agent.post(format!("{}{REVIEWS}", self.address)).content_type("application/json");
        let token = match &self.token {
            Token::Nothing => None,
            Token::Text(token) => Some(token.clone()),
            Token::File(path) => Some(
                std::fs::read_to_string(path)
                    .map_err(|error| format!("\"{}\" cannot be read: {error}", path.display()))?,
            ),
        };
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {}", token.trim()));
        }
        let answer = request.send(review.to_string()).map_err(|error| error.to_string())?;
        let code = answer.status();
        let body = answer.into_body().into_with_config().limit(MAX_ANSWER).read_to_vec();
        let body = body.map_err(|error| error.to_string())?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        if !code.is_success() {
            let message = body["message"].as_str().unwrap_or("it does not say why");
            return Err(format!("{}: {message}", code.as_u16()));
        }
        let (allowed, denied) = (&body["status"]["allowed"], &body["status"]["denied"]);
        let why = body["status"]["reason"].as_str().unwrap_or_default().to_owned();
        Ok(if allowed == true && denied != true { Decision::Allowed(why) } else { Decision::Denied })
    }
}

fn spec(identity: &Identity, ask: &Ask) -> Value {
    let mut spec = json!({"user": identity.user, "groups": identity.groups});
    if let Some(uid) = &identity.uid {
        spec["uid"] = json!(uid);
    }
    if !identity.extra.is_empty() {
        spec["extra"] = json!(identity.extra);
    }
    match &ask.what {
        What::Path(path) => spec["nonResourceAttributes"] = json!({"path": path, "verb": ask.verb}),
        What::Resource { group, resource, subresource, namespace, name } => {
            spec["resourceAttributes"] = json!({"verb": ask.verb, "group": group, "version": "*", "resource": resource,
                "subresource": subresource, "namespace": namespace, "name": name});
        }
    }
    spec
}

/// What is read of a kubeconfig.
#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
struct Kubeconfig {
    current_context: String,
    contexts: Vec<Named>,
    clusters: Vec<Named>,
    users: Vec<Named>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Named {
    name: String,
    context: Option<Context>,
    cluster: Option<Cluster>,
    user: Option<User>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
struct Cluster {
    server: String,
    certificate_authority: Option<PathBuf>,
    certificate_authority_data: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "kebab-case", default)]
struct User {
    client_certificate: Option<PathBuf>,
    client_certificate_data: Option<String>,
    client_key: Option<PathBuf>,
    client_key_data: Option<String>,
    token: Option<String>,
    #[serde(rename = "tokenFile")]
    token_file: Option<PathBuf>,
}

impl Kubeconfig {
    fn read(path: &Path) -> Result<Self, Error> {
        let text = String::from_utf8_lossy(&content(path)?).into_owned();
        let document = lanai_yaml::Document::parse(text).map_err(|error| bad(path, format!("{error:#}")))?;
        document.root().deserialize().map_err(|error| bad(path, format!("{error:#}")))
    }

    /// The server of the context that counts, and who we are to it.
    fn server(self, path: &Path) -> Result<Server, Error> {
        let refused = |cause: &str| bad(path, cause.to_owned());
        let context = named(self.contexts, &self.current_context).and_then(|one| one.context);
        let context = context.ok_or_else(|| refused("its current context is not there"))?;
        let cluster = named(self.clusters, &context.cluster).and_then(|one| one.cluster);
        let cluster = cluster.ok_or_else(|| refused("the cluster of its context is not there"))?;
        let user = named(self.users, &context.user).and_then(|one| one.user);
        let user = user.ok_or_else(|| refused("the user of its context is not there"))?;
        if !cluster.server.starts_with("https://") {
            return Err(refused("its server is not an address that begins with https://"));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        let part = |file: Option<PathBuf>, data: Option<String>| part(path, folder, file, data);
        let authority = part(cluster.certificate_authority, cluster.certificate_authority_data)?
            .ok_or_else(|| refused("its cluster has no certificate-authority"))?;
        let certificate = part(user.client_certificate, user.client_certificate_data)?;
        let key = part(user.client_key, user.client_key_data)?;
        let token = match (user.token, user.token_file) {
            (_, Some(file)) => Token::File(folder.join(file)),
            (Some(token), None) => Token::Text(token),
            (None, None) if certificate.is_none() => {
                return Err(refused("its user has no client-certificate, token or tokenFile"));
            }
            (None, None) => Token::Nothing,
        };
        let tls =
            tls(&authority, certificate.as_deref().zip(key.as_deref())).map_err(|cause| bad(path, cause))?;
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(concat!("lanai/", env!("CARGO_PKG_VERSION")))
            .timeout_global(Some(PATIENCE))
            .max_idle_connections_per_host(CONNECTIONS)
            .proxy(None)
            .tls_config(tls);
        let address = cluster.server.trim_end_matches('/').to_owned();
        Ok(Server { agent: agent.build().new_agent(), address, token })
    }
}

fn named(all: Vec<Named>, name: &str) -> Option<Named> {
    all.into_iter().find(|one| one.name == name)
}

fn bad(path: &Path, cause: String) -> Error {
    Error::Kubeconfig { path: path.to_owned(), cause }
}

fn content(path: &Path) -> Result<Vec<u8>, FileError> {
    std::fs::read(path).map_err(|source| FileError { path: path.to_owned(), action: "read", source })
}

/// The content of something that stands in the kubeconfig itself, or in a file beside it.
fn part(
    path: &Path,
    folder: &Path,
    file: Option<PathBuf>,
    data: Option<String>,
) -> Result<Option<Vec<u8>>, Error> {
    match (data, file) {
        (Some(data), _) => {
            let decoded = STANDARD.decode(data.trim());
            decoded
                .map(Some)
                .map_err(|error| bad(path, format!("what stands there as data is no Base64: {error}")))
        }
        (None, Some(file)) => Ok(Some(content(&folder.join(file))?)),
        (None, None) => Ok(None),
    }
}

fn tls(authority: &[u8], shown: Option<(&[u8], &[u8])>) -> Result<TlsConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = RootCerts::Specific(Arc::new(certificates(authority)?));
    let mut builder = TlsConfig::builder().unversioned_rustls_crypto_provider(provider).root_certs(roots);
    if let Some((certificate, key)) = shown {
        let key =
            PrivateKey::from_pem(key).map_err(|error| format!("its client-key cannot be read: {error}"))?;
        builder = builder.client_cert(Some(ClientCert::new_with_certs(&certificates(certificate)?, key)));
    }
    Ok(builder.build())
}

fn certificates(pem: &[u8]) -> Result<Vec<Certificate<'static>>, String> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        if let PemItem::Certificate(certificate) =
            item.map_err(|error| format!("a certificate cannot be read: {error}"))?
        {
            found.push(certificate);
        }
    }
    if found.is_empty() { Err("there is no certificate in what should be one".to_owned()) } else { Ok(found) }
}
