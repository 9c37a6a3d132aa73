//! Begins, serves, ends.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lanai_apiserver::identity::MASTERS;
use lanai_apiserver::tokens::{BadKey, TokenKey};
use lanai_apiserver::{
    ApiServer, Authentication, Backing, Chance, Clock, Delegate, Identity, Limits, Measure, Registered,
    Registry, StaticTokens, Status,
};
use lanai_controllers::function_config::FunctionConfigs;
use lanai_engine::Engine;
use lanai_store::sqlite::{self, OpenError};
use lanai_store::{SqliteStore, Store};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::certificates::{self, Authority, Pair, Shown};
use crate::data::{DataDirectory, FileError, Readers};
use crate::delegate;
use crate::journal::Journal;
use crate::kubeconfig;
use crate::listen::{self, Authorities, Doors, Tls};
use crate::traces::{self, Collector, Export, Traces};
use crate::webhook::Webhooks;

/// How often certificates are looked at, where nothing else is said.
pub const RENEWAL_EVERY: Duration = Duration::from_hours(1);
/// The certificate and key of the user in the kubeconfig.
const ADMIN: &str = "admin.pem";
/// The user in the kubeconfig.
const ADMIN_USER: &str = "lanai-admin";
/// Who signs tokens.
const ISSUER: &str = "https://kubernetes.default.svc";

/// How a server is started.
pub struct Options {
    /// Where everything is kept.
    pub data: PathBuf,
    /// Where it listens; port 0 is any that is free.
    pub listen: SocketAddr,
    /// Names and addresses under which it is reached, beside those that it knows.
    pub names: Vec<String>,
    /// A file of tokens, users, uids and groups.
    pub token_file: Option<PathBuf>,
    /// The certificate of the authority of proxies that vouch for users, in PEM.
    pub front_proxy_authority: Option<PathBuf>,
    /// The names of such proxies; none means all with a certificate.
    pub front_proxies: Vec<String>,
    /// The kubeconfig of an API server that decides who may do what; without, the rules of the store do.
    pub delegate: Option<PathBuf>,
    /// What it takes on.
    pub limits: Limits,
    /// What it needs for packages; without, it knows none.
    pub packages: Option<PackageOptions>,
    /// Who hears of each request.
    pub traces: Option<Collector>,
    /// How often certificates are looked at.
    pub renewal: Duration,
    /// What time it is.
    pub clock: Clock,
    /// Where names and uids come from.
    pub chance: Chance,
}

/// What a server needs for packages.
pub struct PackageOptions {
    /// Who runs functions.
    pub runtimes: Arc<dyn lanai_engine::Runtimes>,
    /// How many pipelines run at the same time.
    pub max_renders: std::num::NonZeroUsize,
    /// Who takes over which functions are configured.
    pub functions: FunctionConfigs,
    /// What is counted of functions.
    pub metrics: Measure,
    /// Whether the server looks at gates.
    pub readiness: lanai_engine::Readiness,
    /// The environment for ssh and for proxies.
    pub environment: lanai_repository::Environment,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The store.
    #[error(transparent)]
    Store(#[from] OpenError),
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// A certificate.
    #[error(transparent)]
    Certificate(#[from] certificates::Error),
    /// The key of tokens.
    #[error("\"tokens.key\" in the data directory: {0}")]
    TokenKey(#[from] BadKey),
    /// The file of tokens.
    #[error("\"{}\": {cause}", path.display())]
    Tokens {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        cause: String,
    },
    /// Who decides who may do what.
    #[error(transparent)]
    Delegate(#[from] delegate::Error),
    /// The address.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why not.
        source: std::io::Error,
    },
    /// TLS.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
    /// The API.
    #[error("the API does not start: {0}")]
    Api(#[from] Status),
    /// Packages.
    #[error("packages cannot be served: {0}")]
    Engine(#[from] lanai_engine::Error),
    /// What every store has.
    #[error("the store cannot be made ready: {0}")]
    Bootstrap(String),
}

/// A server that is ready.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Tls,
    api: ApiServer,
    webhooks: Option<Arc<Webhooks>>,
    engine: Option<Engine>,
    controllers: lanai_controllers::Options,
    renewal: Renewal,
    traces: Option<(Traces, Export)>,
}

struct Renewal {
    data: DataDirectory,
    authority: Authority,
    shown: Arc<Shown>,
    names: Vec<rcgen::SanType>,
    address: SocketAddr,
    clock: Clock,
    every: Duration,
}

impl Server {
    /// Opens the data directory, makes certificates and a kubeconfig, and listens. Nothing is accepted yet.
    ///
    /// # Errors
    /// When something of that cannot be done; another process may have the data directory.
    pub async fn start(mut options: Options) -> Result<Self, Error> {
        let data = DataDirectory::open(&options.data)?;
        let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data.path(), sqlite::Options::default())?);
        let now = (options.clock)();
        let authority = Authority::open(&data, now)?;
        let front_proxy = match &options.front_proxy_authority {
            Some(path) => Some(read_text(path)?),
            None => None,
        };
        let authorities =
            Authorities::from_pem(&authority.certificate, front_proxy.as_deref()).map_err(Error::Tls)?;
        let delegate = match &options.delegate {
            Some(kubeconfig) => Some(delegate::Elsewhere::open(kubeconfig, options.clock.clone())?),
            None => None,
        };
        let delegate = delegate.map(|found| Arc::new(found) as Arc<dyn Delegate>);
        let audit = Arc::new(Journal::new(data.append("audit.log")?));
        let mut registry = registry()?;
        let (mut functions, mut measures) = (None, Vec::new());
        let engine = match options.packages.take() {
            Some(packages) => {
                functions = Some(packages.functions.clone());
                measures.push(packages.metrics.clone());
                let engine = engine(&data, store.clone(), packages, &options).await?;
                measures.push(renders(&engine));
                crate::packages::register(&mut registry, &engine)?;
                Some(engine)
            }
            None => None,
        };
        let webhooks = engine.clone().map(|engine| {
            let mut decoy = [0; 32];
            (options.chance)(&mut decoy);
            Arc::new(Webhooks::new(store.clone(), engine, decoy))
        });
        let kinds = crate::controllers::kinds(&registry);
        let api = ApiServer::start(lanai_apiserver::Options {
            store,
            registry,
            define: lanai_apiserver::define,
            authentication: authentication(&data, &options)?,
            delegate,
            limits: options.limits,
            audit,
            clock: options.clock.clone(),
            chance: options.chance.clone(),
        })
        .await?;
        for measure in measures {
            api.measure(measure);
        }
        crate::bootstrap::run(&api).await.map_err(Error::Bootstrap)?;
        let refused = |source| Error::Listen { address: options.listen, source };
        let listener = TcpListener::bind(options.listen).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let names = certificates::names(address.ip(), &options.names);
        let pair = authority.server(&names, now)?;
        let shown = Arc::new(Shown::new(&pair)?);
        let tls = listen::tls(shown.clone(), authorities).map_err(Error::Tls)?;
        let controllers = lanai_controllers::Options {
            client: crate::controllers::client(&api),
            kinds,
            authority: authority.certificate.clone(),
            engine: engine.clone(),
            functions,
            clock: options.clock.clone(),
        };
        let traces = options.traces.map(|collector| {
            let (traces, export) = traces::channel(collector, options.clock.clone(), options.chance.clone());
            api.measure(traces.measure());
            (traces, export)
        });
        let renewal =
            Renewal { data, authority, shown, names, address, clock: options.clock, every: options.renewal };
        renewal.write_kubeconfig()?;
        Ok(Self { listener, address, tls, api, webhooks, engine, controllers, renewal, traces })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A client inside of this process that acts as the user of the kubeconfig. `program` is the name that it gives.
    pub fn client(&self, program: &'static str) -> kube::Client {
        let identity = Identity::known(ADMIN_USER, [MASTERS.to_owned()]);
        crate::controllers::acting_as(&self.api, identity, program)
    }

    /// The API, for parts of this process.
    pub fn api(&self) -> ApiServer {
        self.api.clone()
    }

    /// Serves, and runs the controllers, until the token; then watches end, and requests are finished.
    pub async fn run(self, stop: CancellationToken) {
        let Self { listener, tls, api, webhooks, engine, controllers, renewal, traces, .. } = self;
        let (traces, export) = traces.unzip();
        // Spans are brought away behind the last request.
        let served = CancellationToken::new();
        let exporting = export.map(|export| tokio::spawn(export.run(served.clone())));
        let renewing = tokio::spawn(renewal.run(stop.clone()));
        let controlling = tokio::spawn(lanai_controllers::run(controllers, stop.clone()));
        listen::serve(listener, tls, Doors { api, webhooks, traces }, stop).await;
        served.cancel();
        let _ = controlling.await;
        let _ = renewing.await;
        if let Some(exporting) = exporting {
            let _ = exporting.await;
        }
        if let Some(engine) = engine {
            engine.stop().await;
        }
    }
}

impl Renewal {
    /// Looks at the certificates from time to time.
    async fn run(self, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(self.every) => {}
            }
            if let Err(error) = self.renew() {
                tracing::error!(%error, "certificates were not renewed");
            }
        }
    }

    /// Replaces the certificates that are due.
    fn renew(&self) -> Result<(), Error> {
        let now = (self.clock)();
        if self.shown.is_due(now) {
            self.shown.replace(&self.authority.server(&self.names, now)?)?;
            tracing::info!("the certificate of the server was renewed");
        }
        self.write_kubeconfig()
    }

    /// Writes the kubeconfig, with a certificate of its own that is good for long enough.
    fn write_kubeconfig(&self) -> Result<(), Error> {
        let now = (self.clock)();
        let kept = self.data.read(ADMIN)?.and_then(|bytes| Pair::from_pem(&String::from_utf8(bytes).ok()?));
        let pair = if let Some(pair) = kept.filter(|pair| !certificates::is_due(&pair.certificate, now)) {
            pair
        } else {
            let pair = self.authority.user(ADMIN_USER, &[MASTERS], now)?;
            self.data.write(ADMIN, pair.to_pem().as_bytes(), Readers::Owner)?;
            pair
        };
        let text = kubeconfig::text(self.address, &self.authority.certificate, &pair);
        if self.data.read(kubeconfig::FILE)?.as_deref() == Some(text.as_bytes()) {
            return Ok(());
        }
        Ok(self.data.write(kubeconfig::FILE, text.as_bytes(), Readers::Owner)?)
    }
}

async fn engine(
    data: &DataDirectory,
    store: Arc<dyn Store>,
    packages: PackageOptions,
    options: &Options,
) -> Result<Engine, Error> {
    let git = lanai_repository::Options {
        cache: data.path().join("git-cache"),
        // Credentials come from Secrets; what the user of this process has is for nobody else.
        home: None,
        environment: packages.environment,
        limits: lanai_repository::Limits::DEFAULT,
        package_limits: lanai_types::Limits::DEFAULT,
    };
    let mut seed = [0; 8];
    (options.chance)(&mut seed);
    let settings =
        lanai_repository::packages::Settings::new(data.path().join("repositories"), u64::from_le_bytes(seed));
    let engine = Engine::start(lanai_engine::Options {
        store,
        git,
        settings,
        runtimes: packages.runtimes,
        max_renders: packages.max_renders,
        readiness: packages.readiness,
        clock: options.clock.clone(),
    });
    Ok(engine.await?)
}

/// How many pipelines run and wait.
fn renders(engine: &Engine) -> Measure {
    let engine = engine.clone();
    Arc::new(move || {
        let (running, waiting) = engine.renders();
        format!(
            "# TYPE lanai_renders_running gauge\nlanai_renders_running {running}\n\
             # TYPE lanai_renders_waiting gauge\nlanai_renders_waiting {waiting}\n"
        )
    })
}

fn registry() -> Result<Registry, Status> {
    let mut registry = Registry::default();
    for info in lanai_api::kinds::all() {
        let is_kept = info.allows(lanai_api::Verb::Get);
        let backing = if is_kept { Backing::Stored } else { Backing::Answered };
        let registered = Registered::new(info.clone(), backing)?;
        let is_repository = registered.rows.as_str() == lanai_engine::rows::REPOSITORIES;
        registry.insert(if is_repository {
            registered.admitted_by(Arc::new(crate::packages::Overlap))
        } else {
            registered
        });
    }
    Ok(registry)
}

fn authentication(data: &DataDirectory, options: &Options) -> Result<Authentication, Error> {
    let key = if let Some(key) = data.read("tokens.key")? {
        key
    } else {
        let key = TokenKey::generate()?;
        data.write("tokens.key", &key, Readers::Owner)?;
        key
    };
    let static_tokens = match &options.token_file {
        Some(path) => StaticTokens::parse(&read_text(path)?)
            .map_err(|cause| Error::Tokens { path: path.clone(), cause })?,
        None => StaticTokens::default(),
    };
    let tokens = Some(Arc::new(TokenKey::from_pkcs8(&key, ISSUER)?));
    Ok(Authentication { static_tokens, tokens, front_proxies: options.front_proxies.clone() })
}

fn read_text(path: &std::path::Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|source| Error::File(FileError { path: path.to_owned(), action: "read", source }))
}
