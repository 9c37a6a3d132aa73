//! One server and one user, after all that was said about them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lanai_types::quote::Quoted;

use super::credential;
use super::flags::Connection;
use super::kubeconfig::{Cluster, Context, Kubeconfig, Named, Presence, User, find};
use crate::failure::{Code, Failure, cause};
use crate::io::Io;
use crate::{places, serve};

/// Where kubectl looks in a pod.
const POD: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// The namespace if nobody says another one.
pub(super) const NAMESPACE: &str = "default";

/// One server and one user.
#[derive(Debug, Default)]
pub(super) struct Target {
    /// The address, without a slash at its end.
    pub server: String,
    pub namespace: String,
    /// Certificates that are trusted, in PEM; none are those of the system.
    pub authority: Option<Vec<u8>>,
    pub trust: Trust,
    pub proxy: Option<String>,
    /// A certificate and its key, in PEM.
    pub identity: Option<Identity>,
    /// The header of who asks.
    pub authorization: Option<String>,
    pub acting: Acting,
    pub timeout: Option<Duration>,
}

/// A certificate and its key, in PEM.
#[derive(Debug)]
pub(super) struct Identity {
    pub certificate: Vec<u8>,
    pub key: Vec<u8>,
}

/// Which certificates of the server are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Trust {
    #[default]
    Verified,
    /// Any.
    Blind,
}

/// As whom it is asked, where that is somebody else.
#[derive(Debug, Default)]
pub(super) struct Acting {
    pub user: Option<String>,
    pub groups: Vec<String>,
    pub uid: Option<String>,
}

impl Target {
    /// Finds out whom to ask.
    ///
    /// # Errors
    /// When no file says it, or what it says makes no sense.
    pub fn find(flags: &Connection, io: &Io<'_>) -> Result<Self, Failure> {
        let mut config = Kubeconfig::default();
        let source = load(&mut config, flags, io)?;
        if source == Source::Pod && flags.server.is_none() {
            return pod(flags, io);
        }
        let context = context(&config, flags)?;
        let cluster = part(&config.clusters, flags.cluster.as_ref().or(context.cluster.as_ref()), "cluster")?;
        let user = part(&config.users, flags.user.as_ref().or(context.user.as_ref()), "user")?;
        let mut target = Self {
            namespace: flags
                .namespace
                .clone()
                .or(context.namespace)
                .filter(|name| !name.is_empty())
                .unwrap_or_else(|| NAMESPACE.into()),
            timeout: flags.request_timeout.0,
            ..Self::default()
        };
        target.take_cluster(flags, cluster, io)?;
        if target.server.is_empty() {
            return Err(nobody(&source));
        }
        target.take_user(flags, user, io)?;
        Ok(target)
    }

    fn take_cluster(
        &mut self,
        flags: &Connection,
        cluster: Option<&Named<Cluster>>,
        io: &Io<'_>,
    ) -> Result<(), Failure> {
        let empty = Cluster::default();
        let (value, folder) = cluster.map_or((&empty, Path::new("")), |named| (&named.value, &named.folder));
        let server = flags.server.clone().or_else(|| value.server.clone()).unwrap_or_default();
        let has_scheme = server.is_empty() || server.contains("://");
        self.server = if has_scheme { server } else { format!("http://{server}") };
        self.server.truncate(self.server.trim_end_matches('/').len());
        let name = flags.tls_server_name.as_ref().or(value.tls_server_name.as_ref());
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            let text = format!(
                "the certificate of the server is to have the name {}, and that cannot be checked",
                Quoted(name)
            );
            return Err(
                Failure::of(Code::NoServer, text).hint("reach the server by a name that its certificate has")
            );
        }
        let blind = flags.insecure_skip_tls_verify.or(value.insecure_skip_tls_verify);
        self.trust = if blind == Some(true) { Trust::Blind } else { Trust::Verified };
        self.proxy = value.proxy_url.clone().filter(|url| !url.is_empty());
        self.authority = match &flags.certificate_authority {
            Some(file) => Some(read(&io.folder.join(file), "the certificate of the authority")?),
            None => either(
                value.certificate_authority_data.as_ref(),
                value.certificate_authority.as_ref(),
                folder,
                "the certificate of the authority",
            )?,
        };
        Ok(())
    }

    fn take_user(
        &mut self,
        flags: &Connection,
        user: Option<&Named<User>>,
        io: &Io<'_>,
    ) -> Result<(), Failure> {
        let empty = User::default();
        let (value, folder) = user.map_or((&empty, Path::new("")), |named| (&named.value, &named.folder));
        if let Some(provider) = &value.auth_provider {
            let text = format!(
                "the kubeconfig asks for {}, a way of older times that is not known here",
                Quoted(&provider.name)
            );
            return Err(Failure::of(Code::NoServer, text)
                .hint("use a token, a certificate, or a program (exec) instead"));
        }
        self.acting = Acting {
            user: flags.acting_as.clone().or_else(|| value.acting_as.clone()),
            groups: if flags.as_groups.is_empty() {
                value.as_groups.clone().unwrap_or_default()
            } else {
                flags.as_groups.clone()
            },
            uid: flags.as_uid.clone().or_else(|| value.as_uid.clone()),
        };
        let given = |flag: &Option<PathBuf>| flag.as_ref().map(|file| io.folder.join(file));
        let certificate = match given(&flags.client_certificate) {
            Some(file) => Some(read(&file, "the certificate to show")?),
            None => either(
                value.client_certificate_data.as_ref(),
                value.client_certificate.as_ref(),
                folder,
                "the certificate to show",
            )?,
        };
        let key = match given(&flags.client_key) {
            Some(file) => Some(read(&file, "the key of the certificate")?),
            None => either(
                value.client_key_data.as_ref(),
                value.client_key.as_ref(),
                folder,
                "the key of the certificate",
            )?,
        };
        self.identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some(Identity { certificate, key }),
            (None, None) => None,
            (Some(_), None) => {
                return Err(Failure::of(Code::NoServer, "there is a certificate to show, and no key of it"));
            }
            (None, Some(_)) => {
                return Err(Failure::of(
                    Code::NoServer,
                    "there is a key, and no certificate that it belongs to",
                ));
            }
        };
        let token = match (&flags.token, &value.token_file) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(file)) => {
                let bytes = read(&folder.join(file), "the token")?;
                Some(String::from_utf8_lossy(&bytes).trim().to_owned())
            }
            (None, None) => value.token.clone(),
        };
        if let Some(token) = token.filter(|token| !token.is_empty()) {
            self.authorization = Some(format!("Bearer {token}"));
        } else if let (Some(name), Some(password)) = (&value.username, &value.password) {
            self.authorization = Some(format!("Basic {}", STANDARD.encode(format!("{name}:{password}"))));
        } else if let (Some(exec), None) = (&value.exec, &self.identity) {
            let credential = credential::ask(exec, io)?;
            self.authorization = credential.token.map(|token| format!("Bearer {token}"));
            if let (Some(certificate), Some(key)) =
                (credential.client_certificate_data, credential.client_key_data)
            {
                self.identity =
                    Some(Identity { certificate: certificate.into_bytes(), key: key.into_bytes() });
            }
        }
        Ok(())
    }
}

/// Where it was looked.
#[derive(Debug, PartialEq, Eq)]
enum Source {
    Files(String),
    /// The server of the data directory, whose file is this one.
    Local(PathBuf),
    Pod,
}

/// Reads the files that count.
fn load(config: &mut Kubeconfig, flags: &Connection, io: &Io<'_>) -> Result<Source, Failure> {
    if let Some(file) = &flags.kubeconfig {
        config.add(&io.folder.join(file), Presence::Needed)?;
        return Ok(Source::Files(file.display().to_string()));
    }
    if flags.data_dir.is_some() {
        return local(config, flags, io);
    }
    let list = io.environment.get(OsStr::new("KUBECONFIG")).filter(|list| !list.is_empty());
    if let Some(list) = list {
        let files: Vec<PathBuf> = std::env::split_paths(list)
            .filter(|file| !file.as_os_str().is_empty())
            .map(|file| io.folder.join(file))
            .collect();
        if flags.server.is_none() && !files.iter().any(|file| file.exists()) {
            let text =
                format!("KUBECONFIG is {}, and there is no such file", Quoted(&list.to_string_lossy()));
            return Err(Failure::of(Code::NoServer, text)
                .hint("name one that is there, or unset KUBECONFIG to ask the server of this machine"));
        }
        for file in files {
            config.add(&file, Presence::Optional)?;
        }
        return Ok(Source::Files(list.to_string_lossy().into_owned()));
    }
    let usual = places::variable("HOME", io).map(|home| home.join(".kube/config"));
    if let Some(file) = usual.filter(|file| file.is_file()) {
        config.add(&file, Presence::Needed)?;
        return Ok(Source::Files(file.display().to_string()));
    }
    let has_host = io.environment.contains_key(OsStr::new("KUBERNETES_SERVICE_HOST"));
    if has_host && Path::new(POD).join("token").is_file() {
        return Ok(Source::Pod);
    }
    local(config, flags, io)
}

fn local(config: &mut Kubeconfig, flags: &Connection, io: &Io<'_>) -> Result<Source, Failure> {
    let file = serve::data_dir(flags.data_dir.clone(), io)?.join("kubeconfig");
    // Whoever says where the server is needs no file.
    let presence = if flags.server.is_some() && flags.data_dir.is_none() {
        Presence::Optional
    } else {
        Presence::Needed
    };
    if presence == Presence::Needed && !file.is_file() {
        return Err(nobody(&Source::Local(file)));
    }
    config.add(&file, presence)?;
    Ok(Source::Local(file))
}

fn nobody(source: &Source) -> Failure {
    let text = match source {
        Source::Files(list) => format!("the kubeconfig {} names no server", Quoted(list)),
        Source::Local(file) => format!(
            "there is no server to ask: no kubeconfig was found, and {} is not there",
            Quoted(&file.display().to_string())
        ),
        Source::Pod => "there is no server to ask".into(),
    };
    Failure::of(Code::NoServer, text)
        .hint("start one with lanai serve, or name one with --kubeconfig FILE, KUBECONFIG or --server URL")
}

fn context(config: &Kubeconfig, flags: &Connection) -> Result<Context, Failure> {
    let Some(name) = flags.context.as_ref().or(config.current.as_ref()) else {
        return Ok(Context::default());
    };
    if let Some(found) = find(&config.contexts, name) {
        return Ok(found.value.clone());
    }
    let failure = Failure::of(Code::NoServer, format!("context {} does not exist", Quoted(name)));
    let names: Vec<&str> = config.contexts.iter().map(|context| context.name.as_str()).collect();
    Err(if names.is_empty() { failure } else { failure.hint(format!("there are {}", names.join(", "))) })
}

fn part<'a, T>(
    list: &'a [Named<T>],
    name: Option<&String>,
    what: &str,
) -> Result<Option<&'a Named<T>>, Failure> {
    let Some(name) = name.filter(|name| !name.is_empty()) else { return Ok(None) };
    let found = find(list, name);
    found.map(Some).ok_or_else(|| {
        Failure::of(Code::NoServer, format!("{what} {} does not exist in the kubeconfig", Quoted(name)))
    })
}

/// What a program in a pod is told.
fn pod(flags: &Connection, io: &Io<'_>) -> Result<Target, Failure> {
    let variable = |name: &str| {
        let value = io.environment.get(OsStr::new(name));
        value.map(|value| value.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let (host, port) = (variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"));
    let host = if host.contains(':') { format!("[{host}]") } else { host };
    let port = if port.is_empty() { "443".to_owned() } else { port };
    let folder = Path::new(POD);
    let text = |name: &str| -> Result<String, Failure> {
        Ok(String::from_utf8_lossy(&read(&folder.join(name), "what a pod is told")?).trim().to_owned())
    };
    let namespace = match &flags.namespace {
        Some(namespace) => namespace.clone(),
        None => text("namespace").unwrap_or_else(|_| NAMESPACE.into()),
    };
    Ok(Target {
        server: format!("https://{host}:{port}"),
        namespace,
        authority: Some(read(&folder.join("ca.crt"), "the certificate of the authority")?),
        authorization: Some(format!("Bearer {}", text("token")?)),
        acting: Acting {
            user: flags.acting_as.clone(),
            groups: flags.as_groups.clone(),
            uid: flags.as_uid.clone(),
        },
        timeout: flags.request_timeout.0,
        ..Target::default()
    })
}

/// What stands in the file itself, or in the file that it names.
fn either(
    data: Option<&String>,
    file: Option<&PathBuf>,
    folder: &Path,
    what: &str,
) -> Result<Option<Vec<u8>>, Failure> {
    if let Some(data) = data.filter(|data| !data.is_empty()) {
        let bytes = STANDARD.decode(data.trim());
        return bytes.map(Some).map_err(|error| {
            Failure::of(Code::NoServer, format!("the kubeconfig has {what} as no base 64: {error}"))
        });
    }
    match file.filter(|file| !file.as_os_str().is_empty()) {
        Some(file) => read(&folder.join(file), what).map(Some),
        None => Ok(None),
    }
}

fn read(path: &Path, what: &str) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|error| {
        Failure::of(
            Code::File,
            format!("cannot read {what}, {}: {}", Quoted(&path.display().to_string()), cause(&error)),
        )
    })
}
