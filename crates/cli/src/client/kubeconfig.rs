//! The files that say where servers are, and who we are to them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use lanai_types::quote::Quoted;
use lanai_yaml::Document;
use serde::Deserialize;

use crate::failure::{Code, Failure, cause};

/// One file, or several as one. Of two with a name the first counts.
#[derive(Debug, Default)]
pub(super) struct Kubeconfig {
    pub current: Option<String>,
    pub contexts: Vec<Named<Context>>,
    pub clusters: Vec<Named<Cluster>>,
    pub users: Vec<Named<User>>,
}

/// Something with a name, and the folder in which relative paths of it begin.
#[derive(Debug)]
pub(super) struct Named<T> {
    pub name: String,
    pub folder: PathBuf,
    pub value: T,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Context {
    pub cluster: Option<String>,
    pub user: Option<String>,
    pub namespace: Option<String>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct Cluster {
    pub server: Option<String>,
    pub certificate_authority: Option<PathBuf>,
    pub certificate_authority_data: Option<String>,
    pub insecure_skip_tls_verify: Option<bool>,
    pub tls_server_name: Option<String>,
    pub proxy_url: Option<String>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub(super) struct User {
    pub client_certificate: Option<PathBuf>,
    pub client_certificate_data: Option<String>,
    pub client_key: Option<PathBuf>,
    pub client_key_data: Option<String>,
    pub token: Option<String>,
    #[serde(rename = "tokenFile")]
    pub token_file: Option<PathBuf>,
    pub username: Option<String>,
    pub password: Option<String>,
    #[serde(rename = "as")]
    pub acting_as: Option<String>,
    pub as_groups: Option<Vec<String>>,
    pub as_uid: Option<String>,
    pub exec: Option<Exec>,
    pub auth_provider: Option<AuthProvider>,
}

/// A way of older times.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct AuthProvider {
    pub name: String,
}

/// A program that knows who we are.
#[derive(Debug, Default, Clone, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Exec {
    pub api_version: Option<String>,
    pub command: String,
    pub args: Option<Vec<String>>,
    pub env: Option<Vec<Variable>>,
    pub install_hint: Option<String>,
    pub interactive_mode: Option<String>,
    pub provide_cluster_info: Option<bool>,
}

#[derive(Debug, Default, Clone, Deserialize)]
#[serde(default)]
pub(super) struct Variable {
    pub name: String,
    pub value: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
struct File {
    current_context: Option<String>,
    contexts: Option<Vec<ContextEntry>>,
    clusters: Option<Vec<ClusterEntry>>,
    users: Option<Vec<UserEntry>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ContextEntry {
    name: String,
    context: Option<Context>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ClusterEntry {
    name: String,
    cluster: Option<Cluster>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct UserEntry {
    name: String,
    user: Option<User>,
}

/// Whether a file has to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Presence {
    Needed,
    /// One of a list, which kubectl passes over.
    Optional,
}

impl Kubeconfig {
    /// Adds a file behind those that are there.
    ///
    /// # Errors
    /// When it cannot be read, or is no kubeconfig.
    pub fn add(&mut self, path: &Path, presence: Presence) -> Result<(), Failure> {
        let shown = path.display().to_string();
        let refused =
            |why: String| Failure::of(Code::NoServer, format!("the kubeconfig {}: {why}", Quoted(&shown)));
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound && presence == Presence::Optional => {
                return Ok(());
            }
            Err(error) => return Err(refused(cause(&error))),
        };
        let document = Document::parse(text).map_err(|error| refused(format!("{error:#}")))?;
        if document.is_empty() {
            return Ok(());
        }
        let file: File = document.root().deserialize().map_err(|error| refused(error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        self.current = self.current.take().or(file.current_context).filter(|name| !name.is_empty());
        let contexts = file.contexts.into_iter().flatten();
        self.contexts.extend(contexts.map(|entry| Named::of(entry.name, entry.context, &folder)));
        let clusters = file.clusters.into_iter().flatten();
        self.clusters.extend(clusters.map(|entry| Named::of(entry.name, entry.cluster, &folder)));
        let users = file.users.into_iter().flatten();
        self.users.extend(users.map(|entry| Named::of(entry.name, entry.user, &folder)));
        Ok(())
    }
}

impl<T: Default> Named<T> {
    fn of(name: String, value: Option<T>, folder: &Path) -> Self {
        Self { name, value: value.unwrap_or_default(), folder: folder.to_owned() }
    }
}

/// The first of that name.
pub(super) fn find<'a, T>(list: &'a [Named<T>], name: &str) -> Option<&'a Named<T>> {
    list.iter().find(|named| named.name == name)
}
