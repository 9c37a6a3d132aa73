//! `lanai serve` and `lanai kubeconfig`. The server itself is handed in by the binary.

use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};
use lanai_runner::{Caller, Container, EngineKind};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

use crate::containers;
use crate::demo::{DemoSettings, Told};
use crate::failure::{Code, Failure, cause};
use crate::io::{Exit, Io};
use crate::pkg::local;

/// The address if nobody says another one.
const LISTEN: &str = "127.0.0.1:7443";
/// The variable that names a collector of traces for all kinds of programs.
const COLLECTOR_VARIABLE: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The namespace of functions if nobody says another one; Porch has the same.
pub(crate) const FUNCTION_NAMESPACE: &str = "porch-fn-system";

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// Where everything is kept [default: lanai in the data folder of the user]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
    /// Where to listen; port 0 is any that is free [default: 127.0.0.1:7443]
    #[arg(long, value_name = "ADDR:PORT")]
    pub listen: Option<SocketAddr>,
    /// A name or address under which the server is reached, for its certificate; can be given several times
    #[arg(long = "name", value_name = "NAME")]
    pub names: Vec<String>,
    /// A file with lines of token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The certificate of the authority of proxies that vouch for users
    #[arg(long, value_name = "FILE")]
    pub front_proxy_ca: Option<PathBuf>,
    /// The common name of such a proxy; can be given several times
    #[arg(long = "front-proxy-name", value_name = "NAME", requires = "front_proxy_ca")]
    pub front_proxy_names: Vec<String>,
    /// The kubeconfig of an API server that decides who may do what, in the place of the roles that are kept here
    #[arg(long, value_name = "FILE")]
    pub authorization_kubeconfig: Option<PathBuf>,
    /// A server that runs functions which do not come with the program, as lanai function-runner or Porch's
    #[arg(long, value_name = "HOST:PORT")]
    pub function_runner: Option<String>,
    /// The folder of the programs that function configs name
    #[arg(long, value_name = "FOLDER")]
    pub functions: Option<PathBuf>,
    /// The namespace whose function configs count [default: porch-fn-system]
    #[arg(long, value_name = "NAMESPACE")]
    pub function_namespace: Option<String>,
    /// What stands before names of images that have no registry [default: ghcr.io/kptdev/krm-functions-catalog]
    #[arg(long, value_name = "PREFIX")]
    pub default_image_prefix: Option<String>,
    /// Run images that nobody else knows in containers, by this program [default: none]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(containers::NAMES))]
    pub container_runtime: Option<String>,
    /// When images are fetched that run in containers; if nobody says it, where they are not here
    #[arg(long, value_name = "POLICY", ignore_case = true, value_parser = PossibleValuesParser::new(containers::PULLS))]
    pub image_pull_policy: Option<String>,
    /// A collector that hears of each request, by OTLP over HTTP [default: `$OTEL_EXPORTER_OTLP_ENDPOINT`]
    #[arg(long, value_name = "URL")]
    pub traces: Option<String>,
    /// How log lines look
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// A file with the same settings; what is given here counts more
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Kubeconfig {
    /// The data directory of the server [default: as for serve]
    #[arg(long, value_name = "FOLDER")]
    pub data_dir: Option<PathBuf>,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

/// The settings of `--config`, in YAML.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
struct Settings {
    data_dir: Option<PathBuf>,
    listen: Option<SocketAddr>,
    names: Vec<String>,
    token_file: Option<PathBuf>,
    front_proxy_ca: Option<PathBuf>,
    front_proxy_names: Vec<String>,
    authorization_kubeconfig: Option<PathBuf>,
    function_runner: Option<String>,
    functions: Option<PathBuf>,
    function_namespace: Option<String>,
    default_image_prefix: Option<String>,
    container_runtime: Option<String>,
    image_pull_policy: Option<String>,
    traces: Option<String>,
    readiness_gates: GateSettings,
    limits: LimitSettings,
}

/// Who looks at readiness gates of package revisions.
#[derive(Debug, Default, Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub enum GateSettings {
    /// The server: what is not ready is neither proposed nor approved.
    #[default]
    Enforced,
    /// Clients, as with Porch.
    LeftToClients,
}

/// Limits that can be set. Those that are not stay as they are.
#[derive(Debug, Default, Clone, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct LimitSettings {
    /// The body of a request, as `6 MiB`.
    pub max_body: Option<lanai_types::ByteSize>,
    /// Requests at the same time.
    pub max_requests: Option<NonZeroUsize>,
    /// The same for one user.
    pub max_requests_per_user: Option<NonZeroUsize>,
    /// Watches at the same time.
    pub max_watches: Option<NonZeroUsize>,
    /// The same for one user.
    pub max_watches_per_user: Option<NonZeroUsize>,
    /// Pipelines that run at the same time.
    pub max_renders: Option<NonZeroUsize>,
    /// How long one function may run, in seconds.
    pub max_function_seconds: Option<NonZeroU64>,
    /// The memory of a program that is run as a function.
    pub max_function_memory: Option<lanai_types::ByteSize>,
    /// What such a program may write.
    pub max_function_output: Option<lanai_types::ByteSize>,
    /// A message to or from a function runner.
    pub max_function_message: Option<lanai_types::ByteSize>,
}

/// Who runs functions.
#[derive(Debug, Clone)]
pub struct FunctionSettings {
    /// The address of a function runner.
    pub runner: Option<String>,
    /// The folder of programs, as an absolute path.
    pub programs: Option<PathBuf>,
    /// The namespace whose `FunctionConfig`s count.
    pub namespace: String,
    /// What stands before names of images that have no registry.
    pub image_prefix: String,
    /// What runs images in containers.
    pub containers: Option<Container>,
}

impl Default for FunctionSettings {
    fn default() -> Self {
        Self {
            runner: None,
            programs: None,
            namespace: FUNCTION_NAMESPACE.to_owned(),
            image_prefix: crate::DEFAULT_IMAGE_PREFIX.to_owned(),
            containers: None,
        }
    }
}

/// What a server is started with.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Where everything is kept.
    pub data: PathBuf,
    /// Where to listen.
    pub listen: SocketAddr,
    /// More names for the certificate.
    pub names: Vec<String>,
    /// A file of tokens.
    pub token_file: Option<PathBuf>,
    /// The authority of front proxies.
    pub front_proxy_ca: Option<PathBuf>,
    /// Their names.
    pub front_proxy_names: Vec<String>,
    /// The kubeconfig of who decides who may do what.
    pub authorization_kubeconfig: Option<PathBuf>,
    /// Who runs functions.
    pub functions: FunctionSettings,
    /// The address of a collector of traces.
    pub traces: Option<String>,
    /// Who looks at readiness gates.
    pub readiness_gates: GateSettings,
    /// Limits.
    pub limits: LimitSettings,
    /// How log lines look.
    pub log_format: LogFormat,
}

/// What can serve. The binary has one; the commands only know that there is one.
pub trait Serving {
    /// Serves until the token. `ready` is called with the address when clients can come.
    ///
    /// # Errors
    /// With a text for people.
    fn serve(
        &self,
        settings: ServerSettings,
        stop: CancellationToken,
        ready: &mut dyn FnMut(SocketAddr),
    ) -> Result<(), String>;

    /// Serves a world that it makes first, until the token or, if the settings ask for it, until everything is made. `tell` is
    /// called for each step, and when clients can come.
    ///
    /// # Errors
    /// With a text for people.
    fn demo(
        &self,
        settings: DemoSettings,
        stop: CancellationToken,
        tell: &mut dyn FnMut(Told<'_>),
    ) -> Result<(), String> {
        let _ = (settings, stop, tell);
        Err("there is no server in this program".into())
    }

    /// From now on, log lines are written to standard error output.
    fn log(&self, format: LogFormat) {
        let _ = format;
    }
}

/// A program without a server.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoServer;

impl Serving for NoServer {
    fn serve(
        &self,
        _: ServerSettings,
        _: CancellationToken,
        _: &mut dyn FnMut(SocketAddr),
    ) -> Result<(), String> {
        Err("there is no server in this program".into())
    }
}

/// Serves until the command is asked to end.
pub(crate) fn serve(serve: &Serve, serving: &dyn Serving, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let settings = settings(serve, io)?;
    let data = settings.data.clone();
    // What was begun is finished before the process ends.
    let busy = io.stop.busy();
    let token = io.stop.token();
    let mut ready = |address: SocketAddr| {
        io.tell(&format!("listening on https://{address}"));
        io.tell(&format!("hint: export KUBECONFIG={}", data.join("kubeconfig").display()));
    };
    let served = serving.serve(settings, token, &mut ready);
    if served.is_ok() {
        io.stop.ended_well();
    }
    drop(busy);
    served.map(|()| Exit::Success).map_err(|text| Failure::of(Code::Serve, text))
}

/// Prints the kubeconfig of a server.
pub(crate) fn kubeconfig(command: &Kubeconfig, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let path = data_dir(command.data_dir.clone(), io)?.join("kubeconfig");
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Failure::of(Code::Serve, format!("\"{}\": {}", path.display(), cause(&error)))
            .hint("it is written by the server: start it with lanai serve")
    })?;
    io.print(&text)?;
    Ok(Exit::Success)
}

fn settings(serve: &Serve, io: &Io<'_>) -> Result<ServerSettings, Failure> {
    let file = match &serve.config {
        Some(path) => read(&io.folder.join(path))?,
        None => Settings::default(),
    };
    let either = |given: &Vec<String>, file: Vec<String>| if given.is_empty() { file } else { given.clone() };
    let place = |path: Option<PathBuf>| path.map(|path| io.folder.join(path));
    let functions = functions(serve, &file, io)?;
    Ok(ServerSettings {
        functions,
        data: data_dir(serve.data_dir.clone().or(file.data_dir), io)?,
        listen: serve.listen.or(file.listen).unwrap_or_else(|| LISTEN.parse().expect("an address of ours")),
        names: either(&serve.names, file.names),
        token_file: place(serve.token_file.clone().or(file.token_file)),
        front_proxy_ca: place(serve.front_proxy_ca.clone().or(file.front_proxy_ca)),
        front_proxy_names: either(&serve.front_proxy_names, file.front_proxy_names),
        authorization_kubeconfig: place(
            serve.authorization_kubeconfig.clone().or(file.authorization_kubeconfig),
        ),
        traces: serve.traces.clone().or(file.traces).or_else(|| {
            let named = io.environment.get(std::ffi::OsStr::new(COLLECTOR_VARIABLE))?;
            Some(named.to_string_lossy().into_owned()).filter(|named| !named.is_empty())
        }),
        readiness_gates: file.readiness_gates,
        limits: file.limits,
        log_format: serve.log_format,
    })
}

fn functions(serve: &Serve, file: &Settings, io: &Io<'_>) -> Result<FunctionSettings, Failure> {
    let usual = FunctionSettings::default();
    let either = |given: &Option<String>, file: &Option<String>| given.clone().or_else(|| file.clone());
    let programs = serve.functions.as_ref().or(file.functions.as_ref());
    let namespace = either(&serve.function_namespace, &file.function_namespace).unwrap_or(usual.namespace);
    if let Err(error) = namespace.parse::<lanai_types::Namespace>() {
        return Err(Failure::of(Code::Serve, format!("the namespace of functions: {error}")));
    }
    let prefix = either(&serve.default_image_prefix, &file.default_image_prefix);
    let image_prefix = match prefix {
        Some(prefix) => crate::func::checked_prefix(&prefix)?,
        None => usual.image_prefix,
    };
    Ok(FunctionSettings {
        runner: either(&serve.function_runner, &file.function_runner),
        programs: programs.map(|folder| local::absolute(folder, io)).transpose()?,
        namespace,
        image_prefix,
        containers: container(serve, file, io)?,
    })
}

/// What runs images in containers, if the settings name a program for it.
fn container(serve: &Serve, file: &Settings, io: &Io<'_>) -> Result<Option<Container>, Failure> {
    let chosen = |given: &Option<String>, file: &Option<String>, usual: &str| {
        given.clone().or_else(|| file.clone()).unwrap_or_else(|| usual.to_owned())
    };
    let runtime = chosen(&serve.container_runtime, &file.container_runtime, containers::NONE);
    let pull = chosen(&serve.image_pull_policy, &file.image_pull_policy, containers::IF_NOT_PRESENT);
    if !containers::PULLS.iter().any(|known| known.eq_ignore_ascii_case(&pull)) {
        let why = format!("imagePullPolicy \"{pull}\" is none of {}", containers::PULLS.join(", "));
        return Err(Failure::of(Code::Serve, why));
    }
    let environment = io.environment.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
    let caller = Caller { environment, folder: local::absolute(std::path::Path::new(""), io)? };
    containers::of(Some(&runtime), &pull, EngineKind::ALL, &caller, io)
}

fn read(path: &std::path::Path) -> Result<Settings, Failure> {
    let failed = |why: String| Failure::of(Code::Serve, format!("\"{}\": {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(cause(&error)))?;
    let document = lanai_yaml::Document::parse(text.as_str()).map_err(|error| failed(error.to_string()))?;
    if document.is_empty() {
        return Ok(Settings::default());
    }
    document.root().deserialize().map_err(|error| failed(error.to_string()))
}

/// The data directory: as it was given, else by the environment.
///
/// # Errors
/// When neither says where.
pub(crate) fn data_dir(given: Option<PathBuf>, io: &Io<'_>) -> Result<PathBuf, Failure> {
    let variable = |name: &str| {
        let value = io.environment.get(std::ffi::OsStr::new(name)).filter(|value| !value.is_empty());
        value.map(PathBuf::from)
    };
    let found = given
        .map(|path| io.folder.join(path))
        .or_else(|| variable("LANAI_DATA_DIR"))
        .or_else(|| variable("XDG_DATA_HOME").map(|path| path.join("lanai")))
        .or_else(|| variable("HOME").map(|path| path.join(".local/share/lanai")));
    found.ok_or_else(|| {
        Failure::of(Code::Machine, "there is no place for data: HOME is not set")
            .hint("name one with --data-dir FOLDER")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_says_who_looks_at_gates() {
        for (text, expected) in [
            ("listen: 127.0.0.1:1\n", Some(GateSettings::Enforced)),
            ("readinessGates: enforced\n", Some(GateSettings::Enforced)),
            ("readinessGates: leftToClients\n", Some(GateSettings::LeftToClients)),
            ("readinessGates: nobody\n", None),
        ] {
            let document = lanai_yaml::Document::parse(text).unwrap();
            let read =
                document.root().deserialize::<Settings>().ok().map(|settings| settings.readiness_gates);
            assert_eq!(read, expected, "{text}");
        }
    }
}
